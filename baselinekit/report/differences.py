"""Differences as lines for the reader: places grouped into blocks, texts side by side.

Two texts of several lines become a unified diff of bounded size. The time that difflib takes grows with at
least the square of the lines, so it gets only short stretches between lines that occur once in either text,
and of a long text only what follows the first difference. What repeats along an array is shown once
(`body.users.*.name missing in 20 of 20`), and what is not shown is counted."""

from collections.abc import Iterator, Sequence
from typing import Literal

from baselinekit.escape import one_line
from baselinekit.model.baselines import Kind
from baselinekit.model.results import ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import has_marker
from baselinekit.placeholders.lines import with_values
from baselinekit.report.sides import Stretch, changes, escape_lookalikes, pair, shorten_pair
from baselinekit.report.values import cut_line
from baselinekit.report.wording import count_differences, describe_reason, describe_unshown
from baselinekit.structs import Struct, replace
from baselinekit.values.changes import row_pattern
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.texts import count_noun

LONGEST = 2_000
"""Lines of each text that are compared."""

CONTEXT = 3
"""Lines around a change that are shown with it."""

_CUT = "@@ cut:"
_NO_NEWLINE = "\\ no newline at the end"


def unified(expected: str, actual: str) -> list[str]:
    """Return lines that begin with `-`, `+`, `|` (the same in both) or `@@ line 12 @@`; none if nothing
    differs."""
    old, new = expected.split("\n"), actual.split("\n")
    if (old[-1] == "") != (new[-1] == ""):
        (new if old[-1] == "" else old).append(_NO_NEWLINE)
    old, new = (lines[:-1] if lines[-1] == "" else lines for lines in (old, new))
    head = count_alike(old, new, 1)
    tail = count_alike(old[head:], new[head:], -1)
    start = max(0, head - CONTEXT)
    old_part = old[start : len(old) - tail + CONTEXT if tail > CONTEXT else len(old)]
    new_part = new[start : len(new) - tail + CONTEXT if tail > CONTEXT else len(new)]
    if old_part == new_part:
        return []
    lines = _hunks(old_part[:LONGEST], new_part[:LONGEST], start)
    if max(len(old_part), len(new_part)) > LONGEST:
        lines.append(f"{_CUT} only the first {LONGEST:,} lines from line {start + 1} on were compared @@")
    return lines


def describe_rest(changed: list[str], most: int) -> list[str]:
    """Return the note on the lines of a diff that are not shown."""
    if len(changed) <= most:
        return []
    prefix, cut_notes = ("over ", 1) if changed[-1].startswith(_CUT) else ("", 0)
    remaining = len(changed) - most - cut_notes
    return [f"… and {prefix}{count_noun(remaining, 'more line')}"] if remaining else changed[-1:]


def count_alike(old: list[str], new: list[str], step: int) -> int:
    pairs = enumerate(zip(old[::step], new[::step], strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(old), len(new)))


def _hunks(old: list[str], new: list[str], start: int) -> list[str]:
    """Return what changed, each group of changes with the lines around it."""
    lines: list[str] = []
    for group in group_nearby(changes(old, new)):
        end = max(0, group[0][0] - CONTEXT)
        lines.append(f"@@ line {start + end + 1} @@")
        for o1, o2, n1, n2 in group:
            lines += [f"| {line}" for line in old[end:o1]]
            pairs = [*map(shorten_pair, old[o1:o2], new[n1:n2])]
            removed, added = ([pair[side] for pair in pairs] for side in (0, 1))
            lines += [f"- {show_trailing_blanks(line)}" for line in (*removed, *old[o1 + len(pairs) : o2])]
            lines += [f"+ {show_trailing_blanks(line)}" for line in (*added, *new[n1 + len(pairs) : n2])]
            end = o2
        lines += [f"| {line}" for line in old[end : end + CONTEXT]]
    return lines


def group_nearby(changes: list[Stretch]) -> list[list[Stretch]]:
    """Group the changes whose context lines touch."""
    groups: list[list[Stretch]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


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

Tone = Literal["gone", "came", "dim"]


class DiffLine(Struct):
    """One line of a difference: `gone` shows what was expected, `came` what came instead, `dim` explains."""

    tone: Tone
    text: str


class Block(Struct):
    """One place of the output, or one that repeats. `count`: the number of differences in it."""

    path: str
    remark: str
    place: str
    lines: tuple[DiffLine, ...]
    count: int = 1
    file: str = ""
    line: int | None = None


class Bounds(Struct):
    """How much of one result is shown: blocks, and lines of a text."""

    blocks: int = 50
    lines: int = 40


SHORT = Bounds()


def blocks(result: Result, fold: bool = True, bounds: Bounds = SHORT) -> tuple[list[Block], int]:
    """Return the blocks to show, and how many differences they leave out."""
    shown_blocks: list[Block] = []
    for group in _groups(result.differences, fold):
        if len(shown_blocks) == bounds.blocks:
            break
        shown_blocks.append(_block(group, bounds.lines, result.resolved))
    paths = escape_lookalikes([block.path for block in shown_blocks])
    shown_blocks = [replace(block, path=path) for block, path in zip(shown_blocks, paths, strict=True)]
    return shown_blocks, count_differences(result) - sum(block.count for block in shown_blocks)


def _groups(spots: Sequence[ReportedDifference], fold: bool) -> Iterator[list[ReportedDifference]]:
    """Yield groups of differences of the same shape, in the order of their first one; too few of them stay
    single."""
    if not fold:
        yield from ([spot] for spot in spots)
        return
    groups: dict[object, list[ReportedDifference]] = {}
    shapes = [
        (of_any_row(spot.path), spot.kind, json_type(spot.expected), json_type(spot.actual), spot.rule)
        for spot in spots
    ]
    for shape, spot in zip(shapes, spots, strict=True):
        groups.setdefault(shape, []).append(spot)
    for shape, spot in zip(shapes, spots, strict=True):
        group = groups[shape]
        if len(group) < (_FOLD_SHAPES if is_repetitive(spot) else _FOLD_VALUES):
            yield [spot]
        elif spot is group[0]:
            yield group


def is_repetitive(spot: ReportedDifference) -> bool:
    """Whether further differences of this shape add nothing: a key missing everywhere is the same each time,
    a value or a whole row is new each time."""
    return bool(spot.path) and isinstance(spot.path[-1], str) and spot.kind in ("missing", "extra", "type")


def _block(group: list[ReportedDifference], most: int, resolved: Json) -> Block:
    first = group[0]
    place = "" if first.line is None else one_line(f"{first.file}:{first.line}")
    path = render(first.path)
    if len(group) == 1:
        remark, lines = REMARKS[first.kind], [*sides_of(first, most)]
    else:
        varying = [
            position
            for position, key in enumerate(first.path)
            if isinstance(key, int) and any(spot.path[position] != key for spot in group)
        ]
        remark = f"{_FOLDED.get(first.kind, REMARKS[first.kind])} in {len(group):,}"
        size = _array_length(resolved, first.path[: varying[0]]) if len(varying) == 1 else None
        if size is not None and size >= len(group) and varying[0] < len(first.path) - 1:
            remark += f" of {size:,}"
        path = row_pattern(first.path, varying)
        lines = [*_samples(group)]
    rule = f"rule {first.rule}" if first.rule else ""
    if detail := ", ".join(cut_line(part, 200) for part in (first.note, rule) if part):
        lines.append(DiffLine("dim", f"({detail})"))
    return Block(one_line(path), remark, place, tuple(lines), len(group), first.file, first.line)


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


def _array_length(resolved: Json, path: Path) -> int | None:
    """Return the length of the array at the path in the new output."""
    try:
        for key in path:
            resolved = resolved[key]
    except (KeyError, IndexError, TypeError):
        return None
    return len(resolved) if isinstance(resolved, list) else None


def sides_of(spot: ReportedDifference, most: int = SHORT.lines) -> tuple[DiffLine, ...]:
    """Return the lines of what was expected and what came. A part that a placeholder still matches is no
    difference."""
    expected, actual = spot.expected, spot.actual
    if isinstance(expected, str) and isinstance(actual, str) and has_marker(expected):
        matched = with_values(expected, actual)
        expected = expected if matched == actual else matched
    is_text = isinstance(expected, str) and isinstance(actual, str) and ("\n" in expected or "\n" in actual)
    if is_text and (changed := unified(expected, actual)):
        return tuple(diff_lines(changed, most))
    sides = pair(expected, actual, with_types=spot.kind == "type")
    if spot.kind == "order" and sides[0] == sides[1]:
        return (
            DiffLine("dim", f"= {sides[0]}"),
        )  # the same row in another position: the remark says from where
    lines = []
    if spot.kind != "extra" and expected is not ABSENT:
        lines.append(DiffLine("gone", f"- {sides[0]}"))
    if spot.kind != "missing":
        lines.append(DiffLine("came", f"+ {sides[1]}"))
    return tuple(lines)


def diff_lines(changed: list[str], most: int) -> Iterator[DiffLine]:
    """Yield the lines of a unified diff that are shown."""
    tones: dict[str, Tone] = {"-": "gone", "+": "came"}
    yield from (DiffLine(tones.get(line[0], "dim"), cut_line(line)) for line in changed[:most])
    yield from (DiffLine("dim", line) for line in describe_rest(changed, most))


def describe_in_brief(result: Result) -> str:
    """Return one line: where the result differs, else the first line of the reason why it did not pass."""
    if result.outcome == "failed" and result.differences:
        first, number = blocks(result)[0][0].path, count_differences(result)
        return f"{number:,} differences, the first at {first}" if number > 1 else f"differs at {first}"
    return describe_reason(result).partition("\n")[0] or result.outcome


def describe_differences(result: Result) -> Iterator[str]:
    """Yield the differences as plain lines, as a terminal shows them; for an eval case without any, the
    reason why it did not pass."""
    shown_blocks, left_out = blocks(result)
    for block in shown_blocks:
        yield "  ".join(part for part in (block.path, block.remark, block.place) if part)
        yield from (f"  {line.text}" for line in block.lines)
    if left_out:
        yield describe_unshown(left_out)
    if result.case is not None and not shown_blocks:
        yield from result.explanation
