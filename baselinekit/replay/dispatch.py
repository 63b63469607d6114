"""Replay: Recipe -> Observation. One row a kind; a new kind is one new file and one new row."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import cast

from baselinekit.errors import BaselinekitError
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import CommandInput, HttpFlow, HttpRequest, Recipe, Scores, SkillExecution
from baselinekit.replay.command import check_command, replay_command
from baselinekit.replay.environment import capture_environment, digest as digest, recipe_hash
from baselinekit.replay.files import read_bytes, rubric_of
from baselinekit.replay.http import check_http, files_of_http, replay_http
from baselinekit.replay.prompt import asked_for, check_prompt, files_of_prompt, replay_prompt
from baselinekit.replay.settings import (
    Ceilings,
    Clients,
    Execute,
    ModelClient,
    Setting,
    above,
    ceilings_of,
    refuse_above,
)
from baselinekit.replay.skill import check_skill, files_of_skill, replay_skill
from baselinekit.texts import Mask, shown

__all__ = [
    "Ceilings",
    "Clients",
    "Execute",
    "ModelClient",
    "Setting",
    "above",
    "capture_environment",
    "ceilings_of",
    "check",
    "files_hash",
    "recipe_hash",
    "replay",
    "rubric_of",
    "target",
]

_KINDS: dict[str, tuple[Callable[[Recipe, Setting], Observation], Callable[[Recipe, Setting], None]]] = {
    "http": (replay_http, check_http),
    "command": (replay_command, check_command),
    "skill": (replay_skill, check_skill),
    "prompt": (replay_prompt, check_prompt),
}
_FILES: dict[str, Callable[[Recipe, Setting], Iterator[str | bytes]]] = {
    "http": files_of_http,
    "skill": files_of_skill,
    "prompt": files_of_prompt,
}


def replay(recipe: Recipe, setting: Setting) -> Observation:
    """Obtain the output again; CannotReplay, Refused or InvalidInput where that is not possible."""
    try:
        refuse_above(recipe, setting.ceilings)
        return _KINDS[recipe.kind][0](recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def check(recipe: Recipe, setting: Setting) -> None:
    """Raise what a replay would raise before it asks anyone anything, every problem at once."""
    try:
        refuse_above(recipe, setting.ceilings)
        _KINDS[recipe.kind][1](recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def files_hash(recipe: Recipe, setting: Setting) -> str:
    """16 hex digits over what stands in the files that a recipe asks with, which its own hash leaves out;
    "" where it names none. One that cannot be read is told when it is replayed."""
    rules: Scores | None = getattr(recipe.execution, "scores", None)
    try:
        found = list(_FILES[recipe.kind](recipe, setting)) if recipe.kind in _FILES else []
        if rules is not None and isinstance(rules.rubric, str):
            found.append(read_bytes(setting.surroundings, rules.rubric))
    except BaselinekitError:
        return ""
    parts = [one.encode("utf-8", "surrogatepass") if isinstance(one, str) else one for one in found]
    return digest([sha256(part).hexdigest() for part in parts]) if parts else ""


def target(recipe: Recipe, mask: Mask) -> str:
    """Whom a recipe asks, in a few words and as it is written: `GET /api/v1/users`, `skill code-review`."""
    if isinstance(recipe.input, HttpFlow):
        return " → ".join(_asked(step) for step in recipe.input.steps)
    if isinstance(recipe.input, HttpRequest):
        return _asked(recipe.input)
    if isinstance(recipe.input, CommandInput):
        return " ".join(recipe.input.argv)
    if recipe.kind == "prompt":
        return asked_for(recipe, mask)
    return f"skill {cast(SkillExecution, recipe.execution).skill_name}"


def _asked(request: HttpRequest) -> str:
    return f"{request.method} {request.endpoint or request.path or request.url or '/'}"
