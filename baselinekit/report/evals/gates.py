"""Gates in every form: for a terminal, as the report of a phase in Markdown, and as JSON for programs."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_text, one_line
from baselinekit.model.evals import GateResult, worst_exit_code
from baselinekit.model.results import Metric
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, Note, Words, table, terminal_lines
from baselinekit.report.evals.evalreport import (
    FAULTS,
    check_lines,
    count_results,
    key_of,
    recommendation_blocks,
    recommendations,
)
from baselinekit.report.forms.markdown import format_blocks
from baselinekit.report.sections import metric_facts, status_cell
from baselinekit.report.values import cut_line, page
from baselinekit.report.wording import Style, format_lines

FORMAT = "baselinekit.gate/1"
_STATE_TONES = {"met": "passed", "not met": "failed", "undecided": "unscored"}


def _gate_blocks(judged: GateResult) -> Iterator[Words]:
    """Yield the metrics of a gate, and why it is not met."""
    rows = [
        (
            Cell(metric.name, is_code=True),
            _format_value(metric),
            _format_threshold(metric),
            status_cell(metric),
            metric.why if metric.value is None else metric.estimator,
        )
        for metric in judged.metrics
    ]
    if rows:
        yield table(("Metric", "Value", "Threshold", "Status", "Note"), rows, figures=True)
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
        lines += check_lines(gate.report.results, "####", 2)
        lines += format_blocks(recommendation_blocks(gate.report)).splitlines()
    return "\n".join(lines) + "\n"


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


def _format_value(metric: Metric) -> str:
    """Format the value with two or three digits; with more if they are needed to see on which side of its
    threshold it is."""
    if metric.value is None:
        return "not available"
    text = f"{metric.value:.3f}"
    for digits in range(4, 10):
        if metric.threshold is None or (float(text) >= metric.threshold) == bool(metric.met):
            break
        text = f"{metric.value:.{digits}f}"
    return text[:-1] if text.endswith("0") and len(text) == 5 else text


def _format_threshold(metric: Metric) -> str:
    """Format the threshold as it was written, with at least two digits."""
    least = metric.threshold
    return "" if least is None else f"{least:.2f}" if round(least, 2) == least else f"{least:.9g}"
