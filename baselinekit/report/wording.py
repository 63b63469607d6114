"""The wording that all reports share, and its style in a terminal."""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from posixpath import join, normpath
from unicodedata import combining, east_asian_width

from baselinekit.escape import escape_ci_commands, one_line
from baselinekit.lazy import lazy_pattern
from baselinekit.model.grades import BORDERLINE, OUTCOMES, Outcome, iterate_grades
from baselinekit.model.recipes import Usage
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.values import short
from baselinekit.structs import Struct, replace
from baselinekit.values.texts import count_noun, list_first

# The sentences that all reports share.


_SMALL_SUM = Decimal("0.1")
_SHORT_TIME = 0.1
_MOST_CHANGES = 10
_COMMIT = lazy_pattern("[0-9a-f]{40,64}")


def count_outcomes(report: Report) -> list[tuple[Outcome, str]]:
    """Return each outcome that occurred with its count, the worst first: `1 failed`, `2 errors`, `5
    passed`."""
    counts = []
    for outcome in OUTCOMES:
        results = [result for result in report.results if result.outcome == outcome]
        borderline = count_borderline(results)
        text = count_outcome(outcome, len(results)) + (f" ({borderline:,} borderline)" if borderline else "")
        counts += [(outcome, text)] if results else []
    return counts


def count_borderline(results: Iterable[Result]) -> int:
    """Return how many are neither good enough nor plainly too bad."""
    return sum(result.verdict == BORDERLINE for result in results)


def count_outcome(outcome: Outcome, number: int) -> str:
    """Return `1 error`, `2 errors`, `2 failed`."""
    return f"{number:,} {'errors' if outcome == 'error' and number > 1 else outcome}"


def format_duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.2f}s"
    minutes, remainder = divmod(int(seconds), 60)
    return f"{minutes}m {remainder:02}s"


def format_seconds(seconds: float) -> str:
    """Format a time of one baseline with milliseconds: most are far below a second."""
    return f"{seconds:.3f}s" if seconds < _SHORT_TIME else format_duration(seconds)


def describe_spent(report: Report) -> str:
    """Return `3 calls of models (1,204 tokens, $0.00121)`, or nothing if no model was called. Usage that is
    uncertain comes last: `; 2 without an answer may have taken 2,038 tokens`."""
    spent = report.spent
    if spent is None or not spent.calls:
        return ""
    sums = [
        f"{tokens:,} tokens" + (f", {format_dollars(usd)}" if usd else "")
        for tokens, usd in ((spent.tokens, spent.usd), (spent.may_tokens, spent.may_usd))
    ]
    text = f"{count_noun(spent.calls, 'call')} of models ({sums[0]}"
    if spent.unanswered:
        text += f"; {spent.unanswered:,} without an answer may have taken {sums[1]}"
    return f"{text})"


def format_dollars(usd: Decimal) -> str:
    """Format to the cent, and small sums to three digits."""
    return f"${usd:,.{2 if not usd or usd >= _SMALL_SUM else 2 - usd.adjusted()}f}"


def describe_usage(usage: Usage) -> str:
    """Return `120 tokens in, 30 out, $0.00121`, as far as it is known."""
    parts = (
        "" if usage.tokens_in is None else f"{usage.tokens_in:,} tokens in",
        "" if usage.tokens_out is None else f"{usage.tokens_out:,} out",
        format_dollars(usage.cost_usd) if usage.cost_usd else "",
    )
    return ", ".join(filter(None, parts))


def describe_incomplete(report: Report) -> str:
    """Describe why a run is incomplete or fails as a whole; empty if neither."""
    if report.interrupted:
        return "interrupted"
    notes = ["" if report.complete else "not all of them ran"]
    against, earlier = report.against, report.earlier
    if against is not None and against.strict and against.weakened:
        notes.append(f"{len(against.weakened):,} weakened since {one_line(against.ref)}: --fail-on-weakened")
    if earlier is not None and earlier.strict and (earlier.regressed or earlier.tells_nothing):
        reason = "regressed" if earlier.regressed else "nothing could be compared"
        notes.append(f"{reason}: --fail-on-regressed")
    return "; ".join(filter(None, notes))


def collect_warnings(report: Report) -> list[str]:
    """Return the warnings about the run as a whole."""
    against_notes = report.against.notes if report.against else ()
    warnings = [*report.warnings, *against_notes, *(f"not recorded: {text}" for text in report.not_recorded)]
    skipped = [result for result in report.results if result.outcome == "skipped" and result.code]
    if skipped:
        warnings.append(f"{len(skipped):,} skipped: {skipped[0].code} {skipped[0].reason}")
    ids_of: dict[str, list[str]] = {}  # cases that ran generated code unconfined, by what it could reach
    for result in report.results:
        attempts = result.case.attempts if result.case else ()
        grades = (grade for attempt in attempts for grade in iterate_grades(attempt.grades))
        details = (grade.details.get("not_contained") for grade in grades)
        reach = next((reach for reach in details if isinstance(reach, list | tuple) and reach), None)
        if reach:
            ids_of.setdefault(", ".join(map(str, reach)), []).append(result.id)
    warning = "generated code ran outside a sandbox and could reach"
    return [*warnings, *(f"{warning}: {reach} ({list_first(ids, 1)})" for reach, ids in ids_of.items())]


def first_of(lines: Sequence[str], most: int | None, noun: str = "") -> Iterator[str]:
    """Yield the first lines, and how many more there are."""
    yield from lines[:most]
    if most is not None and len(lines) > most:
        omitted = len(lines) - most
        yield f"… and {count_noun(omitted, f'more {noun}') if noun else f'{omitted:,} more'}"


def format_place(result: Result) -> str:
    return f"{result.file}:{result.line}" if result.line is not None else result.file


def from_repository(report: Report) -> Report:
    """Return the report with files named from the root of the repository, as a reviewer finds them."""
    if not report.folder:
        return report

    def moved(file: str) -> str:
        return normpath(join(report.folder, file)) if file else ""

    results = tuple(
        replace(
            result,
            file=moved(result.file),
            differences=tuple(replace(spot, file=moved(spot.file)) for spot in result.differences),
        )
        for result in report.results
    )
    against = report.against
    if against is not None:
        changes = tuple(replace(change, file=moved(change.file)) for change in against.changes)
        against = replace(against, changes=changes)
    return replace(report, results=results, against=against)


def describe_drift(result: Result) -> str:
    """Return `changed since capture: git.commit 96e676b1a2b3 -> 6654db698d1a, python 3.11 -> 3.12`, or
    nothing."""
    drift = sorted(result.environment_drift.items())
    changes = [f"{short(name)} {_commit(was)} -> {_commit(now)}" for name, (was, now) in drift]
    return f"changed since capture: {list_first(changes, _MOST_CHANGES)}" if changes else ""


def _commit(value: Json) -> str:
    """Return a commit id as git itself shortens it."""
    return value[:12] if isinstance(value, str) and _COMMIT.fullmatch(value) else short(value)


def count_differences(result: Result) -> int:
    """Return how many differences there are, including those that were not kept."""
    return max(result.difference_count, len(result.differences))


def describe_repeats(result: Result) -> str:
    """Return `flaky: 3 of 5 replays passed; …`, if there were several replays and not all of them passed."""
    count = result.repeats
    if count is None or count.passed == count.replays:
        return ""
    answered = count.replays - count.errors
    replays = count_noun(answered, "replay")
    text = f"{result.verdict or result.outcome}: {count.passed or 'none'} of {replays} passed"
    if count.errors:
        text += f", {count.errors} could not be replayed"
    if result.verdict == "flaky" and answered:
        from baselinekit.metrics import pass_interval

        low, high = pass_interval(count.passed, answered)
        return f"{text}; with 95 % confidence, {low:.0%} to {high:.0%} pass"
    if result.verdict == "regression" and count.passed:
        return f"{text}, which is less often than required"
    return text + _VERDICTS.get(result.verdict or "", "")


_VERDICTS = {
    "regression": ", and each failed in the same way",
    "noise": ", and they differ from each other where they differ from the file",
    "insufficient data": ": too few to tell a regression from a flake",
}


def describe_reason(result: Result) -> str:
    """Return the reason with its code, once. Differences need no reason."""
    if result.differences:
        return describe_repeats(result)
    if result.code and not result.reason.startswith(result.code):
        return f"{result.code} {result.reason}".rstrip()
    return result.reason


# Text styled for a terminal: all colours come from here, and lines that fit its width.


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_TONES = {
    "gone": "red",
    "came": "green",
    "passed": "green",
    "failed": "bold red",
    "error": "bold red",
    "unscored": "bold yellow",
    "skipped": "yellow",
}
_COLOUR_OR_CHARACTER = lazy_pattern(r"\x1b\[[0-9;]*m|.", re.DOTALL)


class Style(Struct):
    """How a text is shown: colours and width of the terminal, `verbose` as the user chose."""

    colour: bool = False
    width: int = 100
    verbose: bool = False

    def paint(self, text: str, tone: str) -> str:
        """Return the text in the colours of a tone, such as an outcome, or in some colours by name."""
        if not self.colour or not text or not tone:
            return text
        codes = ";".join(_CODES[colour] for colour in _TONES.get(tone, tone).split())
        return f"\x1b[{codes}m{text}\x1b[0m"


PLAIN = Style()


def format_lines(lines: Iterable[str]) -> str:
    """Return the lines as one text that is safe for a terminal."""
    return escape_ci_commands("".join(f"{line}\n" for line in lines))


def headline(report: Report, style: Style = PLAIN) -> str:
    """Return `1 failed, 2 passed in 0.21s`, and the usage of models."""
    counted = ", ".join(style.paint(text, outcome) for outcome, text in count_outcomes(report))
    if not counted and report.nothing_changed:
        number = report.coverage.left_out
        of = "the one baseline is untouched" if number == 1 else f"all {number:,} baselines are untouched"
        counted = f"nothing to compare: {of} since {one_line(report.nothing_changed)}"
    line = f"{counted or 'nothing ran'} in {format_duration(report.seconds)}"
    if report.shard is not None:
        line += f", shard {report.shard} of {count_noun(report.shard.total, 'baseline')}"
    spent, note = describe_spent(report), describe_incomplete(report)
    return line + (f", {spent}" if spent else "") + (f" ({style.paint(note, 'yellow')})" if note else "")


def width(text: str) -> int:
    """Return the columns that a text takes in a terminal: two for a wide character, none for an accent or a
    colour."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    characters = (part for part in _COLOUR_OR_CHARACTER.findall(text) if len(part) == 1)
    return sum(0 if combining(part) else 1 + (east_asian_width(part) in "WF") for part in characters)


def cut_to_width(text: str, columns: int) -> str:
    """Return the text, or as much of it as fits with a mark at its end."""
    if width(text) <= columns:
        return text
    shown, room = "", columns - 1
    for part in _COLOUR_OR_CHARACTER.findall(text):
        room -= width(part)
        if room < 0:
            break
        shown += part
    return f"{shown}…" + ("\x1b[0m" if "\x1b" in shown else "")


def wrap_lines(words: Iterable[str], columns: int, gap: str = "  ") -> Iterator[str]:
    """Yield lines of words, which are not broken."""
    line = ""
    for word in words:
        if line and width(line + gap + word) > columns:
            yield line
            line = word
        else:
            line = f"{line}{gap}{word}" if line else word
    if line:
        yield line
