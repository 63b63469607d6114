"""Gates: for a terminal, as the report of a phase in Markdown, and as JSON for programs."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_code, markdown_text, one_line
from baselinekit.model.evals import GateResult, worst_exit_code
from baselinekit.model.grades import BORDERLINE, FAULTS
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.report.blocks import Block, Diff, Diffs, Note, table, terminal_lines
from baselinekit.report.details import result_blocks
from baselinekit.report.evalreport import KINDS, count_results, key_of, recommendation_blocks, recommendations
from baselinekit.report.forms.markdown import format_blocks
from baselinekit.report.sections import metric_facts, metric_table
from baselinekit.report.values import cut_line, page
from baselinekit.report.wording import Style, format_lines

FORMAT = "baselinekit.gate/1"
_STATE_TONES = {"met": "passed", "not met": "failed", "undecided": "unscored"}
_MOST_LISTED = 500
_MOST_SIDES = 2
_LONGEST_SIDE = 200
_SIDES = {"gone": "Expected", "came": "Actual"}


def _gate_blocks(judged: GateResult) -> Iterator[Block]:
    """Yield the metrics of a gate, and why it is not met."""
    yield from metric_table(judged.metrics)
    yield from (Note(f"not met: {reason}", "failed") for reason in judged.regressed)
    yield from (Note(f"undecided: {reason}", "unscored") for reason in judged.why)


def format_gate(judged: GateResult, style: Style) -> str:
    """Format a gate for a terminal: its metrics, why it is not met, and what did not pass."""
    blocks, results = [*_gate_blocks(judged)], judged.report.results
    failing = [(result.outcome, result.id, result.reason) for result in results if result.outcome in FAULTS]
    if failing and (judged.state != "met" or style.verbose):
        blocks.append(table(("outcome", "case", "why"), failing))
    word = style.paint(judged.state.upper(), _STATE_TONES[judged.state])
    title = f"{word}  {style.paint(one_line(judged.gate.name), 'bold')}"
    return format_lines([title, *terminal_lines(blocks, style)])


def format_gates_markdown(judged: Sequence[GateResult]) -> str:
    """Return the part of a phase report that is about evals."""
    lines = ["## Phase Completion Report"] if len(judged) == 1 else []
    for gate in judged:
        name = markdown_text(cut_line(gate.gate.name))
        lines += [] if len(judged) == 1 else [f"## {name}"]
        lines += ["", "### Eval Results", "", f"{name}: **{gate.state}**"]
        lines += format_blocks(_gate_blocks(gate)).splitlines()
        lines += _check_lines(gate.report.results)
        lines += format_blocks(recommendation_blocks(gate.report)).splitlines()
    return "\n".join(lines) + "\n"


def _check_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield a list of the cases: `- [ ] id: name (FAILED)`. Of many, only those that did not pass."""
    for kind in KINDS:
        cases = [one for one in results if (one.case.eval_type if one.case else "regression") == kind]
        if not cases:
            continue
        failing = [result for result in cases if result.outcome != "passed"]
        passed = len(cases) - len(failing)
        yield from ("", f"#### {kind.capitalize()} Evals ({passed}/{len(cases)} passed)", "")
        listed = cases if len(cases) <= _MOST_LISTED else failing[:_MOST_LISTED]
        for result in listed:
            name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
            words = [] if result.outcome == "passed" else [result.outcome.upper()]
            words += [str(result.verdict)] if result.verdict in (BORDERLINE, "flaky") else []
            stated = f" ({', '.join(words)})" if words else ""
            yield f"- [{'x' if result.outcome == 'passed' else ' '}] {markdown_text(result.id)}{name}{stated}"
            yield from _why_lines(result) if result.outcome != "passed" else ()
        if len(cases) > len(listed):
            yield f"- … and {len(cases) - len(listed):,} more; {passed:,} passed"


def _why_lines(result: Result) -> Iterator[str]:
    """Yield what was expected and what came, else the reason."""
    blocks = result_blocks(result, in_full=False)
    diffs: list[Diff] = [diff for block in blocks if isinstance(block, Diffs) for diff in block.diffs]
    sides = [(diff, line) for diff in diffs for line in diff.lines if line.tone in _SIDES][:_MOST_SIDES]
    for diff, line in sides:
        at = f" at {markdown_text(diff.path)}" if result.differences else ""
        yield f"  - {_SIDES[line.tone]}{at}: {markdown_code(cut_line(line.text[2:], _LONGEST_SIDE))}"
    if not sides and result.reason:
        yield f"  - Reason: {markdown_text(cut_line(result.reason, _LONGEST_SIDE))}"


def format_gates_json(judged: Sequence[GateResult]) -> str:
    """Return the results of gates as JSON for programs."""
    exit_code = worst_exit_code([gate.exit_code for gate in judged])
    return page({"format": FORMAT, "exit_code": exit_code, "gates": [*map(_gate_document, judged)]})


def _gate_document(judged: GateResult) -> dict[str, Json]:
    gate, report = judged.gate, judged.report
    failing = [result for result in report.results if result.outcome in FAULTS]
    unknown = [f"{metric.name}: {metric.why}" for metric in judged.metrics if metric.value is None]
    return {
        "name": gate.name,
        "state": judged.state,
        "blocking": gate.blocking,
        "exit_code": judged.exit_code,
        "file": gate.file or None,
        "suite": gate.suite,
        "run": report.id,
        "filters": {"categories": list(gate.categories), "tags": list(gate.tags)},
        "allow_regressions": list(gate.allow_regressions),
        "metrics": {key_of(metric): metric_facts(metric) for metric in judged.metrics},
        "why": [*unknown, *judged.regressed, *judged.why],
        "summary": count_results(report.results),
        "failures": [{name: getattr(one, name) for name in ("id", "outcome", "reason")} for one in failing],
        "recommendations": recommendations(report),
    }
