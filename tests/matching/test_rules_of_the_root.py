"""`$` is the whole output: a rule for arrays works where that is one, and is refused where it is not."""

from typing import Any

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline, Comparison, Known, Rules
from baselinekit.model.recipes import HttpRequest, Observation, Recipe
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext

HTTP = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http"))
PROMPT = Recipe("which?", PromptExecution("prompt"))


def compared(recipe: Recipe, path: str, stored: Json, came: Json) -> Comparison:
    rules: Any = Rules(type="structural", arrays={path: "unordered"})
    return compile_baseline(
        Baseline("a", recipe, baseline=Known(stored), comparison=rules), PlaceholderContext()
    ).compare(Observation(came, 0.0))


def test_where_the_output_is_an_array() -> None:
    assert compared(PROMPT, "$", [1, 2], [2, 1]).passed


@pytest.mark.parametrize("path", ["body", "$.body"])
def test_where_the_array_has_a_name(path: str) -> None:
    assert compared(HTTP, path, {"body": [1, 2]}, {"body": [2, 1]}).passed


@pytest.mark.parametrize(
    ("stored", "hint"), [({"body": [1]}, "name the array"), ({"body": {"rows": [1]}}, "name the array")]
)
def test_where_it_is_a_response(stored: Json, hint: str) -> None:
    with pytest.raises(InvalidInput, match=rf"BK203 .*no array \(object\).*{hint}") as raised:
        compared(HTTP, "$", stored, stored)
    assert raised.value.problems[0].at == ("comparison", "arrays", "$")
