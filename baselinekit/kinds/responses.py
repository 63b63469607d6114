"""Where the responses of a recipe stand in its output, and what in an observation says that it went wrong: a
server error, a program that was killed, an empty answer of a model.

Whoever stores, learns or approves an output asks here, so that every kind of recipe and every step of a flow
is treated alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from baselinekit.errors import InvalidInput
from baselinekit.model.observation import Observation
from baselinekit.model.recipes import HttpFlow, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.tree.paths import parse

_FIRST_ERROR = 400
_FIRST_SERVER_ERROR = 500
_BODIES: dict[str, tuple[Path, ...]] = {"command": (("stdout",), ("stderr",))}
_ANSWERS = ("text", "json", "output")
_SCORES = "quality_scores"

Flag = Literal["--allow-error-status", "--allow-empty"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A place of an output that says whether something worked. `step`: which step of a flow, else empty."""

    kind: Literal["status", "exit_code"]
    step: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What says that an observation went wrong. `flag`: what a user says to take it for known-good all the
    same; `visible`: whether the output itself shows it."""

    message: str
    flag: Flag
    visible: bool = True


def step_names(flow: HttpFlow) -> dict[str, int]:
    """Every step by its number (from 1), and by its name where it has one."""
    names = {str(index + 1): index for index in range(len(flow.steps))}
    return names | {step.name: index for index, step in enumerate(flow.steps) if step.name}


def split_step(text: str, names: Mapping[str, int]) -> tuple[str, str]:
    """`step.path` of a `collect`; a step's name may have dots in it."""
    whole = [name for name in names if text == name or text.startswith(f"{name}.")]
    if not whole:
        return text.partition(".")[0], ""
    name = max(whole, key=len)
    return name, text[len(name) + 1 :]


def response_places(recipe: Recipe) -> dict[Path, str]:
    """Where whole responses stand in the output of an http recipe, each with the name of its step."""
    return {place: step for place, (step, path) in _collected(recipe).items() if not path}


def outcome_places(recipe: Recipe) -> dict[Path, Outcome]:
    """Where the output says whether it worked."""
    if recipe.kind == "command":
        return {("exit_code",): Outcome("exit_code")}
    return {
        place if path else (*place, "status"): Outcome("status", step)
        for place, (step, path) in _collected(recipe).items()
        if not path or _is_status(path)
    }


def body_places(recipe: Recipe) -> tuple[Path, ...]:
    """Where all that was answered stands: a body, what a program printed."""
    bodies = tuple((*place, "body") for place in response_places(recipe))
    return bodies or _BODIES.get(recipe.kind, ())


def _collected(recipe: Recipe) -> dict[Path, tuple[str, str]]:
    """What of which step stands where in the output of an http recipe: the whole response where there is no
    path."""
    if recipe.kind != "http":
        return {}
    flow = recipe.input
    if not isinstance(flow, HttpFlow):
        return {(): ("", "")}
    names = step_names(flow)
    if flow.collect is None:
        last = len(flow.steps)
        return {(): (flow.steps[-1].name or str(last), "")} if flow.steps else {}
    if isinstance(flow.collect, list):
        return {(name,): (name, "") for name in flow.collect}
    return {(key,): split_step(text, names) for key, text in flow.collect.items()}


def _is_status(path: str) -> bool:
    try:
        return parse(path).segments == ("status",)
    except InvalidInput:
        return False


def troubles(recipe: Recipe, observation: Observation) -> Iterator[Trouble]:
    """All that says that it went wrong. What is told here is stored only if the user says so."""
    for trouble in visible_troubles(recipe, observation.output):
        if trouble is not _EMPTY or not observation.tool_calls:
            yield trouble
    shown = {outcome.step for outcome in outcome_places(recipe).values()}
    for step, status in observation.statuses:
        if step not in shown and status >= _FIRST_SERVER_ERROR:
            yield replace(_server_error(Outcome("status", step), status), visible=False)
    asked_a_model = recipe.kind == "skill" and "model" in observation.environment
    if asked_a_model and not observation.tool_calls and _is_empty(recipe, observation.output):
        yield replace(_EMPTY, visible=False)


def visible_troubles(recipe: Recipe, output: Json) -> Iterator[Trouble]:
    """What the output itself says of that."""
    for path, outcome in outcome_places(recipe).items():
        value = _at(output, path)
        if outcome.kind == "status" and _rank(outcome, value) == 2:
            yield _server_error(outcome, cast(int, value))
        elif _rank(outcome, value) == 2:
            what = f"the program was killed by signal {-cast(int, value)}"
            yield Trouble(what, "--allow-error-status")
    if recipe.kind == "prompt" and _is_empty(recipe, output):
        yield _EMPTY


STORED = "that is the known-good answer now"


def remarks(recipe: Recipe, observation: Observation, meaning: str = STORED) -> Iterator[str]:
    """What may be right and may be a mistake, so that it is stored and told: a 404, an exit code of 1."""
    outcomes = outcome_places(recipe)
    seen = [(outcome, _at(observation.output, path)) for path, outcome in outcomes.items()]
    shown = {outcome.step for outcome in outcomes.values()}
    seen += [(Outcome("status", step), status) for step, status in observation.statuses if step not in shown]
    for outcome, value in seen:
        if _rank(outcome, value) == 1 and outcome.kind == "exit_code":
            yield f"the program ended with exit code {value}: {meaning}"
        elif _rank(outcome, value) == 1:
            who = f"step {outcome.step} answered {value}, which" if outcome.step else str(value)
            yield f"{who} says that the request was refused: {meaning}"
    if recipe.kind == "skill" and _is_empty(recipe, observation.output):
        yield f"the answer is empty: {meaning}"


def is_worse(outcome: Outcome, before: Json, after: Json) -> bool:
    """Whether what was answered well would be answered with an error from now on."""
    return _rank(outcome, after) > _rank(outcome, before)


def _rank(outcome: Outcome, value: Json) -> int:
    """0: it worked; 1: it was turned down; 2: it broke."""
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    if outcome.kind == "exit_code":
        return 2 if value < 0 else int(value > 0)
    return (value >= _FIRST_ERROR) + (value >= _FIRST_SERVER_ERROR)


def _server_error(outcome: Outcome, status: int) -> Trouble:
    who = f"step {outcome.step} answered {status}" if outcome.step else f"the answer is {status}"
    return Trouble(f"{who}, a server error", "--allow-error-status")


_EMPTY = Trouble("the model's answer is empty", "--allow-empty")


def _is_empty(recipe: Recipe, output: Json) -> bool:
    """Whether nothing was answered: no text to be seen, null or {} in the place of JSON, and no call of a
    tool. An empty list says that there are none."""
    if isinstance(output, dict) and getattr(recipe.execution, "scores", None) is not None:
        output = {key: value for key, value in output.items() if key != _SCORES}
        output = output["text"] if output.keys() == {"text"} else output
    if isinstance(output, dict) and getattr(recipe.execution, "collect", None) is not None:
        parts = [output[key] for key in _ANSWERS if key in output]
        return bool(parts) and not output.get("tool_calls") and all(map(_says_nothing, parts))
    return _says_nothing(output)


def _says_nothing(value: Json) -> bool:
    if isinstance(value, str):
        return not any(sign.isprintable() and not sign.isspace() for sign in value)
    return value is None or value == {}


def _at(output: Json, path: Path) -> Json:
    for key in path:
        output = output.get(key) if isinstance(output, dict) and isinstance(key, str) else None
    return output
