"""`baselinekit history`."""

import os
import sys
from typing import Any

import click

from baselinekit.cli import options, options as completion, screen
from baselinekit.report.history import format_history, format_history_json
from baselinekit.report.html.history import render_history
from baselinekit.store.results import write_text
from baselinekit.texts import many
from baselinekit.workflow import history as past, resultfiles


@click.command(short_help="How the baselines did in earlier runs.")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=completion.ids)
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N runs.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("-o", "--html", metavar="PATH", help="Write it as a page of its own.")
@click.option(
    "--import", "imported", metavar="FILE", multiple=True, help="Take in the result file of a run elsewhere."
)
@click.option("-v", "--verbose", is_flag=True, help="Also what always passed.")
@click.option("--config", metavar="FILE", help="The configuration; else the nearest baselinekit.yaml upward.")
@screen.color_option
def history(ids: tuple[str, ...], color: str, **given: Any) -> int:
    """Pass rate, flips between pass and failure, the last regression, and how long it took, of every baseline
    that did not always pass; or of those with these IDs (globs) all that is known.

    Every compare keeps its results in .baselinekit/results/: the last 200 runs, and at most 200 MB.
    """
    project = options.project_of(_alone(given.pop("config")))
    if given["imported"]:
        parts = resultfiles.load(given["imported"], os.getcwd())
        kept = past.add(project.root, parts)
        old = "" if kept == len(parts) else f"; {len(parts) - kept} are older than the runs that are kept"
        screen.line(f"imported {many(kept, 'run')}{old}", err=given["as_json"])
        if not (ids or given["as_json"] or given["html"]):
            return 0
    found = past.load(project.root, ids, given["last"])
    if given["html"]:
        write_text(given["html"], render_history(found), project.root)
        screen.line(f"written {screen.safe_line(given['html'])}", err=given["as_json"])
    if given["as_json"]:
        screen.show_json(format_history_json(found))
    elif not given["html"]:
        style = screen.style_of(color)
        screen.show(format_history(found, style, _can_bars(), given["verbose"]))
    return 0


def _alone(config: str | None) -> dict[str, Any]:
    """Where the project is; nothing else that an operator says matters to what is past."""
    several = ("variables", "env_files", "secrets", "allow_hosts")
    silent = {**dict.fromkeys(options.PROJECT_KEYS), **dict.fromkeys(several, ())}
    return {**silent, "allow_exec": False, "config": config}


def _can_bars() -> bool:
    """Whether the stream can be shown small bar charts."""
    encoding = (sys.stdout.encoding or "") if sys.stdout is not None else ""
    return os.environ.get("TERM") != "dumb" and encoding.lower().replace("-", "") == "utf8"
