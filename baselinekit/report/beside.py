"""What a report says besides its results, in each form: the baselines that a change weakens (`--base`), the
comparison with an earlier run (`--compare-to`), and how far judges agree with people."""

from collections import Counter
from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_code, markdown_text, one_line
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
from baselinekit.report.confusion import class_figures, classes_documents, describe_classes
from baselinekit.report.resultfile import written
from baselinekit.report.values import cut_line
from baselinekit.report.wording import Style, first_of, in_repository

RATE = "pass rate"
_MOST_ROWS = 100
_MOST_UNCOVERED = 10
_MOST_CASES = 20
_WIDEST_ID = 50
_CHANGES = {"removed": "red", "loosened": "yellow", "changed": "cyan", "added": "green"}
_NOTABLE = {"regressed": "bold red", "improved": "green", "insufficient evidence": "yellow"}
_STATES = {
    "not calibrated": "it has not been measured",
    "another judge": "it was measured for another judge",
    "another rubric": "it was measured for another judge or rubric",
    "other labels": "its labels have changed since it was measured",
}


def describe_weakened(against: BaselineChanges | None, style: Style) -> Iterator[str]:
    """Yield the lines of the baselines that changed, for the terminal."""
    if against is None:
        return
    yield style.paint(weakened_headline(against), "bold")
    revised = sort_revised(against)
    widest = min(_WIDEST_ID, max((len(one_line(change.id)) for change in revised[:_MOST_ROWS]), default=0))
    for change in revised[:_MOST_ROWS]:
        place = one_line(f"{change.file}:{change.line}" if change.line is not None else change.file)
        line = f"  {change.change.upper():<8}  {one_line(change.id):<{widest}}   {place}"
        yield style.paint(line, _CHANGES[change.change])
        yield from (f"            {cut_line(text)}" for text in (*change.how, *describe_approval(change)))
    if len(revised) > _MOST_ROWS:
        yield style.paint(f"  … and {len(revised) - _MOST_ROWS:,} more", "dim")


def weakened_headline(against: BaselineChanges) -> str:
    """Return `against main (96e676b1a2b3): 1 removed, 2 loosened, 1 added`."""
    counts = Counter[str](change.change for change in against.changes)
    counted = ", ".join(f"{counts[kind]:,} {kind}" for kind in _CHANGES if counts[kind])
    commit = f"{one_line(against.ref)} ({one_line(against.commit[:12])})"
    return f"against {commit}: {counted or 'nothing added, removed, loosened or changed'}"


def weakened_markdown(against: BaselineChanges | None, folder: str) -> str:
    """Return a table for the person who approves the change. `folder`: the project's, in its repository."""
    if against is None or not against.changes:
        return ""
    head = markdown_text(weakened_headline(against))
    rows = ["", f"### {head}", "", "| baseline | | what passes now, or is expected |", "|---|---|---|"]
    revised = sort_revised(against)
    for change in revised[:_MOST_ROWS]:
        file = in_repository(folder, change.file)
        place = f"{file}:{change.line}" if change.line is not None else file
        texts = [markdown_text(cut_line(way)) for way in (*change.how, *describe_approval(change))]
        cell = "<br>".join(texts if change.how else [markdown_code(cut_line(place)), *texts])
        rows.append(f"| {markdown_code(cut_line(change.id))} | {change.change} | {cell} |")
    if len(revised) > _MOST_ROWS:
        rows.append(f"| | | and {len(revised) - _MOST_ROWS:,} more |")
    return "\n".join(rows) + "\n"


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


def describe_judges(judges: Sequence[JudgeFacts]) -> Iterator[str]:
    yield from (f"judge {describe_judge(judge)}" for judge in judges)


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


def describe_earlier(earlier: EarlierComparison | None, style: Style) -> Iterator[str]:
    """Yield lines for the terminal: which cases changed since the earlier run, and whether the total did."""
    if earlier is None:
        return
    yield style.paint(earlier_headline(earlier), "bold")
    notable = select_notable(earlier)
    shown_cases = notable if style.verbose else notable[:_MOST_CASES]
    widest = max((len(case.verdict) for case in shown_cases), default=0)
    id_width = min(_WIDEST_ID, max((len(one_line(case.id)) for case in shown_cases), default=0))
    for case in shown_cases:
        text = f"{case.before} -> {case.now}"
        text += f"  p={case.chance:.3g}" if case.chance is not None else ""
        text += f"  {cut_line(case.why)}" if case.why else ""
        line = f"  {case.verdict:<{widest}}  {one_line(case.id):<{id_width}}   {text}"
        yield style.paint(line, _NOTABLE[case.verdict])
    if len(notable) > len(shown_cases):
        yield style.paint(f"  … and {len(notable) - len(shown_cases):,} more", "dim")
    for reason, number in count_incomparable(earlier).items():
        yield f"  {number:,} not comparable: {cut_line(reason)}"
    for metric in earlier.metrics:
        test_text = (
            f"{metric.lost:,} lost, {metric.won:,} won of {metric.pairs:,} pairs, p={metric.chance:.3g}"
        )
        test_text += f", {metric.adjusted:.3g} after Holm" if metric.adjusted != metric.chance else ""
        yield f"  {metric.name:<8} {metric.before:.3f} -> {metric.now:.3f}  {metric.verdict}  ({test_text})"
    yield from (style.paint(f"  {hint}", "dim") for hint in earlier_hints(earlier))


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


def earlier_markdown(earlier: EarlierComparison | None, most: int = _MOST_ROWS, mark: str = "##") -> str:
    """Return the section for a report that is passed on, or for a comment, which has less room."""
    if earlier is None:
        return ""
    head = earlier_headline(earlier)
    rows = ["", f"{mark} {markdown_text(head[0].upper() + head[1:])}", ""]
    if earlier.metrics:
        rows += [
            "| Metric | Before | Now | Lost | Won | p (exact McNemar, Holm) | Verdict |",
            "|---|---|---|---|---|---|---|",
            *(
                f"| {markdown_code(cut_line(metric.name))} | {metric.before:.3f} | {metric.now:.3f} "
                f"| {metric.lost} | {metric.won} | {metric.adjusted:.3g} | {metric.verdict} |"
                for metric in earlier.metrics
            ),
            "",
        ]
    notable = select_notable(earlier)
    if notable:
        rows += ["| Case | Before | Now | p (Fisher) | Verdict |", "|---|---|---|---|---|"]
    for case in notable[:most]:
        chance = "" if case.chance is None else f"{case.chance:.3g}"
        note = f": {markdown_text(cut_line(case.why))}" if case.why else ""
        rows.append(
            f"| {markdown_code(cut_line(case.id))} | {case.before} "
            f"| {case.now} | {chance} | {case.verdict}{note} |"
        )
    rows += [f"\n… and {len(notable) - most:,} more"] if len(notable) > most else []
    incomparable = count_incomparable(earlier)
    rows += [
        f"\n{number:,} not comparable: {markdown_text(reason)}" for reason, number in incomparable.items()
    ]
    return "\n".join(rows) + "\n"


def verdicts_by_id(report: Report) -> dict[str, str]:
    """Return the verdict of each case compared with the earlier run."""
    return {case.id: case.verdict for case in report.earlier.cases} if report.earlier else {}


def describe_beside(report: Report) -> list[str]:
    """Return all of it as terminal lines, for forms that have no place for it."""
    judges = report.suite.judges if report.suite else ()
    style = Style()
    return [
        *describe_weakened(report.against, style),
        *describe_judges(judges),
        *describe_classes(report, style),
        *describe_earlier(report.earlier, style),
    ]


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
