"""A mock: a target that gives the answer that is written down for it, so that evals run without anybody."""

from collections.abc import Iterator
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.kind import EXECUTION
from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import Json

RESPONSE = "This is the answer of a mock target. Write another one under `response:`."


@frozen
class MockExecution:
    """The `response`: a text, in which `{question}` is what the user says; what a program could answer
    (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`: seconds until it comes, or
    the fewest where `delay_max` says the most: a case and an attempt take the same of them in every run."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    delay_max: Seconds | None = None
    timeout: Seconds | None = None
    target: str = ""


@frozen
class MockCurrent:
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
            what = f"the longest delay, {most} s, is below the shortest, {least} s"
            yield Problem("BK108", what, "exchange the two", at=(*EXECUTION, "delay_max"))

    def only_reads(self, recipe: Recipe) -> bool:
        return True


KIND = MockKind()
