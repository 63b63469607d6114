"""`baselinekit history`."""

import os
import sys
from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.options import (
    ProjectOptions,
    argument,
    color_option,
    complete_ids,
    option,
    project_of,
    takes,
)
from baselinekit.report.history import format_history, format_history_json
from baselinekit.report.html.page import render_history
from baselinekit.store.results import write_text
from baselinekit.texts import many
from baselinekit.workflow import history as past, resultfiles


@dataclass(frozen=True)
class HistoryOptions:
    ids: tuple[str, ...] = argument(nargs=-1, metavar="[ID]...", shell_complete=complete_ids)
    last: int | None = option(type=click.IntRange(1), metavar="N", help="Only the last N runs.")
    as_json: bool = option("--json", is_flag=True, help="Print it as JSON.")
    html: str | None = option("-o", "--html", metavar="PATH", help="Write it as an HTML page.")
    imported: tuple[str, ...] = option(
        "--import", metavar="FILE", multiple=True, help="Import the result file of a run made elsewhere."
    )
    verbose: bool = option("-v", "--verbose", is_flag=True, help="Also baselines that always passed.")
    config: str | None = option(
        metavar="FILE", help="The configuration; the default is the nearest baselinekit.yaml, here or above."
    )
    color: str = color_option()


@click.command(short_help="Show how the baselines did in earlier runs.")
@takes(HistoryOptions)
def history(options: HistoryOptions) -> int:
    """Show pass rate, flips between pass and failure, the last regression and the duration of every baseline
    that did not always pass; for IDs (globs), everything that is known about them.

    Every compare keeps its results in .baselinekit/results/: the last 200 runs, and at most 200 MB.
    """
    project = project_of(ProjectOptions(config=options.config))
    if options.imported:
        parts = resultfiles.load(options.imported, os.getcwd())
        kept = past.add(project.root, parts)
        old = "" if kept == len(parts) else f"; {len(parts) - kept} are older than the runs that are kept"
        screen.line(f"imported {many(kept, 'run')}{old}", err=options.as_json)
        if not (options.ids or options.as_json or options.html):
            return 0
    runs = past.load(project.root, options.ids, options.last)
    if options.html:
        write_text(options.html, render_history(runs), project.root)
        screen.line(f"wrote {screen.safe_line(options.html)}", err=options.as_json)
    if options.as_json:
        screen.show_json(format_history_json(runs))
    elif not options.html:
        style = screen.style_of(options.color)
        encoding = (sys.stdout.encoding or "") if sys.stdout is not None else ""
        can_bars = os.environ.get("TERM") != "dumb" and encoding.lower().replace("-", "") == "utf8"
        screen.show(format_history(runs, style, can_bars, options.verbose))
    return 0
