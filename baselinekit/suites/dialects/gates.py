"""`phase:` and `eval_trigger:`, as the plan of a project states them, read as gates."""

import posixpath
import shlex
from dataclasses import field, replace
from typing import Literal

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.metrics import metric_name
from baselinekit.model.baselines import Number
from baselinekit.model.evals import Gate
from baselinekit.model.values import Json
from baselinekit.schema.complaints import Parts, Schema, add_part, closed, describe_value, ref
from baselinekit.schema.records import below, check, place_problems
from baselinekit.store.project import read
from baselinekit.suites.dialects.dialect import Defaults, EvalDocument, EvalItem
from baselinekit.suites.dialects.suite import WRAPPER
from baselinekit.suites.settings import is_no_place, resolve_named, wrong_results

RATE = "pass rate"
SLOT = "{phase_id}"
ENDINGS = (".md", ".json", ".html")
PHASE, TRIGGER = "phase", "eval_trigger"

_FORM = "a gate file has `phase:` with a step of type eval, or `eval_trigger:`"
_RUN_FIRST = "this is a suite: baselinekit run --suite %s -o results.json, then baselinekit gate results.json"


@frozen
class StepConfig:
    """The `config` of an eval step."""

    suite: str
    required_pass_rate: Number | None = None
    blocking: bool = True
    metrics: list[str] = field(default_factory=list)
    thresholds: dict[str, Number] = field(default_factory=dict)


@frozen
class Step:
    type: Literal["eval"]
    config: StepConfig
    description: str | None = None


@frozen
class Filters:
    categories: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


@frozen
class OnFailure:
    action: Literal["block", "warn", "continue"] = "block"
    notification: bool = False
    report_path: str | None = None


@frozen
class OnSuccess:
    action: Literal["continue"] = "continue"
    archive_results: bool = False


@frozen
class Trigger:
    """`eval_trigger:`. `when` is for whoever calls the gate: it judges when it is called."""

    suite: str
    when: str | None = None
    filters: Filters = field(default_factory=Filters)
    thresholds: dict[str, Number] = field(default_factory=dict)
    on_failure: OnFailure = field(default_factory=OnFailure)
    on_success: OnSuccess = field(default_factory=OnSuccess)


def recognises(raw: dict[str, Json]) -> bool:
    return bool({PHASE, TRIGGER} & raw.keys())


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """A gate may lie among cases, and is none."""
    if document.file in document.loading.walked:
        return []
    words = "an eval trigger" if TRIGGER in item.raw else "a phase of a plan"
    hint = f"give it to the gate: baselinekit gate {shlex.quote(document.file)}"
    return [Problem("BK710", f"not a case: this looks like {words}", hint, at=item.at)]


def load_gates(file: str, root: str) -> list[Gate]:
    """Every gate of a file, in its order; or everything that is wrong with it."""
    body = decode(read(root, file), file).body
    gates: list[Gate] = []
    wrong: dict[int, list[Problem]] = {}
    for number, document in enumerate(language(file).load(body, file)):
        here = wrong.setdefault(number, [])
        stated = document if isinstance(document, dict) else {}
        if not stated.keys() & {PHASE, TRIGGER}:
            hint = _RUN_FIRST % shlex.quote(file) if WRAPPER in stated else _FORM
            here.append(Problem("BK730", "no gate here", hint, at=()))
        for key, raw in stated.items():
            known = {PHASE: _phase, TRIGGER: _trigger}.get(key)
            if known is not None:
                made, problems = known(raw, file, root)
                gates += made
                here += below(problems, (key,))
            elif stated.keys() & {PHASE, TRIGGER}:
                here.append(Problem("BK103", f"unknown key {key!r} beside a gate", "remove it", at=(key,)))
    if any(wrong.values()):
        problems = place_problems(body, file, wrong)
        refused = all(problem.code.startswith("BK4") for problem in problems)
        raise (Refused if refused else InvalidInput)(*problems)
    if not gates:
        raise InvalidInput(Problem("BK730", "no gate here", _FORM, Place(file, 1, 1)))
    return gates


def _phase(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    """A gate for each eval step; of the other steps nothing is looked at."""
    steps = raw.get("steps") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(steps, list):
        return [], [Problem("BK730", "a phase has `steps:`", _FORM, at=())]
    name = str(raw.get("name") or "phase")
    gates, problems = [], []
    for number, step in enumerate(steps):
        if not isinstance(step, dict) or step.get("type") != "eval":
            continue
        stated, more = check(Step, step)
        if stated is not None and not more:
            config = stated.config
            more = wrong_least(config.thresholds)
            more += wrong_share(config.required_pass_rate, "required_pass_rate", ("required_pass_rate",))
            for place, metric in enumerate(config.metrics):
                if metric != RATE and metric_name(metric) is None:
                    more.append(unknown_metric(metric, ("metrics", place)))
            if not config.thresholds and config.required_pass_rate is None:
                hint = "state `required_pass_rate: 0.9`, or `thresholds: {pass@1: 0.9}`"
                message = "a gate without requirements lets everything through"
                more.append(Problem("BK731", message, hint, at=()))
            more = below(more, ("config",))
        problems += below(more, ("steps", number))
        if stated is None or more:
            continue
        suite, missing = _suite(stated.config.suite, file, root)
        problems += below(missing, ("steps", number, "config", "suite"))
        least = {**stated.config.thresholds}
        if stated.config.required_pass_rate is not None:
            least[RATE] = stated.config.required_pass_rate
        title = f"{name}: {stated.description}" if stated.description else name
        gates.append(
            Gate(
                title,
                {metric: float(value) for metric, value in least.items()},
                tuple(stated.config.metrics),
                suite,
                stated.config.blocking,
                file=file,
            )
        )
    if not gates and not problems:
        problems.append(Problem("BK730", "the phase has no step of type eval", "add one", at=("steps",)))
    return gates, problems


def _trigger(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    stated, problems = check(Trigger, raw)
    if stated is None or problems:
        return [], problems
    problems = below(wrong_least(stated.thresholds), ())
    if not stated.thresholds:
        hint = "state what has to be reached: `thresholds: {pass_at_1: 0.85}`"
        problems.append(Problem("BK731", "a gate without requirements lets everything through", hint, at=()))
    path = stated.on_failure.report_path
    if path is not None:
        problems += wrong_path(path, root)
    suite, missing = _suite(stated.suite, file, root)
    problems += below(missing, ("suite",))
    if stated.on_success.archive_results and not missing:
        wrong = wrong_results(root, suite, None)
        problems += [replace(one, at=("on_success", "archive_results")) for one in wrong]
    return [
        Gate(
            posixpath.splitext(posixpath.basename(stated.suite))[0],
            {metric: float(value) for metric, value in stated.thresholds.items()},
            (),
            suite,
            stated.on_failure.action == "block",
            tuple(stated.filters.categories),
            tuple(stated.filters.tags),
            path,
            stated.on_failure.notification,
            stated.on_success.archive_results,
            file,
        )
    ], problems


def _suite(name: str, file: str, root: str) -> tuple[str, list[Problem]]:
    """A suite from the folder of the file that names it, else from the project's root, where a plan that
    lies in a folder of its own means it."""
    looked: list[str] = []
    for by in (file, ""):
        try:
            path = resolve_named(root, by, name)
            looked += [path] if path not in looked else []
            read(root, path)
        except BaselinekitError as error:
            problem = error.problems[0]
            if problem.code.startswith("BK4"):
                return name, [replace(problem, place=None, at=())]
        else:
            return path, []
    hint = f"it was looked for at {', then at '.join(looked)}" if looked else "write the path of a suite"
    return name, [Problem("BK716", f"there is no suite {name!r}", hint, at=())]


def wrong_least(least: dict[str, Number]) -> list[Problem]:
    problems = []
    for name, value in least.items():
        if name != RATE and metric_name(name) is None:
            problems.append(unknown_metric(name, ("thresholds", name)))
        problems += wrong_share(value, name, ("thresholds", name))
    return problems


def wrong_share(value: Number | None, name: str, at: tuple[str, ...]) -> list[Problem]:
    if value is None or 0 <= value <= 1:
        return []
    return [Problem("BK108", f"{name} is {describe_value(value)}", "a share from 0 to 1", at=at)]


def unknown_metric(name: str, at: tuple[str | int, ...]) -> Problem:
    return Problem("BK723", f"no metric is called {name!r}", "pass@1, pass@3, pass^3 or pass rate", at=at)


def wrong_path(path: str, root: str) -> list[Problem]:
    """A file of a plan names where something is written: a report, inside the project, and nothing else."""
    at = ("on_failure", "report_path")
    written = path.replace(SLOT, "x")
    inside = posixpath.normpath(written)
    try:
        resolve_named(root, "", written)
    except BaselinekitError as error:
        return [replace(problem, place=None, at=at) for problem in error.problems]
    if is_no_place(inside) or not inside.endswith(ENDINGS):
        hint = f"a report must end in {', '.join(ENDINGS)}, such as eval-results/phase-{SLOT}.md"
        return [Problem("BK730", f"{path} is not a place for a report", hint, at=at)]
    return []


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "EvalStep", Step)
    add_part(parts, "Trigger", Trigger)
    steps = {"type": "array", "items": {"anyOf": [ref("EvalStep"), {"type": "object"}]}}
    parts["Phase"] = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}
    return [closed({PHASE: ref("Phase"), TRIGGER: ref("Trigger")}, at_least=1)]
