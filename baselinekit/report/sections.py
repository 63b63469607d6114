"""The sections of a report besides its results: facts → blocks, for every form. The baselines that a change
weakens (`--base`), the comparison with an earlier run (`--compare-to`), metrics, judges, recommendations."""

from collections import Counter
from collections.abc import Iterator, Sequence

from baselinekit.escape import one_line
from baselinekit.metrics import wilson
from baselinekit.model import results
from baselinekit.model.grades import Agreement, Outcome
from baselinekit.model.results import BaselineChanges, EarlierComparison, Metric, Report, Result
from baselinekit.model.values import Json
from baselinekit.report.blocks import Block, Cell, Heading, Note, Table, Tone, table
from baselinekit.report.confusion import classes_blocks, classes_documents
from baselinekit.report.resultfile import written
from baselinekit.values.texts import list_first

RATE = "pass rate"
WEAKENED = "weakened"
"""The verdict of a baseline that accepts more than at the commit it is compared with."""

_MOST_UNCOVERED = 10
_MOST_NAMED = 20
_MOST_IDS = 3
_CHANGES: dict[str, Tone] = {"removed": "failed", "loosened": "unscored", "changed": "", "added": "passed"}
_NOTABLE: dict[str, Tone] = {"regressed": "failed", "improved": "passed", "insufficient evidence": "unscored"}


def run_blocks(report: Report, in_full: bool = True) -> Iterator[Block]:
    """Yield what every form states besides the results. `in_full`: with every metric that has a value."""
    yield from metric_blocks(report, in_full)
    for judge in report.suite.judges if report.suite else ():
        if judge.agreement is not None:
            yield Note(f"judge {one_line(judge.model)}: {describe_agreement(judge.agreement)}")
        else:
            state = f"not measured with this rubric and these labels ({one_line(judge.file)})"
            yield Note(f"judge {one_line(judge.model)}: {state}: baselinekit calibrate", "unscored")
    yield from classes_blocks(report)
    yield from earlier_blocks(report.earlier)
    yield from weakened_blocks(report.against)


def skipped_blocks(report: Report) -> Iterator[Note]:
    """Yield each reason why cases did not run, with their ids."""
    ids_of: dict[str, list[str]] = {}
    for case in report.results:
        if case.outcome == "skipped" and case.reason and not case.code:
            ids_of.setdefault(case.reason, []).append(case.id)
    for reason, ids in ids_of.items():
        yield Note(f"skipped {len(ids):,}: {reason} ({list_first(ids, _MOST_IDS)})", "skipped")


def weakened_blocks(against: BaselineChanges | None) -> Iterator[Block]:
    """Yield `against main (96e676b1a2b3): 1 removed, 2 loosened, 1 added`, and the baselines that changed,
    the worst first, for the person who approves the change."""
    if against is None:
        return
    counts = Counter[str](change.change for change in against.changes)
    counted = ", ".join(f"{counts[kind]:,} {kind}" for kind in _CHANGES if counts[kind])
    commit = f"{one_line(against.ref)} ({one_line(against.commit[:12])})"
    yield Heading(f"against {commit}: {counted or 'nothing added, removed, loosened or changed'}")
    rows = []
    order = [*_CHANGES]
    for change in sorted(against.changes, key=lambda change: (order.index(change.change), change.id)):
        place = change.file if change.line is None else f"{change.file}:{change.line}"
        how = [*change.how]
        if change.approved_by is not None or change.reason is not None:
            by = "" if change.approved_by is None else f" by {change.approved_by}"
            how.append(f"approved{by}" + ("" if change.reason is None else f": {change.reason}"))
        word, id = Cell(change.change, _CHANGES[change.change]), Cell(change.id, is_code=True)
        rows.append((word, id, Cell(place, is_code=True), "\n".join(how)))
    if rows:
        yield table(("change", "baseline", "where", "what passes now, or is expected"), rows)


def weakened_results(report: Report) -> list[Result]:
    """Return the weakened baselines as results: failed ones if they fail the run, as no form of report may
    look as if all were well."""
    against = report.against
    if against is None:
        return []
    outcome: Outcome = "failed" if against.strict else "unscored"
    return [
        Result(
            f"{change.id} ({change.change} since {against.ref})",
            change.file,
            change.line,
            "baseline",
            outcome,
            "\n".join(change.how) or f"the baseline is {change.change}",
            verdict=WEAKENED,
        )
        for change in against.weakened
    ]


def describe_agreement(agreement: Agreement) -> str:
    """Return `agrees with people on 22 of 24 (accuracy 0.917, …; passes 1 that they fail, …)`."""
    kappa = "not available" if agreement.kappa is None else f"{agreement.kappa:.3f}"
    accuracy = "not available"
    if agreement.accuracy is not None:
        low, high = wilson(agreement.accuracy, agreement.decided)
        accuracy = f"{agreement.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %"
    agreed = agreement.both + agreement.neither
    text = f"agrees with people on {agreed:,} of {agreement.decided:,} (accuracy {accuracy}, kappa {kappa}; "
    text += f"passes {agreement.only_judge:,} that they fail, fails {agreement.only_human:,} that they pass"
    return text + (f"; {agreement.undecided:,} unusable)" if agreement.undecided else ")")


def earlier_blocks(earlier: EarlierComparison | None) -> Iterator[Block]:
    """Yield `compared to eval-20240120-143052: 1 regressed, 2 improved, 10 unchanged`, which cases changed
    since that run, and whether the total did."""
    if earlier is None:
        return
    counts: dict[str, int] = {verdict: len(earlier.those(verdict)) for verdict in results.VERDICTS}
    counts |= {"new": len(earlier.added), "gone": len(earlier.gone)}
    counted = ", ".join(f"{number:,} {word}" for word, number in counts.items() if number)
    yield Heading(f"compared to {one_line(earlier.run)}: {counted or 'no case in common'}")
    metrics = []
    for metric in earlier.metrics:
        shares = (f"{metric.before:.3f}", f"{metric.now:.3f}")
        counts_of_pairs = (f"{metric.lost:,}", f"{metric.won:,}", f"{metric.pairs:,}")
        chances = (f"{metric.chance:.3g}", f"{metric.adjusted:.3g}")
        verdict = Cell(metric.verdict, _NOTABLE.get(metric.verdict, ""))
        metrics.append((Cell(metric.name, is_code=True), *shares, *counts_of_pairs, *chances, verdict))
    if metrics:
        heads = ("metric", "before", "now", "lost", "won", "pairs", "p", "p after Holm", "verdict")
        yield table(heads, metrics, figures=True)
    cases = [
        (
            Cell(case.verdict, tone),
            Cell(case.id, is_code=True),
            f"{case.before} -> {case.now}",
            "" if case.chance is None else f"p={case.chance:.3g}",
            Cell(case.why, "dim"),
        )
        for verdict, tone in _NOTABLE.items()
        for case in earlier.cases
        if case.verdict == verdict
    ]
    if cases:
        yield table(("verdict", "case", "attempts passed", "exact Fisher", "why"), cases)
    reasons = Counter(case.why for case in earlier.those("not comparable"))
    for reason, number in reasons.items():
        yield Note(f"{number:,} not comparable: {reason}")
    parts = ("model", "judge", "files", "grader", "case")
    if across := [f"--across {part}" for part in parts if any(part in reason for reason in reasons)]:
        yield Note(f"compare them anyway: {' '.join(across)}", "dim")
    if any(case.chance is not None for case in earlier.those("insufficient evidence")):
        yield Note("more attempts tell more: --attempts 5, in both runs", "dim")
    for label, ids in (("new", earlier.added), ("gone", earlier.gone)):
        if ids:
            yield Note(f"{label}: {list_first(ids, _MOST_NAMED)}")


def verdicts_by_id(report: Report) -> dict[str, str]:
    """Return the verdict of each case compared with the earlier run."""
    return {case.id: case.verdict for case in report.earlier.cases} if report.earlier else {}


def metric_blocks(report: Report, in_full: bool = True) -> Iterator[Block]:
    """Yield the metrics that have a threshold or a value, and why a run failed although its thresholds are
    met. Otherwise than `in_full`, a run with one attempt for each case has only pass@1, as the other values
    follow from it."""
    metrics = report.suite.metrics if report.suite else ()
    in_full = in_full or any(metric.name == "pass@1" and metric.view != "per case" for metric in metrics)
    shown = []
    for metric in metrics:
        has_value = metric.value is not None and (in_full or metric.name == "pass@1")
        if has_value or metric.threshold is not None:
            shown.append(metric)
    yield from metric_table(shown)
    for result in report.uncovered[:_MOST_UNCOVERED] if report.thresholds else ():
        if result.case is None or result.case.eval_type == "regression":
            why = f"no threshold covers a failing regression ({one_line(result.criticality or 'medium')})"
        else:
            why = "no threshold states how many cases may fail: add one of the pass rate"
        yield Note(f"not met: {one_line(result.id)} failed: {why}", "failed")


def metric_table(metrics: Sequence[Metric]) -> Iterator[Table]:
    """Yield a table of metrics beside their thresholds, if there are any."""
    rows = []
    for metric in metrics:
        has_interval = metric.low is not None and metric.high is not None
        rows.append(
            (
                Cell(metric.name, is_code=True),
                _format_value(metric),
                "" if metric.threshold is None else f"{metric.threshold:.9g}",
                Cell(
                    {True: "PASS", False: "FAIL", None: ""}[metric.met], "passed" if metric.met else "failed"
                ),
                f"{metric.low:.3f} to {metric.high:.3f}" if has_interval else "",
                f"{metric.count:,}" if metric.count else "",
                metric.why if metric.value is None else metric.basis,
            )
        )
    if rows:
        heads = ("Metric", "Value", "Threshold", "Status", "95 % interval", "Counted", "Note")
        yield table(heads, rows, figures=True)


def _format_value(metric: Metric) -> str:
    """Format the value with three digits; with more if they are needed to see on which side of its threshold
    it is."""
    if metric.value is None:
        return "not available"
    text = f"{metric.value:.3f}"
    for digits in range(4, 10):
        if metric.threshold is None or (float(text) >= metric.threshold) == bool(metric.met):
            break
        text = f"{metric.value:.{digits}f}"
    return text


def suite_title(report: Report) -> str:
    """Return the name of the suite, with its version if it states one."""
    return " ".join(filter(None, (report.suite.name, report.suite.version))) if report.suite else ""


def beside_document(report: Report) -> dict[str, Json]:
    """Return all of it as values for programs."""
    document: dict[str, Json] = {}
    if report.suite is not None:
        document["suite"] = report.suite.name
        names = {RATE: f"{RATE} of decided"}
        document["metrics"] = [
            {"name": names.get(metric.name, metric.name), **metric_facts(metric)}
            for metric in report.suite.metrics
        ]
        if report.suite.judges:
            document["judges"] = written(report.suite.judges)
    if classified := classes_documents(report):
        document["classified"] = classified
    if report.earlier is not None:
        document["compared_to"] = written(report.earlier)
    if report.against is not None:
        document["against"] = written(report.against)
    return document


def metric_facts(metric: Metric) -> dict[str, Json]:
    """Return its figures; and which attempts count, or why it has no value."""
    names = ("view", "value", "low", "high", "count", "threshold", "met")
    facts = {name: getattr(metric, name) for name in names}
    return facts | {name: value for name in ("estimator", "why") if (value := getattr(metric, name))}
