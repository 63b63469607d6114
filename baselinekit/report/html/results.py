"""One result in the HTML report: its line, and the details behind it: the differences, and for an eval case
what each grader said, expected beside actual, and each attempt."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from baselinekit.codes import explain
from baselinekit.model.grades import Attempt, Grade, iterate_grades
from baselinekit.model.results import Appearance, Report, Result, Typed
from baselinekit.report.confusion import (
    NO_DECISION,
    Classification,
    classification_title,
    classifications,
    describe_accuracy,
    describe_given,
    table_rows,
)
from baselinekit.report.differences import Bounds, DiffLine, SharedChange, Tone, blocks, diff_lines, unified
from baselinekit.report.evals.evalreport import (
    all_grades_of,
    evidence,
    explaining_attempt,
    format_share,
    grades_of,
    place_of,
)
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
from baselinekit.values.changes import row_pattern
from baselinekit.values.texts import count_noun

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
"""The length of `- ` or `+ ` at the start of each line."""

_FEWEST_COMMON = 6
"""Lines with fewer common characters are shown as entirely different."""


def row(number: int, result: Result, details: Markup | None, earlier: tuple[Appearance, ...]) -> Markup:
    difference_count = count_differences(result)
    parts = (result.name, result.criticality, result.verdict, *row_labels(result))
    labels = [cut_line(text or "", 200) for text in parts]
    labels.append(count_noun(difference_count, "difference") if difference_count else "")
    cells = joined(
        element("span", result.outcome, class_="outcome"),
        element("code", cut_line(result.id, 200), class_="id"),
        element("span", " · ".join(part for part in labels if part), class_="name"),
        spark_picture([*earlier, result]) or element("span"),
        element("span", format_brief(result.seconds), class_="took"),
    )
    attributes = {"id": f"r{number}", "class_": f"result {result.outcome}", "data_outcome": result.outcome}
    if not details:
        return element("div", element("div", cells, class_="row"), **attributes)
    is_open = number <= MOST_OPEN and result.outcome not in ("passed", "skipped")
    summary = element("summary", cells, class_="row")
    return element("details", summary, element("div", details, class_="inside"), open=is_open, **attributes)


def shared_change(change: SharedChange, numbers: dict[str, int]) -> Markup:
    """Return a change that several baselines share, with a link to each of them."""
    links: list[Markup | str] = []
    for result in change.results[:_MOST_LINKED]:
        name = element("code", cut_line(result.id, 200))
        number = numbers.get(result.id)
        links += [element("a", name, href=f"#r{number}") if number else name, " "]
    hidden_count = len(change.results) - _MOST_LINKED
    baselines = [element("summary", change.names()), element("p", links)]
    baselines += [element("p", f"… and {hidden_count:,} more", class_="dim")] if hidden_count > 0 else []
    return element(
        "section",
        element(
            "h3",
            element("code", change.path),
            element("span", " ".join(filter(None, (change.remark, change.headline))), class_="dim"),
        ),
        difference_lines(change.lines),
        element("details", baselines),
        class_="diff shared",
    )


def result_details(result: Result, unshared: Result | None, typed: Typed) -> Markup | None:
    """Return the details of a result; for a passed one only if there is something noteworthy. `unshared`: the
    result without the differences that are shown for several baselines at once."""
    reason, usage = describe_reason(result), describe_usage(result.usage)
    has_notes = result.notes or result.environment_drift or reason or is_noteworthy(result)
    if result.outcome == "passed" and not has_notes:
        return None
    code = explain(result.code) if result.code else None
    command = element("code", f"baselinekit explain {result.code}")
    shown_blocks, left_out = blocks(unshared, bounds=_BOUNDS) if unshared is not None else ([], 0)
    explanation = [element("div", cut_line(line)) for line in result.explanation[:_MOST_EXPLAINED]]
    hidden_count = len(result.explanation) - _MOST_EXPLAINED
    explanation += [element("div", f"… and {hidden_count:,} more lines")] if hidden_count > 0 else []
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
        element("p", f"{result.code}: {code.title}. More: ", command, class_="dim") if code else None,
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
            for block in shown_blocks
        ],
        element("p", describe_unshown(left_out), class_="dim") if left_out else None,
        _shared_paths(result, unshared) if unshared is not result else None,
        case_details(result),
        _drift_table(result),
        [element("p", f"note: {cut_line(note)}", class_="dim") for note in result.notes[:_MOST_NOTES]],
        element("details", element("summary", "In words"), element("div", explanation, class_="said"))
        if explanation and result.case is None  # a case shows the same above, in tables
        else None,
        element("p", "Is the new answer right? ", element("code", refresh), class_="renew")
        if refresh
        else None,
    )


def _shared_paths(result: Result, unshared: Result | None) -> Markup:
    """Return the paths of the differences that are shown for several baselines at once, so that a filter
    finds them here."""
    unshared_ids = set(map(id, unshared.differences if unshared is not None else ()))
    paths = dict.fromkeys(
        row_pattern(spot.path) for spot in result.differences if id(spot) not in unshared_ids
    )
    codes = [joined(element("code", cut_line(path, 200)), " ") for path in list(paths)[:_MOST_LINKED]]
    return element("p", "With other baselines, above: ", codes, class_="dim")


def _drift_table(result: Result) -> Markup | None:
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
    rows_table = element(
        "table",
        element("caption", "Changed since capture"),
        element("thead", element("tr", heads)),
        element("tbody", rows),
    )
    return joined(rows_table, element("p", commits, class_="dim") if commits else None)


def difference_lines(lines: Sequence[DiffLine]) -> Markup:
    """Return the expected lines before the actual ones; lines that are the same in both are shown once."""
    rows: list[Markup] = []
    old_lines: list[str] = []
    for tone, group in groupby(lines, key=lambda line: line.tone):
        texts = [line.text for line in group]
        if tone == "gone":
            old_lines = texts
            continue
        if tone == "came":
            rows.append(pair_of_lines(old_lines, texts))
        else:
            rows += [pair_of_lines(old_lines, [])] if old_lines else []
            for text in texts:
                line = element("div", text)
                copy = element("div", text, class_="again", aria_hidden="true")
                is_both, kind = text.startswith("| "), "at" if text.startswith("@@") else "said"
                rows.append(
                    element("div", line, copy, class_="pair both")
                    if is_both
                    else element("div", text, class_=kind)
                )
        old_lines = []
    rows += [pair_of_lines(old_lines, [])] if old_lines else []
    return element("div", rows, class_="lines")


def pair_of_lines(old_lines: list[str], new_lines: list[str]) -> Markup:
    old_side: Sequence[Markup | str] = old_lines
    new_side: Sequence[Markup | str] = new_lines
    if len(old_lines) == len(new_lines):
        both = [_mark_difference(old, new) for old, new in zip(old_lines, new_lines, strict=True)]
        old_side, new_side = [old for old, _ in both], [new for _, new in both]
    sides = [
        element("div", [element("div", text) for text in texts], class_=tone)
        for tone, texts in (("gone", old_side), ("came", new_side))
    ]
    return element("div", sides, class_="pair")


def _mark_difference(old: str, new: str) -> tuple[Markup, Markup]:
    """Return two lines with the differing part marked, unless that is all of them."""
    start = _SIGN + _count_common(old[_SIGN:], new[_SIGN:])
    shorter = min(len(old), len(new)) - start
    end = min(shorter, _count_common(old[_SIGN:][::-1], new[_SIGN:][::-1]))
    if start + end < _FEWEST_COMMON:
        return joined(old), joined(new)
    while start > _SIGN and within_word(old, new, start):
        start -= 1
    while end and within_word(old[::-1], new[::-1], end):
        end -= 1
    return with_mark(old, start, end), with_mark(new, start, end)


def within_word(old: str, new: str, place: int) -> bool:
    """Whether the common part ends within a word or a number, of which a part alone says little."""
    return old[place - 1].isalnum() and any(text[place : place + 1].isalnum() for text in (old, new))


def with_mark(text: str, start: int, end: int) -> Markup:
    stop = len(text) - end
    middle = element("mark", text[start:stop]) if start < stop else None
    return joined(text[:start], middle, text[stop:])


def _count_common(old: str, new: str) -> int:
    """Return how many characters are the same at the start of two texts."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(old), len(new)))


def case_details(result: Result) -> Iterator[Markup | None]:
    """Yield the details of an eval case beyond those of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        yield from map(_structure_differences, list(iterate_grades(grades))[:_MOST_GRADES])
        yield _expected_and_actual(result)
    if grades:
        yield _grades_table(all_grades_of(result), result)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1 or any(attempt.again for attempt in attempts):
        yield _attempts_table(attempts, result)


def is_noteworthy(result: Result) -> bool:
    """Whether a passed case has something to show: its grades."""
    return bool(grades_of(result))


def row_labels(result: Result) -> list[str]:
    """Return the labels in the line of a case: its group and tags, and its score if that is informative."""
    if result.case is None:
        return []
    score = result.case.score
    is_informative = score is not None and score not in (0, 1)
    return [
        result.case.eval_type,
        result.case.category
        if result.case.category and result.case.category != result.case.eval_type
        else "",
        " ".join(f"#{tag}" for tag in result.case.tags[:5]),
        f"score {format_share(score)}" if score is not None and is_informative else "",
    ]


def _expected_and_actual(result: Result) -> Markup | None:
    """Return expected beside actual if a grader states both; else the one that is known, without difference
    marks."""
    sides = dict(evidence(result))
    expected, actual = sides.get("Expected"), sides.get("Actual")
    if expected is not None and actual is not None:
        body, head = difference_lines(list(side_lines(expected, actual))), "expected and actual"
    elif (text := actual if expected is None else expected) is not None:
        head = "actual" if expected is None else "expected"
        lines = first_lines(text, _MOST_LINES) or ['""']
        notes = [element("div", line, class_="said") for line in lines[_MOST_LINES:]]
        shown_lines = [element("div", line) for line in lines[:_MOST_LINES]]
        body = element("div", shown_lines, notes, class_="lines plain")
    else:
        return None
    return element("section", element("h3", element("code", head)), body, class_="diff")


def side_lines(expected: str, actual: str) -> Iterator[DiffLine]:
    """Yield a diff if the texts have lines in common; else all of one, then all of the other."""
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


def _structure_differences(grade: Grade) -> Markup | None:
    """Return where an output does not match a structure, for a case without a baseline; with one, the result
    has the differences."""
    differences = grade.details.get("differences")
    shown_differences = (
        [difference for difference in differences if isinstance(difference, dict)]
        if isinstance(differences, list)
        else []
    )
    lines: list[DiffLine] = []
    for difference in shown_differences[:_MOST_DIFFERENCES]:
        lines.append(DiffLine("dim", short(difference.get("path", "$"), 200)))
        lines += (
            [DiffLine("gone", f"- {short(difference['expected'], 500)}")] if "expected" in difference else []
        )
        lines += [DiffLine("came", f"+ {short(difference['actual'], 500)}")] if "actual" in difference else []
    if not lines:
        return None
    head = element(
        "h3", element("code", cut_line(grade.grader, 120)), element("span", "differs", class_="dim")
    )
    return element("section", head, difference_lines(lines), class_="diff")


def _grades_table(grades: Sequence[tuple[Grade, str]], result: Result) -> Markup:
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
    hidden_count = len(grades) - len(rows)
    caption = "What the graders said" + (
        f" (the first {len(rows)} of {len(grades):,})" if hidden_count else ""
    )
    return table(caption, ("grader", "kind", "outcome", "score", "why", "where"), rows)


def _outcome(outcome: str, verdict: str | None) -> Markup:
    text = f"{outcome}, {verdict}" if verdict and verdict != outcome else outcome
    return element("span", text, class_=f"outcome {outcome}")


def _details(grade: Grade) -> Markup | None:
    """Return the notes of a grader, without those already shown above."""
    details = [
        (name, value)
        for name, value in grade.details.items()
        if name not in _SHOWN_ABOVE and value not in (None, "", [], {})
    ]
    if not details:
        return None
    rows = [
        joined(element("dt", cut_line(name, 60)), element("dd", short(value, _LONGEST_DETAIL)))
        for name, value in details[:_MOST_DETAILS]
    ]
    return element("dl", rows, class_="noted")


def _attempts_table(attempts: Sequence[Attempt], result: Result) -> Markup:
    """Return a table with each attempt in a row; `again` counts the replays because the environment
    failed."""
    explaining = explaining_attempt(result)
    rows = [
        (
            str(attempt.number),
            _outcome(attempt.outcome, attempt.verdict),
            "" if attempt.score is None else format_share(attempt.score),
            format_brief(attempt.seconds),
            describe_usage(attempt.usage),
            joined(
                cut_line(attempt.reason)
                if explaining is None or attempt.reason != explaining.reason
                else None,
                element("span", f" replayed {attempt.again} more times", class_="dim")
                if attempt.again
                else None,
            ),
        )
        for attempt in attempts[:_MOST_ATTEMPTS]
    ]
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    caption = f"{passed:,} of {len(attempts):,} attempts passed"
    if len(attempts) > len(rows):
        caption += f" (the first {len(rows)} are shown)"
    return table(caption, ("attempt", "outcome", "score", "took", "used", "why"), rows)


# Graders that classify: a table for each with the right class against the class given, and the cases with
# several attempts.


_MOST_TABLES = 50
_MOST_CASES = 500


def classes_section(report: Report) -> Iterator[Markup]:
    tables = classifications(report)
    if tables:
        yield element("h2", "Classes")
        yield element("p", "Rows: which class is right. Columns: which was said.", class_="dim")
    for classification in tables[:_MOST_TABLES]:
        yield _summary(classification)
        yield element("div", _confusion_table(classification), _cases_table(classification), class_="beside")
    if len(tables) > _MOST_TABLES:
        yield element("p", f"… and {len(tables) - _MOST_TABLES:,} more graders that classify", class_="dim")


def _summary(classification: Classification) -> Markup:
    title, text = classification_title(classification), describe_accuracy(classification)
    heading = element("p", element("b", title), f" {text}")
    if classification.accuracy is None:
        return heading
    picture = interval_picture(classification.accuracy, *classification.interval, None, f"{title}: {text}")
    return element("div", heading, picture)


def _confusion_table(classification: Classification) -> Markup:
    heads, rows = table_rows(classification)
    body: list[list[Child]] = []
    for wanted, counts in rows:
        cells: list[Child] = [wanted]
        for head, count in zip(heads, counts, strict=True):
            tone = "passed" if head == wanted else "unscored" if head == NO_DECISION else "failed"
            cells.append(element("span", f"{count:,}", class_=tone) if count else "0")
        body.append(cells)
    return table(
        classification_title(classification),
        ("should be", *(f"said {head}" for head in heads[:-1]), heads[-1]),
        body,
        "figures",
    )


def _cases_table(classification: Classification) -> Markup | None:
    """Return the cases with several attempts, those with different classes first."""
    if not classification.repeated:
        return None
    ordered = sorted(classification.cases, key=lambda case: not case.flips)
    rows: list[list[Child]] = [
        [
            cut_line(case.name, 200),
            cut_line(case.wanted, 40),
            describe_given(case),
            element("span", "flips", class_="unscored") if case.flips else "",
        ]
        for case in ordered[:_MOST_CASES]
    ]
    caption = f"Over several attempts, {len(classification.flipping):,} of {len(classification.cases):,} flip"
    return table(caption, ("case", "should be", "said, how often", "over attempts"), rows)
