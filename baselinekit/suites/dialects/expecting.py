"""`expected:` as files state it: what it asks for by itself, and what a grader takes from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from baselinekit.errors import Problem
from baselinekit.grade.by_text import MustInclude
from baselinekit.grade.graders import GRADERS, Graders
from baselinekit.grade.task import GraderType
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grader, Method
from baselinekit.model.values import Json, Path
from baselinekit.schema.validate import below, check

OF_CALLS = ("test_cases", "function_name")
TWICE = Problem(
    "BK714", "test cases are stated both here and in the expected value", "keep one of the two lists"
)
_AS_CALLS_SAY = {"input": "args", "output": "expected"}


@dataclass(frozen=True, slots=True)
class Lists:
    """The value of a `semantic` expectation."""

    must_include: list[str] = field(default_factory=list)
    must_not_include: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Program:
    """The value of a `functional` expectation."""

    test_cases: list[dict[str, Json]]
    function_name: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """What a grader may build on: what the case expects, where that stands, and what graders have names.
    `graders`: all that there are."""

    expected: Expected | None = None
    at: Path = ()
    named: Mapping[str, Grader] = field(default_factory=dict)
    graders: Graders = field(default_factory=lambda: GRADERS)

    @property
    def methods(self) -> dict[str, GraderType]:
        """The code graders by the method that files name."""
        return {row.method: row for row in self.graders.values() if row.method}

    @property
    def method_expected(self) -> GraderType | None:
        """The grader that the type of the expectation asks for."""
        kind = self.expected.type if self.expected else None
        return next((row for row in self.methods.values() if row.expectation == kind), None)


def derived(given: Given, stated: bool) -> tuple[list[Grader], list[Problem]]:
    """What the expectation asks for by itself."""
    expected = given.expected
    if expected is None:
        return [], []
    if expected.type == "functional":
        _, wrong = calls_of(given)
        problems = below(wrong, given.at)
        if expected.alternatives:
            hint = "state the comparator of a call instead: comparator: unordered"
            problems.append(
                Problem("BK714", "a function has no alternatives", hint, at=(*given.at, "alternatives"))
            )
        if stated or problems:
            return [], problems
        method, wrong = function_output({}, given)
        if method is None:
            hint = "add it beside `test_cases`, or to the grader's config"
            wrong = [Problem("BK714", "it is not stated which function is called", hint, at=("value",))]
            return [], below(wrong, given.at)
        return [Grader("function_output", "code", method, at=given.at)], []
    if expected.type == "semantic":
        return _listed(given, expected, stated)
    if stated:
        return [], []
    row = given.method_expected
    assert row is not None  # every other type of expectation has its grader
    return [Grader(row.method, "code", row.config(), at=given.at)], []


def _listed(given: Given, expected: Expected, stated: bool) -> tuple[list[Grader], list[Problem]]:
    """What has to be in the output, and what must not: told apart by rules, whoever judges the rest."""
    at = (*given.at, "value")
    if isinstance(expected.value, str):
        if stated:
            return [], []
        what = "nothing checks whether the meaning is the same"
        hint = "add a model or human grader, or `value: {must_include: [...]}`"
        return [], [Problem("BK711", what, hint, at=at)]
    listed: list[MustInclude] = []
    problems: list[Problem] = []
    for raw, here in [(expected.value, at), *_alternatives(given, expected)]:
        lists, wrong = check(Lists, raw)
        if lists is not None and not (lists.must_include or lists.must_not_include):
            wrong.append(Problem("BK714", "both lists are empty", "such as must_include: [total]"))
        if lists is not None:
            listed.append(MustInclude(tuple(lists.must_include), tuple(lists.must_not_include)))
        problems += below(wrong, here)
    if problems:
        return [], problems
    method = replace(listed[0], alternatives=tuple(listed[1:]))
    return [Grader("must_include", "code", method, at=given.at)], []


def _alternatives(given: Given, expected: Expected) -> list[tuple[Json, Path]]:
    return [(each, (*given.at, "alternatives", number)) for number, each in enumerate(expected.alternatives)]


def function_output(config: dict[str, Json], given: Given) -> tuple[Method | None, list[Problem]]:
    """With the calls that the config states, or those that the expectation does."""
    expected = given.expected
    functional = expected is not None and expected.type == "functional"
    value = expected.value if functional and expected is not None else None
    if isinstance(value, dict) and value.get("function_name") is not None:
        config.setdefault("function_name", value["function_name"])
    method, problems = check(FunctionOutput, config)
    if method is None or not functional:
        return method, problems
    if method.test_cases:
        return None, [replace(TWICE, at=("test_cases",))]
    return with_calls(method, given), []


def with_calls(method: FunctionOutput, given: Given) -> FunctionOutput:
    """The grader with the calls that are expected; what is wrong with these is told where they stand."""
    return replace(method, test_cases=calls_of(given)[0])


def calls_of(given: Given) -> tuple[list[Call], list[Problem]]:
    """The test cases of a functional expectation: `{input: [5], output: 120}`, or as a grader states them."""
    if given.expected is None or given.expected.type != "functional":
        return [], []
    program, problems = check(Program, given.expected.value)
    calls: list[Call] = []
    for number, raw in enumerate(program.test_cases if program else ()):
        renamed = {_AS_CALLS_SAY.get(key, key): value for key, value in raw.items()}
        call, wrong = check(Call, renamed)
        if len(renamed) < len(raw):
            wrong = [Problem("BK714", "the same is stated twice", "`input` and `output` are enough", at=())]
        problems += below([_as_stated(one, raw) for one in wrong], ("test_cases", number))
        calls += [call] if call else []
    if program and not program.test_cases:
        problems.append(Problem("BK714", "there is no test case", "such as {input: [5], output: 120}"))
    return calls, below(problems, ("value",))


def _as_stated(problem: Problem, raw: dict[str, Json]) -> Problem:
    """In the words of the call: who says `input` also says `output`."""
    at = problem.at or ()
    name = next((key for key, other in _AS_CALLS_SAY.items() if at[:1] == (other,)), None)
    if name is None or (name not in raw and not _AS_CALLS_SAY.keys() & raw.keys()):
        return problem
    return replace(problem, message=problem.message.replace(repr(at[0]), repr(name)), at=(name, *at[1:]))
