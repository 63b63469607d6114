"""A mock: a target that gives a written answer, so that evals run without a service or a model."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.kinds.kind import EXECUTION
from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import Json
from baselinekit.structs import Struct

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


KIND = MockKind()
