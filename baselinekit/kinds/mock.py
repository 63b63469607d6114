"""A mock: a target that gives a written answer, so that evals run without a service or a model."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.kinds.messages import (
    ConversationInput,
    ConversationKind,
    StatedConversation,
    answer_of_value,
    question_of,
)
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting, check_defined
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Recipe, Seconds
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct, replace

RESPONSE = "This is the answer of a mock target. Write another one under `response:`."


class MockExecution(Struct):
    """The `response`: a text, in which `{question}` is the text of the user's messages; an answer as a
    program could give it (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`:
    seconds before it is given, or the fewest if `delay_max` states the most: an attempt of a case waits
    equally long in every run."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    delay_max: Seconds | None = None
    timeout: Seconds | None = None
    target: str = ""


class MockCurrent(Struct):
    """`current:` that a mock answers."""

    input: StatedConversation | str
    execution: MockExecution


_QUESTION = lazy_pattern(r"(?<!\{)\{question\}(?!\})")
_DRAWN_BYTES = 6


def _delay(execution: MockExecution, case: str, turn: int) -> float:
    """Return the seconds until the answer. Within a range they depend on the case and the attempt, so that a
    repeated run takes as long."""
    least, most = float(execution.delay or 0), execution.delay_max
    if most is None or most <= least:
        return least
    drawn = int.from_bytes(sha256(f"{turn}/{case}".encode()).digest()[:_DRAWN_BYTES])
    return least + (float(most) - least) * (drawn / float(256**_DRAWN_BYTES))


class MockKind(ConversationKind):
    name = "mock"
    execution = MockExecution
    currents = (MockCurrent,)

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from super().check(recipe)
        least, most = recipe.execution.delay or 0, recipe.execution.delay_max
        if most is not None and most < least:
            message = f"the longest delay, {most} s, is below the shortest, {least} s"
            yield Problem("BK108", message, "exchange the two", at=(*EXECUTION, "delay_max"))

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        conversation: ConversationInput = setting.scope.expand(recipe.input, INPUT)
        execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
        seconds = _delay(execution, conversation.case or setting.asker, setting.turn)
        if seconds:
            setting.clients.sleep(seconds)
        if isinstance(recipe.execution.response, str):
            parts = (
                as_text(setting.scope.expand(part)) for part in _QUESTION.split(recipe.execution.response)
            )
            return Observation(question_of(conversation).join(parts), seconds)
        return answer_of_value(execution.response, seconds, self.whom(recipe))

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an answer that cannot be read."""
        check_defined(recipe, setting)
        self.replay(replace(recipe, execution=replace(recipe.execution, delay=None, delay_max=None)), setting)


KIND = MockKind()
