"""A value that a test hands in: what is compared stands in the test, and only its run can compare it."""

from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.kinds.kind import RecipeKind
from baselinekit.model.recipes import Recipe
from baselinekit.texts import Mask


@frozen
class PytestInput:
    """The test by its node id, and which of its values this is, if there are several."""

    test: str
    name: str | None = None


@frozen
class PytestExecution:
    """Nothing has to be said of it."""

    type: Literal["pytest"]


@frozen
class PytestCurrent:
    """`current:` of a value of a test."""

    input: PytestInput
    execution: PytestExecution


class PytestKind(RecipeKind):
    name = "pytest"
    execution = PytestExecution
    currents = (PytestCurrent,)
    asks_nobody = True

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        return f"pytest {recipe.input.test}"

    def group(self, recipe: Recipe, base_url: object) -> str:
        return "tests"

    def only_reads(self, recipe: Recipe) -> bool:
        return True


KIND = PytestKind()
