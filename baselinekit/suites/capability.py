"""Our own cases: a capability record (`id, input, expected, grader, metadata`), alone or in a file of test
cases (`metadata, config, test_cases`), which states what holds for all of its cases; and a regression
record, which is graded by its known-good output."""

from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from baselinekit import schema
from baselinekit.errors import Problem
from baselinekit.graders.by_schema import BaselineMatch
from baselinekit.graders.by_template import Weight
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Expected, GoodAnswer
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import Mistakes, Parts, Schema
from baselinekit.store import records
from baselinekit.store.dialects import harness, native
from baselinekit.structs import Meta, Struct, field, replace
from baselinekit.suites import dialect, settings
from baselinekit.suites.dialect import CaseTimeLimit, Criticality, Defaults, EvalDocument, EvalItem, Retries
from baselinekit.suites.messages import ASSISTANT, USER, NamedFiles, read_messages
from baselinekit.suites.settings import GraderContext
from baselinekit.suites.targets import StatedExecution

WRAPPER = "capability_eval"
EXPECTED = ("expected", "expected_output")
KEYS = frozenset(("input", *EXPECTED, "grader", "graders"))

# What is read by functions of its own, each with its schema for editors.

StatedId = Annotated[str, Meta(extra_json_schema={"pattern": f"^{native.ID.pattern}$"})]
StatedInput = Annotated[Json, Meta(extra_json_schema=schema.ref("Input"))]
StatedExpectation = Annotated[Json, Meta(extra_json_schema=schema.or_null(schema.ref("Expected")))]
StatedGrader = Annotated[Json, Meta(extra_json_schema=schema.or_null(schema.ref("AnyGrader")))]
StatedCases = Annotated[list[Json], Meta(min_length=1, extra_json_schema={"items": schema.ref("Case")})]
StatedRule = Literal["all", "mean"] | PassRule | None


class CaseMetadata(Struct):
    """The metadata of a case, and how it is run."""

    difficulty: Literal["easy", "medium", "hard"] | None = None
    tags: list[str] = field(default_factory=list)
    timeout_seconds: CaseTimeLimit | None = None
    retries: Retries | None = None
    weight: Weight = 1
    parallel: bool | None = None
    criticality: Criticality | None = None
    skip: str | None = None
    created: str | None = None
    author: str | None = None


class CapabilityRecord(Struct, kw_only=True):
    """A case as its file states it."""

    id: StatedId
    name: str | None = None
    description: str | None = None
    category: str | None = None
    skip: str | None = None
    input: StatedInput
    execution: StatedExecution | None = None
    expected: StatedExpectation = ABSENT
    expected_output: StatedExpectation = ABSENT
    expected_outcome: str = ""
    reference: Json = ABSENT
    sidecar: dict[str, Json] = field(default_factory=dict)
    conversation_id: str | None = None
    pass_rule: StatedRule = None
    grader: StatedGrader = ABSENT
    graders: list[StatedGrader] | None = None
    metadata: CaseMetadata | None = None


def recognises(raw: dict[str, Json]) -> bool:
    return bool(KEYS & raw.keys()) or "id" in raw


def add_schema(parts: Parts) -> list[Schema]:
    schema.add_part(parts, "Case", CapabilityRecord)
    return [schema.ref("Case")]


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    if not isinstance(item.raw, dict):
        return schema.prefix_paths(schema.read_as(CapabilityRecord, item.raw)[1], item.at)
    source = replace(document.source(item.at, item.raw), form="native")
    case, problems = read(item.raw, source, defaults)
    if case is not None:
        document.cases.append(case)
    return schema.prefix_paths(problems, item.at)


def read(raw: dict[str, Json], source: Source, defaults: Defaults) -> tuple[Case | None, list[Problem]]:
    """Return the case, or all of its problems. A key with null counts as missing."""
    values = {key: value for key, value in raw.items() if value is not None or key in ("id", "input")}
    found = Mistakes()
    record = found.take(schema.read_right_keys(CapabilityRecord, values))
    own_target = recipe = None
    if record is not None and record.execution is not None:
        own_target = found.take(dialect.execution(record.execution, defaults), "execution")
    if "input" in values and (own_target is not None or "execution" not in values):
        recipe = found.take(dialect.recipe(values["input"], own_target, defaults, source.file), "input")
    rule = found.take(_read_rule(record.pass_rule if record else None, defaults))
    wanted = found.take(_read_wanted(values, record, source, defaults))
    expectations = [key for key in EXPECTED if key in values]
    expected, expected_problems = _read_expected(values, expectations)
    found += expected_problems
    given = GraderContext(expected, tuple(expectations[:1]), defaults.named_graders, rule.by == "all")
    own_graders: list[tuple[Json, Path]] = [(values[key], (key,)) for key in ("grader",) if key in values]
    if isinstance(values.get("graders"), list):
        own_graders += [(grader, ("graders", number)) for number, grader in enumerate(values["graders"])]
    own_graders = own_graders or [(grader, ()) for grader in defaults.graders]
    case_graders, problems = settings.read_graders(own_graders, given)
    found += [problem for problem in problems if not expected_problems or settings.is_by_itself(problem)]
    if record is not None:
        found += native.check_id(record.id)
    if record is None or recipe is None or found:
        return None, found
    metadata = record.metadata or CaseMetadata()
    stated_input = record.input if isinstance(record.input, dict) else {}
    case = defaults.case(
        defaults.id_prefix + record.id,
        recipe,
        case_graders,
        metadata.tags,
        expected=expected,
        source=source,
        name=record.name,
        description=record.description,
        category=record.category or None,
        difficulty=metadata.difficulty,
        criticality=metadata.criticality,
        context=stated_input.get("context"),
        target_id=stated_input.get("case"),
        timeout=metadata.timeout_seconds,
        retries=metadata.retries,
        parallel=metadata.parallel,
        weight=float(metadata.weight),
        skip=record.skip or metadata.skip or None,
        pass_rule=rule,
        wanted=wanted,
    )
    return case, []


def _read_rule(stated: StatedRule, defaults: Defaults) -> tuple[PassRule, list[Problem]]:
    """Return the pass rule that a case or a `config:` states, else the default."""
    rule = PassRule(stated) if isinstance(stated, str) else stated or defaults.usual.pass_rule
    if isinstance(stated, PassRule) and rule.pass_at < rule.borderline_at != PassRule().borderline_at:
        message = f"borderline_at is {rule.borderline_at:g}, above pass_at, which is {rule.pass_at:g}"
        at = ("pass_rule", "borderline_at")
        return rule, [Problem("BK108", message, "what is borderline does not pass yet", at=at)]
    return rule, []


def _read_expected(values: dict[str, Json], keys: list[str]) -> tuple[Expected | None, list[Problem]]:
    if not keys:
        return None, []
    if len(keys) > 1:
        message = "both `expected` and `expected_output` are given"
        return None, [Problem("BK714", message, "keep one of them", at=("expected_output",))]
    raw = values[keys[0]]
    expected, problems = schema.read_as(Expected, raw)
    if isinstance(raw, dict) and "value" not in raw and not raw.get("alternatives"):
        hint = "state what would be right"
        problems.append(Problem("BK104", "the key 'value' is missing", hint, at=("value",)))
    return expected, schema.prefix_paths(problems, (keys[0],))


def _read_wanted(
    values: dict[str, Json], record: CapabilityRecord | None, source: Source, defaults: Defaults
) -> tuple[GoodAnswer, list[Problem]]:
    """Read what a good answer is, in words and by example, and the question if that is a conversation."""
    if record is None:
        return GoodAnswer(), []
    stated: Any = values.get("input")
    is_conversation = isinstance(stated, dict) and stated.get("type") == dialect.MESSAGES
    wanted = GoodAnswer(
        record.expected_outcome, sidecar=record.sidecar, conversation_id=record.conversation_id
    )
    if "reference" not in values and not is_conversation:
        return wanted, []
    files, found = NamedFiles.of(defaults.root, source.file), Mistakes()
    if "reference" in values:
        messages = found.take(read_messages(values["reference"], ASSISTANT, files), "reference")
        wanted = replace(wanted, messages=messages)
    if is_conversation:  # its problems are reported with the input
        asked, _ = read_messages(stated.get("content"), USER, files)
        guidelines, inputs = files.split(asked)
        wanted = replace(wanted, asked=asked, guideline_files=guidelines, input_files=inputs)
    return wanted, found


# A `config:`, and a file of test cases.


class CaseSettings(Struct):
    """The settings in a `config:` for cases that state none themselves."""

    timeout_seconds: CaseTimeLimit | None = None
    judge_after_failure: bool | None = None
    pass_rule: StatedRule = None
    execution: StatedExecution | None = None


T = TypeVar("T", bound=CaseSettings)


def read_settings(form: type[T], raw: Json, defaults: Defaults) -> tuple[T | None, Defaults, list[Problem]]:
    """Return a `config:` of this form, the defaults with its settings, and its problems."""
    found = Mistakes()
    config = found.take(schema.read_right_keys(form, raw))
    if config is None:
        return None, defaults, found
    if config.execution is not None:
        own_target = found.take(dialect.execution(config.execution, defaults), "execution")
        defaults = replace(defaults, execution=own_target)
    facts: dict[str, Any] = {
        "timeout": config.timeout_seconds,
        "judge_after_failure": config.judge_after_failure,
        "retries": getattr(config, "retries", None),
        "parallel": getattr(config, "parallel", None),
        "pass_rule": found.take(_read_rule(config.pass_rule, defaults)),
    }
    stated = {name: fact for name, fact in facts.items() if fact is not None}
    return config, replace(defaults, usual=replace(defaults.usual, **stated)), found


class CaseFileMetadata(Struct):
    """The `metadata` of a file, which applies to all of its cases. Their ids begin with its id."""

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


class CasesFile(Struct, kw_only=True):
    schema_version: str | int | float | None = None
    eval_type: Literal["capability", "regression"] = "capability"
    metadata: CaseFileMetadata
    config: CaseFileConfig | None = None
    grader: StatedGrader = ABSENT
    graders: list[StatedGrader] = field(default_factory=list)
    test_cases: StatedCases


def recognises_file(raw: dict[str, Json]) -> bool:
    return "test_cases" in raw and "test_case" not in raw


def add_file_schema(parts: Parts) -> list[Schema]:
    schema.add_part(parts, "CasesFile", CasesFile)
    return [schema.ref("CasesFile")]


def read_file(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    raw, found = item.raw, Mistakes()
    stated = found.take(schema.read_right_keys(CasesFile, raw))
    if raw.get("config") is not None:  # its own mistakes are among those of the file
        _, defaults, problems = read_settings(CaseFileConfig, raw["config"], defaults)
        found += schema.prefix_paths(problems, ("config",))
    if stated is not None:
        metadata = stated.metadata
        found += native.check_id(metadata.id, ("metadata", "id"))
        if metadata.description is not None:
            document.loading.descriptions[document.file] = metadata.description
        usual = replace(
            defaults.usual,
            kind=stated.eval_type,
            category=metadata.category,
            tags=tuple(metadata.tags),
            criticality=metadata.criticality,
            skip=metadata.skip,
        )
        defaults = replace(defaults, id_prefix=f"{metadata.id}/", usual=usual)
    file_graders = [raw["grader"]] if raw.get("grader") is not None else []
    file_graders += raw["graders"] if isinstance(raw.get("graders"), list) else []
    defaults = replace(defaults, graders=tuple(file_graders))
    problems = schema.prefix_paths(dict.fromkeys(found), item.at)
    for number, case in enumerate(raw["test_cases"] if isinstance(raw["test_cases"], list) else []):
        problems += read_item(EvalItem("case", (*item.at, "test_cases", number), case), document, defaults)
    return problems


# A regression record as a case.

RECORD_KEYS = frozenset(("current", "baseline", "comparison"))
_BASELINE = Grader("baseline", "code", BaselineMatch(), at=("baseline",))


def recognises_record(raw: dict[str, Json]) -> bool:
    return records.is_response(raw) or bool(RECORD_KEYS & raw.keys() and not KEYS & raw.keys())


def add_record_schema(parts: Parts) -> list[Schema]:
    schema.add_part(parts, "JsonRecord", harness.RegressionFile)
    return [schema.ref("Record"), schema.ref("JsonRecord")]


def read_record_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    baseline, problems = records.read_record(item.raw, document.source(item.at, item.raw))
    if baseline is None or problems:
        return schema.prefix_paths(problems, item.at)
    load = partial(records.load, defaults.root, document.file)
    stored, errors = records.fill_outputs(baseline.baseline, load)
    for at, error in errors:
        problems += [schema.move_to_name(problem, (*at, "output_file")) for problem in error.problems]
    if stored is None and not problems:
        hint = f"capture it: baselinekit capture {document.file}"
        problems = [Problem("BK104", f"{baseline.id} has no baseline yet", hint, at=())]
    recipe, metadata, raw_metadata = baseline.current, baseline.metadata, item.raw.get("metadata")
    kind = kind_of(recipe)
    if defaults.target is not None and not kind.asks_nobody and kind.input_of_text("?", None) is not None:
        target = defaults.target_for(recipe.execution)
        if target.type != recipe.kind:
            message = f"a record of `type: {recipe.kind}` cannot be sent to a target of `type: {target.type}`"
            hint = f"name a --target of `type: {recipe.kind}`, or the files that are to be run"
            problems.append(Problem("BK715", message, hint, at=("current", "execution")))
        recipe = replace(recipe, execution=target)
    if not problems:
        case = defaults.case(
            baseline.id,
            recipe,
            (_BASELINE,),
            metadata.tags,
            kind="regression",
            name=baseline.name,
            description=baseline.description,
            category=raw_metadata.get("category") if isinstance(raw_metadata, dict) else None,
            criticality=metadata.criticality,
            skip=metadata.skip,
            pass_rule=PassRule(),
            baseline=replace(baseline, baseline=stored),
            source=baseline.source,
        )
        document.cases.append(case)
    return schema.prefix_paths(problems, item.at)
