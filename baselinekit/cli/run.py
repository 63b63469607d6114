"""`baselinekit run` and `baselinekit gate`: ask, grade, count, report; and judge what came out."""

import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import click
from click.shell_completion import CompletionItem

from baselinekit.cli import delivery, options as cli, screen
from baselinekit.cli.clients import LazyModels, real_context, with_models, with_progress
from baselinekit.cli.compare import find_weakened
from baselinekit.cli.elsewhere import Job, check_dask_option
from baselinekit.cli.entry import INTERRUPTED, clock
from baselinekit.cli.evalclients import build_outside, record_slip, run_elsewhere, saved_answers
from baselinekit.clients.trust import check_inside
from baselinekit.commands import history
from baselinekit.commands.loading import provide_eval_schema
from baselinekit.commands.project import Project
from baselinekit.commands.recording import keep_report, mask_report
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem, Refused
from baselinekit.escape import one_line
from baselinekit.evals import gating
from baselinekit.evals.attempts import PendingWrites
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.earlier import PARTS, compare_runs, load_earlier
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import Planned, RunPolicy, keep_reports, plan_cases, run as run_cases
from baselinekit.evals.selection import Choice, load, name_of_case, resolve_path, with_borderline
from baselinekit.evals.weakened import find_weakened_cases
from baselinekit.metrics import PRESETS, RATE
from baselinekit.model.evals import ALLOWABLE, Gate, GateResult, Suite, worst_exit_code
from baselinekit.model.results import Report
from baselinekit.report import evalterminal as shown, next_commands, resultfile, terminal
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.forms.table import render_report
from baselinekit.report.sections import beside_blocks
from baselinekit.report.wording import format_lines, headline
from baselinekit.store.results import TRIED, check_place, load_not_passed, remember_not_passed, write_text
from baselinekit.structs import replace
from baselinekit.suites.settings import write_reports
from baselinekit.suites.suite import load_gates
from baselinekit.values.texts import count_noun

_PRESET = click.Choice(list(PRESETS))


def complete_cases(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete case names from the files typed so far. Files that cannot be read offer nothing."""
    params = ctx.params  # while the name is incomplete, the arguments are in ctx.args
    try:
        project = cli.project_of_files(config=params.get("config"), environment=params.get("environment"))
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

    paths: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    suite: str | None = cli.option("FILE", help="This suite; the default is PATHS, or all below evals/.")
    target: str | None = cli.option("NAME", help="Ask this target, whatever the files name (not: default).")
    targets: str | None = cli.option("FILE", help="The targets file [`targets:`, then .agentv/targets.yaml].")
    save_answers: str | None = cli.option("FILE", help="Write the answers, for a target of stored answers.")
    categories: tuple[str, ...] = cli.several("--category", help="capability, regression, or a category.")
    ids: tuple[str, ...] = cli.several("--id", "GLOB", help="Only these ids.")
    cases: tuple[str, ...] = cli.several(
        "--case", "NAME", shell_complete=complete_cases, help="Only these, by name; tests no triggering."
    )
    tags: tuple[str, ...] = cli.several("--tag", help="Only those with one of these tags.")
    exclude_tags: tuple[str, ...] = cli.several("--exclude-tag", help="Leave out what has one of these tags.")
    expression: str | None = cli.option("-k", "EXPR", help='Words of id, name, tag: "strings and not slow".')
    last_failed: bool = cli.flag("--lf", "--last-failed", help="Only what did not pass last time.")
    only_list: bool = cli.flag("--list", help="List what would run (-v: with the criteria), asking no model.")
    first: bool = cli.flag("-x", "--exitfirst", help="Stop at the first that does not pass.")
    keep_going: bool = cli.flag(help="Run the other files if some cannot be read; the exit code is still 2.")
    grader_type: Literal["code", "model", "human"] | None = cli.option(
        type=click.Choice(["code", "model", "human"]), help="Use only graders of this type."
    )
    attempts: int | None = cli.count("N", most=1000, help="Make N attempts of each case; all must pass.")
    borderline: Literal["pass", "fail"] | None = cli.option(
        type=click.Choice(["pass", "fail"]), help="If a borderline case passes [its pass_rule, else fail]."
    )
    jobs: int | None = cli.jobs_option("How many at once; the default is set by the suite.")
    where: cli.WhereOptions = cli.including(cli.WhereOptions)
    resume: bool = cli.flag(help="Continue where the last run stopped or was killed.")
    fail_under: float | None = cli.option("RATE", type=cli.Number(0, 1), help="Share that must pass [all].")
    preset: str | None = cli.option(type=_PRESET, help="Thresholds of pass@1, pass@3 and pass^3: 3 attempts.")
    compare_to: str | None = cli.option("RUN", help="Compare with an earlier run: a result file, or last.")
    across: tuple[str, ...] = cli.several(
        type=click.Choice(PARTS), help="With --compare-to: even if this part of a case differs."
    )
    fail_on_regressed: bool = cli.flag(help="With --compare-to: exit 1 if any case regressed.")
    since: cli.BaseOptions = cli.including(cli.BaseOptions)
    record: bool | None = cli.record_option(" of regression records")
    outputs: tuple[str, ...] = cli.several("-o", "PATH", help="Write a report: x.html, x.md, x.json.")
    as_json: bool = cli.flag("--json", help="Print the result file (JSON) instead of text.")
    quiet: bool = cli.flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = cli.flag("-v", "--verbose", help="Also print what passed, every grader and every metric.")
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


@cli.command(RunOptions)
def run(options: RunOptions) -> int:
    if options.only_list:
        of_results = ("save_answers", "outputs", "compare_to", "across", "fail_on_regressed")
        cli.refuse_without_effect("run --list", *of_results, "base", "fail_on_weakened")
    delivery.check(options.outputs)
    is_offline = options.recording.offline is not None
    project = cli.project_of(options.project, is_offline, options.targets, options.target)
    if options.keep_going and options.suite is not None:
        raise cli.misuse("--keep-going has no effect with --suite", "leave one of them out")
    suite = load(project, options.paths, options.suite, keep_going=options.keep_going)
    if suite.unread:
        screen.line(screen.safe(str(InvalidInput(*suite.unread))), err=True)
    if options.borderline is not None:
        suite = with_borderline(suite, options.borderline == "pass")
    if options.only_list:
        _print_plan(plan_suite(project, suite, options, listed=True), suite, options)
        return InvalidInput.exit_code if suite.unread else 0
    earlier = None
    if options.compare_to is not None:  # a missing one is reported before any model is asked
        earlier = load_earlier(project, options.compare_to, suite.name)
    elif options.fail_on_regressed or options.across:
        raise cli.misuse("there is no run to compare with", "add --compare-to last, or a result file")
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
    delivery.notify(project, report, exit_code, suite=suite.reporting.notify_on_failure)
    return exit_code


def plan_suite(project: Project, suite: Suite, options: RunOptions, listed: bool = False) -> list[Planned]:
    """Prepare everything as a run would, without asking any model. With `listed`, no permissions are
    needed either."""
    choice, policy = _choice(project, options), _policy(project, options)
    with real_context() as context:
        clients = with_models(context, project, options.recording).clients
        outside = build_outside(project, clients, Queue(project, clock()), False, PendingWrites())
        return plan_cases(project, suite, choice, policy, clients, outside.check, listed)


def run_suite(project: Project, suite: Suite, options: RunOptions) -> Report:
    """Run a suite with real clients."""
    action = "" if options.quiet or options.as_json else "running"
    saving = saved_answers(options.save_answers, options.resume)
    with saving as save, real_context() as context, with_progress(context, action) as context:
        about = f"run {suite.file or suite.name}"
        models = LazyModels(project, context.clients, options.recording, options.resume, about)
        context = models.added_to(context)
        queue = Queue(project, clock())
        outside = partial(build_outside, project, context.clients, queue, save is not None)
        with closing(models):
            models.go_on()
            if options.where.dask is not None:
                check_dask_option(options.where.dask)
            report = run_cases(
                project,
                suite,
                _choice(project, options),
                _policy(project, options),
                context,
                outside,
                partial(record_slip, queue, save),
                cli.command_line(project),
                partial(run_elsewhere, Job(context, models), options.where, save is not None),
            )
            files = (case.source.file for case in suite.cases)
            provide_eval_schema(project.root, dict.fromkeys((suite.file or "", *files)))
            return replace(models.with_totals(report), typed=cli.typed_command())


def keep_run(project: Project, suite: Suite, report: Report) -> tuple[Report, list[str]]:
    """Store what later commands need of a run: what did not pass, for --lf (regression cases also for compare
    --lf), the results, and the reports that the suite asks for."""
    remember_not_passed(project.root, report, TRIED)
    regressions = (one for one in report.results if one.case and one.case.eval_type == "regression")
    remember_not_passed(project.root, replace(report, results=tuple(regressions)))
    keep_report(project.root, report)
    kept_files, reason = keep_reports(project, suite, report)
    return (replace(report, warnings=(*report.warnings, reason)) if reason else report), kept_files


def _choice(project: Project, options: RunOptions) -> Choice:
    return Choice(
        categories=options.categories,
        tags=options.tags,
        expression=options.expression,
        grader=options.grader_type,
        ids=options.ids,
        exclude_tags=options.exclude_tags,
        among=load_not_passed(project.root, TRIED) if options.last_failed else None,
        cases=options.cases,
    )


def _policy(project: Project, options: RunOptions) -> RunPolicy:
    record = cli.record_policy(project, options.record)
    thresholds = dict(PRESETS[options.preset]) if options.preset else {}
    if options.fail_under is not None:
        thresholds[RATE] = options.fail_under
    attempts = options.attempts or (3 if options.preset else None)
    if options.preset and (attempts or 0) < 3:
        message = "a preset needs pass@3, which cannot be computed from fewer than three attempts"
        raise cli.misuse(message, "leave out --attempts, or make it 3 or more")
    return RunPolicy(record, options.jobs, attempts, options.resume, options.first, thresholds)


def _print(project: Project, report: Report, kept_files: list[str], options: RunOptions) -> None:
    """Print only what did not pass; then the metrics, the count, and the next commands."""
    style = screen.style_of(options.verbose)
    if options.verbose:
        screen.show(shown.format_passed(report, style))
    if not options.quiet:
        screen.show(shown.format_failures(report, style))
        screen.show(terminal.format_warnings(report, style))
        screen.show(shown.format_skipped(report, style))
        screen.show(shown.format_metrics(report, style))
        screen.show(format_lines(terminal_lines(beside_blocks(report), style)))
    screen.line(headline(report, style))
    if options.quiet:
        delivery.tell_lost(report)
        return
    if kept_files:
        screen.line(style.paint(f"kept: {delivery.describe_files(kept_files)}", "dim"))
    arguments = ["--suite", options.suite] if options.suite else report.typed.paths
    from_here = cli.path_from_here(project)
    screen.next_commands(
        next_commands.after_run(
            report, cli.repeat_command(), arguments, options.verbose, options.outputs, kept_files, from_here
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
    case = plan.case
    graders = []
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


_PLANS = (".yaml", ".yml")


@dataclass(eq=False, repr=False)
class GateOptions:
    """Judge RESULTS, the files that `run -o x.json` or `compare -o x.json` wrote; - is standard input.

    A gate of a plan (--phase, --trigger) runs its suite, unless RESULTS are given. A value equal to its
    threshold meets it; a metric that is not available does not. A failing regression is never covered by a
    rate, unless it is medium or low and --allow-regressions names that.

    \b
    Exit code: 0 met, or not blocking; 1 not met; 2 usage or an invalid file; 3 undecided: something
    could not run or be judged; 4 refused; 5 nothing to judge; 130 interrupted.
    """

    results: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    preset: str | None = cli.option(type=_PRESET, help="The usual thresholds of pass@1, pass@3, pass^3.")
    required: tuple[str, ...] = cli.several("--require", "METRIC>=X", help="Can be repeated: 'pass@1>=0.85'.")
    required_pass_rate: float | None = cli.option("X", type=cli.Number(0, 1), help="Share that must pass.")
    allow_regressions: tuple[str, ...] = cli.several(
        type=click.Choice(ALLOWABLE), help="Let rates cover failing regressions this critical; repeatable."
    )
    named_plans: tuple[str, ...] = cli.several(
        "--phase", "--trigger", "FILE", help="A plan: the eval steps of a phase, or an eval_trigger."
    )
    phase_id: str | None = cli.option("ID", help="{phase_id} in the path of a report [the id of the run].")
    categories: tuple[str, ...] = cli.several("--category", help="Only capability, regression or a category.")
    tags: tuple[str, ...] = cli.several("--tag", help="Only cases with one of these tags.")
    partial: bool = cli.flag(help="Judge a narrowed run (-k, --id, --lf) as if it were complete.")
    warn: bool = cli.flag(help="Only warn: exit 0 even if a gate is not met.")
    attempts: int | None = cli.count(most=1000, help="When it runs a suite: attempts per case.")
    jobs: int | None = cli.jobs_option("When it runs a suite: how many at once.")
    resume: bool = cli.flag(help="When it runs a suite: continue where the last run stopped.")
    outputs: tuple[str, ...] = cli.several("-o", "PATH", help="Write a report: x.md, x.json.")
    as_json: bool = cli.flag("--json", help="Print it as JSON instead of text.")
    quiet: bool = cli.flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = cli.flag("-v", "--verbose", help="Also print every case that did not pass.")
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()

    @property
    def plans(self) -> list[str]:
        return [*self.named_plans, *(path for path in self.results if path.lower().endswith(_PLANS))]

    @property
    def files(self) -> list[str]:
        return [path for path in self.results if path not in self.plans]


_FORMS = {".json": shown.format_gates_json, ".md": shown.format_gates_markdown}
_RESUME = "baselinekit gate --phase plan.yaml --resume, or leave it out if there are results"
_HINT = "baselinekit gate results.json --preset staging, or --phase plan.yaml"


@cli.command(GateOptions)
def gate(options: GateOptions) -> int:
    for path in options.outputs:
        if os.path.splitext(path)[1].lower() not in _FORMS:
            message = f"the ending of {path!r} is not that of a report"
            raise InvalidInput(Problem("BK503", message, "x.md or x.json"))
        check_place(path)
    project = cli.project_of(options.project, options.recording.offline is not None)
    least = gating.thresholds_of_options(options.preset, options.required, options.required_pass_rate)
    plans = [resolve_path(project, path) for path in options.plans]
    stated = [gate for plan in plans for gate in load_gates(plan, project.root)]
    gates = [_narrowed(gating.with_thresholds(gate, least), options) for gate in stated]
    if options.resume and (options.files or not gates):
        raise cli.misuse("only a run can be resumed", _RESUME)
    if options.files and (options.attempts is not None or options.jobs is not None):
        raise cli.misuse("--attempts and --jobs are for a run, and RESULTS are of one that has ended", _HINT)
    if not options.files and not gates:
        raise cli.misuse("there is nothing to judge", _HINT)
    notes: list[str] = []
    if options.files:
        report = mask_report(_load_report(options.files), project.redactor)
        gates = gates or [_narrowed(_gate_of_report(report, options.preset, least), options)]
        judged = [gating.judge(gate, report, options.partial) for gate in gates]
    else:
        judged = _run_gates(project, options, gates, notes)
    page = shown.format_gates_markdown(judged)
    delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
    texts = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in options.outputs}
    written = {path: delivery.write_report(path, text) for path, text in texts.items()}
    lost = [reason for reason in written.values() if reason]
    notes += [f"written: {path}" for path, reason in written.items() if not reason]
    try:
        for one in judged:
            notes += _keep_files(project, options.phase_id, one)
    except Refused:
        _print_gates(project, options, judged, [])
        raise
    _print_gates(project, options, judged, notes)
    for text in lost:
        screen.line(f"not recorded: {screen.safe_line(text)}", err=True)
    codes = [one.decision if one.report.interrupted and options.files else one.exit_code for one in judged]
    code = worst_exit_code([*codes, 3 if lost else 0])
    # an unmet gate is notified even if it does not block, if its trigger wants that
    unmet = [one for one in judged if one.state != "met"]
    notified = [one for one in unmet if one.gate.notification]
    if notified or not unmet:
        delivery.notify(project, (notified or judged)[0].report, code or int(bool(notified)), judged)
    return code


def _narrowed(gate: Gate, options: GateOptions) -> Gate:
    return replace(
        gate,
        blocking=gate.blocking and not options.warn,
        categories=options.categories or gate.categories,
        tags=options.tags or gate.tags,
        allow_regressions=options.allow_regressions or gate.allow_regressions,
    )


def _load_report(files: Sequence[str]) -> Report:
    """All files as one report, with a warning if the run was narrowed; `-` is standard input."""
    parts = history.load_parts([path for path in files if path != "-"], os.getcwd())
    if "-" in files:
        parts.append(("-", resultfile.read(cli.read_text("gate", "-", "a result file"), "-")))
    report = history.merge(parts)
    narrowed = gating.describe_changed_since(report)
    return replace(report, warnings=(*report.warnings, narrowed)) if narrowed else report


def _gate_of_report(report: Report, preset: str | None, least: dict[str, float]) -> Gate:
    """The gate given by the options, else by the suite, else one for which everything has to pass."""
    if not least and report.suite is not None:
        metrics = report.suite.metrics
        least = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
    name = report.suite.name if report.suite else "all baselines"
    return Gate(preset or name, least or {RATE: 1.0})


def _run_gates(
    project: Project, options: GateOptions, gates: Sequence[Gate], notes: list[str]
) -> list[GateResult]:
    """Run the suites of the gates one after the other, until the operator interrupts. The errors of all
    suites are reported before the first one is run."""

    def suite_of(gate: Gate) -> tuple[Suite, RunOptions]:
        suite = load(project, [cli.path_from_here(project)(gate.suite or "")], None)
        return suite, RunOptions(
            categories=gate.categories,
            tags=gate.tags,
            attempts=options.attempts or gating.attempts_for(gate, suite),
            jobs=options.jobs,
            resume=options.resume,
            quiet=options.quiet,
            as_json=options.as_json,
            recording=options.recording,
        )

    errors: list[BaselinekitError] = []
    judged: list[GateResult] = []
    for gate in gates if len(gates) > 1 else ():
        try:
            suite, run_options = suite_of(gate)
            check_reachable(suite, gate.least, run_options.attempts, project.root, gate.name)
            plan_suite(project, suite, run_options)
        except (InvalidInput, Refused) as error:
            errors.append(error)
    if errors:
        refused = all(isinstance(error, Refused) for error in errors)
        problems = dict.fromkeys(problem for error in errors for problem in error.problems)
        raise (Refused if refused else InvalidInput)(*problems)
    for number, gate in enumerate(gates, 1):
        suite, run_options = suite_of(gate)
        report = mask_report(run_suite(project, suite, run_options), project.redactor)
        report, kept_files = keep_run(project, suite, report)
        notes += [f"kept: {delivery.describe_files(kept_files)}"] if kept_files else []
        judged.append(gating.judge(gate, report))
        if report.interrupted:
            if unseen := [remaining.name for remaining in gates[number:]]:
                notes.append(f"never run: {', '.join(unseen)}")
            break
    return judged


def _keep_files(project: Project, phase_id: str | None, judged: GateResult) -> list[str]:
    """Write the phase report or the archive that a plan asks for; return a note for each."""
    gate, report, root = judged.gate, judged.report, project.root
    path = gating.report_path(gate, phase_id, report, root)
    if judged.state != "met" and path is not None:
        shown_path = os.path.relpath(path, project.cwd)
        # a checkout may contain links
        check_inside(os.path.realpath(root), os.path.realpath(path), shown_path)
        ending = os.path.splitext(path)[1]
        text = _FORMS[ending]([judged]) if ending in _FORMS else render_report(report, path)
        try:
            write_text(path, text)
        except NotRecorded as error:
            return [f"the phase report could not be written: {error.problems[0].message}"]
        return [f"report: {shown_path}"]
    if judged.state != "met" or not gate.archive:
        return []
    file = gate.suite or gate.file
    texts = {
        ".gate.json": shown.format_gates_json([judged]),
        ".phase.md": shown.format_gates_markdown([judged]),
        ".json": render_report(report, ".json"),
    }
    try:
        paths, reason = write_reports(root, file, None, report.started, texts)
    except NotRecorded as error:
        return [f"the results could not be archived: {error.problems[0].message}"]
    files = [os.path.relpath(path, project.cwd) for path in paths]
    return [f"archived: {delivery.describe_files(files)}" + (f"; {reason}" if reason else "")]


def _print_gates(
    project: Project, options: GateOptions, judged: Sequence[GateResult], notes: Sequence[str]
) -> None:
    """Print the gates, their metrics, and in the last line whether the work may go on."""
    style = screen.style_of(options.verbose)
    if options.as_json:
        screen.show_json(shown.format_gates_json(judged))
        return
    for one in judged if not options.quiet else ():
        screen.show(shown.format_gate(one, style))
        for warning in one.report.warnings:
            screen.line(f"{style.paint('warning', 'yellow')} {screen.safe_line(warning)}")
    for note in notes if not options.quiet else ():
        screen.line(style.paint(screen.safe_line(note), "dim"))
    unmet = [one for one in judged if one.state != "met"]
    blocking = [one for one in unmet if one.gate.blocking]
    states = "; ".join(f"{screen.safe_line(one.gate.name)} is {one.state}" for one in blocking or unmet)
    if blocking:
        screen.line(f"{style.paint('blocked', 'bold red')}: {states}")
    elif unmet:
        screen.line(f"{style.paint('warning', 'yellow')}: {states}; it does not block")
    else:
        screen.line(style.paint("go on", "green") + f": {count_noun(len(judged), 'gate')} met")
    if not options.quiet:
        files = [path for path in options.files if path != "-"]
        has_run, from_here = not options.files, cli.path_from_here(project)
        commands = next_commands.after_gate(judged, cli.repeat_command(), has_run, files, from_here)
        screen.next_commands(commands)
