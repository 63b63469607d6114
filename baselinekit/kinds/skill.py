"""A skill: one that the configuration declares by name, or a folder with a SKILL.md."""

import os
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Literal

from baselinekit.clients.programs import children
from baselinekit.errors import InvalidInput, cannot_replay, suggest
from baselinekit.files.jsontext import json_in, json_or_absent, pretty, to_bytes
from baselinekit.kinds import files
from baselinekit.kinds.bodies import text_or_hash
from baselinekit.kinds.http import HTTP, HttpExecution
from baselinekit.kinds.kind import EMPTY, STORED, Family, RecipeKind, Trouble, current_form, is_empty
from baselinekit.kinds.messages import read_stated
from baselinekit.kinds.prompt import WROTE_NO_TEXT, collected, loss_of_calls, observed
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, invalid
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import (
    Message,
    ModelQuestion,
    Observation,
    ProcessSpec,
    Recipe,
    Scores,
    Skill,
    Usage,
)
from baselinekit.model.traces import StatedCall
from baselinekit.model.values import ABSENT, Json
from baselinekit.secrets.variables import NAME, escape_variables_in
from baselinekit.structs import Struct, TimeLimit, field, replace
from baselinekit.values.texts import Mask


class SkillExecution(Struct):
    """A skill by its name in the configuration; it receives `input` verbatim."""

    type: Literal["skill"]
    skill_name: str
    parameters: dict[str, Json] = field(default_factory=dict)
    timeout: TimeLimit | None = None
    collect: list[Literal["output", "tool_calls"]] | None = None
    scores: Scores | None = None


_TIMEOUT = 60.0
_FOLDERS = ("skills", os.path.join(".claude", "skills"))
_FRONT_MATTER = lazy_pattern(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_LINK = lazy_pattern(r"\]\(([^)\s#:]+\.(?:md|txt))\)")
_MOST_LINKED = 200_000


def _resolve_skill(recipe: Recipe, setting: Setting) -> tuple[SkillExecution, Skill]:
    """Return the execution with its variables expanded, and the skill: as the configuration declares it, else
    the folder of its name."""
    execution: SkillExecution = setting.scope.expand(recipe.execution, EXECUTION)
    name, surroundings = execution.skill_name, setting.surroundings
    at = (*EXECUTION, "skill_name")
    if name in surroundings.skills:
        skill = surroundings.skills[name]
        if [skill.command, skill.python, skill.http, skill.folder].count(None) != 3:
            forms = "`command: [PROGRAM, …]`, `python: module:function`, `http: {…}`, `folder: PATH`"
            hint = f"give it one of {forms}"
            raise invalid("BK324", f"the skill {name!r} is not declared as exactly one kind", hint, at)
        return execution, skill
    for folder in _FOLDERS if NAME.fullmatch(name) else ():
        file = os.path.join(folder, name, "SKILL.md")
        if files.read_if_there(surroundings, file, surroundings.root):
            return execution, Skill(folder=os.path.dirname(file))
    hint = suggest(name, surroundings.skills) or "declare it in baselinekit.yaml"
    example = f"skills: {{{name}: {{command: [PROGRAM]}}}}, or write skills/{name}/SKILL.md"
    raise invalid("BK324", f"no skill is called {name!r}", f"{hint} ({example})", at)


def _expanded_input(recipe: Recipe, skill: Skill, setting: Setting) -> Json:
    """Return the expanded input, with the paths that the configuration calls files as `{file: path}`."""
    value = setting.scope.expand(recipe.input, INPUT)
    if not isinstance(value, dict):
        return value
    files = {name: {"file": value[name]} for name in skill.files if isinstance(value.get(name), str)}
    return {**value, **files}


# A skill that is a folder: its SKILL.md holds the instructions that a model follows.


def _ask_model(skill: Skill, skill_input: Json, execution: SkillExecution, setting: Setting) -> Observation:
    text = _instructions(skill.folder or "", setting)
    parts = []  # a text unchanged, a mapping as one part for each name
    for name, value in (skill_input if isinstance(skill_input, dict) else {"": skill_input}).items():
        rendered = value if isinstance(value, str) else pretty(value, "  ")
        parts.append(f"<{name}>\n{rendered}\n</{name}>" if name else rendered)
    if execution.parameters:
        parts.append(f"<parameters>\n{pretty(dict(execution.parameters), '  ')}\n</parameters>")
    messages = (Message("system", text), Message("user", "\n\n".join(parts)))
    timeout = skill.timeout if execution.timeout is None else execution.timeout
    answer = setting.ask(ModelQuestion(skill.model, messages, timeout=timeout))
    value, prompt = json_in(answer.text), sha256(text.encode()).hexdigest()[:16]
    has_no_text = not answer.text.strip() and answer.tool_calls and not execution.collect
    output = answer.text if value is ABSENT else value
    return observed(answer, output, skill.model, prompt, WROTE_NO_TEXT if has_no_text else None)


def _instructions(folder: str, setting: Setting) -> str:
    """Return SKILL.md and the texts in its folder that it links to: a model cannot open them itself."""
    path = os.path.join(setting.surroundings.root, folder)
    text = _FRONT_MATTER.sub("", files.read_text(setting.surroundings, os.path.join(path, "SKILL.md")))
    parts, size = [text], 0
    for link in dict.fromkeys(_LINK.findall(text)):
        linked = os.path.join(path, link)
        if not files.inside(setting.surroundings, linked).startswith(os.path.realpath(path) + os.sep):
            continue
        content = files.read_if_there(setting.surroundings, linked)
        size += len(content or b"")
        if content is not None and size <= _MOST_LINKED:
            parts.append(f"# {link}\n\n{content.decode('utf-8', 'replace')}")
    return "\n\n".join(parts)


# A skill that is a program, a callable or a service.


def _run_program(skill: Skill, skill_input: Json, execution: SkillExecution, setting: Setting) -> Observation:
    timeout = next((limit for limit in (execution.timeout, skill.timeout) if limit is not None), _TIMEOUT)
    source = f"the skill {execution.skill_name}"
    process = ProcessSpec(
        argv=tuple(_argv(skill, execution.skill_name, setting)),
        stdin=to_bytes(_payload(skill_input, execution)),
        env=children.child_environment(skill.env),
        cwd=setting.surroundings.folder,
        timeout=float(timeout),
        mask=setting.redactor.mask,
    )
    finished = setting.clients.execute(process)
    if skill.python:
        output = children.returned_by(finished, source, "BK323", process.mask)
        if output is ABSENT:
            last_words = children.last_error_line(finished.stderr, process.mask)
            raise cannot_replay("BK323", f"{source} gave no result{last_words}")
        return Observation(output, finished.seconds)
    children.require_success(finished, source, "BK323", process.mask)
    output = text_or_hash(finished.stdout)
    if isinstance(output, str):
        value = json_or_absent(output)
        output = output.removesuffix("\n").removesuffix("\r") if value is ABSENT else value
    return Observation(output, finished.seconds)


def _argv(skill: Skill, name: str, setting: Setting) -> list[str]:
    root = setting.surroundings.root
    if skill.command:
        return children.configured_argv(skill.command, root, f"correct `skills: {name}:` in baselinekit.yaml")
    if not (argv := children.callable_argv(skill.python or "", root)):
        raise invalid("BK324", f"the skill {name!r} has `python: {skill.python}`", "write module:function")
    return argv


def _payload(skill_input: Json, execution: SkillExecution) -> dict[str, Json]:
    return {"skill": execution.skill_name, "input": skill_input, "parameters": execution.parameters}


def _request(skill: Skill, skill_input: Json, execution: SkillExecution) -> Recipe:
    """Return the question as a request: a POST of JSON, unless the configuration names another method."""
    assert skill.http is not None
    method = "POST" if skill.http.method == "GET" else skill.http.method
    payload = escape_variables_in(_payload(skill_input, execution))
    return Recipe(replace(skill.http, method=method, json=payload), HttpExecution("http"))


# The trace that a skill reports (`output: trace`): `{output, tool_calls, usage}`; only `output` is required.


class SkillTrace(Struct, forbid_unknown_fields=False):
    output: Json
    tool_calls: list[StatedCall] | None = None
    usage: Usage = Usage()


def _with_trace(observation: Observation, name: str) -> Observation:
    """Return the observation that the skill's answer describes; an answer of another form is an error."""
    subject = f"the skill {name} did not answer with {{output, tool_calls, usage}}"
    hint = "{output: …}: correct it, or take `output: trace` out of its entry"
    trace = read_stated(SkillTrace, observation.output, "BK354", subject, hint)
    calls = None if trace.tool_calls is None else tuple(call.as_call() for call in trace.tool_calls)
    return replace(observation, output=trace.output, tool_calls=calls, usage=trace.usage)


class SkillKind(RecipeKind):
    name = "skill"
    execution = SkillExecution
    currents = (current_form("Skill", Json, SkillExecution, None),)
    asks_models = "sometimes"
    eval_input = "skill"
    names_target = "skill_name: …"

    def troubles(self, recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
        asked_model = "model" in observation.environment
        if asked_model and not observation.tool_calls and is_empty(recipe, observation.output):
            yield replace(EMPTY, visible=False)

    def remarks(self, recipe: Recipe, observation: Observation) -> Iterator[str]:
        if is_empty(recipe, observation.output):
            yield f"the answer is empty: {STORED}"

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"skill {recipe.execution.skill_name}"

    def group(self, recipe: Recipe, base_url: Json) -> str:
        return str(recipe.execution.skill_name)

    def asks(self, recipe: Recipe) -> tuple[Family, str]:
        return "skills", recipe.execution.skill_name

    def asks_model(self, recipe: Recipe, skills: Mapping[str, Skill]) -> bool:
        """A skill that is not declared is a folder with a SKILL.md."""
        skill = skills.get(recipe.execution.skill_name)
        return skill is None or skill.folder is not None

    def with_inputs(self, recipe: Recipe, values: Mapping[str, Json]) -> Recipe:
        """A skill takes named inputs only if its input is a mapping, or none."""
        inputs = {} if recipe.input is None else recipe.input
        if not isinstance(inputs, dict):
            return recipe
        return replace(recipe, input={**inputs, **escape_variables_in(dict(values))})

    def input_of_text(self, text: Json, context: Json) -> Json:
        return text if context is None else {"content": text, "context": context}

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        execution, skill = _resolve_skill(recipe, setting)
        skill_input = files.with_files(_expanded_input(recipe, skill, setting), setting.surroundings)
        if skill.folder is not None:
            observation = _ask_model(skill, skill_input, execution, setting)
        elif skill.http is not None:
            observation = HTTP.replay(_request(skill, skill_input, execution), setting)
            status = observation.output["status"]
            if not 200 <= status < 300:
                message = f"the skill {execution.skill_name} answered with status {status}"
                raise cannot_replay("BK354", message, "check its service")
            observation = observation.with_output(observation.output["body"])
        else:
            observation = _run_program(skill, skill_input, execution, setting)
        if skill.output == "trace":
            observation = _with_trace(observation, execution.skill_name)
        if execution.collect is None:
            return replace(observation, loss=loss_of_calls(observation.tool_calls, "output"))
        source, calls = f"the skill {execution.skill_name}", observation.tool_calls
        return observation.with_output(collected(execution.collect, observation.output, calls, source))

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and a skill that is not declared or cannot work as declared."""
        super().check_replay(recipe, setting)
        execution, skill = _resolve_skill(recipe, setting)
        name = execution.skill_name
        files.check_scores(recipe.execution.scores, setting)
        if skill.folder is not None:
            _instructions(skill.folder, setting)
            files.check_model(skill.model, (*EXECUTION, "skill_name"), setting)
        elif skill.http is not None:
            request = _request(skill, None, SkillExecution("skill", name))
            if problems := list(HTTP.check(request)):  # the configuration states it
                raise InvalidInput(*problems)
            HTTP.check_replay(request, setting)
        else:
            _argv(skill, name, setting)

    def expanded_inputs(self, recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
        """Return its inputs by name where its input is a mapping: all, for which it uses is unknown."""
        inputs = setting.scope.expand(recipe.input, INPUT)
        return (inputs, frozenset(inputs)) if isinstance(inputs, dict) else ({}, frozenset())

    def files(self, recipe: Recipe, setting: Setting) -> Iterator[str]:
        """Yield the texts of the files of its input, and of a SKILL.md, which a model is given. Those of a
        program are left out: it is what is tested, and may change."""
        _, skill = _resolve_skill(recipe, setting)
        yield from files.texts_in(_expanded_input(recipe, skill, setting), setting.surroundings)
        if skill.folder is not None:
            yield _instructions(skill.folder, setting)


SKILL = SkillKind()
