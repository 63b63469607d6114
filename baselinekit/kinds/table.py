"""The recipe kinds, one row each. A kind is imported with the first recipe of it."""

from collections.abc import Iterator, Mapping
from functools import cache

from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.recipes import Recipe


@cache
def _row(name: str) -> RecipeKind:
    match name:
        case "http":
            from baselinekit.kinds import http

            return http.KIND
        case "command":
            from baselinekit.kinds import command

            return command.KIND
        case "skill":
            from baselinekit.kinds import skill

            return skill.KIND
        case "prompt":
            from baselinekit.kinds import prompt

            return prompt.KIND
        case "echo":
            from baselinekit.kinds import echo

            return echo.KIND
        case "cli":
            from baselinekit.kinds import cli

            return cli.KIND
        case "mock":
            from baselinekit.kinds import mock

            return mock.KIND
        case "post":
            from baselinekit.kinds import post

            return post.KIND
        case "replay":
            from baselinekit.kinds import stored

            return stored.KIND
        case _:
            raise KeyError(name)


_NAMES = ("http", "command", "skill", "prompt", "echo", "cli", "mock", "post", "replay")


class KindTable(Mapping[str, RecipeKind]):
    """Every kind by its name; to know the names takes no import."""

    def __getitem__(self, name: str) -> RecipeKind:
        return _row(name)

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


KINDS = KindTable()


def kind_of(recipe: Recipe) -> RecipeKind:
    """Also of a `current:` that has just been read."""
    return _row(recipe.execution.type)
