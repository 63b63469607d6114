"""Replays a mock: its answer is the one that is written down."""

from dataclasses import replace

from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.messages import ConversationInput, question_of
from baselinekit.kinds.mock import KIND, MockExecution
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.replay.settings import Setting, check_defined
from baselinekit.replay.traces import answer_of_value, spoken

_QUESTION = "{question}"


def replay_mock(recipe: Recipe, setting: Setting) -> Observation:
    asked: ConversationInput = setting.scope.expand(recipe.input, INPUT)
    execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
    seconds = float(execution.delay or 0)
    if seconds:
        setting.clients.sleep(seconds)
    if isinstance(execution.response, str):
        return spoken(execution.response.replace(_QUESTION, question_of(asked)), seconds)
    return answer_of_value(execution.response, seconds, KIND.whom(recipe))


def check_mock(recipe: Recipe, setting: Setting) -> None:
    """Undefined variables, and an answer that nobody could read."""
    check_defined(recipe, setting)
    replay_mock(replace(recipe, execution=replace(recipe.execution, delay=None)), setting)
