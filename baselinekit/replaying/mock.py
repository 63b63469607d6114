"""Replays a mock: its answer is the one written in the recipe."""

from hashlib import sha256

from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.messages import ConversationInput, question_of
from baselinekit.kinds.mock import KIND, MockExecution
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.replaying.settings import Row, Setting, check_defined
from baselinekit.replaying.traces import answer_of_value, plain_observation
from baselinekit.secrets.variables import as_text
from baselinekit.structs import replace

_QUESTION = lazy_pattern(r"(?<!\{)\{question\}(?!\})")
_DRAWN_BYTES = 6


def replay_mock(recipe: Recipe, setting: Setting) -> Observation:
    conversation: ConversationInput = setting.scope.expand(recipe.input, INPUT)
    execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
    seconds = _delay(execution, conversation.case or setting.asker, setting.turn)
    if seconds:
        setting.clients.sleep(seconds)
    if isinstance(recipe.execution.response, str):
        parts = (as_text(setting.scope.expand(part)) for part in _QUESTION.split(recipe.execution.response))
        return plain_observation(question_of(conversation).join(parts), seconds)
    return answer_of_value(execution.response, seconds, KIND.whom(recipe))


def _delay(execution: MockExecution, case: str, turn: int) -> float:
    """Return the seconds until the answer. Within a range they depend on the case and the attempt, so that a
    repeated run takes as long."""
    least, most = float(execution.delay or 0), execution.delay_max
    if most is None or most <= least:
        return least
    drawn = int.from_bytes(sha256(f"{turn}/{case}".encode()).digest()[:_DRAWN_BYTES])
    return least + (float(most) - least) * (drawn / float(256**_DRAWN_BYTES))


def check_mock(recipe: Recipe, setting: Setting) -> None:
    """Refuse undefined variables, and an answer that cannot be read."""
    check_defined(recipe, setting)
    replay_mock(replace(recipe, execution=replace(recipe.execution, delay=None, delay_max=None)), setting)


ROW = Row(check_mock, replay_mock)
