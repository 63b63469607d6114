"""`evaluators:` and `rubrics:` of AgentV's eval files, as the graders that every form of file has."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from baselinekit.errors import BaselinekitError, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.by_field import FieldAccuracy
from baselinekit.grade.by_program import CodeJudge
from baselinekit.grade.by_rubric import read_config as read_rubric_config
from baselinekit.grade.by_template import TemplateJudge, names_file
from baselinekit.grade.by_trace import ToolTrajectory
from baselinekit.grade.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.grade.composite import Aggregator, Composite, composed
from baselinekit.grade.graders import GRADERS
from baselinekit.grade.task import GraderType
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below, check
from baselinekit.suites.dialects.agentvmessages import NamedFiles
from baselinekit.suites.dialects.graders import weight_problems

RUBRIC = "rubric"
JUDGE = "llm_judge"
PROGRAM = "code_judge"
AGGREGATOR = "aggregator"
_OWN = ("name", "type", "weight", "required")
_LATER = {
    "execution_metrics": "say each limit by itself: latency, cost, token_usage",
    "code_grader": "code_judge",
    "llm_grader": "llm_judge",
    "rubrics": "rubric, with `rubrics:`",
    "agent_judge": "llm_judge",
    "expected_messages": "tool_trajectory, mode in_order, with the calls as `expected`",
}
"""Types of other versions, and what does the same here."""

_CHECKS = (
    "contains",
    "contains_any",
    "contains_all",
    "equals",
    "regex",
    "is_json",
    "starts_with",
    "ends_with",
)
_CHECKED = "a code_judge; in a case of our own form `{type: code, config: {method: contains, …}}`"


@frozen
class EvaluatorPlace:
    """Where evaluators stand: in which record at which path, and what files their file can name."""

    files: NamedFiles
    at: Path


ReadMethod = tuple[Method | None, list[Problem]]
"""The config of a grader, if it could be read, and what is wrong with it by paths below the evaluator."""

ReadType = Callable[[dict[str, Json], EvaluatorPlace], ReadMethod]


def read_evaluators(raw: Json, place: EvaluatorPlace) -> tuple[list[Grader], list[Problem]]:
    """All of a list, or what is wrong with it by paths below it."""
    if not isinstance(raw, list):
        message = f"expected a list of evaluators, found {describe_value(raw)}"
        return [], [Problem("BK783", message, "such as - {name: quality, type: llm_judge}", at=())]
    if not raw:
        return [], [Problem("BK783", "an empty list of evaluators", "add one, or remove the key", at=())]
    found: list[Grader] = []
    problems: list[Problem] = []
    names: set[str] = set()
    for number, entry in enumerate(raw):
        grader, wrong = read_evaluator(entry, replace(place, at=(*place.at, number)))
        problems += below(wrong, (number,))
        if grader is not None and grader.name in names:
            message = f"two evaluators are called {grader.name!r}"
            problems.append(Problem("BK783", message, "rename one of them", at=(number, "name")))
        elif grader is not None:
            names.add(grader.name)
            found.append(grader)
    return found, problems


def read_evaluator(raw: Json, place: EvaluatorPlace) -> tuple[Grader | None, list[Problem]]:
    """One of them: what has no effect in AgentV, such as a type that nobody knows, is wrong."""
    if not isinstance(raw, dict):
        message = f"expected an evaluator, found {describe_value(raw)}"
        return None, [Problem("BK783", message, "such as {name: quality, type: llm_judge}", at=())]
    raw = {key: value for key, value in raw.items() if value is not None}
    problems = [*head_problems(raw)]
    type = raw.get("type")
    if not isinstance(type, str) or type not in _TYPES:
        return None, [*problems, unknown_type(raw)]
    read = _TYPES[RUBRIC if type == JUDGE and "rubrics" in raw else type]
    rest = {key: value for key, value in raw.items() if key not in _OWN}
    method, more = read(rest, place)
    problems += more
    if problems or method is None:
        return None, problems
    name, weight = str(raw["name"]), float(raw.get("weight", 1))
    row = row_of_config(method)
    return Grader(name, row.kind, method, weight, bool(raw.get("required", False)), place.at, ()), []


def head_problems(raw: Mapping[str, Json]) -> list[Problem]:
    """What is wrong with the name, the weight and `required` of an evaluator."""
    problems = []
    name, weight, required = raw.get("name"), raw.get("weight", 1), raw.get("required", False)
    if name is None:
        problems.append(Problem("BK783", "an evaluator without a name", "add `name:`", at=()))
    elif not isinstance(name, str) or not name.strip() or not name.isprintable():
        message = f"expected the name of the evaluator, found {describe_value(name)}"
        problems.append(Problem("BK783", message, "such as `name: quality`", at=("name",)))
    if isinstance(weight, bool) or not isinstance(weight, int | float | Decimal):
        message = f"expected a number, found {describe_value(weight)}"
        problems.append(Problem("BK105", message, "a weight such as 1 or 0.5", at=("weight",)))
    else:
        problems += weight_problems(float(weight))
    if not isinstance(required, bool):
        message = f"expected true or false, found {describe_value(required)}"
        problems.append(Problem("BK105", message, at=("required",)))
    return problems


def unknown_type(raw: Mapping[str, Json]) -> Problem:
    """A type that nobody knows, with what does the same here."""
    type = raw.get("type")
    known = f"one of {', '.join(_TYPES)}"
    if type is None:
        return Problem("BK783", "an evaluator without a type", known, at=())
    word = str(type).replace("-", "_")
    if word in _CHECKS:
        hint = f"other versions of AgentV have it; here it is {_CHECKED}"
    elif word in _LATER:
        hint = f"other versions of AgentV have it; here: {_LATER[word]}"
    else:
        hint = nearest(word, _TYPES) or known
    return Problem("BK783", f"there is no evaluator of the type {describe_value(type)}", hint, at=("type",))


def row_of_config(method: Method) -> GraderType:
    return GRADERS[type(method)]


def as_written(problem: Problem, grader: Grader) -> Problem:
    """A problem of a grader's config, told of the evaluator that it was read from."""
    problem = replace(problem, at=grader.place_of(problem.at or ()))
    for config, old, new in _OTHERWISE:
        if isinstance(grader.method, config):
            problem = with_key_renamed(problem, old, new)
    return problem


DEFAULT_EVALUATOR = Grader(JUDGE, "model", TemplateJudge(), required=False)
"""Who judges where nobody says by what: a model, by the expected outcome."""


def wrong_word(word: str) -> list[Problem]:
    """What is wrong with `evaluator:`, which says who judges where there are no evaluators."""
    if word == JUDGE:
        return []
    hint = f"`evaluator: {JUDGE}`, or list them: evaluators: [{{name: …, type: …}}]"
    return [Problem("BK783", f"no evaluator is made of the word {word!r} alone", hint, at=())]


def read_rubrics(raw: Json, at: Path) -> tuple[list[Grader], list[Problem]]:
    """The `rubrics:` of a case, which a model judges."""
    method, problems = read_rubric({"rubrics": raw}, None)
    problems = [replace(one, at=(*at[:-1], *(one.at or at[-1:]))) for one in problems]
    return (
        [Grader(RUBRIC, "model", method, required=False, at=at, config_at=())] if method else []
    ), problems


# The types of evaluators, each with how its config is read as that of a grader of ours.


def _as_it_is(config: type[Any]) -> ReadType:
    return lambda raw, place: check(config, raw)


def read_program(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """What is none of its own settings is for the program: all that nobody else knows."""
    known = ("script", "cwd", "target", "timeout")
    given = raw.pop("config", {})
    if not isinstance(given, dict):
        message = f"expected a mapping, found {describe_value(given)}"
        return None, [Problem("BK105", message, "what the program is handed as `config`", at=("config",))]
    told = {key: value for key, value in raw.items() if key not in known}
    stated = {key: value for key, value in raw.items() if key in known}
    if "script" not in stated:
        near = next((key for key in told if nearest(key, ("script",))), "")
        hint = f"`script: [python3, check.py]`{f' instead of {near!r}' if near else ''}"
        return None, [Problem("BK783", "a code_judge without a script", hint, at=())]
    stated, problems = with_cwd_found(stated, place)
    method, more = check(CodeJudge, {**stated, "config": {**told, **given}})
    return method, [*problems, *more]


def with_cwd_found(raw: dict[str, Json], place: EvaluatorPlace) -> tuple[dict[str, Json], list[Problem]]:
    """The same with a `cwd` from the folder of the eval file on, which is looked for as files are."""
    cwd = raw.get("cwd")
    if not isinstance(cwd, str):
        return raw, []
    try:
        return {**raw, "cwd": place.files.from_file(place.files.find(cwd, folders=True))}, []
    except BaselinekitError as error:
        return raw, [replace(one, place=None, at=("cwd",)) for one in error.problems]


def read_judge(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """A model with a prompt: a text, the path of one, or the program that writes it."""
    prompt = raw.get("prompt")
    problems: list[Problem] = []
    if isinstance(prompt, str) and names_file(prompt):
        try:
            raw = {**raw, "prompt": place.files.from_file(place.files.find(prompt.strip()))}
        except BaselinekitError as error:
            problems = [replace(one, place=None, at=("prompt",)) for one in error.problems]
    elif isinstance(prompt, dict):
        stated, problems = with_cwd_found(prompt, place)
        raw, problems = {**raw, "prompt": stated}, below(problems, ("prompt",))
    method, more = check(TemplateJudge, raw)
    return method, [*problems, *more]


def read_rubric(raw: dict[str, Json], place: EvaluatorPlace | None) -> ReadMethod:
    """A model with a list of criteria."""
    items = raw.get("rubrics")
    if not isinstance(items, list) or not items:
        message = (
            "an empty list of rubrics" if items == [] else f"expected a list, found {describe_value(items)}"
        )
        return None, [Problem("BK783", message, "such as - States the time complexity", at=("rubrics",))]
    return read_rubric_config(raw, None)


def read_trajectory(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Tool calls; how long one may take is in milliseconds."""
    calls = raw.get("expected")
    problems: list[Problem] = []
    if isinstance(calls, list):
        read = [_call(call) for call in calls]
        raw = {**raw, "expected": [call for call, _ in read]}
        for number, (_, wrong) in enumerate(read):
            problems += below(wrong, ("expected", number))
    method, more = check(ToolTrajectory, raw)
    return method, [*problems, *(with_key_renamed(one, "max_duration_ms", "max_seconds") for one in more)]


def _call(raw: Json) -> tuple[Json, list[Problem]]:
    if not isinstance(raw, dict):
        return raw, []
    return _in_other_unit(raw, "max_duration_ms", "max_seconds", 1000)


def _limit(config: type[Any], old: str, new: str, per: int = 1) -> ReadType:
    """A limit that is called otherwise here, and counted in another unit."""

    def read(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
        raw, problems = _in_other_unit(raw, old, new, per)
        if problems:
            return None, problems
        method, more = check(config, raw)
        return method, [*problems, *(with_key_renamed(one, old, new) for one in more)]

    return read


def _in_other_unit(
    raw: dict[str, Json], old: str, new: str, per: int
) -> tuple[dict[str, Json], list[Problem]]:
    if old not in raw:
        return raw, []
    if new in raw:
        return raw, [Problem("BK783", f"both `{old}` and `{new}` are given", "keep one of them", at=(old,))]
    value = raw[old]
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    rest = {key: value for key, value in raw.items() if key != old}
    return {**rest, new: float(value) / per if is_number and per != 1 else value}, []


def with_key_renamed(problem: Problem, old: str, new: str) -> Problem:
    """A problem of our key, told of the key as it is written."""
    at = tuple(old if step == new else step for step in problem.at or ())
    return replace(problem, at=at, message=problem.message.replace(f"'{new}'", f"'{old}'"))


def read_composite(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Evaluators, and what makes one score of theirs: their mean, or one more evaluator."""
    problems = []
    for key in raw:
        if key not in ("evaluators", "aggregator", "pass_at"):
            hint = nearest(key, ("evaluators", "aggregator")) or "it has evaluators and an aggregator"
            problems.append(Problem("BK103", f"unknown key {key!r}", hint, at=(key,)))
    inner = replace(place, at=(*place.at, "evaluators"))
    members, wrong = read_evaluators(raw.get("evaluators"), inner)
    problems += below(wrong, ("evaluators",))
    aggregator, judge, wrong = read_aggregator(raw.get("aggregator", {}), place)
    problems += below(wrong, ("aggregator",))
    if problems:
        return None, problems
    pass_at = raw.get("pass_at")
    method, wrong = composed(members, aggregator, judge, pass_at)
    return method, [with_key_renamed(one, "evaluators", "graders") for one in wrong]


def read_aggregator(raw: Json, place: EvaluatorPlace) -> tuple[Aggregator, Grader | None, list[Problem]]:
    """What makes one score of several: settings alone, or one more evaluator."""
    if not isinstance(raw, dict):
        message = f"expected a mapping, found {describe_value(raw)}"
        return Aggregator(), None, [Problem("BK105", message, "such as {type: weighted_average}", at=())]
    type = raw.get("type", "weighted_average")
    if type not in (PROGRAM, JUDGE):
        stated, problems = check(Aggregator, {key: value for key, value in raw.items() if value is not None})
        return stated or Aggregator(), None, problems
    rest = {key: value for key, value in raw.items() if key not in ("on_error", "weights")}
    if type == PROGRAM and "script" not in rest and "path" in rest:
        rest["script"] = rest.pop("path")
    judge, problems = read_evaluator({"name": AGGREGATOR, **rest}, replace(place, at=(*place.at, AGGREGATOR)))
    own = {key: raw[key] for key in ("on_error", "weights") if raw.get(key) is not None}
    stated, more = check(Aggregator, {"type": type, **own})
    return stated or Aggregator(), judge, [*problems, *more]


_TYPES: dict[str, ReadType] = {
    PROGRAM: read_program,
    JUDGE: read_judge,
    RUBRIC: read_rubric,
    "composite": read_composite,
    "tool_trajectory": read_trajectory,
    "field_accuracy": _as_it_is(FieldAccuracy),
    "latency": _limit(LatencyLimit, "threshold", "max_seconds", 1000),
    "cost": _limit(CostLimit, "budget", "max_usd"),
    "token_usage": _as_it_is(TokenLimit),
}
_OTHERWISE: tuple[tuple[type[Any], str, str], ...] = (
    (LatencyLimit, "threshold", "max_seconds"),
    (CostLimit, "budget", "max_usd"),
    (Composite, "evaluators", "graders"),
)
"""What our configs call otherwise than evaluators do."""

TYPES = tuple(_TYPES)
