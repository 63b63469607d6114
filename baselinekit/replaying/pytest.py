"""A value of a test is not replayed: pytest runs the test, which compares the value."""

import shlex

from baselinekit.errors import cannot_replay
from baselinekit.kinds.pytest import KIND
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.replaying.settings import Row, Setting


def replay_pytest(recipe: Recipe, setting: Setting) -> Observation:
    command = shlex.join(KIND.own_command(recipe))
    raise cannot_replay("BK356", "what a test compares is compared when pytest runs it", command)


def check_pytest(recipe: Recipe, setting: Setting) -> None:
    """Nothing to check: no request is sent."""


ROW = Row(check_pytest, replay_pytest)
