"""`baselinekit run`: ask, grade, count, report; or list what it would do. `gate` runs its suites
with this module too."""

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem

from baselinekit.cli import delivery, screen
from baselinekit.cli.clients import LazyModels, real_context, with_models, with_progress
from baselinekit.cli.compare import find_weakened
from baselinekit.cli.entry import INTERRUPTED, clock
from baselinekit.cli.options import (
    BaseOptions,
    Number,
    ProjectOptions,
    RecordingOptions,
    WhereOptions,
    argument,
    command,
    command_line,
    flag,
    including,
    jobs_option,
    option,
    path_from_here,
    project_of,
    project_of_files,
    project_options,
    record_policy,
    repeat_command,
    several,
    typed_command,
)
from baselinekit.cli.outside import build_outside, saved_answers, slip_recorder
from baselinekit.commands.context import RunContext
from baselinekit.commands.doctor import ASKED_OF_OPERATOR
from baselinekit.commands.executor import Elsewhere
from baselinekit.commands.loading import provide_eval_schema
from baselinekit.commands.project import Project
from baselinekit.commands.recording import keep_report, mask_report
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.escape import one_line
from baselinekit.evals.attempts import CaseOrder, CaseTurn, JudgedAttempt, PlanJournals
from baselinekit.evals.earlier import check_parts, compare_runs, load_earlier
from baselinekit.evals.gating import RATE
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import Planned, RunPolicy, keep_reports, plan_cases, run as run_cases
from baselinekit.evals.selection import Choice, load, name_of_case, with_borderline
from baselinekit.evals.weakened import find_weakened_cases
from baselinekit.kinds.settings import ModelCalls, ModelClient
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import Suite
from baselinekit.model.results import Report
from baselinekit.report import next_commands, terminal
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.evalterminal import format_failures, format_metrics, format_passed, format_skipped
from baselinekit.report.sections import beside_blocks
from baselinekit.report.wording import format_lines, headline
from baselinekit.store.results import TRIED, load_not_passed, remember_not_passed
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun


def complete_cases(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete case names from the files typed so far. Files that cannot be read offer nothing."""
    params = ctx.params  # while the name is incomplete, the arguments are in ctx.args
    try:
        project = project_of_files(config=params.get("config"), environment=params.get("environment"))
        suite = load(project, params.get("paths") or ctx.args, params.get("suite"))
    except (BaselinekitError, OSError):
        return []
    names = dict.fromkeys(name for name in map(name_of_case, suite.cases) if name is not None)
    return [CompletionItem(name) for name in names if name.startswith(incomplete) and one_line(name) == name]


@dataclass(eq=False, repr=False)
class RunOptions:
    """Run the eval cases below PATHS, or of a suite: ask, grade, and compute metrics.

    The reports of a suite are kept in results/ beside it, unless it names another folder.

    \b
    Exit code: 0 all passed, or enough of them; 1 too few, or a regression; 2 usage or an
    invalid file; 3 could not run or judge; 4 refused; 5 nothing selected; 130 interrupted.
    """

    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(
        metavar="FILE", help="Run this suite; the default is PATHS, or everything below evals/."
    )
    target: str | None = option(
        metavar="NAME", help="Ask this target instead of those that the files name (not: default)."
    )
    targets: str | None = option(
        metavar="FILE", help="The targets file; the default is `targets:`, then .agentv/targets.yaml."
    )
    save_answers: str | None = option(
        metavar="FILE", help="Write what was answered, a line of JSON each, for a target of stored answers."
    )
    categories: tuple[str, ...] = several("--category", help="capability, regression, or a category.")
    ids: tuple[str, ...] = several("--id", metavar="GLOB", help="Only these ids.")
    cases: tuple[str, ...] = several(
        "--case",
        metavar="NAME",
        shell_complete=complete_cases,
        help="Only these cases, by their names; then no triggering is tested.",
    )
    tags: tuple[str, ...] = several("--tag", help="Only those with one of these tags.")
    exclude_tags: tuple[str, ...] = several("--exclude-tag", help="Leave out those with one of these tags.")
    expression: str | None = option(
        "-k", metavar="EXPR", help='Expression on words of id, name or tag: "strings and not slow".'
    )
    last_failed: bool = flag("--lf", "--last-failed", help="Only what did not pass last time.")
    only_list: bool = flag(
        "--list", help="List what would run (-v: with which criteria), without asking a model."
    )
    first: bool = flag("-x", "--exitfirst", help="Stop at the first that does not pass.")
    keep_going: bool = flag(help="Run the other files if some cannot be read; the exit code is still 2.")
    grader_type: Literal["code", "model", "human"] | None = option(
        type=click.Choice(["code", "model", "human"]), help="Use only graders of this type."
    )
    attempts: int | None = option(
        type=click.IntRange(1, 1000), metavar="N", help="Make N attempts of each case; all must pass."
    )
    borderline: Literal["pass", "fail"] | None = option(
        type=click.Choice(["pass", "fail"]),
        help="Whether a borderline case passes; the default is what its pass_rule says, else fail.",
    )
    jobs: int | None = jobs_option("How many at once; the default is set by the suite.")
    where: WhereOptions = including(WhereOptions)
    resume: bool = flag(help="Continue where the last run stopped or was killed.")
    fail_under: float | None = option(
        type=Number(0, 1), metavar="RATE", help="The share of cases that must pass; the default is all."
    )
    preset: str | None = option(
        type=click.Choice(list(PRESETS)),
        help="Thresholds of pass@1, pass@3 and pass^3; three attempts unless --attempts says more.",
    )
    compare_to: str | None = option(
        metavar="RUN", help="Compare each case with an earlier run: a result file, or last."
    )
    across: tuple[str, ...] = several(
        metavar="PART",
        help="With --compare-to: compare even if the model, judge, files, grader or case differs.",
    )
    fail_on_regressed: bool = flag(help="With --compare-to: exit 1 if any case regressed.")
    since: BaseOptions = including(BaseOptions)
    record: bool | None = option(
        "--record/--no-record",
        default=None,
        help="Write last_passed and failure_count of regression records; in CI the default is not to.",
    )
    outputs: tuple[str, ...] = several("-o", metavar="PATH", help="Write a report: x.html, x.md, x.json.")
    as_json: bool = flag("--json", help="Print the result file (JSON) instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Also print what passed, every grader and every metric.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options()


@command(RunOptions)
def run(options: RunOptions) -> int:
    delivery.check(options.outputs)
    is_offline = options.recording.offline is not None
    project = project_of(options.project, is_offline, options.targets, options.target)
    if options.keep_going and options.suite is not None:
        message = "--keep-going has no effect with --suite"
        raise InvalidInput(Problem("BK508", message, "leave one of them out"))
    suite = load(project, options.paths, options.suite, keep_going=options.keep_going)
    if suite.unread:
        screen.line(screen.safe(str(InvalidInput(*suite.unread))), err=True)
    if options.borderline is not None:
        suite = with_borderline(suite, options.borderline == "pass")
    if options.only_list:
        _print_plan(plan_suite(project, suite, options, is_only_listed=True), suite, options)
        return InvalidInput.exit_code if suite.unread else 0
    check_parts(options.across)
    earlier = None
    if options.compare_to is not None:  # a missing one is reported before any model is asked
        earlier = load_earlier(project, options.compare_to, suite.name)
    elif options.fail_on_regressed or options.across:
        message = "there is no run to compare with"
        raise InvalidInput(Problem("BK508", message, "add --compare-to last, or a result file"))
    with real_context() as context:
        against = find_weakened(project, context, options.since, find_weakened_cases)
    report = replace(run_suite(project, suite, options), against=against)
    if earlier is not None:
        compared = compare_runs(report, earlier, options.across, options.fail_on_regressed)
        report = replace(report, earlier=compared)
    report, kept_files = keep_run(project, suite, mask_report(report, project.redactor))
    report = delivery.deliver(report, options.outputs, project.root)
    if not delivery.show_json(report, options.as_json):
        _print(project, report, kept_files, options)
    delivery.annotate(report, options.outputs, project.root, err=options.as_json)
    is_invalid = suite.unread and report.exit_code != INTERRUPTED
    exit_code = InvalidInput.exit_code if is_invalid else report.exit_code
    delivery.notify(project, report, exit_code, by_suite=suite.reporting.notify_on_failure)
    return exit_code


def plan_suite(
    project: Project, suite: Suite, options: RunOptions, is_only_listed: bool = False
) -> list[Planned]:
    """Prepare everything as a run would, without asking any model. With `is_only_listed`, no permissions are
    needed either."""
    choice, policy = _choice(project, options), _policy(project, options, None)
    with real_context() as context:
        clients = with_models(context, project, options.recording).clients
        if is_only_listed:
            models = clients.models
            clients = replace(clients, models=ModelCalls(models.ask, partial(_check_listed, models)))
        outside = build_outside(project, clients, Queue(project, clock()), None)
        return plan_cases(project, suite, choice, policy, clients, outside, is_only_listed)


def _check_listed(models: ModelClient, name: str) -> None:
    """Check a model of a run that is only listed: without an entry or a key it is not an error yet."""
    try:
        models.check(name)
    except InvalidInput as error:
        if any(problem.code not in ("BK601", *ASKED_OF_OPERATOR) for problem in error.problems):
            raise


def run_suite(
    project: Project, suite: Suite, options: RunOptions, journals: PlanJournals | None = None
) -> Report:
    """Run a suite with real clients. `journals`: the journals of a plan of several suites."""
    action = "" if options.quiet or options.as_json else "running"
    saving = saved_answers(options.save_answers, options.resume)
    with saving as save, real_context() as context, with_progress(context, action) as context:
        about = f"run {suite.file or suite.name}"
        models = LazyModels(project, context.clients, options.recording, options.resume, about)
        context = models.added_to(context)
        queue = Queue(project, clock())
        outside = build_outside(project, context.clients, queue, save)
        with closing(models):
            models.go_on()
            report = run_cases(
                project,
                suite,
                _choice(project, options),
                _policy(project, options, journals),
                context,
                replace(outside, take=slip_recorder(queue, save)),
                command_line(project),
                _elsewhere(project, options, context, models, about),
            )
            files = (case.source.file for case in suite.cases)
            provide_eval_schema(project.root, dict.fromkeys((suite.file or "", *files)))
            return replace(models.with_totals(report), typed=typed_command())


def _elsewhere(
    project: Project, options: RunOptions, context: RunContext, models: LazyModels, about: str
) -> Callable[[CaseOrder], Elsewhere[CaseTurn, JudgedAttempt] | None]:
    """Return what gives several processes or a cluster; it gives None for threads of this process."""
    if options.where.dask is None and options.where.processes == 1:
        return lambda cases: None
    if options.where.dask is not None:
        from baselinekit.cli.shipping import check_dask_option

        check_dask_option(options.where.dask)
    from baselinekit.cli.caseworker import run_elsewhere
    from baselinekit.cli.worker import Job

    job = Job(project, context, models, options.recording, options.resume, about)
    return partial(run_elsewhere, job, options.where, options.save_answers is not None)


def keep_run(project: Project, suite: Suite, report: Report) -> tuple[Report, list[str]]:
    """Store what later commands need of a run: what did not pass, for --lf (regression cases also for that of
    compare), the results, and the reports that the suite asks for."""
    remember_not_passed(project.root, report, TRIED)
    regressions = (one for one in report.results if one.case and one.case.eval_type == "regression")
    remember_not_passed(project.root, replace(report, results=tuple(regressions)))
    keep_report(project.root, report)
    kept_files, reason = keep_reports(project, suite, report)
    return (replace(report, warnings=(*report.warnings, reason)) if reason else report), kept_files


def _choice(project: Project, options: RunOptions) -> Choice:
    return Choice(
        options.categories,
        options.tags,
        options.expression,
        options.grader_type,
        options.ids,
        options.exclude_tags,
        load_not_passed(project.root, TRIED) if options.last_failed else None,
        options.cases,
    )


def _policy(project: Project, options: RunOptions, journals: PlanJournals | None) -> RunPolicy:
    record = record_policy(project, options.record)
    thresholds = dict(PRESETS[options.preset]) if options.preset else {}
    if options.fail_under is not None:
        thresholds[RATE] = options.fail_under
    attempts = options.attempts or (3 if options.preset else None)
    if options.preset and (attempts or 0) < 3:
        message = "a preset needs pass@3, which cannot be computed from fewer than three attempts"
        raise InvalidInput(Problem("BK508", message, "leave out --attempts, or make it 3 or more"))
    return RunPolicy(record, options.jobs, attempts, options.resume, options.first, thresholds, journals)


def _print(project: Project, report: Report, kept_files: list[str], options: RunOptions) -> None:
    """Print only what did not pass; then the metrics, the count, and the next commands."""
    style = screen.style_of(options.verbose)
    if options.verbose:
        screen.show(format_passed(report, style))
    if not options.quiet:
        screen.show(format_failures(report, style))
        screen.show(terminal.format_warnings(report, style))
        screen.show(format_skipped(report, style))
        screen.show(format_metrics(report, style))
        screen.show(format_lines(terminal_lines(beside_blocks(report), style)))
    screen.line(headline(report, style))
    if options.quiet:
        delivery.tell_lost(report)
        return
    if kept_files:
        screen.line(style.paint(f"kept: {delivery.describe_files(kept_files)}", "dim"))
    arguments = ["--suite", options.suite] if options.suite else report.typed.paths
    from_here = path_from_here(project)
    screen.next_commands(
        next_commands.after_run(
            report, repeat_command(), arguments, options.verbose, options.outputs, kept_files, from_here
        )
    )


def _print_plan(plans: Sequence[Planned], suite: Suite, options: RunOptions) -> None:
    """Print what would be run, the graders, and how often models would be asked."""
    if options.as_json:
        screen.show_json(json.dumps([_document(plan) for plan in plans], indent=2, default=str) + "\n")
        return
    widest = max(len(plan.case.id) for plan in plans)
    for plan in plans:
        case = plan.case
        graders = ", ".join(f"{grader.name} ({grader.kind})" for grader in case.graders)
        last = f"skipped: {case.skip}" if case.skip is not None else f"by {graders}"
        columns = [f"{case.id:<{widest}}", f"{case.recipe.kind:<7}", plan.place, last]
        screen.line(screen.safe_line("  ".join(columns)))
        for name, criteria in plan.criteria.items() if options.verbose else ():
            for line in criteria:
                screen.line(screen.safe_line(f"    {name}: {line}"))
    for note in suite.notes:
        screen.line(screen.safe_line(f"note: {note}"))
    calls, attempts = sum(plan.calls for plan in plans), sum(plan.attempts for plan in plans)
    count, total = len(plans), len(suite.cases)
    cases = f"{count:,} of {total:,} cases" if count < total else count_noun(count, "case")
    is_upper_bound = any(plan.calls and not plan.case.judge_after_failure for plan in plans)
    asked = f"{'up to ' if is_upper_bound else ''}{count_noun(calls, 'call')} of models"
    retried = ", and more if attempts are retried" if calls else ""
    screen.line(f"{cases}, {count_noun(attempts, 'attempt')}, {asked}{retried}; nothing was run")


def _document(plan: Planned) -> dict[str, Any]:
    case, graders = plan.case, []
    for grader in case.graders:
        facts: dict[str, Any] = {"name": grader.name, "kind": grader.kind, "required": grader.required}
        if grader.name in plan.criteria:
            facts["criteria"] = plan.criteria[grader.name]
        graders.append(facts)
    return {
        "id": case.id,
        "place": plan.place,
        "kind": case.recipe.kind,
        "eval_type": case.kind,
        "tags": list(case.tags),
        "graders": graders,
        "skip": case.skip,
        "attempts": plan.attempts,
        "model_calls": plan.calls,
    }
