"""The sections of a report besides its results: facts → blocks, for every form. The baselines that a change
weakens (`--base`), the comparison with an earlier run (`--compare-to`), metrics, judges, recommendations."""

from collections import Counter
from collections.abc import Iterator

from baselinekit.escape import one_line
from baselinekit.metrics import wilson
from baselinekit.model.grades import Agreement, JudgeFacts
from baselinekit.model.results import (
    VERDICTS,
    BaselineChange,
    BaselineChanges,
    CaseChange,
    EarlierComparison,
    Metric,
    Report,
)
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, Heading, Interval, Note, Tone, Words, table, terminal_lines
from baselinekit.report.confusion import class_figures, classes_blocks, classes_documents
from baselinekit.report.resultfile import written
from baselinekit.report.wording import PLAIN, first_of, list_first

RATE = "pass rate"
_MOST_UNCOVERED = 10
_MOST_NAMED = 20
_CHANGES: dict[str, Tone] = {
    "removed": "failed",
    "loosened": "unscored",
    "changed": "",
    "added": "passed",
}
_NOTABLE: dict[str, Tone] = {
    "regressed": "failed",
    "improved": "passed",
    "insufficient evidence": "unscored",
}
_STATES = {
    "not calibrated": "it has not been measured",
    "another judge": "it was measured for another judge",
    "another rubric": "it was measured for another judge or rubric",
    "other labels": "its labels have changed since it was measured",
}


def beside_blocks(report: Report) -> Iterator[Words]:
    """Yield what every form states besides the results and the metrics."""
    yield from judge_blocks(report)
    yield from classes_blocks(report)
    yield from earlier_blocks(report.earlier)
    yield from weakened_blocks(report.against)


def weakened_blocks(against: BaselineChanges | None) -> Iterator[Words]:
    """Yield the baselines that changed, the worst first, for the person who approves the change."""
    if against is None:
        return
    yield Heading(weakened_headline(against))
    rows = [
        (
            Cell(change.change, _CHANGES[change.change]),
            Cell(change.id, is_code=True),
            Cell(change.file if change.line is None else f"{change.file}:{change.line}", is_code=True),
            "\n".join([*change.how, *describe_approval(change)]),
        )
        for change in sort_revised(against)
    ]
    if rows:
        yield table(("change", "baseline", "where", "what passes now, or is expected"), rows)


def weakened_headline(against: BaselineChanges) -> str:
    """Return `against main (96e676b1a2b3): 1 removed, 2 loosened, 1 added`."""
    counts = Counter[str](change.change for change in against.changes)
    counted = ", ".join(f"{counts[kind]:,} {kind}" for kind in _CHANGES if counts[kind])
    commit = f"{one_line(against.ref)} ({one_line(against.commit[:12])})"
    return f"against {commit}: {counted or 'nothing added, removed, loosened or changed'}"


def sort_revised(against: BaselineChanges) -> list[BaselineChange]:
    """Sort the changes, the worst first."""
    return sorted(against.changes, key=lambda change: (list(_CHANGES).index(change.change), change.id))


def describe_revised(report: Report, revised: BaselineChange) -> str:
    return f"{revised.change} since {report.against.ref if report.against else ''}"


def describe_approval(revised: BaselineChange) -> Iterator[str]:
    """Yield who approved what is expected now, according to the file."""
    if revised.approved_by is not None or revised.reason is not None:
        by = f"approved by {revised.approved_by}" if revised.approved_by is not None else "approved"
        yield by + (f": {revised.reason}" if revised.reason is not None else "")


def select_failing(report: Report) -> tuple[BaselineChange, ...]:
    """Return the weakened baselines if they fail the run: no form of report may look as if all were well."""
    against = report.against
    return against.weakened if against is not None and against.strict else ()


def judge_blocks(report: Report) -> Iterator[Note]:
    for judge in report.suite.judges if report.suite else ():
        yield Note(f"judge {describe_judge(judge)}", "" if judge.agreement else "unscored")


def describe_judge(judge: JudgeFacts) -> str:
    """Return `gpt: agrees with people on 22 of 24 (accuracy 0.917, kappa 0.833; passes 1 that they fail,
    …)`."""
    name = one_line(judge.model)
    if judge.agreement is None:
        return f"{name}: {_STATES[judge.state]} ({one_line(judge.file)}): baselinekit calibrate"
    return f"{name}: {describe_agreement(judge.agreement)}"


def describe_agreement(agreement: Agreement) -> str:
    kappa = "not available" if agreement.kappa is None else f"{agreement.kappa:.3f}"
    accuracy = "not available"
    if agreement.accuracy is not None:
        low, high = wilson(agreement.accuracy, agreement.decided)
        accuracy = f"{agreement.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %"
    agreed = agreement.both + agreement.neither
    text = f"agrees with people on {agreed:,} of {agreement.decided:,} (accuracy {accuracy}, kappa {kappa}; "
    text += f"passes {agreement.only_judge:,} that they fail, fails {agreement.only_human:,} that they pass"
    replies = "reply" if agreement.undecided == 1 else "replies"
    return text + (f"; {agreement.undecided:,} {replies} unusable)" if agreement.undecided else ")")


def earlier_blocks(earlier: EarlierComparison | None) -> Iterator[Words]:
    """Yield which cases changed since the earlier run, and whether the total did."""
    if earlier is None:
        return
    yield Heading(earlier_headline(earlier))
    metrics = []
    for metric in earlier.metrics:
        shares = (f"{metric.before:.3f}", f"{metric.now:.3f}")
        counts = (f"{metric.lost:,}", f"{metric.won:,}", f"{metric.pairs:,}")
        chances = (f"{metric.chance:.3g}", f"{metric.adjusted:.3g}")
        verdict = Cell(metric.verdict, _NOTABLE.get(metric.verdict, ""))
        metrics.append((Cell(metric.name, is_code=True), *shares, *counts, *chances, verdict))
    if metrics:
        heads = ("metric", "before", "now", "lost", "won", "pairs", "p", "p after Holm", "verdict")
        yield table(heads, metrics, "Over the cases that can be compared: exact McNemar", figures=True)
    cases = [
        (
            Cell(case.verdict, _NOTABLE[case.verdict]),
            Cell(case.id, is_code=True),
            f"{case.before} -> {case.now}",
            "" if case.chance is None else f"p={case.chance:.3g}",
            Cell(case.why, "dim"),
        )
        for case in select_notable(earlier)
    ]
    if cases:
        case_heads = ("verdict", "case", "passed", "exact Fisher", "why")
        yield table(case_heads, cases, "Attempts that passed, of those decided")
    for reason, number in count_incomparable(earlier).items():
        yield Note(f"{number:,} not comparable: {reason}")
    yield from (Note(hint, "dim") for hint in earlier_hints(earlier))


def page_blocks(report: Report) -> Iterator[Words]:
    """Yield what a page states besides the results."""
    yield from metric_blocks(report)
    yield from beside_blocks(report)
    if report.earlier is not None:
        for label, ids in (("new", report.earlier.added), ("gone", report.earlier.gone)):
            if ids:
                yield Note(f"{label}: {list_first(ids, _MOST_NAMED)}")


def earlier_headline(earlier: EarlierComparison) -> str:
    """Return `compared to eval-20240120-143052: 1 regressed, 2 improved, 10 unchanged`."""
    counts = [*count_verdicts(earlier), ("new", len(earlier.added)), ("gone", len(earlier.gone))]
    counted = ", ".join(f"{number:,} {word}" for word, number in counts if number)
    return f"compared to {one_line(earlier.run)}: {counted or 'no case in common'}"


def count_verdicts(earlier: EarlierComparison) -> list[tuple[str, int]]:
    """Return how many cases there are of each verdict."""
    return [(verdict, len(earlier.those(verdict))) for verdict in VERDICTS]


def select_notable(earlier: EarlierComparison) -> list[CaseChange]:
    """Return the cases that are shown one by one, the worst first."""
    return [case for verdict in _NOTABLE for case in earlier.cases if case.verdict == verdict]


def count_incomparable(earlier: EarlierComparison) -> Counter[str]:
    """Return the reasons why cases could not be compared, with their counts."""
    return Counter(case.why for case in earlier.those("not comparable"))


def earlier_hints(earlier: EarlierComparison) -> Iterator[str]:
    """Yield hints on how to learn more."""
    reasons = count_incomparable(earlier)
    parts = ("model", "judge", "files", "grader", "case")
    across = [f"--across {part}" for part in parts if any(part in reason for reason in reasons)]
    if across:
        yield f"compare them anyway: {' '.join(across)}"
    if any(case.chance is not None for case in earlier.those("insufficient evidence")):
        yield "more attempts tell more: --attempts 5, in both runs"


def verdicts_by_id(report: Report) -> dict[str, str]:
    """Return the verdict of each case compared with the earlier run."""
    return {case.id: case.verdict for case in report.earlier.cases} if report.earlier else {}


def metric_blocks(report: Report) -> Iterator[Words]:
    """Yield the metrics with a value or a threshold, and why a run failed although these are met."""
    metrics = [
        metric
        for metric in (report.suite.metrics if report.suite else ())
        if metric.value is not None or metric.threshold is not None
    ]
    if not metrics:
        return
    yield Heading("Metrics")
    rows = []
    for metric in metrics:
        interval = None
        if metric.value is not None and metric.low is not None and metric.high is not None:
            interval = Interval(metric.value, metric.low, metric.high, metric.threshold)
        rows.append(
            (
                Cell(metric.name, is_code=True),
                metric.basis,
                Cell("none", "dim") if metric.value is None else f"{metric.value:.3f}",
                Cell(format_interval(metric), interval=interval),
                f"{metric.count:,}" if metric.count else "",
                "" if metric.threshold is None else f"{metric.threshold:g}",
                Cell(format_status(metric), "passed" if metric.met else "failed"),
            )
        )
    heads = ("metric", "view", "value", "95 % interval", "counted", "at least", "status")
    yield table(
        heads, rows, "Per case: the mean over the cases. Pooled: all attempts together.", figures=True
    )
    for metric in metrics:
        if metric.value is None:
            yield Note(f"{metric.name} is not available: {metric.why}", "dim")
    yield from map(Note, describe_uncovered(report))


def suite_title(report: Report) -> str:
    """Return the name of the suite, with its version if it states one."""
    if report.suite is None:
        return ""
    return " ".join(filter(None, (report.suite.name, report.suite.version)))


def format_status(metric: Metric) -> str:
    return {True: "PASS", False: "FAIL", None: ""}[metric.met]


def describe_beside(report: Report) -> list[str]:
    """Return what is besides the results as terminal lines, for forms that have no place for it."""
    return [*terminal_lines(beside_blocks(report), PLAIN)]


def beside_document(report: Report) -> dict[str, Json]:
    """Return all of it as keys of the report of an eval run."""
    document: dict[str, Json] = {}
    if report.suite is not None:
        document["suite"] = report.suite.name
        document["metrics"] = [metric_document(metric) for metric in report.suite.metrics]
        if report.suite.judges:
            document["judges"] = written(report.suite.judges)
    if classified := classes_documents(report):
        document["classified"] = classified
    if report.earlier is not None:
        document["compared_to"] = written(report.earlier)
    if report.against is not None:
        document["against"] = written(report.against)
    return document


def describe_uncovered(report: Report) -> list[str]:
    """Return why the run failed although its thresholds are met: a line for each failure, up to a number."""
    if not report.thresholds:
        return []
    lines = []
    for result in report.uncovered:
        if result.case is None or result.case.eval_type == "regression":
            why = f"no threshold covers a failing regression ({result.criticality or 'medium'})"
        else:
            why = "no threshold states how many cases may fail: add one of the pass rate"
        lines.append(f"{one_line(result.id)} failed: {why}")
    return [*first_of(lines, _MOST_UNCOVERED)]


def metric_document(metric: Metric) -> dict[str, Json]:
    name = f"{RATE} of decided" if metric.name == RATE else metric.name
    return {"name": name, **metric_facts(metric, "view value low high count threshold met")}


def metric_facts(metric: Metric, names: str) -> dict[str, Json]:
    """Return these attributes in their order; and which attempts count, or why the metric has no value."""
    facts = {name: getattr(metric, name) for name in names.split()}
    return facts | {name: value for name in ("estimator", "why") if (value := getattr(metric, name))}


def format_interval(metric: Metric) -> str:
    """Return `0.512 to 0.961`, or nothing if the metric has no interval."""
    return "" if metric.low is None or metric.high is None else f"{metric.low:.3f} to {metric.high:.3f}"


def list_figures(report: Report) -> Iterator[tuple[str, str]]:
    """Yield names and values, for forms that have properties."""
    for metric in report.suite.metrics if report.suite else ():
        if metric.value is not None:
            interval = f" ({format_interval(metric)})" if format_interval(metric) else ""
            yield f"{metric.name} ({metric.basis})", f"{metric.value:.3f}{interval}"
    yield from class_figures(report)
    if report.earlier is not None:
        yield "compared_to", report.earlier.run
        for verdict, number in count_verdicts(report.earlier):
            yield verdict.replace(" ", "_"), str(number)
