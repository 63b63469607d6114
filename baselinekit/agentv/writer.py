"""Write cases as an AgentV eval file: questions and expected answers as messages, graders as evaluators."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from baselinekit.agentv.form import CASES, JUDGE, RUBRIC, TYPES
from baselinekit.files.languages import dump_yaml
from baselinekit.graders.composite import Composite
from baselinekit.graders.graders import row_of
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Scope
from baselinekit.structs import plain
from baselinekit.suites import writing
from baselinekit.suites.dialect import numbered
from baselinekit.suites.targets import DEFAULT
from baselinekit.suites.writing import Loss, WriteRequest, Written

_HEAD = ("name", "weight", "required")
_RENAMED_LIMITS = {"max_seconds": ("threshold", 1000), "max_usd": ("budget", 1)}
"""Limits that have another name there, and another unit: (their key, factor)."""


def write(wish: WriteRequest) -> Written:
    """Write all cases to one file."""
    losses = {case.id: _what_keeps_from_writing(case, wish) for case in wish.cases}
    lost = [loss for loss in losses.values() if loss is not None]
    cases = [case for case in wish.cases if losses[case.id] is None]
    if not cases:
        return Written({}, lost=tuple(lost))
    tags = [tag for tag in cases[0].tags if all(tag in case.tags for case in cases)]
    target = Counter(map(_target_name, cases)).most_common(1)[0][0]
    taken_ids: set[str] = set()
    document = _without_empty(
        {
            "description": wish.description,
            "dataset": writing.as_name(wish.name),
            "tags": tags,
            "execution": _without_empty({"target": target}),
            CASES: [_format_case(case, tags, target, taken_ids, wish) for case in cases],
        }
    )
    return Written({f"{document['dataset']}.yaml": dump_yaml(document)}, tuple(cases), tuple(lost))


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}


def _what_keeps_from_writing(case: Case, wish: WriteRequest) -> Loss | None:
    variables = writing.question_of(case, wish.root).variables
    reason = hint = ""
    if case.baseline is not None:
        reason, hint = "a baseline is not a case", "keep its file: a suite can name it"
    elif kind_of(case.recipe).input_of_messages((TraceMessage("user", ""),)) is None:
        reason = f"it asks by `type: {case.recipe.execution.type}`, which takes no messages"
    elif variables:
        reason = f"the variable {{{{{variables[0]}}}}} of the project is literal text there"
    elif not case.wanted.outcome:
        reason, hint = "it has no expected outcome", "add `expected_outcome:`, what a good answer does"
    elif not any(map(_format_evaluator, case.graders)):
        reason, hint = "none of its graders is one of AgentV's", f"there are {', '.join(TYPES)}"
    return Loss(reason, hint, case) if reason else None


def _format_case(
    case: Case, shared_tags: Sequence[str], target: str, taken_ids: set[str], wish: WriteRequest
) -> dict[str, Json]:
    stem = case.target_id or writing.received_id(case) or case.id.partition("/")[2] or case.id
    id = numbered(stem, taken_ids)
    wanted, asked = case.wanted, case.wanted.asked
    if not asked:
        messages = writing.question_of(case, wish.root).messages
        asked = tuple(TraceMessage(role, Scope().expand(text)) for role, text in messages)
    tags = [tag for tag in case.tags if tag not in shared_tags]
    facts = {"description": case.description, "tags": tags, "conversation_id": wanted.conversation_id}
    entry = {"id": id, **_without_empty(facts), "expected_outcome": wanted.outcome}
    entry["input"] = writing.format_messages(asked, "user")
    if wanted.messages:
        entry["expected_output"] = writing.format_messages(wanted.messages, "assistant")
    graders = [*case.graders]
    if graders and _is_rubric_of_case(graders[0]):
        entry["rubrics"] = plain(graders.pop(0).method)["rubrics"]
    evaluators = [evaluator for grader in graders if (evaluator := _format_evaluator(grader))]
    if evaluators == [{"name": JUDGE, "type": JUDGE}]:
        evaluators = []
    own_target = "" if _target_name(case) == target else _target_name(case) or DEFAULT
    execution = _without_empty({"target": own_target, "evaluators": evaluators})
    return entry | _without_empty({"sidecar": dict(wanted.sidecar), "execution": execution})


def _is_rubric_of_case(grader: Grader) -> bool:
    """Whether a grader can be written as `rubrics:` of its case."""
    evaluator = _format_evaluator(grader) or {}
    return [*evaluator] == ["name", "type", "rubrics"] and evaluator["name"] == evaluator["type"] == RUBRIC


def _target_name(case: Case) -> str:
    """Return the name of its target, or of its model in the configuration; "" for the default."""
    execution = case.recipe.execution
    name = getattr(execution, "target", "") or getattr(execution, "model", "")
    return "" if name == DEFAULT else str(name)


def _format_evaluator(grader: Grader) -> dict[str, Json] | None:
    """Return a grader as an evaluator; None if AgentV has none of its kind, or of a part of it."""
    type = row_of(grader).method
    if type not in TYPES:
        return None
    entry: dict[str, Json] = {"name": grader.name, "type": type}
    if grader.weight != 1:
        entry["weight"] = writing.tidy(grader.weight)
    if grader.required:
        entry["required"] = True
    config: dict[str, Any] = plain(grader.method)
    if isinstance(grader.method, Composite):
        parts = [_format_evaluator(part) for part in grader.method.parts]
        if None in parts:
            return None
        aggregator: dict[str, Json] = {"type": "weighted_average"}
        if grader.method.judge is not None:
            aggregator = {key: value for key, value in (parts.pop() or {}).items() if key not in _HEAD}
        aggregator |= {key: config[key] for key in ("on_error",) if key in config}
        pass_at = {key: config[key] for key in ("pass_at",) if key in config}
        return {**entry, "evaluators": parts, "aggregator": aggregator, **pass_at}
    for key, (theirs, factor) in _RENAMED_LIMITS.items():
        if key in config:
            config[theirs] = writing.tidy(round(config.pop(key) * factor, 9))
    for call in config.get("expected", ()):
        if "max_seconds" in call:
            call["max_duration_ms"] = writing.tidy(round(call.pop("max_seconds") * 1000, 9))
    return entry | config
