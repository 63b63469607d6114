"""The shared base of the kinds that take messages; and messages as plain text, for models and judges that
take no parts."""

from collections.abc import Iterator, Sequence
from typing import Any

from baselinekit.errors import Problem
from baselinekit.files.jsontext import pretty
from baselinekit.kinds.kind import INPUT, RecipeKind, Trouble, is_blank
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import escape_variables_in
from baselinekit.structs import Struct, field, replace
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
    from baselinekit.files.languages import (
        dump_yaml,
    )  # slow to import, and not needed to compare baselines

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
