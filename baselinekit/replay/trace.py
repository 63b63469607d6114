"""What a skill tells of itself (`output: trace`): `{output, tool_calls, usage}`, of which only the first is
needed."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from baselinekit.errors import cannot
from baselinekit.model.asking import ToolCall, Usage
from baselinekit.model.observation import Observation
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.kinds import is_number

_TOKENS = ("tokens_in", "tokens_out")


def traced(found: Observation, name: str) -> Observation:
    """The observation that the skill's answer describes; an answer of another form is an error."""
    told = found.output
    wrong = next(_faults(told), None)
    if wrong is not None:
        what = f"the skill {name} did not answer with {{output, tool_calls, usage}}: {wrong}"
        raise cannot("BK354", what, "correct it, or take `output: trace` out of its entry")
    usage = told.get("usage", {})
    cost = usage.get("cost_usd")
    return replace(
        found,
        output=told["output"],
        tool_calls=tuple(
            ToolCall(call["name"], call.get("input", {}), call.get("output", ABSENT))
            for call in told["tool_calls"]
        )
        if "tool_calls" in told
        else None,
        usage=Usage(
            usage.get("tokens_in"), usage.get("tokens_out"), None if cost is None else Decimal(str(cost))
        ),
    )


def _faults(told: Json) -> Iterator[str]:
    if not isinstance(told, dict):
        yield "it is no object"
        return
    if "output" not in told:
        yield "there is no `output`"
    calls, usage = told.get("tool_calls", []), told.get("usage", {})
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        yield "`tool_calls` is a list of {name, input, output}"
    if not isinstance(usage, dict) or not all(_is_usage(key, value) for key, value in usage.items()):
        yield "`usage` has tokens_in, tokens_out and cost_usd"


def _is_call(call: Json) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str)


def _is_usage(key: str, value: Json) -> bool:
    """Further keys are no fault: nobody reads them."""
    if key in _TOKENS and not isinstance(value, int | None):
        return False
    return key not in (*_TOKENS, "cost_usd") or value is None or (is_number(value) and value >= 0)
