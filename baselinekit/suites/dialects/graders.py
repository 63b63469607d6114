"""`expected:` and `grader:` as files state them: what would be right, and who judges it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from baselinekit.errors import Problem, nearest
from baselinekit.grade.by_text import MustInclude
from baselinekit.grade.graders import GRADERS, Graders
from baselinekit.grade.task import GraderType
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Expected
from baselinekit.model.grades import Call, FunctionOutput, Grader, HumanRating, Method
from baselinekit.model.values import Json, Path
from baselinekit.schema.validate import below, check

# `expected:` as files state it: what it asks for by itself, and what a grader takes from it.


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


def derived_graders(given: Given, stated: bool) -> tuple[list[Grader], list[Problem]]:
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


# `grader:` as files state it: a kind with its config, or the name of one from config/graders.yaml.


_HEAVIEST = 1_000_000
_FROM_EXPECTATION = (("BK712", "config"), ("BK104", "function_name"))
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_AS_METHOD = "it is a method: {type: code, config: {method: %s}}"


@dataclass(frozen=True, slots=True)
class InlineGrader:
    """A grader in place."""

    type: Literal["code", "model", "human"]
    config: dict[str, Json] = field(default_factory=dict)
    name: str | None = None
    weight: Number = 1
    required: bool = True


@dataclass(frozen=True, slots=True)
class NamedGrader:
    """A grader that config/graders.yaml describes; what is said here goes before what it says."""

    ref: str
    name: str | None = None
    weight: Number | None = None
    required: bool | None = None


def read_all(stated: Sequence[tuple[Json, Path]], given: Given) -> tuple[tuple[Grader, ...], list[Problem]]:
    """The graders of a case, and what its expectation asks for beside them; or what is wrong with them."""
    graders: list[Grader] = []
    problems: list[Problem] = []
    for raw, at in stated:
        grader, wrong = read(raw, at, given)
        problems += wrong
        graders += [grader] if grader else []
    derived, wrong = derived_graders(given, bool(stated))
    problems += wrong
    if not problems and not derived and not graders:
        what = "it is not stated what would be right"
        problems.append(Problem("BK711", what, "add `grader`, or `expected: {type: exact, value: …}`", at=()))
    return _each_with_its_name([*derived, *graders]), problems


def is_by_itself(problem: Problem) -> bool:
    """Whether a grader is wrong whatever is expected: to be told where the expectation cannot be read."""
    last = (problem.at or ("",))[-1]
    return problem.code not in ("BK711", "BK714") and (problem.code, last) not in _FROM_EXPECTATION


def read(raw: Json, at: Path, given: Given) -> tuple[Grader | None, list[Problem]]:
    """One grader. None without a problem: the expectation says all of it."""
    if isinstance(raw, str) or (isinstance(raw, dict) and "ref" in raw):
        return _by_name({"ref": raw} if isinstance(raw, str) else raw, at, given)
    raw, misplaced = _in_its_place(raw, given)
    stated, problems = check(InlineGrader, raw)
    if stated is None:
        problems = [_by_its_method(problem, raw, given) for problem in problems]
        return None, below([*misplaced, *problems, *_in_config(raw, given)], at)
    problems = [*misplaced, *weight_problems(stated.weight)]
    method, more = _config(stated.type, stated.config, given)
    problems = below([*problems, *below(more, ("config",))], at)
    if problems or method is None:
        return None, problems
    name = stated.name or given.graders[type(method)].method or stated.type
    return Grader(name, stated.type, method, float(stated.weight), stated.required, at), []


def _in_its_place(raw: Json, given: Given) -> tuple[Json, list[Problem]]:
    """The grader with what stands beside its config moved into it, and what is to be said of that."""
    config = raw.get("config", {}) if isinstance(raw, dict) else None
    if not isinstance(config, dict):
        return raw, []
    rows = [row for row in given.graders.values() if row.method or row.kind != "code"]
    rows = [row for row in rows if row.kind == raw.get("type")] or rows
    known = {"method", *(key.name for row in rows for key in fields(row.config))}
    moved = {key: value for key, value in raw.items() if key in known and key not in _OWN}
    problems = [
        Problem(
            "BK103",
            f"{key!r} is beside the grader's config",
            f"move it in there: config: {{{key}: …}}",
            at=(key,),
        )
        for key in moved
    ]
    rest = {key: value for key, value in raw.items() if key not in moved}
    return ({**rest, "config": {**moved, **config}} if moved else raw), problems


def _by_its_method(problem: Problem, raw: Json, given: Given) -> Problem:
    """Who names a method as the type is told how it is written."""
    meant = raw.get("type") if isinstance(raw, dict) and problem.at == ("type",) else None
    if not isinstance(meant, str) or meant not in given.methods:
        return problem
    return replace(problem, hint=_AS_METHOD % meant)


def _in_config(raw: Json, given: Given) -> list[Problem]:
    """What else is wrong, where only the mapping around the config could not be read."""
    kind, config = (raw.get("type"), raw.get("config")) if isinstance(raw, dict) else (None, None)
    if kind not in ("code", "model", "human") or not isinstance(config, dict):
        return []
    return below(_config(kind, config, given)[1], ("config",))


def _by_name(raw: Json, at: Path, given: Given) -> tuple[Grader | None, list[Problem]]:
    stated, problems = check(NamedGrader, raw)
    if stated is None:
        return None, below(problems, at)
    if stated.ref not in given.named:
        known = sorted(given.named)
        hint = _AS_METHOD % stated.ref if stated.ref in given.methods else nearest(stated.ref, known)
        hint = hint or (f"there are {', '.join(known)}" if known else "")
        hint = hint or "describe it in config/graders.yaml, beside the suite"
        return None, [Problem("BK713", f"there is no grader {stated.ref!r}", hint, at=at)]
    grader, problems = given.named[stated.ref], weight_problems(stated.weight)
    method = grader.method
    if isinstance(method, FunctionOutput) and given.expected and given.expected.type == "functional":
        problems += [replace(TWICE, at=())] if method.test_cases else []
        method = with_calls(method, given)
    weight = grader.weight if stated.weight is None else float(stated.weight)
    required = grader.required if stated.required is None else stated.required
    named = Grader(stated.name or stated.ref, grader.kind, method, weight, required, at)
    return named, below(problems, at)


def weight_problems(weight: Number | None) -> list[Problem]:
    """What is wrong with a weight, which counts among the others."""
    if weight is None or 0 <= weight <= _HEAVIEST:
        return []
    shown = weight if weight < 0 else f"more than {_HEAVIEST:,}"
    return [Problem("BK108", f"the weight is {shown}", f"a number from 0 to {_HEAVIEST:,}", at=("weight",))]


def _config(kind: str, config: dict[str, Json], given: Given) -> tuple[Method | None, list[Problem]]:
    if kind == "code":
        return _by_method(config, given)
    row = next(row for row in given.graders.values() if row.kind == kind)
    return _with_labels(config) if row.config is HumanRating else check(row.config, config)


def _by_method(config: dict[str, Json], given: Given) -> tuple[Method | None, list[Problem]]:
    """By the method that is stated, else by what the config or the expectation speaks of."""
    config, methods, expected = dict(config), given.methods, given.expected
    method = config.pop("method", None)
    if method is None and (expected is None or any(key in config for key in OF_CALLS)):
        method = "function_output" if any(key in config for key in OF_CALLS) else None
    elif method is None and expected is not None:
        if expected.type == "semantic" and not config:
            return None, []
        method = given.method_expected.method if given.method_expected else None
    if method is None:
        return None, [Problem("BK712", "the grader has no method", f"one of {', '.join(methods)}", at=())]
    if not isinstance(method, str) or method not in methods:
        hint = nearest(str(method), methods) or f"one of {', '.join(methods)}"
        return None, [Problem("BK712", f"there is no method {method!r}", hint, at=("method",))]
    if method == "function_output":
        return function_output(config, given)
    return check(methods[method].config, config)


def _with_labels(config: dict[str, Json]) -> tuple[Method | None, list[Problem]]:
    """Labels have numbers for names, which a file may also write as texts."""
    scale = config.get("rating_scale")
    labels = scale.get("labels") if isinstance(scale, dict) else None
    if not isinstance(scale, dict) or not isinstance(labels, dict):
        return check(HumanRating, config)
    problems = [
        Problem(
            "BK105", f"the label {key!r} does not belong to a number", "such as 1: Poor", at=("labels", key)
        )
        for key in labels
        if not _NUMBER.fullmatch(key)
    ]
    numbered = {int(key): label for key, label in labels.items() if not problems}
    found, more = check(HumanRating, {**config, "rating_scale": {**scale, "labels": numbered}})
    more = [replace(one, at=_as_written(one.at or ())) for one in more]
    return (None if problems else found), [*below(problems, ("rating_scale",)), *more]


def _as_written(at: Path) -> Path:
    """In the file every key is a text."""
    inside = at[:2] == ("rating_scale", "labels") and len(at) > 2
    return (*at[:2], str(at[2]), *at[3:]) if inside else at


_OWN = frozenset(one.name for one in fields(InlineGrader))


def _each_with_its_name(graders: Sequence[Grader]) -> tuple[Grader, ...]:
    """No two graders of a case are called the same: their grades are told apart by name."""
    seen: dict[str, int] = {}
    named = []
    for grader in graders:
        seen[grader.name] = count = seen.get(grader.name, 0) + 1
        named.append(grader if count == 1 else replace(grader, name=f"{grader.name}-{count}"))
    return tuple(named)
