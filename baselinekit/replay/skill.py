"""A skill recipe: what the configuration declares under the skill's name, or a folder with a SKILL.md.

A program gets `{skill, input, parameters}` as JSON on its standard input and answers on its standard output,
in JSON or in text. A callable `module:function` is called as `function(input, **parameters)`, in a child of
its own; its modules are looked up in the project's folder, after everything that is installed."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import cast

from baselinekit.clipped import Mask
from baselinekit.documents.fenced import json_in
from baselinekit.documents.strictjson import NotJson, decode, to_bytes
from baselinekit.errors import InvalidInput, Problem, cannot, nearest
from baselinekit.model.asking import Ask
from baselinekit.model.observation import Finished, Observation, Run
from baselinekit.model.recipes import HttpExecution, HttpRequest, Recipe, Skill, SkillExecution
from baselinekit.model.values import ABSENT, Json
from baselinekit.programs import call
from baselinekit.programs.children import child_environment, configured_argv, said_last
from baselinekit.replay.body import text_or_hash
from baselinekit.replay.files import texts_in, with_files
from baselinekit.replay.flow import check_http, replay_http
from baselinekit.replay.instructions import found_folder, found_names, instructions, messages_for
from baselinekit.replay.prompt import calls_as_json, flaw_of_calls, problems_of_collect
from baselinekit.replay.rubric import check_model, check_scores
from baselinekit.replay.setting import Setting, invalid
from baselinekit.replay.trace import traced
from baselinekit.replay.undefined import undefined_in
from baselinekit.variables import NAME, unexpanded

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
        mend = (
            f"let it answer with {{output, tool_calls}}, and declare `skills: {{{name}: {{output: trace}}}}`"
        )
        problems.append(Problem("BK617", what, mend, at=(*_EXECUTION, "collect")))
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
        mend = nearest(name, [*skills, *found_names(setting)]) or "declare it in baselinekit.yaml"
        example = f"skills: {{{name}: {{command: [PROGRAM]}}}}, or write skills/{name}/SKILL.md"
        raise invalid("BK324", f"no skill is called {name!r}", f"{mend} ({example})", at)
    skill = skills[name]
    if sum(way is not None for way in (skill.command, skill.python, skill.http, skill.folder)) != 1:
        mend = (
            "give it one of `command: [PROGRAM, …]`, `python: module:function`, `http: {…}`, `folder: PATH`"
        )
        raise invalid("BK324", f"the skill {name!r} is not declared as one thing", mend, at)
    return skill


def _run(skill: Skill, asked: Json, execution: SkillExecution, setting: Setting) -> Observation:
    timeout = next((t for t in (execution.timeout, skill.timeout) if t is not None), _TIMEOUT)
    run = Run(
        argv=tuple(_argv(skill, execution.skill_name, setting)),
        stdin=to_bytes(_question(execution.skill_name, asked, execution.parameters)),
        env=child_environment(skill.env),
        cwd=setting.surroundings.folder,
        timeout=float(timeout),
        mask=setting.redactor.mask,
    )
    finished = setting.doors.execute(run)
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
    answer = setting.doors.models.ask(asked_of)
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
        mend = "write module:function"
        raise invalid("BK324", f"the skill {name!r} has `python: {skill.python}`", mend)
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


def _returned(finished: Finished, name: str, mask: Mask | None) -> Json:
    try:
        answer = decode(finished.stdout.decode())
        if "error" in answer:
            where = f" at {answer['at']}" if isinstance(answer.get("at"), str) else ""
            raise cannot("BK323", f"the skill {name} raised {answer['error']}{where}")
        return answer["result"]
    except (NotJson, UnicodeDecodeError, KeyError, TypeError):
        what = f"the skill {name} gave no result{said_last(finished.stderr, mask)}"
        raise cannot("BK323", what) from None
