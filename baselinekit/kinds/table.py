"""The recipe kinds, one row each. A kind is imported when the first recipe of it is read."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.recipes import Recipe

NAMES = ("http", "command", "skill", "prompt", "echo", "cli", "mock", "post", "replay", "pytest")
"""Each is a module, which has its kind under its name in capitals, unless it is in one with others."""
_BESIDE = {
    **dict.fromkeys(("echo", "mock", "replay"), "given"),
    **dict.fromkeys(("command", "cli", "post"), "programs"),
}


@cache
def _kind_named(name: str) -> RecipeKind:
    if name not in NAMES:
        raise KeyError(name)
    row: RecipeKind = getattr(import_module(f"baselinekit.kinds.{_BESIDE.get(name, name)}"), name.upper())
    return row


class KindTable(Mapping[str, RecipeKind]):
    """All kinds by name; listing the names imports none of them."""

    def __getitem__(self, name: str) -> RecipeKind:
        return _kind_named(name)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


KINDS = KindTable()


def kind_of(recipe: Recipe) -> RecipeKind:
    """Return the kind of a recipe, or of a `current:` that has just been read."""
    return _kind_named(recipe.execution.type)
