"""A short name for a recipe's content: equal recipes have it in common, and a result says what it ran."""

import dataclasses
import json
from functools import cache
from hashlib import sha256
from typing import Any

from baselinekit.model.recipes import Recipe

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str)


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits over the recipe as it is written, variables unexpanded."""
    return digest(recipe)


def digest(value: Any) -> str:
    """16 hex digits over what dataclasses state. A setting that is left at its default does not count, so
    that a new one leaves old hashes alone."""
    text = _ENCODER.encode(_stated(value))
    return sha256(text.encode()).hexdigest()[:16]


def _stated(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {
            name: _stated(stated)
            for name, default in _defaults(value.__class__)
            if (stated := getattr(value, name)) is not default and stated != default
        }
    if isinstance(value, dict):
        return {str(key): _stated(item) for key, item in value.items()}
    return [_stated(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _defaults(kind: type[Any]) -> list[tuple[str, Any]]:
    """Each field with its default."""
    return [(field.name, _default(field)) for field in dataclasses.fields(kind)]


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
