"""`baselinekit compare`."""

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import delivery, models, options, options as completion, screen
from baselinekit.cli.clients import real_context
from baselinekit.cli.progress import show_progress
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.results import Against, Outcome, Report
from baselinekit.programs.git import Git
from baselinekit.report import terminal as terminal
from baselinekit.report.forms.table import render_report
from baselinekit.report.style import Style
from baselinekit.report.wording import lies_in
from baselinekit.store import results
from baselinekit.trust import in_ci
from baselinekit.workflow import history, selection
from baselinekit.workflow.compare import ComparePolicy, compare as run
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.masking import masked
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import Selection
from baselinekit.workflow.verdicts import Repeating


@click.command(short_help="Replay baselines and report what differs.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("-k", "expression", metavar="EXPR", help='Words of id, name or tag: "users and not slow".')
@click.option(
    "--id", "ids", metavar="GLOB", multiple=True, shell_complete=completion.ids, help="Only these ids."
)
@click.option(
    "--tag", "tags", multiple=True, shell_complete=completion.tags, help="Only with one of these tags."
)
@click.option("--exclude-tag", "exclude_tags", multiple=True, help="Without these tags.")
@click.option("--lf", "last_failed", is_flag=True, help="Only those that did not pass last time.")
@click.option("--ff", "failed_first", is_flag=True, help="First those that did not pass last time.")
@click.option("--changed-since", metavar="REV", help="Only those that a change since this commit touches.")
@click.option("--shard", metavar="N/OF", help="One of several parts; `merge` makes one report of all.")
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 512), default=8, show_default=True, help="How many at once."
)
@click.option("-x", "first", is_flag=True, help="Stop at the first that does not pass.")
@click.option("--maxfail", type=click.IntRange(1), help="Stop after so many.")
@click.option(
    "--repeat", type=click.IntRange(1, 1000), default=1, metavar="N", help="Replay each N times: is it flaky?"
)
@click.option(
    "--min-pass-rate",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    metavar="RATE",
    help="With --repeat, the share of replays that has to pass: 0.8. The default is all.",
)
@click.option(
    "--record/--no-record",
    default=None,
    help="Write last_passed and failure_count; in CI the default is not to.",
)
@click.option(
    "--base", metavar="REV", help="Also list the baselines added, removed or loosened since this commit."
)
@click.option("--fail-on-weakened", is_flag=True, help="With --base: exit 1 if any was removed or loosened.")
@click.option("--strict-rules", is_flag=True, help="A rule that matches nothing is an error.")
@click.option(
    "-o", "outputs", metavar="PATH", multiple=True, help="Write a report: x.json, x.html, x.md, x.junit.xml."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result file instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="Only the last line.")
@click.option("-v", "--verbose", is_flag=True, help="Also what passed, and the differences in words.")
@click.option("-w", "--watch", is_flag=True, help="Again when a file changes, until Ctrl-C.")
@click.option("--resume", is_flag=True, help="Go on where the last run was stopped: ask no model again.")
@models.model_options
@options.project_options
@screen.color_option
def compare(paths: tuple[str, ...], color: str, **given: Any) -> int:
    """Replay the baselines below PATHS (else those of the project) and compare what comes back.

    What passes sets last_passed, what fails raises failure_count, in place. In CI nothing is written.

    \b
    Exit code: 0 all passed, 1 a regression, 2 usage or an invalid file, 3 could not replay,
    4 refused, 5 nothing selected, 130 interrupted.
    """
    delivery.check(given["outputs"])
    if not given["watch"]:
        return _round(paths, color, given).exit_code
    from baselinekit.cli.watch import Watch

    def again(among: frozenset[str] | None, first: frozenset[str]) -> Report:
        return _round(paths, color, {**given, "among": among, "first_of_all": first})

    return Watch(given, paths, again, screen.style_of(color)).until_stopped()


def _round(paths: tuple[str, ...], color: str, given: dict[str, Any]) -> Report:
    """One compare: replay, keep, report."""
    project, wanted = options.project_of(given), models.kept(given)
    quiet = given["quiet"] or given["as_json"]
    with ExitStack() as stack:
        advance = _progress(stack, color) if not quiet else None
        context = stack.enter_context(real_context(advance))
        asked = models.LazyModels(project, context.clients, wanted)
        context = asked.added_to(context)
        against = _against(project, context, given)
        report = run(
            project,
            paths,
            _selection(project, given),
            _policy(project, given),
            context,
            options.command_line(project),
        )
        report = replace(report, spent=asked.spent, against=against)
        if report.complete and not (report.interrupted or report.summary.error):
            asked.forget()
    report = masked(report, project.redactor)
    results.remember(project.root, report)
    if not given.get("among"):  # a round of a watch, which would push real runs out
        history.keep(project.root, report)
    report = delivery.deliver(report, given["outputs"], project.root)
    if given["as_json"]:
        screen.show_json(render_report(report, ".json"))
        delivery.tell_lost(report)
    else:
        _print(report, screen.style_of(color), given | {"paths": _needed(project, report, paths)})
    delivery.annotate(report, given["outputs"], project.root, err=given["as_json"])
    return report


def _against(project: Project, context: RunContext, given: dict[str, Any]) -> Against | None:
    """What the change does to the baselines themselves; a commit that is none is told before any request."""
    if given["base"] is not None:
        from baselinekit.workflow import weakened

        git = Git(context.clients.execute, project.root)
        return weakened.against(project, git, given["base"], given["fail_on_weakened"])
    if given["fail_on_weakened"]:
        what = "--fail-on-weakened asks: weaker than what?"
        raise InvalidInput(Problem("BK508", what, "add --base origin/main, or another commit"))
    return None


def _progress(stack: ExitStack, color: str) -> Callable[[int], Callable[[Outcome], None]]:
    def begin(total: int) -> Callable[[Outcome], None]:
        return stack.enter_context(show_progress(total, sys.stderr, color=color))

    return begin


def _selection(project: Project, given: dict[str, Any]) -> Selection:
    wants = given["last_failed"] or given["failed_first"]
    failed: frozenset[str] = results.not_passed(project.root) if wants else frozenset()
    return Selection(
        given["ids"],
        given["tags"],
        given["exclude_tags"],
        given["expression"],
        among=given.get("among") or (failed if given["last_failed"] else None),
        first=given.get("first_of_all") or (failed if given["failed_first"] else frozenset()),
        shard=selection.parse(given["shard"]) if given["shard"] else None,
        since=given["changed_since"],
    )


def _policy(project: Project, given: dict[str, Any]) -> ComparePolicy:
    record = options.record_of(project, given["record"])
    maxfail = 1 if given["first"] else given["maxfail"]
    explain = bool(given["verbose"] or given["outputs"])
    repeating = Repeating(given["repeat"], given["min_pass_rate"])
    if repeating.rate < 1 and repeating.times == 1:
        what = "--min-pass-rate is a share of several replays"
        raise InvalidInput(Problem("BK508", what, "say how many: --repeat 5"))
    return ComparePolicy(record, given["jobs"], maxfail, given["strict_rules"], explain, repeating)


def _print(report: Report, style: Style, given: dict[str, Any]) -> None:
    """Only what differs; with -v also what passed. The last line is the count, then what to type next."""
    verbose, quiet = given["verbose"], given["quiet"]
    if verbose:
        screen.show(terminal.format_passed(report, style))
    if quiet:
        screen.show(
            terminal.format_warnings(replace(report, results=()), style) if report.not_recorded else ""
        )
    else:
        screen.show(terminal.format_failures(report, style, verbose))
        screen.show(terminal.format_warnings(report, style))
    screen.show("" if quiet else terminal.format_weakened(report, style))
    screen.line(terminal.format_summary(report, style))
    if quiet:
        return
    if report.exit_code != 130 and _only_ci_keeps_it(given):
        screen.line(style.paint("CI: nothing is recorded in the files (--record does)", "dim"))
    for command in _next(report, verbose, given["paths"]):
        screen.line(f"next: {command}")


def _needed(project: Project, report: Report, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths that were named, where without them not all that failed would be found."""
    failed = [result for result in report.results if result.outcome == "failed"]
    return () if all(lies_in(one.file, project.folders) for one in failed) else paths


def _next(report: Report, verbose: bool, paths: tuple[str, ...]) -> list[str]:
    """The next commands; who has already asked for the details is shown how the baseline is read."""
    failed = [result.id for result in report.results if result.outcome == "failed"]
    if verbose and failed:
        return [f"baselinekit explain {shlex.quote(failed[0])}"]
    return terminal.next_commands(report, paths)


def _only_ci_keeps_it(given: dict[str, Any]) -> bool:
    return given["record"] is None and in_ci(os.environ)
