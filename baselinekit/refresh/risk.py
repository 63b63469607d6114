"""How much a change puts at risk: who reads the output may rely on a key and its type, hardly on its value,
and never on what was not there."""

from collections.abc import Mapping

from baselinekit.model.changes import Change, Risk
from baselinekit.model.values import Json, Path, json_type
from baselinekit.placeholders.grammar import has_marker, tokens_in
from baselinekit.responses import Outcome, is_worse

_NAMED: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("any", "one_of", "var", "length"), None),
    **dict.fromkeys(("any_number", "any_integer", "any_float", "number"), frozenset({"number"})),
    **dict.fromkeys(("any_unix_timestamp", "any_duration"), frozenset({"number", "string"})),
    "any_boolean": frozenset({"boolean"}),
    "any_null": frozenset({"null"}),
    "any_object": frozenset({"object"}),
    "any_array": frozenset({"array"}),
}
"""What the placeholders stand for; all others for a text."""


def risk_of(change: Change, outcomes: Mapping[Path, Outcome]) -> Risk:
    """The class of a change. `outcomes`: the places that say whether it worked."""
    if change.kind == "added":
        return "low"
    if change.kind == "retyped":
        return "high"
    if change.kind == "removed":  # one row less is data, one key less is another shape
        return "high" if isinstance(change.path[-1:][0] if change.path else "", str) else "medium"
    outcome = outcomes.get(change.path)
    return "high" if outcome and is_worse(outcome, change.before, change.after) else "medium"


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
    types = _NAMED.get(token.name, frozenset({"string"}))
    return types | {"null"} if types and token.nullable else types
