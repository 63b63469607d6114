"""What a gate came to: for the report of a phase, for the terminal, and for programs."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import log, markdown_code, markdown_text, one_line
from baselinekit.model.evals import Judged, worst
from baselinekit.model.results import Metric, Result
from baselinekit.model.values import Json
from baselinekit.report.evals.evalreport import counted, key_of, recommendations
from baselinekit.report.evals.markdown import advised
from baselinekit.report.evals.terms import evidence
from baselinekit.report.style import Style
from baselinekit.report.values import cut_line, page

FORMAT = "baselinekit.gate/1"
_TITLES = {"capability": "Capability Evals", "regression": "Regression Evals"}
_MOST_LISTED = 500
_MOST_NAMED = 20
_MOST_ADVICE = 100
_WIDEST = 50
_LONGEST = 200
_COLOURS = {"met": "green", "not met": "bold red", "undecided": "bold yellow"}
_FAULTS = ("failed", "error", "unscored")


def format_gates_markdown(judged: Sequence[Judged]) -> str:
    """The part of a phase report that is about evals."""
    lines = ["## Phase Completion Report"] if len(judged) == 1 else []
    for one in judged:
        lines += [] if len(judged) == 1 else [f"## {markdown_text(cut_line(one.gate.name))}"]
        lines += _page(one)
    return "\n".join(lines) + "\n"


def _page(judged: Judged) -> Iterator[str]:
    yield from ("", "### Eval Results", "")
    yield f"{markdown_text(cut_line(judged.gate.name))}: **{judged.state}**"
    yield from (f"> {markdown_text(cut_line(why))}" for why in _because(judged))
    yield from ("", "| Metric | Value | Threshold | Status |", "|--------|-------|-----------|--------|")
    for metric in judged.metrics:
        value = "not available" if metric.value is None else share(metric.value, metric)
        least = "" if metric.threshold is None else _stated(metric.threshold)
        yield f"| {metric.name} | {value} | {least} | {_word(metric)} |"
    for kind, title in _TITLES.items():
        yield from _checks(
            [
                one
                for one in judged.report.results
                if (one.case.eval_type if one.case else "regression") == kind
            ],
            title,
        )
    advice = recommendations(judged.report)
    if advice:
        yield from ("", "### Recommendations", "")
        yield from (f"{n}. {advised(one)}" for n, one in enumerate(advice[:_MOST_ADVICE], 1))
        if len(advice) > _MOST_ADVICE:
            yield f"\n… and {len(advice) - _MOST_ADVICE:,} more"


def share(value: float, metric: Metric | None = None) -> str:
    """Two digits or three; more where it takes more to see on which side of its threshold it is."""
    text = f"{value:.3f}"
    for digits in range(4, 10):
        if (
            metric is None
            or metric.threshold is None
            or (float(text) >= metric.threshold) == bool(metric.met)
        ):
            break
        text = f"{value:.{digits}f}"
    return text[:-1] if text.endswith("0") and len(text) == 5 else text


def _stated(least: float) -> str:
    """As somebody wrote it, with two digits at least."""
    return f"{least:.2f}" if round(least, 2) == least else f"{least:.9g}"


def _word(metric: Metric) -> str:
    return {True: "PASS", False: "FAIL", None: ""}[metric.met]


def _because(judged: Judged) -> Iterator[str]:
    """Why a metric has no value, and why nobody can tell."""
    yield from (f"{one.name}: {one.why}" for one in judged.metrics if one.value is None and one.why)
    yield from judged.why


def _checks(results: Sequence[Result], title: str) -> Iterator[str]:
    if not results:
        return
    passed = sum(result.outcome == "passed" for result in results)
    yield from ("", f"#### {title} ({passed}/{len(results)} passed)", "")
    shown = results
    if len(results) > _MOST_LISTED:  # then those that passed are only counted
        shown = [result for result in results if result.outcome != "passed"][:_MOST_LISTED]
    for result in shown:
        well = result.outcome == "passed"
        name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
        yield f"- [{'x' if well else ' '}] {markdown_text(result.id)}{name}" + (
            "" if well else f" ({result.outcome.upper()})"
        )
        if not well:
            yield from (f"  - {label}: {text}" for label, text in _why(result))
    if len(results) > len(shown):
        yield f"- … and {len(results) - len(shown):,} more, of which {passed:,} passed"


def _why(result: Result) -> Iterator[tuple[str, str]]:
    """What was expected and what came, else the reason."""
    told = evidence(result)[:2]
    for spot in result.differences[:1] if not told else ():
        told = [("Expected", str(spot.expected)), ("Actual", str(spot.actual))]
    if not told and result.reason:
        yield "Reason", markdown_text(cut_line(result.reason, _LONGEST))
    yield from ((label, markdown_code(cut_line(text, _LONGEST))) for label, text in told)


def format_gate(judged: Judged, style: Style) -> str:
    """A gate for the terminal: its metrics, why it is not met, and what did not pass."""
    word = "NOT MET" if judged.state == "not met" else judged.state.upper()
    found = [
        f"{style.paint(word, _COLOURS[judged.state])}  {style.paint(one_line(judged.gate.name), 'bold')}"
    ]
    widest = max((len(metric.name) for metric in judged.metrics), default=0)
    found += [f"  {_metric(metric, widest, style)}" for metric in judged.metrics]
    found += [f"  {style.paint('undecided', 'yellow')} {cut_line(why)}" for why in judged.why]
    wrong = [one for one in judged.report.results if one.outcome in _FAULTS]
    most = len(wrong) if style.verbose else _MOST_NAMED
    shown = wrong[:most] if judged.state != "met" or style.verbose else []
    ids = min(_WIDEST, max((len(one_line(one.id)) for one in shown), default=0))
    for one in shown:
        reason = f"  {cut_line(one.reason)}" if one.reason else ""
        found.append(f"  {one.outcome:<8} {one_line(one.id):<{ids}}{reason}".rstrip())
    if len(wrong) > most and judged.state != "met":
        found.append(style.paint(f"  … and {len(wrong) - most:,} more", "dim"))
    return log("".join(f"{line}\n" for line in found))


def _metric(metric: Metric, widest: int, style: Style) -> str:
    if metric.value is None:
        line = f"{metric.name:<{widest}}  not available: {metric.why}"
    else:
        line = f"{metric.name:<{widest}}  {share(metric.value, metric)}"
    if metric.threshold is not None:
        line += f"  at least {_stated(metric.threshold)}"
        line += f"  {style.paint(_word(metric), 'green' if metric.met else 'bold red')}"
    return line


def format_gates_json(judged: Sequence[Judged]) -> str:
    """For programs."""
    gates: list[Json] = [_document(one) for one in judged]
    whole = {"format": FORMAT, "exit_code": worst([one.exit_code for one in judged]), "gates": gates}
    return page(whole)


def _document(judged: Judged) -> dict[str, Json]:
    gate, report = judged.gate, judged.report
    wrong = [one for one in report.results if one.outcome in _FAULTS]
    return {
        "name": gate.name,
        "state": judged.state,
        "blocking": gate.blocking,
        "exit_code": judged.exit_code,
        "file": gate.file or None,
        "suite": gate.suite,
        "run": report.id,
        "filters": {"categories": list(gate.categories), "tags": list(gate.tags)},
        "metrics": {key_of(metric): _facts(metric) for metric in judged.metrics},
        "why": list(_because(judged)),
        "summary": counted(report.results),
        "failures": [{"id": one.id, "outcome": one.outcome, "reason": one.reason} for one in wrong],
        "recommendations": list(recommendations(report)),
    }


def _facts(metric: Metric) -> dict[str, Json]:
    return {
        "value": metric.value,
        "threshold": metric.threshold,
        "met": metric.met,
        "view": metric.view,
        "low": metric.low,
        "high": metric.high,
        "count": metric.count,
        **({"why": metric.why} if metric.why else {}),
    }
