"""The same change in many baselines: whoever has approved it once has approved it everywhere."""

from collections.abc import Iterable, Sequence

from baselinekit.model.changes import RISKS, Change, Group, Plan, Risk
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.paths import render

_Key = tuple[str, str, str, str, str]


def grouped(plans: Sequence[Plan]) -> tuple[Group, ...]:
    """Every change in one group, the greatest first: those at the same place, of one kind, between values of
    the same types. Objects are of one type if they have the same keys: a user more is not an order more."""
    members: dict[_Key, list[tuple[int, int]]] = {}
    for n, plan in enumerate(plans):
        for change in plan.changes:
            members.setdefault(_key(change), []).append((n, change.number))
    groups = []
    for key, found in members.items():
        first = plans[found[0][0]].changes[found[0][1]]
        groups.append(Group(key[0], first.kind, _worst(plans, found), tuple(found)))
    return tuple(sorted(groups, key=lambda group: -len({n for n, _ in group.members})))


def pattern(path: Path) -> str:
    """The path with `[*]` for its indexes."""
    text = ""
    for key in path:
        text += "[*]" if isinstance(key, int) else ("." if text else "") + render((key,))
    return text or "$"


def _key(change: Change) -> _Key:
    types = _type(change.before), _type(change.after)
    return pattern(change.path), change.kind, *types, change.part


def _type(value: Json) -> str:
    if value is ABSENT:
        return "absent"
    return f"object {sorted(value)}" if isinstance(value, dict) else json_type(value)


def _worst(plans: Sequence[Plan], members: Iterable[tuple[int, int]]) -> Risk:
    return max((plans[n].changes[number].risk for n, number in members), key=RISKS.index)
