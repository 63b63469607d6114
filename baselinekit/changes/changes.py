"""The changes between the stored output and the new one, what each puts at risk, and how the accepted ones
are merged."""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from baselinekit.changes.rows import Shape, Unlike, align_rows, by_shape, updated_row
from baselinekit.kinds.kind import OutcomePlace
from baselinekit.kinds.table import kind_of
from baselinekit.model.changes import (
    RISKS,
    Branch,
    Change,
    ChangedPart,
    ChangeKind,
    Group,
    LostPlaceholder,
    Part,
    RefreshPlan,
    Risk,
    UnchangedPart,
)
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.formats import NEAR
from baselinekit.placeholders.grammar import describes_many, has_marker, tokens_in, unescaped
from baselinekit.placeholders.lines import with_placeholders
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import looks_like_id, moment_of
from baselinekit.placeholders.table import PlaceholderContext, types_of
from baselinekit.structs import Struct, field, replace
from baselinekit.values.alignment import Accepts
from baselinekit.values.changes import group_alike, row_pattern, same_change, with_new_keys
from baselinekit.values.equality import identical
from baselinekit.values.paths import of_any_row
from baselinekit.values.places import places

# Readers of an output may rely on a key and its type, rarely on its value, and never on what was not there.


def risk_of(change: Change, outcomes: Mapping[Path, OutcomePlace]) -> Risk:
    """Return the risk of a change. `outcomes`: the places that say whether the run succeeded."""
    if change.kind == "added":
        return "low"
    if change.kind == "retyped":
        return "high"
    if change.kind == "removed":  # a missing row is data, a missing key changes the shape
        return "medium" if _is_row(change) else "high"
    outcome = outcomes.get(change.path)
    return "high" if outcome and outcome.is_worse(change.before, change.after) else "medium"


def _is_row(change: Change) -> bool:
    return bool(change.path) and isinstance(change.path[-1], int)


def is_retyped(before: Json, after: Json) -> bool:
    """Whether the type of the value changed. A placeholder has the types that it accepts; no one relies on
    the type where it accepts any."""
    old, new = _types(before), _types(after)
    return not (old is None or new is None or old & new)


def _types(value: Json) -> frozenset[str] | None:
    """Return the types that a stored value can have; None for any."""
    if not isinstance(value, str) or not has_marker(value):
        return frozenset({json_type(value)})
    token = next(tokens_in(value), None)
    if token is None or token.text != value:
        return frozenset({"string"})  # a placeholder inside a text
    types = types_of(token.name)
    return types | {"null"} if types and token.nullable else types


def group_changes(plans: Sequence[RefreshPlan]) -> tuple[Group, ...]:
    """Group the same changes of all plans, the largest group first."""
    members = (
        ((*same_change(change.path, change.kind, change.before, change.after), change.part), n, change)
        for n, plan in enumerate(plans)
        for change in plan.changes
    )
    return tuple(
        Group(
            row_pattern(alike[0][1].path),
            alike[0][1].kind,
            max((change.risk for _, change in alike), key=RISKS.index),
            tuple((n, change.number) for n, change in alike),
        )
        for _, alike in group_alike(members)
    )


# As far as the new output matches the stored one, it holds the stored values, so parts without a change are
# identical. Rows of an array are aligned before they are compared: a row inserted at the head is one added
# row.

NOT_ONE_ROW = "one row described every element; now each would be written out"


class ComparisonRules(Struct):
    """How two outputs of a baseline are compared. `arrays`: the arrays with a comparison mode (`each`, `by
    id`), by their path in the old output; `fresh` turns a new value into what is stored of it; `outcomes`:
    the places that say whether the run succeeded."""

    arrays: Mapping[Path, str] = field(default_factory=dict)
    accepts: Accepts = lambda text, value: False
    fresh: Callable[[Json], Json] = lambda value: value
    outcomes: Mapping[Path, OutcomePlace] = field(default_factory=dict)
    words: PlaceholderContext = field(default_factory=PlaceholderContext)
    seen_at: float = 0.0


class ChangesFound(NamedTuple):
    """The changes in document order, and the shape that holds them together. `taken`: notes on the
    placeholders that new values take from their siblings."""

    shape: Part
    changes: tuple[Change, ...]
    taken: tuple[str, ...] = ()


def changes_of(old: Json, new: Json, ways: ComparisonRules) -> ChangesFound:
    walk = _ChangeWalk(old, new, ways)
    shape = walk.compare(old, new, (), ())
    taken = (
        f"{place} takes {text} {reason}" + (f" ({count:,} times)" if count > 1 else "")
        for (place, text, reason), count in walk.given.items()
    )
    return ChangesFound(shape, tuple(walk.changes), tuple(taken))


_HOUR = 3600
_ALIKE = 0.5
_LIKE = "like its siblings"
_NATURE = "as ids and moments vary by nature"


class _ChangeWalk:
    """Walks the old and the new output side by side. `former`: for renamed keys, where their values were;
    `given`: how often new values take which placeholder, and why."""

    def __init__(self, old: Json, new: Json, ways: ComparisonRules):
        self.ways, self.old, self.new = ways, old, new
        self.changes: list[Change] = []
        self.former: dict[Shape, Shape] = {}
        self.given: Counter[tuple[str, str, str]] = Counter()

    def compare(self, old: Json, new: Json, at: Path, path: Path) -> Part:
        if identical(old, new):
            return UnchangedPart(old)
        if isinstance(old, dict) and isinstance(new, dict):
            return self.compare_objects(old, new, at, path)
        if isinstance(old, list) and isinstance(new, list):
            return self.compare_rows(old, new, at, path)
        if old is None or isinstance(new, dict | list):
            after = self.new_value(new, path)
        elif isinstance(old, str) and isinstance(new, str) and describes_many(old):
            after = self.keep_placeholders(old, new)
        else:
            after = self.ways.fresh(new)
        kind: ChangeKind = "retyped" if is_retyped(old, new) else "value"
        return self.add_change(kind, path, at, old, after)

    def new_value(self, new: Json, path: Path) -> Json:
        """Return what is stored of a value that has no counterpart in the old output."""
        return self.ways.fresh(self.fill(new, path))

    def keep_placeholders(self, old: str, new: str) -> Json:
        """Return the new text with the placeholders of the old one that still match, by line and within
        lines."""
        plain = unescaped(new)
        if isinstance(plain, str) and not any(tokens_in(new)):
            template = with_placeholders(old, plain, self.ways.words)
            if template != old and any(tokens_in(template)):
                return template
        return self.ways.fresh(new)

    def compare_objects(self, old: dict[str, Json], new: dict[str, Json], at: Path, path: Path) -> Part:
        names = (*old, *(name for name in new if name not in old))
        place = {name: n for n, name in enumerate(names)}
        gone, came = [name for name in old if name not in new], [name for name in new if name not in old]
        is_renamed = len(gone) == len(came) == 1 and (
            SequenceMatcher(None, gone[0].lower(), came[0].lower(), autojunk=False).ratio() >= _ALIKE
        )
        if is_renamed:
            self.former[of_any_row((*path, came[0]))] = of_any_row((*path, gone[0]))
        parts = tuple(
            self.compare_or_add(
                old.get(name, ABSENT),
                new.get(name, ABSENT),
                (*at, name) if name in old else at,
                (*path, name),
            )
            for name in names
        )
        if is_renamed:  # the placeholders under the new name are not lost
            removed, added = parts[place[gone[0]]], parts[place[came[0]]]
            assert isinstance(removed, ChangedPart)
            assert isinstance(added, ChangedPart)
            change = self.changes[removed.number]
            lost = lost_in(replace(change, after=self.changes[added.number].after))
            self.changes[removed.number] = replace(change, lost=lost)
        before, after = tuple(place[name] for name in old), tuple(place[name] for name in new)
        return self.build_branch(names, parts, before, after, (at, path))

    def compare_rows(self, old: list[Json], new: list[Json], at: Path, path: Path) -> Part:
        mode = self.ways.arrays.get(at, "")
        if mode == "each" and len(old) == 1 and describes_many(old[0]) and new:
            return self.compare_with_one_row(old, new, at, path)
        key = mode.removeprefix("by ") if mode.startswith("by ") else None
        aligned, restored = align_rows(old, new, key, self.ways.accepts)
        rows: list[tuple[int | None, int | None]] = [
            *aligned.pairs,
            *((e, None) for e in aligned.missing),
            *((None, a) for a in aligned.extra),
        ]
        # In reading order: by the position in the new array; a removed row comes before the one there now.
        rows.sort(key=lambda row: (row[0] or 0, 0) if row[1] is None else (row[1], 1))
        parts = tuple(
            self.compare_or_add(
                ABSENT if e is None else old[e],
                ABSENT if a is None else restored.get(a, new[a]),
                at if e is None else (*at, e),
                (*path, *((a,) if a is not None else (e,) if e is not None else ())),
            )
            for e, a in rows
        )
        before = tuple(n for _, n in sorted((e, n) for n, (e, _) in enumerate(rows) if e is not None))
        after = tuple(n for _, n in sorted((a, n) for n, (_, a) in enumerate(rows) if a is not None))
        return self.build_branch(None, parts, before, after, (at, path))

    def compare_with_one_row(self, old: list[Json], new: list[Json], at: Path, path: Path) -> Part:
        """Compare an array in which one stored row describes every element."""
        with suppress(Unlike):
            row = updated_row(old[0], new, self.ways.accepts)
            if describes_many(row):
                part = self.compare(old[0], row, (*at, 0), (*path, 0))
                return Branch(None, (part,), (0,), (0,))
        return self.add_change("value", path, at, old, self.ways.fresh(new), note=NOT_ONE_ROW)

    def build_branch(
        self,
        names: tuple[str, ...] | None,
        parts: tuple[Part, ...],
        before: tuple[int, ...],
        after: tuple[int, ...],
        where: tuple[Path, Path],
    ) -> Part:
        """Return a branch, with a change of order if the parts in both versions changed their order."""
        stay = set(before) & set(after)
        old, new = [n for n in before if n in stay], [n for n in after if n in stay]
        order = None
        if old != new:
            at, path = where
            labels = {n: names[n] if names else before.index(n) for n in old}
            moved = self.add_change("order", path, at, [labels[n] for n in old], [labels[n] for n in new])
            order = moved.number
        return Branch(names, parts, before, after, order)

    def compare_or_add(self, old: Json, new: Json, at: Path, path: Path) -> Part:
        if new is ABSENT:
            return self.add_change("removed", path, at, before=old)
        if old is ABSENT:
            return self.add_change("added", path, at, after=self.new_value(new, path))
        return self.compare(old, new, at, path)

    def add_change(
        self,
        kind: ChangeKind,
        path: Path,
        at: Path,
        before: Json = ABSENT,
        after: Json = ABSENT,
        note: str = "",
    ) -> ChangedPart:
        change = Change(len(self.changes), kind, path, at, before, after, note=note)
        self.changes.append(complete_change(change, self.ways.outcomes))
        return ChangedPart(change.number)

    # New values take placeholders: the one that the same place holds in every other row of its array, or the
    # narrowest one for ids and moments, which vary by nature.

    @cached_property
    def stored(self) -> Mapping[Shape, list[Json]]:
        return by_shape(places(self.old))

    @cached_property
    def came(self) -> Mapping[Shape, list[Json]]:
        return by_shape(places(self.new))

    def fill(self, value: Json, path: Path) -> Json:
        """Return the value with each placeholder that it takes."""
        for text, reason in self.placeholders_at(of_any_row(path), path):
            if self.ways.accepts(text, value):
                self.given[row_pattern(path), text, reason] += 1
                return text
        if isinstance(value, dict):
            return {key: self.fill(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item, (*path, number)) for number, item in enumerate(value)]
        return value

    def placeholders_at(self, shape: Shape, path: Path) -> Iterator[tuple[str, str]]:
        beside = self.stored.get(shape) or self.stored.get(self.former.get(shape, shape), [])
        stored = [value for value in beside if value is not None]
        if stored:
            if all(isinstance(value, str) and describes_many(value) for value in stored):
                yield from ((text, _LIKE) for text, _ in Counter(stored).most_common())
            return
        values = [value for value in self.came.get(shape, ()) if value is not None]
        if len(values) > 1 and all(identical(value, values[0]) for value in values):
            return  # what is the same in every row does not vary
        plain = [unescaped(value) for value in values]
        if plain and all(self.varies(value, path) for value in plain):
            yield narrowest(plain, words=self.ways.words)[0].text, _NATURE

    def varies(self, value: Json, path: Path) -> bool:
        """Whether a value will likely differ next time: an id, or a moment of now or later, but no day."""
        when = moment_of(value)
        if when is not None:
            return when > self.ways.seen_at - NEAR and bool(when % _HOUR)
        return looks_like_id(value, path)


def complete_change(change: Change, outcomes: Mapping[Path, OutcomePlace]) -> Change:
    """Return a change with its lost placeholders and its risk. A removed row loses no placeholder: it spoke
    for that row alone."""
    whole_row = change.kind == "removed" and _is_row(change)
    lost = () if change.kind == "order" or whole_row else lost_in(change)
    risk: Risk = "high" if change.note == NOT_ONE_ROW else risk_of(change, outcomes)
    return replace(change, lost=lost, risk=risk)


def lost_in(change: Change) -> tuple[LostPlaceholder, ...]:
    """Return every placeholder of the old value that the new one does not have. Where one row described all
    rows, each of its placeholders is lost, even if the rows hold it again: it spoke for future rows."""
    remaining = Counter() if change.note else Counter(token.text for token in tokens_in(change.after))
    lost = []
    texts = ((path, value) for path, value in places(change.before, change.at) if isinstance(value, str))
    for path, text in ((path, token.text) for path, value in texts for token in tokens_in(value)):
        if remaining[text]:
            remaining[text] -= 1
        else:
            lost.append(LostPlaceholder(path, text))
    return tuple(lost)


def merge_accepted(shape: Part, changes: Sequence[Change], accepted: Container[int]) -> Json:
    """Return the old output with the accepted changes: with none of them the old output, with all the new
    one."""
    if isinstance(shape, UnchangedPart):
        return shape.value
    if isinstance(shape, ChangedPart):
        change = changes[shape.number]
        return change.after if shape.number in accepted else change.before
    values = [merge_accepted(part, changes, accepted) for part in shape.parts]
    takes_new = shape.order is None or shape.order in accepted
    first, second = (shape.after, shape.before) if takes_new else (shape.before, shape.after)
    present = [n for n in with_new_keys(first, second) if values[n] is not ABSENT]
    if shape.names is None:
        return [values[n] for n in present]
    return {shape.names[n]: values[n] for n in present}


def with_after(plan: RefreshPlan, number: int, after: Json) -> RefreshPlan:
    """Return the plan with another new value for one change, such as a placeholder that the reader chose. The
    change is no longer blocked."""
    change = plan.changes[number]
    recipe = plan.baseline.current
    changed = complete_change(replace(change, after=after, blocked=None), kind_of(recipe).outcomes(recipe))
    if plan.troubles:
        changed = replace(changed, risk="high")
    return replace(plan, changes=tuple(changed if other is change else other for other in plan.changes))
