"""In the HTML report: graders that put things into classes whose right one is known. A table for each with
what it should have said beside what it said, and where it was asked several times each case."""

from collections.abc import Iterator

from baselinekit.model.results import Report
from baselinekit.report.confusion import (
    NO_DECISION,
    Classification,
    classifications,
    describe_accuracy,
    describe_given,
    table_rows,
    title,
)
from baselinekit.report.html.markup import Child, Markup, element, interval_picture, table
from baselinekit.report.values import cut_line

_MOST_TABLES = 50
_MOST_CASES = 500


def classes_section(report: Report) -> Iterator[Markup]:
    found = classifications(report)
    if found:
        yield element("h2", "Classes")
        yield element("p", "Rows: which class is right. Columns: which was said.", class_="dim")
    for one in found[:_MOST_TABLES]:
        yield _summary(one)
        yield element("div", _confusion(one), _cases(one), class_="beside")
    if len(found) > _MOST_TABLES:
        yield element("p", f"… and {len(found) - _MOST_TABLES:,} more graders that classify", class_="dim")


def _summary(one: Classification) -> Markup:
    if one.accuracy is None:
        return element("p", element("b", title(one)), " ", describe_accuracy(one))
    text = describe_accuracy(one)
    picture = interval_picture(one.accuracy, *one.interval, None, f"{title(one)}: {text}")
    return element("div", element("p", element("b", title(one)), f" {text}"), picture)


def _confusion(one: Classification) -> Markup:
    heads, rows = table_rows(one)
    body: list[list[Child]] = []
    for wanted, counts in rows:
        cells: list[Child] = [wanted]
        for head, count in zip(heads, counts, strict=True):
            tone = "passed" if head == wanted else "unscored" if head == NO_DECISION else "failed"
            cells.append(element("span", f"{count:,}", class_=tone) if count else "0")
        body.append(cells)
    return table(
        title(one), ("should be", *(f"said {head}" for head in heads[:-1]), heads[-1]), body, "figures"
    )


def _cases(one: Classification) -> Markup | None:
    """Each case that was tried several times, those first that flip."""
    if not one.repeated:
        return None
    ordered = sorted(one.cases, key=lambda case: not case.flips)
    rows: list[list[Child]] = [
        [
            cut_line(case.name, 200),
            cut_line(case.wanted, 40),
            describe_given(case),
            element("span", "flips", class_="unscored") if case.flips else "",
        ]
        for case in ordered[:_MOST_CASES]
    ]
    caption = f"Over several attempts, {len(one.flipping):,} of {len(one.cases):,} flip"
    return table(caption, ("case", "should be", "said, how often", "over attempts"), rows)
