"""`baselinekit run` and `baselinekit gate`: ask, grade, count, report; and judge what came out."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import click

from baselinekit.cli import delivery, options as cli, screen
from baselinekit.cli.clients import LazyModels, asking, real_context, with_progress
from baselinekit.cli.compare import find_weakened
from baselinekit.cli.elsewhere import Job
from baselinekit.cli.entry import INTERRUPTED, clock
from baselinekit.cli.evalclients import build_outside, record_slip, run_elsewhere, saving
from baselinekit.clients.trust import check_inside
from baselinekit.commands import history
from baselinekit.commands.project import Project
from baselinekit.commands.recording import keep_report, mask_report
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem, Refused
from baselinekit.evals import gating
from baselinekit.evals.attempts import PendingWrites
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.earlier import PARTS, compare_runs, load_earlier
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import Planned, RunPolicy, keep_reports, plan_cases, run as run_cases
from baselinekit.evals.selection import Choice, load, resolve_path, with_borderline
from baselinekit.evals.weakened import find_weakened_cases
from baselinekit.metrics import PRESETS, RATE
from baselinekit.model.evals import ALLOWABLE, Gate, GateResult, Suite, worst_exit_code
from baselinekit.model.results import Report
from baselinekit.report import gates as shown, next_commands, resultfile, terminal
from baselinekit.report.forms import render_report
from baselinekit.report.sections import run_blocks, skipped_blocks
from baselinekit.report.wording import Style
from baselinekit.store.results import TRIED, check_place, load_not_passed, remember_not_passed, write_text
from baselinekit.structs import replace
from baselinekit.suites.settings import write_reports
from baselinekit.suites.suite import load_gates
from baselinekit.values.texts import count_noun

_PRESET = click.Choice(list(PRESETS))


@dataclass
class RunOptions:
    """Run the eval cases below PATHS, or of a suite: ask, grade, and compute metrics.

    The reports of a suite are kept in results/ beside it, unless it names another folder.

    \b
    Exit code: 0 all passed, or enough of them; 1 too few, or a regression; 2 usage or an
    invalid file; 3 could not run or judge; 4 refused; 5 nothing selected; 130 interrupted.
    """

    paths: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    suite: str | None = cli.option(
        "FILE", excludes=("keep_going",), help="This suite; the default is PATHS, or all below evals/."
    )
    target: str | None = cli.option("NAME", help="Ask this target, whatever the files name (not: default).")
    targets: str | None = cli.option("FILE", help="The targets file [`targets:`, then .agentv/targets.yaml].")
    save_answers: str | None = cli.option("FILE", help="Write the answers, for a target of stored answers.")
    transcripts: bool = cli.flag(help="Keep what was asked and answered, also by judges, in -o x.json.")
    categories: tuple[str, ...] = cli.several("--category", help="capability, regression, or a category.")
    selection: cli.SelectionOptions = cli.including(cli.SelectionOptions)
    cases: tuple[str, ...] = cli.several("--case", "NAME", help="Only these, by name; tests no triggering.")
    last_failed: bool = cli.flag("--lf", "--last-failed", help="Only what did not pass last time.")
    only_list: bool = cli.flag(
        "--list",
        excludes=("save_answers", "outputs", "compare_to", "base"),
        help="List what would run (-v: with the criteria), asking no model.",
    )
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
        type=click.Choice(PARTS),
        needs="compare_to",
        help="With --compare-to: even if this part of a case differs.",
    )
    fail_on_regressed: bool = cli.flag(
        needs="compare_to", help="With --compare-to: exit 1 if any case regressed."
    )
    since: cli.BaseOptions = cli.including(cli.BaseOptions)
    record: bool | None = cli.record_option(" of regression records")
    printing: cli.PrintingOptions = cli.including(cli.PrintingOptions)
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


@cli.command(RunOptions)
def run(options: RunOptions) -> int:
    delivery.check(options.printing.outputs)
    is_offline = options.recording.offline is not None
    project = cli.project_of(options.project, is_offline, options.targets, options.target)
    suite = load(project, options.paths, options.suite, keep_going=options.keep_going)
    if suite.unread:
        screen.complain(InvalidInput(*suite.unread))
    if options.borderline is not None:
        suite = with_borderline(suite, options.borderline == "pass")
    if options.only_list:
        _print_plan(plan_suite(project, suite, options, listed=True), suite, options)
        return InvalidInput.exit_code if suite.unread else 0
    earlier = None
    if options.compare_to is not None:  # a missing one is reported before any model is asked
        earlier = load_earlier(project, options.compare_to, suite.name)
    with real_context() as context:
        against = find_weakened(project, context, options.since, find_weakened_cases)
    report = replace(run_suite(project, suite, options), against=against)
    if earlier is not None:
        compared = compare_runs(report, earlier, options.across, options.fail_on_regressed)
        report = replace(report, earlier=compared)
    report, kept_files = keep_run(project, suite, mask_report(report, project.redactor))
    after = partial(_after, project, options, kept_files)
    report = delivery.finish(report, options.printing, project.root, _SECTIONS, after)
    is_invalid = suite.unread and report.exit_code != INTERRUPTED
    exit_code = InvalidInput.exit_code if is_invalid else report.exit_code
    delivery.notify(project, report, exit_code, suite=suite.reporting.notify_on_failure)
    return exit_code


def plan_suite(project: Project, suite: Suite, options: RunOptions, listed: bool = False) -> list[Planned]:
    """Prepare everything as a run would, without asking any model. With `listed`, no permissions are
    needed either."""
    choice, policy = _choice(project, options), _policy(project, options)
    with asking(project, options.recording) as context:
        outside = build_outside(project, context.clients, Queue(project, clock()), False, PendingWrites())
        return plan_cases(project, suite, choice, policy, context.clients, outside.check, listed)


def run_suite(project: Project, suite: Suite, options: RunOptions) -> Report:
    """Run a suite with real clients."""
    action = "" if options.printing.quiet or options.printing.as_json else "running"
    save = saving(options.save_answers, options.resume)
    with real_context() as context, with_progress(context, action) as context:
        about = f"run {suite.file or suite.name}"
        models = LazyModels(project, context.clients, options.recording, options.resume, about)
        context = models.added_to(context)
        queue = Queue(project, clock())
        outside = partial(build_outside, project, context.clients, queue, save is not None)
        with closing(models):
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
        grader=options.grader_type,
        **vars(options.selection),
        among=load_not_passed(project.root, TRIED) if options.last_failed else None,
        cases=options.cases,
    )


def _policy(project: Project, options: RunOptions) -> RunPolicy:
    record = cli.record_policy(project, options.record)
    thresholds = dict(PRESETS[options.preset]) if options.preset else {}
    if options.fail_under is not None:
        thresholds[RATE] = options.fail_under
    attempts = options.attempts or (3 if options.preset else None)
    kept = options.transcripts
    return RunPolicy(record, options.jobs, attempts, options.resume, options.first, thresholds, kept)


def _format_sections(report: Report, style: Style) -> str:
    return delivery.format_blocks((*skipped_blocks(report), *run_blocks(report, style.verbose)), style)


_SECTIONS: tuple[delivery.Section, ...] = (
    terminal.format_passed,
    terminal.format_failures,
    terminal.format_warnings,
    _format_sections,
)


def _after(project: Project, options: RunOptions, kept_files: list[str], report: Report) -> Iterator[str]:
    if kept_files:
        yield f"kept: {', '.join(kept_files)}"
    arguments = ["--suite", options.suite] if options.suite else report.typed.paths
    verbose, outputs, from_here = (
        options.printing.verbose,
        options.printing.outputs,
        cli.path_from_here(project),
    )
    typed = cli.repeat_command()
    commands = next_commands.after_run(report, typed, arguments, verbose, outputs, kept_files, from_here)
    yield from (f"next: {command}" for command in commands)


def _print_plan(plans: Sequence[Planned], suite: Suite, options: RunOptions) -> None:
    """Print what would be run, the graders, and how often models would be asked."""
    out = screen.Output(options.printing.as_json)
    out.document([_document(plan) for plan in plans])
    widest = max(len(plan.case.id) for plan in plans)
    for plan in plans:
        case = plan.case
        graders = ", ".join(f"{grader.name} ({grader.kind})" for grader in case.graders)
        last = f"skipped: {case.skip}" if case.skip is not None else f"by {graders}"
        out.say(f"{case.id:<{widest}}  {case.recipe.kind:<7}  {plan.place}  {last}")
        if options.printing.verbose:
            out.say(*(f"    {name}: {line}" for name, lines in plan.criteria.items() for line in lines))
    out.say(*(f"note: {note}" for note in suite.notes))
    calls, attempts = sum(plan.calls for plan in plans), sum(plan.attempts for plan in plans)
    cases = f"{len(plans):,} of {len(suite.cases):,} cases, {count_noun(attempts, 'attempt')}"
    out.say(f"{cases}, at most {count_noun(calls, 'call')} of models without retries; nothing was run")


def _document(plan: Planned) -> dict[str, Any]:
    case = plan.case
    return {
        "id": case.id,
        "place": plan.place,
        "kind": case.recipe.kind,
        "eval_type": case.kind,
        "tags": list(case.tags),
        "graders": [{"name": grader.name, "kind": grader.kind} for grader in case.graders],
        "criteria": plan.criteria,
        "skip": case.skip,
        "attempts": plan.attempts,
        "model_calls": plan.calls,
    }


@dataclass
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
    plans: tuple[str, ...] = cli.several(
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
    printing: cli.PrintingOptions = cli.including(cli.PrintingOptions)
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


_FORMS = {".json": shown.format_gates_json, ".md": shown.format_gates_markdown}
_HINT = "baselinekit gate results.json --preset staging, or --phase plan.yaml"


@cli.command(GateOptions)
def gate(options: GateOptions) -> int:
    for path in options.printing.outputs:
        if os.path.splitext(path)[1].lower() not in _FORMS:
            message = f"the ending of {path!r} is not of a report"
            raise InvalidInput(Problem("BK508", message, "x.md or x.json"))
        check_place(path)
    project = cli.project_of(options.project, options.recording.offline is not None)
    least = gating.thresholds_of_options(options.preset, options.required, options.required_pass_rate)
    plans = [resolve_path(project, path) for path in options.plans]
    stated = [gate for plan in plans for gate in load_gates(plan, project.root)]
    gates = [_narrowed(gating.with_thresholds(gate, least), options) for gate in stated]
    notes: list[str] = []
    if options.results:
        cli.refuse_without_effect("a gate of RESULTS", "attempts", "jobs", "resume")
        report = mask_report(_load_report(options.results), project.redactor)
        gates = gates or [_narrowed(_gate_of_report(report, options.preset, least), options)]
        judged = [gating.judge(gate, report, options.partial) for gate in gates]
    elif gates:
        judged = _run_gates(project, options, gates, notes)
    else:
        raise cli.misuse("there is nothing to judge", _HINT)
    page = shown.format_gates_markdown(judged)
    delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
    texts = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in options.printing.outputs}
    lost = [*filter(None, (delivery.write_report(path, text) for path, text in texts.items()))]
    try:
        notes += [note for one in judged for note in _keep_files(project, options.phase_id, one)]
    finally:
        _print_gates(project, options, judged, notes)
    screen.say(*(f"not recorded: {text}" for text in lost), err=True)
    codes = [one.decision if one.report.interrupted and options.results else one.exit_code for one in judged]
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
            selection=cli.SelectionOptions(tags=gate.tags),
            attempts=options.attempts or gating.attempts_for(gate, suite),
            jobs=options.jobs,
            resume=options.resume,
            printing=replace(options.printing, outputs=()),
            recording=options.recording,
        )

    errors: list[BaselinekitError] = []
    judged: list[GateResult] = []
    prepared: list[tuple[Suite, RunOptions]] = []
    for gate in gates:
        try:
            suite, run_options = suite_of(gate)
            prepared.append((suite, run_options))
            check_reachable(suite, gate.least, run_options.attempts)
            plan_suite(project, suite, run_options)
        except (InvalidInput, Refused) as error:
            errors.append(error)
    if errors:
        refused = all(isinstance(error, Refused) for error in errors)
        problems = dict.fromkeys(problem for error in errors for problem in error.problems)
        raise (Refused if refused else InvalidInput)(*problems)
    for number, (gate, (suite, run_options)) in enumerate(zip(gates, prepared, strict=True), 1):
        report = mask_report(run_suite(project, suite, run_options), project.redactor)
        report, kept_files = keep_run(project, suite, report)
        notes += [f"kept: {', '.join(kept_files)}"] if kept_files else []
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
    try:
        if judged.state != "met" and path is not None:
            shown_path = os.path.relpath(path, project.cwd)
            # a checkout may contain links
            check_inside(os.path.realpath(root), os.path.realpath(path), shown_path)
            ending = os.path.splitext(path)[1]
            write_text(path, _FORMS[ending]([judged]) if ending in _FORMS else render_report(report, path))
            return [f"report: {shown_path}"]
        if judged.state != "met" or not gate.archive:
            return []
        file = gate.suite or gate.file
        texts = {
            ".gate.json": shown.format_gates_json([judged]),
            ".phase.md": shown.format_gates_markdown([judged]),
            ".json": render_report(report, ".json"),
        }
        paths, reason = write_reports(root, file, None, report.started, texts)
    except NotRecorded as error:
        return [f"the results could not be kept: {error.problems[0].message}"]
    files = [os.path.relpath(path, project.cwd) for path in paths]
    return [f"archived: {', '.join(files)}" + (f"; {reason}" if reason else "")]


def _print_gates(
    project: Project, options: GateOptions, judged: Sequence[GateResult], notes: Sequence[str]
) -> None:
    """Print the gates, their metrics, and in the last line whether the work may go on."""
    if options.printing.as_json:
        screen.show_json(shown.format_gates_json(judged))
        return
    out, style = screen.Output(quiet=options.printing.quiet), screen.style_of(options.printing.verbose)
    for one in judged:
        out.show(shown.format_gate(one, style))
        out.say(*(f"warning {warning}" for warning in one.report.warnings))
    out.say(*notes)
    unmet = [one for one in judged if one.state != "met"]
    blocking = [one for one in unmet if one.gate.blocking]
    states = "; ".join(f"{screen.safe_line(one.gate.name)} is {one.state}" for one in blocking or unmet)
    if blocking:
        screen.line(f"{style.paint('blocked', 'bold red')}: {states}")
    elif unmet:
        screen.line(f"{style.paint('warning', 'yellow')}: {states}; it does not block")
    else:
        screen.line(f"{style.paint('go on', 'green')}: {count_noun(len(judged), 'gate')} met")
    has_run, from_here = not options.results, cli.path_from_here(project)
    files = [path for path in options.results if path != "-"]
    out.next_commands(next_commands.after_gate(judged, cli.repeat_command(), has_run, files, from_here))
