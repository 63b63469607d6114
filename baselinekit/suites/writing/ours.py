"""Write cases as a file of test cases, our own form."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from baselinekit.files.languages import dump_yaml
from baselinekit.graders.composite import Composite
from baselinekit.graders.graders import row_of
from baselinekit.graders.task import Task
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.values import Json
from baselinekit.structs import plain
from baselinekit.suites.dialects.dialect import MESSAGES
from baselinekit.suites.writing.sayings import (
    Loss,
    WriteRequest,
    Written,
    format_messages,
    judges_late,
    message_of,
    question_of,
    received_id,
    stated_fields,
    tidy,
    unique_id,
)

_DEFAULT_EXECUTION = {"type": "prompt"}
_METADATA = ("difficulty", "tags", "criticality")
_FILE_SETTINGS = ("timeout", "retries", "parallel", "judge_after_failure", "pass_rule")
_KEY_NAMES = {"timeout": "timeout_seconds"}
_DEFAULTS: dict[str, Any] = {
    "timeout": None,
    "retries": 0,
    "parallel": True,
    "judge_after_failure": True,
    "pass_rule": PassRule(),
}


def write(wish: WriteRequest) -> Written:
    """Write all cases to one file. The run settings that most of them share are written once, at the top."""
    lost: list[Loss] = []
    cases = [case for case in wish.cases if _can_be_written(case, lost)]
    shared = {key: _most_frequent([getattr(case, key) for case in cases]) for key in _FILE_SETTINGS}
    late_judging = [case.judge_after_failure for case in cases if judges_late(case)]
    shared["judge_after_failure"] = _most_frequent(late_judging) if late_judging else True
    common_execution = _most_frequent([_format_execution(case) for case in cases if not _asks_nobody(case)])
    config = {
        _KEY_NAMES.get(key, key): _format_rule(value) if isinstance(value, PassRule) else value
        for key, value in shared.items()
        if value != _DEFAULTS[key]
    }
    config |= {"execution": common_execution} if common_execution not in (None, _DEFAULT_EXECUTION) else {}
    metadata: dict[str, Json] = {"id": unique_id(wish.name, set(), "cases")}
    metadata |= {"description": wish.description} if wish.description else {}
    taken_ids: set[str] = set()
    document: dict[str, Json] = {"schema_version": "1.0"}
    kinds = {case.kind for case in cases}
    document |= {"eval_type": kinds.pop()} if len(kinds) == 1 else {"eval_type": "capability"}
    document |= {"metadata": metadata} | ({"config": config} if config else {})
    document["test_cases"] = [
        _format_case(
            case,
            unique_id(_id_in_file(case), taken_ids),
            {**shared, "execution": common_execution},
            wish,
            lost,
        )
        for case in cases
    ]
    name = f"{metadata['id']}.yaml"
    return Written({name: dump_yaml(document)} if cases else {}, tuple(cases), tuple(lost))


def _id_in_file(case: Case) -> str:
    """Return the id without the prefix of its file."""
    return case.id.partition("/")[2] or case.id


def _can_be_written(case: Case, lost: list[Loss]) -> bool:
    if case.baseline is not None:
        lost.append(Loss("a baseline is no case", "keep its file: a suite can name it", case))
    elif not case.graders:
        lost.append(Loss("nothing says what is right", "give it a grader", case))
    return case.baseline is None and bool(case.graders)


def _most_frequent(values: Sequence[Any]) -> Any:
    """Return the most frequent value; of several, the first."""
    counts = Counter(map(repr, values))
    return max(values, key=lambda value: counts[repr(value)], default=None)


def _asks_nobody(case: Case) -> bool:
    """Whether its kind sends no request, so that the input needs no target."""
    return kind_of(case.recipe).asks_nobody


def _format_execution(case: Case) -> dict[str, Json]:
    return {"type": case.recipe.execution.type, **stated_fields(case.recipe.execution)}


def _format_case(
    case: Case, id: str, shared: dict[str, Any], wish: WriteRequest, lost: list[Loss]
) -> dict[str, Json]:
    entry: dict[str, Json] = {"id": id}
    for key in ("name", "description", "category", "skip"):
        if getattr(case, key) is not None:
            entry[key] = getattr(case, key)
    entry["input"] = _format_input(case, wish.root)
    if not _asks_nobody(case) and (execution := _format_execution(case)) != shared["execution"]:
        entry["execution"] = execution
    if case.expected is not None:
        entry["expected"] = {"type": case.expected.type, **stated_fields(case.expected)}
    entry |= _format_wanted(case)
    entry |= {"pass_rule": _format_rule(case.pass_rule)} if case.pass_rule != shared["pass_rule"] else {}
    if graders := [
        _format_grader(grader, lost, case) for grader in case.graders if not _is_derived(grader, case)
    ]:
        entry["graders"] = [grader for grader in graders if grader]
    metadata: dict[str, Json] = {key: plain(getattr(case, key)) for key in _METADATA if getattr(case, key)}
    for key in ("timeout", "retries", "parallel"):
        if getattr(case, key) != shared[key]:
            metadata[_KEY_NAMES.get(key, key)] = getattr(case, key)
    metadata |= {"weight": case.weight} if case.weight != 1 else {}
    return entry | ({"metadata": metadata} if metadata else {})


def _format_input(case: Case, root: str) -> dict[str, Json]:
    question = question_of(case, root)
    if case.wanted.asked:
        asked: dict[str, Json] = {"type": MESSAGES}
        asked["content"] = [message_of(message) for message in case.wanted.asked]
        id = case.target_id or received_id(case)
        return asked | ({"case": id} if id else {})
    if _asks_nobody(case):
        content = question.text if question.text is not None else question.other
        return {"type": kind_of(case.recipe).eval_input, "content": content}
    if question.text is not None:
        return {"type": "prompt", "content": question.text}
    return {
        "type": MESSAGES,
        "content": [{"role": role, "content": text} for role, text in question.messages],
    }


def _format_wanted(case: Case) -> dict[str, Json]:
    """Return what a good answer is, with messages as every form writes them."""
    wanted = case.wanted
    entry: dict[str, Json] = {"expected_outcome": wanted.outcome} if wanted.outcome else {}
    entry |= {"reference": format_messages(wanted.messages, "assistant")} if wanted.messages else {}
    entry |= {"sidecar": dict(wanted.sidecar)} if wanted.sidecar else {}
    return entry | ({"conversation_id": wanted.conversation_id} if wanted.conversation_id else {})


def _format_composite(method: Method, lost: list[Loss], case: Case) -> dict[str, Json] | None:
    """Return the config of a grader that is composed of others; None for any other grader."""
    if not isinstance(method, Composite):
        return None
    aggregator: dict[str, Json] = (
        {"on_error": method.on_error} if method.on_error != Composite(()).on_error else {}
    )
    if method.judge is not None:
        config = stated_fields(method.judge.method)
        aggregator = {"type": row_of(method.judge).method, "config": config, **aggregator}
    composite: dict[str, Json] = {"graders": [_format_grader(part, lost, case) for part in method.graders]}
    composite |= {"aggregator": aggregator} if aggregator else {}
    return composite | ({"pass_at": method.pass_at} if method.pass_at is not None else {})


def _format_rule(rule: PassRule) -> Json:
    """Write a rule by its name, or with its limits."""
    fields = stated_fields(rule)
    return rule.by if fields.keys() <= {"by"} else fields


def _is_derived(grader: Grader, case: Case) -> bool:
    """Whether the expectation alone implies the grader."""
    return Task(grader, case).is_derived


def _format_grader(grader: Grader, lost: list[Loss], case: Case) -> dict[str, Json] | None:
    row = row_of(grader)
    if row.kind == "code" and not row.method:
        lost.append(Loss(f"the grader {grader.name}", "no file of ours names one of its kind", case))
        return None
    composite = _format_composite(grader.method, lost, case)
    settings = stated_fields(grader.method) if composite is None else composite
    config = {**({"method": row.method} if row.method else {}), **settings}
    entry: dict[str, Json] = {"type": grader.kind}
    entry |= {"name": grader.name} if grader.name != row.name else {}
    entry["config"] = config
    entry |= {"weight": tidy(grader.weight)} if grader.weight != 1 else {}
    default_required = case.pass_rule.by == "all"
    return entry | ({"required": grader.required} if grader.required is not default_required else {})
