"""What a page shows of one result: facts → blocks. The differences, and for an eval case what each grader
said, expected beside actual, and each attempt."""

from collections.abc import Iterator, Sequence

from baselinekit.codes import explain
from baselinekit.model.grades import Attempt, Grade, iterate_grades
from baselinekit.model.results import Result
from baselinekit.report.blocks import Block, Cell, CodeLine, Diff, DiffLine, LineTone, Note, Table, table
from baselinekit.report.differences import diff_lines, diffs, unified
from baselinekit.report.evals.evalreport import (
    all_grades_of,
    evidence,
    explaining_attempt,
    grades_of,
    place_of,
)
from baselinekit.report.values import cut_line, first_lines, short
from baselinekit.report.wording import (
    count_differences,
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
_SIDES: dict[str, tuple[LineTone, str]] = {"expected": ("gone", "-"), "actual": ("came", "+")}
_SHOWN_ABOVE = ("expected", "actual", "differences")


def result_blocks(result: Result, unshared: Result | None, most: int) -> Iterator[Block]:
    """Yield the details of a result. `unshared`: the result without the differences that are shown for
    several baselines at once; `most`: how many differences, and lines of a text."""
    place = format_place(result)
    yield CodeLine(result.target, place) if result.target else CodeLine(place)
    facts = [describe_usage(result.usage)]
    facts += [count_noun(result.attempts, "attempt")] if result.attempts > 1 else []
    if unshared is not None and unshared is not result:
        number, own = count_differences(result), count_differences(unshared)
        facts.append(f"{count_noun(number, 'difference')}, {number - own:,} of them above")
    if words := ", ".join(filter(None, facts)):
        yield Note(words, "dim")
    yield from map(Note, describe_reason(result).splitlines()[:_MOST_REASONS])
    if result.code and (code := explain(result.code)):
        yield CodeLine(f"baselinekit explain {result.code}", f"{result.code}: {code.title}. More:")
    if unshared is not None:
        shown_diffs, left_out = diffs(unshared, most=most)
        yield from shown_diffs
        if left_out:
            yield Note(describe_unshown(left_out), "dim")
    yield from _case_blocks(result, most)
    changed, commits = describe_drift(result)
    if changed:
        rows = [(short(name), short(was), short(now)) for name, was, now in changed[:_MOST_DRIFTS]]
        yield table(("what", "then", "now"), rows, "Changed since capture")
    if commits:
        yield Note(f"changed since capture: {commits}", "dim")
    yield from (Note(f"note: {note}", "dim") for note in result.notes[:_MOST_NOTES])


def _case_blocks(result: Result, most: int) -> Iterator[Block]:
    """Yield the details of an eval case beyond those of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        for grade in [*iterate_grades(grades)][:_MOST_GRADES]:
            yield from _structure_differences(grade)
        yield from _expected_and_actual(result, most)
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
            lines += _sides({side: short(difference[side], 500) for side in _SIDES if side in difference})
    if lines:
        yield Diff(cut_line(grade.grader), "differs", "", tuple(lines))


def _sides(sides: dict[str, str], most: int = 1) -> Iterator[DiffLine]:
    for side, text in sides.items():
        texts = first_lines(text, most) or ['""']
        tone, sign = _SIDES[side]
        yield from (DiffLine(tone, f"{sign} {line}") for line in texts[:most])
        yield from (DiffLine("dim", line) for line in texts[most:])


def _expected_and_actual(result: Result, most: int) -> Iterator[Diff]:
    """Yield expected beside actual, as far as they are known: a diff if the texts have lines in common."""
    sides = {label.lower(): text for label, text in evidence(result) if label.lower() in _SIDES}
    if all("\n" in text.strip() for text in sides.values()) and len(sides) == 2:
        changed = unified(sides["expected"], sides["actual"])
        if any(line.startswith("| ") for line in changed):
            yield Diff("expected and actual", "", "", tuple(diff_lines(changed, most)))
            return
    if sides:
        yield Diff(" and ".join(sides), "", "", tuple(_sides(sides, most)))


def _grades_table(result: Result) -> Table:
    grades = all_grades_of(result)
    rows = []
    for grade, standing in grades[:_MOST_GRADES]:
        kind = f"{grade.kind}, {standing}" if standing not in ("", "optional") else grade.kind
        notes = {name: value for name, value in grade.details.items() if name not in _SHOWN_ABOVE}
        shown = [(name, value) for name, value in notes.items() if value not in (None, "", [], {})]
        why = [grade.reason.replace("\n", " ")]
        why += [f"{cut_line(name, 60)}: {short(value, _LONGEST_DETAIL)}" for name, value in shown]
        rows.append(
            (
                Cell(grade.grader, is_code=True),
                kind,
                *_judged_cells(grade),
                Cell(place_of(grade, result), "dim"),
                "\n".join(filter(None, why[: _MOST_DETAILS + 1])),
            )
        )
    caption = "What the graders said"
    if len(grades) > len(rows):
        caption += f" (the first {len(rows)} of {len(grades):,})"
    return table(("grader", "kind", "outcome", "score", "where", "why"), rows, caption)


def _judged_cells(judged: Grade | Attempt) -> tuple[Cell, Cell]:
    verdict = judged.verdict if judged.verdict != judged.outcome else ""
    outcome = Cell(", ".join(filter(None, (judged.outcome, verdict))), judged.outcome)
    return outcome, Cell("" if judged.score is None else f"{judged.score:.3f}")


def _attempts_table(attempts: Sequence[Attempt], result: Result) -> Table:
    """Return a table with each attempt in a row; `again` counts the replays because the environment
    failed."""
    explaining = explaining_attempt(result)
    rows = []
    for attempt in attempts[:_MOST_ATTEMPTS]:
        is_known = explaining is not None and attempt.reason == explaining.reason
        why = [] if is_known else [attempt.reason.replace("\n", " ")]
        why += [f"replayed {attempt.again} more times"] if attempt.again else []
        took, used = format_seconds(attempt.seconds), describe_usage(attempt.usage)
        words = "\n".join(filter(None, why))
        rows.append((str(attempt.number), *_judged_cells(attempt), took, used, words))
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    caption = f"{passed:,} of {len(attempts):,} attempts passed"
    if len(attempts) > len(rows):
        caption += f" (the first {len(rows)} are shown)"
    return table(("attempt", "outcome", "score", "took", "used", "why"), rows, caption)
