"""A capability record: `id, name, input, expected_output, grader, metadata`. An item of a file of test cases
is one too, with `expected`."""

from typing import Literal, TypeVar

from baselinekit.errors import Problem
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Expected, GoodAnswer
from baselinekit.model.grades import PassRule
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import ABSENT, Json, Path, json_type
from baselinekit.schema import Parts, Schema, add_part, closed_object, or_null, prefix_paths, read_as, ref
from baselinekit.store.dialects import native
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.dialects import dialect, graders
from baselinekit.suites.dialects.dialect import (
    CaseTimeLimit,
    Criticality,
    Defaults,
    EvalDocument,
    EvalItem,
    Retries,
)
from baselinekit.suites.dialects.graders import GraderContext, Weight
from baselinekit.suites.messages import ASSISTANT, USER, NamedFiles, read_messages
from baselinekit.suites.settings import check_grader_paths

T = TypeVar("T", bound="CaseSettings")

WRAPPER = "capability_eval"
EXPECTED = ("expected", "expected_output")
KEYS = frozenset(("input", *EXPECTED, "grader", "graders"))
GRADED: dict[str, Schema] = {
    "grader": ref("AnyGrader"),
    "graders": {"type": "array", "items": ref("AnyGrader")},
}
_SHARE_SCHEMA: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
_RULE_SCHEMA: Schema = {"enum": ["all", "mean"]}
PASS_RULE: Schema = {
    "anyOf": [
        _RULE_SCHEMA,
        closed_object(
            {
                "by": _RULE_SCHEMA,
                "pass_at": _SHARE_SCHEMA,
                "borderline_at": _SHARE_SCHEMA,
                "borderline_passes": {"type": "boolean"},
            }
        ),
    ]
}
"""When a case passes: if all of its required graders pass, or by their mean score and its limits."""

_KEPT_WHEN_NULL = ("id", "input")
"""Any other key with null counts as missing."""


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


class CaseSettings(Struct):
    """The settings in a `config:` for cases that state none themselves."""

    timeout_seconds: CaseTimeLimit | None = None
    judge_after_failure: bool | None = None
    pass_rule: Json = ABSENT
    execution: Json = ABSENT


class CapabilityRecord(Struct):
    """A case as its file states it. Untyped values (Json) are checked separately, so that one mistake does
    not hide others."""

    id: str
    input: Json
    name: str | None = None
    description: str | None = None
    category: str | None = None
    expected_output: Json = ABSENT
    expected: Json = ABSENT
    grader: Json = ABSENT
    graders: list[Json] = field(default_factory=list)
    expected_outcome: str = ""
    reference: Json = ABSENT
    sidecar: dict[str, Json] = field(default_factory=dict)
    conversation_id: str | None = None
    pass_rule: Json = ABSENT
    execution: Json = ABSENT
    skip: str | None = None
    metadata: Json = ABSENT


def recognises(raw: dict[str, Json]) -> bool:
    return bool(KEYS & raw.keys()) or "id" in raw


def read_item(item: EvalItem, document: EvalDocument, defaults: Defaults) -> list[Problem]:
    if not isinstance(item.raw, dict):
        hint = "a case is a mapping with id, input, expected and grader"
        return [Problem("BK710", f"not a case but a JSON {json_type(item.raw)}", hint, at=item.at)]
    source = replace(document.source(item.at, item.raw), form="native")
    case, problems = read(item.raw, source, defaults)
    problems = problems or (check_grader_paths(defaults.root, case) if case else [])
    if case and not problems:
        document.cases.append(case)
    return prefix_paths(map(with_hint_for_agentv, problems), item.at)


_OF_AGENTV = {
    "input": "state it in each case",
    "input_messages": "here it is `input: {type: messages, content: […]}`",
    "expected_messages": "here it is `reference`",
    "reference_answer": "here it is `reference`",
    "max_duration_ms": "here it is `max_seconds`, in a grader `latency` or a call of `tool_trajectory`",
}


def with_hint_for_agentv(problem: Problem) -> Problem:
    """Add to an unknown key that AgentV's files and judges have what to write instead."""
    key = problem.at[-1] if problem.at else ""
    return (
        replace(problem, hint=_OF_AGENTV[key]) if problem.code == "BK103" and key in _OF_AGENTV else problem
    )


def schema(parts: Parts) -> list[Schema]:
    add_part(parts, "CaseMetadata", CaseMetadata)
    execution, metadata = or_null(ref("Execution")), or_null(ref("CaseMetadata"))
    add_part(
        parts,
        "Case",
        CapabilityRecord,
        id={"type": "string", "pattern": f"^{native.ID.pattern}$"},
        input=ref("Input"),
        execution=execution,
        metadata=metadata,
        pass_rule=or_null(PASS_RULE),
        **{key: or_null(ref("Expected")) for key in EXPECTED},
        **{key: or_null(graded) for key, graded in GRADED.items()},
    )
    return [ref("Case")]


def read(raw: dict[str, Json], source: Source, defaults: Defaults) -> tuple[Case | None, list[Problem]]:
    """Return the case, or all of its problems."""
    values = {key: value for key, value in raw.items() if value is not None or key in _KEPT_WHEN_NULL}
    record, problems = read_as(CapabilityRecord, values)
    own_target, new_problems = (
        dialect.execution(values["execution"], defaults) if "execution" in values else (None, [])
    )
    problems += prefix_paths(new_problems, ("execution",))
    recipe = None
    if "input" in values and not new_problems:
        origin = dialect.CaseOrigin(defaults.root, source.file, defaults.target_for(own_target))
        recipe, new_problems = dialect.recipe(values["input"], own_target, origin)
        problems += prefix_paths(new_problems, ("input",))
    metadata, new_problems = read_as(CaseMetadata, values.get("metadata", {}))
    problems += prefix_paths(new_problems, ("metadata",))
    expected, at, expected_problems = _read_expected(values)
    problems += expected_problems
    rule, new_problems = stated_rule(values, defaults)
    problems += new_problems
    wanted, new_problems = _read_wanted(values, record, source, defaults)
    problems += new_problems
    given = GraderContext(expected, at, defaults.named_graders, required=rule.by == "all")
    own_graders: list[tuple[Json, Path]] = [(values[key], (key,)) for key in ("grader",) if key in values]
    if isinstance(values.get("graders"), list):
        own_graders += [(grader, ("graders", number)) for number, grader in enumerate(values["graders"])]
    own_graders = own_graders or [(grader, ()) for grader in defaults.graders]
    case_graders, new_problems = graders.read_all(own_graders, given)
    if expected_problems:
        new_problems = [problem for problem in new_problems if graders.is_by_itself(problem)]
    problems += new_problems
    if record is not None:
        problems += native.check_id(record.id)
    if record is None or recipe is None or metadata is None or problems:
        return None, problems
    case_input = record.input
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
        context=case_input.get("context") if isinstance(case_input, dict) else None,
        target_id=(case_input.get("case") or "") if isinstance(case_input, dict) else "",
        timeout=metadata.timeout_seconds,
        retries=metadata.retries,
        parallel=metadata.parallel,
        weight=float(metadata.weight),
        skip=record.skip or metadata.skip or None,
        pass_rule=rule,
        wanted=wanted,
    )
    return case, []


def stated_rule(raw: Json, defaults: Defaults) -> tuple[PassRule, list[Problem]]:
    """Return the pass rule that a case or a `config:` states, else the default."""
    if not isinstance(raw, dict) or raw.get("pass_rule") is None:
        return defaults.pass_rule, []
    rule, problems = graders.read_pass_rule(raw["pass_rule"])
    return rule or defaults.pass_rule, prefix_paths(problems, ("pass_rule",))


def read_settings(form: type[T], raw: Json, defaults: Defaults) -> tuple[T | None, Defaults, list[Problem]]:
    """Return a `config:` of this form, the defaults with its settings, and its problems."""
    config, problems = read_as(form, raw)
    execution = defaults.execution
    if isinstance(raw, dict) and raw.get("execution") is not None:
        execution, new_problems = dialect.execution(raw["execution"], defaults)
        problems += prefix_paths(new_problems, ("execution",))
    rule, new_problems = stated_rule(raw, defaults)
    problems += new_problems
    if config is None:
        return None, defaults, problems
    defaults = replace(defaults, execution=execution, pass_rule=rule)
    if config.timeout_seconds is not None:
        defaults = replace(defaults, timeout=config.timeout_seconds)
    if config.judge_after_failure is not None:
        defaults = replace(defaults, judge_after_failure=config.judge_after_failure)
    return config, defaults, problems


def _read_wanted(
    raw: dict[str, Json], record: CapabilityRecord | None, source: Source, defaults: Defaults
) -> tuple[GoodAnswer, list[Problem]]:
    """Read what a good answer is, in words and by example, and the question if that is a conversation."""
    messages: tuple[TraceMessage, ...] = ()
    asked_messages: tuple[TraceMessage, ...] = ()
    problems: list[Problem] = []
    case_input: Json = raw.get("input")
    content = case_input.get("content") if isinstance(case_input, dict) else None
    is_conversation = isinstance(case_input, dict) and case_input.get("type") == dialect.MESSAGES
    if record is None:
        return GoodAnswer(), problems
    wanted = GoodAnswer(
        record.expected_outcome, sidecar=record.sidecar, conversation_id=record.conversation_id
    )
    if not ("reference" in raw or is_conversation):
        return wanted, problems
    files = NamedFiles.of(defaults.root, source.file)
    if "reference" in raw:
        messages, problems = read_messages(raw["reference"], ASSISTANT, files)
    if is_conversation:
        asked_messages, _ = read_messages(content, USER, files)  # problems are reported with the input
    guidelines, inputs = files.split(asked_messages)
    wanted = replace(
        wanted, messages=messages, asked=asked_messages, guideline_files=guidelines, input_files=inputs
    )
    return wanted, prefix_paths(problems, ("reference",))


def _read_expected(raw: dict[str, Json]) -> tuple[Expected | None, Path, list[Problem]]:
    keys = [key for key in EXPECTED if key in raw]
    if not keys:
        return None, (), []
    if len(keys) > 1:
        message = "both `expected` and `expected_output` are given"
        return None, (), [Problem("BK714", message, "keep one of them", at=("expected_output",))]
    at = (keys[0],)
    raw_expected = raw[keys[0]]
    expected, problems = read_as(Expected, raw_expected)
    if (
        isinstance(raw_expected, dict)
        and "value" not in raw_expected
        and not raw_expected.get("alternatives")
    ):
        problems.append(
            Problem("BK104", "the key 'value' is missing", "state what would be right", at=("value",))
        )
    return expected, at, prefix_paths(problems, at)
