"""The places that vary from replay to replay -> what stands there on file: the narrowest placeholder that
accepts every value seen, or a refusal.

A leaf that varies in most rows of an array is taken to vary in all of them. Each row keeps its own lines: one
row that describes all the others would accept any number of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from baselinekit.documents.splice import value_at
from baselinekit.model.values import Json, Path
from baselinekit.paths import Wild, children, of_any_row, render
from baselinekit.placeholders.grammar import split
from baselinekit.placeholders.narrowest import is_alone, narrowest
from baselinekit.placeholders.proposals import Proposal, accepts_all
from baselinekit.placeholders.within import WIDE
from baselinekit.refresh.volatile import Leaf, Look, Refusal, varying

_LONGEST_UNKNOWN = 100
"""Characters of a text of which nothing but its length is known: more of them is what it says."""

Shape = tuple[str | int | Wild, ...]


@dataclass(frozen=True, slots=True)
class Volatile:
    """What is learnt of one place, or of the same place in many rows: `path` has a `*` for the row then.
    `values`: those that were seen, each once."""

    path: Shape
    places: tuple[Path, ...]
    values: tuple[Json, ...]
    proposal: Proposal


@dataclass(frozen=True, slots=True)
class Lesson:
    volatile: tuple[Volatile, ...]
    refusals: tuple[Refusal, ...]

    @property
    def placeholders(self) -> dict[Path, str]:
        return {place: one.proposal.text for one in self.volatile for place in one.places}


def learnt(outputs: Sequence[Json], look: Look) -> Lesson:
    """What several outputs of one recipe teach; the first of them is the one that is stored."""
    found = varying(outputs, look)
    by_shape: dict[Shape, list[Leaf]] = {}
    for leaf in found.leaves:
        by_shape.setdefault(of_any_row(leaf.path), []).append(leaf)
    volatile: list[Volatile] = []
    refusals = list(found.refusals)
    rows = _rows(outputs[0], set(by_shape))
    for shape, leaves in by_shape.items():
        for one in _of_shape(shape, leaves, rows[shape], outputs, look):
            refusal = _refusal(one, look.wholes)
            if refusal is None:
                volatile.append(one)
            else:
                refusals.append(refusal)
    return Lesson(tuple(volatile), tuple(refusals))


def with_placeholders(output: Json, placeholders: Mapping[Path, str], path: Path = ()) -> Json:
    """The output with a text of its own at each of the places."""
    ways = {place[: end + 1] for place in placeholders for end in range(-1, len(place))}
    return _with(output, placeholders, ways, path)


def _with(output: Json, placeholders: Mapping[Path, str], ways: set[Path], path: Path) -> Json:
    if path in placeholders:
        return placeholders[path]
    if path not in ways:
        return output
    if isinstance(output, dict):
        return {key: _with(value, placeholders, ways, (*path, key)) for key, value in output.items()}
    if isinstance(output, list):
        return [_with(value, placeholders, ways, (*path, index)) for index, value in enumerate(output)]
    return output


def _rows(output: Json, shapes: set[Shape]) -> dict[Shape, list[Path]]:
    """Where in the output each of the shapes is."""
    ways = {shape[:end] for shape in shapes for end in range(len(shape) + 1)}
    rows: dict[Shape, list[Path]] = {shape: [] for shape in shapes}
    waiting: list[tuple[Path, Json]] = [((), output)]
    while waiting:
        path, value = waiting.pop()
        shape = of_any_row(path)
        if shape in rows:
            rows[shape].append(path)
        if shape in ways:
            waiting += [((*path, key), child) for key, child in children(value)]
    return rows


def _of_shape(
    shape: Shape, leaves: Sequence[Leaf], rows: Sequence[Path], outputs: Sequence[Json], look: Look
) -> Iterator[Volatile]:
    """One for all rows where most of them vary in the same way, else one for each that does."""
    best = [narrowest(leaf.values, look.write, look.words)[0] for leaf in leaves]
    texts = {proposal.text for proposal in best}
    if len(texts) == 1 and 1 < len(rows) < 2 * len(leaves):
        others = set(rows) - {leaf.path for leaf in leaves}
        values = [value_at(output, path) for path in others for output in outputs]
        if accepts_all(best[0].text, values, look.words):
            seen = _each_once(value for leaf in leaves for value in leaf.values)
            yield Volatile(shape, tuple(sorted(rows, key=_rank)), seen, best[0])
            return
    for leaf, proposal in zip(leaves, best, strict=True):
        yield Volatile(leaf.path, (leaf.path,), _each_once(leaf.values), proposal)


def _rank(path: Path) -> list[int]:
    return [key for key in path if isinstance(key, int)]


def _each_once(values: Iterator[Json] | Sequence[Json]) -> tuple[Json, ...]:
    return tuple({f"{type(value)}{value}": value for value in values}.values())


def _refusal(one: Volatile, wholes: Collection[Path]) -> Refusal | None:
    """Why a placeholder would hide too much: all of an output, or what a long text says."""
    path, text = one.places[0], one.proposal.text
    shown = render(one.path)
    meaning = "compare what it says: --method judge"
    is_root = path == () or path in wholes
    if is_root and (is_alone(text) or not _keeps_enough(text, one.values)):
        what = "all of it varies: a placeholder for it would accept anything"
        return Refusal(path, "root_value", what, f"ask for what is steady, or {meaning}")
    long = any(isinstance(v, str) and (len(v) > _LONGEST_UNKNOWN or "\n" in v) for v in one.values)
    if one.proposal.says_little and long:
        what = "a text of which only the length would be known"
        mend = f"`ignore_values: [{shown}]`, or `fields: {{{shown}: {{type: semantic, method: judge}}}}`"
        return Refusal(path, "too_broad", what, mend)
    return None


def _keeps_enough(text: str, values: Sequence[str]) -> bool:
    """Whether a third of a text stays what it is; a half, where the rest could be anything."""
    kept = sum(len("".join(part.split())) for part in split(text) if isinstance(part, str))
    share = 2 if any(wide in text for wide in WIDE) else 3
    return share * kept >= min(map(len, values))
