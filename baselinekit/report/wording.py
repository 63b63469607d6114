"""The words that every report shares, and how they are dressed for a terminal."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from posixpath import join, normpath
from unicodedata import combining, east_asian_width

from baselinekit.escape import log, one_line
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import BORDERLINE, OUTCOMES, Outcome, each_grade
from baselinekit.model.recipes import Usage
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.values import short
from baselinekit.texts import many

# The sentences that every report shares.


_SMALL = Decimal("0.1")
_QUICK = 0.1
_COMMIT = lazy_pattern("[0-9a-f]{40,64}")


def count_outcomes(report: Report) -> list[tuple[Outcome, str]]:
    """Each outcome that occurred with its own count, the worst first: `1 failed`, `2 errors`, `5 passed`."""
    summary = report.summary
    found = []
    for outcome in OUTCOMES:
        number: int = getattr(summary, outcome)
        if number:
            text = count_outcome(outcome, number)
            borderline = count_borderline(one for one in report.results if one.outcome == outcome)
            found.append((outcome, text + (f" ({borderline:,} borderline)" if borderline else "")))
    return found


def count_borderline(results: Iterable[Result]) -> int:
    """How many are neither good enough nor plainly too bad."""
    return sum(result.verdict == BORDERLINE for result in results)


def count_outcome(outcome: Outcome, number: int) -> str:
    """`1 error`, `2 errors`, `2 failed`."""
    return f"{number:,} {'errors' if outcome == 'error' and number > 1 else outcome}"


def format_duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f}s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m {rest:02}s"


def format_seconds(seconds: float) -> str:
    """Where the times of one baseline stand beside each other: most are far below a second."""
    return f"{seconds:.3f}s" if seconds < _QUICK else format_duration(seconds)


def describe_nothing(report: Report) -> str:
    """What to say of a run without a result, which may be just right."""
    if not report.nothing_changed:
        return "nothing ran"
    number = report.coverage.left_out
    of = "the one baseline is untouched" if number == 1 else f"all {number:,} baselines are untouched"
    return f"nothing to compare: {of} since {one_line(report.nothing_changed)}"


def format_brief(seconds: float) -> str:
    """As `format_duration`, for times of which most are below a second."""
    if seconds >= 1:
        return format_duration(seconds)
    return f"{seconds * 1000:.{1 if 0 < seconds < 0.01 else 0}f} ms"


def describe_spent(report: Report) -> str:
    """`3 calls of models (1,204 tokens, $0.00121)`, or nothing where no model was asked. What nobody knows to
    have been taken stands apart: `; 2 without an answer may have taken 2,038 tokens`."""
    spent = report.spent
    if spent is None or not spent.calls:
        return ""
    told = f"{many(spent.calls, 'call')} of models ({_sum(spent.tokens, spent.usd)}"
    if spent.unanswered:
        may = _sum(spent.may_tokens, spent.may_usd)
        told += f"; {spent.unanswered:,} without an answer may have taken {may}"
    return f"{told})"


def _sum(tokens: int, usd: Decimal) -> str:
    return f"{tokens:,} tokens" + (f", {format_dollars(usd)}" if usd else "")


def format_dollars(usd: Decimal) -> str:
    """To the cent, and small sums to three digits."""
    return f"${usd:,.{2 if not usd or usd >= _SMALL else 2 - usd.adjusted()}f}"


def describe_usage(usage: Usage) -> str:
    """`120 tokens in, 30 out, $0.00121`, as far as anybody said."""
    told = [] if usage.tokens_in is None else [f"{usage.tokens_in:,} tokens in"]
    told += [] if usage.tokens_out is None else [f"{usage.tokens_out:,} out"]
    told += [format_dollars(usage.cost_usd)] if usage.cost_usd else []
    return ", ".join(told)


def describe_incomplete(report: Report) -> str:
    """What to say of a run that did not do all it was asked."""
    if report.interrupted:
        return "interrupted"
    notes = ["" if report.complete else "not all of them ran"]
    against, earlier = report.against, report.earlier
    if against is not None and against.strict and against.weakened:
        notes.append(f"{len(against.weakened):,} weakened since {one_line(against.ref)}: --fail-on-weakened")
    if earlier is not None and earlier.strict and (earlier.regressed or earlier.tells_nothing):
        what = "regressed" if earlier.regressed else "nothing could be compared"
        notes.append(f"{what}: --fail-on-regressed")
    return "; ".join(filter(None, notes))


def collect_warnings(report: Report) -> list[str]:
    """What the run as a whole should be looked at for."""
    asked = report.against.notes if report.against else ()
    found = [*report.warnings, *asked, *(f"not recorded: {text}" for text in report.not_recorded)]
    unasked = [result for result in report.results if result.outcome == "skipped" and result.code]
    if unasked:
        found.append(f"{len(unasked):,} skipped: {unasked[0].code} {unasked[0].reason}")
    ids_of: dict[str, list[str]] = {}  # cases that ran generated code unconfined, by what it could have done
    for result in report.results:
        attempts = result.case.attempts if result.case else ()
        grades = (grade for attempt in attempts for grade in each_grade(attempt.grades))
        details = (grade.details.get("not_contained") for grade in grades)
        reach = next((reach for reach in details if isinstance(reach, list | tuple) and reach), None)
        if reach:
            ids_of.setdefault(", ".join(map(str, reach)), []).append(result.id)
    what = "generated code ran outside a sandbox and could reach"
    return [*found, *(f"{what}: {reach} ({name_first(ids)})" for reach, ids in ids_of.items())]


def name_first(ids: list[str]) -> str:
    """The first of them, and how many more."""
    return ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1:,} more"


def format_place(result: Result) -> str:
    return f"{result.file}:{result.line}" if result.line is not None else result.file


def describe_shard(report: Report) -> str:
    """Which part of a run this was, or nothing where it was all of it."""
    if report.shard is None:
        return ""
    return f", shard {report.shard} of {many(report.shard.total, 'baseline')}"


def headline(report: Report) -> str:
    """`1 failed, 2 passed in 0.21s`, without colours."""
    counted = ", ".join(text for _, text in count_outcomes(report)) or describe_nothing(report)
    note = describe_incomplete(report)
    asked = f", {describe_spent(report)}" if describe_spent(report) else ""
    ran = f"in {format_duration(report.seconds)}{describe_shard(report)}{asked}"
    return f"{counted} {ran}" + (f" ({note})" if note else "")


def in_repository(folder: str, file: str) -> str:
    """A file of the project, as its repository knows it."""
    return normpath(join(folder, file)) if folder else file


def describe_drift(result: Result) -> tuple[list[tuple[str, Json, Json]], str]:
    """What is not as it was at the capture; and, in one line, what git says, as every commit changes that."""
    found = sorted(result.environment_drift.items())
    commits = ", ".join(
        f"{short(name)} {_commit(was)} -> {_commit(now)}"
        for name, (was, now) in found
        if name.startswith("git.")
    )
    return [(name, was, now) for name, (was, now) in found if not name.startswith("git.")], commits


def _commit(value: Json) -> str:
    """A commit as git itself shortens it."""
    return value[:12] if isinstance(value, str) and _COMMIT.fullmatch(value) else short(value)


def count_differences(result: Result) -> int:
    """How many differences there are, also those that were not kept."""
    return max(result.difference_count, len(result.differences))


def describe_unshown(number: int) -> str:
    """Of how many differences nothing is shown."""
    return f"… and {many(number, 'more difference')}"


def describe_repeats(result: Result) -> str:
    """`flaky: 3 of 5 replays passed; …`, where there was more than one replay and not all of them passed."""
    count = result.repeats
    if count is None or count.passed == count.replays:
        return ""
    answered = count.replays - count.errors
    replays = many(answered, "replay")
    said = f"{result.verdict or result.outcome}: {count.passed or 'none'} of {replays} passed"
    if count.errors:
        said += f", {count.errors} could not be replayed"
    if result.verdict == "flaky" and answered:
        from baselinekit.metrics import pass_interval

        low, high = pass_interval(count.passed, answered)
        return f"{said}; with 95 % confidence, {low:.0%} to {high:.0%} pass"
    if result.verdict == "regression" and count.passed:
        return f"{said}, which is less often than required"
    return said + _VERDICTS.get(result.verdict or "", "")


_VERDICTS = {
    "regression": ", and each failed in the same way",
    "noise": ", and they differ from each other where they differ from the file",
    "insufficient data": ": too few to tell a regression from a flake",
}


def describe_reason(result: Result) -> str:
    """The reason with its code, once. Differences speak for themselves."""
    if result.differences:
        return describe_repeats(result)
    if result.code and not result.reason.startswith(result.code):
        return f"{result.code} {result.reason}".rstrip()
    return result.reason


# Text dressed for a terminal: all colours come from here, and lines that fit its width.


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PAINT = lazy_pattern(r"\x1b\[[0-9;]*m")
_CUT = "…"


@frozen
class Style:
    """How a text is shown: colours and width as the terminal has them, `verbose` as the reader wants it."""

    colour: bool = False
    width: int = 100
    verbose: bool = False

    def paint(self, text: str, colours: str) -> str:
        if not self.colour or not text or not colours:
            return text
        codes = ";".join(_CODES[colour] for colour in colours.split())
        return f"\x1b[{codes}m{text}\x1b[0m"


def format_lines(lines: Iterable[str]) -> str:
    """What a screen shows of these lines."""
    return log("".join(f"{line}\n" for line in lines))


def width(text: str) -> int:
    """The columns that a terminal gives to a text: two for a wide character, none for an accent.
    Colours take none."""
    text = _PAINT.sub("", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def fitted(text: str, columns: int) -> str:
    """The text, or as much of it as fits with a mark at its end."""
    if width(text) <= columns:
        return text
    kept, room = [], columns - 1
    painted = False
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if _PAINT.fullmatch(part):
            painted = True
            kept.append(part)
            continue
        for character in part:
            room -= _columns(character)
            if room < 0:
                return "".join(kept) + _CUT + ("\x1b[0m" if painted else "")
            kept.append(character)
    return "".join(kept)


def wrapped(words: Iterable[str], columns: int, gap: str = "  ") -> Iterator[str]:
    """Words that must not be torn apart, in as many lines as they need."""
    line = ""
    for word in words:
        if line and width(line) + width(gap) + width(word) > columns:
            yield line
            line = word
        else:
            line = f"{line}{gap}{word}" if line else word
    if line:
        yield line


def _columns(character: str) -> int:
    return 0 if combining(character) else 1 + (east_asian_width(character) in "WF")
