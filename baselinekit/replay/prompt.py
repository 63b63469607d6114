"""A prompt recipe: a template with its inputs, asked of a model that the configuration names."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import cast, get_args

from baselinekit.documents.jsontext import json_in
from baselinekit.documents.text import place
from baselinekit.errors import InvalidInput, Place, Problem, cannot, nearest
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.observation import Observation
from baselinekit.model.questions import Answer, Ask, Message, ToolCall
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.replay.files import (
    check_model,
    check_scores,
    load,
    loaded,
    read_text,
    shown,
    texts_in,
    with_files,
)
from baselinekit.replay.settings import Setting, undefined_in
from baselinekit.variables import Scope, as_text, names_in

# A prompt's template: a text file, a list of messages, or what stands in the recipe; and the inputs that
# go into it. `{{name}}` is expanded once: what an input brings in is not looked at again.


_DECLARED_INPUT = ("current", "input")
_ROLES = get_args(Message.__annotations__["role"])
_LISTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Template:
    """The messages as they are written, and what their names stand for. `places`: where in the recipe each
    is written; None: in `file`, which is a name and its text."""

    messages: tuple[Message, ...]
    places: tuple[Path | None, ...]
    scope: Scope
    inputs: dict[str, Json]
    file: tuple[str, str] = ("", "")

    def expanded(self) -> tuple[Message, ...]:
        return tuple(
            replace(message, content=as_text(self.scope.expand(message.content, _DECLARED_INPUT)))
            for message in self.messages
        )

    def problems(self) -> list[Problem]:
        """Names that nothing stands for, and inputs that no message asks for."""
        found = []
        used: set[str] = set()
        for message, at in zip(self.messages, self.places, strict=True):
            for name in names_in(message.content):
                used.add(name)
                try:
                    self.scope.lookup(name)
                except InvalidInput as error:
                    found.append(self._undefined(name, at, error.problems[0]))
        for name in self.inputs:
            if name not in used:
                hint = nearest(name, used) or "take it out, or use it"
                what = f"the template does not ask for {name!r}"
                found.append(Problem("BK351", what, hint, at=(*_DECLARED_INPUT, "inputs", name)))
        return found

    def _undefined(self, name: str, at: Path | None, problem: Problem) -> Problem:
        """Something that the configuration knows and nobody has set is told as it is."""
        path, text = self.file
        where = None if at is not None else place(path, text, _position(text, name))
        if problem.code != "BK501":
            return replace(problem, place=where, at=at)
        given = f"give it under `inputs:` ({name}: …); at a capture: --input {name}=…"
        hint = nearest(name, self.inputs) or given
        what = f"the template asks for {{{{{name}}}}}, which is no input"
        return Problem("BK350", what, hint, where, at)

    @property
    def fingerprint(self) -> str:
        """A short name for the prompt, inputs aside."""
        text = "\0".join(f"{message.role}\0{message.content}" for message in self.messages)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def template_of(asked: PromptInput, system: str | None, setting: Setting) -> Template:
    """The template of a recipe, read; its inputs read and expanded."""
    inputs = _inputs(asked, setting)
    scope = setting.scope.with_saved(inputs)
    own = {name: inputs[name] for name in asked.inputs}
    first = (Message("system", system),) if system else ()
    before = (("current", "execution", "system"),) if system else ()
    if asked.prompt is None and asked.messages is not None:
        each = ((*_DECLARED_INPUT, "messages", number) for number in range(len(asked.messages)))
        return Template((*first, *asked.messages), (*before, *each), scope, own)
    if asked.prompt is None:
        text = Message("user", cast(str, asked.text))
        return Template((*first, text), (*before, (*_DECLARED_INPUT, "text")), scope, own)
    path = as_text(setting.scope.expand(asked.prompt, (*_DECLARED_INPUT, "prompt")))
    written = read_text(setting.surroundings, path)
    name = shown(setting.surroundings, path)
    is_list = os.path.splitext(path)[1].lower() in _LISTS
    messages = _messages(written, name) if is_list else [Message("user", written)]
    places = (*before, *[None] * len(messages))
    return Template((*first, *messages), places, scope, own, (name, written))


def _inputs(asked: PromptInput, setting: Setting) -> dict[str, Json]:
    """Those of the file, and over them those that stand in the recipe."""
    found: dict[str, Json] = {}
    if asked.inputs_from is not None:
        path = as_text(setting.scope.expand(asked.inputs_from, (*_DECLARED_INPUT, "inputs_from")))
        value = load(setting.surroundings, path)
        if not isinstance(value, dict):
            what = "inputs are a mapping: name: value"
            raise InvalidInput(Problem("BK353", what, "", Place(shown(setting.surroundings, path), 1, 1)))
        found |= value
    found |= setting.scope.expand(asked.inputs, (*_DECLARED_INPUT, "inputs"))
    return {name: with_files(value, setting.surroundings) for name, value in found.items()}


def _messages(text: str, path: str) -> list[Message]:
    value = loaded(text, path)
    if isinstance(value, dict) and value.keys() == {"messages"}:
        value = value["messages"]
    if not isinstance(value, list) or not value:
        what = "a template in YAML or JSON is a list of messages"
        raise InvalidInput(
            Problem("BK353", what, "write - role: user, and content: … below it", Place(path, 1, 1))
        )
    return [_message(item, number, path) for number, item in enumerate(value, 1)]


def _message(item: Json, number: int, path: str) -> Message:
    if isinstance(item, dict) and item.keys() == {"role", "content"}:
        role, content = item["role"], item["content"]
        if role in _ROLES and isinstance(content, str):
            return Message(role, content)
    what = f"message {number} is no {{role, content}} with a role of {', '.join(_ROLES)}, and a text"
    raise InvalidInput(Problem("BK353", what, "", Place(path, 1, 1)))


def _position(text: str, name: str) -> int:
    """Where a template asks for a name first."""
    position = text.find("{{")
    while position >= 0 and name not in names_in(text[max(0, position - 1) : text.find("}}", position) + 2]):
        position = text.find("{{", position + 2)  # with the sign before it, which may be a backslash
    return max(position, 0)


# A prompt recipe: a template with its inputs, asked of a model that the configuration names.


_LONGEST_SHOWN = 40
_INPUT = ("current", "input")
_EXECUTION = ("current", "execution")


def replay_prompt(recipe: Recipe, setting: Setting) -> Observation:
    """The model's answer: a text, JSON, or what `collect` names."""
    execution = cast(PromptExecution, recipe.execution)
    template = _template(recipe, setting)
    asked = cast(PromptInput, recipe.input)
    answer = setting.clients.models.ask(
        Ask(
            model=execution.model,
            messages=template.expanded(),
            tools=tuple(asked.tools),
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
    )


def check_prompt(recipe: Recipe, setting: Setting) -> None:
    """Everything that can be wrong before a model is asked: its name, the files, the names in them."""
    execution, asked = cast(PromptExecution, recipe.execution), cast(PromptInput, recipe.input)
    problems = [
        *undefined_in(asked.inputs, setting.scope, ("current", "input", "inputs")),
        *undefined_in(asked.prompt, setting.scope, ("current", "input", "prompt")),
        *undefined_in(asked.inputs_from, setting.scope, ("current", "input", "inputs_from")),
        *_of_models(execution, setting),
        *problems_of_collect(execution.collect, execution.model, setting),
    ]
    if not problems:
        problems += _template(recipe, setting).problems()
    if problems:
        raise InvalidInput(*problems)


def files_of_prompt(recipe: Recipe, setting: Setting) -> Iterator[str]:
    """What stands in its template, in the file of its inputs, and in those that these name."""
    asked, around = cast(PromptInput, recipe.input), setting.surroundings
    for path in filter(None, (asked.prompt, asked.inputs_from)):
        yield read_text(around, as_text(setting.scope.expand(path, _INPUT)))
    if asked.inputs_from is not None:
        yield from texts_in(load(around, as_text(setting.scope.expand(asked.inputs_from, _INPUT))), around)
    yield from texts_in(setting.scope.expand(asked.inputs, _INPUT), around)


def _of_models(execution: PromptExecution, setting: Setting) -> Iterator[Problem]:
    """What is wrong with the model that is asked, and with the one that gives the scores."""
    try:
        check_model(execution.model, (*_EXECUTION, "model"), setting)
    except InvalidInput as error:
        yield from error.problems
    try:
        check_scores(execution.scores, setting)
    except InvalidInput as error:
        yield from error.problems


def problems_of_collect(collect: Sequence[str] | None, name: str, setting: Setting) -> Iterator[Problem]:
    """Tool calls of a model that has no way to tell them."""
    model = setting.surroundings.models.get(name)
    if "tool_calls" in (collect or ()) and model is not None and not model.tells_tool_calls:
        what = f"the model {name!r} cannot tell which tools were called, and `collect` names them"
        hint = "leave `tool_calls` out, or ask over `openai` or `anthropic`, or a program with `output: json`"
        yield Problem("BK617", what, hint, at=(*_EXECUTION, "collect"))


def _template(recipe: Recipe, setting: Setting) -> Template:
    execution = cast(PromptExecution, recipe.execution)
    return template_of(cast(PromptInput, recipe.input), execution.system, setting)


def _output(answer: Answer, execution: PromptExecution) -> tuple[Json, str | None]:
    """The output, and why it is none that one would keep."""
    value: Json = answer.text
    flaw = None
    if execution.parse == "json":
        value = json_in(answer.text)
        if value is ABSENT:
            value, flaw = answer.text, "the model's answer holds no JSON, as `parse: json` wants it"
    wanted = execution.collect
    if wanted is None:
        return value, flaw_of_calls(answer) or flaw
    output: dict[str, Json] = {}
    if "text" in wanted:
        output["json" if execution.parse == "json" else "text"] = value
    if "tool_calls" in wanted:
        output["tool_calls"] = calls_as_json(answer.tool_calls, f"the model {execution.model!r}")
    return output, flaw


def flaw_of_calls(answer: Answer) -> str | None:
    """Why an answer of which only the text is kept is none: it called tools instead of saying something."""
    if answer.text.strip() or not answer.tool_calls:
        return None
    hint = "`collect: [tool_calls]` (--collect tool_calls) keeps the calls"
    return f"the model called tools and said nothing: {hint}"


def calls_as_json(calls: tuple[ToolCall, ...] | None, who: str) -> list[Json]:
    """Tool calls as an output holds them: `[{name, input}]`, with the output where it is known. An empty list
    says that none was called, so it takes somebody who said so."""
    if calls is None:
        hint = "let it answer with {text, tool_calls}: an empty list where none was called"
        raise cannot("BK617", f"{who} did not say whether it called tools, and `collect` names them", hint)
    return [
        {"name": call.name, "input": call.input} | ({} if call.output is ABSENT else {"output": call.output})
        for call in calls
    ]
