"""The differences of one result as blocks of lines, the same for the terminal and for Markdown.

What repeats along an array is told once (`body.users.*.name  missing in 20 of 20`), texts of several lines
become a diff, and what is not shown is counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from baselinekit.escape import one_line
from baselinekit.model.comparison import Kind
from baselinekit.model.results import Result, Spot
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.paths import Wild, of_any_row, render
from baselinekit.report.differences.textdiff import more_of, unified
from baselinekit.report.values.shown import cut_line, pair

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
class Line:
    """`gone` is what was expected, `came` what came instead; a `dim` line explains."""

    tone: Tone
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """One place of the output, or one that repeats. `count`: the differences that it stands for."""

    path: str
    remark: str
    place: str
    lines: tuple[Line, ...]
    count: int = 1
    file: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of one result is shown: blocks, and lines of a text."""

    blocks: int = 50
    lines: int = 40


SHORT = Bounds()


def count(result: Result) -> int:
    """How many differences there are, also those that were not kept."""
    return max(result.difference_count, len(result.differences))


def blocks(result: Result, fold: bool = True, bounds: Bounds = SHORT) -> tuple[list[Block], int]:
    """What to show, and how many differences that leaves out."""
    shown: list[Block] = []
    for group in _groups(result.differences, fold):
        if len(shown) == bounds.blocks:
            break
        alone = len(group) == 1
        shown.append(_block(group[0], bounds.lines) if alone else _folded(group, result.resolved))
    return shown, count(result) - sum(block.count for block in shown)


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
    lines: list[Line] = []
    for spot in group[:samples]:
        if samples > 1:
            lines.append(Line("dim", one_line(render(spot.path))))
        lines += _sides(spot)
    if len({_sides(spot) for spot in group[: samples + 1]}) > 1:
        lines.append(
            Line("dim", f"… and {len(group) - samples:,} more like {'these' if samples > 1 else 'it'}")
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


def _because(spot: Spot) -> Iterator[Line]:
    """What the rules have to say of it."""
    rule = f"rule {spot.rule}" if spot.rule else ""
    said = ", ".join(cut_line(part, 200) for part in (spot.note, rule) if part)
    if said:
        yield Line("dim", f"({said})")


def _place(spot: Spot) -> str:
    if spot.line is None:
        return ""
    return one_line(f"{spot.file}:{spot.line}")


def _sides(spot: Spot, most: int = SHORT.lines) -> tuple[Line, ...]:
    """What was expected, and what came."""
    if _is_text(spot.expected, spot.actual):
        changed = unified(spot.expected, spot.actual)
        if changed:
            return tuple(_text_lines(changed, most))
    expected, actual = pair(spot.expected, spot.actual, with_types=spot.kind == "type")
    if spot.kind == "order" and expected == actual:
        return (Line("dim", f"= {expected}"),)  # the same row, elsewhere: the remark says from where
    lines = []
    if spot.kind != "extra" and spot.expected is not ABSENT:
        lines.append(Line("gone", f"- {expected}"))
    if spot.kind != "missing":
        lines.append(Line("came", f"+ {actual}"))
    return tuple(lines)


def _is_text(expected: Json, actual: Json) -> bool:
    return isinstance(expected, str) and isinstance(actual, str) and ("\n" in expected or "\n" in actual)


def _text_lines(changed: list[str], most: int) -> Iterator[Line]:
    tones: dict[str, Tone] = {"-": "gone", "+": "came"}
    for line in changed[:most]:
        yield Line(tones.get(line[0], "dim"), cut_line(line))
    yield from (Line("dim", line) for line in more_of(changed, most))
