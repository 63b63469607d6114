"""Replay: Recipe -> Observation. One row a kind: what checks it before anybody is asked, what replays it, and
what reads the files that it asks with. And the hashes of a recipe and of its files."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from baselinekit.errors import BaselinekitError
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.replay.cli import batch_key, check_cli, replay_cli
from baselinekit.replay.command import check_command, replay_command
from baselinekit.replay.echo import check_echo, replay_echo
from baselinekit.replay.files import read_bytes
from baselinekit.replay.http import check_http, files_of_http, replay_http
from baselinekit.replay.mock import check_mock, replay_mock
from baselinekit.replay.post import check_post, replay_post
from baselinekit.replay.prompt import check_prompt, files_of_prompt, inputs_of_prompt, replay_prompt
from baselinekit.replay.settings import Setting, refuse_above
from baselinekit.replay.skill import check_skill, files_of_skill, inputs_of_skill, replay_skill
from baselinekit.replay.stored import check_stored, files_of_stored, replay_stored
from baselinekit.texts import shown

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits over the recipe as it is written, variables unexpanded: a result says what it ran."""
    return digest(recipe)


def digest(value: Any) -> str:
    """16 hex digits over what dataclasses state. A setting that is left at its default does not count, so
    that a new one leaves old hashes alone."""
    text = _ENCODER.encode(_stated(value))
    return sha256(text.encode()).hexdigest()[:16]


def _stated(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(key): _stated(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_stated(item) for item in value]
    if (defaults := _defaults(value.__class__)) is None:
        return value
    return {
        name: _stated(stated)
        for name, default in defaults
        if (stated := getattr(value, name)) is not default and stated != default
    }


@cache
def _defaults(kind: type[Any]) -> list[tuple[str, Any]] | None:
    """Each field of a dataclass with its default; None for what is none."""
    if not dataclasses.is_dataclass(kind):
        return None
    missing = dataclasses.MISSING
    return [
        (field.name, field.default if field.default_factory is missing else field.default_factory())
        for field in dataclasses.fields(kind)
    ]


class _Row(NamedTuple):
    """`inputs`: what a recipe is given by name, and the names that it asks for; `batch`: the same for all
    recipes that are answered together."""

    check: Callable[[Recipe, Setting], None]
    replay: Callable[[Recipe, Setting], Observation]
    files: Callable[[Recipe, Setting], Iterator[str | bytes]] = lambda recipe, setting: iter(())
    inputs: Callable[[Recipe, Setting], tuple[dict[str, Json], frozenset[str]]] = lambda recipe, setting: (
        {},
        frozenset(),
    )
    batch: Callable[[Recipe], str | None] = lambda recipe: None


REPLAYED = {
    "http": _Row(check_http, replay_http, files_of_http),
    "command": _Row(check_command, replay_command),
    "skill": _Row(check_skill, replay_skill, files_of_skill, inputs_of_skill),
    "prompt": _Row(check_prompt, replay_prompt, files_of_prompt, inputs_of_prompt),
    "echo": _Row(check_echo, replay_echo),
    "cli": _Row(check_cli, replay_cli, batch=batch_key),
    "mock": _Row(check_mock, replay_mock),
    "post": _Row(check_post, replay_post),
    "replay": _Row(check_stored, replay_stored, files_of_stored),
}


def replay(recipe: Recipe, setting: Setting) -> Observation:
    """Obtain the output again; CannotReplay, Refused or InvalidInput where that is not possible."""
    try:
        refuse_above(recipe, setting.ceilings)
        return REPLAYED[recipe.kind].replay(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def check(recipe: Recipe, setting: Setting) -> None:
    """Raise what a replay would raise before it asks anyone anything, every problem at once."""
    try:
        refuse_above(recipe, setting.ceilings)
        REPLAYED[recipe.kind].check(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def batches(recipes: Iterable[tuple[str, Recipe]]) -> dict[str, list[tuple[str, Any]]]:
    """What is asked of each target that answers many cases at a time, by the id of the case that asks."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for name, recipe in recipes:
        key = REPLAYED[recipe.kind].batch(recipe)
        if key is not None:
            found.setdefault(key, []).append((name, recipe.input))
    return found


def inputs_of(recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
    """What a recipe is given by name, expanded, and the names that it asks for."""
    try:
        return REPLAYED[recipe.kind].inputs(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def files_hash(recipe: Recipe, setting: Setting) -> str:
    """16 hex digits over what stands in the files that a recipe asks with, which its own hash leaves out;
    "" where it names none. One that cannot be read is told when it is replayed."""
    scores = recipe.scores
    try:
        contents = list(REPLAYED[recipe.kind].files(recipe, setting))
        if scores is not None and isinstance(scores.rubric, str):
            contents.append(read_bytes(setting.surroundings, scores.rubric))
    except BaselinekitError:
        return ""
    parts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents]
    return digest([sha256(part).hexdigest() for part in parts]) if parts else ""
