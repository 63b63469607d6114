"""`baselinekit orphans`."""

import json
import os
import sys
from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.clients import real_context
from baselinekit.cli.models import with_models
from baselinekit.cli.options import ProjectOptions, including, option, project_of, takes
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json
from baselinekit.store.atomic import remove
from baselinekit.texts import many
from baselinekit.workflow import resultfiles
from baselinekit.workflow.orphans import Orphan, Orphans, find_orphans
from baselinekit.workflow.project import Project

_WORDS = {
    "baseline": "source gone",
    "output": "output file without a baseline",
    "pending": "pending without a baseline",
    "unrun": "never run",
}


@dataclass(frozen=True)
class OrphansOptions:
    results: tuple[str, ...] = option(
        "--from", metavar="FILE", multiple=True, help="Result files: also what they never run."
    )
    delete: bool = option(is_flag=True, help="Remove the files, after a question.")
    yes: bool = option(is_flag=True, help="Remove them without a question.")
    fail: bool = option(is_flag=True, help="Exit code 1 when there are any.")
    as_json: bool = option("--json", is_flag=True, help="Print them as JSON.")
    project: ProjectOptions = including(ProjectOptions)


@click.command(short_help="Find files that nothing needs any more.")
@takes(OrphansOptions)
def orphans(options: OrphansOptions) -> int:
    """List baselines whose prompt, input file, skill, command or model no longer exists, and output and
    pending files that belong to no baseline. With --from also baselines that complete runs never ran; the
    files of all shards count as one run.

    Nothing is removed without --delete, and never a baseline that shares its file with others, or one that
    is never run.
    """
    project = project_of(options.project)
    parts = resultfiles.load(options.results, os.getcwd())
    with real_context() as context:
        orphans = find_orphans(project, with_models(context, project).clients, parts)
    if options.as_json:
        screen.show_json(json.dumps(_document(orphans), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(orphans)
    removable = [orphan for orphan in orphans.found if orphan.alone]
    if removable and options.delete:
        _delete(project, removable, options)
    elif removable and not options.as_json:
        screen.next_commands(["baselinekit orphans --delete"])
    return 1 if options.fail and orphans.found else 0


def _print(orphans: Orphans) -> None:
    for orphan in orphans.found:
        screen.line(screen.safe_line(f"{_WORDS[orphan.kind]}: {orphan.id}   {orphan.file}   {orphan.why}"))
    for note in orphans.notes:
        screen.line(f"note: {screen.safe_line(note)}")
    number, of = len(orphans.found), orphans.looked_at
    screen.line(f"{many(number, 'orphan')}; {many(of, 'baseline')} checked")


def _document(orphans: Orphans) -> dict[str, Json]:
    return {
        "orphans": [
            {
                "kind": orphan.kind,
                "id": orphan.id,
                "file": orphan.file,
                "why": orphan.why,
                "removable": orphan.alone,
            }
            for orphan in orphans.found
        ],
        "baselines": orphans.looked_at,
        "notes": list(orphans.notes),
    }


def _delete(project: Project, chosen: list[Orphan], options: OrphansOptions) -> None:
    """Remove them one by one, and say so: what git tracks can be had back, what it does not cannot."""
    files = many(len(chosen), "file")
    if not options.yes:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            what = f"--delete would remove {files}, and there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", what, "say --yes"))
        click.confirm(f"Remove {files}?", abort=True, err=True)
    for orphan in chosen:
        remove(project.root, orphan.file)
        screen.line(f"removed {screen.safe_line(orphan.file)}", err=options.as_json)
