"""The HTML pages: of a run with its evals, and of the history of runs. Each loads nothing, works without its
script, and stays small enough for a browser to open: what was cut is stated."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from baselinekit.metrics import wilson
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import (
    BaselineChanges,
    EarlierComparison,
    History,
    Metric,
    Report,
    Result,
    Trend,
)
from baselinekit.report import beside
from baselinekit.report.differences import SharedChange, share
from baselinekit.report.evals import evalreport
from baselinekit.report.evals.evalreport import format_share
from baselinekit.report.history import format_rate, worst_first
from baselinekit.report.html import markup, results
from baselinekit.report.html.markup import Child, Markup, element, figure, joined, page, read_asset, table
from baselinekit.report.html.results import classes_section
from baselinekit.report.next_commands import typed_of
from baselinekit.report.values import cut_line, short
from baselinekit.report.wording import (
    collect_warnings,
    count_outcomes,
    describe_incomplete,
    format_brief,
    format_duration,
    format_seconds,
    headline,
)

MOST_ROWS = 20_000
LONGEST = 6_000_000
"""The most characters of all details together."""

_MOST_REVISED = 500
_MOST_WARNINGS = 50
_MOST_SHOWN = 12
_MOST_FOLDED = 500
_MOST_NAMED = 50
_MOST_SHARED = 200
_TONES = {
    "regressed": "failed",
    "improved": "passed",
    "insufficient evidence": "unscored",
    "not comparable": "skipped",
    "unchanged": "skipped",
}
_WORDS = {"error": "errors"}
_Row = TypeVar("_Row")
_OUTCOMES = ("passed", "failed", "error", "unscored", "skipped")
MOST_HISTORY_ROWS = 2_000

_STYLE = """
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-size: 13px; color: var(--dim); font-weight: 600; }
th, td { padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--edge); vertical-align: middle; }
td.number, th.number { text-align: right; }
main { overflow-x: auto; }
"""
_NUMBERS = ("Passed", "Flips", "Runs", "Median", "95 % within")
_HEADS = ("Baseline", *_NUMBERS, "Latency", "Last regression")


def render(report: Report) -> str:
    ordered = sorted(report.results, key=lambda result: OUTCOMES.index(result.outcome))
    shown_results = ordered[:MOST_ROWS]
    room, cut_count, rows = LONGEST, 0, []
    shared, unshared_results = share(shown_results)
    typed = typed_of(report)
    seen = {trend.id: trend.seen for trend in report.past.trends}
    for number, (result, unshared) in enumerate(zip(shown_results, unshared_results, strict=True), 1):
        details = results.result_details(result, unshared, typed) if room > 0 else None
        room -= len(details or "")
        cut_count += details is None and result.outcome != "passed"
        rows.append(results.row(number, result, details, seen.get(result.id, ())))
    notes = collect_warnings(report)[:_MOST_WARNINGS]
    if left_out := len(ordered) - len(shown_results):
        notes.append(f"{left_out:,} more results are not in this page: it would be too large (-o x.json)")
    if cut_count:
        message = f"the details of {cut_count:,} results are left out"
        notes.append(f"{message}: the page would be too large (-o x.json)")
    aside = [element("p", cut_line(note)) for note in notes]
    slash, j, k, enter, escape = (element("kbd", key) for key in ("/", "j", "k", "Enter", "Esc"))
    parts = "Keys: ", slash, " filter, ", j, " and ", k, " next and previous, ", enter
    keys = element("p", parts, " open or close, ", escape, " clear.", class_="keys")
    help = element("div", keys, class_="only-script", hidden=True)
    footer = element("footer", help, element("p", report.tool))
    body = joined(
        _header(report),
        element("aside", aside, aria_label="Notes on the run") if aside else None,
        element(
            "main",
            _weakened(report.against) if report.against else None,
            eval_sections(report),
            _tools(report),
            format_shared_changes(shared, shown_results),
            element("h2", "Results"),
            rows,
            _run(report),
        ),
        footer,
    )
    return page(f"{headline(report)} – baselinekit", read_asset("page.css"), read_asset("page.js"), body)


def format_shared_changes(
    shared: Sequence[SharedChange], shown_results: Sequence[Result]
) -> Iterator[Markup]:
    """Yield the changes that several baselines share, each shown once."""
    if shared:
        numbers = {result.id: number for number, result in enumerate(shown_results, 1)}
        yield element("h2", "The same change in several baselines")
        yield from (results.shared_change(change, numbers) for change in shared[:_MOST_SHARED])
    if len(shared) > _MOST_SHARED:
        yield element("p", f"… and {len(shared) - _MOST_SHARED:,} more", class_="dim")


def _header(report: Report) -> Markup:
    outcomes = [element("li", element("b", text), class_=outcome) for outcome, text in count_outcomes(report)]
    facts = " · ".join(filter(None, (report.started, report.command, report.commit)))
    name, incomplete = suite_title(report), describe_incomplete(report)
    total, failing = len(report.results), sum(result.outcome != "passed" for result in report.results)
    verdict = f"{failing:,} of {total:,} did not pass" if failing or not total else f"All {total:,} passed"
    title = element(
        "div",
        element(
            "h1",
            element("small", f"baselinekit · {name}" if name else "baselinekit"),
            verdict,
            element("span", f" ({incomplete})", class_="but") if incomplete else None,
        ),
        element("ul", outcomes or element("li", "nothing ran"), class_="tally"),
        element("p", cut_line(facts, 300), class_="dim"),
    )
    pictures = []
    if past_summaries := [run.summary for run in report.past.runs]:
        label = f"The last {len(past_summaries[-markup.MOST_POINTS :]) + 1:,} runs"
        summaries = [*past_summaries[1 - markup.MOST_POINTS :], report.summary]
        pictures.append(figure(markup.outcome_picture(summaries, label), label))
    times = [result.seconds for result in report.results if result.seconds]
    span = f"{format_brief(min(times))} to {format_brief(max(times))}" if times else ""
    if picture := markup.spread_picture(times, f"How long each took: {span}"):
        pictures.append(figure(picture, f"{span} each"))
    return element("header", title, pictures)


def _weakened(against: BaselineChanges) -> Iterator[Markup]:
    """Yield the section on what the change does to the baselines themselves."""
    yield element("h2", beside.weakened_headline(against))
    if not against.changes:
        return
    rows = [
        element(
            "tr",
            element(
                "th", change.change, scope="row", class_="failed" if change in against.weakened else "passed"
            ),
            element(
                "td",
                element("code", cut_line(change.id)),
                " ",
                element("span", f"{change.file}:{change.line or 1}", class_="place"),
            ),
            element(
                "td", "; ".join(cut_line(text) for text in (*change.how, *beside.describe_approval(change)))
            ),
        )
        for change in beside.sort_revised(against)[:_MOST_REVISED]
    ]
    yield element("table", element("tbody", rows))
    if hidden_count := len(against.changes) - len(rows):
        yield element("p", f"… and {hidden_count:,} more", class_="dim")


def _tools(report: Report) -> Markup:
    boxes = [
        element(
            "label",
            element("input", type="checkbox", value=outcome, checked=True, data_do="outcome"),
            f" {text}",
        )
        for outcome, text in count_outcomes(report)
    ]
    filters = element(
        "div",
        element(
            "input",
            type="search",
            id="filter",
            placeholder="Filter: words of id, path or value  ( / )",
            aria_label="Filter the results",
            autocomplete="off",
            spellcheck="false",
        ),
        element("fieldset", element("legend", "Outcomes"), boxes),
        element("button", "Expand all", type="button", id="open"),
        element("button", "Collapse all", type="button", id="close"),
        element("span", id="said", class_="dim", role="status", aria_live="polite"),
        class_="only-script",
        hidden=True,
    )
    layout = element(
        "fieldset",
        element("legend", "Layout of differences"),
        element(
            "label", element("input", type="radio", name="layout", id="unified", checked=True), " unified"
        ),
        element("label", element("input", type="radio", name="layout", id="beside"), " side by side"),
        class_="layout",
    )
    return element("div", filters, layout, class_="tools", role="search")


def _run(report: Report) -> Iterator[Markup]:
    facts = {"started": report.started, "took": format_duration(report.seconds), "command": report.command}
    if report.suite is not None:
        suite = {"suite": report.suite.name, "suite version": report.suite.version}
        facts |= {name: text for name, text in suite.items() if text}
    facts |= {"tool": report.tool, "configuration": report.config or "none", "run": report.id}
    facts |= {short(name): short(value, 200) for name, value in sorted(report.environment.items())}
    yield element("h2", "The run")
    yield element(
        "dl", [joined(element("dt", name), element("dd", cut_line(text))) for name, text in facts.items()]
    )


def eval_sections(report: Report) -> Iterator[Markup]:
    """Yield the sections in reading order: how good the results are, since when, in which group, and what to
    do next."""
    cases = [result for result in report.results if result.case is not None]
    if report.suite and report.suite.metrics:
        metrics = report.suite.metrics
        yield element("h2", "Metrics")
        heads = ("metric", "view", "value", "95 % interval", "", "counted", "at least", "")
        caption = "Per case: the mean over the cases. Pooled: all attempts together."
        yield table(caption, heads, [_metric(metric) for metric in metrics], "figures")
        for metric in metrics:
            if metric.value is None and metric.why:
                yield element("p", f"{metric.name} is not available: {cut_line(metric.why)}", class_="dim")
        for line in beside.describe_uncovered(report):
            yield element("p", cut_line(line))
    yield from classes_section(report)
    if report.earlier is not None:
        yield from _earlier(report.earlier)
    if cases:
        yield from _groups(report)
    if report.suite and report.suite.judges:
        yield from _judges(report)
    advice = evalreport.recommendations(report) if cases else []
    if advice:
        yield element("h2", "Recommendations")
        yield from _fold_rows(
            [element("li", cut_line(text)) for text in advice], lambda items: element("ol", items)
        )


def suite_title(report: Report) -> str:
    """Return the name of the suite, with its version if it states one."""
    if report.suite is None:
        return ""
    version = f" {report.suite.version}" if report.suite.version else ""
    return cut_line(f"{report.suite.name}{version}", 120)


def _metric(metric: Metric) -> list[Child]:
    threshold = "" if metric.threshold is None else f"{metric.threshold:g}"
    tone = "passed" if metric.met else "failed"
    status = evalreport.format_status(metric)
    met: Child = element("span", status, class_=f"outcome {tone}") if status else ""
    if metric.value is None:
        none = element("span", "none", class_="dim")
        return [metric.name, metric.basis, none, "", "", "", threshold, met]
    interval, picture = beside.format_interval(metric), Markup("")
    if metric.low is not None and metric.high is not None:
        label = f"{metric.name} {format_share(metric.value)}, {interval}"
        picture = markup.interval_picture(metric.value, metric.low, metric.high, metric.threshold, label)
    count = f"{metric.count:,}" if metric.count else ""
    value = element("b", format_share(metric.value))
    return [metric.name, metric.basis, value, interval, picture, count, threshold, met]


def _groups(report: Report) -> Iterator[Markup]:
    """Yield the tables by kind of case, by the categories of the cases, and by grader."""
    summary = evalreport.summary(report)
    yield element("h2", "Results by group")
    by_category_name: dict[str, list[Result]] = {}
    for result in report.results:
        if result.case and result.case.category and result.case.category != result.case.eval_type:
            by_category_name.setdefault(result.case.category, []).append(result)
    groups = [
        *summary["by_category"].items(),
        *(
            (cut_line(name, 80), evalreport.count_results(category_results))
            for name, category_results in sorted(by_category_name.items())[:_MOST_NAMED]
        ),
        ("all", {**summary, "total": summary["total_evals"]}),
    ]
    rows: list[list[Child]] = []
    for name, counts in groups:
        rate = counts["pass_rate_of_decided"]
        figures = [
            element("span", f"{counts[word]:,}", class_=word) if counts[word] else "0" for word in _OUTCOMES
        ]
        rows.append([name, f"{counts['total']:,}", *figures, "none" if rate is None else format_share(rate)])
    heads = ("", "cases", *(_WORDS.get(word, word) for word in _OUTCOMES), "pass rate")
    by_category = table("By category", heads, rows, "figures")
    graders: list[list[Child]] = []
    for name, counts in summary["by_grader"].items():
        total, passed = counts["total"], counts["passed"]
        graders.append([name, f"{total:,}", f"{passed:,}", format_share(passed / total)])
    by_grader = table("By grader", ("", "cases", "passed", "share that passed"), graders, "figures")
    yield element("div", by_category, by_grader if graders else None, class_="beside")


def _judges(report: Report) -> Iterator[Markup]:
    """Yield how far each judge agrees with people, as it was measured."""
    yield element("h2", "Judges")
    rows: list[list[Child]] = []
    unmeasured: list[Markup] = []
    for judge in report.suite.judges if report.suite else ():
        agreement = judge.agreement
        names = (element("code", cut_line(judge.model)), element("span", judge.file, class_="place"))
        if agreement is None:
            unmeasured.append(element("p", beside.describe_judge(judge), class_="unscored tone"))
            continue
        accuracy = kappa = "not available"
        if agreement.accuracy is not None:
            low, high = wilson(agreement.accuracy, agreement.decided)
            accuracy = f"{format_share(agreement.accuracy)} ({format_share(low)} to {format_share(high)})"
        if agreement.kappa is not None:
            kappa = format_share(agreement.kappa)
        wrong = (f"{agreement.only_judge:,}", f"{agreement.only_human:,}", f"{agreement.undecided:,}")
        agreed = f"{agreement.both + agreement.neither:,} of {agreement.decided:,}"
        rows.append([*names, agreed, accuracy, kappa, *wrong])
    heads = ("judge", "labels", "agrees with people on", "accuracy", "kappa")
    wrong_heads = ("passes what they fail", "fails what they pass", "unusable replies")
    if rows:
        yield table("Measured against people, with 95 % intervals", (*heads, *wrong_heads), rows, "figures")
    yield from unmeasured


def _earlier(earlier: EarlierComparison) -> Iterator[Markup]:
    head = beside.earlier_headline(earlier)
    yield element("h2", head[0].upper() + head[1:])
    rows: list[list[Child]] = []
    for metric in earlier.metrics:
        shares = (format_share(metric.before), format_share(metric.now))
        counts = (f"{number:,}" for number in (metric.lost, metric.won, metric.pairs))
        chances = (f"{chance:.3g}" for chance in (metric.chance, metric.adjusted))
        rows.append([metric.name, *shares, *counts, *chances, _verdict(metric.verdict)])
    if rows:
        metric_heads = ("metric", "before", "now", "lost", "won", "pairs", "p", "p after Holm", "")
        yield table("Over the cases that can be compared: exact McNemar", metric_heads, rows, "figures")
    cases: list[list[Child]] = []
    for case in beside.select_notable(earlier):
        chance = "" if case.chance is None else f"{case.chance:.3g}"
        reason = element("span", cut_line(case.why), class_="dim") if case.why else ""
        id = element("code", cut_line(case.id, 200))
        cases.append([id, str(case.before), str(case.now), chance, _verdict(case.verdict), reason])
    if cases:
        heads = ("case", "before", "now", "p", "", "")
        caption = "Attempts that passed, of those decided: exact Fisher"
        yield from _fold_rows(cases, lambda shown_cases: table(caption, heads, shown_cases, "figures"))
    for reason, number in beside.count_incomparable(earlier).items():
        yield element("p", f"{number:,} not comparable: {cut_line(reason)}")
    for ids, word in ((earlier.added, "New"), (earlier.gone, "Gone")):
        names = [element("code", cut_line(id, 200)) for id in ids[:_MOST_NAMED]]
        note = f" … and {len(ids) - _MOST_NAMED:,} more" if len(ids) > _MOST_NAMED else None
        if ids:
            yield element("p", f"{word}: ", names[0], [joined(", ", name) for name in names[1:]], note)
    yield from (element("p", hint, class_="dim") for hint in beside.earlier_hints(earlier))


def _fold_rows(rows: Sequence[_Row], build: Callable[[Sequence[_Row]], Markup]) -> Iterator[Markup]:
    """Yield the first of many rows; the others in a section that opens, and those beyond a limit only
    counted."""
    yield build(rows[:_MOST_SHOWN])
    folded_rows = rows[_MOST_SHOWN:_MOST_FOLDED]
    if folded_rows:
        summary = element("summary", f"… and {len(rows) - _MOST_SHOWN:,} more", class_="dim")
        hidden_count = len(rows) - _MOST_FOLDED
        note = (
            element("p", f"… and {hidden_count:,} that are not in this page", class_="dim")
            if hidden_count > 0
            else None
        )
        yield element("details", summary, build(folded_rows), note)


def _verdict(word: str) -> Markup:
    return element("span", word, class_=f"outcome {_TONES[word]}")


def render_history(history: History) -> str:
    trends = sorted(history.trends, key=worst_first)
    shown_trends, cut_count = trends[:MOST_HISTORY_ROWS], len(trends) - MOST_HISTORY_ROWS
    head = [
        element("th", name, scope="col", class_="number" if name in _NUMBERS else None) for name in _HEADS
    ]
    body = joined(
        history_header(history),
        element("aside", element("p", f"{cut_count:,} more are not in this page")) if cut_count > 0 else None,
        element(
            "main",
            element(
                "table",
                element("thead", element("tr", head)),
                element("tbody", [history_row(trend) for trend in shown_trends]),
            ),
        ),
    )
    return page(
        f"History of {len(trends):,} baselines – baselinekit", read_asset("page.css") + _STYLE, "", body
    )


def history_header(history: History) -> Markup:
    runs = history.runs
    label = f"The last {len(runs[-markup.MOST_POINTS :]):,} runs"
    title = element(
        "div",
        element(
            "h1",
            element("small", "baselinekit"),
            f"{len(history.trends):,} baselines over {len(runs):,} runs",
        ),
        element("p", f"{runs[0].started} to {runs[-1].started}", class_="dim"),
    )
    picture = markup.outcome_picture([run.summary for run in runs[-markup.MOST_POINTS :]], label)
    return element("header", title, figure(picture, label))


def history_row(trend: Trend) -> Markup:
    regressed = trend.last_regression
    since = (
        " at ".join(part for part in (regressed.run.started, regressed.run.commit or "") if part)
        if regressed
        else ""
    )
    numbers = (
        format_rate(trend, "–"),
        f"{trend.flips}",
        f"{len(trend.seen):,}",
        format_seconds(trend.median),
        format_seconds(trend.tail),
    )
    scores = [
        element("div", element("small", f"{cut_line(name, 80)}: {values[0]:g} at first, {values[-1]:g} now"))
        for name, values in trend.scores.items()
    ]
    return element(
        "tr",
        element("th", element("code", cut_line(trend.id, 200)), scores, scope="row"),
        [element("td", number, class_="number") for number in numbers],
        element("td", markup.spark_picture(trend.seen)),
        element("td", cut_line(since, 120), class_="dim"),
    )
