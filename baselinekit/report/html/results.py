"""One result in the HTML report: the line that says how it went, and all that there is to say behind it: what
differs, and of an eval case what each grader said, what was expected beside what came, and each attempt."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from baselinekit.codes import explain
from baselinekit.model.grades import Attempt, Grade, each_grade
from baselinekit.model.results import Moment, Report, Result
from baselinekit.report.confusion import (
    NO_DECISION,
    Classification,
    classifications,
    describe_accuracy,
    describe_given,
    table_rows,
    title,
)
from baselinekit.report.differences import Bounds, DiffLine, Tone, blocks, diff_lines, unified
from baselinekit.report.evals.evalreport import (
    all_grades_of,
    evidence,
    format_share,
    grades_of,
    place_of,
    telling,
)
from baselinekit.report.grouping import SharedChange
from baselinekit.report.html.markup import (
    Child,
    Markup,
    element,
    interval_picture,
    joined,
    spark_picture,
    table,
)
from baselinekit.report.next_commands import refresh_command, select_renewable
from baselinekit.report.typed import Typed
from baselinekit.report.values import cut_line, first_lines, short
from baselinekit.report.wording import (
    count_differences,
    describe_drift,
    describe_reason,
    describe_unshown,
    describe_usage,
    format_brief,
    format_place,
)
from baselinekit.texts import many
from baselinekit.tree.changes import row_pattern

MOST_OPEN = 10
_BOUNDS = Bounds(blocks=200, lines=400)
_MOST_EXPLAINED = 40
_MOST_DRIFTS = 50
_MOST_NOTES = 20
_MOST_REASONS = 20
_MOST_GRADES = 50
_MOST_ATTEMPTS = 100
_MOST_DETAILS = 12
_MOST_LINES = 120
_MOST_DIFFERENCES = 50
_MOST_LINKED = 200
_LONGEST_DETAIL = 400
_SHOWN_ABOVE = ("expected", "actual", "differences")
_SIGN = 2
"""`- ` or `+ `, with which each line begins."""

_ALIKE = 6
"""Lines that share less are simply different."""


def row(number: int, result: Result, details: Markup | None, moments: tuple[Moment, ...]) -> Markup:
    differing = count_differences(result)
    parts = (result.name, result.criticality, result.verdict, *marks(result))
    about = [cut_line(text or "", 200) for text in parts]
    about.append(many(differing, "difference") if differing else "")
    now = Moment("", result.outcome, result.seconds)
    cells = joined(
        element("span", result.outcome, class_="outcome"),
        element("code", cut_line(result.id, 200), class_="id"),
        element("span", " · ".join(part for part in about if part), class_="name"),
        spark_picture([*moments, now]) or element("span"),
        element("span", format_brief(result.seconds), class_="took"),
    )
    named = {"id": f"r{number}", "class_": f"result {result.outcome}", "data_outcome": result.outcome}
    if not details:
        return element("div", element("div", cells, class_="row"), **named)
    opened = number <= MOST_OPEN and result.outcome not in ("passed", "skipped")
    summary = element("summary", cells, class_="row")
    return element("details", summary, element("div", details, class_="inside"), open=opened, **named)


def shared_change(change: SharedChange, numbers: dict[str, int]) -> Markup:
    """What several baselines have in common, with a way to each of them."""
    linked: list[Markup | str] = []
    for result in change.results[:_MOST_LINKED]:
        shown = element("code", cut_line(result.id, 200))
        number = numbers.get(result.id)
        linked += [element("a", shown, href=f"#r{number}") if number else shown, " "]
    more = len(change.results) - _MOST_LINKED
    which = [element("summary", change.names()), element("p", linked)]
    which += [element("p", f"… and {more:,} more", class_="dim")] if more > 0 else []
    return element(
        "section",
        element(
            "h3",
            element("code", change.path),
            element("span", " ".join(filter(None, (change.remark, change.headline))), class_="dim"),
        ),
        difference_lines(change.lines),
        element("details", which),
        class_="diff shared",
    )


def inside(result: Result, own: Result | None, typed: Typed) -> Markup | None:
    """What there is to say of a result; of one that passed only what is noteworthy. `own`: without what is
    told of several at once."""
    reason, usage = describe_reason(result), describe_usage(result.usage)
    noted = result.notes or result.environment_drift or reason or is_noteworthy(result)
    if result.outcome == "passed" and not noted:
        return None
    code = explain(result.code) if result.code else None
    more = element("code", f"baselinekit explain {result.code}")
    shown, left_out = blocks(own, bounds=_BOUNDS) if own is not None else ([], 0)
    explained = [element("div", cut_line(line)) for line in result.explanation[:_MOST_EXPLAINED]]
    unexplained = len(result.explanation) - _MOST_EXPLAINED
    explained += [element("div", f"… and {unexplained:,} more lines")] if unexplained > 0 else []
    refresh = refresh_command([result], typed) if select_renewable([result]) else ""
    return joined(
        element(
            "p",
            element("span", cut_line(format_place(result)), class_="place"),
            element("code", cut_line(result.target)) if result.target else None,
            element("span", usage, class_="dim") if usage else None,
            element("span", f"{result.attempts} attempts", class_="dim") if result.attempts > 1 else None,
            class_="where",
        ),
        [element("p", cut_line(line)) for line in reason.splitlines()[:_MOST_REASONS]],
        element("p", f"{result.code}: {code.title}. More: ", more, class_="dim") if code else None,
        [
            element(
                "section",
                element(
                    "h3",
                    element("code", block.path),
                    element("span", block.remark, class_="dim") if block.remark else None,
                    element("span", block.place, class_="place") if block.place else None,
                ),
                difference_lines(block.lines),
                class_="diff",
            )
            for block in shown
        ],
        element("p", describe_unshown(left_out), class_="dim") if left_out else None,
        _told_above(result, own) if own is not result else None,
        behind(result),
        _drift(result),
        [element("p", f"note: {cut_line(note)}", class_="dim") for note in result.notes[:_MOST_NOTES]],
        element("details", element("summary", "In words"), element("div", explained, class_="said"))
        if explained and result.case is None  # of a case the same stands above, in tables
        else None,
        element("p", "Is the new answer right? ", element("code", refresh), class_="renew")
        if refresh
        else None,
    )


def _told_above(result: Result, own: Result | None) -> Markup:
    """Which differences are told of several baselines at once: by their paths, which a filter finds here."""
    left = set(map(id, own.differences if own is not None else ()))
    paths = dict.fromkeys(row_pattern(spot.path) for spot in result.differences if id(spot) not in left)
    shown = [joined(element("code", cut_line(path, 200)), " ") for path in list(paths)[:_MOST_LINKED]]
    return element("p", "With other baselines, above: ", shown, class_="dim")


def _drift(result: Result) -> Markup | None:
    changed, commits = describe_drift(result)
    if not changed:
        return element("p", f"changed since capture: {commits}", class_="dim") if commits else None
    rows = [
        element(
            "tr",
            element("th", short(name), scope="row"),
            element("td", short(was)),
            element("td", short(now)),
        )
        for name, was, now in changed[:_MOST_DRIFTS]
    ]
    heads = [element("th", text, scope="col") for text in ("what", "then", "now")]
    made = element(
        "table",
        element("caption", "Changed since capture"),
        element("thead", element("tr", heads)),
        element("tbody", rows),
    )
    return joined(made, element("p", commits, class_="dim") if commits else None)


def difference_lines(shown: Sequence[DiffLine]) -> Markup:
    """What was expected stands before what came instead; lines that both have are said once."""
    rows: list[Markup] = []
    gone: list[str] = []
    for tone, group in groupby(shown, key=lambda line: line.tone):
        texts = [line.text for line in group]
        if tone == "gone":
            gone = texts
            continue
        if tone == "came":
            rows.append(pair_of_lines(gone, texts))
        else:
            rows += [pair_of_lines(gone, [])] if gone else []
            for text in texts:
                line = element("div", text)
                again = element("div", text, class_="again", aria_hidden="true")
                is_both, kind = text.startswith("| "), "at" if text.startswith("@@") else "said"
                rows.append(
                    element("div", line, again, class_="pair both")
                    if is_both
                    else element("div", text, class_=kind)
                )
        gone = []
    rows += [pair_of_lines(gone, [])] if gone else []
    return element("div", rows, class_="lines")


def pair_of_lines(gone: list[str], came: list[str]) -> Markup:
    left: Sequence[Markup | str] = gone
    right: Sequence[Markup | str] = came
    if len(gone) == len(came):
        both = [_marked(old, new) for old, new in zip(gone, came, strict=True)]
        left, right = [old for old, _ in both], [new for _, new in both]
    sides = [
        element("div", [element("div", text) for text in texts], class_=tone)
        for tone, texts in (("gone", left), ("came", right))
    ]
    return element("div", sides, class_="pair")


def _marked(old: str, new: str) -> tuple[Markup, Markup]:
    """Two lines with the part in which they differ marked, unless that is all of them."""
    start = _SIGN + _alike(old[_SIGN:], new[_SIGN:])
    rest = min(len(old), len(new)) - start
    end = min(rest, _alike(old[_SIGN:][::-1], new[_SIGN:][::-1]))
    if start + end < _ALIKE:
        return joined(old), joined(new)
    while start > _SIGN and within_word(old, new, start):
        start -= 1
    while end and within_word(old[::-1], new[::-1], end):
        end -= 1
    return with_mark(old, start, end), with_mark(new, start, end)


def within_word(old: str, new: str, place: int) -> bool:
    """Whether what is alike ends within a word or a number, of which a part alone says little."""
    return old[place - 1].isalnum() and any(text[place : place + 1].isalnum() for text in (old, new))


def with_mark(text: str, start: int, end: int) -> Markup:
    stop = len(text) - end
    middle = element("mark", text[start:stop]) if start < stop else None
    return joined(text[:start], middle, text[stop:])


def _alike(old: str, new: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(old), len(new)))


def behind(result: Result) -> Iterator[Markup | None]:
    """What there is to say of a case beyond what is said of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        yield from map(_differing, list(each_grade(grades))[:_MOST_GRADES])
        yield _sides(result)
    if grades:
        yield _grades(all_grades_of(result), result)
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


def _sides(result: Result) -> Markup | None:
    """Expected beside actual, as far as a grader knows of both; else what came, alone: then nothing in it is
    less or more than something else."""
    sides = dict(evidence(result))
    expected, actual = sides.get("Expected"), sides.get("Actual")
    if expected is not None and actual is not None:
        shown, head = difference_lines(list(side_lines(expected, actual))), "expected and actual"
    elif (alone := actual if expected is None else expected) is not None:
        head = "actual" if expected is None else "expected"
        lines = first_lines(alone, _MOST_LINES) or ['""']
        more = [element("div", line, class_="said") for line in lines[_MOST_LINES:]]
        first = [element("div", line) for line in lines[:_MOST_LINES]]
        shown = element("div", first, more, class_="lines plain")
    else:
        return None
    return element("section", element("h3", element("code", head)), shown, class_="diff")


def side_lines(expected: str, actual: str) -> Iterator[DiffLine]:
    """A diff where it shows what differs; else all of one, then all of the other."""
    if "\n" in expected.strip() and "\n" in actual.strip():
        changed = unified(expected, actual)
        if changed and any(line.startswith("| ") for line in changed):
            yield from diff_lines(changed, _MOST_LINES)
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
    return element("section", head, difference_lines(lines), class_="diff")


def _grades(grades: Sequence[tuple[Grade, str]], result: Result) -> Markup:
    rows = [
        (
            element("code", cut_line(grade.grader, 120)),
            ", ".join(filter(None, (grade.kind, standing if standing != "optional" else ""))),
            _outcome(grade.outcome, grade.verdict),
            "" if grade.score is None else format_share(grade.score),
            joined(cut_line(grade.reason) if grade.reason else None, _details(grade)),
            element("span", place, class_="place") if (place := place_of(grade, result)) else "",
        )
        for grade, standing in grades[:_MOST_GRADES]
    ]
    more = len(grades) - len(rows)
    caption = "What the graders said" + (f" (the first {len(rows)} of {len(grades):,})" if more else "")
    return table(caption, ("grader", "kind", "outcome", "score", "why", "where"), rows)


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


# Graders that put things into classes whose right one is known: a table for each with what it should
# have said beside what it said, and where it was asked several times each case.


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
