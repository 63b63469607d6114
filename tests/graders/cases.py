"""Cases, graders and clients for the tests of graders."""

import json
from collections.abc import Callable
from typing import Any

from baselinekit.graders.base import GradeClients
from baselinekit.graders.graders import grade
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Grade, Grader, Method
from baselinekit.model.recipes import Answer, ModelQuestion, Observation, Recipe, Usage

RECIPE = Recipe(PromptInput(text="Reverse: hello"), PromptExecution("prompt"))


def case(*graders: Grader, recipe: Recipe = RECIPE, **more: Any) -> Case:
    return Case("c", recipe, graders, **more)


def exactly(value: Any, *alternatives: Any, type: Any = "exact") -> Expected:
    return Expected(type, value, list(alternatives))


def graded(
    output: Any,
    method: Method,
    expected: Expected | None = None,
    clients: GradeClients | None = None,
    kind: Any = "code",
    **more: Any,
) -> Grade:
    """The grade of an output, or of an observation of it; `more` is of the case."""
    grader = Grader("g", kind, method)
    seen = output if isinstance(output, Observation) else Observation(output, 0.1)
    return grade(grader, case(grader, expected=expected, **more), seen, clients or GradeClients())


def judge(reply: Callable[[str, ModelQuestion], Any]) -> GradeClients:
    """A model whose reply is made of the nonce of its question, and the question."""

    def ask(question: ModelQuestion) -> Answer:
        nonce = question.messages[1].content.rpartition('{"nonce": "')[2][:16]
        answer = reply(nonce, question)
        return Answer(answer if isinstance(answer, str) else json.dumps(answer), usage=Usage(10, 5))

    return GradeClients(ask=ask)
