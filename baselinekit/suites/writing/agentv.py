"""Cases as an AgentV eval file: what is asked and wanted as messages, and who judges as evaluators."""

from collections import Counter
from collections.abc import Sequence

from baselinekit.documents.languages import dump_yaml
from baselinekit.grade.by_trace import ToolTrajectory
from baselinekit.grade.composite import Composite
from baselinekit.grade.graders import row_of
from baselinekit.importers.evaldrafts import as_name
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json
from baselinekit.suites.dialects.agentvforms import CASES
from baselinekit.suites.dialects.evaluators import JUDGE, RUBRIC, TYPES
from baselinekit.suites.targets import DEFAULT
from baselinekit.suites.writing.sayings import (
    LeftBehind,
    Wish,
    Written,
    format_messages,
    question_of,
    stated_fields,
    tidy,
)
from baselinekit.variables import Scope

_MILLISECONDS = 1000
_OTHER_NAMES = {"latency": ("threshold", "max_seconds", _MILLISECONDS), "cost": ("budget", "max_usd", 1)}
"""Limits that are called otherwise there, and counted in another unit."""


def write(wish: Wish) -> Written:
    """One file with all of them."""
    lost: list[LeftBehind] = []
    cases = [case for case in wish.cases if _can_be_written(case, wish, lost)]
    if not cases:
        return Written({}, lost=tuple(lost))
    document: dict[str, Json] = {"description": wish.description} if wish.description else {}
    document |= {"dataset": as_name(wish.name)}
    shared = Counter(tag for case in cases for tag in case.tags)
    tags = [tag for tag, count in shared.items() if count == len(cases)]
    document |= {"tags": tags} if tags else {}
    targets = Counter(_target(case) for case in cases)
    target = targets.most_common(1)[0][0]
    document |= {"execution": {"target": target}} if target else {}
    taken: set[str] = set()
    document[CASES] = [_case(case, tags, target, taken, wish) for case in cases]
    return Written({f"{document['dataset']}.yaml": dump_yaml(document)}, tuple(cases), tuple(lost))


def _can_be_written(case: Case, wish: Wish, lost: list[LeftBehind]) -> bool:
    asked = question_of(case, wish.root)
    why = hint = ""
    if case.baseline is not None:
        why, hint = "a baseline is no case", "keep its file: a suite can name it"
    elif kind_of(case.recipe).input_of_messages((TraceMessage("user", ""),)) is None:
        why = f"it asks by `type: {case.recipe.execution.type}`, which takes no messages"
    elif asked.variables:
        why = f"the variable {{{{{asked.variables[0]}}}}} of the project stands for itself there"
    elif not case.wanted.outcome:
        why, hint = "it has no expected outcome", "add `expected_outcome:`, what a good answer does"
    elif not any(_evaluator(grader) for grader in case.graders):
        why, hint = "none of its graders is one of AgentV's", f"there are {', '.join(TYPES)}"
    if why:
        lost.append(LeftBehind(why, hint, case))
    return not why


def _case(case: Case, shared: Sequence[str], target: str, taken: set[str], wish: Wish) -> dict[str, Json]:
    wanted = case.wanted
    made: dict[str, Json] = {"id": _id(case, taken)}
    made |= {"description": case.description} if case.description else {}
    tags = [tag for tag in case.tags if tag not in shared]
    made |= {"tags": tags} if tags else {}
    made |= {"conversation_id": wanted.conversation_id} if wanted.conversation_id else {}
    made["expected_outcome"] = wanted.outcome
    made["input"] = format_messages(_asked(case, wish), "user")
    made |= {"expected_output": format_messages(wanted.messages, "assistant")} if wanted.messages else {}
    made |= {"sidecar": dict(wanted.sidecar)} if wanted.sidecar else {}
    graders = [*case.graders]
    if graders and _is_plain_rubric(graders[0]):
        made["rubrics"] = stated_fields(graders.pop(0).method)["rubrics"]
    evaluators = [evaluator for grader in graders if (evaluator := _evaluator(grader))]
    execution: dict[str, Json] = {"target": _target(case) or DEFAULT} if _target(case) != target else {}
    if evaluators and evaluators != [{"name": JUDGE, "type": JUDGE}]:
        execution["evaluators"] = evaluators
    return made | ({"execution": execution} if execution else {})


def _target(case: Case) -> str:
    """By what name it is asked: a target's, or a model's of the configuration; none for the usual one."""
    execution = case.recipe.execution
    name = getattr(execution, "target", "") or getattr(execution, "model", "")
    return "" if name == DEFAULT else str(name)


def _id(case: Case, taken: set[str]) -> str:
    id = wanted = case.id.partition("/")[2] or case.id
    more = 1
    while id in taken:
        more += 1
        id = f"{wanted}-{more}"
    taken.add(id)
    return id


def _asked(case: Case, wish: Wish) -> tuple[TraceMessage, ...]:
    if case.wanted.asked:
        return case.wanted.asked
    messages = question_of(case, wish.root).messages
    return tuple(TraceMessage(role, Scope().expand(text)) for role, text in messages)


def _is_plain_rubric(grader: Grader) -> bool:
    """Whether it is what `rubrics:` of a case mean."""
    is_usual = grader.name == RUBRIC and grader.weight == 1 and not grader.required
    return is_usual and row_of(grader).method == RUBRIC and [*stated_fields(grader.method)] == ["rubrics"]


def _evaluator(grader: Grader) -> dict[str, Json] | None:
    """A grader as an evaluator; None where AgentV has none of its kind."""
    type = row_of(grader).method
    config = _composite(grader.method) if isinstance(grader.method, Composite) else _config(type, grader)
    if config is None or type not in TYPES:
        return None
    made: dict[str, Json] = {"name": grader.name, "type": type}
    made |= {"weight": tidy(grader.weight)} if grader.weight != 1 else {}
    made |= {"required": True} if grader.required else {}
    return made | config


def _config(type: str, grader: Grader) -> dict[str, Json]:
    config: dict[str, Json] = stated_fields(grader.method)
    for key, (old, new, per) in _OTHER_NAMES.items():
        if key == type and new in config:
            config[old] = tidy(config.pop(new) * per)
    if isinstance(grader.method, ToolTrajectory):
        for call in config.get("expected", ()):
            if "max_seconds" in call:
                call["max_duration_ms"] = tidy(call.pop("max_seconds") * _MILLISECONDS)
    return config


def _composite(how: Composite) -> dict[str, Json] | None:
    """Evaluators within one; None where one of them is none of AgentV's."""
    parts = [_evaluator(part) for part in how.graders]
    judge = _evaluator(how.judge) if how.judge is not None else None
    if None in parts or (how.judge is not None and judge is None):
        return None
    aggregator: dict[str, Json] = {"type": "weighted_average"}
    if judge is not None:
        aggregator = {key: value for key, value in judge.items() if key not in ("name", "weight", "required")}
    aggregator |= {"on_error": how.on_error} if how.on_error != Composite(()).on_error else {}
    made: dict[str, Json] = {"evaluators": parts, "aggregator": aggregator}
    return made | ({"pass_at": how.pass_at} if how.pass_at is not None else {})
