"""A skill recipe: what the configuration declares under the skill's name, or a folder with a SKILL.md.

A program gets `{skill, input, parameters}` as JSON on its standard input and answers on its standard output,
in JSON or in text. A callable `module:function` is called as `function(input, **parameters)`, in a child of
its own; its modules are looked up in the project's folder, after everything that is installed."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from hashlib import sha256
from typing import cast

from baselinekit.documents.jsonfile import pretty
from baselinekit.documents.jsontext import NotJson, decode, json_in, to_bytes
from baselinekit.errors import InvalidInput, Problem, cannot, nearest
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.observation import Observation, ProcessResult, ProcessSpec
from baselinekit.model.questions import Ask, Message, ToolCall, Usage
from baselinekit.model.recipes import HttpRequest, Recipe, Skill
from baselinekit.model.values import ABSENT, Json
from baselinekit.programs import call
from baselinekit.programs.children import child_environment, configured_argv, said_last
from baselinekit.replay.body import text_or_hash
from baselinekit.replay.files import (
    check_model,
    check_scores,
    inside,
    read_if_there,
    read_text,
    texts_in,
    with_files,
)
from baselinekit.replay.http import check_http, replay_http
from baselinekit.replay.prompt import calls_as_json, flaw_of_calls, problems_of_collect
from baselinekit.replay.settings import Setting, invalid, undefined_in
from baselinekit.texts import Mask
from baselinekit.tree.equality import is_number
from baselinekit.variables import NAME, unexpanded

# A skill that is a folder: its SKILL.md holds the instructions that a model follows.


_FOLDERS = ("skills", os.path.join(".claude", "skills"))
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s#:]+\.(?:md|txt))\)")
_MOST_LINKED = 200_000


def found_folder(name: str, setting: Setting) -> str | None:
    """The folder of a skill that the configuration does not name, from the project's root."""
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if read_if_there(setting.surroundings, os.path.join(path, "SKILL.md"), setting.surroundings.root):
            return path
    return None


def found_names(setting: Setting) -> list[str]:
    """The names of such folders, for who has mistyped one."""
    found: list[str] = []
    for folder in _FOLDERS:
        above = os.path.join(setting.surroundings.root, folder)
        with suppress(OSError):
            names = os.listdir(above)
            found += [name for name in names if os.path.isfile(os.path.join(above, name, "SKILL.md"))]
    return found


def instructions(folder: str, setting: Setting) -> str:
    """What SKILL.md says, and the texts of its folder that it links to: a model cannot open them itself."""
    root = setting.surroundings.root
    path = os.path.join(root, folder)
    text = _FRONT_MATTER.sub("", read_text(setting.surroundings, os.path.join(path, "SKILL.md")))
    parts, size = [text], 0
    for link in dict.fromkeys(_LINK.findall(text)):
        linked = os.path.join(path, link)
        if not inside(setting.surroundings, linked).startswith(os.path.realpath(path) + os.sep):
            continue
        content = read_if_there(setting.surroundings, linked)
        size += len(content or b"")
        if content is not None and size <= _MOST_LINKED:
            parts.append(f"# {link}\n\n{content.decode('utf-8', 'replace')}")
    return "\n\n".join(parts)


def messages_for(text: str, asked: Json, parameters: Mapping[str, Json]) -> tuple[Message, ...]:
    """The instructions and the input: a text as it is, a mapping as one part for each name."""
    given = asked if isinstance(asked, dict) else {"": asked}
    parts = [
        f"<{name}>\n{_shown(value)}\n</{name}>" if name else _shown(value) for name, value in given.items()
    ]
    if parameters:
        parts.append(f"<parameters>\n{pretty(dict(parameters), '  ')}\n</parameters>")
    return (Message("system", text), Message("user", "\n\n".join(parts)))


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else pretty(value, "  ")


# What a skill tells of itself (`output: trace`): `{output, tool_calls, usage}`, of which only the first
# is needed.


_TOKENS = ("tokens_in", "tokens_out")


def traced(found: Observation, name: str) -> Observation:
    """The observation that the skill's answer describes; an answer of another form is an error."""
    told = found.output
    wrong = next(_faults(told), None)
    if wrong is not None:
        what = f"the skill {name} did not answer with {{output, tool_calls, usage}}: {wrong}"
        raise cannot("BK354", what, "correct it, or take `output: trace` out of its entry")
    usage = told.get("usage", {})
    cost = usage.get("cost_usd")
    return replace(
        found,
        output=told["output"],
        tool_calls=tuple(
            ToolCall(call["name"], call.get("input", {}), call.get("output", ABSENT))
            for call in told["tool_calls"]
        )
        if "tool_calls" in told
        else None,
        usage=Usage(
            usage.get("tokens_in"), usage.get("tokens_out"), None if cost is None else Decimal(str(cost))
        ),
    )


def _faults(told: Json) -> Iterator[str]:
    if not isinstance(told, dict):
        yield "it is no object"
        return
    if "output" not in told:
        yield "there is no `output`"
    calls, usage = told.get("tool_calls", []), told.get("usage", {})
    if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
        yield "`tool_calls` is a list of {name, input, output}"
    if not isinstance(usage, dict) or not all(_is_usage(key, value) for key, value in usage.items()):
        yield "`usage` has tokens_in, tokens_out and cost_usd"


def _is_call(call: Json) -> bool:
    return isinstance(call, dict) and isinstance(call.get("name"), str)


def _is_usage(key: str, value: Json) -> bool:
    """Further keys are no fault: nobody reads them."""
    if key in _TOKENS and not isinstance(value, int | None):
        return False
    return key not in (*_TOKENS, "cost_usd") or value is None or (is_number(value) and value >= 0)


# A skill recipe: what the configuration declares under the skill's name, or a folder with a SKILL.md. A
# program gets `{skill, input, parameters}` as JSON on its standard input and answers on its standard
# output, in JSON or in text. A callable `module:function` is called as `function(input, **parameters)`,
# in a child of its own; its modules are looked up in the project's folder, after everything that is
# installed.


_TIMEOUT = 60.0
_CALL = os.path.abspath(call.__file__)
_INPUT = ("current", "input")
_EXECUTION = ("current", "execution")


def replay_skill(recipe: Recipe, setting: Setting) -> Observation:
    execution = cast(SkillExecution, setting.scope.expand(recipe.execution, _EXECUTION))
    skill = _declared(execution.skill_name, setting)
    asked = _with_files(setting.scope.expand(recipe.input, _INPUT), skill, setting)
    if skill.folder is not None:
        found = _asked_of_a_model(skill.folder, skill, asked, execution, setting)
    elif skill.http is not None:
        found = _sent(skill.http, asked, execution, setting)
    else:
        found = _run(skill, asked, execution, setting)
    if skill.output == "trace":
        found = traced(found, execution.skill_name)
    return found if execution.collect is None else _collected(found, execution)


def check_skill(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, and a skill that nobody declares, or that does not work as it is declared."""
    problems = [
        *undefined_in(recipe.input, setting.scope, _INPUT),
        *undefined_in(recipe.execution, setting.scope, _EXECUTION),
    ]
    if problems:
        raise InvalidInput(*problems)
    name = cast(SkillExecution, setting.scope.expand(recipe.execution, _EXECUTION)).skill_name
    skill = _declared(name, setting)
    _check_collect(cast(SkillExecution, recipe.execution).collect, name, skill, setting)
    check_scores(cast(SkillExecution, recipe.execution).scores, setting)
    if skill.folder is not None:
        instructions(skill.folder, setting)
        check_model(skill.model, (*_EXECUTION, "skill_name"), setting)
    elif skill.http is not None:
        check_http(_request(skill.http, None, name, {}), setting)
    else:
        _argv(skill, name, setting)


def _check_collect(collect: Sequence[str] | None, name: str, skill: Skill, setting: Setting) -> None:
    """Tool calls of a skill that has no way to tell them."""
    problems = list(problems_of_collect(collect, skill.model, setting)) if skill.folder is not None else []
    if "tool_calls" in (collect or ()) and skill.folder is None and skill.output != "trace":
        what = f"the skill {name!r} cannot tell which tools it called, and `collect` names them"
        hint = (
            f"let it answer with {{output, tool_calls}}, and declare `skills: {{{name}: {{output: trace}}}}`"
        )
        problems.append(Problem("BK617", what, hint, at=(*_EXECUTION, "collect")))
    if problems:
        raise InvalidInput(*problems)


def files_of_skill(recipe: Recipe, setting: Setting) -> Iterator[str]:
    """What stands in the files of its input, and in a SKILL.md: what a model is told of it. A program is what
    is tested, and may change."""
    name = cast(SkillExecution, setting.scope.expand(recipe.execution, _EXECUTION)).skill_name
    skill = _declared(name, setting)
    asked = _with_names(setting.scope.expand(recipe.input, _INPUT), skill)
    yield from texts_in(asked, setting.surroundings)
    if skill.folder is not None:
        yield instructions(skill.folder, setting)


def _declared(name: str, setting: Setting) -> Skill:
    skills = setting.surroundings.skills
    at = (*_EXECUTION, "skill_name")
    if name not in skills:
        folder = found_folder(name, setting) if NAME.fullmatch(name) else None
        if folder is not None:
            return Skill(folder=folder)
        hint = nearest(name, [*skills, *found_names(setting)]) or "declare it in baselinekit.yaml"
        example = f"skills: {{{name}: {{command: [PROGRAM]}}}}, or write skills/{name}/SKILL.md"
        raise invalid("BK324", f"no skill is called {name!r}", f"{hint} ({example})", at)
    skill = skills[name]
    if sum(way is not None for way in (skill.command, skill.python, skill.http, skill.folder)) != 1:
        hint = (
            "give it one of `command: [PROGRAM, …]`, `python: module:function`, `http: {…}`, `folder: PATH`"
        )
        raise invalid("BK324", f"the skill {name!r} is not declared as one thing", hint, at)
    return skill


def _run(skill: Skill, asked: Json, execution: SkillExecution, setting: Setting) -> Observation:
    timeout = next((t for t in (execution.timeout, skill.timeout) if t is not None), _TIMEOUT)
    run = ProcessSpec(
        argv=tuple(_argv(skill, execution.skill_name, setting)),
        stdin=to_bytes(_question(execution.skill_name, asked, execution.parameters)),
        env=child_environment(skill.env),
        cwd=setting.surroundings.folder,
        timeout=float(timeout),
        mask=setting.redactor.mask,
    )
    finished = setting.clients.execute(run)
    if finished.exit_code:
        what = f"the skill {execution.skill_name} ended with exit code {finished.exit_code}"
        raise cannot("BK323", f"{what}{said_last(finished.stderr, run.mask)}")
    output = (
        _returned(finished, execution.skill_name, run.mask) if skill.python else _written(finished.stdout)
    )
    return Observation(output, finished.seconds)


def _asked_of_a_model(
    folder: str, skill: Skill, asked: Json, execution: SkillExecution, setting: Setting
) -> Observation:
    text = instructions(folder, setting)
    timeout = skill.timeout if execution.timeout is None else execution.timeout
    messages = messages_for(text, asked, execution.parameters)
    asked_of = Ask(skill.model, messages, turn=setting.turn, timeout=timeout, asker=setting.asker)
    answer = setting.clients.models.ask(asked_of)
    found = json_in(answer.text)
    return Observation(
        answer.text if found is ABSENT else found,
        answer.seconds,
        answer.attempts,
        tool_calls=answer.tool_calls,
        usage=answer.usage,
        environment={"model": answer.served or skill.model, "prompt": sha256(text.encode()).hexdigest()[:16]},
        flaw=flaw_of_calls(answer) if execution.collect is None else None,
    )


def _sent(request: HttpRequest, asked: Json, execution: SkillExecution, setting: Setting) -> Observation:
    recipe = _request(request, asked, execution.skill_name, execution.parameters)
    found = replay_http(recipe, setting)
    status = found.output["status"]
    if not 200 <= status < 300:
        what = f"the skill {execution.skill_name} answered with status {status}"
        raise cannot("BK354", what, "see what its service says")
    return replace(found, output=found.output["body"])


def _request(request: HttpRequest, asked: Json, name: str, parameters: dict[str, Json]) -> Recipe:
    """The question as a request: a POST of JSON, as far as the configuration does not say otherwise."""
    if request.body is ABSENT and request.json is ABSENT and request.form is None:
        question = _quoted(_question(name, asked, parameters))
        request = replace(
            request, method="POST" if request.method == "GET" else request.method, json=question
        )
    return Recipe(request, HttpExecution("http"))


def _quoted(value: Json) -> Json:
    """The question has been expanded already, and is handed over verbatim."""
    if isinstance(value, str):
        return unexpanded(value)
    if isinstance(value, dict):
        return {unexpanded(key): _quoted(item) for key, item in value.items()}
    return [_quoted(item) for item in value] if isinstance(value, list) else value


def _question(name: str, asked: Json, parameters: dict[str, Json]) -> Json:
    return {"skill": name, "input": asked, "parameters": parameters}


def _collected(found: Observation, execution: SkillExecution) -> Observation:
    output: dict[str, Json] = {}
    for name in execution.collect or ():
        is_output = name == "output"
        who = f"the skill {execution.skill_name}"
        output[name] = found.output if is_output else calls_as_json(found.tool_calls, who)
    return replace(found, output=output)


def _argv(skill: Skill, name: str, setting: Setting) -> list[str]:
    root = setting.surroundings.root
    if skill.command:
        return configured_argv(skill.command, root, f"correct `skills: {name}:` in baselinekit.yaml")
    module, _, function = (skill.python or "").partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
        hint = "write module:function"
        raise invalid("BK324", f"the skill {name!r} has `python: {skill.python}`", hint)
    # -P: the child's own folder, which is this one, holds modules with the names of standard ones
    return [sys.executable, "-P", _CALL, root, f"{module}:{function}"]


def _with_files(value: Json, skill: Skill, setting: Setting) -> Json:
    """The input with what is in its files: `{file: path}`, and the inputs that the configuration calls files.
    Everything else is handed over as it is."""
    return with_files(_with_names(value, skill), setting.surroundings)


def _with_names(value: Json, skill: Skill) -> Json:
    if not isinstance(value, dict):
        return value
    named = {name: value[name] for name in skill.files if isinstance(value.get(name), str)}
    return {**value, **{name: {"file": path} for name, path in named.items()}}


def _written(stdout: bytes) -> Json:
    text = text_or_hash(stdout)
    if not isinstance(text, str):
        return text
    try:
        return decode(text)
    except NotJson:
        return text.removesuffix("\n").removesuffix("\r")


def _returned(finished: ProcessResult, name: str, mask: Mask | None) -> Json:
    try:
        answer = decode(finished.stdout.decode())
        if "error" in answer:
            where = f" at {answer['at']}" if isinstance(answer.get("at"), str) else ""
            raise cannot("BK323", f"the skill {name} raised {answer['error']}{where}")
        return answer["result"]
    except (NotJson, UnicodeDecodeError, KeyError, TypeError):
        what = f"the skill {name} gave no result{said_last(finished.stderr, mask)}"
        raise cannot("BK323", what) from None
