"""Replays an echo: its input, with its variables expanded, is the output."""

from baselinekit.errors import InvalidInput
from baselinekit.kinds.kind import INPUT
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.replaying.settings import Row, Setting, undefined_in


def replay_echo(recipe: Recipe, setting: Setting) -> Observation:
    return Observation(setting.scope.expand(recipe.input, INPUT), 0.0)


def check_echo(recipe: Recipe, setting: Setting) -> None:
    """Refuse undefined variables."""
    problems = list(undefined_in(recipe.input, setting.scope, INPUT))
    if problems:
        raise InvalidInput(*problems)


ROW = Row(check_echo, replay_echo)
