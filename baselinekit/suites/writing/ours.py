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
from baselinekit.model.grades import Grader, PassRule
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

_METADATA = ("difficulty", "tags", "criticality")
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
    cases: list[Case] = []
    for case in wish.cases:
        if case.baseline is not None:
            lost.append(Loss("a baseline is no case", "keep its file: a suite can name it", case))
        elif not case.graders:
            lost.append(Loss("nothing says what is right", "give it a grader", case))
        else:
            cases.append(case)
    shared = {key: _most_frequent([getattr(case, key) for case in cases]) for key in _DEFAULTS}
    late_judging = [case.judge_after_failure for case in cases if judges_late(case)]
    shared["judge_after_failure"] = _most_frequent(late_judging) if late_judging else True
    executions = [_format_execution(case) for case in cases if not kind_of(case.recipe).asks_nobody]
    common_execution = _most_frequent(executions)
    config = {
        _KEY_NAMES.get(key, key): _format_rule(value) if isinstance(value, PassRule) else value
        for key, value in shared.items()
        if value != _DEFAULTS[key]
    }
    config |= {"execution": common_execution} if common_execution not in (None, {"type": "prompt"}) else {}
    metadata: dict[str, Json] = {"id": unique_id(wish.name, set(), "cases")}
    metadata |= {"description": wish.description} if wish.description else {}
    kinds, taken_ids = {case.kind for case in cases}, set[str]()
    document: dict[str, Json] = {"schema_version": "1.0"}
    document |= {"eval_type": kinds.pop() if len(kinds) == 1 else "capability", "metadata": metadata}
    document |= {"config": config} if config else {}
    shared["execution"] = common_execution
    document["test_cases"] = [
        # an id without the prefix of its file
        {
            "id": unique_id(case.id.partition("/")[2] or case.id, taken_ids),
            **_format_case(case, shared, wish, lost),
        }
        for case in cases
    ]
    name = f"{metadata['id']}.yaml"
    return Written({name: dump_yaml(document)} if cases else {}, tuple(cases), tuple(lost))


def _most_frequent(values: Sequence[Any]) -> Any:
    """Return the most frequent value; of several, the first."""
    counts = Counter(map(repr, values))
    return max(values, key=lambda value: counts[repr(value)], default=None)


def _format_execution(case: Case) -> dict[str, Json]:
    return {"type": case.recipe.execution.type, **stated_fields(case.recipe.execution)}


def _format_case(case: Case, shared: dict[str, Any], wish: WriteRequest, lost: list[Loss]) -> dict[str, Json]:
    keys = ("name", "description", "category", "skip")
    entry: dict[str, Json] = {key: value for key in keys if (value := getattr(case, key)) is not None}
    entry["input"] = _format_input(case, wish.root)
    execution, wanted = _format_execution(case), case.wanted
    if not kind_of(case.recipe).asks_nobody and execution != shared["execution"]:
        entry["execution"] = execution
    if case.expected is not None:
        entry["expected"] = {"type": case.expected.type, **stated_fields(case.expected)}
    graders = [grader for grader in case.graders if not Task(grader, case).is_derived]  # of the expectation
    metadata: dict[str, Json] = {key: plain(getattr(case, key)) for key in _METADATA}
    for key in ("timeout", "retries", "parallel"):
        if getattr(case, key) != shared[key]:
            metadata[_KEY_NAMES.get(key, key)] = getattr(case, key)
    metadata = {key: value for key, value in metadata.items() if value or key not in _METADATA}
    parts: dict[str, Json] = {
        "expected_outcome": wanted.outcome,
        "reference": format_messages(wanted.messages, "assistant") if wanted.messages else None,
        "sidecar": dict(wanted.sidecar),
        "conversation_id": wanted.conversation_id,
        "pass_rule": _format_rule(case.pass_rule) if case.pass_rule != shared["pass_rule"] else None,
        "graders": [found for grader in graders if (found := _format_grader(grader, lost, case))],
        "metadata": metadata | ({"weight": case.weight} if case.weight != 1 else {}),
    }
    return entry | {key: part for key, part in parts.items() if part}


def _format_input(case: Case, root: str) -> dict[str, Json]:
    question = question_of(case, root)
    if case.wanted.asked:
        content = [message_of(message) for message in case.wanted.asked]
        id = case.target_id or received_id(case)
        return {"type": MESSAGES, "content": content} | ({"case": id} if id else {})
    if kind_of(case.recipe).asks_nobody:
        text = question.text if question.text is not None else question.other
        return {"type": kind_of(case.recipe).eval_input, "content": text}
    if question.text is not None:
        return {"type": "prompt", "content": question.text}
    return {
        "type": MESSAGES,
        "content": [{"role": role, "content": text} for role, text in question.messages],
    }


def _format_rule(rule: PassRule) -> Json:
    """Write a rule by its name, or with its limits."""
    fields = stated_fields(rule)
    return rule.by if fields.keys() <= {"by"} else fields


def _format_grader(grader: Grader, lost: list[Loss], case: Case) -> dict[str, Json] | None:
    row, method = row_of(grader), grader.method
    if row.kind == "code" and not row.method:
        lost.append(Loss(f"the grader {grader.name}", "no file of ours names one of its kind", case))
        return None
    config: dict[str, Json] = {"method": row.method} if row.method else {}
    if isinstance(method, Composite):
        config["graders"] = [_format_grader(part, lost, case) for part in method.graders]
        aggregator: dict[str, Json] = {}
        if method.judge is not None:
            judged = stated_fields(method.judge.method)
            aggregator = {"type": row_of(method.judge).method, "config": judged}
        aggregator |= {"on_error": method.on_error} if method.on_error != Composite(()).on_error else {}
        config |= {"aggregator": aggregator} if aggregator else {}
        config |= {"pass_at": method.pass_at} if method.pass_at is not None else {}
    else:
        config |= stated_fields(method)
    entry: dict[str, Json] = {"type": grader.kind}
    entry |= {"name": grader.name} if grader.name != row.name else {}
    entry["config"] = config
    entry |= {"weight": tidy(grader.weight)} if grader.weight != 1 else {}
    default_required = case.pass_rule.by == "all"
    return entry | ({"required": grader.required} if grader.required is not default_required else {})
