"""A short name for a recipe's content: equal recipes have it in common, and a result says what it ran."""

import dataclasses
import json
from hashlib import sha256
from typing import Any

from baselinekit.model.recipes import Recipe


def recipe_hash(recipe: Recipe) -> str:
    """16 hex digits over the recipe as it is written, variables unexpanded."""
    return digest(recipe)


def digest(value: Any) -> str:
    """16 hex digits over what dataclasses state. A setting that is left at its default does not count, so
    that a new one leaves old hashes alone."""
    text = json.dumps(_stated(value), sort_keys=True, separators=(",", ":"), default=str)
    return sha256(text.encode()).hexdigest()[:16]


def _stated(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {
            field.name: _stated(stated)
            for field in dataclasses.fields(value)
            if (stated := getattr(value, field.name)) != _default(field)
        }
    if isinstance(value, dict):
        return {str(key): _stated(item) for key, item in value.items()}
    return [_stated(item) for item in value] if isinstance(value, list | tuple) else value


def _default(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
