"""What the kinds share that are asked with messages; and what messages say as texts, for models and judges
that take no parts."""

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any

from baselinekit.documents.jsontext import pretty
from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import INPUT, RecipeKind, Trouble, says_nothing
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json
from baselinekit.texts import Mask, clipped
from baselinekit.variables import unexpanded_in

_LONGEST_SHOWN = 40


@frozen
class ConversationInput:
    """What a target is asked: messages, and the files that they name, as absolute paths, those with rules for
    the answer apart. `case`: the case that asks, as its file calls it."""

    messages: list[TraceMessage]
    guideline_files: list[str] = field(default_factory=list)
    input_files: list[str] = field(default_factory=list)
    case: str = ""


@frozen
class StatedConversation:
    """Messages as a record states them. Which files go with them is not for it to say: paths that lead
    anywhere would be handed to programs."""

    messages: list[TraceMessage]


class ConversationKind(RecipeKind):
    """A kind whose input is a conversation. A text is one message of the user."""

    noun = "answer"

    def normalize(self, asked: Any) -> Any:
        if isinstance(asked, StatedConversation):
            return ConversationInput(asked.messages)
        return ConversationInput([TraceMessage("user", asked)]) if isinstance(asked, str) else asked

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if not recipe.input.messages:
            hint = "such as - {role: user, content: What is 15 + 27?}"
            yield Problem("BK108", "a conversation without a message", hint, at=(*INPUT, "messages"))
        yield from super().check(recipe)

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        words = " ".join(question_of(recipe.input).split())
        return f"{self.whom(recipe)} {clipped(words, _LONGEST_SHOWN, mask, counted=False)}".rstrip()

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        """Whoever is asked and says nothing has not answered."""
        if self.asks_models != "never" and not observation.tool_calls and says_nothing(observation.output):
            yield Trouble("the answer is empty", "--allow-empty")

    def whom(self, recipe: Recipe) -> str:
        """Who is asked, in a word or two."""
        return " ".join(filter(None, (self.name, recipe.execution.target)))

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return recipe.execution.target or self.name

    def asked(self, recipe: Recipe) -> Json:
        texts = [plain_text(one.content) for one in recipe.input.messages]
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
        verbatim = [replace(one, content=unexpanded_in(one.content)) for one in messages]
        return ConversationInput(verbatim, [*guideline_files], [*input_files], case)


def question_of(asked: ConversationInput) -> str:
    """What the user says, as one text: all of the user's messages."""
    return "\n\n".join(plain_text(one.content) for one in asked.messages if one.role == "user")


def prompt_of(asked: ConversationInput) -> str:
    """The whole conversation as one text, for whoever takes no messages: a single message of the user as it
    is, and of several each below its role."""
    if [one.role for one in asked.messages] == ["user"]:
        return question_of(asked)
    parts = [f"@[{one.role.capitalize()}]:\n{plain_text(one.content)}" for one in asked.messages]
    return "\n\n".join(parts)


def text_with_context(text: str, context: Json) -> str:
    """What is asked, and below it what a case says for its context."""
    from baselinekit.documents.languages import dump_yaml  # no compare of baselines needs it

    return text if context is None else f"{text}\n\nContext:\n{dump_yaml(context)}"


def plain_text(content: Json) -> str:
    """The content of a message as one text. A file stands below its name; other values are JSON."""
    if isinstance(content, str):
        return content
    if is_parts(content):
        return "\n\n".join(_texts(content))
    return "" if content is None else pretty(content, "  ")


def is_parts(content: Json) -> bool:
    """Whether a content is a list of texts and files, and not a value that happens to be a list."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and part.get("type") in ("text", "file") for part in content)
    )


def _texts(parts: Json) -> Iterator[str]:
    for part in parts:
        text = str(part.get("text", part.get("value", "")))
        yield f"=== {part.get('value', '')} ===\n{text}" if part["type"] == "file" else text


# Messages as JSON: in what programs and services are told, and in what is stored of a target's answers.


def message_as_json(message: TraceMessage) -> dict[str, Json]:
    """A message with what is known of it."""
    told: dict[str, Json] = {"role": message.role}
    if message.name is not None:
        told["name"] = message.name
    told["content"] = message.content
    if message.tool_calls:
        told["tool_calls"] = [call_as_json(call) for call in message.tool_calls]
    return told


def call_as_json(call: ToolCall) -> dict[str, Json]:
    """A tool call; an output of null is one, as a tool that gave null gave something."""
    told: dict[str, Json] = {"tool": call.name, "input": call.input}
    if call.output is not ABSENT:
        told["output"] = call.output
    told |= {key: value for key, value in (("id", call.id), ("error", call.error)) if value is not None}
    return told if call.seconds is None else {**told, "duration_ms": milliseconds(call.seconds)}


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
