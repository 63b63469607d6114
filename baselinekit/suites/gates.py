"""Read `phase:` and `eval_trigger:` of a project's plan as gates."""

import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from baselinekit import schema
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.metrics import metric_name
from baselinekit.model.evals import Gate
from baselinekit.model.values import Json
from baselinekit.schema import Mistakes, Parts, Schema
from baselinekit.store.project import read
from baselinekit.structs import Struct, ZeroToOne, field, replace
from baselinekit.suites import settings
from baselinekit.suites.dialect import Defaults, EvalDocument, EvalItem, error_for
from baselinekit.suites.suite import WRAPPER

RATE = "pass rate"
SLOT = "{phase_id}"
ENDINGS = (".md", ".json", ".html")
PHASE, TRIGGER = "phase", "eval_trigger"

_FORM_HINT = "a gate file has `phase:` with a step of type eval, or `eval_trigger:`"
_RUN_FIRST = "this is a suite: baselinekit run --suite %s -o results.json, then baselinekit gate results.json"


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


def add_schema(parts: Parts) -> list[Schema]:
    schema.add_part(parts, "EvalStep", Step)
    schema.add_part(parts, "Trigger", Trigger)
    steps = {"type": "array", "items": {"anyOf": [schema.ref("EvalStep"), {"type": "object"}]}}
    parts["Phase"] = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}
    return [schema.closed_object({PHASE: schema.ref("Phase"), TRIGGER: schema.ref("Trigger")}, at_least=1)]


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Skip a gate that was found among cases, and report one that was named."""
    if document.file in document.loading.discovered:
        return []
    words = "an eval trigger" if TRIGGER in item.raw else "a phase of a plan"
    hint = f"give it to the gate: baselinekit gate {shlex.quote(document.file)}"
    return [Problem("BK710", f"not a case: this looks like {words}", hint, at=item.at)]


def load_gates(file: str, root: str) -> list[Gate]:
    """Return the gates of a file, in order, or raise all of its problems."""
    body, documents = settings.load_documents(root, file)
    gates: list[Gate] = []
    by_document: dict[int, list[Problem]] = {}
    readers = {PHASE: _read_phase, TRIGGER: _read_trigger}
    for number, document in enumerate(documents or [None]):
        found = by_document[number] = Mistakes()
        sections = document if isinstance(document, dict) else {}
        is_gate = not readers.keys().isdisjoint(sections)
        if not is_gate:
            hint = _RUN_FIRST % shlex.quote(file) if WRAPPER in sections else _FORM_HINT
            found.append(Problem("BK730", "no gate here", hint, at=()))
        for key, raw in sections.items() if is_gate else ():
            if key in readers:
                gates += found.take(readers[key](raw, file, root), key)
            else:
                found.append(Problem("BK103", f"unknown key {key!r} beside a gate", "remove it", at=(key,)))
    if problems := schema.place_problems(body, file, by_document):
        raise error_for(problems)(*problems)
    return gates


def _read_phase(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    """Return a gate for each eval step; other steps are ignored."""
    steps = raw.get("steps") if isinstance(raw, dict) else None
    if not isinstance(steps, list):
        return [], [Problem("BK730", "a phase has `steps:`", _FORM_HINT, at=())]
    name, gates, found = str(raw.get("name") or PHASE), list[Gate](), Mistakes()
    for number, raw_step in enumerate(steps):
        if not isinstance(raw_step, dict) or raw_step.get("type") != "eval":
            continue
        step = found.take(schema.read_as(Step, raw_step), "steps", number)
        if step is None:
            continue
        config, at = step.config, ("steps", number, "config")
        least = {metric: float(value) for metric, value in config.thresholds.items()}
        if config.required_pass_rate is not None:
            least[RATE] = float(config.required_pass_rate)
        found += schema.prefix_paths(_check_metrics(least, config.metrics), at)
        suite = found.take(_find_suite(config.suite, file, root), *at, "suite")
        title = f"{name}: {step.description}" if step.description else name
        allowed = tuple(config.allow_regressions)
        gate = Gate(title, least, tuple(config.metrics), suite, config.blocking, file=file)
        gates.append(replace(gate, allow_regressions=allowed))
    if not gates and not found:
        found.append(Problem("BK730", "the phase has no step of type eval", "add one", at=("steps",)))
    return gates, found


def _read_trigger(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    trigger, problems = schema.read_as(Trigger, raw)
    if trigger is None:
        return [], problems
    found, failure, is_archived = Mistakes(), trigger.on_failure, trigger.on_success.archive_results
    found += _check_metrics(trigger.thresholds)
    if failure.report_path is not None:
        found += _check_report_path(failure.report_path, root)
    suite = found.take(_find_suite(trigger.suite, file, root), "suite")
    if is_archived and not problems:
        problems = settings.check_results_folder(root, suite, None)
        found += [replace(problem, at=("on_success", "archive_results")) for problem in problems]
    gate = Gate(
        posixpath.splitext(posixpath.basename(trigger.suite))[0],
        {metric: float(value) for metric, value in trigger.thresholds.items()},
        suite=suite,
        blocking=failure.action == "block",
        categories=tuple(trigger.filters.categories),
        tags=tuple(trigger.filters.tags),
        report=failure.report_path,
        notification=failure.notification,
        archive=is_archived,
        file=file,
        allow_regressions=tuple(trigger.allow_regressions),
    )
    return [gate], found


def _find_suite(name: str, file: str, root: str) -> tuple[str, list[Problem]]:
    """Find a suite relative to the folder of the file that names it, else to the project's root, as a plan in
    its own folder means it."""
    searched: dict[str, None] = {}
    for start in (file, ""):
        try:
            path = settings.resolve_named(root, start, name)
            searched[path] = None
            read(root, path)
        except BaselinekitError as error:
            problem = error.problems[0]
            if problem.code.startswith("BK4"):
                return name, [replace(problem, place=None, at=())]
        else:
            return path, []
    hint = f"it was looked for at {', then at '.join(searched)}" if searched else "write the path of a suite"
    return name, [Problem("BK716", f"there is no suite {name!r}", hint, at=())]


def _check_metrics(least: Mapping[str, object], shown: Sequence[str] = ()) -> Iterator[Problem]:
    """Yield the metrics that do not exist, and a gate that requires none."""
    if not least:
        hint = "state what has to be reached: `thresholds: {pass@1: 0.85}`"
        yield Problem("BK731", "a gate without requirements lets everything through", hint, at=())
    places = [("thresholds", name) for name in least] + [("metrics", number) for number in range(len(shown))]
    for name, at in zip((*least, *shown), places, strict=True):
        if name != RATE and metric_name(name) is None:
            hint = "pass@1, pass@3, pass^3 or pass rate"
            yield Problem("BK723", f"no metric is called {name!r}", hint, at=at)


def _check_report_path(path: str, root: str) -> list[Problem]:
    """Check the path of a report: it must be a report file inside the project, as a plan names what is
    written."""
    at = ("on_failure", "report_path")
    example = path.replace(SLOT, "x")
    normalized = posixpath.normpath(example)
    try:
        settings.resolve_named(root, "", example)
    except BaselinekitError as error:
        return [replace(problem, place=None, at=at) for problem in error.problems]
    if settings.is_forbidden_folder(normalized) or not normalized.endswith(ENDINGS):
        hint = f"a report must end in {', '.join(ENDINGS)}, such as eval-results/phase-{SLOT}.md"
        return [Problem("BK730", f"{path} is not a place for a report", hint, at=at)]
    return []
