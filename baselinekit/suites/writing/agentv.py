"""Write cases as an AgentV eval file: questions and expected answers as messages, graders as evaluators."""

from collections import Counter
from collections.abc import Sequence

from baselinekit.files.languages import dump_yaml
from baselinekit.graders.by_trace import ToolTrajectory
from baselinekit.graders.composite import Composite
from baselinekit.graders.graders import row_of
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Scope
from baselinekit.suites.dialects.agentvforms import CASES
from baselinekit.suites.dialects.evaluators import JUDGE, RUBRIC, TYPES
from baselinekit.suites.targets import DEFAULT
from baselinekit.suites.writing.sayings import (
    Loss,
    WriteRequest,
    Written,
    as_name,
    format_messages,
    question_of,
    received_id,
    stated_fields,
    tidy,
)

_MILLISECONDS = 1000
_RENAMED_LIMITS = {"latency": ("threshold", "max_seconds", _MILLISECONDS), "cost": ("budget", "max_usd", 1)}
"""Limits that have another name there, and another unit: (their key, our key, factor)."""


def write(wish: WriteRequest) -> Written:
    """Write all cases to one file."""
    lost: list[Loss] = []
    cases = [case for case in wish.cases if _can_be_written(case, wish, lost)]
    if not cases:
        return Written({}, lost=tuple(lost))
    document: dict[str, Json] = {"description": wish.description} if wish.description else {}
    document |= {"dataset": as_name(wish.name)}
    tag_counts = Counter(tag for case in cases for tag in case.tags)
    tags = [tag for tag, count in tag_counts.items() if count == len(cases)]
    document |= {"tags": tags} if tags else {}
    targets = Counter(_target_name(case) for case in cases)
    target = targets.most_common(1)[0][0]
    document |= {"execution": {"target": target}} if target else {}
    taken_ids: set[str] = set()
    document[CASES] = [_format_case(case, tags, target, taken_ids, wish) for case in cases]
    return Written({f"{document['dataset']}.yaml": dump_yaml(document)}, tuple(cases), tuple(lost))


def _can_be_written(case: Case, wish: WriteRequest, lost: list[Loss]) -> bool:
    question = question_of(case, wish.root)
    reason = hint = ""
    if case.baseline is not None:
        reason, hint = "a baseline is no case", "keep its file: a suite can name it"
    elif kind_of(case.recipe).input_of_messages((TraceMessage("user", ""),)) is None:
        reason = f"it asks by `type: {case.recipe.execution.type}`, which takes no messages"
    elif question.variables:
        reason = f"the variable {{{{{question.variables[0]}}}}} of the project stands for itself there"
    elif not case.wanted.outcome:
        reason, hint = "it has no expected outcome", "add `expected_outcome:`, what a good answer does"
    elif not any(_format_evaluator(grader) for grader in case.graders):
        reason, hint = "none of its graders is one of AgentV's", f"there are {', '.join(TYPES)}"
    if reason:
        lost.append(Loss(reason, hint, case))
    return not reason


def _format_case(
    case: Case, shared_tags: Sequence[str], target: str, taken_ids: set[str], wish: WriteRequest
) -> dict[str, Json]:
    wanted = case.wanted
    entry: dict[str, Json] = {"id": _unique_id(case, taken_ids)}
    entry |= {"description": case.description} if case.description else {}
    tags = [tag for tag in case.tags if tag not in shared_tags]
    entry |= {"tags": tags} if tags else {}
    entry |= {"conversation_id": wanted.conversation_id} if wanted.conversation_id else {}
    entry["expected_outcome"] = wanted.outcome
    entry["input"] = format_messages(_asked_messages(case, wish), "user")
    entry |= {"expected_output": format_messages(wanted.messages, "assistant")} if wanted.messages else {}
    entry |= {"sidecar": dict(wanted.sidecar)} if wanted.sidecar else {}
    graders = [*case.graders]
    if graders and _is_plain_rubric(graders[0]):
        entry["rubrics"] = stated_fields(graders.pop(0).method)["rubrics"]
    evaluators = [evaluator for grader in graders if (evaluator := _format_evaluator(grader))]
    execution: dict[str, Json] = (
        {"target": _target_name(case) or DEFAULT} if _target_name(case) != target else {}
    )
    if evaluators and evaluators != [{"name": JUDGE, "type": JUDGE}]:
        execution["evaluators"] = evaluators
    return entry | ({"execution": execution} if execution else {})


def _target_name(case: Case) -> str:
    """Return the name of its target, or of its model in the configuration; "" for the default."""
    execution = case.recipe.execution
    name = getattr(execution, "target", "") or getattr(execution, "model", "")
    return "" if name == DEFAULT else str(name)


def _unique_id(case: Case, taken_ids: set[str]) -> str:
    id = stem = case.target_id or received_id(case) or case.id.partition("/")[2] or case.id
    number = 1
    while id in taken_ids:
        number += 1
        id = f"{stem}-{number}"
    taken_ids.add(id)
    return id


def _asked_messages(case: Case, wish: WriteRequest) -> tuple[TraceMessage, ...]:
    if case.wanted.asked:
        return case.wanted.asked
    messages = question_of(case, wish.root).messages
    return tuple(TraceMessage(role, Scope().expand(text)) for role, text in messages)


def _is_plain_rubric(grader: Grader) -> bool:
    """Whether a grader is the one that `rubrics:` of a case stands for."""
    is_default = grader.name == RUBRIC and grader.weight == 1 and not grader.required
    return is_default and row_of(grader).method == RUBRIC and [*stated_fields(grader.method)] == ["rubrics"]


def _format_evaluator(grader: Grader) -> dict[str, Json] | None:
    """Return a grader as an evaluator; None if AgentV has none of its kind."""
    type = row_of(grader).method
    config = (
        _format_composite(grader.method)
        if isinstance(grader.method, Composite)
        else _format_config(type, grader)
    )
    if config is None or type not in TYPES:
        return None
    entry: dict[str, Json] = {"name": grader.name, "type": type}
    entry |= {"weight": tidy(grader.weight)} if grader.weight != 1 else {}
    entry |= {"required": True} if grader.required else {}
    return entry | config


def _format_config(type: str, grader: Grader) -> dict[str, Json]:
    config: dict[str, Json] = stated_fields(grader.method)
    for key, (old, new, per) in _RENAMED_LIMITS.items():
        if key == type and new in config:
            config[old] = tidy(config.pop(new) * per)
    if isinstance(grader.method, ToolTrajectory):
        for call in config.get("expected", ()):
            if "max_seconds" in call:
                call["max_duration_ms"] = tidy(call.pop("max_seconds") * _MILLISECONDS)
    return config


def _format_composite(composite: Composite) -> dict[str, Json] | None:
    """Return the config of a composite evaluator; None if AgentV lacks one of its members."""
    parts = [_format_evaluator(part) for part in composite.graders]
    judge = _format_evaluator(composite.judge) if composite.judge is not None else None
    if None in parts or (composite.judge is not None and judge is None):
        return None
    aggregator: dict[str, Json] = {"type": "weighted_average"}
    if judge is not None:
        aggregator = {key: value for key, value in judge.items() if key not in ("name", "weight", "required")}
    aggregator |= {"on_error": composite.on_error} if composite.on_error != Composite(()).on_error else {}
    config: dict[str, Json] = {"evaluators": parts, "aggregator": aggregator}
    return config | ({"pass_at": composite.pass_at} if composite.pass_at is not None else {})
