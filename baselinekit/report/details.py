"""What a page shows of one result: facts → blocks. The differences, and for an eval case what each grader
said, expected beside actual, and each attempt."""

from collections.abc import Iterator, Sequence

from baselinekit.codes import explain
from baselinekit.model.grades import Attempt, Grade, iterate_grades
from baselinekit.model.results import Result
from baselinekit.report.blocks import Block, Cell, CodeLine, Diff, DiffLine, Note, Table, table
from baselinekit.report.differences import Bounds, diff_lines, diffs, format_counts, unified
from baselinekit.report.evals.evalreport import (
    all_grades_of,
    evidence,
    explaining_attempt,
    format_share,
    grades_of,
    place_of,
)
from baselinekit.report.values import cut_line, first_lines, short
from baselinekit.report.wording import (
    describe_drift,
    describe_reason,
    describe_unshown,
    describe_usage,
    format_place,
    format_seconds,
)
from baselinekit.values.texts import count_noun

_MOST_REASONS = 20
_MOST_DRIFTS = 50
_MOST_NOTES = 20
_MOST_GRADES = 50
_MOST_ATTEMPTS = 100
_MOST_DETAILS = 12
_MOST_DIFFERENCES = 50
_LONGEST_DETAIL = 400
_SHOWN_ABOVE = ("expected", "actual", "differences")


def result_blocks(result: Result, unshared: Result | None, bounds: Bounds) -> Iterator[Block]:
    """Yield the details of a result. `unshared`: the result without the differences that are shown for
    several baselines at once."""
    place = format_place(result)
    yield CodeLine(result.target, place) if result.target else CodeLine(place)
    facts = [describe_usage(result.usage)]
    facts += [count_noun(result.attempts, "attempt")] if result.attempts > 1 else []
    facts += [format_counts(result, unshared)] if unshared is not None and unshared is not result else []
    if words := ", ".join(filter(None, facts)):
        yield Note(words, "dim")
    yield from map(Note, describe_reason(result).splitlines()[:_MOST_REASONS])
    if result.code and (code := explain(result.code)):
        yield CodeLine(f"baselinekit explain {result.code}", f"{result.code}: {code.title}. More:")
    if unshared is not None:
        shown_diffs, left_out = diffs(unshared, bounds=bounds)
        yield from shown_diffs
        if left_out:
            yield Note(describe_unshown(left_out), "dim")
    yield from _case_blocks(result, bounds)
    changed, commits = describe_drift(result)
    if changed:
        rows = [(short(name), short(was), short(now)) for name, was, now in changed[:_MOST_DRIFTS]]
        yield table(("what", "then", "now"), rows, "Changed since capture")
    if commits:
        yield Note(f"changed since capture: {commits}", "dim")
    yield from (Note(f"note: {note}", "dim") for note in result.notes[:_MOST_NOTES])


def _case_blocks(result: Result, bounds: Bounds) -> Iterator[Block]:
    """Yield the details of an eval case beyond those of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        for grade in [*iterate_grades(grades)][:_MOST_GRADES]:
            yield from _structure_differences(grade)
        yield from _expected_and_actual(result, bounds.lines)
    if grades:
        yield _grades_table(result)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1 or any(attempt.again for attempt in attempts):
        yield _attempts_table(attempts, result)


def _structure_differences(grade: Grade) -> Iterator[Diff]:
    """Yield where an output does not match a structure, for a case without a baseline; with one, the result
    has the differences."""
    differences = grade.details.get("differences")
    lines: list[DiffLine] = []
    for difference in differences[:_MOST_DIFFERENCES] if isinstance(differences, list) else ():
        if isinstance(difference, dict):
            lines.append(DiffLine("dim", short(difference.get("path", "$"), 200)))
            if "expected" in difference:
                lines.append(DiffLine("gone", f"- {short(difference['expected'], 500)}"))
            if "actual" in difference:
                lines.append(DiffLine("came", f"+ {short(difference['actual'], 500)}"))
    if lines:
        yield Diff(cut_line(grade.grader), "differs", "", tuple(lines))


def _expected_and_actual(result: Result, most: int) -> Iterator[Diff]:
    """Yield expected beside actual, as far as they are known: a diff if the texts have lines in common."""
    sides = {label: text for label, text in evidence(result) if label in ("Expected", "Actual")}
    if all("\n" in text.strip() for text in sides.values()) and len(sides) == 2:
        changed = unified(sides["Expected"], sides["Actual"])
        if any(line.startswith("| ") for line in changed):
            yield Diff("expected and actual", "", "", tuple(diff_lines(changed, most)))
            return
    lines: list[DiffLine] = []
    for label, text in sides.items():
        sign = "-" if label == "Expected" else "+"
        texts = first_lines(text, most) or ['""']
        lines += [DiffLine("gone" if sign == "-" else "came", f"{sign} {line}") for line in texts[:most]]
        lines += [DiffLine("dim", line) for line in texts[most:]]
    if lines:
        yield Diff(" and ".join(sides).lower(), "", "", tuple(lines))


def _grades_table(result: Result) -> Table:
    grades = all_grades_of(result)
    rows = [
        (
            Cell(grade.grader, is_code=True),
            ", ".join(filter(None, (grade.kind, standing if standing != "optional" else ""))),
            _outcome_cell(grade),
            "" if grade.score is None else format_share(grade.score),
            Cell(place_of(grade, result), "dim"),
            "\n".join(filter(None, (grade.reason.replace("\n", " "), *_detail_lines(grade)))),
        )
        for grade, standing in grades[:_MOST_GRADES]
    ]
    caption = "What the graders said"
    if len(grades) > len(rows):
        caption += f" (the first {len(rows)} of {len(grades):,})"
    return table(("grader", "kind", "outcome", "score", "where", "why"), rows, caption)


def _outcome_cell(judged: Grade | Attempt) -> Cell:
    verdict = judged.verdict if judged.verdict != judged.outcome else ""
    return Cell(", ".join(filter(None, (judged.outcome, verdict))), judged.outcome)


def _detail_lines(grade: Grade) -> Iterator[str]:
    """Yield the notes of a grader, without those already shown above."""
    details = {
        name: value
        for name, value in grade.details.items()
        if name not in _SHOWN_ABOVE and value not in (None, "", [], {})
    }
    for name, value in [*details.items()][:_MOST_DETAILS]:
        yield f"{cut_line(name, 60)}: {short(value, _LONGEST_DETAIL)}"


def _attempts_table(attempts: Sequence[Attempt], result: Result) -> Table:
    """Return a table with each attempt in a row; `again` counts the replays because the environment
    failed."""
    explaining = explaining_attempt(result)
    rows = []
    for attempt in attempts[:_MOST_ATTEMPTS]:
        is_new = explaining is None or attempt.reason != explaining.reason
        again = f"replayed {attempt.again} more times" if attempt.again else ""
        rows.append(
            (
                str(attempt.number),
                _outcome_cell(attempt),
                "" if attempt.score is None else format_share(attempt.score),
                format_seconds(attempt.seconds),
                describe_usage(attempt.usage),
                "\n".join(filter(None, (attempt.reason.replace("\n", " ") if is_new else "", again))),
            )
        )
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    caption = f"{passed:,} of {len(attempts):,} attempts passed"
    if len(attempts) > len(rows):
        caption += f" (the first {len(rows)} are shown)"
    return table(("attempt", "outcome", "score", "took", "used", "why"), rows, caption)
