"""An eval case in the HTML report: what each grader said, what was expected beside what came, and each
attempt at it."""

from collections.abc import Iterator, Sequence

from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import Result
from baselinekit.report.differences import DiffLine, Tone, describe_rest, unified
from baselinekit.report.evals.evalreport import grades_of, telling
from baselinekit.report.evals.terms import evidence, format_share
from baselinekit.report.html import differences
from baselinekit.report.html.markup import Child, Markup, element, joined
from baselinekit.report.values import cut_line, first_lines, short
from baselinekit.report.wording import describe_usage, format_brief

_TONES: dict[str, Tone] = {"-": "gone", "+": "came"}
_MOST_GRADES = 50
_MOST_ATTEMPTS = 100
_MOST_DETAILS = 12
_MOST_LINES = 120
_MOST_DIFFERENCES = 50
_LONGEST_DETAIL = 400
_SHOWN_ABOVE = ("expected", "actual", "differences")


def behind(result: Result) -> Iterator[Markup | None]:
    """What there is to say of a case beyond what is said of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        yield from map(_differing, grades[:_MOST_GRADES])
        yield _sides(result)
    if grades:
        yield _grades(grades)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1 or any(one.again for one in attempts):
        yield _attempts(attempts, result)


def is_noteworthy(result: Result) -> bool:
    """Whether there is something to look at though the case passed: how it was judged, or how often."""
    return bool(grades_of(result))


def marks(result: Result) -> list[str]:
    """What stands in the line of the case: where it belongs, and its score where that says more."""
    if result.case is None:
        return []
    score = result.case.score
    tells = score is not None and score not in (0, 1)
    return [
        result.case.eval_type,
        result.case.category
        if result.case.category and result.case.category != result.case.eval_type
        else "",
        " ".join(f"#{tag}" for tag in result.case.tags[:5]),
        f"score {format_share(score)}" if score is not None and tells else "",
    ]


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Child]], kind: str = "") -> Markup:
    """Rows under their heads; the first cell of each names the row. A column without any cell has none."""
    filled = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    rows, heads = [[row[place] for place in filled] for row in rows], [heads[place] for place in filled]
    body = [
        element("tr", element("th", row[0], scope="row"), [element("td", cell) for cell in row[1:]])
        for row in rows
    ]
    made = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", [element("th", head, scope="col") for head in heads])),
        element("tbody", body),
        class_=kind or None,
    )
    return element("div", made, class_="wide")


def _sides(result: Result) -> Markup | None:
    """Expected beside actual, as far as a grader knows of both; else what came, alone: then nothing in it is
    less or more than something else."""
    sides = dict(evidence(result))
    expected, actual = sides.get("Expected"), sides.get("Actual")
    if expected is not None and actual is not None:
        shown, head = differences.lines(list(_lines(expected, actual))), "expected and actual"
    elif (alone := actual if expected is None else expected) is not None:
        head = "actual" if expected is None else "expected"
        lines = first_lines(alone, _MOST_LINES) or ['""']
        more = [element("div", line, class_="said") for line in lines[_MOST_LINES:]]
        first = [element("div", line) for line in lines[:_MOST_LINES]]
        shown = element("div", first, more, class_="lines plain")
    else:
        return None
    return element("section", element("h3", element("code", head)), shown, class_="diff")


def _lines(expected: str, actual: str) -> Iterator[DiffLine]:
    """A diff where it shows what differs; else all of one, then all of the other."""
    if "\n" in expected.strip() and "\n" in actual.strip():
        changed = unified(expected, actual)
        if changed and any(line.startswith("| ") for line in changed):
            yield from (
                DiffLine(_TONES.get(line[0], "dim"), cut_line(line)) for line in changed[:_MOST_LINES]
            )
            yield from (DiffLine("dim", more) for more in describe_rest(changed, _MOST_LINES))
            return
    sides: tuple[tuple[Tone, str, str], ...] = (("gone", "-", expected), ("came", "+", actual))
    for tone, sign, text in sides:
        lines = first_lines(text, _MOST_LINES) or ['""']
        yield from (DiffLine(tone, f"{sign} {line}") for line in lines[:_MOST_LINES])
        yield from (DiffLine("dim", line) for line in lines[_MOST_LINES:])


def _differing(grade: Grade) -> Markup | None:
    """Where an output is not as a structure says, of a case that has no baseline: then the result has it."""
    listed = grade.details.get("differences")
    places = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    lines: list[DiffLine] = []
    for one in places[:_MOST_DIFFERENCES]:
        lines.append(DiffLine("dim", short(one.get("path", "$"), 200)))
        lines += [DiffLine("gone", f"- {short(one['expected'], 500)}")] if "expected" in one else []
        lines += [DiffLine("came", f"+ {short(one['actual'], 500)}")] if "actual" in one else []
    if not lines:
        return None
    head = element(
        "h3", element("code", cut_line(grade.grader, 120)), element("span", "differs", class_="dim")
    )
    return element("section", head, differences.lines(lines), class_="diff")


def _grades(grades: Sequence[Grade]) -> Markup:
    rows = [
        (
            element("code", cut_line(grade.grader, 120)),
            grade.kind,
            _outcome(grade.outcome, grade.verdict),
            "" if grade.score is None else format_share(grade.score),
            joined(cut_line(grade.reason) if grade.reason else None, _details(grade)),
        )
        for grade in grades[:_MOST_GRADES]
    ]
    more = len(grades) - len(rows)
    caption = "What the graders said" + (f" (the first {len(rows)} of {len(grades):,})" if more else "")
    return table(caption, ("grader", "kind", "outcome", "score", "why"), rows)


def _outcome(outcome: str, verdict: str | None) -> Markup:
    said = f"{outcome}, {verdict}" if verdict and verdict != outcome else outcome
    return element("span", said, class_=f"outcome {outcome}")


def _details(grade: Grade) -> Markup | None:
    """What the grader noted: of that which every grader has, the sides stand above already."""
    noted = [
        (name, value)
        for name, value in grade.details.items()
        if name not in _SHOWN_ABOVE and value not in (None, "", [], {})
    ]
    if not noted:
        return None
    rows = [
        joined(element("dt", cut_line(name, 60)), element("dd", short(value, _LONGEST_DETAIL)))
        for name, value in noted[:_MOST_DETAILS]
    ]
    return element("dl", rows, class_="noted")


def _attempts(attempts: Sequence[Attempt], result: Result) -> Markup:
    """Each attempt in a row; `again` are those that were made because the surroundings failed."""
    last = telling(result)
    rows = [
        (
            str(one.number),
            _outcome(one.outcome, one.verdict),
            "" if one.score is None else format_share(one.score),
            format_brief(one.seconds),
            describe_usage(one.usage),
            joined(
                cut_line(one.reason) if last is None or one.reason != last.reason else None,
                element("span", f" replayed {one.again} more times", class_="dim") if one.again else None,
            ),
        )
        for one in attempts[:_MOST_ATTEMPTS]
    ]
    passed = sum(one.outcome == "passed" for one in attempts)
    caption = f"{passed:,} of {len(attempts):,} attempts passed"
    if len(attempts) > len(rows):
        caption += f" (the first {len(rows)} are shown)"
    return table(caption, ("attempt", "outcome", "score", "took", "used", "why"), rows)
