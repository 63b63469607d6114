"""`evaluators:` and `rubrics:` of AgentV's eval files, as the graders that every form of file has."""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal

from baselinekit.errors import BaselinekitError, Problem, nearest
from baselinekit.grade.graders import GRADERS
from baselinekit.grade.task import GraderType
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.schema.complaints import describe_value
from baselinekit.schema.records import below
from baselinekit.suites.dialects.agentvmessages import NamedFiles
from baselinekit.suites.dialects.graders import weight_problems

RUBRIC = "rubric"
JUDGE = "llm_judge"
PROGRAM = "code_judge"
_OWN = ("name", "type", "weight", "required")
_LATER = {
    "execution_metrics": "say each limit by itself: latency, cost, token_usage",
    "code_grader": "code_judge",
    "llm_grader": "llm_judge",
    "rubrics": "rubric, with `rubrics:`",
    "agent_judge": "llm_judge",
}
"""Types of later versions, and what does the same here."""

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


@dataclass(frozen=True, slots=True)
class EvaluatorPlace:
    """Where evaluators stand: in which record at which path, and what files their file can name."""

    files: NamedFiles
    at: Path


ReadConfig = tuple[dict[str, Json], list[Problem]]
"""The config that a grader of ours has, and what is wrong with what it is made from."""


def read_evaluators(raw: Json, around: EvaluatorPlace) -> tuple[list[Grader], list[Problem]]:
    """All of a list, or what is wrong with it by paths below it."""
    if not isinstance(raw, list):
        what = f"expected a list of evaluators, found {describe_value(raw)}"
        return [], [Problem("BK783", what, "such as - {name: quality, type: llm_judge}", at=())]
    if not raw:
        return [], [Problem("BK783", "an empty list of evaluators", "add one, or remove the key", at=())]
    found: list[Grader] = []
    problems: list[Problem] = []
    names: set[str] = set()
    for number, entry in enumerate(raw):
        grader, wrong = read_evaluator(entry, replace(around, at=(*around.at, number)))
        problems += below(wrong, (number,))
        if grader is not None and grader.name in names:
            what = f"two evaluators are called {grader.name!r}"
            problems.append(Problem("BK783", what, "rename one of them", at=(number, "name")))
        elif grader is not None:
            names.add(grader.name)
            found.append(grader)
    return found, problems


def read_evaluator(raw: Json, around: EvaluatorPlace) -> tuple[Grader | None, list[Problem]]:
    """One of them: what has no effect in AgentV, such as a type that nobody knows, is wrong."""
    if not isinstance(raw, dict):
        what = f"expected an evaluator, found {describe_value(raw)}"
        return None, [Problem("BK783", what, "such as {name: quality, type: llm_judge}", at=())]
    raw = {key: value for key, value in raw.items() if value is not None}
    problems = [*_wrong_head(raw)]
    type = raw.get("type")
    if not isinstance(type, str) or type not in _READ:
        return None, [*problems, _unknown_type(raw)]
    method, read = _READ[type](raw)
    row = _rows().get(method)
    if row is None:
        what = f"the evaluator type {type!r} cannot be judged yet"
        return None, [*problems, Problem("BK783", what, "leave it out", at=("type",))]
    rest = {key: value for key, value in raw.items() if key not in _OWN}
    config, more = read(rest, around)
    problems += more
    if problems:
        return None, problems
    made, more = row.read_config(config, None)
    problems += [replace(one, at=_as_written(type, one.at or ())) for one in more]
    if made is None or problems:
        return None, problems
    name, weight = str(raw["name"]), float(raw.get("weight", 1))
    return Grader(name, row.kind, made, weight, bool(raw.get("required", False)), around.at), []


def _wrong_head(raw: Mapping[str, Json]) -> list[Problem]:
    problems = []
    name, weight, required = raw.get("name"), raw.get("weight", 1), raw.get("required", False)
    if name is None:
        problems.append(Problem("BK783", "an evaluator without a name", "add `name:`", at=()))
    elif not isinstance(name, str) or not name.strip() or not name.isprintable():
        what = f"expected the name of the evaluator, found {describe_value(name)}"
        problems.append(Problem("BK783", what, "such as `name: quality`", at=("name",)))
    if isinstance(weight, bool) or not isinstance(weight, int | float | Decimal):
        what = f"expected a number, found {describe_value(weight)}"
        problems.append(Problem("BK105", what, "a weight such as 1 or 0.5", at=("weight",)))
    else:
        problems += weight_problems(float(weight))
    if not isinstance(required, bool):
        what = f"expected true or false, found {describe_value(required)}"
        problems.append(Problem("BK105", what, at=("required",)))
    return problems


def _unknown_type(raw: Mapping[str, Json]) -> Problem:
    type = raw.get("type")
    known = f"one of {', '.join(_READ)}"
    if type is None:
        return Problem("BK783", "an evaluator without a type", known, at=())
    word = str(type).replace("-", "_")
    if word in _CHECKS:
        hint = f"a later AgentV has it; here it is {_CHECKED}"
    elif word in _LATER:
        hint = f"a later AgentV has it; here: {_LATER[word]}"
    else:
        hint = nearest(word, _READ) or known
    return Problem("BK783", f"there is no evaluator of the type {describe_value(type)}", hint, at=("type",))


def _rows() -> dict[str, GraderType]:
    return {row.method: row for row in GRADERS.values()}


def default_evaluators(word: str = JUDGE) -> tuple[list[Grader], list[Problem]]:
    """Who judges where nobody says by what: a model, by the expected outcome."""
    if word != JUDGE:
        hint = f"`evaluator: {JUDGE}`, or list them: evaluators: [{{name: …, type: …}}]"
        return [], [Problem("BK783", f"no evaluator is made of the word {word!r} alone", hint, at=())]
    if (row := _rows().get(JUDGE)) is None:
        return [], [Problem("BK783", "no model can judge it yet", "add `evaluators:`", at=())]
    method, problems = row.read_config({}, None)
    return ([Grader(JUDGE, "model", method, required=False)] if method else []), problems


def read_rubrics(raw: Json, at: Path) -> tuple[list[Grader], list[Problem]]:
    """The `rubrics:` of a case, which a model judges."""
    if (row := _rows().get(RUBRIC)) is None:
        return [], [Problem("BK783", "rubrics cannot be judged yet", "leave them out", at=at)]
    if not isinstance(raw, list) or not raw:
        what = "an empty list of rubrics" if raw == [] else f"expected a list, found {describe_value(raw)}"
        return [], [Problem("BK783", what, "such as - States the time complexity", at=at)]
    method, problems = row.read_config({"rubrics": raw}, None)
    problems = [replace(one, at=(*at[:-1], *(one.at or at[-1:]))) for one in problems]
    return ([Grader(RUBRIC, row.kind, method, required=False, at=at)] if method else []), problems


# The types of evaluators, each with the method of ours that it is, and how its config is read.


Read = Callable[[dict[str, Json], EvaluatorPlace], ReadConfig]


def _as_it_is(config: dict[str, Json], around: EvaluatorPlace) -> ReadConfig:
    return config, []


def _program(config: dict[str, Json], around: EvaluatorPlace) -> ReadConfig:
    """What the program's own settings are, is for the program: all that nobody else knows."""
    known = {one.name for one in fields(_rows()[PROGRAM].config)}
    given = config.pop("config", {})
    if not isinstance(given, dict):
        what = f"expected a mapping, found {describe_value(given)}"
        return config, [Problem("BK105", what, "what the program is handed as `config`", at=("config",))]
    told = {key: value for key, value in config.items() if key not in known}
    config = {key: value for key, value in config.items() if key in known}
    if told or given:
        config["config"] = {**told, **given}
    if "script" not in config:
        near = next((key for key in told if nearest(key, ("script",))), "")
        hint = f"`script: [python3, check.py]`{f' instead of {near!r}' if near else ''}"
        return config, [Problem("BK783", "a code_judge without a script", hint, at=())]
    return _in_folder(config, around)


def _in_folder(config: dict[str, Json], around: EvaluatorPlace) -> ReadConfig:
    cwd = config.get("cwd")
    if not isinstance(cwd, str):
        return config, []
    try:
        found = around.files.find(cwd, folders=True)
    except BaselinekitError as error:
        return config, [replace(one, place=None, at=("cwd",)) for one in error.problems]
    return {**config, "cwd": posixpath.relpath(found or ".", posixpath.dirname(around.files.file) or ".")}, []


def _renamed(old: str, new: str, per: int) -> Read:
    """A limit that is called otherwise here, and counted in another unit."""

    def read(config: dict[str, Json], around: EvaluatorPlace) -> ReadConfig:
        if old not in config:
            return config, []
        value = config.pop(old)
        if new in config:
            what = f"both `{old}` and `{new}` are given"
            return config, [Problem("BK783", what, "keep one of them", at=(old,))]
        is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return {**config, new: float(value) / per if is_number and per != 1 else value}, []

    return read


def _as_written(type: str, at: Path) -> Path:
    """Where something of our config stands in an evaluator of this type."""
    names = {new: old for of, old, new in _OTHER_NAMES if of == type}
    return (names.get(str(at[0]), at[0]), *at[1:]) if at else at


_OTHER_NAMES = (("latency", "threshold", "max_seconds"), ("cost", "budget", "max_usd"))


def _judge(raw: Mapping[str, Json]) -> tuple[str, Read]:
    """A model by a prompt of its own, or by rubrics."""
    return (RUBRIC if "rubrics" in raw else JUDGE), _as_it_is


_READ: dict[str, Callable[[Mapping[str, Json]], tuple[str, Read]]] = {
    PROGRAM: lambda raw: (PROGRAM, _program),
    JUDGE: _judge,
    RUBRIC: lambda raw: (RUBRIC, _as_it_is),
    "composite": lambda raw: ("composite", _as_it_is),
    "tool_trajectory": lambda raw: ("tool_trajectory", _as_it_is),
    "field_accuracy": lambda raw: ("field_accuracy", _as_it_is),
    "latency": lambda raw: ("latency", _renamed("threshold", "max_seconds", 1000)),
    "cost": lambda raw: ("cost", _renamed("budget", "max_usd", 1)),
    "token_usage": lambda raw: ("token_usage", _as_it_is),
}

TYPES = tuple(_READ)
