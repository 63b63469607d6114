"""What each grader made of an output, for the terminal: its score, the criteria with theirs, and why."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import log, one_line
from baselinekit.model.grades import Grade
from baselinekit.model.results import Report, Result
from baselinekit.report.evals.evalreport import grades_of, telling
from baselinekit.report.terminal import results as terminal
from baselinekit.report.terminal.fitting import wrapped
from baselinekit.report.terminal.style import Style
from baselinekit.report.values.shown import cut_line

_NOTES = {"disagrees": "note:", "replies_that_could_not_be_read": "asked again:", "taken": "taken:"}
"""Details that are told as well, with the words before them."""
_MOST_GRADES = 10
_MOST_LINES = 20
_MOST_WORDS = 2_000
_TONES = {"passed": "green", "failed": "red", "error": "red", "unscored": "yellow", "skipped": "yellow"}


def passed(report: Report, style: Style) -> str:
    """As `terminal.passed`, each with what its graders say."""
    told = terminal.passed(report, style).splitlines(keepends=True)
    done = [result for result in report.results if result.outcome == "passed"]
    grades = ["".join(f"{line}\n" for line in lines(grades_of(result), style)) for result in done]
    shown = [line + log(below) for line, below in zip(told, grades, strict=False)]
    return "".join(shown) + "".join(told[len(shown) :])


def lines(grades: Sequence[Grade], style: Style, brief: bool = False, known: str = "") -> Iterator[str]:
    """Each grader by its name; `brief` is a line for each of several. `known`: what is said of it already."""
    for grade in grades[:_MOST_GRADES] if len(grades) > 1 or not brief else ():
        yield _headline(grade, style, brief)
        if not brief:
            yield from _below(grade, style, known)


def others(result: Result) -> list[str]:
    """Why attempts did not pass, where it is not the reason that the result gives: each reason once."""
    told = telling(result)
    found: dict[str, str] = {}
    for attempt in result.case.attempts if result.case else ():
        same = told is not None and (attempt.outcome, attempt.reason) == (told.outcome, told.reason)
        if attempt.outcome != "passed" and attempt.reason and not same:
            code = f"{attempt.code} " if attempt.code and attempt.outcome == "error" else ""
            found.setdefault(f"{attempt.outcome}: {code}{attempt.reason}", f"attempt {attempt.number}")
    return [f"{which} {why}" for why, which in found.items()]


def _headline(grade: Grade, style: Style, brief: bool) -> str:
    word = style.paint(f"{grade.outcome:<8}", _TONES[grade.outcome])
    score = "" if grade.score is None else f" {grade.score:.2f}"
    told = f"    {word} {one_line(grade.grader)} ({grade.kind}){score}"
    told += "" if grade.required else ", optional"
    return f"{told}  {cut_line(grade.reason)}" if brief and grade.reason else told


def _below(grade: Grade, style: Style, known: str) -> Iterator[str]:
    criteria = grade.details.get("scores")
    if isinstance(criteria, dict) and criteria:
        yield from _folded([f"{name} {value}" for name, value in criteria.items()], style, "   ")
    for name, before in _NOTES.items():
        note = grade.details.get(name)
        for each in note if isinstance(note, list) else [note] if note else ():
            if str(each) not in grade.reason:
                yield from _folded([*before.split(), *str(each).split()], style)
    if grade.code and grade.outcome == "error":
        yield from _folded([grade.code, *grade.reason.split()], style)
    elif grade.reason not in known:
        yield from _folded(grade.reason.split(), style)
    feedback = grade.details.get("specific_feedback")
    for each in feedback if isinstance(feedback, list) else ():
        yield from _folded(["-", *str(each).split()], style)


def _folded(words: Sequence[str], style: Style, gap: str = " ") -> Iterator[str]:
    """Lines that fit, as many as anybody reads."""
    shown = [cut_line(word) for word in words[:_MOST_WORDS]]
    found = list(wrapped(shown, max(20, style.width - 13), gap))
    yield from (style.paint(f"             {line}", "dim") for line in found[:_MOST_LINES])
    if len(found) > _MOST_LINES:
        yield style.paint(f"             … and {len(found) - _MOST_LINES:,} more lines", "dim")
