"""A skill recipe: the program or the Python callable that the configuration declares under the skill's name.

A program gets `{skill, input, parameters}` as JSON on its standard input and answers on its standard output,
in JSON or in text. A callable `module:function` is called as `function(input, **parameters)`, in a child of
its own; its modules are looked up in the project's folder, after everything that is installed."""

import os
import sys
from typing import cast

from baselinekit.documents.strictjson import NotJson, decode, to_bytes
from baselinekit.errors import InvalidInput, nearest
from baselinekit.model.observation import Finished, Observation, Run
from baselinekit.model.recipes import Recipe, Skill, SkillExecution
from baselinekit.model.values import Json
from baselinekit.replay.body import text_or_hash
from baselinekit.replay.children import child_environment, configured_argv, said_last
from baselinekit.replay.files import read_text
from baselinekit.replay.setting import Setting, cannot, invalid
from baselinekit.replay.undefined import undefined_in

_TIMEOUT = 60.0
_CALL = os.path.join(os.path.dirname(__file__), "call.py")
_INPUT = ("current", "input")
_EXECUTION = ("current", "execution")


def replay_skill(recipe: Recipe, setting: Setting) -> Observation:
    execution = cast(SkillExecution, setting.scope.expand(recipe.execution, _EXECUTION))
    skill = _declared(execution.skill_name, setting)
    ask = {
        "skill": execution.skill_name,
        "input": _with_files(setting.scope.expand(recipe.input, _INPUT), skill, setting),
        "parameters": execution.parameters,
    }
    timeout = next((t for t in (execution.timeout, skill.timeout) if t is not None), _TIMEOUT)
    run = Run(
        argv=tuple(_argv(skill, execution.skill_name, setting)),
        stdin=to_bytes(ask),
        env=child_environment(skill.env),
        cwd=setting.surroundings.folder,
        timeout=float(timeout),
    )
    finished = setting.doors.execute(run)
    if finished.exit_code:
        what = f"the skill {execution.skill_name} ended with exit code {finished.exit_code}"
        raise cannot("BK323", f"{what}{said_last(finished.stderr)}")
    output = _returned(finished, execution.skill_name) if skill.python else _written(finished.stdout)
    return Observation(output, finished.seconds)


def check_skill(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, and a skill that nobody declares or whose program does not exist."""
    problems = [
        *undefined_in(recipe.input, setting.scope, _INPUT),
        *undefined_in(recipe.execution, setting.scope, _EXECUTION),
    ]
    if problems:
        raise InvalidInput(*problems)
    name = cast(SkillExecution, setting.scope.expand(recipe.execution, _EXECUTION)).skill_name
    _argv(_declared(name, setting), name, setting)


def _declared(name: str, setting: Setting) -> Skill:
    skills = setting.surroundings.skills
    at = (*_EXECUTION, "skill_name")
    if name not in skills:
        mend = nearest(name, skills) or "declare it in baselinekit.yaml"
        example = f"skills: {{{name}: {{command: [PROGRAM]}}}}"
        raise invalid("BK324", f"no skill is called {name!r}", f"{mend} ({example})", at)
    skill = skills[name]
    if bool(skill.command) == bool(skill.python):
        mend = "give it one of `command: [PROGRAM, …]` and `python: module:function`"
        raise invalid("BK324", f"the skill {name!r} is not declared as one thing", mend, at)
    return skill


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
    """The input with `{file: path}` replaced by what is in that file, and so the inputs that the
    configuration calls files. Everything else is handed over as it is."""

    def replaced(value: Json) -> Json:
        if isinstance(value, dict):
            if value.keys() == {"file"} and isinstance(value["file"], str):
                return read_text(setting.surroundings, value["file"])
            return {key: replaced(item) for key, item in value.items()}
        return [replaced(item) for item in value] if isinstance(value, list) else value

    if isinstance(value, dict):
        named = {name: value[name] for name in skill.files if isinstance(value.get(name), str)}
        value = {**value, **{name: {"file": path} for name, path in named.items()}}
    return replaced(value)


def _written(stdout: bytes) -> Json:
    text = text_or_hash(stdout)
    if not isinstance(text, str):
        return text
    try:
        return decode(text)
    except NotJson:
        return text.removesuffix("\n").removesuffix("\r")


def _returned(finished: Finished, name: str) -> Json:
    try:
        answer = decode(finished.stdout.decode())
        if "error" in answer:
            raise cannot("BK323", f"the skill {name} raised {answer['error']}")
        return answer["result"]
    except (NotJson, UnicodeDecodeError, KeyError, TypeError):
        what = f"the skill {name} gave no result{said_last(finished.stderr)}"
        raise cannot("BK323", what) from None
