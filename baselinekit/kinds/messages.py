"""Conversations: the base of the kinds that take messages; messages as plain text and as JSON; and what a
target reports beside its answer. One reader for programs, services, mocks and stored answers."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, TypeGuard, get_args

from baselinekit.errors import Problem, cannot_replay
from baselinekit.files.jsontext import NotJson, decode, pretty
from baselinekit.kinds.kind import RecipeKind, Trouble, is_blank
from baselinekit.kinds.settings import INPUT
from baselinekit.model.recipes import Observation, Recipe, Usage
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Struct, field, replace
from baselinekit.values.equality import is_number
from baselinekit.values.texts import Mask, mask_and_clip

_LONGEST_SHOWN = 40


class ConversationInput(Struct):
    """The input of a target: messages, and the files that they name, as absolute paths; guidelines for the
    answer are separate. `case`: the id of the case in its file."""

    messages: list[TraceMessage]
    guideline_files: list[str] = field(default_factory=list)
    input_files: list[str] = field(default_factory=list)
    case: str = ""


class StatedConversation(Struct):
    """Messages as a record states them. A record cannot state their files: any path on the machine could then
    be passed to programs."""

    messages: list[TraceMessage]


class ConversationKind(RecipeKind):
    """A kind whose input is a conversation. A text stands for one message of the user."""

    noun = "answer"

    def normalize(self, stated_input: Any) -> Any:
        if isinstance(stated_input, StatedConversation):
            return ConversationInput(stated_input.messages)
        return (
            ConversationInput([TraceMessage("user", stated_input)])
            if isinstance(stated_input, str)
            else stated_input
        )

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if not recipe.input.messages:
            hint = "such as - {role: user, content: What is 15 + 27?}"
            yield Problem("BK108", "a conversation without a message", hint, at=(*INPUT, "messages"))
        yield from super().check(recipe)

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        words = " ".join(question_of(recipe.input).split())
        return f"{self.whom(recipe)} {mask_and_clip(words, _LONGEST_SHOWN, mask, counted=False)}".rstrip()

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        """An answer with neither text nor tool calls is a trouble, if a model may have given it."""
        if self.asks_models != "never" and not observation.tool_calls and is_blank(observation.output):
            yield Trouble("the answer is empty", "--allow-empty")

    def whom(self, recipe: Recipe) -> str:
        """Name the target in a word or two."""
        return " ".join(filter(None, (self.name, recipe.execution.target)))

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return recipe.execution.target or self.name

    def asked(self, recipe: Recipe) -> Json:
        texts = [plain_text(message.content) for message in recipe.input.messages]
        return texts[0] if len(texts) == 1 else [*texts]

    def input_of_text(self, text: str, context: Json) -> ConversationInput:
        return ConversationInput([TraceMessage("user", text_with_context(text, context))])

    def input_of_messages(
        self,
        messages: Sequence[TraceMessage],
        guideline_files: Sequence[str] = (),
        input_files: Sequence[str] = (),
        case: str = "",
    ) -> ConversationInput:
        verbatim = [replace(message, content=escape_variables_in(message.content)) for message in messages]
        return ConversationInput(verbatim, [*guideline_files], [*input_files], case)


def question_of(conversation: ConversationInput) -> str:
    """Return all messages of the user as one text."""
    return "\n\n".join(
        plain_text(message.content) for message in conversation.messages if message.role == "user"
    )


def prompt_of(conversation: ConversationInput) -> str:
    """Return the whole conversation as one text, for targets that take no messages: a single message of the
    user as it is, several messages each below its role."""
    if [message.role for message in conversation.messages] == ["user"]:
        return question_of(conversation)
    parts = [
        f"@[{message.role.capitalize()}]:\n{plain_text(message.content)}" for message in conversation.messages
    ]
    return "\n\n".join(parts)


def text_with_context(text: str, context: Json) -> str:
    """Return the question with the context of the case below it."""
    from baselinekit.files.languages import dump_yaml  # slow to import, and not needed to compare baselines

    return text if context is None else f"{text}\n\nContext:\n{dump_yaml(context)}"


def plain_text(content: Json) -> str:
    """Return the content of a message as one text. A file follows its name; other values are JSON."""
    if isinstance(content, str):
        return content
    if is_parts(content):
        return "\n\n".join(_part_texts(content))
    return "" if content is None else pretty(content, "  ")


def is_parts(content: Json) -> bool:
    """Whether a content is a list of texts and files, rather than a value that happens to be a list."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and part.get("type") in ("text", "file") for part in content)
    )


def _part_texts(parts: Json) -> Iterator[str]:
    for part in parts:
        text = str(part.get("text", part.get("value", "")))
        yield f"{heading_of(part.get('value', ''))}{text}" if part["type"] == "file" else text


def heading_of(name: Json) -> str:
    """Return what is above the text of a file in a question."""
    return f"=== {name} ===\n"


# Messages as JSON: as they are sent to programs and services, and stored with the answers of a target.


def message_as_json(message: TraceMessage) -> dict[str, Json]:
    """Return a message as JSON, with the fields that are known."""
    fields: dict[str, Json] = {"role": message.role}
    if message.name is not None:
        fields["name"] = message.name
    fields["content"] = message.content
    if message.tool_calls:
        fields["tool_calls"] = [call_as_json(call) for call in message.tool_calls]
    return fields


def call_as_json(call: ToolCall) -> dict[str, Json]:
    """Return a tool call as JSON. An output of null is kept: the tool did return something."""
    fields: dict[str, Json] = {"tool": call.name, "input": call.input}
    if call.output is not ABSENT:
        fields["output"] = call.output
    fields |= {key: value for key, value in (("id", call.id), ("error", call.error)) if value is not None}
    return fields if call.seconds is None else {**fields, "duration_ms": milliseconds(call.seconds)}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_ROLES = get_args(Role)
_ANSWERS = ("output_messages", "text")
"""An object with one of these keys is a structured answer."""

READ_KEYS = (*_ANSWERS, "token_usage", "cost_usd", "duration_ms")
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
    return Observation(text.removesuffix("\n").removesuffix("\r"), seconds)


def answer_of_value(value: Json, seconds: float, source: str) -> Observation:
    """Read an answer in JSON: a structured answer, else the value itself. CannotReplay where a structured
    answer cannot be read: nothing in it is left out."""
    if not is_structured(value):
        return Observation(value, seconds)
    for fault in _faults(value):
        hint = "{output_messages: [{role, content, tool_calls}], token_usage: {input, output}, cost_usd}"
        raise cannot_replay(
            "BK792", f"{source} gave an answer that cannot be read: {fault}", f"such as {hint}"
        )
    usage = value.get("token_usage") or {}
    cost, milliseconds = value.get("cost_usd"), value.get("duration_ms")
    messages = tuple(map(message_of, value.get("output_messages") or ()))
    observation = Observation(value.get("text", ""), seconds)
    if messages:
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        calls = tuple(call for message in messages for call in message.tool_calls)
        content = None if last is None else last.content
        output = plain_text(content) if content is None or is_parts(content) else content
        observation = replace(observation, output=output, messages=messages, tool_calls=calls)
    unread_keys = [key for key in value if key not in (*READ_KEYS, *_IGNORED_KEYS)]
    return replace(
        observation,
        seconds=seconds if milliseconds is None else float(milliseconds) / 1000,
        usage=Usage(
            **{name: usage.get(written_name) for written_name, name in _TOKENS.items()},
            cost_usd=None if cost is None else Decimal(str(cost)),
        ),
        notes=(f"{source} also gave {', '.join(unread_keys)}, which is not used",) if unread_keys else (),
    )


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
