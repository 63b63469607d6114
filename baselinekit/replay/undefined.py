"""Every variable that a recipe uses and nobody has defined, each at its place: before the first request."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Path
from baselinekit.variables import Scope, names_in


def undefined_in(value: Any, scope: Scope, at: Path) -> Iterator[Problem]:
    if isinstance(value, str):
        for name in names_in(value):
            try:
                scope.lookup(name, at)
            except InvalidInput as error:
                yield from error.problems
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from undefined_in(key, scope, at)
            yield from undefined_in(item, scope, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from undefined_in(item, scope, (*at, index))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from undefined_in(getattr(value, field.name), scope, (*at, field.name))
