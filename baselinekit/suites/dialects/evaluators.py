"""`evaluators:` and `rubrics:` of AgentV's eval files, read as graders, which all forms of files share."""

import os
import posixpath
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from baselinekit.errors import BaselinekitError, Problem, suggest
from baselinekit.graders.by_field import FieldAccuracy
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_rubric import read_config as read_rubric_config
from baselinekit.graders.by_template import TemplateJudge, names_file
from baselinekit.graders.by_trace import ToolTrajectory
from baselinekit.graders.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.graders.composite import Aggregator, Composite, make_composite
from baselinekit.graders.graders import GRADERS
from baselinekit.graders.task import GraderType
from baselinekit.model.grades import Grader, Method
from baselinekit.model.values import Json, Path
from baselinekit.schema import describe_value, prefix_paths, read_as
from baselinekit.structs import Struct, replace
from baselinekit.suites.dialects.graders import Weight
from baselinekit.suites.messages import NamedFiles

RUBRIC = "rubric"
JUDGE = "llm_judge"
PROGRAM = "code_judge"
AGGREGATOR = "aggregator"
_HEAD_KEYS = ("name", "type", "weight", "required")
_OTHER_VERSION_TYPES = {
    "execution_metrics": "say each limit by itself: latency, cost, token_usage",
    "code_grader": "code_judge",
    "llm_grader": "llm_judge",
    "rubrics": "rubric, with `rubrics:`",
    "agent_judge": "llm_judge",
    "expected_messages": "tool_trajectory, mode in_order, with the calls as `expected`",
}
"""Types of other versions, and what to use here instead."""

_CHECK_TYPES = (
    "contains",
    "contains_any",
    "contains_all",
    "equals",
    "regex",
    "is_json",
    "starts_with",
    "ends_with",
)
_CHECK_HINT = "a code_judge; in a case of our own form `{type: code, config: {method: contains, …}}`"


class EvaluatorHead(Struct):
    """The keys of every evaluator besides its name and its type."""

    weight: Weight = 1
    required: bool = False


class EvaluatorPlace(Struct):
    """The place of evaluators: their path, and the files that their file can name."""

    files: NamedFiles
    at: Path


ReadMethod = tuple[Method | None, list[Problem]]
"""The config of a grader, if it could be read, and its problems with paths below the evaluator."""

ReadType = Callable[[dict[str, Json], EvaluatorPlace], ReadMethod]


def read_evaluators(raw: Json, place: EvaluatorPlace) -> tuple[list[Grader], list[Problem]]:
    """Return the graders of a list, and its problems with paths below it."""
    if not isinstance(raw, list):
        message = f"expected a list of evaluators, found {describe_value(raw)}"
        return [], [Problem("BK783", message, "such as - {name: quality, type: llm_judge}", at=())]
    if not raw:
        return [], [Problem("BK783", "an empty list of evaluators", "add one, or remove the key", at=())]
    graders: list[Grader] = []
    problems: list[Problem] = []
    names: set[str] = set()
    for number, entry in enumerate(raw):
        grader, new_problems = read_evaluator(entry, replace(place, at=(*place.at, number)))
        problems += prefix_paths(new_problems, (number,))
        if grader is not None and grader.name in names:
            message = f"two evaluators are called {grader.name!r}"
            problems.append(Problem("BK783", message, "rename one of them", at=(number, "name")))
        elif grader is not None:
            names.add(grader.name)
            graders.append(grader)
    return graders, problems


def read_evaluator(raw: Json, place: EvaluatorPlace) -> tuple[Grader | None, list[Problem]]:
    """Read an evaluator. What AgentV ignores, such as an unknown type, is a problem here."""
    if not isinstance(raw, dict):
        message = f"expected an evaluator, found {describe_value(raw)}"
        return None, [Problem("BK783", message, "such as {name: quality, type: llm_judge}", at=())]
    raw = {key: value for key, value in raw.items() if value is not None}
    problems = [*head_problems(raw)]
    type = raw.get("type")
    if not isinstance(type, str) or type not in _TYPE_READERS:
        return None, [*problems, unknown_type(raw)]
    read = _TYPE_READERS[RUBRIC if type == JUDGE and "rubrics" in raw else type]
    config = {key: value for key, value in raw.items() if key not in _HEAD_KEYS}
    method, new_problems = read(config, place)
    problems += new_problems
    if problems or method is None:
        return None, problems
    name, weight = str(raw["name"]), float(raw.get("weight", 1))
    row = row_of_config(method)
    return Grader(name, row.kind, method, weight, bool(raw.get("required", False)), place.at, ()), []


def head_problems(raw: Mapping[str, Json]) -> list[Problem]:
    """Return the problems of the name, the weight and `required` of an evaluator."""
    problems = []
    name = raw.get("name")
    if name is None:
        problems.append(Problem("BK783", "an evaluator without a name", "add `name:`", at=()))
    elif not isinstance(name, str) or not name.strip() or not name.isprintable():
        message = f"expected the name of the evaluator, found {describe_value(name)}"
        problems.append(Problem("BK783", message, "such as `name: quality`", at=("name",)))
    problems += read_as(EvaluatorHead, {key: raw[key] for key in ("weight", "required") if key in raw})[1]
    return problems


def unknown_type(raw: Mapping[str, Json]) -> Problem:
    """Report an unknown type, with what to use here instead."""
    type = raw.get("type")
    types = f"one of {', '.join(_TYPE_READERS)}"
    if type is None:
        return Problem("BK783", "an evaluator without a type", types, at=())
    type_name = str(type).replace("-", "_")
    if type_name in _CHECK_TYPES:
        hint = f"other versions of AgentV have it; here it is {_CHECK_HINT}"
    elif type_name in _OTHER_VERSION_TYPES:
        hint = f"other versions of AgentV have it; here: {_OTHER_VERSION_TYPES[type_name]}"
    else:
        hint = suggest(type_name, _TYPE_READERS) or types
    return Problem("BK783", f"there is no evaluator of the type {describe_value(type)}", hint, at=("type",))


def row_of_config(method: Method) -> GraderType:
    return GRADERS[type(method)]


def as_written(problem: Problem, grader: Grader) -> Problem:
    """Return a problem of a grader's config as one of the evaluator that it was read from."""
    problem = replace(problem, at=grader.place_of(problem.at or ()))
    for config, old, new in _RENAMED_KEYS:
        if isinstance(grader.method, config):
            problem = with_key_renamed(problem, old, new)
    return problem


DEFAULT_EVALUATOR = Grader(JUDGE, "model", TemplateJudge(), required=False)
"""The default evaluator: a model that judges by the expected outcome."""


def wrong_word(word: str) -> list[Problem]:
    """Check `evaluator:`, which names the judge if there are no evaluators."""
    if word == JUDGE:
        return []
    hint = f"`evaluator: {JUDGE}`, or list them: evaluators: [{{name: …, type: …}}]"
    return [Problem("BK783", f"no evaluator is made of the word {word!r} alone", hint, at=())]


def read_rubrics(raw: Json, at: Path) -> tuple[list[Grader], list[Problem]]:
    """Read the `rubrics:` of a case, which a model judges."""
    method, problems = read_rubric({"rubrics": raw}, None)
    problems = [replace(problem, at=(*at[:-1], *(problem.at or at[-1:]))) for problem in problems]
    return (
        [Grader(RUBRIC, "model", method, required=False, at=at, config_at=())] if method else []
    ), problems


# The types of evaluators; the config of each is read as that of one of our graders.


def _read_as_is(config: type[Any]) -> ReadType:
    return lambda raw, place: read_as(config, raw)


def read_program(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Read a program as a judge. All keys that are not settings of the evaluator are passed to the
    program."""
    known_keys = ("script", "cwd", "target", "timeout")
    config = raw.pop("config", {})
    if not isinstance(config, dict):
        message = f"expected a mapping, found {describe_value(config)}"
        return None, [Problem("BK105", message, "what the program is handed as `config`", at=("config",))]
    program_config = {key: value for key, value in raw.items() if key not in known_keys}
    settings = {key: value for key, value in raw.items() if key in known_keys}
    if "script" not in settings:
        similar = next((key for key in program_config if suggest(key, ("script",))), "")
        hint = f"`script: [python3, check.py]`{f' instead of {similar!r}' if similar else ''}"
        return None, [Problem("BK783", "a code_judge without a script", hint, at=())]
    settings, problems = with_cwd_found(settings, place)
    method, new_problems = read_as(CodeJudge, {**settings, "config": {**program_config, **config}})
    return method, [*problems, *new_problems]


def with_cwd_found(raw: dict[str, Json], place: EvaluatorPlace) -> tuple[dict[str, Json], list[Problem]]:
    """Return the mapping with its `cwd`, searched as files are, relative to the folder of the eval file."""
    cwd = raw.get("cwd")
    if not isinstance(cwd, str):
        return raw, []
    try:
        return {**raw, "cwd": _from_file(place.files, place.files.find(cwd, os.path.isdir))}, []
    except BaselinekitError as error:
        return raw, [replace(problem, place=None, at=("cwd",)) for problem in error.problems]


def _from_file(files: NamedFiles, path: str) -> str:
    return posixpath.relpath(path or ".", posixpath.dirname(files.file) or ".")


def read_judge(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Read a model with a prompt: a text, the path of a text, or a program that writes it."""
    prompt = raw.get("prompt")
    problems: list[Problem] = []
    if isinstance(prompt, str) and names_file(prompt):
        try:
            raw = {**raw, "prompt": _from_file(place.files, place.files.find(prompt.strip()))}
        except BaselinekitError as error:
            problems = [replace(problem, place=None, at=("prompt",)) for problem in error.problems]
    elif isinstance(prompt, dict):
        prompt_settings, problems = with_cwd_found(prompt, place)
        raw, problems = {**raw, "prompt": prompt_settings}, prefix_paths(problems, ("prompt",))
    method, new_problems = read_as(TemplateJudge, raw)
    return method, [*problems, *new_problems]


def read_rubric(raw: dict[str, Json], place: EvaluatorPlace | None) -> ReadMethod:
    """Read a model with a list of criteria."""
    items = raw.get("rubrics")
    if not isinstance(items, list) or not items:
        message = (
            "an empty list of rubrics" if items == [] else f"expected a list, found {describe_value(items)}"
        )
        return None, [Problem("BK783", message, "such as - States the time complexity", at=("rubrics",))]
    return read_rubric_config(raw, None)


def read_trajectory(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Read expected tool calls, whose time limits are in milliseconds."""
    calls = raw.get("expected")
    problems: list[Problem] = []
    if isinstance(calls, list):
        read_calls = [_read_call(call) for call in calls]
        raw = {**raw, "expected": [call for call, _ in read_calls]}
        for number, (_, new_problems) in enumerate(read_calls):
            problems += prefix_paths(new_problems, ("expected", number))
    method, method_problems = read_as(ToolTrajectory, raw)
    return method, [
        *problems,
        *(with_key_renamed(problem, "max_duration_ms", "max_seconds") for problem in method_problems),
    ]


def _read_call(raw: Json) -> tuple[Json, list[Problem]]:
    if not isinstance(raw, dict):
        return raw, []
    return _convert_unit(raw, "max_duration_ms", "max_seconds", 1000)


def _read_limit(config: type[Any], old: str, new: str, per: int = 1) -> ReadType:
    """Return a reader of a limit that has another name here, and another unit."""

    def read(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
        raw, problems = _convert_unit(raw, old, new, per)
        if problems:
            return None, problems
        method, new_problems = read_as(config, raw)
        return method, [*problems, *(with_key_renamed(problem, old, new) for problem in new_problems)]

    return read


def _convert_unit(
    raw: dict[str, Json], old: str, new: str, per: int
) -> tuple[dict[str, Json], list[Problem]]:
    if old not in raw:
        return raw, []
    if new in raw:
        return raw, [Problem("BK783", f"both `{old}` and `{new}` are given", "keep one of them", at=(old,))]
    value = raw[old]
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    other_values = {key: value for key, value in raw.items() if key != old}
    return {**other_values, new: float(value) / per if is_number and per != 1 else value}, []


def with_key_renamed(problem: Problem, old: str, new: str) -> Problem:
    """Return a problem of our key as one of the key in the file."""
    at = tuple(old if step == new else step for step in problem.at or ())
    hint = re.sub(rf"\b{new}\b", old, problem.hint)
    return replace(problem, at=at, message=problem.message.replace(f"'{new}'", f"'{old}'"), hint=hint)


def read_composite(raw: dict[str, Json], place: EvaluatorPlace) -> ReadMethod:
    """Read evaluators that are combined into one score: by their mean, or by another evaluator."""
    problems = []
    for key in raw:
        if key not in ("evaluators", "aggregator", "pass_at"):
            hint = suggest(key, ("evaluators", "aggregator")) or "it has evaluators and an aggregator"
            problems.append(Problem("BK103", f"unknown key {key!r}", hint, at=(key,)))
    members_place = replace(place, at=(*place.at, "evaluators"))
    members, new_problems = read_evaluators(raw.get("evaluators"), members_place)
    problems += prefix_paths(new_problems, ("evaluators",))
    aggregator, judge, new_problems = read_aggregator(raw.get("aggregator", {}), place)
    problems += prefix_paths(new_problems, ("aggregator",))
    if problems:
        return None, problems
    pass_at = raw.get("pass_at")
    method, new_problems = make_composite(members, aggregator, judge, pass_at)
    return method, [with_key_renamed(problem, "evaluators", "graders") for problem in new_problems]


def read_aggregator(raw: Json, place: EvaluatorPlace) -> tuple[Aggregator, Grader | None, list[Problem]]:
    """Read how several scores are combined into one: settings alone, or another evaluator."""
    if not isinstance(raw, dict):
        message = f"expected a mapping, found {describe_value(raw)}"
        return Aggregator(), None, [Problem("BK105", message, "such as {type: weighted_average}", at=())]
    type = raw.get("type", "weighted_average")
    if type not in (PROGRAM, JUDGE):
        aggregator, problems = read_as(
            Aggregator, {key: value for key, value in raw.items() if value is not None}
        )
        return aggregator or Aggregator(), None, problems
    judge_values = {key: value for key, value in raw.items() if key not in ("on_error", "weights")}
    if type == PROGRAM and "script" not in judge_values and "path" in judge_values:
        judge_values["script"] = judge_values.pop("path")
    judge, problems = read_evaluator(
        {"name": AGGREGATOR, **judge_values}, replace(place, at=(*place.at, AGGREGATOR))
    )
    settings = {key: raw[key] for key in ("on_error", "weights") if raw.get(key) is not None}
    aggregator, new_problems = read_as(Aggregator, {"type": type, **settings})
    return aggregator or Aggregator(), judge, [*problems, *new_problems]


_TYPE_READERS: dict[str, ReadType] = {
    PROGRAM: read_program,
    JUDGE: read_judge,
    RUBRIC: read_rubric,
    "composite": read_composite,
    "tool_trajectory": read_trajectory,
    "field_accuracy": _read_as_is(FieldAccuracy),
    "latency": _read_limit(LatencyLimit, "threshold", "max_seconds", 1000),
    "cost": _read_limit(CostLimit, "budget", "max_usd"),
    "token_usage": _read_as_is(TokenLimit),
}
_RENAMED_KEYS: tuple[tuple[type[Any], str, str], ...] = (
    (LatencyLimit, "threshold", "max_seconds"),
    (CostLimit, "budget", "max_usd"),
    (Composite, "evaluators", "graders"),
)
"""Keys with another name in our configs: config, the evaluator's key, our key."""

TYPES = tuple(_TYPE_READERS)
