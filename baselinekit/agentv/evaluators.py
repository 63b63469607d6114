"""`evaluators:` of AgentV's eval files as graders, which all forms of files share."""

import os
import posixpath
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args

from baselinekit.errors import BaselinekitError, Problem
from baselinekit.graders.by_field import FieldAccuracy
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_rubric import read_config as read_rubric
from baselinekit.graders.by_template import TemplateJudge, names_file
from baselinekit.graders.by_trace import ToolTrajectory, WantedCall
from baselinekit.graders.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.graders.composite import Aggregator, make_composite
from baselinekit.graders.graders import GRADERS
from baselinekit.graders.task import ReadConfig
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.schema import describe_value, prefix_paths, read_as, read_right_keys
from baselinekit.structs import AtLeastOne, Meta, Name, NotNegative, Struct, Threshold, field, replace
from baselinekit.suites.dialects.graders import Weight
from baselinekit.suites.messages import NamedFiles

Type = Literal[
    "code_judge",
    "llm_judge",
    "rubric",
    "composite",
    "tool_trajectory",
    "field_accuracy",
    "latency",
    "cost",
    "token_usage",
]
TYPES: tuple[str, ...] = get_args(Type)
JUDGE, PROGRAM, RUBRIC = "llm_judge", "code_judge", "rubric"

_CHECKS = ("contains", "contains_any", "contains_all", "equals", "regex", "is_json", "starts_with")
_OTHER_TYPES = {
    **dict.fromkeys(_CHECKS, "a code_judge; in our own form {type: code, config: {method: contains, …}}"),
    "execution_metrics": "each limit by itself: latency, cost, token_usage",
    "code_grader": "code_judge",
    "llm_grader": "llm_judge",
    "rubrics": "rubric, with `rubrics:`",
    "agent_judge": "llm_judge",
    "expected_messages": "tool_trajectory, mode in_order, with the calls as `expected`",
}
"""Types of other versions of AgentV, and what to use here instead."""


class Evaluator(Struct, forbid_unknown_fields=False):
    """What every evaluator states. Its other keys are those of its type."""

    name: Name
    type: Type
    weight: Weight = 1
    required: bool = False


# The types whose config has other keys or units than that of our grader.

_ABOVE_ZERO = Meta(gt=0, description="a number of milliseconds above 0")
Milliseconds = Annotated[int, _ABOVE_ZERO] | Annotated[float, _ABOVE_ZERO]


class ExpectedCall(Struct):
    tool: Name
    args: Json = "any"
    args_match: Literal["partial", "exact"] = "partial"
    max_duration_ms: Milliseconds | None = None

    def as_call(self) -> WantedCall:
        seconds = None if self.max_duration_ms is None else self.max_duration_ms / 1000
        return WantedCall(self.tool, self.args, self.args_match, seconds)


class StatedTrajectory(Struct):
    mode: Literal["any_order", "in_order", "exact"]
    minimums: dict[str, AtLeastOne] = field(default_factory=dict)
    expected: list[ExpectedCall] = field(default_factory=list)
    pass_at: Threshold | None = None

    def as_config(self) -> ToolTrajectory:
        calls = [call.as_call() for call in self.expected]
        return ToolTrajectory(self.mode, self.minimums, calls, self.pass_at)


class StatedLatency(Struct):
    threshold: Milliseconds

    def as_config(self) -> LatencyLimit:
        return LatencyLimit(self.threshold / 1000)


class StatedCost(Struct):
    budget: NotNegative

    def as_config(self) -> CostLimit:
        return CostLimit(self.budget)


class CompositeEvaluator(Struct):
    """Evaluators whose scores become one, by their mean or by another evaluator."""

    evaluators: list[Json]
    aggregator: dict[str, Json] = field(default_factory=dict)
    pass_at: Threshold | None = None


_FORMS: dict[str, type[Any]] = {
    PROGRAM: CodeJudge,
    JUDGE: TemplateJudge,
    "tool_trajectory": StatedTrajectory,
    "field_accuracy": FieldAccuracy,
    "latency": StatedLatency,
    "cost": StatedCost,
    "token_usage": TokenLimit,
}
_OF_PROGRAMS = ("script", "cwd", "target", "timeout", "config")

DEFAULT_EVALUATOR = Grader(JUDGE, "model", TemplateJudge(), required=False)
"""The default evaluator: a model that judges by the expected outcome."""


def read_evaluators(raw: Json, at: Path, files: NamedFiles) -> tuple[list[Grader], list[Problem]]:
    """Return the graders of a list at this path of its case, and its problems with paths below it."""
    if not isinstance(raw, list) or not raw:
        message = f"expected a list of evaluators, found {describe_value(raw)}"
        return [], [Problem("BK105", message, "such as - {name: quality, type: llm_judge}", at=())]
    graders: dict[str, Grader] = {}
    problems: list[Problem] = []
    for number, entry in enumerate(raw):
        grader, new_problems = read_evaluator(entry, (*at, number), files)
        problems += prefix_paths(new_problems, (number,))
        if grader is not None and graders.setdefault(grader.name, grader) is not grader:
            message = f"two evaluators are called {grader.name!r}"
            problems.append(Problem("BK783", message, "rename one of them", at=(number, "name")))
    return list(graders.values()), problems


def read_evaluator(raw: Json, at: Path, files: NamedFiles) -> tuple[Grader | None, list[Problem]]:
    """Read an evaluator. What AgentV ignores, such as an unknown type, is a problem here."""
    stated: dict[str, Json] = {}
    if isinstance(raw, dict):
        raw = stated = {key: value for key, value in raw.items() if value is not None}
    head, head_problems = read_as(Evaluator, raw)
    type = stated.get("type")
    problems = []
    for problem in head_problems:
        other_type = _OTHER_TYPES.get(str(type).replace("-", "_")) if problem.at == ("type",) else None
        problems.append(replace(problem, hint=f"here it is {other_type}") if other_type else problem)
    if type not in TYPES:
        return None, problems
    config = {key: value for key, value in stated.items() if key not in Evaluator.__struct_fields__}
    method, new_problems = _read_config(str(type), config, at, files)
    problems += new_problems
    if head is None or method is None or problems:
        return None, problems
    kind = GRADERS[method.__class__].kind
    return Grader(head.name, kind, method, float(head.weight), head.required, at, ()), []


def _read_config(type: str, config: dict[str, Json], at: Path, files: NamedFiles) -> ReadConfig:
    """Read the keys of a type as the config of our grader."""
    if type == "composite":
        return _read_composite(config, at, files)
    if type == RUBRIC or (type == JUDGE and "rubrics" in config):
        return read_rubric(config, None)
    problems: list[Problem] = []
    if type == PROGRAM:  # all keys that are not settings are passed to the program
        own = config.get("config", {})
        passed = {key: value for key, value in config.items() if key not in _OF_PROGRAMS}
        config = {key: value for key, value in config.items() if key in _OF_PROGRAMS}
        config["config"] = {**passed, **own} if isinstance(own, dict) else own
        problems = _find_path(config, "cwd", files, os.path.isdir)
    elif type == JUDGE:
        prompt = config.get("prompt")
        if isinstance(prompt, dict):
            prompt = config["prompt"] = {**prompt}
            problems = prefix_paths(_find_path(prompt, "cwd", files, os.path.isdir), ("prompt",))
        elif isinstance(prompt, str) and names_file(prompt):
            problems = _find_path(config, "prompt", files, os.path.isfile)
    stated, new_problems = read_as(_FORMS[type], config)
    return getattr(stated, "as_config", lambda: stated)(), [*problems, *new_problems]


def _find_path(
    config: dict[str, Json], key: str, files: NamedFiles, is_there: Callable[[str], bool]
) -> list[Problem]:
    """Find the path under a key as other files are found, and state it from the folder of the eval file."""
    if not isinstance(config.get(key), str):
        return []
    try:
        path = files.find(config[key].strip(), is_there)
    except BaselinekitError as error:
        return [replace(problem, place=None, at=(key,)) for problem in error.problems]
    config[key] = posixpath.relpath(path, posixpath.dirname(files.file) or ".")
    return []


def _read_composite(config: dict[str, Json], at: Path, files: NamedFiles) -> ReadConfig:
    stated, problems = read_right_keys(CompositeEvaluator, config)
    if stated is None:
        return None, problems
    members, new_problems = read_evaluators(stated.evaluators, (*at, "evaluators"), files)
    problems += prefix_paths(new_problems, ("evaluators",))
    raw = {key: value for key, value in stated.aggregator.items() if value is not None}
    judge = None
    if raw.get("type") in (PROGRAM, JUDGE):
        own = {key: value for key, value in raw.items() if key not in ("on_error", "weights")}
        if "path" in own and "script" not in own:
            own["script"] = own.pop("path")
        judge, new_problems = read_evaluator({"name": "aggregator", **own}, (*at, "aggregator"), files)
        problems += prefix_paths(new_problems, ("aggregator",))
        raw = {key: value for key, value in raw.items() if key in ("type", "on_error", "weights")}
    aggregator, new_problems = read_as(Aggregator, raw)
    problems += prefix_paths(new_problems, ("aggregator",))
    if aggregator is None or problems:
        return None, problems
    return make_composite(members, aggregator, judge, stated.pass_at)
