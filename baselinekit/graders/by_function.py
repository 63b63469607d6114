"""Grader of a generated program: its code is taken from the reply and run, and the values that its function
returns are compared with the expected ones."""

from collections.abc import Iterator
from decimal import Decimal

from baselinekit.errors import Problem
from baselinekit.files.jsontext import encode
from baselinekit.graders.by_text import matches_everything
from baselinekit.graders.reply_code import code_in
from baselinekit.graders.task import GradeClients, GraderType, ReadConfig, Task, never_fails, text_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grade, Outcome
from baselinekit.model.recipes import CallResult, Observation, SandboxResult
from baselinekit.model.values import ABSENT, Json
from baselinekit.placeholders.table import RegexBudget, compiled, full_match
from baselinekit.schema import prefix_paths, read_as
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import decimal, is_number, same_json
from baselinekit.values.texts import Mask, end_of, mask_and_clip, no_mask

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_TOLERANCE = 1e-9
_LONGEST_SHOWN = 2_000
_LONGEST_PRINTED = 4_000
_LONGEST_LINE = 300


def function_output(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    """The grade by the calls, or by those of the first alternative that all pass."""
    text = text_of(task.look(observation.output))
    grades = []
    for number, method in enumerate((task.method, *alternatives_of(task.method, task.case.expected))):
        grade = grade_by_calls(task, method, text, clients)
        if grade.outcome == "passed" and number:
            grade = replace(grade, details={**grade.details, "alternative": number})
        if grade.outcome != "failed":
            return grade
        grades.append(grade)
    return max(grades, key=lambda grade: grade.score or 0)


def grade_by_calls(task: Task, method: FunctionOutput, text: str, clients: GradeClients) -> Grade:
    extracted = code_in(text, method.function_name)
    if extracted.problem:
        reason = f"the reply contains no usable program: {extracted.problem}"
        return task.grader.graded("failed", 0.0, reason, details={"taken": "nothing"})
    ran = clients.run(method, extracted.code)
    details: dict[str, Json] = {"taken": extracted.description}
    if ran.contained:
        details["contained"] = list(ran.contained)
    if ran.not_contained:
        details["not_contained"] = list(ran.not_contained)
    if ran.flaw:
        return task.grader.graded("error", None, ran.flaw, details=details)
    results, reason = judge_calls(method, ran, clients.regex_budget(), clients.mask)
    passed = sum(result["passed"] for result in results)
    details |= {"test_results": results, "passed_count": passed, "total_count": len(results)}
    reason += f" (taken from the reply: {extracted.description})" if reason and extracted.is_partial else ""
    outcome: Outcome = "failed" if reason else "passed"
    return task.grader.graded(outcome, passed / len(results), reason, details=details)


def problems(task: Task) -> Iterator[Problem]:
    method: FunctionOutput = task.method
    for number, call in enumerate(method.test_cases):
        pattern = call.expected if call.comparator == "regex" else None
        if isinstance(pattern, str) and matches_everything(f"^{pattern}$", ("dotall",)):
            reason = f"call {number} gives whatever fits {pattern!r}, and every text does"
            yield never_fails(reason, "say what it has to give")
    if not method.test_cases:
        hint = "add `test_cases: [{args: [1], expected: 2}]`"
        yield Problem("BK706", "a function_output grader without a test case", hint)
    if not _NAME.fullmatch(method.function_name):
        yield Problem("BK706", f"{method.function_name!r} is not a function name", "letters, digits and _")


# A `functional` expectation states the calls that the grader makes.


_CALL_KEYS = {"input": "args", "output": "expected"}


class Program(Struct):
    """The value of a `functional` expectation."""

    test_cases: list[dict[str, Json]]
    function_name: str | None = None


def read_function_output(config: dict[str, Json], expected: Expected | None) -> ReadConfig:
    """The config with its calls: those that it states, or those of the expectation."""
    value = expected.value if expected is not None and expected.type == "functional" else None
    if isinstance(value, dict) and value.get("function_name") is not None:
        config = {"function_name": value["function_name"], **config}
    method, problems = read_as(FunctionOutput, config)
    if method is None or problems:
        return method, problems
    method, problems = with_calls(method, expected)
    return None if problems else method, [replace(problem, at=("test_cases",)) for problem in problems]


def with_calls(method: FunctionOutput, expected: Expected | None) -> ReadConfig:
    """The config with the calls of the expectation. Problems of these calls are reported at the
    expectation."""
    if expected is None or expected.type != "functional":
        return method, []
    message = "test cases are stated both here and in the expected value"
    problem = Problem("BK714", message, "keep one of the two lists", at=())
    method_with_calls = replace(method, test_cases=calls_of(expected.value)[0])
    return method_with_calls, [problem] if method.test_cases else []


def alternatives_of(method: FunctionOutput, expected: Expected | None) -> Iterator[FunctionOutput]:
    """The config with the calls, and the function, of each alternative of the expectation."""
    for value in expected.alternatives if expected is not None and expected.type == "functional" else ():
        name = value.get("function_name") if isinstance(value, dict) else None
        name = name if isinstance(name, str) else method.function_name
        yield replace(method, function_name=name, test_cases=calls_of(value)[0])


def derive_function_output(expected: Expected, graders_stated: bool) -> ReadConfig:
    problems = prefix_paths(calls_of(expected.value)[1], ("value",))
    for number, value in enumerate(expected.alternatives):
        problems += prefix_paths(calls_of(value)[1], ("alternatives", number))
    if graders_stated or problems:
        return None, problems
    method, config_problems = read_function_output({}, expected)
    hint = "add it beside `test_cases`, or to the grader's config"
    return method, config_problems and [
        Problem("BK714", "it is not stated which function is called", hint, at=("value",))
    ]


def calls_of(value: Json) -> tuple[list[Call], list[Problem]]:
    """The test cases of a functional expectation: `{input: [5], output: 120}`, or as a grader states them."""
    program, problems = read_as(Program, value)
    calls: list[Call] = []
    for number, raw in enumerate(program.test_cases if program else ()):
        call, wrong = read_as(Call, {_CALL_KEYS.get(key, key): value for key, value in raw.items()})
        if any(key in raw and _CALL_KEYS[key] in raw for key in _CALL_KEYS):
            wrong = [Problem("BK714", "the same is stated twice", "`input` and `output` are enough", at=())]
        problems += prefix_paths(
            [_with_stated_keys(problem, raw) for problem in wrong], ("test_cases", number)
        )
        calls += [call] if call else []
    if program and not program.test_cases:
        problems.append(Problem("BK714", "there is no test case", "such as {input: [5], output: 120}"))
    return calls, problems


def _with_stated_keys(problem: Problem, raw: dict[str, Json]) -> Problem:
    """The problem with the keys that the call uses: a call with `input` also has `output`."""
    at = problem.at or ()
    name = next((key for key, key_of_call in _CALL_KEYS.items() if at[:1] == (key_of_call,)), None)
    if name is None or (name not in raw and not _CALL_KEYS.keys() & raw.keys()):
        return problem
    return replace(problem, message=problem.message.replace(repr(at[0]), repr(name)), at=(name, *at[1:]))


FUNCTION_OUTPUT = GraderType(
    FunctionOutput,
    function_output,
    "function_output",
    expectation="functional",
    known_by=("test_cases", "function_name"),
    read=read_function_output,
    derive=derive_function_output,
    complete=with_calls,
    problems=problems,
    program=lambda config: config,
    goes_by_expectation=lambda config: True,
)


def judge_calls(
    method: FunctionOutput, ran: SandboxResult, regex_budget: RegexBudget, mask: Mask
) -> tuple[list[dict[str, Json]], str]:
    """The result of each call, and why they do not pass; "" if all do. The values that a program returned are
    compared here, outside of the sandbox: nothing that the program claims about itself counts."""
    results: list[dict[str, Json]] = []
    for number, call in enumerate(method.test_cases):
        returned = ran.calls[number] if number < len(ran.calls) else CallResult(error="was not reached")
        result: dict[str, Json] = {"case": number, "passed": False}
        if returned.error:
            result["error"] = mask_and_clip(returned.error, _LONGEST_SHOWN, mask)
        else:
            text = returned.inexact or encode(returned.value)
            is_shown = not returned.inexact and len(text) <= _LONGEST_SHOWN
            result["output"] = returned.value if is_shown else mask_and_clip(text, _LONGEST_SHOWN, mask)
            result["passed"] = equal(call, returned, regex_budget)
            if not result["passed"]:
                result["expected"] = call.expected
        if printed := end_of(returned.printed, _LONGEST_PRINTED, mask):
            result["printed"] = printed
        results.append(result)
    failed = [result for result in results if not result["passed"]]
    if not failed:
        return results, ""
    first = failed[0]
    failure = mask(first.get("error") or f"gave {first.get('output')!r}, not {first.get('expected')!r}")
    lines = [line for line in failure.splitlines() if line.strip()]
    last_line = mask_and_clip(lines[-1] if lines else failure, _LONGEST_LINE, no_mask)
    passed = len(results) - len(failed)
    return results, f"{passed} of {len(results)} calls passed; call {first['case']} {last_line}"


def equal(call: Call, returned: CallResult, regex_budget: RegexBudget) -> bool:
    """Whether a call returned the expected value, by its comparator. A value that is no JSON equals nothing,
    whatever it looks like; but a set may be compared as the list of its elements."""
    expected, actual = call.expected, returned.value
    if actual is ABSENT:
        return False
    if call.comparator in ("unordered", "set") and isinstance(expected, list) and isinstance(actual, list):
        return same_elements(expected, actual, with_counts=call.comparator == "unordered")
    if returned.inexact:
        return False
    if call.comparator == "approx":
        return near(expected, actual, Decimal(str(_TOLERANCE if call.tolerance is None else call.tolerance)))
    if call.comparator == "regex":
        return (
            isinstance(actual, str) and full_match(compiled(str(expected)), actual, regex_budget) is not None
        )
    return same_json(expected, actual)


def near(expected: Json, actual: Json, tolerance: Decimal) -> bool:
    """Whether all numbers, at any depth, are within a tolerance: absolute, or as a share of the greater
    one."""
    if is_number(expected) and is_number(actual):
        left, right = decimal(expected), decimal(actual)
        if not (left.is_finite() and right.is_finite()):
            return False
        return abs(left - right) <= tolerance * max(Decimal(1), abs(left), abs(right))
    if isinstance(expected, list) and isinstance(actual, list):
        pairs = zip(expected, actual, strict=False)
        return len(expected) == len(actual) and all(near(left, right, tolerance) for left, right in pairs)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            near(expected[k], actual[k], tolerance) for k in expected
        )
    return same_json(expected, actual)


def same_elements(expected: list[Json], actual: list[Json], with_counts: bool) -> bool:
    """Whether two lists have the same elements; `with_counts`: each as often as in the other. What equals one
    element equals all that are equal to it, so the first match will do."""
    if not with_counts:
        pairs = ((expected, actual), (actual, expected))
        return all(any(same_json(a, b) for b in right) for left, right in pairs for a in left)
    remaining = list(actual)
    for element in expected:
        place = next((place for place, other in enumerate(remaining) if same_json(element, other)), None)
        if place is None:
            return False
        del remaining[place]
    return not remaining
