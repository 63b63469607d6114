"""How much a change puts at risk, which changes are the same, and whether a pending response is stale."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from baselinekit.kinds.kind import OutcomePlace
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import RISKS, Change, Group, RefreshPlan, Risk
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.placeholders.grammar import has_marker, tokens_in
from baselinekit.placeholders.table import types_of
from baselinekit.tree.equality import canonical
from baselinekit.tree.paths import render

# Who reads the output may rely on a key and its type, hardly on its value, and never on what was not there.


def risk_of(change: Change, outcomes: Mapping[Path, OutcomePlace]) -> Risk:
    """The class of a change. `outcomes`: the places that say whether it worked."""
    if change.kind == "added":
        return "low"
    if change.kind == "retyped":
        return "high"
    if change.kind == "removed":  # one row less is data, one key less is another shape
        return "high" if isinstance(change.path[-1:][0] if change.path else "", str) else "medium"
    outcome = outcomes.get(change.path)
    return "high" if outcome and outcome.is_worse(change.before, change.after) else "medium"


def is_retyped(before: Json, after: Json) -> bool:
    """Whether another type of value stands there now. A placeholder says which type it stands for; of one
    that stands for any, nobody relies on one."""
    old, new = _types(before), _types(after)
    return not (old is None or new is None or old & new)


def _types(value: Json) -> frozenset[str] | None:
    """The types that a stored value can be of; None for any."""
    if not isinstance(value, str) or not has_marker(value):
        return frozenset({json_type(value)})
    token = next(tokens_in(value), None)
    if token is None or token.text != value:
        return frozenset({"string"})  # a placeholder inside a text
    types = types_of(token.name)
    return types | {"null"} if types and token.nullable else types


def grouped(plans: Sequence[RefreshPlan]) -> tuple[Group, ...]:
    """Every change in one group, the greatest first: those at the same place, of one kind, between values of
    the same types. Objects are of one type if they have the same keys: a user more is not an order more."""
    alike: dict[tuple[str, ...], list[tuple[int, Change]]] = {}
    for n, plan in enumerate(plans):
        for change in plan.changes:
            types = _type(change.before), _type(change.after)
            key = pattern(change.path), change.kind, *types, change.part
            alike.setdefault(key, []).append((n, change))
    groups = [
        Group(
            key[0],
            members[0][1].kind,
            max((change.risk for _, change in members), key=RISKS.index),
            tuple((n, change.number) for n, change in members),
        )
        for key, members in alike.items()
    ]
    return tuple(sorted(groups, key=lambda group: -len({n for n, _ in group.members})))


def pattern(path: Path) -> str:
    """The path with `[*]` for its indexes."""
    text = ""
    for key in path:
        text += "[*]" if isinstance(key, int) else ("." if text else "") + render((key,))
    return text or "$"


def _type(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    return f"object {sorted(value)}" if isinstance(value, dict) else json_type(value)


def compared_with(baseline: Baseline) -> str:
    """A short name for the output and the rules of a baseline: of any others it is another one. In which
    order the keys of an object stand does not matter."""
    output = baseline.baseline.output if baseline.baseline else None
    text = f"{canonical(output)}\n{baseline.comparison!r}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
