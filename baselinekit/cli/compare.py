"""`baselinekit compare`: replay, store the results, report, and suggest the next commands."""

import os
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from baselinekit.cli import delivery, options as cli
from baselinekit.cli.clients import LazyModels, real_context, with_progress
from baselinekit.clients.trust import in_ci
from baselinekit.commands import selection
from baselinekit.commands.compare import compare as compare_baselines
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import ComparePolicy
from baselinekit.commands.project import Project
from baselinekit.commands.recording import keep_report, mask_report
from baselinekit.model.results import BaselineChanges, Report
from baselinekit.report import terminal
from baselinekit.report.wording import Style
from baselinekit.store.results import load_not_passed, remember_not_passed
from baselinekit.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from baselinekit.clients.programs.git import Git


@dataclass
class CompareOptions:
    """Replay the baselines below PATHS (default: all of the project) and compare the outputs.

    A pass updates last_passed in the file, a failure raises failure_count. In CI nothing is written.

    \b
    Exit code: 0 all passed, 1 a regression, 2 usage or an invalid file, 3 could not replay,
    4 refused, 5 nothing selected, 130 interrupted.
    """

    paths: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    selection: cli.SelectionOptions = cli.including(cli.SelectionOptions)
    last_failed: bool = cli.flag("--lf", help="Only those that did not pass last time.")
    failed_first: bool = cli.flag("--ff", help="Start with those that did not pass last time.")
    changed_since: str | None = cli.option("REV", help="Only those that changes since this commit affect.")
    shard: str | None = cli.option("N/OF", help="Compare one part of several; `report` combines them.")
    jobs: int = cli.jobs_option("How many at once.", 8)
    where: cli.WhereOptions = cli.including(cli.WhereOptions)
    first: bool = cli.flag("-x", help="Stop at the first that does not pass.")
    maxfail: int | None = cli.count(help="Stop after this many that did not pass.")
    repeat: int = cli.count("N", most=1000, default=1, help="Replay each N times: is it flaky?")
    min_pass_rate: float = cli.option(
        "RATE",
        type=cli.Number(0, 1, min_open=True),
        default=1.0,
        needs="repeat",
        help="With --repeat: the share of replays that must pass, such as 0.8; the default is all.",
    )
    record: bool | None = cli.record_option()
    since: cli.BaseOptions = cli.including(cli.BaseOptions)
    strict_rules: bool = cli.flag(help="A rule that matches nothing, or cannot be checked, is an error.")
    printing: cli.PrintingOptions = cli.including(cli.PrintingOptions)
    watch: bool = cli.flag(
        "-w", "--watch", excludes=("as_json",), help="Compare again whenever a file changes, until Ctrl-C."
    )
    resume: bool = cli.flag(help="Continue where the last run stopped, without asking any model again.")
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


@cli.command(CompareOptions)
def compare(options: CompareOptions) -> int:
    delivery.check(options.printing.outputs)
    if not options.watch:
        return compare_once(options).exit_code
    from baselinekit.cli.watch import Watch

    return Watch(options.project, options.paths, partial(compare_once, options)).until_stopped()


def compare_once(options: CompareOptions, among: frozenset[str] | None = None) -> Report:
    """One compare. `among`: the ids of a round of `--watch`."""
    project = cli.project_of(options.project)
    is_silent = options.printing.quiet or options.printing.as_json
    action = "" if is_silent else "comparing"
    with real_context() as context, with_progress(context, action) as context:
        models = LazyModels(project, context.clients, options.recording, options.resume, "compare")
        context = models.added_to(context)
        with closing(models):
            against = find_weakened(project, context, options.since, _find_weakened_baselines)
            policy = _policy(project, options)
            failed = load_not_passed(project.root) if options.last_failed or options.failed_first else None
            chosen = replace(
                options.selection.selection,
                among=among or (failed if options.last_failed else None),
                first=(failed if options.failed_first else None) or frozenset(),
                shard=selection.parse_shard(options.shard) if options.shard else None,
                since=options.changed_since,
            )
            elsewhere = None
            if options.where.dask is not None or min(options.where.processes, options.jobs) > 1:
                from baselinekit.cli.elsewhere import Job, compare_elsewhere

                job = Job(context, models, options.jobs, policy.maxfail is not None)
                elsewhere = compare_elsewhere(job, options.where, options.paths, policy)
            command = cli.command_line(project)
            report = compare_baselines(project, options.paths, chosen, policy, context, command, elsewhere)
            typed = replace(cli.typed_command(), unkept=report.typed.unkept)
            report = replace(models.with_totals(report), against=against, typed=typed)
    report = mask_report(report, project.redactor)
    remember_not_passed(project.root, report)
    if not among:  # else a round of `--watch`, which would displace real runs from the history
        keep_report(project.root, report)
    after = partial(_after, project, options)
    return delivery.finish(report, options.printing, project.root, _SECTIONS, after)


def find_weakened(
    project: Project,
    context: RunContext,
    options: cli.BaseOptions,
    find: "Callable[[Project, Git, str, bool], BaselineChanges]",
) -> BaselineChanges | None:
    """How the change affects the baselines or the cases themselves; an unknown commit is reported before any
    request."""
    if options.base is None:
        return None
    from baselinekit.clients.programs.git import Git

    git = Git(context.clients.execute, project.root)
    return find(project, git, options.base, options.fail_on_weakened)


def _find_weakened_baselines(project: Project, git: "Git", ref: str, is_strict: bool) -> BaselineChanges:
    from baselinekit.commands import since  # most runs do not need it

    return since.find_weakened(project, git, ref, is_strict)


def _policy(project: Project, options: CompareOptions) -> ComparePolicy:
    record = cli.record_policy(project, options.record)
    times, rate = options.repeat, options.min_pass_rate
    maxfail = 1 if options.first else options.maxfail
    explain = bool(options.printing.verbose or options.printing.outputs)
    return ComparePolicy(record, options.jobs, maxfail, options.strict_rules, explain, times, rate)


def format_weakened(report: Report, style: Style) -> str:
    if report.against is None:
        return ""
    from baselinekit.report.sections import weakened_blocks

    return delivery.format_blocks(weakened_blocks(report.against), style)


_SECTIONS = (terminal.format_passed, terminal.format_failures, terminal.format_warnings, format_weakened)


def _after(project: Project, options: CompareOptions, report: Report) -> "Iterator[str]":
    if options.record is None and in_ci(os.environ):
        yield "CI: nothing is recorded in the files (--record changes that)"
    if report.summary.passed < len(report.results):
        from baselinekit.report.next_commands import after_compare

        commands = after_compare(report, report.typed.paths, project.folders, options.printing.verbose)
        yield from (f"next: {command}" for command in commands)
