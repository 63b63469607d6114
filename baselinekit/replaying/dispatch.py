"""Replay: Recipe -> Observation. The module of each kind has a ROW with its functions: one checks a recipe
before any request, one replays it, one reads the files that it sends. Also the hashes of a recipe and of its
files."""

import json
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.kinds.table import MODULES
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.replaying.settings import Row, Setting, refuse_above
from baselinekit.structs import plain
from baselinekit.values.texts import shown

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


def recipe_hash(recipe: Recipe) -> str:
    """Return 16 hex digits over the recipe as written, variables unexpanded, for results to state what was
    run."""
    return digest(recipe)


def digest(value: Any) -> str:
    """Return 16 hex digits over the fields of structs. Fields at their defaults do not count, so that a
    new field does not change old hashes."""
    text = _ENCODER.encode(plain(value))
    return sha256(text.encode()).hexdigest()[:16]


@cache
def row_of(kind: str) -> Row:
    row: Row = import_module(f"baselinekit.replaying.{MODULES[kind]}").ROW
    return row


def replay(recipe: Recipe, setting: Setting) -> Observation:
    """Obtain the output again; CannotReplay, Refused or InvalidInput where that is not possible."""
    try:
        refuse_above(recipe, setting.ceilings)
        return row_of(recipe.kind).replay(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def check(recipe: Recipe, setting: Setting) -> None:
    """Raise what a replay would raise before its first request, all problems at once."""
    try:
        refuse_above(recipe, setting.ceilings)
        row_of(recipe.kind).check(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def batches(recipes: Iterable[tuple[str, Recipe]]) -> dict[str, list[tuple[str, Any]]]:
    """Group the inputs by target, for targets that answer many cases at once; each with its case id."""
    grouped: dict[str, list[tuple[str, Any]]] = {}
    for name, recipe in recipes:
        key = row_of(recipe.kind).batch(recipe)
        if key is not None:
            grouped.setdefault(key, []).append((name, recipe.input))
    return grouped


def inputs_of(recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
    """Return the inputs of a recipe by name, expanded, and the names that it uses."""
    try:
        return row_of(recipe.kind).inputs(recipe, setting)
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def files_hash(recipe: Recipe, setting: Setting) -> str:
    """Return 16 hex digits over the contents of the files that a recipe sends, which its own hash leaves out;
    "" where it names none. An unreadable file is reported when the recipe is replayed."""
    scores = recipe.scores
    try:
        contents = list(row_of(recipe.kind).files(recipe, setting))
        if scores is not None and isinstance(scores.rubric, str):
            from baselinekit.replaying.files import read_bytes

            contents.append(read_bytes(setting.surroundings, scores.rubric))
    except BaselinekitError:
        return ""
    parts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents]
    return digest([sha256(part).hexdigest() for part in parts]) if parts else ""
