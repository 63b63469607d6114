"""What differs, as lines to look at: places folded into blocks, texts side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from baselinekit.escape import one_line
from baselinekit.model.baselines import Kind
from baselinekit.model.results import Result, Spot
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.report.values import cut_line, pair
from baselinekit.report.wording import count_differences, describe_unshown
from baselinekit.texts import many
from baselinekit.tree.alignment import gaps
from baselinekit.tree.paths import of_any_row, render
from baselinekit.tree.segments import Wild

# Two texts of several lines side by side, as a unified diff that stays within bounds. difflib takes time
# that grows with the square of the lines and more, so it sees only short stretches, between lines that
# stand once in either text; and of a long text only what follows the first line that differs.


LONGEST = 2_000
"""Lines that are compared, of each text."""

CONTEXT = 3
"""Lines around a change that are shown with it."""

_LOOKED_INTO = 2_500
Stretch = tuple[int, int, int, int]
"""Lines of the old text, from and to, and the lines of the new one that stand there instead."""

_CUT = "@@ cut:"
_NO_NEWLINE = "\\ no newline at the end"


def unified(expected: str, actual: str) -> list[str]:
    """Lines that begin with `-`, `+`, `|` (the same in both) or `@@ line 12 @@`; none if nothing differs."""
    old, new = _lines(expected, actual)
    head = _alike(old, new, 1)
    tail = _alike(old[head:], new[head:], -1)
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
    """What is said of a diff of which only so many lines are shown."""
    if len(changed) <= most:
        return []
    over, rest = ("over ", 1) if changed[-1].startswith(_CUT) else ("", 0)
    left = len(changed) - most - rest
    return [f"… and {over}{many(left, 'more line')}"] if left else changed[-1:]


def _lines(expected: str, actual: str) -> tuple[list[str], list[str]]:
    old, new = expected.split("\n"), actual.split("\n")
    if (old[-1] == "") != (new[-1] == ""):
        (new if old[-1] == "" else old).append(_NO_NEWLINE)
    return (old[:-1] if old[-1] == "" else old), (new[:-1] if new[-1] == "" else new)


def _alike(old: list[str], new: list[str], step: int) -> int:
    count = 0
    for left, right in zip(old[::step], new[::step], strict=False):
        if left != right:
            break
        count += 1
    return count


def _hunks(old: list[str], new: list[str], start: int) -> list[str]:
    """What changed, each group of changes with the lines around it."""
    lines: list[str] = []
    for group in near(changes(old, new)):
        end = max(0, group[0][0] - CONTEXT)
        lines.append(f"@@ line {start + end + 1} @@")
        for o1, o2, n1, n2 in group:
            lines += [f"| {line}" for line in old[end:o1]]
            lines += [f"- {_ends_shown(line)}" for line in old[o1:o2]]
            lines += [f"+ {_ends_shown(line)}" for line in new[n1:n2]]
            end = o2
        lines += [f"| {line}" for line in old[end : end + CONTEXT]]
    return lines


def near(changes: list[Stretch]) -> list[list[Stretch]]:
    """Changes whose surroundings touch belong together."""
    groups: list[list[Stretch]] = []
    for change in changes:
        if groups and change[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def changes(old: list[str], new: list[str]) -> list[Stretch]:
    """The stretches between lines that both texts have, found from the lines that each has once."""
    return [change for o1, o2, n1, n2 in gaps(old, new) for change in _within(old[o1:o2], new[n1:n2], o1, n1)]


def _within(old: list[str], new: list[str], o: int, n: int) -> list[Stretch]:
    """What differs in a stretch; a long one is not looked into."""
    if not old or not new or len(old) * len(new) > _LOOKED_INTO:
        return [(o, o + len(old), n, n + len(new))]
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(o + o1, o + o2, n + n1, n + n2) for tag, o1, o2, n1, n2 in opcodes if tag != "equal"]


def _ends_shown(line: str) -> str:
    """Blanks at the end of a line are often all that differs, and nobody sees them."""
    kept = line.rstrip(" ")
    return kept + "\\x20" * (len(line) - len(kept))


# The differences of one result as blocks of lines, the same for the terminal and for Markdown. What
# repeats along an array is told once (`body.users.*.name missing in 20 of 20`), texts of several lines
# become a diff, and what is not shown is counted.


_FOLD_SHAPES = 3
_FOLD_VALUES = 6
_SAMPLES = 3

_REMARKS: dict[Kind, str] = {
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


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`gone` is what was expected, `came` what came instead; a `dim` line explains."""

    tone: Tone
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One place of the output, or one that repeats. `count`: the differences that it stands for."""

    path: str
    remark: str
    place: str
    lines: tuple[DiffLine, ...]
    count: int = 1
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of one result is shown: blocks, and lines of a text."""

    blocks: int = 50
    lines: int = 40


SHORT = Bounds()


def blocks(result: Result, fold: bool = True, bounds: Bounds = SHORT) -> tuple[list[Block], int]:
    """What to show, and how many differences that leaves out."""
    shown: list[Block] = []
    for group in _groups(result.differences, fold):
        if len(shown) == bounds.blocks:
            break
        alone = len(group) == 1
        shown.append(_block(group[0], bounds.lines) if alone else _folded(group, result.resolved))
    return shown, count_differences(result) - sum(block.count for block in shown)


def _groups(spots: Sequence[Spot], fold: bool) -> Iterator[list[Spot]]:
    """Differences of the same shape together, at the place of the first; too few of them stay single."""
    if not fold:
        yield from ([spot] for spot in spots)
        return
    shapes: dict[object, list[Spot]] = {}
    for spot in spots:
        shapes.setdefault(_shape(spot), []).append(spot)
    done: set[object] = set()
    for spot in spots:
        shape = _shape(spot)
        group = shapes[shape]
        if len(group) < _fold_from(spot):
            yield [spot]
        elif shape not in done:
            done.add(shape)
            yield group


def _shape(spot: Spot) -> object:
    return of_any_row(spot.path), spot.kind, json_type(spot.expected), json_type(spot.actual), spot.rule


def _fold_from(spot: Spot) -> int:
    return _FOLD_SHAPES if _says_the_same(spot) else _FOLD_VALUES


def _says_the_same(spot: Spot) -> bool:
    """A key that is lost everywhere says the same each time; a value, or a whole row, is news each time."""
    return bool(spot.path) and isinstance(spot.path[-1], str) and spot.kind in ("missing", "extra", "type")


def _block(spot: Spot, most: int) -> Block:
    lines = (*_sides(spot, most), *_because(spot))
    path = one_line(render(spot.path))
    return Block(path, _REMARKS[spot.kind], _place(spot), lines, file=spot.file, line=spot.line)


def _folded(group: list[Spot], resolved: Json) -> Block:
    first = group[0]
    varying = [
        position
        for position, key in enumerate(first.path)
        if isinstance(key, int) and any(spot.path[position] != key for spot in group)
    ]
    path = [Wild.ANY if position in varying else key for position, key in enumerate(first.path)]
    samples = 1 if _says_the_same(first) else _SAMPLES
    lines: list[DiffLine] = []
    for spot in group[:samples]:
        if samples > 1:
            lines.append(DiffLine("dim", one_line(render(spot.path))))
        lines += _sides(spot)
    if len({_sides(spot) for spot in group[: samples + 1]}) > 1:
        lines.append(
            DiffLine("dim", f"… and {len(group) - samples:,} more like {'these' if samples > 1 else 'it'}")
        )
    remark = f"{_FOLDED.get(first.kind, _REMARKS[first.kind])} in {len(group):,}"
    size = _size(resolved, first.path[: varying[0]]) if len(varying) == 1 else None
    if size is not None and size >= len(group) and varying[0] < len(path) - 1:
        remark += f" of {size:,}"
    lines += _because(first)
    shown = one_line(render(path))
    return Block(shown, remark, _place(first), tuple(lines), len(group), first.file, first.line)


def _size(resolved: Json, path: Path) -> int | None:
    """How long the array at the path is, in the output that came."""
    for key in path:
        known = (
            resolved
            if isinstance(resolved, dict)
            else range(len(resolved) if isinstance(resolved, list) else 0)
        )
        if key not in known:
            return None
        resolved = resolved[key]
    return len(resolved) if isinstance(resolved, list) else None


def _because(spot: Spot) -> Iterator[DiffLine]:
    """What the rules have to say of it."""
    rule = f"rule {spot.rule}" if spot.rule else ""
    said = ", ".join(cut_line(part, 200) for part in (spot.note, rule) if part)
    if said:
        yield DiffLine("dim", f"({said})")


def _place(spot: Spot) -> str:
    if spot.line is None:
        return ""
    return one_line(f"{spot.file}:{spot.line}")


def _sides(spot: Spot, most: int = SHORT.lines) -> tuple[DiffLine, ...]:
    """What was expected, and what came."""
    if _is_text(spot.expected, spot.actual):
        changed = unified(spot.expected, spot.actual)
        if changed:
            return tuple(_text_lines(changed, most))
    expected, actual = pair(spot.expected, spot.actual, with_types=spot.kind == "type")
    if spot.kind == "order" and expected == actual:
        return (DiffLine("dim", f"= {expected}"),)  # the same row, elsewhere: the remark says from where
    lines = []
    if spot.kind != "extra" and spot.expected is not ABSENT:
        lines.append(DiffLine("gone", f"- {expected}"))
    if spot.kind != "missing":
        lines.append(DiffLine("came", f"+ {actual}"))
    return tuple(lines)


def _is_text(expected: Json, actual: Json) -> bool:
    return isinstance(expected, str) and isinstance(actual, str) and ("\n" in expected or "\n" in actual)


def _text_lines(changed: list[str], most: int) -> Iterator[DiffLine]:
    tones: dict[str, Tone] = {"-": "gone", "+": "came"}
    for line in changed[:most]:
        yield DiffLine(tones.get(line[0], "dim"), cut_line(line))
    yield from (DiffLine("dim", line) for line in describe_rest(changed, most))


# The differences of a result as plain lines, as they are shown in a terminal; of an eval case without
# any, why it did not pass.


def lines(result: Result) -> Iterator[str]:
    shown, left_out = blocks(result)
    for block in shown:
        yield "  ".join(part for part in (block.path, block.remark, block.place) if part)
        yield from (f"  {line.text}" for line in block.lines)
    if left_out:
        yield describe_unshown(left_out)
    if result.case is not None and not shown:
        yield from result.explanation
