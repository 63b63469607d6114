"""An echo gives what it is given: nobody is asked."""

from typing import Any

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.kinds.dispatch import check, files_hash, replay
from baselinekit.kinds.given import EchoExecution
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.secrets.variables import Scope, escape_variables
from baselinekit.structs import replace


def echo(input: Any) -> Recipe:
    return Recipe(input, EchoExecution("echo"))


@pytest.mark.parametrize("input", ["", "a text\n", None, 0, False, [], {"file": "a/b.txt"}, {"a": [1, None]}])
def test_its_output_is_its_input_of_any_type(setting: Setting, input: Any) -> None:
    check(echo(input), setting)
    assert replay(echo(input), setting) == Observation(input, 0.0)
    assert not files_hash(echo(input), setting)


def test_its_variables_are_expanded_once(setting: Setting) -> None:
    known = replace(setting, scope=Scope({"a": "{{b}}", "b": 1}))
    assert replay(echo({"x": "<{{a}}>", "y": "{{b}}"}), known).output == {"x": "<{{b}}>", "y": 1}
    assert replay(echo(escape_variables("{{a}} \\{{b}}")), known).output == "{{a}} \\{{b}}"


def test_a_variable_that_nobody_defines_is_told_beforehand(setting: Setting) -> None:
    with pytest.raises(InvalidInput, match="is not defined") as raised:
        check(echo({"q": "{{nobody}}"}), setting)
    (problem,) = raised.value.problems
    assert (problem.code, problem.at) == ("BK501", ("current", "input", "q"))
