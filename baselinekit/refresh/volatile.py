"""Several replays of one recipe -> the places where they do not agree: leaves that take another value each
time, and what no placeholder may hide.

The replays are set beside each other by their places. Where that would be a guess (rows in another order, a
key that comes and goes) nothing is learnt, and it is said why."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.values import Json, Path, json_type
from baselinekit.paths import Wild, render
from baselinekit.placeholders.grammar import escape
from baselinekit.placeholders.kinds import same
from baselinekit.placeholders.proposals import Write
from baselinekit.placeholders.table import Words
from baselinekit.refresh.shuffled import BY, in_one_order, shuffle

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


@dataclass(frozen=True, slots=True)
class Refusal:
    """A place that varies and that nothing may stand for. `what` says why, `mend` what its owner can do."""

    path: Path
    kind: RefusalKind
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """A place that held a value in every replay, and not always the same one."""

    path: Path
    values: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Look:
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


@dataclass(slots=True)
class Varying:
    leaves: list[Leaf]
    refusals: list[Refusal]


def varying(outputs: Sequence[Json], look: Look) -> Varying:
    """Every place where the outputs differ, in the order of the first of them."""
    found = _Found(look)
    found.at((), outputs)
    return Varying(found.leaves, found.refusals)


class _Found:
    def __init__(self, look: Look):
        self._look = look
        self.leaves: list[Leaf] = []
        self.refusals: list[Refusal] = []

    def at(self, path: Path, values: Sequence[Json]) -> None:
        types = {json_type(value) for value in values}
        if types == {"object"}:
            self._objects(path, values)
        elif types == {"array"}:
            self._arrays(path, values)
        elif not all(same(value, values[0]) for value in values[1:]) and not self._look.agreed(path):
            self._scalars(path, values, types)

    def _objects(self, path: Path, values: Sequence[Json]) -> None:
        for key in dict.fromkeys(key for value in values for key in value):
            there = sum(key in value for value in values)
            where = (*path, key)
            if there == len(values):
                self.at(where, [value[key] for value in values])
            elif not self._look.agreed(where):
                what = f"it is there in {there} of {len(values)} replays"
                mend = f"if it does not matter, `ignore_fields: [{render(where)}]` (--ignore)"
                self._refuse(where, "structural", what, mend)

    def _arrays(self, path: Path, values: Sequence[Json]) -> None:
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            if not self._look.agreed(path):
                what = f"{min(lengths)} to {max(lengths)} elements: a placeholder would hide how many"
                every = render((*path, Wild.ANY))
                mend = f"ask for the same ones each time, or `ignore_values: ['{every}']`"
                self._refuse(path, "array_length", what, mend)
            return
        values = in_one_order(values, self._look.arrays.get(path, ""))
        order = shuffle(values)
        if order is None:
            for index in range(lengths.pop()):
                self.at((*path, index), [value[index] for value in values])
        elif not self._look.agreed(path):
            mend = f"if their order means nothing, {_rule(render(path), order)}"
            self._refuse(path, "order_ambiguous", "the same elements in another order", mend)

    def _scalars(self, path: Path, values: Sequence[Json], types: set[str]) -> None:
        stated = types - {"null"}
        if path in self._look.outcomes:
            seen = ", ".join(map(str, dict.fromkeys(values)))
            what = f"it is {seen}: whether it works at all is never noise"
            self._refuse(path, "outcome", what, "find out why; `compare --repeat` tells how often")
        elif len(stated) > 1 or not stated <= set(_SCALARS):
            named = " or ".join(sorted(types))
            mend = f"let it answer with one type, or `ignore_values: [{render(path) if path else '$'}]`"
            self._refuse(path, "type", f"it is {named}", mend)
        elif self._look.numeric and stated == {"number"}:
            numbers = [value for value in values if value is not None]
            width = max(numbers) - min(numbers)
            mend = f"`tolerance: {{{render(path)}: {{abs: {width}}}}}` or more (--tolerance)"
            self._refuse(path, "numeric", "under `type: numeric` a number has a tolerance", mend)
        else:
            self.leaves.append(Leaf(path, tuple(values)))

    def _refuse(self, path: Path, kind: RefusalKind, what: str, mend: str) -> None:
        self.refusals.append(Refusal(path, kind, what, mend))


def _rule(path: str, order: str) -> str:
    """The rule for an array, as it stands in a file and as it is typed."""
    key = order.removeprefix(BY)
    stated, typed = (order, order) if key == order else (f"{{by: {key}}}", f"by:{key}")
    return f"`arrays: {{{path}: {stated}}}` (--array '{path}={typed}')"
