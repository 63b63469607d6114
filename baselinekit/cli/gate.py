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
from baselinekit.evals.cases import PlanJournals
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.gating import RATE
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import ALLOWABLE, Gate, GateResult, Suite, worst_exit_code
from baselinekit.model.results import Report
from baselinekit.report import next_commands, resultfile
from baselinekit.report.evals.gates import format_gate, format_gates_json, format_gates_markdown
from baselinekit.report.forms.table import render_report
from baselinekit.report.wording import Style
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.suites import settings
from baselinekit.suites.dialects.gates import load_gates

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
        "--phase",
        "--trigger",
        metavar="FILE",
        help="A plan: the eval steps of a phase, or an eval_trigger.",
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
        return [
            *self.named_plans,
            *(path for path in self.results if path.lower().endswith(_PLANS)),
        ]

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
            raise InvalidInput(
                Problem("BK503", f"the ending of {path!r} is not that of a report", "x.md or x.json")
            )
        check_place(path)
    return Gating(project_of(options.project, options.recording.offline is not None), options).run()


class Gating(MutableStruct):
    """`notes`: about written reports and archives, and about gates that an earlier run finished."""

    project: Project
    options: GateOptions
    notes: list[str] = field(default_factory=list)

    def run(self) -> int:
        project, options = self.project, self.options
        gates = self.load_gates_of_plans()
        if options.resume and (options.files or not gates):
            raise InvalidInput(Problem("BK508", "only a run can be resumed", _RESUME))
        if options.files:
            report = mask_report(self.load_report(), project.redactor)
            judged = [
                gating.judge(gate, report, options.partial) for gate in gates or [self.default_gate(report)]
            ]
        elif gates:
            judged = self.run_gates(gates)
        else:
            raise InvalidInput(Problem("BK508", "there is nothing to judge", _HINT))
        lost = self.write_reports(judged)
        try:
            self.notes += [f"written: {path}" for path in options.outputs if path not in lost]
            self.notes += self.keep_files(judged)
        except Refused:
            self.notes = []
            self.print_gates(judged)
            raise
        self.print_gates(judged)
        for text in lost.values():
            screen.line(f"not recorded: {screen.safe_line(text)}", err=True)
        codes = [
            judged_gate.decision
            if judged_gate.report.interrupted and options.files
            else judged_gate.exit_code
            for judged_gate in judged
        ]
        code = worst_exit_code([*codes, 3 if lost else 0])
        # an unmet gate is notified even if it does not block, if its trigger wants that
        unmet = [judged_gate for judged_gate in judged if judged_gate.state != "met"]
        notified = [judged_gate for judged_gate in unmet if judged_gate.gate.notification]
        if notified or not unmet:
            delivery.notify(project, (notified or judged)[0].report, code or int(bool(notified)), judged)
        return code

    def load_gates_of_plans(self) -> list[Gate]:
        """The gates of the plans, combined with the options."""
        thresholds = self.option_thresholds()
        gates: list[Gate] = []
        for path in self.options.plans:
            plan = selection.resolve_path(self.project, path)
            gates += [
                gating.with_thresholds(gate, thresholds) for gate in load_gates(plan, self.project.root)
            ]
        return [self.narrow(gate) for gate in gates]

    def option_thresholds(self) -> dict[str, float]:
        options = self.options
        return gating.thresholds_of_options(options.preset, options.required, options.required_pass_rate)

    def narrow(self, gate: Gate) -> Gate:
        return replace(
            gate,
            blocking=gate.blocking and not self.options.warn,
            categories=self.options.categories or gate.categories,
            tags=self.options.tags or gate.tags,
            allow_regressions=self.options.allow_regressions or gate.allow_regressions,
        )

    def default_gate(self, report: Report) -> Gate:
        """The gate given by the options, else that of the suite, else one for which everything has to
        pass."""
        thresholds = self.option_thresholds()
        if not thresholds and report.suite is not None:
            metrics = report.suite.metrics
            thresholds = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
        name = self.options.preset or (report.suite.name if report.suite else "all baselines")
        return self.narrow(Gate(name, thresholds or {RATE: 1.0}))

    def load_report(self) -> Report:
        """All files as one report, with a warning if the run was narrowed; `-` is standard input."""
        files = self.options.files
        parts = history.load_parts([path for path in files if path != "-"], os.getcwd())
        if "-" in files:
            data = b"" if sys.stdin is None else sys.stdin.buffer.read()
            parts.append(("-", resultfile.read(data.decode("utf-8", "replace"), "-")))
        report = history.merge(parts)
        narrowed = gating.describe_changed_since(report)
        return replace(report, warnings=(*report.warnings, narrowed)) if narrowed else report

    def run_gates(self, gates: Sequence[Gate]) -> list[GateResult]:
        """Run the suites of the gates one after the other, until the operator interrupts."""
        journals = PlanJournals() if len(gates) > 1 else None
        if journals is not None:
            self.check_suites(gates)
        judged: list[GateResult] = []
        for gate in gates:
            report = self.run_gate(gate, journals)
            judged.append(gating.judge(gate, report))
            if report.interrupted:
                unseen = [remaining.name for remaining in gates[len(judged) :]]
                self.notes += [f"never run: {', '.join(unseen)}"] if unseen else []
                return judged
        if journals is not None and all(judged_gate.report.complete for judged_gate in judged):
            journals.forget()
        return judged

    def check_suites(self, gates: Sequence[Gate]) -> None:
        """Report the errors of all suites before the first one is run."""
        project, errors = self.project, list[BaselinekitError]()
        for gate in gates:
            try:
                suite, run_options = self.suite_of(gate)
                check_reachable(suite, gate.least, run_options.attempts, project.root, gate.name)
                plan_suite(project, suite, run_options)
            except (InvalidInput, Refused) as error:
                errors.append(error)
        if errors:
            refused = all(isinstance(error, Refused) for error in errors)
            problems = dict.fromkeys(problem for error in errors for problem in error.problems)
            raise (Refused if refused else InvalidInput)(*problems)

    def suite_of(self, gate: Gate) -> tuple[Suite, RunOptions]:
        """The suite of a gate, and the options of a run of the gate's cases."""
        options = self.options
        suite = selection.load(self.project, [path_from_here(self.project)(gate.suite or "")], None)
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

    def run_gate(self, gate: Gate, journals: PlanJournals | None) -> Report:
        project = self.project
        suite, run_options = self.suite_of(gate)
        report = mask_report(run_suite(project, suite, run_options, journals), project.redactor)
        if journals is not None and journals.taken:  # its reports are kept already
            number = len(report.results)
            cases = "its one case is" if number == 1 else f"its {number:,} cases are"
            self.notes.append(f"{gate.name} had already finished: {cases} reused")
            return report
        report, kept_files = keep_run(project, suite, report)
        self.notes += [f"kept: {delivery.describe_files(kept_files)}"] if kept_files else []
        return report

    def write_reports(self, judged: Sequence[GateResult]) -> dict[str, str]:
        """Write the requested reports; return the errors by path."""
        page = format_gates_markdown(judged)
        delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
        texts = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in self.options.outputs}
        lost = {path: delivery.write_report(path, text) for path, text in texts.items()}
        return {path: reason for path, reason in lost.items() if reason}

    def keep_files(self, judged: Sequence[GateResult]) -> list[str]:
        """Write the phase reports and archives that plans ask for; return a note for each."""
        notes = []
        for judged_gate in judged:
            path = gating.report_path(
                judged_gate.gate, self.options.phase_id, judged_gate.report, self.project.root
            )
            if judged_gate.state != "met" and path is not None:
                notes.append(self.keep_phase_report(path, judged_gate))
            if judged_gate.state == "met" and judged_gate.gate.archive:
                notes.append(self.archive(judged_gate))
        return notes

    def keep_phase_report(self, path: str, judged_gate: GateResult) -> str:
        """Write the phase report in the form of its file ending."""
        root, shown_path = self.project.root, os.path.relpath(path, self.project.cwd)
        # a checkout may contain links
        check_inside(os.path.realpath(root), os.path.realpath(path), shown_path)
        ending = os.path.splitext(path)[1]
        text = _FORMS[ending]([judged_gate]) if ending in _FORMS else render_report(judged_gate.report, path)
        try:
            write_text(path, text)
        except NotRecorded as error:
            return f"the phase report could not be written: {error.problems[0].message}"
        return f"report: {shown_path}"

    def archive(self, judged_gate: GateResult) -> str:
        root, file = self.project.root, judged_gate.gate.suite or judged_gate.gate.file
        texts = {
            ".gate.json": format_gates_json([judged_gate]),
            ".phase.md": format_gates_markdown([judged_gate]),
            ".json": render_report(judged_gate.report, ".json"),
        }
        try:
            folder = settings.results_of(root, file, None)
            paths, reason = settings.write_reports(
                folder, judged_gate.report.started, texts, settings.root_of(root, file)
            )
        except NotRecorded as error:
            return f"the results could not be archived: {error.problems[0].message}"
        files = [os.path.relpath(path, self.project.cwd) for path in paths]
        return f"archived: {delivery.describe_files(files)}" + (f"; {reason}" if reason else "")

    def print_gates(self, judged: Sequence[GateResult]) -> None:
        """Print the gates, their metrics, and in the last line whether the work may go on."""
        options, style = self.options, screen.style_of(self.options.verbose)
        if options.as_json:
            screen.show_json(format_gates_json(judged))
            return
        if options.quiet:
            screen.line(describe_verdict(judged, style))
            return
        for judged_gate in judged:
            screen.show(format_gate(judged_gate, style))
            for warning in judged_gate.report.warnings:
                screen.line(f"{style.paint('warning', 'yellow')} {screen.safe_line(warning)}")
        for note in self.notes:
            screen.line(style.paint(screen.safe_line(note), "dim"))
        screen.line(describe_verdict(judged, style))
        files = [path for path in options.files if path != "-"]
        from_here = path_from_here(self.project)
        screen.next_commands(
            next_commands.after_gate(judged, repeat_command(), not options.files, files, from_here)
        )


def describe_verdict(judged: Sequence[GateResult], style: Style) -> str:
    unmet = [judged_gate for judged_gate in judged if judged_gate.state != "met"]
    blocking = [judged_gate for judged_gate in unmet if judged_gate.gate.blocking]
    states = "; ".join(
        f"{screen.safe_line(judged_gate.gate.name)} is {judged_gate.state}"
        for judged_gate in blocking or unmet
    )
    if blocking:
        return f"{style.paint('blocked', 'bold red')}: {states}"
    if unmet:
        return f"{style.paint('warning', 'yellow')}: {states}; it does not block"
    return style.paint("go on", "green") + f": {len(judged)} gate{'s' * (len(judged) > 1)} met"
