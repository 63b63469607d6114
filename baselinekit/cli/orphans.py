"""`baselinekit orphans`."""

import json
import os
import sys
from typing import Any

import click

from baselinekit.cli import options, screen
from baselinekit.cli.clients import real_context
from baselinekit.cli.models import UNASKED, RecordingOptions, with_models
from baselinekit.errors import InvalidInput, Problem
from baselinekit.store.atomic import remove
from baselinekit.texts import many
from baselinekit.workflow import resultfiles
from baselinekit.workflow.orphans import Orphan, Orphans, search
from baselinekit.workflow.project import Project

_WORDS = {
    "baseline": "source gone",
    "output": "output file without a baseline",
    "pending": "pending without a baseline",
    "unrun": "never run",
}


@click.command(short_help="Find what nothing needs any more.")
@click.option(
    "--from", "results", metavar="FILE", multiple=True, help="Result files: also what they never run."
)
@click.option("--delete", is_flag=True, help="Remove the files, after a question.")
@click.option("--yes", is_flag=True, help="Remove them without a question.")
@click.option("--fail", is_flag=True, help="Exit code 1 when there are any.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@options.project_options
def orphans(results: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """List baselines whose prompt, input file, skill, command or model is gone, and output and pending files
    that belong to no baseline. With --from also baselines that runs which covered everything never ran; the
    files of all shards count as one run.

    Nothing is removed without --delete; a baseline among others in one file, or one that is never run, is
    left to you.
    """
    wants = {name: given.pop(name) for name in ("delete", "yes", "fail")}
    project = options.project_of(given)
    parts = resultfiles.load(results, os.getcwd())
    with real_context() as context:
        clients = with_models(context, project, RecordingOptions(offline=UNASKED)).clients
        found = search(project, clients, parts)
    if as_json:
        screen.show_json(json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(found)
    if wants["delete"]:
        _delete(project, [one for one in found.found if one.alone], wants["yes"], as_json)
    elif not as_json and any(one.alone for one in found.found):
        screen.line("next: baselinekit orphans --delete")
    return 1 if wants["fail"] and found.found else 0


def _print(found: Orphans) -> None:
    for one in found.found:
        line = f"{_WORDS[one.kind]}: {one.id}   {one.file}   {one.why}"
        screen.line(screen.safe_line(line))
    for note in found.notes:
        screen.line(f"note: {screen.safe_line(note)}")
    number, of = len(found.found), found.looked_at
    screen.line(f"{many(number, 'orphan')}; {many(of, 'baseline')} looked at")


def _document(found: Orphans) -> dict[str, Any]:
    return {
        "orphans": [
            {"kind": one.kind, "id": one.id, "file": one.file, "why": one.why, "removable": one.alone}
            for one in found.found
        ],
        "baselines": found.looked_at,
        "notes": list(found.notes),
    }


def _delete(project: Project, chosen: list[Orphan], yes: bool, quiet: bool) -> None:
    """Remove them one by one, and say so: what git tracks can be had back, what it does not cannot."""
    if not chosen:
        return
    number = len(chosen)
    if not yes:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            what = f"--delete would remove {many(number, 'file')}, and nobody can be asked"
            raise InvalidInput(Problem("BK508", what, "say --yes"))
        click.confirm(f"Remove {many(number, 'file')}?", abort=True, err=True)
    for one in chosen:
        remove(project.root, one.file)
        screen.line(f"removed {screen.safe_line(one.file)}", err=quiet)
