"""A prompt: a template with its inputs, sent to a model that the configuration names."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Place, Problem, cannot_replay, suggest
from baselinekit.files.jsontext import json_in
from baselinekit.files.text import place
from baselinekit.kinds import files, kind
from baselinekit.kinds.messages import plain_text, shortened, text_with_context
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, undefined_in
from baselinekit.model.recipes import Answer, Message, ModelQuestion, Observation, Recipe, Scores, Tool
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.secrets.variables import Scope, as_text, escape_variables, escape_variables_in, names_in
from baselinekit.structs import Struct, TimeLimit, field, replace
from baselinekit.values.paths import render
from baselinekit.values.texts import Mask

_MEDIA = (
    *("image", "image_url", "input_image", "audio", "input_audio", "video", "video_url", "document"),
    *("input_file", "tool_use", "tool_result"),
)
"""The types of parts of messages, in the forms of the providers, that are not text."""


class PromptInput(Struct):
    """The input of a model: a template file, a text or messages, with `{{name}}` for the inputs, which are
    given here (`{file: path}` for the content of a file) or in a separate file."""

    prompt: str | None = None
    text: str | None = None
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
    timeout: TimeLimit | None = None
    checks: list[dict[str, Json]] | None = None
    scores: Scores | None = None


_LISTS = (".yaml", ".yml", ".json")


class Template(Struct):
    """The messages as written, each with its place in the recipe (None: it comes from `file`, a path and its
    text), and the values of the names in them: all inputs, and which of them the recipe states. `{{name}}`
    is expanded once: names within an input are not expanded."""

    messages: tuple[tuple[Message, Path | None], ...]
    scope: Scope
    inputs: dict[str, Json]
    own_inputs: tuple[str, ...]
    file: tuple[str, str] = ("", "")

    def expanded(self) -> tuple[Message, ...]:
        expand = self.scope.expand
        messages = (message for message, _ in self.messages)
        return tuple(replace(one, content=as_text(expand(one.content, INPUT))) for one in messages)

    def problems(self) -> Iterator[Problem]:
        """Yield the undefined names, and the inputs that no message uses."""
        used: set[str] = set()
        for message, at in self.messages:
            for name in names_in(message.content):
                used.add(name)
                try:
                    self.scope.lookup(name)
                except InvalidInput as error:
                    yield self._undefined(name, at, error.problems[0])
        for name in (name for name in self.own_inputs if name not in used):
            hint = suggest(name, used) or "remove it, or use it"
            unused = f"the template does not use {name!r}"
            yield Problem("BK350", unused, hint, at=(*INPUT, "inputs", name))

    def _undefined(self, name: str, at: Path | None, problem: Problem) -> Problem:
        """Return the problem of an undefined name; a variable without a value keeps its own problem."""
        where, (path, text) = None, self.file
        if at is None:  # where the template first uses it; the character before it may be a backslash
            first = re.search(rf"(?<!\\)\{{\{{\s*{re.escape(name)}\b", text)
            where = place(path, text, first.start() if first else 0)
        if problem.code != "BK501":
            return replace(problem, place=where, at=at)
        message = f"the template uses {{{{{name}}}}}, which is not an input"
        hint = f"give it under `inputs:`, by --input or --var {name}=…; \\{{{{{name}}}}} is literal"
        return Problem("BK350", message, suggest(name, self.inputs) or hint, where, at)

    @property
    def fingerprint(self) -> str:
        """A hash of the prompt without its inputs."""
        text = "\0".join(f"{message.role}\0{message.content}" for message, _ in self.messages)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _template_of(recipe: Recipe, setting: Setting) -> Template:
    """Read the template of a recipe and its expanded inputs."""
    prompt_input: PromptInput = recipe.input
    inputs, file = _inputs(prompt_input, setting), ("", "")
    messages: list[tuple[Message, Path | None]] = []
    if recipe.execution.system:
        messages.append((Message("system", recipe.execution.system), (*EXECUTION, "system")))
    if prompt_input.prompt is not None:
        path = as_text(setting.scope.expand(prompt_input.prompt, (*INPUT, "prompt")))
        file = (files.path_from_root(setting.surroundings, path), files.read_text(setting.surroundings, path))
        is_list = os.path.splitext(path)[1].lower() in _LISTS
        found = _messages(*file) if is_list else [Message("user", file[1])]
        messages += ((message, None) for message in found)
    elif prompt_input.messages is not None:
        numbered = enumerate(prompt_input.messages)
        messages += ((message, (*INPUT, "messages", number)) for number, message in numbered)
    else:
        messages.append((Message("user", prompt_input.text or ""), (*INPUT, "text")))
    scope, own_inputs = setting.scope.with_saved(inputs), tuple(prompt_input.inputs)
    return Template(tuple(messages), scope, inputs, own_inputs, file)


def _inputs(prompt_input: PromptInput, setting: Setting) -> dict[str, Json]:
    """Return the inputs of the file, overridden by those of the recipe."""
    inputs: Json = {}
    if prompt_input.inputs_from is not None:
        path = as_text(setting.scope.expand(prompt_input.inputs_from, (*INPUT, "inputs_from")))
        inputs = files.load_document(setting.surroundings, path)
        if not isinstance(inputs, dict):
            at = Place(files.path_from_root(setting.surroundings, path), 1, 1)
            raise InvalidInput(Problem("BK105", "inputs must be a mapping: name: value", "", at))
    inputs = inputs | setting.scope.expand(prompt_input.inputs, (*INPUT, "inputs"))
    return {name: files.with_files(value, setting.surroundings) for name, value in inputs.items()}


def _messages(path: str, text: str) -> list[Message]:
    """Return the messages of a template in YAML or JSON."""
    items, at = files.parse_document(text, path), Place(path, 1, 1)
    if not isinstance(items, list) or not items:
        message = "a template in YAML or JSON must be a list of messages"
        raise InvalidInput(Problem("BK105", message, "write - role: user, and content: … below it", at))
    messages, problems = read_as(list[Message], items)
    if messages is None:
        found = (Problem("BK105", f"{render(one.at or ())}: {one.message}", one.hint, at) for one in problems)
        raise InvalidInput(*found)
    return messages


WROTE_NO_TEXT = "it called tools and wrote no text: `collect: [tool_calls]` (--collect tool_calls) keeps them"


def loss_of_calls(calls: Sequence[ToolCall] | None, name: str) -> str | None:
    """Return why tool calls that nothing collects are a loss. `name`: what `collect` calls the text."""
    if not calls:
        return None
    both = f"`collect: [{name}, tool_calls]` (--collect {name} --collect tool_calls) keeps both"
    called = ", ".join(dict.fromkeys(call.name for call in calls))
    return f"it called {called} beside its {name}: {both}, `--collect {name}` the {name} alone"


def collected(names: Sequence[str], value: Json, calls: Sequence[ToolCall] | None, source: str) -> Json:
    """Return the value and the tool calls that `collect` names: `[{name, input}]`, with the output where it
    is known. Unknown calls are an error: an empty list means that no tool was called."""
    if calls is None and "tool_calls" in names:
        hint = "make it answer with {text, tool_calls}: an empty list where none was called"
        message = f"{source} did not say whether it called tools, and `collect` names them"
        raise cannot_replay("BK617", message, hint)
    described = ({"name": call.name, "input": call.input, "output": call.output} for call in calls or ())
    called = [{key: part for key, part in call.items() if part is not ABSENT} for call in described]
    return {name: called if name == "tool_calls" else value for name in names}


def observed(answer: Answer, output: Json, model: str, prompt: str, flaw: str | None) -> Observation:
    """Return the observation of a model's answer. `prompt`: a hash of what it was asked."""
    return Observation(
        output,
        answer.seconds,
        answer.attempts,
        tool_calls=answer.tool_calls,
        usage=answer.usage,
        environment={"model": answer.served or model, "prompt": prompt},
        flaw=flaw,
        recorded=answer.recorded,
    )


class PromptKind(kind.RecipeKind):
    name = "prompt"
    execution = PromptExecution
    currents = (kind.current_form("Prompt", PromptInput | str, PromptExecution),)
    asks_models = "always"

    def normalize(self, stated_input: Any) -> Any:
        return PromptInput(text=stated_input) if isinstance(stated_input, str) else stated_input

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        stated = [getattr(recipe.input, name) is not None for name in ("prompt", "text", "messages")]
        if stated.count(True) != 1:
            message = "a prompt has exactly one of `prompt`, `text` and `messages`"
            yield Problem("BK108", message, "`prompt: FILE` names a template", at=INPUT)

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[kind.Trouble]:
        if not observation.tool_calls and kind.is_empty(recipe, observation.output):
            yield kind.EMPTY
        yield from kind.find_failed_checks(recipe, observation)

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        prompt_input: PromptInput = recipe.input
        first = prompt_input.text or (prompt_input.messages[0].content if prompt_input.messages else "")
        name = prompt_input.prompt or shortened(as_text(first), mask)
        return f"prompt {name} ({recipe.execution.model})"

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return os.path.splitext(os.path.basename(recipe.input.prompt or "prompt"))[0]

    def asks(self, recipe: Recipe) -> tuple[kind.Family, str]:
        return "models", recipe.execution.model

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        inputs = {**recipe.input.inputs, **escape_variables_in(dict(values))}
        return replace(recipe, input=replace(recipe.input, inputs=inputs))

    def asked(self, recipe: Recipe) -> Json:
        prompt_input: PromptInput = recipe.input
        if prompt_input.text is None and prompt_input.messages is not None:
            return [message.content for message in prompt_input.messages]
        return prompt_input.prompt or "" if prompt_input.text is None else prompt_input.text

    def input_of_messages(
        self, messages: Sequence[TraceMessage], files: kind.MessageFiles = ((), ()), case: str = ""
    ) -> PromptInput:
        texts = (escape_variables(plain_text(message.content)) for message in messages)
        roles = ("user" if message.role == "tool" else message.role for message in messages)  # see `unsent`
        return PromptInput(messages=[Message(*pair) for pair in zip(roles, texts, strict=True)])

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

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        """Return the model's answer: a text, JSON, or what `collect` names."""
        execution: PromptExecution = recipe.execution
        template = _template_of(recipe, setting)
        question = ModelQuestion(
            execution.model,
            template.expanded(),
            tuple(recipe.input.tools),
            temperature=execution.temperature,
            max_tokens=execution.max_tokens,
            json=execution.json,
            timeout=execution.timeout,
        )
        answer = setting.ask(question)
        flaw, collect = None, execution.collect
        output: Json = answer.text
        if execution.parse == "json" and (output := json_in(answer.text)) is ABSENT:
            output, flaw = answer.text, "the model's answer contains no JSON, which `parse: json` requires"
        if collect is not None:
            name = "json" if execution.parse == "json" else "text"
            names = [name if part == "text" else part for part in ("text", "tool_calls") if part in collect]
            output = collected(names, output, answer.tool_calls, f"the model {execution.model!r}")
        elif not answer.text.strip() and answer.tool_calls:
            flaw = WROTE_NO_TEXT
        loss = loss_of_calls(answer.tool_calls, "text") if collect is None else None
        return replace(observed(answer, output, execution.model, template.fingerprint, flaw), loss=loss)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Check what can be known before the model is asked: its name, the files, the names in them."""
        execution: PromptExecution = recipe.execution
        problems: list[Problem] = []
        for name in ("inputs", "prompt", "inputs_from"):
            problems += undefined_in(getattr(recipe.input, name), setting.scope, (*INPUT, name))
        at, scores = (*EXECUTION, "model"), execution.scores
        for check in (partial(files.check_model, execution.model, at), partial(files.check_scores, scores)):
            try:
                check(setting)
            except InvalidInput as error:
                problems += error.problems
        problems = problems or list(_template_of(recipe, setting).problems())
        if problems:
            raise InvalidInput(*problems)

    def expanded_inputs(self, recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
        """Return its inputs, including those of the file, and the names in its template."""
        template = _template_of(recipe, setting)
        used_names = frozenset(name for message, _ in template.messages for name in names_in(message.content))
        return template.inputs, used_names

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[str]:
        """Yield the texts of its template, of the file of its inputs, and of the files that inputs name."""
        prompt_input, surroundings, expand = recipe.input, setting.surroundings, setting.scope.expand
        for path in filter(None, (prompt_input.prompt, prompt_input.inputs_from)):
            yield files.read_text(surroundings, as_text(expand(path, INPUT)))
        if prompt_input.inputs_from is not None:
            document = files.load_document(surroundings, as_text(expand(prompt_input.inputs_from, INPUT)))
            yield from files.texts_in(document, surroundings)
        yield from files.texts_in(expand(prompt_input.inputs, INPUT), surroundings)


PROMPT = PromptKind()
