"""Replays a prompt: a template with its inputs is asked of a model that the configuration names."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import get_args

from baselinekit.documents.jsontext import json_in
from baselinekit.documents.text import place
from baselinekit.errors import InvalidInput, Place, Problem, cannot, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.recipes import Answer, Ask, Message, Observation, Recipe
from baselinekit.model.traces import ToolCall
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.replaying.files import (
    check_model,
    check_scores,
    load,
    loaded,
    read_text,
    shown,
    texts_in,
    with_files,
)
from baselinekit.replaying.settings import Row, Setting, undefined_in
from baselinekit.variables import Scope, as_text, names_in

_ROLES = get_args(Message.__annotations__["role"])
_LISTS = (".yaml", ".yml", ".json")


@frozen
class Template:
    """The messages as they are written, and what their names stand for. `places`: where in the recipe each
    is written; None: in `file`, which is a name and its text. `{{name}}` is expanded once: what an input
    brings in is not looked at again."""

    messages: tuple[Message, ...]
    places: tuple[Path | None, ...]
    scope: Scope
    inputs: dict[str, Json]
    file: tuple[str, str] = ("", "")

    def expanded(self) -> tuple[Message, ...]:
        return tuple(
            replace(message, content=as_text(self.scope.expand(message.content, INPUT)))
            for message in self.messages
        )

    def problems(self) -> Iterator[Problem]:
        """Names that nothing stands for, and inputs that no message asks for."""
        used: set[str] = set()
        for message, at in zip(self.messages, self.places, strict=True):
            for name in names_in(message.content):
                used.add(name)
                try:
                    self.scope.lookup(name)
                except InvalidInput as error:
                    yield self._undefined(name, at, error.problems[0])
        for name in self.inputs:
            if name not in used:
                what, hint = f"the template does not use {name!r}", nearest(name, used)
                yield Problem("BK351", what, hint or "remove it, or use it", at=(*INPUT, "inputs", name))

    def _undefined(self, name: str, at: Path | None, problem: Problem) -> Problem:
        """Something that the configuration knows and nobody has set is told as it is."""
        path, text = self.file
        position = text.find("{{")  # where the template asks for it first
        while position >= 0:  # read with the sign before it, which may be a backslash
            if name in names_in(text[max(0, position - 1) : text.find("}}", position) + 2]):
                break
            position = text.find("{{", position + 2)
        where = None if at is not None else place(path, text, max(position, 0))
        if problem.code != "BK501":
            return replace(problem, place=where, at=at)
        hint = nearest(name, self.inputs) or (
            f"give it under `inputs:` ({name}: …); at a capture: --input {name}=…"
        )
        what = f"the template uses {{{{{name}}}}}, which is not an input"
        return Problem("BK350", what, hint, where, at)

    @property
    def fingerprint(self) -> str:
        """A short name for the prompt, inputs aside."""
        text = "\0".join(f"{message.role}\0{message.content}" for message in self.messages)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _template_of(recipe: Recipe, setting: Setting) -> Template:
    """The template of a recipe, read; its inputs read and expanded."""
    asked: PromptInput = recipe.input
    inputs = _inputs(asked, setting)
    scope = setting.scope.with_saved(inputs)
    own = {name: inputs[name] for name in asked.inputs}
    messages: list[Message] = []
    places: list[Path | None] = []
    file = ("", "")
    if recipe.execution.system:
        messages.append(Message("system", recipe.execution.system))
        places.append((*EXECUTION, "system"))
    if asked.prompt is not None:
        path = as_text(setting.scope.expand(asked.prompt, (*INPUT, "prompt")))
        file = (shown(setting.surroundings, path), read_text(setting.surroundings, path))
        is_list = os.path.splitext(path)[1].lower() in _LISTS
        messages += _messages(*file) if is_list else [Message("user", file[1])]
        places += [None] * (len(messages) - len(places))
    elif asked.messages is not None:
        messages += asked.messages
        places += ((*INPUT, "messages", number) for number in range(len(asked.messages)))
    else:
        messages.append(Message("user", asked.text or ""))
        places.append((*INPUT, "text"))
    return Template(tuple(messages), tuple(places), scope, own, file)


def _inputs(asked: PromptInput, setting: Setting) -> dict[str, Json]:
    """Those of the file, and over them those that stand in the recipe."""
    inputs: dict[str, Json] = {}
    if asked.inputs_from is not None:
        path = as_text(setting.scope.expand(asked.inputs_from, (*INPUT, "inputs_from")))
        value = load(setting.surroundings, path)
        if not isinstance(value, dict):
            at = Place(shown(setting.surroundings, path), 1, 1)
            raise InvalidInput(Problem("BK353", "inputs must be a mapping: name: value", "", at))
        inputs |= value
    inputs |= setting.scope.expand(asked.inputs, (*INPUT, "inputs"))
    return {name: with_files(value, setting.surroundings) for name, value in inputs.items()}


def _messages(path: str, text: str) -> Iterator[Message]:
    """The messages of a template in YAML or JSON."""
    items, at = loaded(text, path), Place(path, 1, 1)
    if isinstance(items, dict) and items.keys() == {"messages"}:
        items = items["messages"]
    if not isinstance(items, list) or not items:
        hint = "write - role: user, and content: … below it"
        raise InvalidInput(
            Problem("BK353", "a template in YAML or JSON must be a list of messages", hint, at)
        )
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or item.keys() != {"role", "content"}:
            item = {"role": None, "content": None}
        if item["role"] not in _ROLES or not isinstance(item["content"], str):
            what = f"message {number} is not {{role, content}} with a role of {', '.join(_ROLES)}, and a text"
            raise InvalidInput(Problem("BK353", what, "", at))
        yield Message(item["role"], item["content"])


def replay_prompt(recipe: Recipe, setting: Setting) -> Observation:
    """The model's answer: a text, JSON, or what `collect` names."""
    execution: PromptExecution = recipe.execution
    template = _template_of(recipe, setting)
    answer = setting.clients.models.ask(
        Ask(
            model=execution.model,
            messages=template.expanded(),
            tools=tuple(recipe.input.tools),
            temperature=execution.temperature,
            max_tokens=execution.max_tokens,
            json=execution.json,
            turn=setting.turn,
            timeout=execution.timeout,
            asker=setting.asker,
        )
    )
    output, flaw = _output(answer, execution)
    return Observation(
        output,
        answer.seconds,
        answer.attempts,
        tool_calls=answer.tool_calls,
        usage=answer.usage,
        environment={"model": answer.served or execution.model, "prompt": template.fingerprint},
        flaw=flaw,
        recorded=answer.recorded,
    )


def check_prompt(recipe: Recipe, setting: Setting) -> None:
    """Everything that can be wrong before a model is asked: its name, the files, the names in them."""
    execution: PromptExecution = recipe.execution
    problems: list[Problem] = []
    for name in ("inputs", "prompt", "inputs_from"):
        problems += undefined_in(getattr(recipe.input, name), setting.scope, (*INPUT, name))
    try:
        check_model(execution.model, (*EXECUTION, "model"), setting)
    except InvalidInput as error:
        problems += error.problems
    try:
        check_scores(execution.scores, setting)
    except InvalidInput as error:
        problems += error.problems
    problems += problems_of_collect(execution.collect, execution.model, setting)
    problems = problems or list(_template_of(recipe, setting).problems())
    if problems:
        raise InvalidInput(*problems)


def inputs_of_prompt(recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
    """Its inputs, those of the file too, and the names in its template."""
    template = _template_of(recipe, setting)
    asked = frozenset(name for message in template.messages for name in names_in(message.content))
    return _inputs(recipe.input, setting), asked


def files_of_prompt(recipe: Recipe, setting: Setting) -> Iterator[str]:
    """What stands in its template, in the file of its inputs, and in those that these name."""
    asked, around, expand = recipe.input, setting.surroundings, setting.scope.expand
    for path in filter(None, (asked.prompt, asked.inputs_from)):
        yield read_text(around, as_text(expand(path, INPUT)))
    if asked.inputs_from is not None:
        yield from texts_in(load(around, as_text(expand(asked.inputs_from, INPUT))), around)
    yield from texts_in(expand(asked.inputs, INPUT), around)


def problems_of_collect(collect: Sequence[str] | None, name: str, setting: Setting) -> Iterator[Problem]:
    """Tool calls of a model that has no way to tell them."""
    model = setting.surroundings.models.get(name)
    if "tool_calls" in (collect or ()) and model is not None and not model.tells_tool_calls:
        what = f"the model {name!r} cannot report which tools were called, and `collect` names them"
        hint = "leave `tool_calls` out, or use `openai` or `anthropic`, or a program with `output: json`"
        yield Problem("BK617", what, hint, at=(*EXECUTION, "collect"))


def _output(answer: Answer, execution: PromptExecution) -> tuple[Json, str | None]:
    """The output, and why it is none that one would keep."""
    value: Json = answer.text
    flaw = None
    if execution.parse == "json":
        value = json_in(answer.text)
        if value is ABSENT:
            value, flaw = answer.text, "the model's answer contains no JSON, which `parse: json` requires"
    if execution.collect is None:
        return value, flaw_of_calls(answer) or flaw
    output: dict[str, Json] = {}
    if "text" in execution.collect:
        output["json" if execution.parse == "json" else "text"] = value
    if "tool_calls" in execution.collect:
        output["tool_calls"] = calls_as_json(answer.tool_calls, f"the model {execution.model!r}")
    return output, flaw


def flaw_of_calls(answer: Answer) -> str | None:
    """Why an answer of which only the text is kept is none: it called tools instead of saying something."""
    if answer.text.strip() or not answer.tool_calls:
        return None
    hint = "`collect: [tool_calls]` (--collect tool_calls) keeps the calls"
    return f"the model called tools and wrote no text: {hint}"


def calls_as_json(calls: tuple[ToolCall, ...] | None, who: str) -> list[Json]:
    """Tool calls as an output holds them: `[{name, input}]`, with the output where it is known. An empty list
    says that none was called, so it takes somebody who said so."""
    if calls is None:
        hint = "make it answer with {text, tool_calls}: an empty list where none was called"
        raise cannot("BK617", f"{who} did not say whether it called tools, and `collect` names them", hint)
    return [
        {"name": call.name, "input": call.input} | ({} if call.output is ABSENT else {"output": call.output})
        for call in calls
    ]


ROW = Row(check_prompt, replay_prompt, files_of_prompt, inputs_of_prompt)
