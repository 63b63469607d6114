"""The details of one result as blocks, for every form: why it did not pass and where it differs; for an eval
case also what was expected and what came, the grades, and each attempt."""

from collections.abc import Iterator, Sequence

from baselinekit.codes import explain
from baselinekit.model.grades import Attempt, Grade, iterate_grades
from baselinekit.model.results import Result
from baselinekit.report.blocks import (
    Block,
    Cell,
    Diff,
    DiffLine,
    Diffs,
    Folded,
    LineTone,
    Note,
    Table,
    table,
    terminal_lines,
)
from baselinekit.report.differences import MOST_SHOWN, diff_lines, difference_blocks, unified
from baselinekit.report.values import cut_line, encode, first_lines, short
from baselinekit.report.wording import (
    PLAIN,
    count_differences,
    describe_drift,
    describe_reason,
    describe_usage,
    first_of,
    format_place,
)
from baselinekit.structs import replace
from baselinekit.values.texts import count_noun

_MOST_LINES = 20
_MOST_EXPLAINED = 40
_MOST_PLACES = 50
_MOST_ATTEMPTS = 100
_MOST_DETAILS = 12
_LONGEST_DETAIL = 400
_SIDES: dict[str, tuple[LineTone, str]] = {"expected": ("gone", "-"), "actual": ("came", "+")}
_SHOWN_ABOVE = (*_SIDES, "differences")


def page_blocks(result: Result, own: Result | None, most: int) -> Iterator[Block]:
    """Yield what a page shows of a result. `own`: the result without the differences that are shown for
    several baselines at once; None if it has no others. `most`: how many differences, and lines of a text."""
    own = own or replace(result, differences=(), difference_count=0)
    place = format_place(result)
    yield Note(place, code=result.target) if result.target else Note("", code=place)
    if facts := list_facts(result, own):
        yield Note(", ".join(facts), "dim")
    yield from result_blocks(own, most)
    if result.code and (code := explain(result.code)):
        yield Note(f"{result.code}: {code.title}. More:", code=f"baselinekit explain {result.code}")


def list_facts(result: Result, own: Result) -> list[str]:
    """Return in how many places it differs, how often it was tried, and what that used."""
    number, here = count_differences(result), count_differences(own)
    facts = []
    if number > 1 or number > here:
        above = f", {number - here:,} of them above" if number > here else ""
        facts.append(count_noun(number, "difference") + above)
    if result.attempts > 1:
        facts.append(count_noun(result.attempts, "attempt"))
    return [*facts, *filter(None, [describe_usage(result.usage)])]


def result_blocks(
    result: Result, most: int = MOST_SHOWN, fold: bool = True, in_full: bool = True
) -> Iterator[Block]:
    """Yield the details of a result. `fold`: show once what repeats along an array; `in_full`: with all that
    the graders state."""
    yield from map(Note, describe_reason(result).splitlines()[:_MOST_LINES])
    yield from difference_blocks(result, most, fold)
    yield from case_blocks(result, most, in_full)
    if drift := describe_drift(result):
        yield Note(drift, "dim")
    if result.explanation and result.case is None:  # of a case, the tables show the same
        yield Folded("in detail", tuple(first_of(result.explanation, _MOST_EXPLAINED, "line")))
    yield from (Note(f"note: {note}", "dim") for note in result.notes[:_MOST_LINES])


def plain_text(result: Result) -> str:
    """Return the details as plain lines, for other programs."""
    lines = terminal_lines(result_blocks(result, in_full=False), PLAIN)
    return "\n".join(line.removeprefix("  ") for line in lines).strip("\n")


# Eval cases.


def case_blocks(result: Result, most: int = MOST_SHOWN, in_full: bool = True) -> Iterator[Block]:
    """Yield the details of an eval case beyond those of every result."""
    grades = [*iterate_grades(grades_of(result))]
    if result.outcome != "passed" and not result.differences:
        found = [diff for grade in grades[:_MOST_PLACES] for diff in _structure_differences(grade)]
        if found := [*found, *_expected_and_actual(result, most)]:
            yield Diffs(tuple(found))
    if len(grades) > 1 or (grades and not result.differences):
        yield _grades_table(result, in_full)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1 or any(attempt.again for attempt in attempts):
        yield _attempts_table(attempts)


def explaining_attempt(result: Result) -> Attempt | None:
    """Return the attempt that explains the outcome of the result."""
    attempts = result.case.attempts if result.case else ()
    matching = [attempt for attempt in attempts if attempt.outcome == result.outcome]
    return next(iter(matching or attempts), None)


def grades_of(result: Result) -> tuple[Grade, ...]:
    attempt = explaining_attempt(result)
    return attempt.grades if attempt else ()


def deciding_grades(grades: Sequence[Grade]) -> list[Grade]:
    """Return the grades that decide the case: the required ones, else all."""
    return [grade for grade in grades if grade.required] or list(grades)


def line_of(result: Result) -> int | None:
    """Return the line to look at first: of the grader that explains the outcome, or of the case."""
    tops = deciding_grades(grades_of(result))
    grades = (grade for top in tops for grade in (*iterate_grades(top.parts), top))
    lines = (grade.line for grade in grades if grade.outcome == result.outcome)
    return next((line for line in lines if line is not None), result.line)


def _structure_differences(grade: Grade) -> Iterator[Diff]:
    """Yield where an output does not match a structure, for a case without a baseline; with one, the result
    has the differences."""
    differences = grade.details.get("differences")
    lines: list[DiffLine] = []
    for difference in differences[:_MOST_PLACES] if isinstance(differences, list) else ():
        if isinstance(difference, dict):
            lines.append(DiffLine("dim", short(difference.get("path", "$"), 200)))
            lines += _side_lines(
                {side: short(difference[side], 500) for side in _SIDES if side in difference}
            )
    if lines:
        yield Diff(cut_line(grade.grader), "differs", "", tuple(lines))


def _expected_and_actual(result: Result, most: int) -> Iterator[Diff]:
    """Yield what was expected and what came, as far as a grader states it; else the output. Two texts of
    several lines become a diff."""
    failing = (one.details for one in iterate_grades(grades_of(result)) if one.outcome == result.outcome)
    details = next((details for details in failing if _SIDES.keys() & details.keys()), {})
    sides = {side: details[side] for side in _SIDES if side in details}
    attempt = explaining_attempt(result)
    output = attempt.output if attempt is not None else None
    if output not in (None, result.name):  # the name is shown already
        sides.setdefault("actual", output)
    texts = {side: value if isinstance(value, str) else encode(value, 2) for side, value in sides.items()}
    if len(texts) == 2 and all("\n" in text.strip() for text in texts.values()):
        lines = diff_lines(unified(texts["expected"], texts["actual"]), most)
    else:
        lines = _side_lines(texts, most)
    if texts:
        yield Diff(" and ".join(texts), "", "", tuple(lines))


def _side_lines(texts: dict[str, str], most: int = 1) -> Iterator[DiffLine]:
    for side, text in texts.items():
        tone, sign = _SIDES[side]
        lines = first_lines(text, most) or ['""']
        yield from (DiffLine(tone, f"{sign} {line}") for line in lines[:most])
        yield from (DiffLine("dim", line) for line in lines[most:])


def _grades_table(result: Result, in_full: bool) -> Table:
    by_mean = result.case is not None and result.case.pass_rule.by == "mean"
    rows = []
    for grade in grades_of(result):
        rows.append(_grade_row(grade, result, by_mean, in_full))
        parts = iterate_grades(grade.parts, f"{grade.grader}/")
        rows += [_grade_row(part, result, True, in_full) for part in parts]
    return table(("grader", "kind", "outcome", "score", "where", "why"), rows)


def _grade_row(grade: Grade, result: Result, in_mean: bool, in_full: bool) -> tuple[str | Cell, ...]:
    """Return the row of a grade. How it counts is shown if that is not the default: among graders that all
    have to pass one may be optional, and in a mean one may be required, or have a higher weight."""
    kind: list[str] = [grade.kind]
    if in_mean:
        kind += ["required"] if grade.required else []
        kind += [f"weight {grade.weight:g}"] if grade.weight != 1 else []
    elif not grade.required:
        kind.append("optional")
    why = [grade.reason.replace("\n", " ")]
    for name, value in grade.details.items() if in_full else ():
        if name not in _SHOWN_ABOVE and value not in (None, "", [], {}):
            why.append(f"{cut_line(name, 60)}: {short(value, _LONGEST_DETAIL)}")
    place = f"{result.file}:{grade.line}" if grade.line not in (None, result.line) else ""
    return (
        Cell(grade.grader, is_code=True),
        ", ".join(kind),
        *_judged_cells(grade),
        Cell(place, "dim"),
        "\n".join(filter(None, why[: _MOST_DETAILS + 1])),
    )


def _judged_cells(judged: Grade | Attempt) -> tuple[Cell, Cell]:
    verdict = judged.verdict if judged.verdict != judged.outcome else ""
    outcome = Cell(", ".join(filter(None, (judged.outcome, verdict))), judged.outcome)
    return outcome, Cell("" if judged.score is None else f"{judged.score:.3f}")


def _attempts_table(attempts: Sequence[Attempt]) -> Table:
    """Return a table with each attempt in a row; `again` counts the replays because the environment
    failed."""
    rows = []
    for attempt in attempts[:_MOST_ATTEMPTS]:
        again = f"replayed {attempt.again} more times" if attempt.again else ""
        code = attempt.code if attempt.outcome == "error" else ""
        why = " ".join(filter(None, (code, attempt.reason.replace("\n", " "), again)))
        used = describe_usage(attempt.usage)
        rows.append((f"attempt {attempt.number}", *_judged_cells(attempt), used, why))
    return table(("", "outcome", "score", "used", "why"), rows)
