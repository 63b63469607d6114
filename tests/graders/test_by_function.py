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
        ("equals", 3, 3, True),
        ("equals", 3, 3.0, True),
        ("equals", True, 1, False),
        ("equals", [1, 2], [1, 2], True),
        ("equals", [1, 2], [2, 1], False),
        ("equals", None, None, True),
        ("equals", {"a": None}, {"a": False}, False),
        ("approx", 0.3, 0.1 + 0.2, True),
        ("approx", 0.3, 0.31, False),
        ("approx", [0.3, {"x": 1e10}], [0.1 + 0.2, {"x": 1e10 + 1}], True),
        ("approx", 0.3, float("nan"), False),
        ("approx", 1, "1", False),
        ("unordered", [1, 2, 2], [2, 1, 2], True),
        ("unordered", [1, 2, 2], [2, 1, 1], False),
        ("set", [1, 2], [2, 1, 1], True),
        ("set", [1, 2], [1, 3], False),
        ("regex", "^a+$", "aaa", True),
        ("regex", "^a+$", "aab", False),
        ("regex", "^a+$", 5, False),
    ],
)
def test_h23_comparators(comparator: str, expected: Any, value: Any, passed: bool) -> None:
    method = FunctionOutput("f", [Call(expected, [1], comparator=comparator)])
    found = graded(CODE, method, clients=ran(CallResult(value)))
    assert found.outcome == ("passed" if passed else "failed")
    (result,) = found.details["test_results"]
    assert ("expected" in result) == (not passed)


def test_h23_one_call_that_fails_stops_none_of_the_others() -> None:
    method = FunctionOutput("f", [Call(1), Call(2), Call(3), Call(4)])
    clients = ran(
        CallResult(1), CallResult(error="timeout"), CallResult(error="Trace\nValueError: no"), CallResult(4)
    )
    found = graded(CODE, method, clients=clients)
    assert (found.outcome, found.score) == ("failed", 0.5)
    assert found.details["passed_count"] == 2
    assert found.details["total_count"] == 4
    assert [result["case"] for result in found.details["test_results"]] == [0, 1, 2, 3]
    assert found.details["test_results"][1] == {"case": 1, "passed": False, "error": "timeout"}
    assert found.reason == "2 of 4 calls passed; call 1 timeout"


def test_h24_calls_that_were_not_reached_failed() -> None:
    found = graded(CODE, FunctionOutput("f", [Call(1), Call(2)]), clients=ran(CallResult(1)))
    assert (found.outcome, found.score) == ("failed", 0.5)


@pytest.mark.parametrize("comparator", ["equals", "approx", "unordered", "set", "regex"])
def test_f38_h24_what_is_no_json_equals_nothing_whatever_it_looks_like(comparator: str) -> None:
    clients = ran(CallResult("{1, 2}", inexact="{1, 2}"))
    for wanted in ("{1, 2}", ".*", "[12, {}]+"):
        found = graded(CODE, FunctionOutput("f", [Call(wanted, comparator=comparator)]), clients=clients)
        assert found.outcome == "failed"


@pytest.mark.parametrize(("comparator", "passed"), [("set", True), ("unordered", True), ("equals", False)])
def test_h24_a_set_is_compared_as_a_set(comparator: str, passed: bool) -> None:
    clients = ran(CallResult([2, 1], inexact="{2, 1}"))
    found = graded(CODE, FunctionOutput("f", [Call([1, 2], comparator=comparator)]), clients=clients)
    assert (found.outcome == "passed") == passed


def test_a_report_shows_no_more_of_a_value_than_it_needs() -> None:
    found = graded(CODE, FunctionOutput("f", [Call(1)]), clients=ran(CallResult("x" * 900_000)))
    assert len(json.dumps(found.details)) < 5_000
    assert " … and 898,002 more characters" in found.details["test_results"][0]["output"]
    assert len(found.reason) < 3_000


def test_h24_a_sandbox_that_cannot_be_had_is_an_error() -> None:
    clients = ran(flaw="no sandbox here", contained=("network",), not_contained=("memory",))
    found = graded(CODE, FunctionOutput("f", [Call(1)]), clients=clients)
    assert (found.outcome, found.score, found.reason) == ("error", None, "no sandbox here")
    assert (found.details["contained"], found.details["not_contained"]) == (["network"], ["memory"])


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (FunctionOutput("f"), "without a test case"),
        (FunctionOutput("f()", [Call(1)]), "not a function name"),
        (FunctionOutput("__import__('os').system", [Call(1)]), "not a function name"),
    ],
)
def test_h24_what_cannot_work_is_found_beforehand(method: FunctionOutput, said: str) -> None:
    grader = Grader("g", "code", method)
    assert said in "; ".join(problem.message for problem in problems_of(grader, case(grader)))


DOUBLE = {"function_name": "f", "test_cases": [{"input": [3], "output": 6}, {"input": [0], "output": 0}]}
SQUARE = {"test_cases": [{"input": [3], "output": 9}, {"input": [2], "output": 4}]}
HALVE = {"function_name": "half", "test_cases": [{"input": [4], "output": 2}]}
FUNCTIONS: dict[str, tuple[str, Any, str, int | None]] = {
    "square": ("def f(n): return n * n", lambda n: n * n, "passed", 1),
    "double": ("def f(n): return n + n", lambda n: n + n, "passed", None),
    "half": ("def half(n): return n // 2", lambda n: n // 2, "passed", 2),
    "add three": ("def f(n): return n + 3", lambda n: n + 3, "failed", None),
    "no program": ("I cannot do that.", None, "failed", None),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_h3_functional_expectation_with_alternatives_passes_by_any_of_them_and_names_it(name: str) -> None:
    code, function, outcome, alternative = FUNCTIONS[name]

    def run(method: FunctionOutput, code: str) -> SandboxResult:
        return SandboxResult(tuple(CallResult(function(*call.args)) for call in method.test_cases))

    expected = exactly(DOUBLE, SQUARE, HALVE, type="functional")
    method, problems = FUNCTION_OUTPUT.derive_config(expected, False)
    assert not problems
    found = graded(code, method, expected, GradeClients(run=run, regex_budget=RegexBudget))
    assert (found.outcome, found.details.get("alternative")) == (outcome, alternative)
    if name == "add three":
        assert found.reason == "1 of 2 calls passed; call 1 gave 3, not 0"
