"""A suite: `eval_suite: {name, version, description, config, evals: [{$ref: …}], reporting}`."""

import os
import posixpath
from collections.abc import Sequence

from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, suggest
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.model.evals import Reporting, Suite, SuiteConfig
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import (
    Parts,
    Schema,
    add_part,
    closed_object,
    move_to_name,
    or_null,
    place_problems,
    prefix_paths,
    read_as,
    ref,
)
from baselinekit.store import records
from baselinekit.store.project import name_in_project, read as read_bytes, resolve
from baselinekit.structs import AtLeastOne, Struct, field, replace
from baselinekit.suites.dialects.capability import PASS_RULE, CaseSettings, read_settings
from baselinekit.suites.dialects.dialect import (
    CaseTimeLimit,
    Defaults,
    EvalDocument,
    EvalItem,
    Loading,
    Retries,
    items,
)
from baselinekit.suites.promptfolders import eval_files
from baselinekit.suites.settings import MAIN_SUITE, NUMBERED, check_results_folder, nearest_upward

WRAPPER = "eval_suite"
REF = "$ref"


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
    evals: list[Json]
    version: str | int | float | None = None
    description: str | None = None
    config: Json = ABSENT
    reporting: Reporting = field(default_factory=Reporting)
    thresholds: Json = ABSENT


_THRESHOLD: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_CONFIG_KEYS = frozenset(SuiteFileConfig.__struct_fields__)


def read(raw: Json, defaults: Defaults) -> tuple[StatedSuite | None, SuiteConfig, Defaults, list[Problem]]:
    """Return the suite as stated, its settings, the defaults for its cases, and its problems."""
    stated_suite, problems = read_as(StatedSuite, raw)
    problems = [  # a setting outside of `config` gets a hint where it belongs
        replace(problem, hint="it belongs below `config:`")
        if problem.code == "BK103" and problem.at and problem.at[-1] in _CONFIG_KEYS
        else problem
        for problem in problems
    ]
    config = SuiteConfig()
    if isinstance(raw, dict) and raw.get("config") is not None:
        config, defaults, new_problems = _read_config(raw["config"], defaults)
        problems += prefix_paths(new_problems, ("config",))
    if stated_suite is not None and not stated_suite.evals:
        problems.append(Problem("BK710", "a suite without an eval", "add - $ref: ./FILE", at=("evals",)))
    return stated_suite, config, defaults, problems


def _read_config(raw: Json, defaults: Defaults) -> tuple[SuiteConfig, Defaults, list[Problem]]:
    config, defaults, problems = read_settings(SuiteFileConfig, raw, replace(defaults, timeout=None))
    if config is None:
        return SuiteConfig(), defaults, problems
    count = config.retry_count if config.retry_count is not None else int(config.retry_failed)
    settings = SuiteConfig(
        parallel_execution=config.parallel_execution,
        max_workers=config.max_workers,
        timeout_global=config.timeout_global,
        retry_failed=config.retry_failed,
        retry_count=count,
        attempts=config.attempts,
    )
    return settings, replace(defaults, retries=count if config.retry_failed else 0), problems


def schema(parts: Parts) -> list[Schema]:
    reference = closed_object({REF: {"type": "string"}}, at_least=1)
    entry = {"anyOf": [reference, *map(ref, ("Case", "CasesFile", "Record"))]}
    field_schemas = {"execution": or_null(ref("Execution")), "pass_rule": or_null(PASS_RULE)}
    add_part(parts, "SuiteConfig", SuiteFileConfig, **field_schemas)
    thresholds = {"type": "object", "additionalProperties": {"anyOf": [_THRESHOLD, {"type": "string"}]}}
    add_part(
        parts,
        "Suite",
        StatedSuite,
        config=or_null(ref("SuiteConfig")),
        evals={"type": "array", "minItems": 1, "items": entry},
        thresholds={"anyOf": [thresholds, {"type": "string"}]},
    )
    return [ref("Suite")]


# A suite and everything that it refers to.


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read the suite, and everything it refers to."""
    loading, raw = document.loading, item.raw if isinstance(item.raw, dict) else {}
    stated_suite, config, defaults, problems = read(item.raw, defaults)
    thresholds, new_problems = loading.settings.thresholds(loading.root, document.file, raw.get("thresholds"))
    if stated_suite is not None:
        new_problems += check_results_folder(loading.root, document.file, stated_suite.reporting.output_dir)
    problems = prefix_paths([*problems, *new_problems], item.at)
    loading.defaults[document.file] = defaults
    position = len(loading.suites)
    loading.open_suites.append(document.file)
    evals = raw.get("evals")
    for index, entry in enumerate(evals if isinstance(evals, list) else ()):
        problems += read_entry((*item.at, "evals", index), entry, document, defaults)
    loading.open_suites.pop()
    if stated_suite is not None:
        version = None if stated_suite.version is None else str(stated_suite.version)
        suite = Suite(
            stated_suite.name, (), version, stated_suite.description, config, stated_suite.reporting
        )
        loading.suites.insert(position, replace(suite, thresholds=thresholds, file=document.file, at=item.at))
    return problems


def read_entry(at: Path, raw: Json, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read an entry of `evals:`: a reference, or an inline case."""
    if isinstance(raw, str):
        return [Problem("BK716", f"{raw!r} is not a reference", f"write $ref: {raw}", at=at)]
    if isinstance(raw, dict) and REF in raw:
        return prefix_paths(_follow_reference(raw, document, defaults), at)
    problems: list[Problem] = []
    for item in items(raw, document.loading.dialects):
        problem = item.problem and replace(item.problem, at=(*at, *(item.problem.at or ())))
        problems += document.item(replace(item, at=(*at, *item.at), problem=problem), defaults)
    return problems


def _follow_reference(raw: dict[str, Json], document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Load the files of a `$ref`: a file, or all files below a folder."""
    name, loading = raw[REF], document.loading
    problems = [
        Problem("BK103", f"unknown key {key!r} beside $ref", "move it into the file", at=(key,))
        for key in raw
        if key != REF
    ]
    if not isinstance(name, str) or not name.strip():
        return [*problems, Problem("BK716", "a reference is the path of a file", at=(REF,))]
    try:
        paths = _paths_of_reference(name, document)
    except BaselinekitError as error:
        return [*problems, *(move_to_name(problem, (REF,)) for problem in error.problems)]
    for path in paths:
        if path in loading.references and loading.references[path][0] != loading.open_suites[0]:
            continue  # another suite includes it already: each case runs once
        loading.references[path] = (loading.open_suites[0], document.file)
        loading.file(path, defaults)
    return problems


def _paths_of_reference(name: str, document: EvalDocument) -> list[str]:
    """Return the files of a reference, or raise why there are none."""
    loading = document.loading
    folder, path = records.output_location(loading.root, document.file, name)
    full_path = resolve(folder, path)
    path = name_in_project(loading.root, posixpath.join(folder, path))
    if os.path.isdir(full_path):
        files = [file for file in eval_files([path], loading.root) if file != document.file]
        if not files:
            raise InvalidInput(Problem("BK716", f"no eval file is below {path}", "add one"))
        refuse_twice(files, loading)
        loading.discovered.update(files)
        return files
    if not os.path.exists(full_path):
        neighbours = (
            os.listdir(os.path.dirname(full_path)) if os.path.isdir(os.path.dirname(full_path)) else []
        )
        hint = suggest(os.path.basename(path), neighbours) or "paths start at the folder of the suite"
        raise InvalidInput(Problem("BK716", f"there is no file {path}", hint))
    if path in loading.open_suites:
        cycle = " -> ".join([*loading.open_suites[loading.open_suites.index(path) :], path])
        hint = "remove this reference"
        raise InvalidInput(Problem("BK716", f"the suite leads back to itself: {cycle}", hint))
    refuse_twice([path], loading)
    return [path]


def refuse_twice(paths: Sequence[str], loading: Loading) -> None:
    for path in paths:
        top_suite, referring_file = loading.references.get(path, ("", ""))
        if top_suite == loading.open_suites[0]:
            message = f"{path} is referred to twice, already by {referring_file}"
            raise InvalidInput(Problem("BK716", message, "remove one of the two references"))


def defaults_for(file: str, loading: Loading, defaults: Defaults) -> Defaults:
    """Return the defaults of the nearest eval-suite.yaml upward, for a file that is run without its suite."""
    path = nearest_upward(loading.root, file, MAIN_SUITE)
    if path is None or path == file:
        return defaults
    if path not in loading.defaults:
        loading.defaults[path] = defaults_of_suite(path, loading, defaults)
    return loading.defaults[path]


def defaults_of_suite(path: str, loading: Loading, defaults: Defaults) -> Defaults:
    """Return the defaults with those of a suite, without following its references."""
    try:
        body = decode(read_bytes(loading.root, path), path).body
        documents = language(path).load(body, path, numbered=NUMBERED)
    except BaselinekitError as error:
        loading.problems += [problem.placed(Place(path)) for problem in error.problems]
        return defaults
    defaults = loading.with_targets(path, defaults)
    for number, document in enumerate(documents):
        for item in items(document, loading.dialects):
            if item.form == "suite":
                *_, defaults, new_problems = read(item.raw, defaults)
                loading.problems += place_problems(body, path, {number: prefix_paths(new_problems, item.at)})
    return defaults
