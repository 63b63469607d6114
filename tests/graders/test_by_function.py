"""Generated functions: the code in a text, and what was returned beside what should be."""

import json
from typing import Any

import pytest
from cases import case, exactly, graded

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_function import FUNCTION_OUTPUT
from baselinekit.graders.graders import problems_of
from baselinekit.model.grades import Call, FunctionOutput, Grader
from baselinekit.model.recipes import CallResult, SandboxResult
from baselinekit.placeholders.table import RegexBudget

CODE = "def f(*given): ..."


def ran(*calls: CallResult, **more: Any) -> GradeClients:
    return GradeClients(run=lambda method, code: SandboxResult(calls, **more), regex_budget=RegexBudget)


@pytest.mark.parametrize(
    ("comparator", "expected", "value", "passed"),
    [
        ("equals", 3, 3.0, True),
        ("equals", True, 1, False),
        ("approx", [0.3, {"x": 1e10}], [0.1 + 0.2, {"x": 1e10 + 1}], True),
        ("approx", 0.3, float("nan"), False),
        ("unordered", [1, 2, 2], [2, 1, 1], False),
        ("set", [1, 2], [2, 1, 1], True),
        ("regex", "^a+$", "aaa", True),
        ("regex", "^a+$", "aab", False),
    ],
)
def test_h23_function_comparators(comparator: str, expected: Any, value: Any, passed: bool) -> None:
    method = FunctionOutput("f", [Call(expected, [1], comparator=comparator)])
    found = graded(CODE, method, clients=ran(CallResult(value)))
    assert found.outcome == ("passed" if passed else "failed")
    (result,) = found.details["test_results"]
    assert ("expected" in result) == (not passed)


def test_h23_h24_function_call_that_fails_does_not_stop_the_others() -> None:
    method = FunctionOutput("f", [Call(1), Call(2), Call(3), Call(4)])
    broken = CallResult(error="timeout"), CallResult(error="Trace\nValueError: no")
    found = graded(CODE, method, clients=ran(CallResult(1), *broken, CallResult(4)))
    assert (found.outcome, found.score) == ("failed", 0.5)
    assert (found.details["passed_count"], found.details["total_count"]) == (2, 4)
    assert found.details["test_results"][1] == {"case": 1, "passed": False, "error": "timeout"}
    assert found.reason == "2 of 4 calls passed; call 1 timeout"
    found = graded(CODE, FunctionOutput("f", [Call(1), Call(2)]), clients=ran(CallResult(1)))
    assert (found.outcome, found.score) == ("failed", 0.5)  # the second call was not reached


@pytest.mark.parametrize("comparator", ["equals", "approx", "unordered", "set", "regex"])
def test_f38_h24_function_value_that_is_not_json_equals_nothing_but_a_set(comparator: str) -> None:
    clients = ran(CallResult("{1, 2}", inexact="{1, 2}"))
    for wanted in ("{1, 2}", ".*"):
        found = graded(CODE, FunctionOutput("f", [Call(wanted, comparator=comparator)]), clients=clients)
        assert found.outcome == "failed"
    a_set = ran(CallResult([2, 1], inexact="{2, 1}"))
    found = graded(CODE, FunctionOutput("f", [Call([1, 2], comparator=comparator)]), clients=a_set)
    assert (found.outcome == "passed") == (comparator in ("set", "unordered"))


def test_function_value_that_is_long_is_cut_in_the_grade() -> None:
    found = graded(CODE, FunctionOutput("f", [Call(1)]), clients=ran(CallResult("x" * 900_000)))
    assert len(json.dumps(found.details)) < 5_000
    assert " … and 898,002 more characters" in found.details["test_results"][0]["output"]
    assert len(found.reason) < 3_000


def test_h24_function_without_a_sandbox_is_an_error() -> None:
    clients = ran(flaw="no sandbox here", contained=("network",), not_contained=("memory",))
    found = graded(CODE, FunctionOutput("f", [Call(1)]), clients=clients)
    assert (found.outcome, found.score, found.reason) == ("error", None, "no sandbox here")
    assert (found.details["contained"], found.details["not_contained"]) == (["network"], ["memory"])


ONE = {"test_cases": [{"input": [1], "output": 1}]}


@pytest.mark.parametrize(
    ("method", "value", "messages"),
    [
        (FunctionOutput("f"), None, ["a function_output grader without a test case"]),
        (FunctionOutput("os.system", [Call(1)]), None, ["'os.system' is not a function name"]),
        (FunctionOutput("f"), ONE, []),
        (FunctionOutput("f", [Call(1)]), ONE, ["test cases are stated both here and in the expected value"]),
    ],
)
def test_h2_h24_function_output_problems(method: FunctionOutput, value: Any, messages: list[str]) -> None:
    grader = Grader("g", "code", method)
    expected = None if value is None else exactly(value, type="functional")
    found = [problem.message for problem in problems_of(grader, case(grader, expected=expected))]
    assert len(found) == len(messages)
    assert all(message.startswith(start) for message, start in zip(found, messages, strict=True))


DOUBLE = {"function_name": "f", "test_cases": [{"input": [3], "output": 6}, {"input": [0], "output": 0}]}
SQUARE = {"test_cases": [{"input": [3], "output": 9}, {"input": [2], "output": 4}]}
HALVE = {"function_name": "half", "test_cases": [{"input": [4], "output": 2}]}
FUNCTIONS: list[tuple[str, Any, int | None]] = [
    ("def f(n): return n * n", lambda n: n * n, 1),
    ("def half(n): return n // 2", lambda n: n // 2, 2),
    ("def f(n): return n + 3", lambda n: n + 3, None),
]


@pytest.mark.parametrize(("code", "function", "alternative"), FUNCTIONS)
def test_h3_function_that_fits_an_alternative_passes_and_names_it(
    code: str, function: Any, alternative: int | None
) -> None:
    def run(method: FunctionOutput, code: str) -> SandboxResult:
        return SandboxResult(tuple(CallResult(function(*call.args)) for call in method.test_cases))

    expected = exactly(DOUBLE, SQUARE, HALVE, type="functional")
    method, _ = FUNCTION_OUTPUT.derive_config(expected, False)
    found = graded(code, method, expected, GradeClients(run=run, regex_budget=RegexBudget))
    assert found.outcome == ("passed" if alternative else "failed")
    assert found.details.get("alternative") == alternative
    assert found.reason == ("" if alternative else "1 of 2 calls passed; call 1 gave 3, not 0")
