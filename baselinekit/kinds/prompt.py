"""A prompt: a template with its inputs, sent to a model that the configuration names."""

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from baselinekit.errors import Problem
from baselinekit.kinds.kind import EMPTY, INPUT, Family, RecipeKind, Trouble, find_failed_checks, is_empty
from baselinekit.kinds.messages import plain_text, text_with_context
from baselinekit.model.recipes import Message, Observation, Recipe, Scores, Seconds, Tool
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text, escape_variables, escape_variables_in
from baselinekit.structs import Struct, field, replace
from baselinekit.values.texts import Mask, mask_and_clip

_LONGEST_SHOWN = 40
_MEDIA = (
    *("image", "image_url", "input_image", "audio", "input_audio", "video", "video_url", "document"),
    *("input_file", "tool_use", "tool_result"),
)
"""The types of parts of messages, in the forms of the providers, that are not text."""


class PromptInput(Struct):
    """The input of a model: a template file, a text or messages, with `{{name}}` for the inputs, which are
    given here (`{file: path}` for the content of a file) or in a separate file. `content` is another name of
    `text`, as in eval files."""

    prompt: str | None = None
    text: str | None = None
    content: str | None = None
    messages: list[Message] | None = None
    inputs: dict[str, Json] = field(default_factory=dict)
    inputs_from: str | None = None
    tools: list[Tool] = field(default_factory=list)


class PromptExecution(Struct):
    """The model, by its name in the configuration, and how its answer is read: as a text, JSON (`parse:
    json`), or the parts that `collect` names. `checks`: conditions for the answer (`contains: …`), whose
    outcomes the output holds."""

    type: Literal["prompt"]
    model: str = "default"
    system: str | None = None
    temperature: int | float | None = None
    max_tokens: int | None = None
    json: bool = False
    parse: Literal["text", "json"] | None = None
    collect: list[Literal["text", "tool_calls"]] | None = None
    timeout: Seconds | None = None
    checks: list[dict[str, Json]] | None = None
    scores: Scores | None = None


class PromptCurrent(Struct):
    """`current:` with a prompt. A text alone is its text."""

    input: PromptInput | str
    execution: PromptExecution


class PromptKind(RecipeKind):
    name = "prompt"
    execution = PromptExecution
    currents = (PromptCurrent,)
    asks_models = "always"

    def normalize(self, stated_input: Any) -> Any:
        """Return the input with its text under one name."""
        if isinstance(stated_input, str):
            return PromptInput(text=stated_input)
        if stated_input.content is None or stated_input.text is not None:
            return stated_input
        return replace(stated_input, text=stated_input.content, content=None)

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        names = ("prompt", "text", "content", "messages")
        stated_names = [name for name in names if getattr(recipe.input, name) is not None]
        if len(stated_names) != 1:
            names_given = " and ".join(stated_names) or "none of them"
            message = f"a prompt has one of prompt, text and messages, not {names_given}"
            yield Problem("BK352", message, "`prompt: FILE` names a template", at=INPUT)
        yield from super().check(recipe)

    def visible_troubles(self, recipe: Recipe, output: Json) -> Iterator[Trouble]:
        if is_empty(recipe, output):
            yield EMPTY
        yield from find_failed_checks(recipe, output)

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        if not observation.tool_calls and is_empty(recipe, observation.output):
            yield EMPTY
        yield from find_failed_checks(recipe, observation.output, observation.failed_checks)

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        prompt_input: PromptInput = recipe.input
        first = prompt_input.text or (prompt_input.messages[0].content if prompt_input.messages else "")
        words = " ".join(as_text(first).split())
        name = prompt_input.prompt or mask_and_clip(words, _LONGEST_SHOWN, mask, counted=False)
        return f"prompt {name} ({recipe.execution.model})"

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return os.path.splitext(os.path.basename(recipe.input.prompt or "prompt"))[0]

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        return "models", recipe.execution.model

    def inputs(self, recipe: Recipe) -> tuple[Mapping[str, Json], str | None]:
        return recipe.input.inputs, recipe.input.inputs_from

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        inputs = {**recipe.input.inputs, **escape_variables_in(dict(values))}
        return replace(recipe, input=replace(recipe.input, inputs=inputs))

    def asked(self, recipe: Recipe) -> Json:
        prompt_input: PromptInput = recipe.input
        if prompt_input.text is None and prompt_input.messages is not None:
            return [message.content for message in prompt_input.messages]
        return prompt_input.prompt or "" if prompt_input.text is None else prompt_input.text

    def input_of_messages(
        self,
        messages: Sequence[TraceMessage],
        guideline_files: Sequence[str] = (),
        input_files: Sequence[str] = (),
        case: str = "",
    ) -> PromptInput:
        return PromptInput(
            messages=[
                Message(
                    "user" if message.role == "tool" else message.role,  # which `unsent` names
                    escape_variables(plain_text(message.content)),
                )
                for message in messages
            ]
        )

    def unsent(self, messages: Sequence[TraceMessage]) -> Iterator[str]:
        for number, message in enumerate(messages, 1):
            if message.role == "tool":
                yield f"the role `tool` of message {number}"
            if message.tool_calls:
                yield f"the tool calls of message {number}"
            parts = message.content if isinstance(message.content, list) else []
            for part in parts:
                kind = part.get("type") if isinstance(part, dict) else None
                if kind == "file" and "text" not in part:
                    yield f"{part.get('value')} in message {number}, which is not UTF-8 text,"
                elif kind in _MEDIA:
                    yield f"the part `{kind}` of message {number}"

    def input_of_text(self, text: str, context: Json) -> PromptInput:
        return PromptInput(text=text_with_context(text, context))


KIND = PromptKind()
