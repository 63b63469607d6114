"""`baselinekit gate`: judge result files, or run the suites of a plan and judge them."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from baselinekit.cli import delivery, screen
from baselinekit.cli.evals import GateOptions, RunOptions
from baselinekit.cli.options import (
    path_from_here,
    project_of,
)
from baselinekit.cli.running import keep_run, plan_suite, run_suite
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem, Refused
from baselinekit.evals import gating, selection
from baselinekit.evals.cases import PlanJournals
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.gating import RATE
from baselinekit.model.evals import Gate, Judged, Suite, worst
from baselinekit.model.results import Report
from baselinekit.report import next_commands, resultfile
from baselinekit.report.evals.evalreport import format_gates_json
from baselinekit.report.evals.markdown import format_gates_markdown
from baselinekit.report.evals.terminal import format_gate
from baselinekit.report.forms.table import render_report
from baselinekit.report.wording import Style
from baselinekit.store.results import check_place, write_text
from baselinekit.suites import settings
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.trust import check_inside
from baselinekit.workflow import history
from baselinekit.workflow.judging import mask_report
from baselinekit.workflow.project import Project

_FORMS: dict[str, Callable[[Sequence[Judged]], str]] = {
    ".json": format_gates_json,
    ".md": format_gates_markdown,
}
_RESUME = "baselinekit gate --phase plan.yaml --resume, or leave it out if there are results"
_HINT = "baselinekit gate results.json --preset staging, or --phase plan.yaml"


def gate(options: GateOptions) -> int:
    for path in options.outputs:
        if os.path.splitext(path)[1].lower() not in _FORMS:
            raise InvalidInput(
                Problem("BK503", f"the ending of {path!r} is not that of a report", "x.md or x.json")
            )
        check_place(path)
    return Gating(project_of(options.project, options.recording.offline is not None), options).run()


@dataclass(slots=True)
class Gating:
    """`notes`: what became of reports and archives, and which gates were finished before."""

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
                gating.judge(one, report, options.partial) for one in gates or [self.stated_gate(report)]
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
        stopped = [
            one.decision if one.report.interrupted and options.files else one.exit_code for one in judged
        ]
        code = worst([*stopped, 3 if lost else 0])
        # a gate that is not met is worth telling even where it blocks nothing; a trigger says whether it is
        unmet = [one for one in judged if one.state != "met"]
        loud = [one for one in unmet if one.gate.notification]
        if loud or not unmet:
            delivery.notify(project, (loud or judged)[0].report, code or int(bool(loud)), judged)
        return code

    def load_gates_of_plans(self) -> list[Gate]:
        """The gates of the plans, with what the options add."""
        least = self.stated_thresholds()
        gates: list[Gate] = []
        for path in self.options.plans:
            shown = selection.named_by_operator(self.project, path)
            gates += [gating.with_more(one, least) for one in load_gates(shown, self.project.root)]
        return [self.narrow(one) for one in gates]

    def stated_thresholds(self) -> dict[str, float]:
        options = self.options
        return gating.stated(options.preset, options.required, options.required_pass_rate)

    def narrow(self, one: Gate) -> Gate:
        return replace(
            one,
            blocking=one.blocking and not self.options.warn,
            categories=self.options.categories or one.categories,
            tags=self.options.tags or one.tags,
        )

    def stated_gate(self, report: Report) -> Gate:
        """The gate that the options state; else that of the suite; else everything has to pass."""
        least = self.stated_thresholds()
        if not least and report.suite is not None:
            metrics = report.suite.metrics
            least = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
        name = self.options.preset or (report.suite.name if report.suite else "all baselines")
        return self.narrow(Gate(name, least or {RATE: 1.0}))

    def load_report(self) -> Report:
        """All files as one report, `-` being standard input, with what its reader should know of it."""
        files = self.options.files
        parts = history.load_parts([path for path in files if path != "-"], os.getcwd(), self.project.root)
        if "-" in files:
            data = b"" if sys.stdin is None else sys.stdin.buffer.read()
            parts.append(("-", resultfile.read(data.decode("utf-8", "replace"), "-")))
        report = history.merge(parts)
        narrowed = gating.since(report)
        return replace(report, warnings=(*report.warnings, narrowed)) if narrowed else report

    def run_gates(self, gates: Sequence[Gate]) -> list[Judged]:
        """Run the suites of the gates, one after the other, until the operator wants no more of it."""
        lasting = PlanJournals() if len(gates) > 1 else None
        if lasting is not None:
            self.check_suites(gates)
        judged: list[Judged] = []
        for one in gates:
            report = self.run_gate(one, lasting)
            judged.append(gating.judge(one, report))
            if report.interrupted:
                unseen = [left.name for left in gates[len(judged) :]]
                self.notes += [f"never run: {', '.join(unseen)}"] if unseen else []
                return judged
        if lasting is not None and all(one.report.complete for one in judged):
            lasting.forget()
        return judged

    def check_suites(self, gates: Sequence[Gate]) -> None:
        """What is wrong with any of their suites is told before the first of them is paid for."""
        project, errors = self.project, list[BaselinekitError]()
        for one in gates:
            try:
                suite, asked = self.suite_of(one)
                check_reachable(suite, one.least, asked.attempts, project.root, one.name)
                plan_suite(project, suite, asked)
            except (InvalidInput, Refused) as error:
                errors.append(error)
        if errors:
            refused = all(isinstance(error, Refused) for error in errors)
            problems = dict.fromkeys(problem for error in errors for problem in error.problems)
            raise (Refused if refused else InvalidInput)(*problems)

    def suite_of(self, one: Gate) -> tuple[Suite, RunOptions]:
        """The suite of a gate, and the options of a run of the gate's cases."""
        options = self.options
        suite = selection.load(self.project, [path_from_here(self.project)(one.suite or "")], None)
        return suite, RunOptions(
            categories=one.categories,
            tags=one.tags,
            attempts=options.attempts or gating.attempts_for(one, suite),
            jobs=options.jobs,
            resume=options.resume,
            quiet=options.quiet,
            as_json=options.as_json,
            recording=options.recording,
        )

    def run_gate(self, one: Gate, lasting: PlanJournals | None) -> Report:
        project = self.project
        suite, asked = self.suite_of(one)
        report = mask_report(run_suite(project, suite, asked, lasting), project.redactor)
        if lasting is not None and lasting.taken:  # its reports are kept already
            number = len(report.results)
            cases = "its one case is" if number == 1 else f"its {number:,} cases are"
            self.notes.append(f"{one.name} had already finished: {cases} reused")
            return report
        report, kept = keep_run(project, suite, report)
        self.notes += [f"kept: {delivery.describe_files(kept)}"] if kept else []
        return report

    def write_reports(self, judged: Sequence[Judged]) -> dict[str, str]:
        """Write what was asked for; why that could not be done, by the path."""
        page = format_gates_markdown(judged)
        delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
        texts = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in self.options.outputs}
        root = self.project.root
        lost = {path: delivery.write_report(path, text, root) for path, text in texts.items()}
        return {path: why for path, why in lost.items() if why}

    def keep_files(self, judged: Sequence[Judged]) -> list[str]:
        """What plans want to be kept, and a line for each file."""
        notes = []
        for one in judged:
            path = gating.report_path(one.gate, self.options.phase_id, one.report, self.project.root)
            if one.state != "met" and path is not None:
                notes.append(self.keep_phase_report(path, one))
            if one.state == "met" and one.gate.archive:
                notes.append(self.archive(one))
        return notes

    def keep_phase_report(self, path: str, one: Judged) -> str:
        """In the form that its ending says."""
        root, shown = self.project.root, os.path.relpath(path, self.project.cwd)
        check_inside(
            os.path.realpath(root), os.path.realpath(path), shown
        )  # a checkout can bring links along
        ending = os.path.splitext(path)[1]
        text = _FORMS[ending]([one]) if ending in _FORMS else render_report(one.report, path)
        try:
            write_text(path, text, root)
        except NotRecorded as error:
            return f"the phase report could not be written: {error.problems[0].message}"
        return f"report: {shown}"

    def archive(self, one: Judged) -> str:
        root, file = self.project.root, one.gate.suite or one.gate.file
        texts = {
            ".gate.json": format_gates_json([one]),
            ".phase.md": format_gates_markdown([one]),
            ".json": render_report(one.report, ".json"),
        }
        try:
            folder = settings.results_of(root, file, None)
            written, why = settings.keep_run(folder, one.report.started, texts, settings.root_of(root, file))
        except NotRecorded as error:
            return f"the results could not be archived: {error.problems[0].message}"
        files = [os.path.relpath(path, self.project.cwd) for path in written]
        return f"archived: {delivery.describe_files(files)}" + (f"; {why}" if why else "")

    def print_gates(self, judged: Sequence[Judged]) -> None:
        """The gates, what they hang on, and in the last line whether the work goes on."""
        options, style = self.options, screen.style_of(self.options.color, self.options.verbose)
        if options.as_json:
            screen.show_json(format_gates_json(judged))
            return
        if options.quiet:
            screen.line(describe_verdict(judged, style))
            return
        for one in judged:
            screen.show(format_gate(one, style))
            for warning in one.report.warnings:
                screen.line(f"{style.paint('warning', 'yellow')} {screen.safe_line(warning)}")
        for note in self.notes:
            screen.line(style.paint(screen.safe_line(note), "dim"))
        screen.line(describe_verdict(judged, style))
        files = [path for path in options.files if path != "-"]
        here = path_from_here(self.project)
        screen.next_commands(next_commands.after_gate(judged, sys.argv[1:], not options.files, files, here))


def describe_verdict(judged: Sequence[Judged], style: Style) -> str:
    unmet = [one for one in judged if one.state != "met"]
    blocking = [one for one in unmet if one.gate.blocking]
    states = "; ".join(f"{screen.safe_line(one.gate.name)} is {one.state}" for one in blocking or unmet)
    if blocking:
        return f"{style.paint('blocked', 'bold red')}: {states}"
    if unmet:
        return f"{style.paint('warning', 'yellow')}: {states}; it does not block"
    return style.paint("go on", "green") + f": {len(judged)} gate{'s' * (len(judged) > 1)} met"
