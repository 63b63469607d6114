"""A file of test cases: `schema_version, eval_type, metadata, config, test_cases`."""

from typing import Literal

from baselinekit.errors import Problem
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import Parts, Schema, add_part, or_null, prefix_paths, read_as, ref
from baselinekit.store.dialects import native
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.dialects import capability
from baselinekit.suites.dialects.capability import CaseSettings, read_settings
from baselinekit.suites.dialects.dialect import (
    Criticality,
    Defaults,
    EvalDocument,
    EvalItem,
    Retries,
)


class CaseFileMetadata(Struct):
    """Its `metadata`, which applies to all of its cases. Their ids begin with its id."""

    id: str
    name: str | None = None
    description: str | None = None
    category: str | None = None
    tags: list[str] = field(default_factory=list)
    criticality: Criticality | None = None
    created: str | None = None
    author: str | None = None
    skip: str | None = None


class CaseFileConfig(CaseSettings):
    """Its `config`: how its cases are run, unless they state that themselves."""

    retries: Retries | None = None
    parallel: bool | None = None


class CasesFile(Struct):
    metadata: Json
    test_cases: list[Json]
    schema_version: str | int | float | None = None
    eval_type: Literal["capability", "regression"] = "capability"
    config: Json = ABSENT
    grader: Json = ABSENT
    graders: list[Json] = field(default_factory=list)


def recognises(raw: dict[str, Json]) -> bool:
    return "test_cases" in raw and "test_case" not in raw


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    defaults, problems = read(item.raw, defaults)
    problems = prefix_paths(map(capability.with_hint_for_agentv, problems), item.at)
    metadata = item.raw.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("description"), str):
        document.loading.descriptions[document.file] = metadata["description"]
    cases = item.raw["test_cases"]
    for number, raw in enumerate(cases if isinstance(cases, list) else ()):
        case = EvalItem("case", (*item.at, "test_cases", number), raw)
        problems += capability.read_item(case, document, defaults)
    return problems


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "CasesFileMetadata", CaseFileMetadata)
    field_schemas = {"execution": or_null(ref("Execution")), "pass_rule": or_null(capability.PASS_RULE)}
    add_part(parts, "CasesFileConfig", CaseFileConfig, **field_schemas)
    add_part(
        parts,
        "CasesFile",
        CasesFile,
        metadata=ref("CasesFileMetadata"),
        config=or_null(ref("CasesFileConfig")),
        test_cases={"type": "array", "minItems": 1, "items": ref("Case")},
        **capability.GRADED,
    )
    return [ref("CasesFile")]


def read(raw: dict[str, Json], defaults: Defaults) -> tuple[Defaults, list[Problem]]:
    """Return the defaults for each of its cases, and the problems of the file apart from the cases."""
    case_file, problems = read_as(CasesFile, raw)
    if "metadata" in raw:
        metadata, new_problems = read_as(CaseFileMetadata, raw["metadata"])
        problems += prefix_paths(new_problems, ("metadata",))
        if metadata is not None:
            problems += native.check_id(metadata.id, ("metadata", "id"))
            defaults = replace(
                defaults,
                id_prefix=f"{metadata.id}/",
                category=metadata.category,
                tags=tuple(metadata.tags),
                criticality=metadata.criticality,
                skip=metadata.skip,
            )
    if raw.get("config") is not None:
        config, defaults, new_problems = read_settings(CaseFileConfig, raw["config"], defaults)
        problems += prefix_paths(new_problems, ("config",))
        if config is not None and config.retries is not None:
            defaults = replace(defaults, retries=config.retries)
        if config is not None and config.parallel is not None:
            defaults = replace(defaults, parallel=config.parallel)
    if isinstance(raw.get("test_cases"), list) and not raw["test_cases"]:
        problems.append(Problem("BK710", "a file without a test case", "add one", at=("test_cases",)))
    file_graders = [raw["grader"]] if raw.get("grader") is not None else []
    file_graders += raw["graders"] if isinstance(raw.get("graders"), list) else []
    kind = case_file.eval_type if case_file else "capability"
    return replace(defaults, kind=kind, graders=tuple(file_graders)), problems
