"""Replay: Recipe -> Observation. The kind of a recipe (`table.py`) checks it before any request, replays it
and reads the files that it sends. Also the hashes of a recipe and of its files."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from baselinekit.errors import BaselinekitError, Problem, Refused
from baselinekit.kinds.files import read_bytes
from baselinekit.kinds.settings import EXECUTION, INPUT, MANY_REDIRECTS, Ceilings, Setting, above, unverified
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Observation, Recipe, Seconds
from baselinekit.model.values import Json
from baselinekit.structs import plain, replace
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


def granted_timeout(recipe: Recipe, ceilings: Ceilings) -> Seconds | None:
    """Return the timeout that the configuration sets for the skill or the model that is asked."""
    return ceilings.timeouts.get(kind_of(recipe).asks(recipe))


def refuse_above(recipe: Recipe, ceilings: Ceilings) -> None:
    """Raise Refused, with each place, where a recipe exceeds the limits."""
    problems: list[Problem] = []
    granted = ceilings.granting(granted_timeout(recipe, ceilings))
    steps = enumerate(getattr(recipe.input, "steps", ()))
    parts = [(INPUT, recipe.input), *(((*INPUT, "steps", index), step) for index, step in steps)]
    for at, part in [*parts, (EXECUTION, recipe.execution)]:
        for name in ("timeout", "max_body", "retries", "redirects"):
            value, maximum = getattr(part, name, None), getattr(granted, name)
            requested = MANY_REDIRECTS if value is True else value
            if requested is not None and requested > maximum:
                problems.append(above(name, requested, maximum, (*at, name)))
    if getattr(recipe.execution, "verify", None) is False and ceilings.verify:
        problems.append(unverified())
    if problems:
        raise Refused(*problems)


def within(recipe: Recipe, limit: Seconds) -> Recipe:
    """Return the recipe with this time limit, unless it has a shorter one itself."""
    part = "execution" if getattr(recipe.input, "timeout", None) is None else "input"
    settings = getattr(recipe, part)
    if not hasattr(settings, "timeout"):
        return recipe
    timeout = limit if settings.timeout is None else min(settings.timeout, limit)
    return replace(recipe, **{part: replace(settings, timeout=timeout)})


@contextmanager
def _masked(setting: Setting) -> Iterator[None]:
    """Mask the secrets in errors."""
    try:
        yield
    except BaselinekitError as error:
        raise shown(error, setting.redactor.mask) from None


def replay(recipe: Recipe, setting: Setting) -> Observation:
    """Obtain the output again; CannotReplay, Refused or InvalidInput where that is not possible."""
    with _masked(setting):
        refuse_above(recipe, setting.ceilings)
        return kind_of(recipe).replay(recipe, setting)


def check(recipe: Recipe, setting: Setting) -> None:
    """Raise what a replay would raise before its first request, all problems at once."""
    with _masked(setting):
        refuse_above(recipe, setting.ceilings)
        kind_of(recipe).check_replay(recipe, setting)


def batches(recipes: Iterable[tuple[str, Recipe]]) -> dict[str, list[tuple[str, Any]]]:
    """Group the inputs by target, for targets that answer many cases at once; each with its case id."""
    grouped: dict[str, list[tuple[str, Any]]] = {}
    for name, recipe in recipes:
        key = kind_of(recipe).batch(recipe)
        if key is not None:
            grouped.setdefault(key, []).append((name, recipe.input))
    return grouped


def inputs_of(recipe: Recipe, setting: Setting) -> tuple[dict[str, Json], frozenset[str]]:
    """Return the inputs of a recipe by name, expanded, and the names that it uses."""
    with _masked(setting):
        return kind_of(recipe).expanded_inputs(recipe, setting)


def files_hash(recipe: Recipe, setting: Setting) -> str:
    """Return 16 hex digits over the contents of the files that a recipe sends, which its own hash leaves out;
    "" where it names none. An unreadable file is reported when the recipe is replayed."""
    scores = recipe.scores
    try:
        contents = list(kind_of(recipe).files(recipe, setting))
        if scores is not None and isinstance(scores.rubric, str):
            contents.append(read_bytes(setting.surroundings, scores.rubric))
    except BaselinekitError:
        return ""
    parts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents]
    return digest([sha256(part).hexdigest() for part in parts]) if parts else ""
