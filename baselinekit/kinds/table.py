"""The recipe kinds, one row each. A kind is imported with the first recipe of it."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.recipes import Recipe

MODULES = {
    "http": "http",
    "command": "command",
    "skill": "skill",
    "prompt": "prompt",
    "echo": "echo",
    "cli": "cli",
    "mock": "mock",
    "post": "post",
    "replay": "stored",
    "pytest": "pytest",
}
"""Each kind with its module: the one here has its KIND, the one in replaying/ how it is replayed."""


@cache
def _row(name: str) -> RecipeKind:
    row: RecipeKind = import_module(f"baselinekit.kinds.{MODULES[name]}").KIND
    return row


class KindTable(Mapping[str, RecipeKind]):
    """Every kind by its name; to know the names takes no import."""

    def __getitem__(self, name: str) -> RecipeKind:
        return _row(name)

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


KINDS = KindTable()


def kind_of(recipe: Recipe) -> RecipeKind:
    """Also of a `current:` that has just been read."""
    return _row(recipe.execution.type)
