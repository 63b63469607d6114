"""What a target tells beside its answer: the messages on the way to it, the tools that it called, and what it
took. One reader for programs, services, mocks and stored answers."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeGuard, get_args

from baselinekit.documents.jsontext import NotJson, decode
from baselinekit.errors import cannot
from baselinekit.kinds.messages import is_parts, message_as_json, plain_text
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.tree.equality import is_number

_ROLES = get_args(Role)
_ANSWERS = ("output_messages", "text")
"""What makes of an object an answer that tells of itself."""

_TOLD = (*_ANSWERS, "token_usage", "cost_usd", "duration_ms")
_BESIDE = ("id", "eval_id", "trace", "trace_ref", "metadata", "timestamp")
"""What such an answer may say besides, and nobody asks of it."""

_TOKENS = {"input": "tokens_in", "output": "tokens_out", "cached": "tokens_cached"}


def is_told(value: Json) -> TypeGuard[dict[str, Any]]:
    """Whether a value is an answer that tells of itself, and not the answer."""
    return isinstance(value, dict) and any(key in value for key in _ANSWERS)


def answer_of_text(text: str, seconds: float, who: str) -> Observation:
    """The answer of a program: JSON that tells of itself, else the text, without its last line end."""
    if text.lstrip()[:1] == "{":
        try:
            value = decode(text)
        except NotJson:
            value = None
        if is_told(value):
            return answer_of_value(value, seconds, who)
    return spoken(text.removesuffix("\n").removesuffix("\r"), seconds)


def answer_of_value(value: Json, seconds: float, who: str) -> Observation:
    """The answer of whoever gives JSON: one that tells of itself, else the value as it is. CannotReplay where
    what it tells cannot be read: nothing of it is left out."""
    if not is_told(value):
        return spoken(value, seconds)
    for wrong in _faults(value):
        hint = "{output_messages: [{role, content, tool_calls}], token_usage: {input, output}, cost_usd}"
        raise cannot("BK792", f"{who} gave an answer that cannot be read: {wrong}", f"such as {hint}")
    usage = value.get("token_usage") or {}
    cost, took = value.get("cost_usd"), value.get("duration_ms")
    messages = tuple(map(message_of, value.get("output_messages") or ()))
    observation = spoken(value.get("text", ""), seconds)
    if messages:
        last = next((one for one in reversed(messages) if one.role == "assistant"), None)
        calls = tuple(call for one in messages for call in one.tool_calls)
        output = "" if last is None else _said(last.content)
        observation = replace(observation, output=output, messages=messages, tool_calls=calls)
    unread = [key for key in value if key not in (*_TOLD, *_BESIDE)]
    return replace(
        observation,
        seconds=seconds if took is None else float(took) / 1000,
        usage=Usage(
            **{ours: usage.get(theirs) for theirs, ours in _TOKENS.items()},
            cost_usd=None if cost is None else Decimal(str(cost)),
        ),
        notes=(f"{who} also told {', '.join(unread)}, which nobody reads",) if unread else (),
    )


def spoken(output: Json, seconds: float) -> Observation:
    """An answer of which nothing else is known: not even whether there were other messages."""
    return Observation(output, seconds)


def message_of(raw: dict[str, Json]) -> TraceMessage:
    """A message as it is written, in which nothing is wrong."""
    calls = tuple(map(_call_of, raw.get("tool_calls") or ()))
    return TraceMessage(raw["role"], raw.get("content", ""), calls, raw.get("name"))


def _call_of(raw: dict[str, Json]) -> ToolCall:
    took, error = raw.get("duration_ms"), raw.get("error")
    return ToolCall(
        raw["tool"] if "tool" in raw else raw["name"],
        raw.get("input"),
        raw.get("output", ABSENT),
        raw.get("id"),
        None if took is None else float(took) / 1000,
        error if error is None or isinstance(error, str) else plain_text(error),
    )


def _said(content: Json) -> Json:
    """The content as an output: text in parts as one text, and any other value as it is."""
    return plain_text(content) if content is None or is_parts(content) else content


# The same written down, so that it can be read again.


def row_of(name: str, attempt: int, observation: Observation) -> dict[str, Json]:
    """What a target answered to a case, as a target of stored answers reads it."""
    usage, cost = observation.usage, observation.usage.cost_usd
    messages = observation.messages
    if not messages and observation.tool_calls is not None:
        messages = (TraceMessage("assistant", observation.output, observation.tool_calls),)
    row: dict[str, Json] = {"id": name, "attempt": attempt}
    row |= (
        {"output_messages": [message_as_json(one) for one in messages]}
        if messages
        else {"text": observation.output}
    )
    tokens = {theirs: getattr(usage, ours) for theirs, ours in _TOKENS.items()}
    told = {key: count for key, count in tokens.items() if count is not None}
    row |= {"token_usage": told} if told else {}
    row |= {} if cost is None else {"cost_usd": cost}
    return row | {"duration_ms": round(observation.seconds * 1000)}


# What is wrong with it, each with its place.


def _faults(value: dict[str, Json]) -> Iterator[str]:
    messages = value.get("output_messages")
    if messages is not None and not isinstance(messages, list):
        yield f"`output_messages` is a list of messages, not a JSON {json_type(messages)}"
    if not messages and "text" not in value:
        yield "there is neither a message nor a `text`"
    for number, message in enumerate(messages if isinstance(messages, list) else (), 1):
        yield from (f"message {number}: {wrong}" for wrong in message_faults(message))
    usage = value.get("token_usage") or {}
    if not isinstance(usage, dict):
        yield f"`token_usage` is {{input, output, cached}}, not a JSON {json_type(usage)}"
        return
    for key in _TOKENS:
        count = usage.get(key)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            yield f"`token_usage.{key}` is a number of tokens, not {_shown(count)}"
    for key in ("cost_usd", "duration_ms"):
        if not _is_amount(value.get(key)):
            yield f"`{key}` is a number of 0 or more, not {_shown(value[key])}"


def _shown(value: Json) -> str:
    """A number that will not do; of anything else its type."""
    return str(value) if json_type(value) == "number" else f"a JSON {json_type(value)}"


def message_faults(raw: Any) -> Iterator[str]:
    """What keeps it from being a message."""
    if not isinstance(raw, dict):
        yield f"it is a JSON {json_type(raw)}, not {{role, content}}"
        return
    if raw.get("role") not in _ROLES:
        yield f"its `role` is none of {', '.join(_ROLES)}"
    if not isinstance(raw.get("name"), str | None):
        yield "its `name` is no text"
    calls = raw.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        yield f"its `tool_calls` are a JSON {json_type(calls)}, not a list"
    for number, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if not isinstance(call, dict) or not isinstance(call.get("tool", call.get("name")), str):
            yield f"tool call {number} does not say its `tool`"
        elif not isinstance(call.get("id"), str | None) or not _is_amount(call.get("duration_ms")):
            yield f"tool call {number}: its id is a text, and its duration_ms a number of 0 or more"


def _is_amount(value: Json) -> bool:
    return value is None or (is_number(value) and value >= 0)
