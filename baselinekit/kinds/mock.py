"""A target that gives a written answer, so that evals run without a service or a model."""

from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.kinds import messages
from baselinekit.kinds.kind import current_form
from baselinekit.kinds.settings import EXECUTION, INPUT, Setting
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Recipe, Seconds
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct, TimeLimit, replace

RESPONSE = "This is the answer of a mock target. Write another one under `response:`."
_QUESTION = lazy_pattern(r"(?<!\{)\{question\}(?!\})")
_DRAWN_BYTES = 6


class MockExecution(Struct):
    """The `response`: a text, in which `{question}` is the text of the user's messages; an answer as a
    program could give it (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`:
    seconds before it is given, or the fewest if `delay_max` states the most: an attempt of a case waits
    equally long in every run."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    delay_max: Seconds | None = None
    timeout: TimeLimit | None = None
    target: str = ""


class MockKind(messages.ConversationKind):
    name = "mock"
    execution = MockExecution
    currents = (current_form("Mock", messages.StatedConversation | str, MockExecution),)

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        yield from super().check(recipe)
        least, most = recipe.execution.delay or 0, recipe.execution.delay_max
        if most is not None and most < least:
            message = f"the longest delay, {most} s, is below the shortest, {least} s"
            yield Problem("BK108", message, "exchange the two", at=(*EXECUTION, "delay_max"))

    def only_reads(self, recipe: Recipe) -> bool:
        return True

    def replay(self, recipe: Recipe, setting: Setting) -> Observation:
        conversation: messages.ConversationInput = setting.scope.expand(recipe.input, INPUT)
        execution: MockExecution = setting.scope.expand(recipe.execution, EXECUTION)
        seconds = float(execution.delay or 0)
        if execution.delay_max is not None:  # a repeated run takes as long
            drawn = sha256(f"{setting.turn}/{conversation.case or setting.asker}".encode()).digest()
            share = int.from_bytes(drawn[:_DRAWN_BYTES]) / float(256**_DRAWN_BYTES)
            seconds += max(0.0, float(execution.delay_max) - seconds) * share
        if seconds:
            setting.clients.sleep(seconds)
        if not isinstance(recipe.execution.response, str):
            return messages.answer_of_value(execution.response, seconds, self.whom(recipe))
        parts = (as_text(setting.scope.expand(part)) for part in _QUESTION.split(recipe.execution.response))
        return Observation(messages.question_of(conversation).join(parts), seconds)

    def check_replay(self, recipe: Recipe, setting: Setting) -> None:
        """Refuse undefined variables, and an answer that cannot be read."""
        super().check_replay(recipe, setting)
        self.replay(replace(recipe, execution=replace(recipe.execution, delay=None, delay_max=None)), setting)


MOCK = MockKind()
