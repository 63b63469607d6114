"""What the HTML report says of a run of evals as a whole: its metrics, where it stands by category and by
grader, its judges, what an earlier run was like, and what to look at next."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from baselinekit.metrics import wilson
from baselinekit.model.results import CaseChange, Earlier, Metric, Report, Result
from baselinekit.model.values import Json
from baselinekit.report import earlier as beside, judges
from baselinekit.report.evals import evalreport
from baselinekit.report.evals.terms import format_share
from baselinekit.report.html import svg
from baselinekit.report.html.cases import table
from baselinekit.report.html.markup import Child, Markup, element, joined
from baselinekit.report.values import cut_line

_MOST_SHOWN = 12
_MOST_KEPT = 500
_MOST_NAMED = 50
_TONES = {
    "regressed": "failed",
    "improved": "passed",
    "insufficient evidence": "unscored",
    "not comparable": "skipped",
    "unchanged": "skipped",
}
_WORDS = {"error": "errors"}
_Row = TypeVar("_Row")
_COLUMNS = ("passed", "failed", "error", "unscored", "skipped")


def sections(report: Report) -> Iterator[Markup]:
    """In the order in which they are read: how good, since when, which part of it, and what now."""
    cases = [result for result in report.results if result.case is not None]
    if report.suite and report.suite.metrics:
        yield from _metrics(report.suite.metrics)
    if report.earlier is not None:
        yield from _earlier(report.earlier)
    if cases:
        yield from _groups(report)
    if report.suite and report.suite.judges:
        yield from _judges(report)
    advice = evalreport.recommendations(report) if cases else []
    if advice:
        yield element("h2", "Recommendations")
        yield from _folded([element("li", cut_line(one)) for one in advice], lambda few: element("ol", few))


def title(report: Report) -> str:
    """The name of the suite, with its version where it states one."""
    if report.suite is None:
        return ""
    version = f" {report.suite.version}" if report.suite.version else ""
    return cut_line(f"{report.suite.name}{version}", 120)


def _metrics(metrics: Sequence[Metric]) -> Iterator[Markup]:
    yield element("h2", "Metrics")
    rows = [_metric(metric) for metric in metrics]
    heads = ("metric", "view", "value", "95 % interval", "", "counted", "at least", "")
    caption = "Per case: the mean over the cases. Pooled: all attempts together."
    yield table(caption, heads, rows, "figures")
    for metric in metrics:
        if metric.value is None and metric.why:
            yield element("p", f"{metric.name} is not available: {cut_line(metric.why)}", class_="dim")


def _metric(metric: Metric) -> list[Child]:
    least = "" if metric.threshold is None else f"{metric.threshold:g}"
    met: Child = ""
    if metric.met is not None:
        word, tone = ("PASS", "passed") if metric.met else ("FAIL", "failed")
        met = element("span", word, class_=f"outcome {tone}")
    if metric.value is None:
        none = element("span", "none", class_="dim")
        return [metric.name, metric.view, none, "", "", "", least, met]
    between, picture = "", Markup("")
    if metric.low is not None and metric.high is not None:
        between = f"{format_share(metric.low)} to {format_share(metric.high)}"
        label = f"{metric.name} {format_share(metric.value)}, {between}"
        picture = svg.interval(metric.value, metric.low, metric.high, metric.threshold, label)
    count = f"{metric.count:,}" if metric.count else ""
    value = element("b", format_share(metric.value))
    return [metric.name, metric.view, value, between, picture, count, least, met]


def _groups(report: Report) -> Iterator[Markup]:
    found = evalreport.summary(report)
    yield element("h2", "Results by group")
    heads = ("", "cases", *(_WORDS.get(word, word) for word in _COLUMNS), "pass rate")
    rows: list[list[Child]] = []
    whole = {**found, "total": found["total_evals"]}
    for name, counts in [*found["by_category"].items(), *_categories(report), ("all", whole)]:
        rate = counts["pass_rate_of_decided"]
        figures = [
            element("span", f"{counts[word]:,}", class_=word) if counts[word] else "0" for word in _COLUMNS
        ]
        rows.append([name, f"{counts['total']:,}", *figures, "none" if rate is None else format_share(rate)])
    by_category = table("By category", heads, rows, "figures")
    graders: list[list[Child]] = [
        [
            name,
            f"{counts['total']:,}",
            f"{counts['passed']:,}",
            format_share(counts["passed"] / counts["total"]),
        ]
        for name, counts in found["by_grader"].items()
    ]
    by_grader = table("By grader", ("", "cases", "passed", "share that passed"), graders, "figures")
    yield element("div", by_category, by_grader if graders else None, class_="beside")


def _categories(report: Report) -> Iterator[tuple[str, dict[str, Json]]]:
    """Those that the cases themselves name, beside capability and regression."""
    of: dict[str, list[Result]] = {}
    for result in report.results:
        if result.case and result.case.category and result.case.category != result.case.eval_type:
            of.setdefault(result.case.category, []).append(result)
    for name, results in sorted(of.items())[:_MOST_NAMED]:
        yield cut_line(name, 80), evalreport.counted(results)


def _judges(report: Report) -> Iterator[Markup]:
    """How far each judge agrees with people, as it was measured."""
    yield element("h2", "Judges")
    rows: list[list[Child]] = []
    unknown: list[Markup] = []
    for judge in report.suite.judges if report.suite else ():
        known = judge.agreement
        named = (element("code", cut_line(judge.model)), element("span", judge.file, class_="place"))
        if known is None:
            unknown.append(element("p", judges.describe_judge(judge), class_="unscored tone"))
            continue
        accuracy = kappa = "not available"
        if known.accuracy is not None:
            low, high = wilson(known.accuracy, known.decided)
            accuracy = f"{format_share(known.accuracy)} ({format_share(low)} to {format_share(high)})"
        if known.kappa is not None:
            kappa = format_share(known.kappa)
        wrong = (f"{known.only_judge:,}", f"{known.only_human:,}", f"{known.undecided:,}")
        agreed = f"{known.both + known.neither:,} of {known.decided:,}"
        rows.append([*named, agreed, accuracy, kappa, *wrong])
    heads = ("judge", "labels", "agrees with people on", "accuracy", "kappa")
    wrong_heads = ("passes what they fail", "fails what they pass", "unusable replies")
    if rows:
        yield table("Measured against people, with 95 % intervals", (*heads, *wrong_heads), rows, "figures")
    yield from unknown


def _earlier(earlier: Earlier) -> Iterator[Markup]:
    told = beside.headline(earlier)
    yield element("h2", told[0].upper() + told[1:])
    if earlier.metrics:
        rows: list[list[Child]] = [
            [
                one.name,
                format_share(one.before),
                format_share(one.now),
                f"{one.lost:,}",
                f"{one.won:,}",
                f"{one.pairs:,}",
                f"{one.chance:.3g}",
                f"{one.adjusted:.3g}",
                _verdict(one.verdict),
            ]
            for one in earlier.metrics
        ]
        tested = ("metric", "before", "now", "lost", "won", "pairs", "p", "p after Holm", "")
        yield table("Over the cases that can be compared: exact McNemar", tested, rows, "figures")
    shown = beside.notable(earlier)
    if shown:
        heads = ("case", "before", "now", "p", "", "")
        caption = "Attempts that passed, of those decided: exact Fisher"
        yield from _folded([_case(case) for case in shown], lambda few: table(caption, heads, few, "figures"))
    for why, number in beside.incomparable(earlier).items():
        yield element("p", f"{number:,} not comparable: {cut_line(why)}")
    for ids, word in ((earlier.added, "New"), (earlier.gone, "Gone")):
        names = [element("code", cut_line(id, 200)) for id in ids[:_MOST_NAMED]]
        more = f" … and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else None
        if ids:
            yield element("p", f"{word}: ", names[0], [joined(", ", name) for name in names[1:]], more)
    yield from (element("p", hint, class_="dim") for hint in beside.hints(earlier))


def _folded(rows: Sequence[_Row], made: Callable[[Sequence[_Row]], Markup]) -> Iterator[Markup]:
    """The first of many; the others behind a line that opens, and the very many only counted."""
    yield made(rows[:_MOST_SHOWN])
    rest = rows[_MOST_SHOWN:_MOST_KEPT]
    if rest:
        more = element("summary", f"… and {len(rows) - _MOST_SHOWN:,} more", class_="dim")
        left = len(rows) - _MOST_KEPT
        last = element("p", f"… and {left:,} that are not in this page", class_="dim") if left > 0 else None
        yield element("details", more, made(rest), last)


def _case(case: CaseChange) -> list[Child]:
    before, now = (f"{passed:,}/{attempts:,}" for passed, attempts in (case.before, case.now))
    chance = "" if case.chance is None else f"{case.chance:.3g}"
    why = element("span", cut_line(case.why), class_="dim") if case.why else ""
    return [element("code", cut_line(case.id, 200)), before, now, chance, _verdict(case.verdict), why]


def _verdict(word: str) -> Markup:
    return element("span", word, class_=f"outcome {_TONES[word]}")
