"""A suite: `eval_suite: {name, version, description, config, evals: [{$ref: …}], reporting}`."""

import os
import posixpath
from typing import Annotated

from baselinekit import schema
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, suggest
from baselinekit.model.evals import Reporting, Suite, SuiteConfig
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import Mistakes, Parts, Schema, add_part, closed_object, prefix_paths, ref
from baselinekit.store import records
from baselinekit.store.project import name_in_project, resolve
from baselinekit.structs import AtLeastOne, Meta, Struct, field, replace
from baselinekit.suites import dialect, settings
from baselinekit.suites.capability import CaseSettings, read_settings
from baselinekit.suites.dialect import CaseTimeLimit, Defaults, EvalDocument, EvalItem, Loading, Retries
from baselinekit.suites.promptfolders import eval_files

WRAPPER = "eval_suite"
REF = "$ref"
_ENTRY = {"anyOf": [closed_object({REF: {"type": "string"}}, 1), *map(ref, ("Case", "CasesFile", "Record"))]}
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


def add_schema(parts: Parts) -> list[Schema]:
    add_part(parts, "Suite", StatedSuite)
    return [ref("Suite")]


def read(raw: Json, defaults: Defaults) -> tuple[StatedSuite | None, SuiteConfig, Defaults, list[Problem]]:
    """Return the suite as stated, its settings, the defaults for its cases, and its problems."""
    found = Mistakes()
    stated = found.take(schema.read_right_keys(StatedSuite, raw))
    settings = SuiteConfig()
    if isinstance(raw, dict) and raw.get("config") is not None:
        defaults = replace(defaults, timeout=None)
        config, defaults, problems = read_settings(SuiteFileConfig, raw["config"], defaults)
        found += prefix_paths(problems, ("config",))
        if config is not None:
            count = int(config.retry_failed) if config.retry_count is None else config.retry_count
            values = {name: getattr(config, name) for name in SuiteConfig.__struct_fields__}
            settings = SuiteConfig(**{**values, "retry_count": count})
            defaults = replace(defaults, retries=count if config.retry_failed else 0)
    return stated, settings, defaults, found


# A suite and everything that it refers to.


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    """Read the suite, and everything it refers to."""
    loading, raw = document.loading, item.raw if isinstance(item.raw, dict) else {}
    stated, config, defaults, problems = read(item.raw, defaults)
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
        version = None if stated.version is None else str(stated.version)
        about = (stated.name, (), version, stated.description, config, stated.reporting, thresholds)
        loading.suites.insert(position, Suite(*about, document.file, item.at))
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
    name, loading, hint = raw[REF], document.loading, "move it into the file"
    problems = [
        Problem("BK103", f"unknown key {key!r} beside $ref", hint, at=(key,)) for key in raw if key != REF
    ]
    if not isinstance(name, str) or not name.strip():
        return [*problems, Problem("BK716", "a reference is the path of a file", at=(REF,))]
    try:
        paths = _paths_of_reference(name, document)
    except BaselinekitError as error:
        return [*problems, *(schema.move_to_name(problem, (REF,)) for problem in error.problems)]
    for path in paths:
        if path not in loading.references:  # else another suite includes it already: each case runs once
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
        paths = [file for file in eval_files([path], loading.root) if file != document.file]
        if not paths:
            raise InvalidInput(Problem("BK716", f"no eval file is below {path}", "add one"))
        loading.discovered.update(paths)
    elif os.path.exists(full_path):
        paths = [path]
    else:
        above = os.path.dirname(full_path)
        neighbours = os.listdir(above) if os.path.isdir(above) else []
        hint = suggest(os.path.basename(path), neighbours) or "paths start at the folder of the suite"
        raise InvalidInput(Problem("BK716", f"there is no file {path}", hint))
    if path in loading.open_suites:
        cycle = " -> ".join([*loading.open_suites[loading.open_suites.index(path) :], path])
        hint = "remove this reference"
        raise InvalidInput(Problem("BK716", f"the suite leads back to itself: {cycle}", hint))
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
                    *_, defaults, problems = read(item.raw, defaults)
                    problems = prefix_paths(problems, item.at)
                    loading.problems += schema.place_problems(body, path, {number: problems})
        loading.defaults[path] = defaults
    return loading.defaults[path]
