"""`baselinekit history`, `merge` and `orphans`: the results of earlier runs, and unused files."""

import os
import sys
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.options import (
    READING,
    ProjectOptions,
    argument,
    command,
    complete_ids,
    flag,
    option,
    project_of,
    project_options,
    several,
)
from baselinekit.commands import history as past
from baselinekit.commands.orphans import Orphan, Orphans, find_orphans
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.results import Report
from baselinekit.model.values import Json
from baselinekit.report import terminal
from baselinekit.report.beside import describe_weakened
from baselinekit.report.history import format_history, format_history_json
from baselinekit.report.html.page import render_history
from baselinekit.report.wording import format_lines, headline
from baselinekit.secrets.variables import Redactor
from baselinekit.store.atomic import remove
from baselinekit.store.project import nearest_config
from baselinekit.store.results import write_text
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

# `baselinekit history`.


@dataclass(eq=False, repr=False)
class HistoryOptions:
    """Show pass rate, flips between pass and failure, the last regression and the duration of every baseline
    that did not always pass; for IDs (globs), everything that is known about them.

    Every compare keeps its results in .baselinekit/results/: the last 200 runs, and at most 200 MB.
    """

    ids: tuple[str, ...] = argument(nargs=-1, metavar="[ID]...", shell_complete=complete_ids)
    last: int | None = option(type=click.IntRange(1), metavar="N", help="Only the last N runs.")
    as_json: bool = flag("--json", help="Print it as JSON.")
    html: str | None = option("-o", "--html", metavar="PATH", help="Write it as an HTML page.")
    imported: tuple[str, ...] = several(
        "--import", metavar="FILE", help="Import the result file of a run made elsewhere."
    )
    verbose: bool = flag("-v", "--verbose", help="Also baselines that always passed.")
    project: ProjectOptions = project_options(("config",))


@command(HistoryOptions)
def history(options: HistoryOptions) -> int:
    project = project_of(options.project)
    if options.imported:
        parts = past.load_parts(options.imported, os.getcwd())
        kept_count = past.add(project.root, parts)
        old_note = (
            ""
            if kept_count == len(parts)
            else f"; {len(parts) - kept_count} are older than the runs that are kept"
        )
        screen.line(f"imported {count_noun(kept_count, 'run')}{old_note}", err=options.as_json)
        if not (options.ids or options.as_json or options.html):
            return 0
    runs = past.load(project.root, options.ids, options.last)
    if options.html:
        write_text(options.html, render_history(runs))
        screen.line(f"wrote {screen.safe_line(options.html)}", err=options.as_json)
    if options.as_json:
        screen.show_json(format_history_json(runs))
    elif not options.html:
        style = screen.style_of()
        encoding = (sys.stdout.encoding or "") if sys.stdout is not None else ""
        with_bars = os.environ.get("TERM") != "dumb" and encoding.lower().replace("-", "") == "utf8"
        screen.show(format_history(runs, style, with_bars, options.verbose))
    return 0


# `baselinekit merge`.


@dataclass(eq=False, repr=False)
class MergeOptions:
    """Combine RESULTS, the files that `compare --shard 1/4 -o 1.json` and the other shards wrote.

    The report is that of one run without shards. A missing shard makes it incomplete; files of different
    runs, targets, configurations or versions are refused. The exit code is that of one compare of them all.
    """

    results: tuple[str, ...] = argument(nargs=-1, required=True, type=click.Path())
    outputs: tuple[str, ...] = several("-o", metavar="PATH", help="Write the report: as compare -o does.")
    as_json: bool = flag("--json", help="Print the result file (JSON) instead of text.")
    different: tuple[str, ...] = several(
        "--allow-different",
        type=click.Choice(past.MAY_DIFFER),
        help="Merge shards even if they differ in this; the report says so.",
    )
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag(
        "-v", "--verbose", help="Also print what passed, and explain the differences in words."
    )


@command(MergeOptions)
def merge(options: MergeOptions) -> int:
    delivery.check(options.outputs)
    report = past.merge(past.load_parts(options.results, os.getcwd()), options.different)
    redactor = Redactor({})
    # the redactor learns which random-looking values are not secrets: an id, a tag
    for result in report.results:
        redactor.mask_value(result.resolved)
        for difference in result.differences:
            redactor.mask_value(difference.expected, difference.path)
            redactor.mask_value(difference.actual, difference.path)
    screen.install(redactor.mask_said)
    report, root = _in_project(report, options.results[0])
    report = delivery.deliver(report, options.outputs, root, options.results)
    if not delivery.show_json(report, options.as_json):
        style = screen.style_of(options.verbose)
        if options.verbose:
            screen.show(terminal.format_passed(report, style))
        if not options.quiet:
            screen.show(terminal.format_failures(report, style))
            screen.show(format_lines(describe_weakened(report.against, style)))
            screen.show(terminal.format_warnings(report, style))
        screen.line(headline(report, style))
        if options.quiet:
            delivery.tell_lost(report)
    delivery.annotate(report, options.outputs, root, err=options.as_json)
    return report.exit_code


def _in_project(report: Report, file: str) -> tuple[Report, str]:
    """Return the folder of the project that a result file is of, which need not be the working directory, and
    the report with commands that name its configuration then."""
    typed = report.typed
    if "--config" in typed.operator:
        return report, os.path.dirname(typed.operator[typed.operator.index("--config") + 1])
    config = nearest_config(os.path.dirname(file))
    if config is None or config == nearest_config(os.getcwd()):
        return report, os.getcwd()
    typed = replace(typed, operator=(*typed.operator, "--config", os.path.relpath(config)))
    return replace(report, typed=typed), os.path.dirname(config)


# `baselinekit orphans`.


_KIND_NAMES = {
    "baseline": "source gone",
    "output": "output file without a baseline",
    "pending": "pending without a baseline",
    "unrun": "never run",
}


@dataclass(eq=False, repr=False)
class OrphansOptions:
    """List baselines whose prompt, input file, skill, command or model no longer exists, and output and
    pending files that belong to no baseline. With --from also baselines that complete runs never ran; the
    files of all shards count as one run.

    Nothing is removed without --delete, and never a baseline that shares its file with others, or one that
    is never run.
    """

    results: tuple[str, ...] = several(
        "--from", metavar="FILE", help="Result files: also what they never run."
    )
    delete: bool = flag(help="Remove the files, after a question.")
    yes: bool = flag(help="Remove them without a question.")
    fail: bool = flag(help="Exit code 1 when there are any.")
    as_json: bool = flag("--json", help="Print them as JSON.")
    project: ProjectOptions = project_options(READING)


@command(OrphansOptions)
def orphans(options: OrphansOptions) -> int:
    project = project_of(options.project)
    parts = past.load_parts(options.results, os.getcwd())
    with real_context() as context:
        orphans = find_orphans(project, with_models(context, project).clients, parts)
    if options.as_json:
        screen.show_document(_document(orphans))
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
        screen.line(
            screen.safe_line(f"{_KIND_NAMES[orphan.kind]}: {orphan.id}   {orphan.file}   {orphan.why}")
        )
    for note in orphans.notes:
        screen.line(f"note: {screen.safe_line(note)}")
    count, total = len(orphans.found), orphans.looked_at
    screen.line(f"{count_noun(count, 'orphan')}; {count_noun(total, 'baseline')} checked")


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


def _delete(project: Project, orphans: list[Orphan], options: OrphansOptions) -> None:
    """Remove the files, and print each: those that git tracks can be restored, others cannot."""
    files = count_noun(len(orphans), "file")
    if not options.yes:
        if not (sys.stdin is not None and sys.stdin.isatty()):
            message = f"--delete would remove {files}, and there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", message, "say --yes"))
        click.confirm(f"Remove {files}?", abort=True, err=True)
    for orphan in orphans:
        remove(project.root, orphan.file)
        screen.line(f"removed {screen.safe_line(orphan.file)}", err=options.as_json)
