"""Cases, graders and doors as tests write them down."""

import json
from collections.abc import Callable
from typing import Any

from baselinekit.graders.base import GradeClients
from baselinekit.graders.graders import grade
from baselinekit.graders.judging import nonce_of
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Answer, ModelQuestion, Observation, Recipe, Usage

RECIPE = Recipe(PromptInput(text="Reverse: hello"), PromptExecution("prompt"))


def case(*graders: Grader, expected: Expected | None = None, **more: Any) -> Case:
    return Case("c", RECIPE, graders, expected=expected, **more)


def exactly(value: Any, *alternatives: Any, type: Any = "exact") -> Expected:
    return Expected(type, value, list(alternatives))


def graded(
    output: Any,
    method: Method,
    expected: Expected | None = None,
    clients: GradeClients | None = None,
    kind: Any = "code",
) -> Grade:
    grader = Grader("g", kind, method)
    return grade(grader, case(grader, expected=expected), Observation(output, 0.1), clients or GradeClients())


def judge(reply: Callable[[str, ModelQuestion], Any]) -> GradeClients:
    """A model that is given the nonce of what it is asked, and the question."""

    def ask(asked: ModelQuestion) -> Answer:
        shown = asked.messages[1].content
        nonce = shown.rpartition('{"nonce": "')[2][:16]
        said = reply(nonce, asked)
        return Answer(said if isinstance(said, str) else json.dumps(said), usage=Usage(10, 5))

    return GradeClients(ask=ask)


__all__ = ["case", "exactly", "graded", "judge", "nonce_of"]
