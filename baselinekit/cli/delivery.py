"""Delivers reports: to files (`-o`), to the runner of a CI job, to `notify:`, to the folder of a suite.

Most runs deliver none, so the report modules are imported only by the functions that need them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from baselinekit.cli import screen
from baselinekit.cli.options import PrintingOptions, folder_in_repository
from baselinekit.clients.trust import in_ci
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.model.results import Report, Typed
from baselinekit.report.forms.table import ANNOTATIONS, form_of, render_report
from baselinekit.report.wording import format_lines, headline
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import nearest_config, project_root
from baselinekit.store.results import append_text, check_place, write_text
from baselinekit.structs import replace

if TYPE_CHECKING:
    from baselinekit.model.evals import GateResult
    from baselinekit.report.blocks import Block
    from baselinekit.report.wording import Style

# Reports to the files of `-o`, and to the runner of a CI job. GitHub's runner reads commands in the output,
# and shows the summary that a step writes to a file. It gets both without being asked for, as with other
# tools: otherwise a failing job would show nothing where people look.


_LONGEST_SUMMARY = 1_000_000
"""Bytes; the runner drops the whole summary of a step that is longer than 1 MiB."""


def check(outputs: Sequence[str]) -> None:
    """Refuse paths that no report can be written to, before anything is replayed."""
    for output in outputs:
        form_of(output)
        if output != ANNOTATIONS:
            check_place(output)


def deliver(report: Report, outputs: Sequence[str], root: str, read: Sequence[str] = ()) -> Report:
    """Write every requested report and the summary of the step. A report that cannot be written does not stop
    the others, as the results have been paid for: the returned report names it. `read`: the result files that
    it was made of."""
    report = replace(report, typed=_with_answers(report.typed, outputs, read))
    full_report = replace(report, folder=folder_in_repository(root))
    if any(output.lower().endswith(".html") for output in outputs):
        from baselinekit.commands.history import with_trends

        full_report = with_trends(full_report, root)
    lost: list[str] = []
    for output in outputs:
        if output != ANNOTATIONS:
            lost.append(write_report(output, render_report(full_report, output)))

    def page_in(room: int) -> str:
        from baselinekit.report.forms.markdown import format_step_summary

        return format_step_summary(full_report, room)

    summarise(page_in)
    return replace(report, not_recorded=(*report.not_recorded, *filter(None, lost)))


def _with_answers(typed: Typed, outputs: Sequence[str], read: Sequence[str]) -> Typed:
    """The commands in a report take the answers from its result file, or from the files that it has `read`.
    Readers of a CI job's report have no other answers."""
    if not (read or in_ci(os.environ)):
        return typed
    ours = form_of("x.json")
    files = [name for name in outputs if form_of(name) is ours][:1] or [name for name in read if name != "-"]
    results = tuple(os.path.basename(name) if os.path.isabs(name) else name for name in files)
    return replace(typed, results=results, unkept=typed.unkept or not results)


def write_report(path: str, text: str) -> str:
    """Write a text; return the error message if that failed, else an empty text."""
    try:
        write_text(path, text)
    except BaselinekitError as error:
        return str(error)
    except OSError as error:
        return str(cannot_write(path, error))
    return ""


Section = Callable[[Report, "Style"], str]
"""A part of what is printed about a run; empty if there is nothing to print."""


def finish(
    report: Report,
    options: PrintingOptions,
    root: str,
    sections: Sequence[Section],
    after: Callable[[Report], Iterable[str]] = lambda report: (),
    read: Sequence[str] = (),
) -> Report:
    """Write the reports, and print the result: its sections, the last line, and the lines `after` it. What
    could not be recorded is on standard error where no warning shows it. `read`: as for `deliver`."""
    report = deliver(report, options.outputs, root, read)
    style = screen.style_of(options.verbose)
    if options.as_json:
        screen.show_json(render_report(report, ".json"))
    else:
        for section in sections if not options.quiet else ():
            screen.show(section(report, style))
        screen.line(headline(report, style))
    if options.as_json or options.quiet:
        tell_lost(report)
    else:
        screen.say(*after(report))
    annotate(report, options.outputs, root, err=options.as_json)
    return report


def format_blocks(blocks: Iterable[Block], style: Style) -> str:
    from baselinekit.report.blocks import terminal_lines

    return format_lines(terminal_lines(blocks, style))


def tell_lost(report: Report) -> None:
    screen.say(*(f"not recorded: {text}" for text in report.not_recorded), err=True)


def annotate(report: Report, outputs: Sequence[str], root: str, err: bool) -> None:
    """Tell the runner what differs, after the output for people. On standard error if standard output is a
    document: the runner reads both."""
    if ANNOTATIONS in outputs or _on_github():
        screen.show(render_report(replace(report, folder=folder_in_repository(root)), ANNOTATIONS), err)


def annotate_problems(problems: Sequence[Problem], root: str | None = None) -> None:
    """Tell the runner what is wrong with the files. `root`: the project's folder, by default the one for the
    working folder."""
    if _on_github():
        from baselinekit.report.forms.annotations import format_problems

        root = root or project_root(nearest_config(os.getcwd()), os.getcwd())
        screen.show(format_problems(problems, folder_in_repository(root)), err=True)


def _on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def summarise(page_in: Callable[[int], str]) -> None:
    """Append to the summary of the step. Several commands of a step share it, so `page_in` is given the
    number of bytes that are left."""
    path = os.environ.get("GITHUB_STEP_SUMMARY") if _on_github() else None
    if not path:
        return
    try:
        room = _LONGEST_SUMMARY - (os.path.getsize(path) if os.path.exists(path) else 0)
        if page := page_in(room):
            append_text(path, page)
    except (BaselinekitError, OSError) as error:  # the verdict does not depend on it
        screen.complain(f"the summary of the step could not be written: {error}")


# Notify whom the configuration names under `notify:` when a command is done.


def notify(
    project: Project, report: Report, code: int, judged: Sequence[GateResult] = (), suite: bool | None = None
) -> None:
    """Send the notification; a failure to do so is only a warning. `suite`: the setting of the suite."""
    from baselinekit.cli.clients import real_context
    from baselinekit.evals import notifying

    if not notifying.is_wanted(project, code, suite):
        return
    notice = notifying.notice(report, code, judged, os.environ)
    with real_context() as context:
        warning = notifying.notify(project, notice, context.clients)
    if warning:
        screen.say(f"warning {warning}", err=True)
