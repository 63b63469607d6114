"""`baselinekit gate`: judge result files, or run the suites of a plan and judge them."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, screen
from baselinekit.cli.options import (
    Number,
    ProjectOptions,
    RecordingOptions,
    argument,
    command,
    flag,
    including,
    jobs_option,
    option,
    path_from_here,
    project_of,
    project_options,
    repeat_command,
    several,
)
from baselinekit.cli.run import RunOptions, keep_run, plan_suite, run_suite
from baselinekit.clients.trust import check_inside
from baselinekit.commands import history
from baselinekit.commands.project import Project
from baselinekit.commands.recording import mask_report
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem, Refused
from baselinekit.evals import gating, selection
from baselinekit.evals.attempts import PlanJournals
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.gating import RATE
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import ALLOWABLE, Gate, GateResult, Suite, worst_exit_code
from baselinekit.model.results import Report
from baselinekit.report import next_commands, resultfile
from baselinekit.report.evalterminal import format_gate, format_gates_json, format_gates_markdown
from baselinekit.report.forms.table import render_report
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import replace
from baselinekit.suites import settings
from baselinekit.suites.suite import load_gates
from baselinekit.values.texts import count_noun

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

    results: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    preset: str | None = option(
        type=click.Choice(list(PRESETS)), help="The usual thresholds of pass@1, pass@3, pass^3."
    )
    required: tuple[str, ...] = several(
        "--require", metavar="METRIC>=X", help="Such as 'pass@1>=0.85'; can be repeated."
    )
    required_pass_rate: float | None = option(
        type=Number(0, 1), metavar="X", help="The share of cases that must pass."
    )
    allow_regressions: tuple[str, ...] = several(
        type=click.Choice(ALLOWABLE),
        help="Let the rates cover failing regressions of this criticality; can be repeated.",
    )
    named_plans: tuple[str, ...] = several(
        "--phase", "--trigger", metavar="FILE", help="A plan: the eval steps of a phase, or an eval_trigger."
    )
    phase_id: str | None = option(
        metavar="ID", help="The {phase_id} in the path of a report; the default is the id of the run."
    )
    categories: tuple[str, ...] = several("--category", help="Only capability, regression, or a category.")
    tags: tuple[str, ...] = several("--tag", help="Only cases with one of these tags.")
    partial: bool = flag(help="Judge a narrowed run (-k, --id, --lf) as if it were complete.")
    warn: bool = flag(help="Only warn: exit 0 even if a gate is not met.")
    attempts: int | None = option(
        type=click.IntRange(1, 1000), help="When it runs a suite: attempts per case."
    )
    jobs: int | None = jobs_option("When it runs a suite: how many at once.")
    resume: bool = flag(help="When it runs a suite: continue where the last run stopped.")
    outputs: tuple[str, ...] = several("-o", metavar="PATH", help="Write a report: x.md, x.json.")
    as_json: bool = flag("--json", help="Print it as JSON instead of text.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Also print every case that did not pass.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options()

    @property
    def plans(self) -> list[str]:
        return [*self.named_plans, *(path for path in self.results if path.lower().endswith(_PLANS))]

    @property
    def files(self) -> list[str]:
        return [path for path in self.results if path not in self.plans]


_FORMS: dict[str, Callable[[Sequence[GateResult]], str]] = {
    ".json": format_gates_json,
    ".md": format_gates_markdown,
}
_RESUME = "baselinekit gate --phase plan.yaml --resume, or leave it out if there are results"
_HINT = "baselinekit gate results.json --preset staging, or --phase plan.yaml"


@command(GateOptions)
def gate(options: GateOptions) -> int:
    for path in options.outputs:
        if os.path.splitext(path)[1].lower() not in _FORMS:
            message = f"the ending of {path!r} is not that of a report"
            raise InvalidInput(Problem("BK503", message, "x.md or x.json"))
        check_place(path)
    project = project_of(options.project, options.recording.offline is not None)
    least = gating.thresholds_of_options(options.preset, options.required, options.required_pass_rate)
    plans = [selection.resolve_path(project, path) for path in options.plans]
    stated = [gate for plan in plans for gate in load_gates(plan, project.root)]
    gates = [_narrowed(gating.with_thresholds(gate, least), options) for gate in stated]
    if options.resume and (options.files or not gates):
        raise InvalidInput(Problem("BK508", "only a run can be resumed", _RESUME))
    if not options.files and not gates:
        raise InvalidInput(Problem("BK508", "there is nothing to judge", _HINT))
    notes: list[str] = []
    if options.files:
        report = mask_report(_load_report(options.files), project.redactor)
        gates = gates or [_narrowed(_gate_of_report(report, options.preset, least), options)]
        judged = [gating.judge(gate, report, options.partial) for gate in gates]
    else:
        judged = _run_gates(project, options, gates, notes)
    page = format_gates_markdown(judged)
    delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
    texts = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in options.outputs}
    written = {path: delivery.write_report(path, text) for path, text in texts.items()}
    lost = [reason for reason in written.values() if reason]
    notes += [f"written: {path}" for path, reason in written.items() if not reason]
    try:
        for one in judged:
            notes += _keep_files(project, options.phase_id, one)
    except Refused:
        _print(project, options, judged, [])
        raise
    _print(project, options, judged, notes)
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
        data = b"" if sys.stdin is None else sys.stdin.buffer.read()
        parts.append(("-", resultfile.read(data.decode("utf-8", "replace"), "-")))
    report = history.merge(parts)
    narrowed = gating.describe_changed_since(report)
    return replace(report, warnings=(*report.warnings, narrowed)) if narrowed else report


def _gate_of_report(report: Report, preset: str | None, least: dict[str, float]) -> Gate:
    """The gate given by the options, else that of the suite, else one for which everything has to pass."""
    if not least and report.suite is not None:
        metrics = report.suite.metrics
        least = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
    return Gate(preset or (report.suite.name if report.suite else "all baselines"), least or {RATE: 1.0})


def _run_gates(
    project: Project, options: GateOptions, gates: Sequence[Gate], notes: list[str]
) -> list[GateResult]:
    """Run the suites of the gates one after the other, until the operator interrupts. The errors of all
    suites are reported before the first one is run."""

    def suite_of(gate: Gate) -> tuple[Suite, RunOptions]:
        suite = selection.load(project, [path_from_here(project)(gate.suite or "")], None)
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

    errors, judged = list[BaselinekitError](), list[GateResult]()
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
    journals = PlanJournals() if len(gates) > 1 else None
    for number, gate in enumerate(gates, 1):
        suite, run_options = suite_of(gate)
        report = mask_report(run_suite(project, suite, run_options, journals), project.redactor)
        if journals is not None and journals.taken:  # its reports are kept already
            count = len(report.results)
            cases = "its one case is" if count == 1 else f"its {count:,} cases are"
            notes.append(f"{gate.name} had already finished: {cases} reused")
        else:
            report, kept_files = keep_run(project, suite, report)
            notes += [f"kept: {delivery.describe_files(kept_files)}"] if kept_files else []
        judged.append(gating.judge(gate, report))
        if report.interrupted:
            if unseen := [remaining.name for remaining in gates[number:]]:
                notes.append(f"never run: {', '.join(unseen)}")
            return judged
    if journals is not None and all(one.report.complete for one in judged):
        journals.forget()
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
    texts = {".gate.json": format_gates_json([judged]), ".phase.md": format_gates_markdown([judged])}
    texts[".json"] = render_report(report, ".json")
    try:
        folder = settings.results_of(root, file, None)
        paths, reason = settings.write_reports(folder, report.started, texts, settings.root_of(root, file))
    except NotRecorded as error:
        return [f"the results could not be archived: {error.problems[0].message}"]
    files = [os.path.relpath(path, project.cwd) for path in paths]
    return [f"archived: {delivery.describe_files(files)}" + (f"; {reason}" if reason else "")]


def _print(
    project: Project, options: GateOptions, judged: Sequence[GateResult], notes: Sequence[str]
) -> None:
    """Print the gates, their metrics, and in the last line whether the work may go on."""
    style = screen.style_of(options.verbose)
    if options.as_json:
        screen.show_json(format_gates_json(judged))
        return
    for one in judged if not options.quiet else ():
        screen.show(format_gate(one, style))
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
        files, here = [path for path in options.files if path != "-"], path_from_here(project)
        screen.next_commands(
            next_commands.after_gate(judged, repeat_command(), not options.files, files, here)
        )
