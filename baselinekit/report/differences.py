"""Differences as lines for the reader: places grouped, texts side by side.

Two texts of several lines become a unified diff. The time that difflib takes grows with at least the square
of the lines, so it gets only short stretches between lines that occur once in either text. What repeats along
an array is shown once (`body.users.*.name missing in 20 of 20`), and what is not shown is counted."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from unicodedata import normalize

from baselinekit.escape import json_ascii, json_escape, one_line
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Kind
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.lines import with_values
from baselinekit.report.blocks import Diff, DiffLine, Diffs, LineTone, Note
from baselinekit.report.values import LONGEST, as_text, cut, cut_line
from baselinekit.report.wording import count_differences, describe_reason
from baselinekit.structs import Struct, replace
from baselinekit.values.alignment import gaps
from baselinekit.values.changes import group_alike, row_pattern, same_change
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import count_noun, list_first, note

# Both sides of a difference: a long text is cut to what changed, at the same places on both sides.

Stretch = tuple[int, int, int, int]
"""A range of the old sequence (start, end) and the range of the new one that replaces it."""

_LOOKED_INTO = 2_500
_AROUND = 40
"""Characters on either side of a change that are shown with it."""

_LONG = 200
"""Of longer texts, only the surroundings of changes are shown."""

_MOST_READ = 100_000
_BLANKS = lazy_pattern(r"[^\S \t\r\n]")
_WORDS = lazy_pattern(r"\w+|\s+|.", re.DOTALL)


def pair(
    expected: Json, actual: Json, with_types: bool = False, limit: int = LONGEST, are_templates: bool = False
) -> tuple[str, str]:
    """Return both sides of a difference as JSON, shortened."""
    left, right = shorten_pair(as_text(expected, template=True), as_text(actual, are_templates), limit)
    if with_types:
        left += f" ({json_type(expected)})" if expected is not ABSENT and left != expected else ""
        right += f" ({json_type(actual)})" if actual is not ABSENT and right != actual else ""
    return left, right


def shorten_pair(old: str, new: str, limit: int = LONGEST) -> tuple[str, str]:
    """Return two texts cut to what differs: long common parts are left out. Blanks besides the space are
    shown escaped, as `\\u00a0`; and where both texts would look the same, all that is not ASCII."""
    is_alike = old != new and normalize("NFKC", old) == normalize("NFKC", new)
    old, new = map(json_ascii if is_alike else _escape_blanks, (old, new))
    if max(len(old), len(new)) <= min(_LONG, limit):
        return old, new
    if old == new:
        return cut(old, limit), cut(new, limit)
    stretches = _find_stretches(old[:_MOST_READ], new[:_MOST_READ])
    if old[_MOST_READ:] != new[_MOST_READ:]:
        stretches.append((min(len(old), _MOST_READ), len(old), min(len(new), _MOST_READ), len(new)))
    around = max(2, min(_AROUND, limit // 4))
    gone = _render(old, [(o1, o2) for o1, o2, _, _ in stretches], around, limit)
    return gone, _render(new, [(n1, n2) for _, _, n1, n2 in stretches], around, limit)


def _escape_blanks(text: str) -> str:
    return text if text.isascii() else _BLANKS.sub(json_escape, text)


def _render(text: str, changed: list[tuple[int, int]], around: int, room: int) -> str:
    """Return the changed parts of a text with their surroundings, as far as there is room."""
    shown, at = "", 0
    for number, (begin, end) in enumerate([*changed, (len(text), len(text))]):
        is_last = number == len(changed)
        after = min(begin, at + around) if number else 0
        before = begin if is_last else max(at, begin - around)
        hidden = before - after
        gap = f"{' ' if after else ''}… {count_noun(hidden, 'character')} alike{'' if is_last else ' … '}"
        if hidden <= around:
            after, gap = before, ""
        for first, last, words in ((at, after, ""), (before, end, gap)):
            fitting = min(last, first + room)
            shown += words + text[first:fitting]
            room -= fitting - first
            if fitting < last:
                return shown + note(len(text) - fitting)
        at = end
    return shown


def _find_stretches(old: str, new: str) -> list[Stretch]:
    """Return where two texts differ, in characters: word by word, and within long ones."""
    words = [_WORDS.findall(text) for text in (old, new)]
    ends = [[*accumulate(map(len, words_of_side), initial=0)] for words_of_side in words]
    stretches: list[Stretch] = []
    for word1, word2, word3, word4 in changes(*words):
        o1, o2, n1, n2 = ends[0][word1], ends[0][word2], ends[1][word3], ends[1][word4]
        parts = old[o1:o2], new[n1:n2]
        if max(map(len, parts)) <= _LONG:
            stretches.append((o1, o2, n1, n2))
        else:
            inner = changes([*parts[0]], [*parts[1]])
            stretches += [(o1 + a, o1 + b, n1 + c, n1 + d) for a, b, c, d in inner]
    return stretches


Marked = list[tuple[bool, str]]
"""The parts of a text in their order, and whether the other text has something else there."""


def mark_changes(old: str, new: str) -> tuple[Marked, Marked]:
    """Return both texts in parts, marked where they differ."""
    marked: tuple[Marked, Marked] = [], []
    ends = (0, 0)
    for stretch in (*_find_stretches(old, new), (len(old), len(old), len(new), len(new))):
        for parts, text, end, (begin, until) in zip(
            marked, (old, new), ends, (stretch[:2], stretch[2:]), strict=True
        ):
            parts += [
                (is_changed, part)
                for is_changed, part in ((False, text[end:begin]), (True, text[begin:until]))
                if part
            ]
        ends = stretch[1], stretch[3]
    return marked


def changes(old: list[str], new: list[str]) -> list[Stretch]:
    """Return the stretches between common items, found from the items that occur once in each sequence."""
    stretches: list[Stretch] = []
    for o1, o2, n1, n2 in gaps(old, new):
        if o1 == o2 or n1 == n2 or (o2 - o1) * (n2 - n1) > _LOOKED_INTO:  # too long to divide
            stretches.append((o1, o2, n1, n2))
            continue
        opcodes = SequenceMatcher(None, old[o1:o2], new[n1:n2], autojunk=False).get_opcodes()
        different = [places for tag, *places in opcodes if tag != "equal"]
        stretches += [(o1 + i1, o1 + i2, n1 + j1, n1 + j2) for i1, i2, j1, j2 in different]
    return stretches


# Texts of several lines as a unified diff.

CONTEXT = 3
"""Lines around a change that are shown with it."""

_NO_NEWLINE = "\\ no newline at the end"


def unified(expected: str, actual: str) -> list[str]:
    """Return lines that begin with `-`, `+`, `|` (the same in both) or `@@ line 12 @@`; none if nothing
    differs."""
    old, new = expected.split("\n"), actual.split("\n")
    if (old[-1] == "") != (new[-1] == ""):
        (new if old[-1] == "" else old).append(_NO_NEWLINE)
    old, new = (lines[:-1] if lines[-1] == "" else lines for lines in (old, new))
    lines: list[str] = []
    for (start, *_), parts in hunks(old, new):
        lines.append(f"@@ line {start + 1} @@")
        for kept, removed, added in parts:
            lines += [f"| {line}" for line in kept]
            for number, (left, right) in enumerate(zip(removed, added, strict=False)):
                removed[number], added[number] = shorten_pair(left, right)
            lines += [f"- {show_trailing_blanks(line)}" for line in removed]
            lines += [f"+ {show_trailing_blanks(line)}" for line in added]
    return lines


Hunk = list[tuple[list[str], list[str], list[str]]]
"""The lines of a group of changes: kept, removed and added, in turn."""


def hunks(old: list[str], new: list[str]) -> Iterator[tuple[Stretch, Hunk]]:
    """Yield the changes in groups whose surroundings touch, each with its range."""
    groups: list[list[Stretch]] = []
    for change in changes(old, new):
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    for group in groups:
        o1, n1 = (max(0, place - CONTEXT) for place in group[0][::2])
        o2, n2 = min(len(old), group[-1][1] + CONTEXT), min(len(new), group[-1][3] + CONTEXT)
        ends = [o1, *(change[1] for change in group)]
        stretches = zip(ends, [*group, (o2, o2, n2, n2)], strict=True)
        yield (o1, o2, n1, n2), [(old[at:a], old[a:b], new[c:d]) for at, (a, b, c, d) in stretches]


def show_trailing_blanks(line: str) -> str:
    """Show the blanks at the end of a line, which would be invisible, as `\\x20`."""
    stripped = line.rstrip(" ")
    return stripped + "\\x20" * (len(line) - len(stripped))


_FOLD_SHAPES = 2
_FOLD_VALUES = 6
_SAMPLES = 3

REMARKS: dict[Kind, str] = {
    "missing": "missing",
    "extra": "not in the baseline",
    "value": "",
    "type": "another type",
    "order": "in another order",
    "count": "another length",
    "tolerance": "outside its tolerance",
    "similarity": "not similar enough",
}

_FOLDED: dict[Kind, str] = {"extra": "extra", "value": "differs"}


MOST_SHOWN = 50
"""How many differences of one result are shown, and how many lines of a text."""


def diffs(result: Result, fold: bool = True, most: int = MOST_SHOWN) -> tuple[list[Diff], int]:
    """Return the differences to show, and how many differences they leave out."""
    shown_diffs: list[Diff] = []
    for group in _groups(result.differences, fold):
        if len(shown_diffs) == most:
            break
        shown_diffs.append(_diff(group, most, result.resolved))
    return shown_diffs, count_differences(result) - sum(diff.count for diff in shown_diffs)


def difference_blocks(result: Result, most: int = MOST_SHOWN, fold: bool = True) -> Iterator[Diffs | Note]:
    """Yield the differences to show, and how many there are besides."""
    shown_diffs, left_out = diffs(result, fold, most)
    if shown_diffs:
        yield Diffs(tuple(shown_diffs))
    if left_out:
        yield Note(f"… and {count_noun(left_out, 'more difference')}", "dim")


def _groups(spots: Sequence[ReportedDifference], fold: bool) -> Iterator[list[ReportedDifference]]:
    """Yield groups of differences of the same shape, in the order of their first one; too few of them stay
    single."""
    if not fold:
        yield from ([spot] for spot in spots)
        return
    groups: dict[object, list[ReportedDifference]] = {}
    for spot in spots:
        types = json_type(spot.expected), json_type(spot.actual)
        groups.setdefault((of_any_row(spot.path), spot.kind, types, spot.rule), []).append(spot)
    parts: list[list[ReportedDifference]] = []
    for group in groups.values():
        least = _FOLD_SHAPES if is_repetitive(group[0]) else _FOLD_VALUES
        parts += [group] if len(group) >= least else [[spot] for spot in group]
    order = {id(spot): number for number, spot in enumerate(spots)}
    yield from sorted(parts, key=lambda part: order[id(part[0])])


def is_repetitive(spot: ReportedDifference) -> bool:
    """Whether further differences of this shape add nothing: a key missing everywhere is the same each time,
    a value or a whole row is new each time."""
    return bool(spot.path) and isinstance(spot.path[-1], str) and spot.kind in ("missing", "extra", "type")


def _diff(group: list[ReportedDifference], most: int, resolved: Json) -> Diff:
    first = group[0]
    place = "" if first.line is None else one_line(f"{first.file}:{first.line}")
    path = render(first.path)
    if len(group) == 1:
        remark, lines = REMARKS[first.kind], [*sides_of(first, most)]
    else:
        numbers = [number for number, key in enumerate(first.path) if isinstance(key, int)]
        varying = [n for n in numbers if any(spot.path[n] != first.path[n] for spot in group)]
        remark = f"{_FOLDED.get(first.kind, REMARKS[first.kind])} in {len(group):,}"
        if len(varying) == 1 and varying[0] < len(first.path) - 1:
            rows = value_or_absent(resolved, first.path[: varying[0]])
            remark += f" of {len(rows):,}" if isinstance(rows, list) and len(rows) >= len(group) else ""
        path = row_pattern(first.path, varying)
        lines = [*_samples(group)]
    lines += _detail_lines(first.note, first.rule)
    return Diff(one_line(path), remark, place, tuple(lines), len(group), first.file, first.line)


def _detail_lines(note: str | None, rule: str | None) -> Iterator[DiffLine]:
    if detail := ", ".join(cut_line(part, 200) for part in (note, rule and f"rule {rule}") if part):
        yield DiffLine("dim", f"({detail})")


def _samples(group: list[ReportedDifference]) -> Iterator[DiffLine]:
    """Yield the first of many differences, and how many more there are."""
    samples = 1 if is_repetitive(group[0]) else _SAMPLES
    for spot in group[:samples]:
        if samples > 1:
            yield DiffLine("dim", one_line(render(spot.path)))
        yield from sides_of(spot)
    if len({sides_of(spot) for spot in group[: samples + 1]}) > 1:
        reference = "these" if samples > 1 else "it"
        yield DiffLine("dim", f"… and {len(group) - samples:,} more like {reference}")


def sides_of(spot: ReportedDifference, most: int = MOST_SHOWN) -> tuple[DiffLine, ...]:
    """Return the lines of what was expected and what came. A part that a placeholder still matches does
    not count as a difference."""
    expected, actual = spot.expected, spot.actual
    if isinstance(expected, str) and isinstance(actual, str) and has_marker(expected):
        matched = with_values(expected, actual)
        expected = expected if matched == actual else matched
    if spot.kind == "order" and len(sides := {*pair(expected, actual)}) == 1:  # the remark has the reason
        return (DiffLine("dim", f"= {sides.pop()}"),)
    return side_lines(expected, actual, spot.kind == "type", most)


def side_lines(
    expected: Json, actual: Json, with_types: bool, most: int, are_templates: bool = False
) -> tuple[DiffLine, ...]:
    """Return the lines of both sides: of texts of several lines the diff. `are_templates`: the placeholders
    of both are shown as they are."""
    is_text = isinstance(expected, str) and isinstance(actual, str) and ("\n" in expected or "\n" in actual)
    if is_text and (changed := unified(expected, actual)):
        return tuple(diff_lines(changed, most))
    left, right = pair(expected, actual, with_types, are_templates=are_templates)
    gone = (DiffLine("gone", f"- {left}"),) if expected is not ABSENT else ()
    return (*gone, DiffLine("came", f"+ {right}")) if actual is not ABSENT else gone


def diff_lines(changed: list[str], most: int) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff that are shown."""
    tones: dict[str, LineTone] = {"-": "gone", "+": "came"}
    yield from (DiffLine(tones.get(line[0], "dim"), cut_line(line)) for line in changed[:most])
    if len(changed) > most:
        yield DiffLine("dim", f"… and {count_noun(len(changed) - most, 'more line')}")


def describe_in_brief(result: Result) -> str:
    """Return one line: where the result differs, else the first line of the reason why it did not pass."""
    if result.outcome == "failed" and result.differences:
        first, number = diffs(result)[0][0].path, count_differences(result)
        return f"{number:,} differences, the first at {first}" if number > 1 else f"differs at {first}"
    return describe_reason(result).partition("\n")[0] or result.outcome


# The same change in many baselines, reported once: a changed service may change a thousand of them alike.


SHOWN_ONCE = 3
"""A change in at least this many baselines is shown once."""

MOST_NAMES = 4


class SharedChange(Struct):
    """A change that several results have."""

    diff: Diff
    results: tuple[Result, ...]

    @property
    def headline(self) -> str:
        return f"the same change in {len(self.results):,} baselines"

    def names(self, most: int = MOST_NAMES) -> str:
        return name_baselines([result.id for result in self.results], most)

    def blocks(self, most: int = MOST_NAMES) -> tuple[Diffs, Note]:
        """Return the change, and the names of the first baselines."""
        return Diffs((self.diff,)), Note(self.names(most))


def share(results: Sequence[Result]) -> tuple[list[SharedChange], list[Result | None]]:
    """Return the changes that several failed baselines share, and each result with its remaining differences,
    or None if nothing of it remains to be shown."""
    members = (
        ((*same_change(spot.path, spot.kind, spot.expected, spot.actual), spot.rule), n, (number, spot))
        for n, result in enumerate(results)
        if result.outcome == "failed" and result.case is None and result.repeats is None
        for number, spot in enumerate(result.differences)
    )
    shared: list[SharedChange] = []
    shared_numbers: dict[int, set[int]] = {}
    for _, alike in group_alike(members):
        owners = list(dict.fromkeys(n for n, _ in alike))
        if len(owners) < SHOWN_ONCE:
            break
        for n, (number, _) in alike:
            shared_numbers.setdefault(n, set()).add(number)
        shared.append(_shared([spot for _, (_, spot) in alike], [results[n] for n in owners]))
    return shared, [_without(result, shared_numbers.get(n)) for n, result in enumerate(results)]


def _shared(spots: Sequence[ReportedDifference], results: Sequence[Result]) -> SharedChange:
    first = spots[0]
    remark = REMARKS[first.kind]
    if len(spots) > len(results):
        remark = f"{remark} in {len(spots):,} places".strip()
    lines = [*variant_lines([sides_of(spot) for spot in spots])]
    note = first.note if {spot.note for spot in spots} == {first.note} else None
    lines += _detail_lines(note, first.rule)
    diff = Diff(one_line(row_pattern(first.path)), remark, "", tuple(lines), len(spots))
    return SharedChange(diff, tuple(results))


def _without(result: Result, shared_numbers: set[int] | None) -> Result | None:
    if not shared_numbers:
        return result
    remaining = tuple(spot for number, spot in enumerate(result.differences) if number not in shared_numbers)
    count = count_differences(result) - len(shared_numbers)
    return replace(result, differences=remaining, difference_count=count) if count or result.notes else None


def variant_lines(changes: Sequence[tuple[DiffLine, ...]], hint: str = "") -> Iterator[DiffLine]:
    """Yield the values of the same change in each place, and how often they occur. `hint`: how to see the
    others."""
    counts = Counter(changes)
    for lines, times in list(counts.items())[:_SAMPLES]:
        yield from lines
        if len(counts) > 1 and times > 1:
            yield DiffLine("dim", f"{times:,} times")
    if len(counts) > _SAMPLES:
        yield DiffLine("dim", f"… and {count_noun(len(counts) - _SAMPLES, 'other pair')} of values{hint}")


def name_baselines(ids: Iterable[str], most: int = MOST_NAMES) -> str:
    """Return the names of the first baselines, and how many more there are."""
    return f"in {list_first([one_line(id) for id in dict.fromkeys(ids)], most)}"
