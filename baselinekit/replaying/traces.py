"""Reads structured answers: the messages, the tool calls, the tokens, the cost and the time that a target
reports beside its answer. One reader for programs, services, mocks and stored answers."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, TypeGuard, get_args

from baselinekit.errors import cannot_replay
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.kinds.messages import is_parts, message_as_json, plain_text
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.structs import replace
from baselinekit.values.equality import is_number

_ROLES = get_args(Role)
_ANSWERS = ("output_messages", "text")
"""Keys of which one makes an object a structured answer."""

_READ_KEYS = (*_ANSWERS, "token_usage", "cost_usd", "duration_ms")
_IGNORED_KEYS = ("id", "eval_id", "trace", "trace_ref", "metadata", "timestamp")
"""Keys that a structured answer may have, and that are ignored without a note."""

_TOKENS = {"input": "tokens_in", "output": "tokens_out", "cached": "tokens_cached"}


def is_structured(value: Json) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a structured answer, and not the answer itself."""
    return isinstance(value, dict) and any(key in value for key in _ANSWERS)


def answer_of_text(text: str, seconds: float, source: str) -> Observation:
    """Read the answer of a program: a structured answer in JSON, else the text without its last line end."""
    if text.lstrip()[:1] == "{":
        try:
            value = decode(text)
        except NotJson:
            value = None
        if is_structured(value):
            return answer_of_value(value, seconds, source)
    return plain_observation(text.removesuffix("\n").removesuffix("\r"), seconds)


def answer_of_value(value: Json, seconds: float, source: str) -> Observation:
    """Read an answer in JSON: a structured answer, else the value itself. CannotReplay where a structured
    answer cannot be read: nothing in it is left out."""
    if not is_structured(value):
        return plain_observation(value, seconds)
    for fault in _faults(value):
        hint = "{output_messages: [{role, content, tool_calls}], token_usage: {input, output}, cost_usd}"
        raise cannot_replay(
            "BK792", f"{source} gave an answer that cannot be read: {fault}", f"such as {hint}"
        )
    usage = value.get("token_usage") or {}
    cost, milliseconds = value.get("cost_usd"), value.get("duration_ms")
    messages = tuple(map(message_of, value.get("output_messages") or ()))
    observation = plain_observation(value.get("text", ""), seconds)
    if messages:
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        calls = tuple(call for message in messages for call in message.tool_calls)
        output = "" if last is None else _as_output(last.content)
        observation = replace(observation, output=output, messages=messages, tool_calls=calls)
    unread_keys = [key for key in value if key not in (*_READ_KEYS, *_IGNORED_KEYS)]
    return replace(
        observation,
        seconds=seconds if milliseconds is None else float(milliseconds) / 1000,
        usage=Usage(
            **{name: usage.get(written_name) for written_name, name in _TOKENS.items()},
            cost_usd=None if cost is None else Decimal(str(cost)),
        ),
        notes=(f"{source} also told {', '.join(unread_keys)}, which nobody reads",) if unread_keys else (),
    )


def plain_observation(output: Json, seconds: float) -> Observation:
    """Return an answer of which nothing else is known, not even whether there were other messages."""
    return Observation(output, seconds)


def message_of(raw: dict[str, Json]) -> TraceMessage:
    """Return a message from JSON that has been checked."""
    calls = tuple(map(_call_of, raw.get("tool_calls") or ()))
    return TraceMessage(raw["role"], raw.get("content", ""), calls, raw.get("name"))


def _call_of(raw: dict[str, Json]) -> ToolCall:
    milliseconds, error = raw.get("duration_ms"), raw.get("error")
    return ToolCall(
        raw["tool"] if "tool" in raw else raw["name"],
        raw.get("input"),
        raw.get("output", ABSENT),
        raw.get("id"),
        None if milliseconds is None else float(milliseconds) / 1000,
        error if error is None or isinstance(error, str) else plain_text(error),
    )


def _as_output(content: Json) -> Json:
    """Return the content as an output: text in parts as one text, any other value unchanged."""
    return plain_text(content) if content is None or is_parts(content) else content


# A structured answer written, in the form in which it is read.


def row_of(name: str, attempt: int, observation: Observation) -> dict[str, Json]:
    """Return the answer of a target to a case, in the form that a target of stored answers reads."""
    usage, cost = observation.usage, observation.usage.cost_usd
    messages = observation.messages
    if not messages and observation.tool_calls is not None:
        messages = (TraceMessage("assistant", observation.output, observation.tool_calls),)
    row: dict[str, Json] = {"id": name, "attempt": attempt}
    row |= (
        {"output_messages": [message_as_json(message) for message in messages]}
        if messages
        else {"text": observation.output}
    )
    tokens = {written_name: getattr(usage, field) for written_name, field in _TOKENS.items()}
    token_counts = {key: count for key, count in tokens.items() if count is not None}
    row |= {"token_usage": token_counts} if token_counts else {}
    row |= {} if cost is None else {"cost_usd": cost}
    return row | {"duration_ms": round(observation.seconds * 1000)}


# What is wrong with a structured answer, each with its place.


def _faults(value: dict[str, Json]) -> Iterator[str]:
    messages = value.get("output_messages")
    if messages is not None and not isinstance(messages, list):
        yield f"`output_messages` is a list of messages, not a JSON {json_type(messages)}"
    if not messages and "text" not in value:
        yield "there is neither a message nor a `text`"
    for number, message in enumerate(messages if isinstance(messages, list) else (), 1):
        yield from (f"message {number}: {fault}" for fault in message_faults(message))
    usage = value.get("token_usage") or {}
    if not isinstance(usage, dict):
        yield f"`token_usage` is {{input, output, cached}}, not a JSON {json_type(usage)}"
        return
    for key in _TOKENS:
        count = usage.get(key)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            yield f"`token_usage.{key}` is a number of tokens, not {_describe_amount(count)}"
    for key in ("cost_usd", "duration_ms"):
        if not _is_amount(value.get(key)):
            yield f"`{key}` is a number of 0 or more, not {_describe_amount(value[key])}"


def _describe_amount(value: Json) -> str:
    """Describe an invalid amount: the number itself, or the type of another value."""
    return str(value) if json_type(value) == "number" else f"a JSON {json_type(value)}"


def message_faults(raw: Any) -> Iterator[str]:
    """Yield what is wrong with a message."""
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
