"""The changes between the stored output and the new one, what each puts at risk, and how the accepted ones
are merged."""

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from baselinekit.changes.alternatives import lost_in
from baselinekit.changes.rows import Unlike, align_rows, fold
from baselinekit.changes.siblings import Inherited, Judge, Siblings, renamed_keys
from baselinekit.kinds.kind import OutcomePlace
from baselinekit.kinds.table import kind_of
from baselinekit.model.changes import (
    RISKS,
    Branch,
    Change,
    ChangedPart,
    ChangeKind,
    Group,
    Part,
    RefreshPlan,
    Risk,
    UnchangedPart,
)
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import describes_many, has_marker, tokens_in, unescaped
from baselinekit.placeholders.lines import with_placeholders
from baselinekit.placeholders.table import PlaceholderContext, types_of
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.values.alignment import Accepts
from baselinekit.values.changes import group_alike, row_pattern, same_change
from baselinekit.values.equality import identical

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
    """Whether the type of the value changed. A placeholder has the types that it stands for; nobody relies on
    the type where it stands for any."""
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
    judge = Judge(ways.accepts, ways.words, ways.seen_at)
    walk = _ChangeWalk(ways, Inherited(judge))
    shape = walk.compare(old, new, (), (), Siblings(judge, [old], [new]))
    return ChangesFound(shape, tuple(walk.changes), tuple(walk.inherited.notes()))


class _ChangeWalk(MutableStruct):
    ways: ComparisonRules
    inherited: Inherited
    changes: list[Change] = field(default_factory=list)

    def compare(self, old: Json, new: Json, at: Path, path: Path, beside: Siblings) -> Part:
        if identical(old, new):
            return UnchangedPart(old)
        if isinstance(old, dict) and isinstance(new, dict):
            return self.compare_objects(old, new, at, path, beside)
        if isinstance(old, list) and isinstance(new, list):
            return self.compare_rows(old, new, at, path, beside)
        if old is None or isinstance(new, dict | list):
            after = self.new_value(new, path, beside)
        elif isinstance(old, str) and isinstance(new, str) and describes_many(old):
            after = self.keep_placeholders(old, new, path)
        elif isinstance(old, str) and describes_many(old):
            after = self.without_bounds(old, new, path)
        else:
            after = self.ways.fresh(new)
        kind: ChangeKind = "retyped" if is_retyped(old, new) else "value"
        return self.add_change(kind, path, at, old, after)

    def new_value(self, new: Json, path: Path, beside: Siblings) -> Json:
        """Return what is stored of a value that has no counterpart in the old output."""
        return self.ways.fresh(self.inherited.fill(new, beside, row_pattern(path)))

    def without_bounds(self, old: str, new: Json, path: Path) -> Json:
        """Return what is stored of a value that a placeholder no longer accepts: the placeholder without its
        bounds if that accepts it, since what varies will go on varying."""
        wider = self.inherited.without_bounds(old, new, row_pattern(path))
        return self.ways.fresh(new) if wider is None else wider

    def keep_placeholders(self, old: str, new: str, path: Path) -> Json:
        """Return the new text with the placeholders of the old one that still match, by line and within
        lines."""
        plain = unescaped(new)
        if not isinstance(plain, str) or (has_marker(new) and any(tokens_in(new))):
            return self.ways.fresh(new)
        template = with_placeholders(old, plain, self.ways.words)
        return (
            template if template != old and any(tokens_in(template)) else self.without_bounds(old, new, path)
        )

    def compare_objects(
        self, old: dict[str, Json], new: dict[str, Json], at: Path, path: Path, beside: Siblings
    ) -> Part:
        names = (*old, *(name for name in new if name not in old))
        place = {name: n for n, name in enumerate(names)}
        renamed = renamed_keys(old, new, beside.judge)
        parts = tuple(
            self.compare_or_add(
                old.get(name, ABSENT),
                new.get(name, ABSENT),
                (*at, name) if name in old else at,
                (*path, name),
                beside.renamed(renamed[name], name) if name in renamed else beside.member(name),
            )
            for name in names
        )
        for part in (parts[place[name]] for name in old if name not in new and beside.is_map):
            self.update_lost(part, ABSENT)
        for new_name, old_name in renamed.items():
            part = parts[place[new_name]]
            after = self.changes[part.number].after if isinstance(part, ChangedPart) else ABSENT
            self.update_lost(parts[place[old_name]], after)
        before, after_order = tuple(place[name] for name in old), tuple(place[name] for name in new)
        return self.build_branch(names, parts, before, after_order, (at, path))

    def compare_rows(self, old: list[Json], new: list[Json], at: Path, path: Path, beside: Siblings) -> Part:
        mode = self.ways.arrays.get(at, "")
        if mode == "each" and len(old) == 1 and describes_many(old[0]) and new:
            return self.compare_with_one_row(old, new, at, path, beside)
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
                beside.rows,
            )
            for e, a in rows
        )
        before = sorted((e, n) for n, (e, _) in enumerate(rows) if e is not None)
        after = sorted((a, n) for n, (_, a) in enumerate(rows) if a is not None)
        return self.build_branch(
            None, parts, tuple(n for _, n in before), tuple(n for _, n in after), (at, path)
        )

    def compare_with_one_row(
        self, old: list[Json], new: list[Json], at: Path, path: Path, beside: Siblings
    ) -> Part:
        """Compare an array in which one stored row describes every element."""
        with suppress(Unlike):
            row = fold(old[0], new, self.ways.accepts)
            if describes_many(row):
                part = self.compare(old[0], row, (*at, 0), (*path, 0), beside.rows)
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

    def compare_or_add(self, old: Json, new: Json, at: Path, path: Path, beside: Siblings) -> Part:
        if new is ABSENT:
            return self.add_change("removed", path, at, before=old)
        if old is ABSENT:
            return self.add_change("added", path, at, after=self.new_value(new, path, beside))
        return self.compare(old, new, at, path, beside)

    def update_lost(self, part: Part, after: Json) -> None:
        """Recount the placeholders that are lost with a removed part: those that a renamed key (`after`)
        lacks; none where sibling entries still hold them (ABSENT)."""
        assert isinstance(part, ChangedPart)
        change = self.changes[part.number]
        lost = () if after is ABSENT else lost_in(replace(change, after=after))
        self.changes[part.number] = replace(change, lost=lost)

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


def complete_change(change: Change, outcomes: Mapping[Path, OutcomePlace]) -> Change:
    """Return a change with its lost placeholders and its risk. A removed row loses no placeholder: it spoke
    for that row alone."""
    whole_row = change.kind == "removed" and _is_row(change)
    lost = () if change.kind == "order" or whole_row else lost_in(change)
    return replace(
        change, lost=lost, risk="high" if change.note == NOT_ONE_ROW else risk_of(change, outcomes)
    )


def merge_accepted(shape: Part, changes: Sequence[Change], accepted: Container[int]) -> Json:
    """Return the old output with the accepted changes: with none of them the old output, with all the new
    one."""
    if isinstance(shape, UnchangedPart):
        return shape.value
    if isinstance(shape, ChangedPart):
        change = changes[shape.number]
        return change.after if shape.number in accepted else change.before
    values = [merge_accepted(part, changes, accepted) for part in shape.parts]
    positions = [n for n in _arranged(shape, accepted) if values[n] is not ABSENT]
    if shape.names is None:
        return [values[n] for n in positions]
    return {shape.names[n]: values[n] for n in positions}


def _arranged(branch: Branch, accepted: Container[int]) -> list[int]:
    """Return the parts of a branch in the order in which they are written. A part that only the second order
    has comes after the part that it follows there."""
    takes_new = branch.order is None or branch.order in accepted
    first, second = (branch.after, branch.before) if takes_new else (branch.before, branch.after)
    positions, first_parts = list(first), set(first)
    previous: int | None = None
    for n in second:
        if n not in first_parts:
            positions.insert(0 if previous is None else positions.index(previous) + 1, n)
        previous = n
    return positions


def with_after(plan: RefreshPlan, number: int, after: Json) -> RefreshPlan:
    """Return the plan with another new value for one change, such as a placeholder that the reader chose. The
    change is no longer blocked."""
    change = plan.changes[number]
    recipe = plan.baseline.current
    changed = complete_change(replace(change, after=after, blocked=None), kind_of(recipe).outcomes(recipe))
    if plan.troubles:
        changed = replace(changed, risk="high")
    return replace(plan, changes=tuple(changed if other is change else other for other in plan.changes))
