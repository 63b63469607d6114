"""Conversations: the base of the kinds that take messages, messages as plain text and as JSON, and what a
target reports beside its answer, read in one way from programs, services, mocks and stored answers."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard, TypeVar

from baselinekit.errors import cannot_replay
from baselinekit.files.jsontext import json_or_absent, pretty
from baselinekit.kinds.kind import MessageFiles, RecipeKind, Trouble, is_blank
from baselinekit.model.recipes import Observation, Recipe, Usage
from baselinekit.model.traces import Role, ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import read_as
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Count, Dollars, NotEmpty, NotNegative, Struct, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import Mask, mask_and_clip

T = TypeVar("T")
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

    messages: NotEmpty[TraceMessage]


class ConversationKind(RecipeKind):
    """A kind whose input is a conversation. A text is one message of the user."""

    noun = "answer"

    def normalize(self, stated_input: Any) -> Any:
        if isinstance(stated_input, str):
            return ConversationInput([TraceMessage("user", stated_input)])
        if isinstance(stated_input, StatedConversation):
            return ConversationInput(stated_input.messages)
        return stated_input

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"{self.whom(recipe)} {shortened(question_of(recipe.input), mask)}".rstrip()

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
        self, messages: Sequence[TraceMessage], files: MessageFiles = ((), ()), case: str = ""
    ) -> ConversationInput:
        verbatim = [replace(message, content=escape_variables_in(message.content)) for message in messages]
        return ConversationInput(verbatim, [*files[0]], [*files[1]], case)


def shortened(text: str, mask: Mask) -> str:
    """Return the beginning of a text, on one line."""
    return mask_and_clip(" ".join(text.split()), _LONGEST_SHOWN, mask, counted=False)


def question_of(conversation: ConversationInput) -> str:
    """Return all messages of the user as one text."""
    questions = (message for message in conversation.messages if message.role == "user")
    return "\n\n".join(plain_text(question.content) for question in questions)


def prompt_of(conversation: ConversationInput) -> str:
    """Return the whole conversation as one text, for targets that take no messages: a single message of the
    user as it is, several messages each below its role."""
    if [message.role for message in conversation.messages] == ["user"]:
        return question_of(conversation)
    parts = [f"@[{turn.role.capitalize()}]:\n{plain_text(turn.content)}" for turn in conversation.messages]
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
        texts = []
        for part in content:
            heading = f"=== {part.get('value', '')} ===\n" if part["type"] == "file" else ""
            texts.append(f"{heading}{part.get('text', part.get('value', ''))}")
        return "\n\n".join(texts)
    return "" if content is None else pretty(content, "  ")


def is_parts(content: Json) -> bool:
    """Whether a content is a list of texts and files, rather than a value that happens to be a list."""
    parts = content if isinstance(content, list) else []
    types = [part.get("type") if isinstance(part, dict) else None for part in parts]
    return bool(types) and all(type in ("text", "file") for type in types)


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


def question_as_json(conversation: ConversationInput, asker: str) -> dict[str, Json]:
    """Return the JSON by which a service, or a program that answers many cases at once, is asked about a
    case."""
    return {
        "id": conversation.case or asker,
        "question": question_of(conversation),
        "messages": [message_as_json(message) for message in conversation.messages],
        "guideline_files": conversation.guideline_files,
        "input_files": conversation.input_files,
    }


def call_as_json(call: ToolCall) -> dict[str, Json]:
    """Return a tool call as JSON. An output of null is kept: the tool did return something."""
    fields: dict[str, Json] = {"tool": call.name, "input": call.input}
    if call.output is not ABSENT:
        fields["output"] = call.output
    fields |= {key: value for key, value in (("id", call.id), ("error", call.error)) if value is not None}
    return fields if call.seconds is None else {**fields, "duration_ms": milliseconds(call.seconds)}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


_ANSWERS = ("output_messages", "text")
"""An object with one of these keys is a structured answer."""

READ_KEYS = (*_ANSWERS, "token_usage", "cost_usd", "duration_ms")
_IGNORED_KEYS = ("id", "eval_id", "trace", "trace_ref", "metadata", "timestamp")
"""Keys that a structured answer may have, and that are ignored without a note."""


class AnsweredCall(Struct, forbid_unknown_fields=False):
    """A tool call of a structured answer."""

    tool: str
    input: Json = None
    output: Json = ABSENT
    id: str | None = None
    duration_ms: NotNegative | None = None
    error: str | None = None

    def as_call(self) -> ToolCall:
        seconds = None if self.duration_ms is None else self.duration_ms / 1000
        return ToolCall(self.tool, self.input, self.output, self.id, seconds, self.error)


class AnsweredMessage(Struct, forbid_unknown_fields=False):
    role: Role
    content: Json = ""
    tool_calls: list[AnsweredCall] | None = None
    name: str | None = None

    def as_message(self) -> TraceMessage:
        calls = tuple(call.as_call() for call in self.tool_calls or ())
        return TraceMessage(self.role, self.content, calls, self.name)


class AnsweredTokens(Struct, forbid_unknown_fields=False):
    input: Count | None = None
    output: Count | None = None
    cached: Count | None = None


class StructuredAnswer(Struct, forbid_unknown_fields=False):
    """What a target may answer besides its text. Other keys are named in a note."""

    output_messages: list[AnsweredMessage] | None = None
    text: Json = ""
    token_usage: AnsweredTokens = AnsweredTokens()
    cost_usd: Dollars | None = None
    duration_ms: NotNegative | None = None


_FORM = "{output_messages: [{role, content, tool_calls}], token_usage: {input, output}, cost_usd}"


def is_structured(value: Json) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a structured answer, and not the answer itself."""
    return isinstance(value, dict) and any(key in value for key in _ANSWERS)


def answer_of_text(text: str, seconds: float, source: str) -> Observation:
    """Read the answer of a program: a structured answer in JSON, else the text without its last line end."""
    if text.lstrip()[:1] == "{" and is_structured(value := json_or_absent(text)):
        return answer_of_value(value, seconds, source)
    return Observation(text.removesuffix("\n").removesuffix("\r"), seconds)


def answer_of_value(value: Json, seconds: float, source: str) -> Observation:
    """Read an answer in JSON: a structured answer, else the value itself. CannotReplay where a structured
    answer cannot be read: nothing in it is left out."""
    if not is_structured(value):
        return Observation(value, seconds)
    subject = f"{source} gave an answer that cannot be read"
    stated = read_stated(StructuredAnswer, value, "BK354", subject, _FORM)
    if not stated.output_messages and "text" not in value:
        message = f"{subject}: there is neither a message nor a `text`"
        raise cannot_replay("BK354", message, f"such as {_FORM}")
    tokens = stated.token_usage
    observation = Observation(value.get("text", ""), seconds)
    if messages := tuple(message.as_message() for message in stated.output_messages or ()):
        last = next((message for message in reversed(messages) if message.role == "assistant"), None)
        calls = tuple(call for message in messages for call in message.tool_calls)
        content = None if last is None else last.content
        output = plain_text(content) if content is None or is_parts(content) else content
        observation = replace(observation, output=output, messages=messages, tool_calls=calls)
    unread_keys = [key for key in value if key not in (*READ_KEYS, *_IGNORED_KEYS)]
    return replace(
        observation,
        seconds=seconds if stated.duration_ms is None else stated.duration_ms / 1000,
        usage=Usage(tokens.input, tokens.output, stated.cost_usd, tokens.cached),
        notes=(f"{source} also gave {', '.join(unread_keys)}, which is not used",) if unread_keys else (),
    )


def read_stated(kind: type[T], value: Json, code: str, subject: str, form: str) -> T:
    """Return what a program states as a struct, or raise CannotReplay with all its mistakes. They show no
    values: cut before it is masked, a secret would not be found."""
    stated, problems = read_as(kind, value)
    if stated is None:
        faults = (f"{render(one.at or ())}: {one.message.partition(', found ')[0]}" for one in problems)
        raise cannot_replay(code, f"{subject}: {'; '.join(faults)}", f"such as {form}")
    return stated


# A structured answer written, in the form in which it is read.


def row_of(name: str, attempt: int, observation: Observation) -> dict[str, Json]:
    """Return the answer of a target to a case, in the form that a target of stored answers reads."""
    usage, cost = observation.usage, observation.usage.cost_usd
    messages = observation.messages
    if not messages and observation.tool_calls is not None:
        messages = (TraceMessage("assistant", observation.output, observation.tool_calls),)
    row: dict[str, Json] = {"id": name, "attempt": attempt}
    if messages:
        row["output_messages"] = [message_as_json(message) for message in messages]
    else:
        row["text"] = observation.output
    tokens = {"input": usage.tokens_in, "output": usage.tokens_out, "cached": usage.tokens_cached}
    token_counts = {key: count for key, count in tokens.items() if count is not None}
    row |= {"token_usage": token_counts} if token_counts else {}
    row |= {} if cost is None else {"cost_usd": cost}
    return row | {"duration_ms": milliseconds(observation.seconds)}
