"""A suite: `eval_suite: {name, version, description, config, evals: [{$ref: …}], reporting}`; and the
gates that name a suite, `phase:` and `eval_trigger:` of a project's plan."""

import os
import posixpath
from collections.abc import Mapping
from typing import Annotated, Literal

from baselinekit import schema
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.metrics import RATE, canonical_metric
from baselinekit.model.evals import Gate, Reporting, Suite, SuiteConfig
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import Mistakes, Parts, Schema, add_part, prefix_paths, ref
from baselinekit.store import records
from baselinekit.store.project import name_in_project, read, resolve
from baselinekit.structs import AtLeastOne, Meta, NotBlank, Struct, ZeroToOne, field, replace
from baselinekit.suites import dialect, settings
from baselinekit.suites.capability import CaseSettings, read_settings
from baselinekit.suites.dialect import CaseTimeLimit, Defaults, EvalDocument, EvalItem, Loading, Retries
from baselinekit.suites.promptfolders import eval_files

WRAPPER = "eval_suite"
REF = "$ref"
_ENTRY = {"anyOf": [*map(ref, ("Reference", "Case", "CasesFile", "Record"))]}
_THRESHOLD = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string"}]}
_THRESHOLDS = {"anyOf": [{"type": "object", "additionalProperties": _THRESHOLD}, {"type": "string"}]}


class SuiteFileConfig(CaseSettings):
    """Its `config`: how it is run, and the defaults for its cases."""

    parallel_execution: bool = True
    max_workers: AtLeastOne | None = None
    timeout_global: CaseTimeLimit | None = None
    retry_failed: bool = False
    retry_count: Retries | None = None
    attempts: AtLeastOne = 1


class StatedSuite(Struct):
    name: str
    evals: Annotated[list[Json], Meta(min_length=1, extra_json_schema={"items": _ENTRY})]
    version: str | int | float | None = None
    description: str | None = None
    config: SuiteFileConfig | None = None
    reporting: Reporting = field(default_factory=Reporting)
    thresholds: Annotated[Json, Meta(extra_json_schema=_THRESHOLDS)] = ABSENT


class Reference(Struct):
    """An entry of `evals:` that names a file, or a folder."""

    ref: NotBlank = field(name=REF)


def add_schema(parts: Parts) -> list[Schema]:
    add_part(parts, "Suite", StatedSuite)
    add_part(parts, "Reference", Reference)
    return [ref("Suite")]


def read_suite(
    raw: Json, defaults: Defaults
) -> tuple[StatedSuite | None, SuiteConfig, Defaults, list[Problem]]:
    """Return the suite as stated, its settings, the defaults for its cases, and its problems."""
    found = Mistakes()
    stated = found.take(schema.read_right_keys(StatedSuite, raw))
    suite_config = SuiteConfig()
    if isinstance(raw, dict) and raw.get("config") is not None:
        config, defaults, problems = read_settings(SuiteFileConfig, raw["config"], defaults)
        found += prefix_paths(problems, ("config",))
        if config is not None:
            count = int(config.retry_failed) if config.retry_count is None else config.retry_count
            stated_config = {name: getattr(config, name) for name in SuiteConfig.__struct_fields__}
            suite_config = SuiteConfig(**stated_config | {"retry_count": count})
            retries = count if config.retry_failed else 0
            defaults = replace(defaults, usual=replace(defaults.usual, retries=retries))
    return stated, suite_config, defaults, found


# A suite and everything that it refers to.


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read the suite, and everything it refers to."""
    loading = document.loading
    raw = item.raw if isinstance(item.raw, dict) else {}
    stated, config, defaults, problems = read_suite(item.raw, defaults)
    found = Mistakes(problems)
    thresholds = found.take(loading.settings.thresholds(loading.root, document.file, raw.get("thresholds")))
    if stated is not None:
        found += settings.check_results_folder(loading.root, document.file, stated.reporting.output_dir)
    problems = prefix_paths(found, item.at)
    loading.defaults[document.file] = defaults
    position = len(loading.suites)
    loading.open_suites.append(document.file)
    evals = raw.get("evals")
    for index, entry in enumerate(evals if isinstance(evals, list) else ()):
        problems += _read_entry((*item.at, "evals", index), entry, document, defaults)
    loading.open_suites.pop()
    if stated is not None:
        suite = Suite(
            name=stated.name,
            cases=(),
            version=None if stated.version is None else str(stated.version),
            description=stated.description,
            config=config,
            reporting=stated.reporting,
            thresholds=thresholds,
            file=document.file,
        )
        loading.suites.insert(position, suite)
    return problems


def _read_entry(at: Path, raw: Json, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read an entry of `evals:`: a reference, or an inline case."""
    if isinstance(raw, str):
        return [Problem("BK716", f"{raw!r} is not a reference", f"write $ref: {raw}", at=at)]
    if isinstance(raw, dict) and REF in raw:
        return prefix_paths(_follow_reference(raw, document, defaults), at)
    problems: list[Problem] = []
    for item in dialect.items(raw, document.loading.dialects):
        problem = item.problem and replace(item.problem, at=(*at, *(item.problem.at or ())))
        problems += document.item(replace(item, at=(*at, *item.at), problem=problem), defaults)
    return problems


def _follow_reference(raw: dict[str, Json], document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Load the files of a `$ref`: a file, or all files below a folder."""
    loading, found = document.loading, Mistakes()
    stated = found.take(schema.read_right_keys(Reference, raw))
    try:
        paths = _paths_of_reference(stated.ref, document) if stated is not None else []
    except BaselinekitError as error:
        return [*found, *(schema.move_to_name(problem, (REF,)) for problem in error.problems)]
    for path in paths:
        if path not in loading.references:  # else another suite includes it already: each case runs once
            loading.references[path] = (loading.open_suites[0], document.file)
            loading.file(path, defaults)
    return found


def _paths_of_reference(name: str, document: EvalDocument) -> list[str]:
    """Return the files of a reference, or raise why there are none."""
    loading = document.loading
    folder, path = records.output_location(loading.root, document.file, name)
    full_path = resolve(folder, path)
    path = name_in_project(loading.root, posixpath.join(folder, path))
    paths = [path] if os.path.exists(full_path) else []
    if os.path.isdir(full_path):
        paths = [file for file in eval_files([path], loading.root) if file != document.file]
        loading.discovered.update(paths)
    if not paths:
        hint = "paths start at the folder of the suite"
        raise InvalidInput(Problem("BK716", f"there is no eval file at {path}", hint))
    if path in loading.open_suites:
        cycle = " -> ".join([*loading.open_suites, path])
        message = f"the suite leads back to itself: {cycle}"
        raise InvalidInput(Problem("BK716", message, "remove this reference"))
    for path in paths:
        top_suite, referring_file = loading.references.get(path, ("", ""))
        if top_suite == loading.open_suites[0]:
            message = f"{path} is referred to twice, already by {referring_file}"
            raise InvalidInput(Problem("BK716", message, "remove one of the two references"))
    return paths


def defaults_for(file: str, loading: Loading, defaults: Defaults) -> Defaults:
    """Return the defaults of the nearest eval-suite.yaml upward, for a file that is run without its suite.
    The references of the suite are not followed."""
    path = settings.nearest_upward(loading.root, file, settings.MAIN_SUITE)
    if path is None or path == file:
        return defaults
    if path not in loading.defaults:
        loading.defaults[path] = defaults
        try:
            body, documents = settings.load_documents(loading.root, path, settings.NUMBERED)
        except BaselinekitError as error:
            loading.problems += [problem.placed(Place(path)) for problem in error.problems]
            return defaults
        defaults = loading.with_targets(path, defaults)
        for number, document in enumerate(documents):
            for item in dialect.items(document, loading.dialects):
                if item.form == "suite":
                    *_, defaults, problems = read_suite(item.raw, defaults)
                    problems = prefix_paths(problems, item.at)
                    loading.problems += schema.place_problems(body, path, {number: problems})
        loading.defaults[path] = defaults
    return loading.defaults[path]


# Gates: `phase:` and `eval_trigger:` of a plan.

SLOT = "{phase_id}"
ENDINGS = (".md", ".json", ".html")
PHASE, TRIGGER = "phase", "eval_trigger"

_FORM_HINT = "a gate file has `phase:` with a step of type eval, or `eval_trigger:`"


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


def recognises_gate(raw: dict[str, Json]) -> bool:
    return bool({PHASE, TRIGGER} & raw.keys())


def add_gate_schema(parts: Parts) -> list[Schema]:
    schema.add_part(parts, "EvalStep", Step)
    schema.add_part(parts, "Trigger", Trigger)
    steps = {"type": "array", "items": {"anyOf": [schema.ref("EvalStep"), {"type": "object"}]}}
    parts["Phase"] = {"type": "object", "properties": {"name": {"type": "string"}, "steps": steps}}
    return [schema.closed_object({PHASE: schema.ref("Phase"), TRIGGER: schema.ref("Trigger")}, at_least=1)]


def read_gate_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """A gate has no cases of its own."""
    return []


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
            found.append(Problem("BK710", "no gate here", _FORM_HINT, at=()))
        for key, raw in sections.items() if is_gate else ():
            if key in readers:
                gates += found.take(readers[key](raw, file, root), key)
            else:
                found.append(Problem("BK103", f"unknown key {key!r} beside a gate", "remove it", at=(key,)))
    if problems := schema.place_problems(body, file, by_document):
        raise dialect.error_for(problems)(*problems)
    return gates


def _read_phase(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    """Return a gate for each eval step; other steps are ignored."""
    steps = raw.get("steps") if isinstance(raw, dict) else None
    if not isinstance(steps, list):
        return [], [Problem("BK710", "a phase has `steps:`", _FORM_HINT, at=())]
    name = str(raw.get("name") or PHASE)
    gates: list[Gate] = []
    found = Mistakes()
    for number, raw_step in enumerate(steps):
        if not isinstance(raw_step, dict) or raw_step.get("type") != "eval":
            continue
        step = found.take(schema.read_as(Step, raw_step), "steps", number)
        if step is None:
            continue
        config, at = step.config, ("steps", number, "config")
        least = found.take(_read_least(config.thresholds, config.required_pass_rate), *at)
        shown = [
            found.take(_read_metric(name), *at, "metrics", number)
            for number, name in enumerate(config.metrics)
        ]
        suite = found.take(_find_suite(config.suite, file, root), *at, "suite")
        title = f"{name}: {step.description}" if step.description else name
        gate = Gate(
            title,
            least,
            shown=tuple(shown),
            suite=suite,
            blocking=config.blocking,
            file=file,
            allow_regressions=tuple(config.allow_regressions),
        )
        gates.append(gate)
    if not gates and not found:
        found.append(Problem("BK710", "the phase has no step of type eval", "add one", at=("steps",)))
    return gates, found


def _read_trigger(raw: Json, file: str, root: str) -> tuple[list[Gate], list[Problem]]:
    trigger, problems = schema.read_as(Trigger, raw)
    if trigger is None:
        return [], problems
    failure = trigger.on_failure
    is_archived = trigger.on_success.archive_results
    found = Mistakes()
    least = found.take(_read_least(trigger.thresholds))
    if failure.report_path is not None:
        found += _check_report_path(failure.report_path, root)
    suite = found.take(_find_suite(trigger.suite, file, root), "suite")
    if is_archived and not problems:
        problems = settings.check_results_folder(root, suite, None)
        found += [replace(problem, at=("on_success", "archive_results")) for problem in problems]
    gate = Gate(
        posixpath.splitext(posixpath.basename(trigger.suite))[0],
        least,
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
    for start in (file, ""):
        try:
            path = settings.resolve_named(root, start, name)
            read(root, path)
        except BaselinekitError as error:
            problem = error.problems[0]
            if problem.code.startswith("BK4"):
                return name, [replace(problem, place=None, at=())]
        else:
            return path, []
    hint = "write its path from this file, or from the project's root"
    return name, [Problem("BK716", f"there is no suite {name!r}", hint, at=())]


def _read_least(
    thresholds: Mapping[str, float], rate: float | None = None
) -> tuple[dict[str, float], list[Problem]]:
    """Return what a gate requires of each metric; a gate that requires nothing is a problem."""
    found = Mistakes()
    least = {} if rate is None else {RATE: float(rate)}
    for name, value in thresholds.items():
        least[found.take(_read_metric(name), "thresholds", name)] = float(value)
    if not least:
        hint = "state what has to be reached: `thresholds: {pass@1: 0.85}`"
        found.append(Problem("BK723", "a gate without requirements lets everything through", hint, at=()))
    return least, found


def _read_metric(name: str) -> tuple[str, list[Problem]]:
    metric = canonical_metric(name)
    if metric is not None:
        return metric, []
    return name, [Problem("BK723", f"no metric is called {name!r}", "pass@1, pass^3 or pass rate", at=())]


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
        return [Problem("BK710", f"{path} is not a place for a report", hint, at=at)]
    return []
