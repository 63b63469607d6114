"""Read `phase:` and `eval_trigger:` of a project's plan as gates."""

import posixpath
import shlex
from collections.abc import Iterable
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.metrics import metric_name
from baselinekit.model.evals import Gate
from baselinekit.model.values import Json
from baselinekit.schema import (
    Parts,
    Schema,
    add_part,
    closed_object,
    place_problems,
    prefix_paths,
    read_as,
    ref,
)
from baselinekit.store.project import read
from baselinekit.structs import Struct, ZeroToOne, field, replace
from baselinekit.suites.dialects.dialect import Defaults, EvalDocument, EvalItem
from baselinekit.suites.dialects.suite import WRAPPER
from baselinekit.suites.settings import check_results_folder, is_forbidden_folder, resolve_named

RATE = "pass rate"
SLOT = "{phase_id}"
ENDINGS = (".md", ".json", ".html")
PHASE, TRIGGER = "phase", "eval_trigger"

_FORM_HINT = "a gate file has `phase:` with a step of type eval, or `eval_trigger:`"
_RUN_FIRST_HINT = (
    "this is a suite: baselinekit run --suite %s -o results.json, then baselinekit gate results.json"
)


class StepConfig(Struct):
    """The `config` of an eval step."""

    suite: str
    required_pass_rate: ZeroToOne | None = None
    blocking: bool = True
    metrics: list[str] = field(default_factory=list)
    thresholds: dict[str, ZeroToOne] = field(default_factory=dict)
    allow_regressions: list[Literal["medium", "low"]] = field(default_factory=list)


class Step(Struct):
    type: Literal["eval"]
    config: StepConfig
    description: str | None = None


class Filters(Struct):
    categories: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


class OnFailure(Struct):
    action: Literal["block", "warn", "continue"] = "block"
    notification: bool = False
    report_path: str | None = None


class OnSuccess(Struct):
    action: Literal["continue"] = "continue"
    archive_results: bool = False


class Trigger(Struct):
    """`eval_trigger:`. `when` is for the caller of the gate, which judges whenever it is called."""

    suite: str
    when: str | None = None
    filters: Filters = field(default_factory=Filters)
    thresholds: dict[str, ZeroToOne] = field(default_factory=dict)
    allow_regressions: list[Literal["medium", "low"]] = field(default_factory=list)
    on_failure: OnFailure = field(default_factory=OnFailure)
    on_success: OnSuccess = field(default_factory=OnSuccess)


def recognises(raw: dict[str, Json]) -> bool:
    return bool({PHASE, TRIGGER} & raw.keys())


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Skip a gate that was found among cases, and report one that was named."""
    if document.file in document.loading.discovered:
        return []
    words = "an eval trigger" if TRIGGER in item.raw else "a phase of a plan"
    hint = f"give it to the gate: baselinekit gate {shlex.quote(document.file)}"
    return [Problem("BK710", f"not a case: this looks like {words}", hint, at=item.at)]


def load_gates(file: str, root: str) -> list[Gate]:
    """Return the gates of a file, in order, or raise all of its problems."""
    body = decode(read(root, file), file).body
    gates: list[Gate] = []
    problems_by_document: dict[int, list[Problem]] = {}
    for number, document in enumerate(language(file).load(body, file)):
        document_problems = problems_by_document.setdefault(number, [])
        sections = document if isinstance(document, dict) else {}
        if not sections.keys() & {PHASE, TRIGGER}:
            hint = _RUN_FIRST_HINT % shlex.quote(file) if WRAPPER in sections else _FORM_HINT
            document_problems.append(Problem("BK730", "no gate here", hint, at=()))
        for key, raw in sections.items():
            read_gates = {PHASE: _read_phase, TRIGGER: _read_trigger}.get(key)
            if read_gates is not None:
                new_gates, problems = read_gates(raw, file, root)
                gates += new_gates
                document_problems += prefix_paths(problems, (key,))
            elif sections.keys() & {PHASE, TRIGGER}:
                document_problems.append(
                    Problem("BK103", f"unknown key {key!r} beside a gate", "remove it", at=(key,))
                )
    if any(problems_by_document.values()):
        problems = place_problems(body, file, problems_by_document)
        is_refused = all(problem.code.startswith("BK4") for problem in problems)
        raise (Refused if is_refused else InvalidInput)(*problems)
    if not gates:
        raise InvalidInput(Problem("BK730", "no gate here", _FORM_HINT, Place(file, 1, 1)))
    return gates


def _read_phase(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    """Return a gate for each eval step; other steps are ignored."""
    steps = raw.get("steps") if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(steps, list):
        return [], [Problem("BK730", "a phase has `steps:`", _FORM_HINT, at=())]
    name = str(raw.get("name") or "phase")
    gates, problems = [], []
    for number, step in enumerate(steps):
        if not isinstance(step, dict) or step.get("type") != "eval":
            continue
        eval_step, step_problems = read_as(Step, step)
        if eval_step is not None and not step_problems:
            config = eval_step.config
            step_problems = check_thresholds(config.thresholds)
            for metric_number, metric in enumerate(config.metrics):
                if metric != RATE and metric_name(metric) is None:
                    step_problems.append(unknown_metric(metric, ("metrics", metric_number)))
            if not config.thresholds and config.required_pass_rate is None:
                hint = "state `required_pass_rate: 0.9`, or `thresholds: {pass@1: 0.9}`"
                message = "a gate without requirements lets everything through"
                step_problems.append(Problem("BK731", message, hint, at=()))
            step_problems = prefix_paths(step_problems, ("config",))
        problems += prefix_paths(step_problems, ("steps", number))
        if eval_step is None or step_problems:
            continue
        suite, suite_problems = _find_suite(eval_step.config.suite, file, root)
        problems += prefix_paths(suite_problems, ("steps", number, "config", "suite"))
        thresholds = {**eval_step.config.thresholds}
        if eval_step.config.required_pass_rate is not None:
            thresholds[RATE] = eval_step.config.required_pass_rate
        title = f"{name}: {eval_step.description}" if eval_step.description else name
        gates.append(
            Gate(
                title,
                {metric: float(value) for metric, value in thresholds.items()},
                tuple(eval_step.config.metrics),
                suite,
                eval_step.config.blocking,
                file=file,
                allow_regressions=tuple(eval_step.config.allow_regressions),
            )
        )
    if not gates and not problems:
        problems.append(Problem("BK730", "the phase has no step of type eval", "add one", at=("steps",)))
    return gates, problems


def _read_trigger(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    trigger, problems = read_as(Trigger, raw)
    if trigger is None or problems:
        return [], problems
    problems = check_thresholds(trigger.thresholds)
    if not trigger.thresholds:
        hint = "state what has to be reached: `thresholds: {pass_at_1: 0.85}`"
        problems.append(Problem("BK731", "a gate without requirements lets everything through", hint, at=()))
    path = trigger.on_failure.report_path
    if path is not None:
        problems += check_report_path(path, root)
    suite, suite_problems = _find_suite(trigger.suite, file, root)
    problems += prefix_paths(suite_problems, ("suite",))
    if trigger.on_success.archive_results and not suite_problems:
        results_problems = check_results_folder(root, suite, None)
        problems += [replace(problem, at=("on_success", "archive_results")) for problem in results_problems]
    return [
        Gate(
            posixpath.splitext(posixpath.basename(trigger.suite))[0],
            {metric: float(value) for metric, value in trigger.thresholds.items()},
            (),
            suite,
            trigger.on_failure.action == "block",
            tuple(trigger.filters.categories),
            tuple(trigger.filters.tags),
            path,
            trigger.on_failure.notification,
            trigger.on_success.archive_results,
            file,
            tuple(trigger.allow_regressions),
        )
    ], problems


def _find_suite(name: str, file: str, root: str) -> tuple[str, list[Problem]]:
    """Find a suite relative to the folder of the file that names it, else to the project's root, as a plan in
    its own folder means it."""
    searched: list[str] = []
    for start in (file, ""):
        try:
            path = resolve_named(root, start, name)
            searched += [path] if path not in searched else []
            read(root, path)
        except BaselinekitError as error:
            problem = error.problems[0]
            if problem.code.startswith("BK4"):
                return name, [replace(problem, place=None, at=())]
        else:
            return path, []
    hint = f"it was looked for at {', then at '.join(searched)}" if searched else "write the path of a suite"
    return name, [Problem("BK716", f"there is no suite {name!r}", hint, at=())]


def check_thresholds(metrics: Iterable[str]) -> list[Problem]:
    return [
        unknown_metric(name, ("thresholds", name))
        for name in metrics
        if name != RATE and metric_name(name) is None
    ]


def unknown_metric(name: str, at: tuple[str | int, ...]) -> Problem:
    return Problem("BK723", f"no metric is called {name!r}", "pass@1, pass@3, pass^3 or pass rate", at=at)


def check_report_path(path: str, root: str) -> list[Problem]:
    """Check the path of a report: it must be a report file inside the project, as a plan names what is
    written."""
    at = ("on_failure", "report_path")
    example = path.replace(SLOT, "x")
    normalized = posixpath.normpath(example)
    try:
        resolve_named(root, "", example)
    except BaselinekitError as error:
        return [replace(problem, place=None, at=at) for problem in error.problems]
    if is_forbidden_folder(normalized) or not normalized.endswith(ENDINGS):
        hint = f"a report must end in {', '.join(ENDINGS)}, such as eval-results/phase-{SLOT}.md"
        return [Problem("BK730", f"{path} is not a place for a report", hint, at=at)]
    return []


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "EvalStep", Step)
    add_part(parts, "Trigger", Trigger)
    steps = {"type": "array", "items": {"anyOf": [ref("EvalStep"), {"type": "object"}]}}
    parts["Phase"] = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}
    return [closed_object({PHASE: ref("Phase"), TRIGGER: ref("Trigger")}, at_least=1)]
