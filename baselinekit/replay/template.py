"""A prompt's template: a text file, a list of messages, or what stands in the recipe; and the inputs that go
into it. `{{name}}` is expanded once: what an input brings in is not looked at again."""

import os
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import cast, get_args

from baselinekit.documents.text import place
from baselinekit.errors import InvalidInput, Place, Problem, nearest
from baselinekit.model.asking import Message
from baselinekit.model.recipes import PromptInput
from baselinekit.model.values import Json, Path
from baselinekit.replay.files import load, loaded, read_text, shown, with_files
from baselinekit.replay.setting import Setting
from baselinekit.variables import Scope, as_text, names_in

_INPUT = ("current", "input")
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
            replace(message, content=as_text(self.scope.expand(message.content, _INPUT)))
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
                mend = nearest(name, used) or "take it out, or use it"
                what = f"the template does not ask for {name!r}"
                found.append(Problem("BK351", what, mend, at=(*_INPUT, "inputs", name)))
        return found

    def _undefined(self, name: str, at: Path | None, problem: Problem) -> Problem:
        """Something that the configuration knows and nobody has set is told as it is."""
        path, text = self.file
        where = None if at is not None else place(path, text, _position(text, name))
        if problem.code != "BK501":
            return replace(problem, place=where, at=at)
        given = f"give it under `inputs:` ({name}: …); at a capture: --input {name}=…"
        mend = nearest(name, self.inputs) or given
        what = f"the template asks for {{{{{name}}}}}, which is no input"
        return Problem("BK350", what, mend, where, at)

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
        each = ((*_INPUT, "messages", number) for number in range(len(asked.messages)))
        return Template((*first, *asked.messages), (*before, *each), scope, own)
    if asked.prompt is None:
        text = Message("user", cast(str, asked.text))
        return Template((*first, text), (*before, (*_INPUT, "text")), scope, own)
    path = as_text(setting.scope.expand(asked.prompt, (*_INPUT, "prompt")))
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
        path = as_text(setting.scope.expand(asked.inputs_from, (*_INPUT, "inputs_from")))
        value = load(setting.surroundings, path)
        if not isinstance(value, dict):
            what = "inputs are a mapping: name: value"
            raise InvalidInput(Problem("BK353", what, "", Place(shown(setting.surroundings, path), 1, 1)))
        found |= value
    found |= setting.scope.expand(asked.inputs, (*_INPUT, "inputs"))
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
