"""Reports delivered: to files (`-o`), to the runner of a CI job, to `notify:`, to the folder of a suite.

Most runs deliver none, so what makes one is imported by who makes it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from baselinekit.cli import screen
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.model.results import Report
from baselinekit.report.forms.table import ANNOTATIONS, form_of, render_report
from baselinekit.store.atomic import cannot_write
from baselinekit.store.project import nearest_config, project_root
from baselinekit.store.results import append_text, check_place, write_text
from baselinekit.trust import in_ci
from baselinekit.workflow.project import Project

if TYPE_CHECKING:
    from baselinekit.model.evals import Judged

# Reports to whoever wants them: the files of `-o`, and the runner of a CI job where one runs this.
# GitHub's runner reads commands in what is printed, and shows the summary that a step leaves in a file.
# Both are given to it unasked, as other tools do: without them a failing job says nothing where people
# look.


_LONGEST_SUMMARY = 1_000_000
"""Bytes; the runner drops the whole summary of a step that is longer than 1 MiB."""


def check(outputs: Sequence[str]) -> None:
    """What no report can be written to is refused before anything is replayed."""
    for output in outputs:
        form_of(output)
        if output != ANNOTATIONS:
            check_place(output)


def is_result_file(output: str) -> bool:
    """Whether a path is that of a result file, and a regular file or none yet."""
    target = os.path.realpath(output)
    return form_of(output) is form_of("x.json") and (os.path.isfile(target) or not os.path.lexists(target))


def deliver(report: Report, outputs: Sequence[str], root: str, is_written: bool = False) -> Report:
    """Write every report that was asked for, and the summary of the step. The verdict has been paid for: a
    report that cannot be written keeps no other from it, and what is given back tells of it. `is_written`:
    they are there already."""
    report = replace(report, results_file=_artefact(outputs))
    whole = replace(report, folder=_folder(root))
    if any(output.lower().endswith(".html") for output in outputs):
        from baselinekit.workflow.history import with_trends

        whole = with_trends(whole, root)
    lost: list[str] = []
    for output in outputs:
        if output != ANNOTATIONS and not is_written:
            lost.append(write_report(output, render_report(whole, output), root))
    summarise(lambda room: _step_summary(whole, room))
    return replace(report, not_recorded=(*report.not_recorded, *filter(None, lost)))


def _step_summary(report: Report, room: int) -> str:
    from baselinekit.report.forms.markdown import format_step_summary

    return format_step_summary(report, room)


def _artefact(outputs: Sequence[str]) -> str:
    """How whoever reads of a CI job elsewhere calls its result file: by the path that was typed, or, where
    that is a place of the machine, by its name."""
    if not in_ci(os.environ):
        return ""
    from baselinekit.report.typed import result_file

    name = result_file(outputs)
    return os.path.basename(name) if os.path.isabs(name) else name


def write_report(path: str, text: str, root: str) -> str:
    """Write a text; why that could not be done, or nothing."""
    try:
        write_text(path, text, root)
    except BaselinekitError as error:
        return str(error)
    except OSError as error:
        return str(cannot_write(path, error))
    return ""


def show_json(report: Report, wanted: bool = True) -> bool:
    """Print the result file, where that is wanted. Beside a document on standard output, the other side hears
    what could not be written down."""
    if wanted:
        screen.show_json(render_report(report, ".json"))
        tell_lost(report)
    return wanted


def tell_lost(report: Report) -> None:
    for text in report.not_recorded:
        screen.line(f"not recorded: {screen.safe_line(text)}", err=True)


def annotate(report: Report, outputs: Sequence[str], root: str, err: bool) -> None:
    """Tell the runner what differs, after all that people read. On standard error where standard output is a
    document: the runner reads both."""
    if ANNOTATIONS in outputs or _by_github():
        screen.show(render_report(replace(report, folder=_folder(root)), ANNOTATIONS), err)


def annotate_problems(problems: Sequence[Problem], root: str | None = None) -> None:
    """Tell the runner what is wrong with the files; of the project that the working folder is in, unless
    somebody knows better."""
    if _by_github():
        from baselinekit.report.forms.annotations import format_problems

        root = root or project_root(nearest_config(os.getcwd()), os.getcwd())
        screen.show(format_problems(problems, _folder(root)), err=True)


def _by_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _folder(root: str) -> str:
    """Where the project lies in its repository: the runner, and code scanning, count paths from there."""
    folder = root = os.path.realpath(root)
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return "" if folder == root else os.path.relpath(root, folder).replace(os.sep, "/")


def summarise(page_in: Callable[[int], str]) -> None:
    """Several commands of one step share its summary, so there is as much room as the others left: a page is
    made for so many bytes."""
    path = os.environ.get("GITHUB_STEP_SUMMARY") if _by_github() else None
    if not path:
        return
    try:
        room = _LONGEST_SUMMARY - (os.path.getsize(path) if os.path.exists(path) else 0)
        if page := page_in(room):
            append_text(path, page)
    except (BaselinekitError, OSError) as error:  # the verdict does not hang on it
        screen.line(screen.safe(f"the summary of the step could not be written: {error}"), err=True)


# Whoever the configuration names under `notify:` is told, when a command is done.


def notify(
    project: Project,
    report: Report,
    exit_code: int,
    judged: Sequence[Judged] = (),
    by_suite: bool | None = None,
) -> None:
    """What could not be told is a warning: the run is what it is. `by_suite`: what the suite says of it."""
    from baselinekit.cli.clients import real_context
    from baselinekit.evals import notifying

    if not notifying.is_wanted(project, exit_code, by_suite):
        return
    told = notifying.notice(report, exit_code, judged, notifying.link_of(os.environ))
    with real_context() as context:
        warning = notifying.notify(project, told, context.clients)
    if warning:
        screen.line(f"warning {screen.safe_line(warning)}", err=True)


# What is said of the reports of a run that its suite keeps.


def describe_files(paths: Sequence[str]) -> str:
    """`evals/results/2024-01-20/run-143052.{json,md}`: they differ in their endings."""
    stem = paths[0].partition("/run-")[2].partition(".")[0]
    endings = [path.rpartition(f"/run-{stem}.")[2] for path in paths]
    if not stem or not paths[1:]:
        return screen.safe_line(", ".join(paths))
    return screen.safe_line(f"{paths[0].removesuffix(endings[0])}{{{','.join(endings)}}}")
