"""A mock: a target that gives the answer that is written down for it, so that evals run without anybody."""

from dataclasses import dataclass
from typing import Literal

from baselinekit.kinds.messages import ConversationKind, StatedConversation
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import Json

RESPONSE = "This is the answer of a mock target. Write another one under `response:`."


@dataclass(frozen=True, slots=True)
class MockExecution:
    """The `response`: a text, in which `{question}` is what the user says; what a program could answer
    (`{output_messages, token_usage, …}`); or any other value, as it is. `delay`: seconds until it comes."""

    type: Literal["mock"]
    response: Json = RESPONSE
    delay: Seconds | None = None
    timeout: Seconds | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class MockCurrent:
    """`current:` that a mock answers."""

    input: StatedConversation | str
    execution: MockExecution


class MockKind(ConversationKind):
    name = "mock"
    execution = MockExecution
    currents = (MockCurrent,)

    def only_reads(self, recipe: Recipe) -> bool:
        return True


KIND = MockKind()
