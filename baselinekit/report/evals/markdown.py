"""The report of a phase about its gates, in Markdown."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_text
from baselinekit.model.evals import GateResult
from baselinekit.report.evals.evalreport import (
    check_lines,
    format_threshold,
    format_value,
    gate_reasons,
    recommendation_blocks,
)
from baselinekit.report.forms.markdown import format_blocks
from baselinekit.report.sections import format_status
from baselinekit.report.values import cut_line


def format_gates_markdown(judged: Sequence[GateResult]) -> str:
    """Return the part of a phase report that is about evals."""
    lines = ["## Phase Completion Report"] if len(judged) == 1 else []
    for gate in judged:
        lines += [] if len(judged) == 1 else [f"## {markdown_text(cut_line(gate.gate.name))}"]
        lines += gate_lines(gate)
    return "\n".join(lines) + "\n"


def gate_lines(judged: GateResult) -> Iterator[str]:
    yield from ("", "### Eval Results", "")
    yield f"{markdown_text(cut_line(judged.gate.name))}: **{judged.state}**"
    yield from (f"> {markdown_text(cut_line(reason))}" for reason in gate_reasons(judged))
    yield from ("", "| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|")
    for metric in judged.metrics:
        name = f"{metric.name} ({metric.estimator})" if metric.estimator else metric.name
        cells = (name, format_value(metric), format_threshold(metric), format_status(metric))
        yield f"| {' | '.join(cells)} |"
    yield from check_lines(judged.report.results, "####", 2)
    yield from format_blocks(recommendation_blocks(judged.report)).splitlines()
