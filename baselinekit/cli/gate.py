"""`baselinekit gate`."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from baselinekit.cli import (
    delivery,
    delivery as keptreports,
    delivery as telling,
    gate_hints,
    models,
    options,
    screen,
)
from baselinekit.cli.models import RecordingOptions
from baselinekit.cli.run import choice_of, executed, looked_at, policy_of, remember
from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded, Problem, Refused
from baselinekit.evals import gating, selection
from baselinekit.evals.checks import check_reachable
from baselinekit.evals.finishing import keep_reports
from baselinekit.evals.journalling import Lasting
from baselinekit.evals.measuring import RATE
from baselinekit.metrics import PRESETS
from baselinekit.model.evals import Gate, Judged, Suite, worst
from baselinekit.model.results import Report
from baselinekit.report import resultfile
from baselinekit.report.evals.phase import format_gate, format_gates_json, format_gates_markdown
from baselinekit.report.forms.table import render_report
from baselinekit.report.style import Style
from baselinekit.store.results import check_place, write_text
from baselinekit.suites import results as evalresults, settings
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.trust import check_inside
from baselinekit.workflow import history, resultfiles
from baselinekit.workflow.masking import masked
from baselinekit.workflow.project import Project

# The suites of the gates of a plan, run as `run` would run them, one after the other.


class Running:
    """`told`: where reports are kept, and which gates were finished before, whose runs are not made again."""

    def __init__(self, project: Project, wanted: RecordingOptions, given: dict[str, Any]):
        self._project, self._wanted, self._given = project, wanted, given
        self.told: list[str] = []

    def judged(self, gates: Sequence[Gate]) -> list[Judged]:
        """Until the operator wants no more of it."""
        lasting = Lasting() if len(gates) > 1 else None
        if lasting is not None:
            self._look_at(gates)
        judged: list[Judged] = []
        for gate in gates:
            report = self._run(gate, lasting)
            judged.append(gating.judge(gate, report))
            if report.interrupted:
                unseen = [one.name for one in gates[len(judged) :]]
                self.told += [f"never run: {', '.join(unseen)}"] if unseen else []
                return judged
        if lasting is not None and all(one.report.complete for one in judged):
            lasting.forget()
        return judged

    def _look_at(self, gates: Sequence[Gate]) -> None:
        """What is wrong with any of their suites is told before the first of them is paid for."""
        project, errors = self._project, list[BaselinekitError]()
        for gate in gates:
            try:
                suite, asked = self._asked(gate, None)
                wanted = choice_of(project, asked)
                check_reachable(suite, gate.least, asked["attempts"], project.root, gate.name)
                looked_at(project, suite, wanted, policy_of(project, asked), self._wanted)
            except (InvalidInput, Refused) as error:
                errors.append(error)
        if errors:
            refused = all(isinstance(error, Refused) for error in errors)
            problems = dict.fromkeys(problem for error in errors for problem in error.problems)
            raise (Refused if refused else InvalidInput)(*problems)

    def _asked(self, gate: Gate, lasting: Lasting | None) -> tuple[Suite, dict[str, Any]]:
        """These cases of the gate's suite, as the options of `run` would say it."""
        project, given = self._project, self._given
        path = os.path.relpath(os.path.join(project.root, gate.suite or ""), project.cwd)
        suite = selection.load(project, [path], None)
        return suite, {
            **dict.fromkeys(("expression", "grader_type", "preset", "fail_under", "record")),
            **dict.fromkeys(("ids", "exclude_tags"), ()),
            **dict.fromkeys(("last_failed", "first"), False),
            "categories": gate.categories,
            "tags": gate.tags,
            "attempts": given["attempts"] or gating.attempts_for(gate, suite),
            "lasting": lasting,
            **{name: given[name] for name in ("jobs", "resume", "quiet", "as_json")},
        }

    def _run(self, gate: Gate, lasting: Lasting | None) -> Report:
        project = self._project
        suite, asked = self._asked(gate, lasting)
        report = masked(executed(project, suite, self._wanted, asked), project.redactor)
        if lasting is not None and lasting.taken:  # its reports are kept already
            number = len(report.results)
            cases = "its one case is" if number == 1 else f"its {number:,} cases are"
            self.told.append(f"{gate.name} was finished before: {cases} taken from there")
            return report
        remember(project, report)
        history.keep(project.root, report)
        kept, why = keep_reports(project, suite, report)
        self.told += [f"kept: {delivery.told(kept)}"] if kept else []
        return replace(report, warnings=(*report.warnings, why)) if why else report


# `baselinekit gate`.


_PLANS = (".yaml", ".yml")
_FORMS: dict[str, Callable[[Sequence[Judged]], str]] = {
    ".json": format_gates_json,
    ".md": format_gates_markdown,
}
_RESUME = "baselinekit gate --phase plan.yaml --resume, or leave it out where there are results"
_MEND = "baselinekit gate results.json --preset staging, or --phase plan.yaml"


@click.command(short_help="Say whether a run is good enough to go on.")
@click.argument("results", nargs=-1, type=click.Path())
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), help="The usual thresholds of pass@1, pass@3, pass^3."
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="METRIC>=X",
    help="Such as 'pass@1>=0.85'; again and again.",
)
@click.option(
    "--required-pass-rate",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="The share of cases that has to pass.",
)
@click.option("--phase", "plans", metavar="FILE", multiple=True, help="The eval steps of a phase: a plan.")
@click.option("--trigger", "plans", metavar="FILE", multiple=True, help="An eval_trigger.")
@click.option(
    "--phase-id", metavar="ID", help="For {phase_id} in the path of a report; else that of the run."
)
@click.option("--category", "categories", multiple=True, help="Only capability, regression, or a category.")
@click.option("--tag", "tags", multiple=True, help="Only cases with one of these tags.")
@click.option(
    "--partial", is_flag=True, help="Judge a run that was narrowed (-k, --id, --lf) as if it were all."
)
@click.option("--warn", is_flag=True, help="Block nothing: say it, and exit 0.")
@click.option("--attempts", type=click.IntRange(1, 1000), help="When it runs a suite: so many of each case.")
@click.option("-j", "--jobs", type=click.IntRange(1, 512), help="When it runs a suite: how many at once.")
@click.option("--resume", is_flag=True, help="When it runs a suite: go on where the last run was stopped.")
@click.option("-o", "outputs", metavar="PATH", multiple=True, help="Write what became of it: x.md, x.json.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="Only the last line.")
@click.option("-v", "--verbose", is_flag=True, help="Every case that did not pass.")
@models.model_options
@options.project_options
@screen.color_option
def gate(results: tuple[str, ...], color: str, **given: Any) -> int:
    """Judge RESULTS, the files that `run -o x.json` or `compare -o x.json` wrote; - is standard input.

    A gate of a plan (--phase, --trigger) runs its suite, unless there are RESULTS. What is as large as its
    threshold reaches it; a metric that is not available does not.

    \b
    Exit code: 0 met, or not blocking; 1 not met; 2 usage or an invalid file; 3 undecided: something
    could not run or be judged; 4 refused; 5 nothing to judge; 130 interrupted.
    """
    _check(given["outputs"])
    project, resume = options.project_of(given), {"resume": given["resume"]}
    wanted = models.kept(given)
    given |= resume | {"ran": False, "judged": []}
    told: list[str] = []
    plans = [*given["plans"], *(path for path in results if path.lower().endswith(_PLANS))]
    files = [path for path in results if path not in plans]
    gates = _gates(project, plans, given)
    if given["resume"] and (files or not gates):
        raise InvalidInput(Problem("BK508", "only a run can be resumed", _RESUME))
    if files:
        given["judged"] = [path for path in files if path != "-"]
        report = masked(_loaded(files, project.root), project.redactor)
        judged = [gating.judge(gate, report, given["partial"]) for gate in gates or [_own(report, given)]]
    elif gates:
        given["ran"] = True
        running = Running(project, wanted, given)
        judged, told = running.judged(gates), running.told
    else:
        raise InvalidInput(Problem("BK508", "there is nothing to judge", _MEND))
    style = screen.style_of(color)
    lost = _written(project, judged, given["outputs"])
    try:
        notes = [*told, *(f"written: {path}" for path in given["outputs"] if path not in lost)]
        notes += _keep(project, judged, given)
    except Refused:
        _tell(project, judged, [], style, given)
        raise
    _tell(project, judged, notes, style, given)
    for text in lost.values():
        screen.line(f"not recorded: {screen.safe_line(text)}", err=True)
    stopped = [one.decision if one.report.interrupted and files else one.exit_code for one in judged]
    code = worst([*stopped, 3 if lost else 0])
    _notify(project, judged, code)
    return code


def _notify(project: Project, judged: Sequence[Judged], code: int) -> None:
    """A gate that is not met is worth telling even where it blocks nothing; a trigger says whether it is."""
    open_ones = [one for one in judged if one.state != "met"]
    loud = [one for one in open_ones if one.gate.notification]
    if loud or not open_ones:
        telling.tell(project, (loud or judged)[0].report, code or int(bool(loud)), judged)


def _check(outputs: Sequence[str]) -> None:
    for path in outputs:
        if os.path.splitext(path)[1].lower() not in _FORMS:
            raise InvalidInput(Problem("BK503", f"the ending of {path!r} says no form", "x.md or x.json"))
        check_place(path)


def _gates(project: Project, plans: Sequence[str], given: dict[str, Any]) -> list[Gate]:
    least = gating.stated(given["preset"], given["required"], given["required_pass_rate"])
    found = []
    for path in plans:
        shown = selection.named_by_operator(project, path)
        found += [gating.with_more(gate, least) for gate in load_gates(shown, project.root)]
    return [_narrowed(gate, given) for gate in found]


def _narrowed(gate: Gate, given: dict[str, Any]) -> Gate:
    return replace(
        gate,
        blocking=gate.blocking and not given["warn"],
        categories=given["categories"] or gate.categories,
        tags=given["tags"] or gate.tags,
    )


def _own(report: Report, given: dict[str, Any]) -> Gate:
    """The gate that the options state; else that of the suite; else everything has to pass."""
    least = gating.stated(given["preset"], given["required"], given["required_pass_rate"])
    if not least and report.suite is not None:
        least = {one.name: one.threshold for one in report.suite.metrics if one.threshold is not None}
    name = given["preset"] or (report.suite.name if report.suite else "all baselines")
    return _narrowed(Gate(name, least or {RATE: 1.0}), given)


def _loaded(files: Sequence[str], root: str) -> Report:
    """All files as one report, `-` being standard input, with what its reader should know of it."""
    parts = resultfiles.load([path for path in files if path != "-"], os.getcwd(), root)
    if "-" in files:
        given = b"" if sys.stdin is None else sys.stdin.buffer.read()
        parts.append(("-", resultfile.read(given.decode("utf-8", "replace"), "-")))
    report = resultfiles.merge(parts)
    narrowed = gating.since(report)
    return replace(report, warnings=(*report.warnings, narrowed)) if narrowed else report


def _written(project: Project, judged: Sequence[Judged], outputs: Sequence[str]) -> dict[str, str]:
    """Write what was asked for; why that could not be done, by the path."""
    page = format_gates_markdown(judged)
    delivery.summarise(lambda room: page if len(page.encode("utf-8", "backslashreplace")) <= room else "")
    tried = {path: _FORMS[os.path.splitext(path)[1].lower()](judged) for path in outputs}
    lost = {path: delivery.written(path, text, project.root) for path, text in tried.items()}
    return {path: why for path, why in lost.items() if why}


def _keep(project: Project, judged: Sequence[Judged], given: dict[str, Any]) -> list[str]:
    """What plans want to be kept, and a line for each file."""
    notes = []
    for one in judged:
        path = gating.report_path(one.gate, given["phase_id"], one.report, project.root)
        if one.state != "met" and path is not None:
            notes.append(_kept(path, one, project))
        if one.state == "met" and one.gate.archive:
            texts = {".gate.json": format_gates_json([one]), ".phase.md": format_gates_markdown([one])}
            notes.append(_archived(one, {**texts, ".json": render_report(one.report, ".json")}, project))
    return notes


def _kept(path: str, judged: Judged, project: Project) -> str:
    """The phase report, in the form that its ending says."""
    shown = os.path.relpath(path, project.cwd)
    check_inside(
        os.path.realpath(project.root), os.path.realpath(path), shown
    )  # a checkout can bring links along
    ending = os.path.splitext(path)[1]
    text = _FORMS[ending]([judged]) if ending in _FORMS else render_report(judged.report, path)
    try:
        write_text(path, text, project.root)
    except NotRecorded as error:
        return f"the phase report could not be written: {error.problems[0].message}"
    return f"report: {shown}"


def _archived(judged: Judged, texts: dict[str, str], project: Project) -> str:
    file = judged.gate.suite or judged.gate.file
    try:
        folder = settings.results_of(project.root, file, None)
        root = settings.root_of(project.root, file)
        written, why = evalresults.keep(folder, judged.report.started, texts, root)
    except NotRecorded as error:
        return f"the results could not be archived: {error.problems[0].message}"
    shown = f"archived: {keptreports.told([os.path.relpath(path, project.cwd) for path in written])}"
    return f"{shown}; {why}" if why else shown


def _tell(
    project: Project,
    judged: Sequence[Judged],
    notes: Sequence[str],
    style: Style,
    given: dict[str, Any],
) -> None:
    """The gates, what they hang on, and in the last line whether the work goes on."""
    if given["as_json"]:
        screen.show_json(format_gates_json(judged))
        return
    if not given["quiet"]:
        for one in judged:
            screen.show(format_gate(one, style, given["verbose"]))
            for warning in one.report.warnings:
                screen.line(f"{style.paint('warning', 'yellow')} {screen.safe_line(warning)}")
        for note in notes:
            screen.line(style.paint(screen.safe_line(note), "dim"))
    screen.line(_verdict(judged, style))
    for command in () if given["quiet"] else gate_hints.commands(project, judged, given):
        screen.line(f"next: {command}")


def _verdict(judged: Sequence[Judged], style: Style) -> str:
    open_ones = [one for one in judged if one.state != "met"]
    blocking = [one for one in open_ones if one.gate.blocking]
    if blocking:
        return style.paint("blocked", "bold red") + f": {_named(blocking)}"
    if open_ones:
        return style.paint("warning", "yellow") + f": {_named(open_ones)}; it blocks nothing"
    return style.paint("go on", "green") + f": {len(judged)} gate{'s' * (len(judged) > 1)} met"


def _named(judged: Sequence[Judged]) -> str:
    return "; ".join(f"{screen.safe_line(one.gate.name)} is {one.state}" for one in judged)
