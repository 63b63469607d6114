"""Several replays of one recipe -> the places that vary, and the narrowest placeholder for each."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

from baselinekit.errors import InvalidInput
from baselinekit.frozen import frozen
from baselinekit.kinds.bodies import hash_path
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import Token, escape, has_marker, split
from baselinekit.placeholders.moments import unit_of
from baselinekit.placeholders.narrowest import (
    PlaceholderProposal,
    accepts_all,
    is_alone,
    narrowest,
)
from baselinekit.placeholders.pieces import WIDE, Write
from baselinekit.placeholders.table import TABLE, Words
from baselinekit.refresh.rows import BY, order_rule, sort_rows_alike
from baselinekit.tree.equality import is_number, same_json
from baselinekit.tree.paths import of_any_row, render
from baselinekit.tree.places import Wild, children, places, value_at
from baselinekit.tree.shapes import Shape

# The replays are set beside each other place by place. Where that would be a guess (rows in another order, a
# key that comes and goes) nothing is learnt, and it is said why.

RefusalKind = Literal[
    "structural",
    "type",
    "array_length",
    "root_value",
    "order_ambiguous",
    "too_broad",
    "outcome",
    "numeric",
    "template",
    "unresolved",
]
_SCALARS = ("string", "number", "boolean")


@frozen
class UnlearnablePlace:
    """A place that varies and that nothing may stand for. `what` says why, `mend` what its owner can do."""

    path: Path
    kind: RefusalKind
    what: str
    hint: str


@frozen
class VaryingPlace:
    """A place that held a value in every replay, and not always the same one."""

    path: Path
    values: tuple[Json, ...]


@frozen
class ReplayView:
    """How the replays are looked at. `agreed` tells of a place that the rules of the baseline accept as it is
    in every replay; `arrays` how an array is compared, by its path; `numeric`: only numbers are compared.
    `outcomes`: where it stands whether it worked; `wholes`: where all that was answered stands. `write` and
    `words` are for the texts that are stored."""

    outcomes: Collection[Path] = ()
    wholes: Collection[Path] = ()
    numeric: bool = False
    agreed: Callable[[Path], bool] = lambda path: False
    arrays: Mapping[Path, str] = field(default_factory=dict)
    write: Write = escape
    words: Words = field(default_factory=Words)


class _PlacesFound:
    """Every place where the replays differ, in the order of the first of them."""

    def __init__(self, look: ReplayView):
        self._look = look
        self.leaves: list[VaryingPlace] = []
        self.refusals: list[UnlearnablePlace] = []

    def at(self, path: Path, values: Sequence[Json]) -> None:
        types = {json_type(value) for value in values}
        if types == {"object"}:
            self.objects(path, values)
        elif types == {"array"}:
            self.arrays(path, values)
        elif not all(same_json(value, values[0]) for value in values[1:]) and not self._look.agreed(path):
            self.scalars(path, values, types)

    def objects(self, path: Path, values: Sequence[Json]) -> None:
        for key in dict.fromkeys(key for value in values for key in value):
            there = sum(key in value for value in values)
            where = (*path, key)
            if there == len(values):
                self.at(where, [value[key] for value in values])
            elif not self._look.agreed(where):
                what = f"it is present in {there} of {len(values)} replays"
                hint = f"if it does not matter, `ignore_fields: [{render(where)}]` (--ignore)"
                self.refuse(where, "structural", what, hint)

    def arrays(self, path: Path, values: Sequence[Json]) -> None:
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            if not self._look.agreed(path):
                what = f"{min(lengths)} to {max(lengths)} elements: a placeholder would hide how many"
                every = render((*path, Wild.ANY))
                hint = f"request the same ones each time, or `ignore_values: ['{every}']`"
                self.refuse(path, "array_length", what, hint)
            return
        values = sort_rows_alike(values, self._look.arrays.get(path, ""))
        order = order_rule(values)
        if order is None:
            for index in range(lengths.pop()):
                self.at((*path, index), [value[index] for value in values])
        elif not self._look.agreed(path):
            key, shown = order.removeprefix(BY), render(path)
            stated, typed = (order, order) if key == order else (f"{{by: {key}}}", f"by:{key}")
            rule = f"`arrays: {{{shown}: {stated}}}` (--array '{shown}={typed}')"
            hint = f"if their order does not matter, {rule}"
            self.refuse(path, "order_ambiguous", "the same elements in another order", hint)

    def scalars(self, path: Path, values: Sequence[Json], types: set[str]) -> None:
        stated = types - {"null"}
        if path in self._look.outcomes:
            seen = ", ".join(map(str, dict.fromkeys(values)))
            what = f"it is {seen}: success or failure is never treated as noise"
            self.refuse(path, "outcome", what, "find out why; `compare --repeat` shows how often")
        elif len(stated) > 1 or not stated <= set(_SCALARS):
            named = " or ".join(sorted(types))
            hint = f"make it answer with one type, or `ignore_values: [{render(path) if path else '$'}]`"
            self.refuse(path, "type", f"it is {named}", hint)
        elif self._look.numeric and stated == {"number"}:
            numbers = [value for value in values if value is not None]
            width = max(numbers) - min(numbers)
            hint = f"`tolerance: {{{render(path)}: {{abs: {width}}}}}` or more (--tolerance)"
            self.refuse(path, "numeric", "with `type: numeric` a number has a tolerance", hint)
        else:
            self.leaves.append(VaryingPlace(path, tuple(values)))

    def refuse(self, path: Path, kind: RefusalKind, what: str, hint: str) -> None:
        self.refusals.append(UnlearnablePlace(path, kind, what, hint))


# What stands at such a place from now on: the narrowest placeholder that accepts every value seen, or a
# refusal. A leaf that varies in most rows of an array is taken to vary in all of them. Each row keeps its own
# lines: one row that describes all the others would accept any number of them.

SURE = frozenset(
    row.name
    for row in TABLE.values()
    if row.learnt and row.learnt.when == "sure" and row.learnt.of in ("string", "number")
)
"""What no text has by chance: a text of such parts is told from others even where all of it varies."""

_LONGEST_UNKNOWN = 100
"""Characters of a text of which nothing but its length is known: more of them is what it says."""


@frozen
class Volatile:
    """What is learnt of one place, or of the same place in many rows: `path` has a `*` for the row then.
    `values`: those that were seen, each once."""

    path: Shape
    places: tuple[Path, ...]
    values: tuple[Json, ...]
    proposal: PlaceholderProposal


@frozen
class LearntPlaces:
    volatile: tuple[Volatile, ...]
    refusals: tuple[UnlearnablePlace, ...]

    @property
    def placeholders(self) -> dict[Path, str]:
        return {place: volatile.proposal.text for volatile in self.volatile for place in volatile.places}


def learn_places(outputs: Sequence[Json], look: ReplayView) -> LearntPlaces:
    """What several outputs of one recipe teach; the first of them is the one that is stored."""
    places = _PlacesFound(look)
    places.at((), outputs)
    by_shape: dict[Shape, list[VaryingPlace]] = {}
    for leaf in places.leaves:
        by_shape.setdefault(of_any_row(leaf.path), []).append(leaf)
    volatile: list[Volatile] = []
    refusals = list(places.refusals)
    rows = _rows(outputs[0], set(by_shape))
    for shape, leaves in by_shape.items():
        for place in _of_shape(shape, leaves, rows[shape], outputs, look):
            refusal = _refusal(place, look.wholes, outputs[0])
            if refusal is None:
                volatile.append(place)
            else:
                refusals.append(refusal)
    return LearntPlaces(tuple(volatile), tuple(refusals))


def _rows(output: Json, shapes: set[Shape]) -> dict[Shape, list[Path]]:
    """Where in the output each of the shapes is."""
    prefixes = {shape[:end] for shape in shapes for end in range(len(shape) + 1)}
    rows: dict[Shape, list[Path]] = {shape: [] for shape in shapes}
    waiting: list[tuple[Path, Json]] = [((), output)]
    while waiting:
        path, value = waiting.pop()
        shape = of_any_row(path)
        if shape in rows:
            rows[shape].append(path)
        if shape in prefixes:
            waiting += [((*path, key), child) for key, child in children(value)]
    return rows


def _of_shape(
    shape: Shape,
    leaves: Sequence[VaryingPlace],
    rows: Sequence[Path],
    outputs: Sequence[Json],
    look: ReplayView,
) -> Iterator[Volatile]:
    """One for all rows where most of them vary in the same way, else one for each that does."""

    def indexes(path: Path) -> list[int]:
        return [key for key in path if isinstance(key, int)]

    best = [narrowest(leaf.values, look.write, look.words)[0] for leaf in leaves]
    texts = {proposal.text for proposal in best}
    if len(texts) == 1 and 1 < len(rows) < 2 * len(leaves):
        others = set(rows) - {leaf.path for leaf in leaves}
        values = [value_at(output, path) for path in others for output in outputs]
        if accepts_all(best[0].text, values, look.words):
            seen = _each_once(value for leaf in leaves for value in leaf.values)
            yield Volatile(shape, tuple(sorted(rows, key=indexes)), seen, best[0])
            return
    for leaf, proposal in zip(leaves, best, strict=True):
        yield Volatile(leaf.path, (leaf.path,), _each_once(leaf.values), proposal)


def _each_once(values: Iterable[Json]) -> tuple[Json, ...]:
    return tuple({f"{type(value)}{value}": value for value in values}.values())


def _refusal(volatile: Volatile, wholes: Collection[Path], output: Json) -> UnlearnablePlace | None:
    """Why a placeholder would hide too much: all of an output, or what a long text says."""
    path, text = volatile.places[0], volatile.proposal.text
    shown = render(volatile.path)
    meaning = "compare its meaning: --method judge"
    is_root = path == () or path in wholes
    kept = sum(len("".join(part.split())) for part in split(text) if isinstance(part, str))
    is_wide = any(wide in text for wide in WIDE)
    share = 2 if is_wide else 3  # of a text that must stay: half, or a third
    says_what = not is_wide and any(part.name in SURE for part in split(text) if isinstance(part, Token))
    if is_root and (
        is_alone(text) or not (says_what or share * kept >= min(len(str(value)) for value in volatile.values))
    ):
        what = "all of it varies: a placeholder would accept anything"
        return UnlearnablePlace(path, "root_value", what, f"request something stable, or {meaning}")
    whole = path[:-1]
    if whole in wholes and path == hash_path(whole, value_at(output, whole)):
        what = "its bytes vary: a placeholder would accept any others of this size"
        hint = f"request something stable, or `ignore_fields: [{shown}]` if only the size counts"
        return UnlearnablePlace(path, "root_value", what, hint)
    long = any(isinstance(v, str) and (len(v) > _LONGEST_UNKNOWN or "\n" in v) for v in volatile.values)
    if volatile.proposal.says_little and long:
        what = "only the length of the text would be checked"
        hint = f"`ignore_values: [{shown}]`, or `fields: {{{shown}: {{type: semantic, method: judge}}}}`"
        return UnlearnablePlace(path, "too_broad", what, hint)
    return None


# Values that a clock writes, mostly in whole seconds: replays within one second agree on them by chance, so
# whoever repeats waits for the next second.

TICK = 1.1
"""Seconds after which a clock of whole seconds shows another time for certain."""

_CLOCK = lazy_pattern(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")


def is_moment(value: Json) -> bool:
    if isinstance(value, str):
        return _CLOCK.search(value) is not None
    return is_number(value) and unit_of([value]) is not None


# What stands behind the placeholders that were learnt: which of them it is about, and what is left of it when
# the output changes.


_INDEX = lazy_pattern(r"\[[0-9]+\]")
_VARIABLE = "var"
"""It equals the value of a variable: a capture writes it, and it stands for one value only."""


def evidence_for(path: Path, learnt: Mapping[str, str]) -> str | None:
    """The line about a place: its own, that of all rows, or that of another row, from which a refresh gave
    this one its placeholder."""
    own = next((learnt[key] for key in _keys(path) if key in learnt), None)
    if own is not None:
        return own
    shape = render(of_any_row(path))
    return next((line for key, line in learnt.items() if _INDEX.sub(".*", key) == shape), None)


def evidence_below(path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether any line is about a place in the rows of a list."""
    rows = tuple(f"{shown}{sign}" for shown in _keys(path) for sign in ("[", ".*"))
    return any(key.startswith(rows) for key in learnt)


def is_handwritten(value: Json, path: Path, learnt: Mapping[str, str]) -> bool:
    """Whether a person has said what stands for the values of a place."""
    return bool(_placeholders_of(value)) and evidence_for(path, learnt) is None


def still_true(learnt: Mapping[str, str], before: Json, after: Json) -> dict[str, str]:
    """The lines of which a placeholder still stands where it stood: a refreshed output may have lost it, or
    hold another one."""
    stood, stands = _held(learnt, before), _held(learnt, after)
    return {key: line for key, line in learnt.items() if stood.get(key, set()) & stands.get(key, set())}


def _held(learnt: Mapping[str, str], output: Json) -> dict[str, set[str]]:
    """The placeholders at the places that each line is about."""
    held: dict[str, set[str]] = {}
    for path, value in _leaves(output) if learnt else ():
        for key in _keys(path):
            if key in learnt:
                held.setdefault(key, set()).update(_placeholders_of(value))
    return held


def _leaves(output: Json) -> Iterator[tuple[Path, Json]]:
    yield (), output
    yield from places(output)


def _keys(path: Path) -> tuple[str, str]:
    return render(path) or "$", render(of_any_row(path))


def _placeholders_of(value: Json) -> set[str]:
    if not isinstance(value, str) or not has_marker(value):
        return set()
    try:
        return {part.text for part in split(value) if isinstance(part, Token) and part.name != _VARIABLE}
    except InvalidInput:
        return set()
