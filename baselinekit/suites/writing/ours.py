"""Cases as a file of test cases, our own form."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from baselinekit.documents.languages import dump_yaml
from baselinekit.grade.composite import Composite
from baselinekit.grade.graders import row_of
from baselinekit.grade.task import Task
from baselinekit.importers.evaldrafts import own_id
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, Method, PassRule
from baselinekit.model.values import Json
from baselinekit.suites.dialects.dialect import MESSAGES
from baselinekit.suites.writing.sayings import (
    LeftBehind,
    Wish,
    Written,
    format_messages,
    judges_late,
    message_of,
    question_of,
    stated,
    stated_fields,
    tidy,
)

_DEFAULT_EXECUTION = {"type": "prompt"}
_METADATA = ("difficulty", "tags", "criticality")
_FILE_SETTINGS = ("timeout", "retries", "parallel", "judge_after_failure", "pass_rule")
_CALLED = {"timeout": "timeout_seconds"}
_USUAL: dict[str, Any] = {
    "timeout": None,
    "retries": 0,
    "parallel": True,
    "judge_after_failure": True,
    "pass_rule": PassRule(),
}


def write(wish: Wish) -> Written:
    """One file with all of them. What most of them say of how they are run stands once, at the top."""
    lost: list[LeftBehind] = []
    cases = [case for case in wish.cases if _can_be_written(case, lost)]
    shared = {key: _most_frequent([getattr(case, key) for case in cases]) for key in _FILE_SETTINGS}
    late = [case.judge_after_failure for case in cases if judges_late(case)]
    shared["judge_after_failure"] = _most_frequent(late) if late else True
    usual = _most_frequent([_execution(case) for case in cases if not _asks_nobody(case)])
    config = {
        _CALLED.get(key, key): _rule(value) if isinstance(value, PassRule) else value
        for key, value in shared.items()
        if value != _USUAL[key]
    }
    config |= {"execution": usual} if usual not in (None, _DEFAULT_EXECUTION) else {}
    metadata: dict[str, Json] = {"id": own_id(wish.name, set(), "cases")}
    metadata |= {"description": wish.description} if wish.description else {}
    taken: set[str] = set()
    document: dict[str, Json] = {"schema_version": "1.0"}
    kinds = {case.kind for case in cases}
    document |= {"eval_type": kinds.pop()} if len(kinds) == 1 else {"eval_type": "capability"}
    document |= {"metadata": metadata} | ({"config": config} if config else {})
    document["test_cases"] = [
        _case(case, own_id(_own_part(case), taken), {**shared, "execution": usual}, wish, lost)
        for case in cases
    ]
    name = f"{metadata['id']}.yaml"
    return Written({name: dump_yaml(document)} if cases else {}, tuple(cases), tuple(lost))


def _own_part(case: Case) -> str:
    """The id without that of its file."""
    return case.id.partition("/")[2] or case.id


def _can_be_written(case: Case, lost: list[LeftBehind]) -> bool:
    if case.baseline is not None:
        lost.append(LeftBehind("a baseline is no case", "keep its file: a suite can name it", case))
    elif not case.graders:
        lost.append(LeftBehind("nothing says what is right", "give it a grader", case))
    return case.baseline is None and bool(case.graders)


def _most_frequent(values: Sequence[Any]) -> Any:
    """What most say; of several as frequent, the first."""
    counts = Counter(map(repr, values))
    return max(values, key=lambda value: counts[repr(value)], default=None)


def _asks_nobody(case: Case) -> bool:
    """Whether its input says by itself who is asked: nobody."""
    return kind_of(case.recipe).asks_nobody


def _execution(case: Case) -> dict[str, Json]:
    return {"type": case.recipe.execution.type, **stated_fields(case.recipe.execution)}


def _case(case: Case, id: str, shared: dict[str, Any], wish: Wish, lost: list[LeftBehind]) -> dict[str, Json]:
    made: dict[str, Json] = {"id": id}
    for key in ("name", "description", "category", "skip"):
        if getattr(case, key) is not None:
            made[key] = getattr(case, key)
    made["input"] = _input(case, wish.root)
    if not _asks_nobody(case) and (execution := _execution(case)) != shared["execution"]:
        made["execution"] = execution
    if case.expected is not None:
        made["expected"] = {"type": case.expected.type, **stated_fields(case.expected)}
    made |= _wanted(case)
    made |= {"pass_rule": _rule(case.pass_rule)} if case.pass_rule != shared["pass_rule"] else {}
    if graders := [_grader(grader, lost, case) for grader in case.graders if not _is_derived(grader, case)]:
        made["graders"] = [grader for grader in graders if grader]
    metadata: dict[str, Json] = {key: stated(getattr(case, key)) for key in _METADATA if getattr(case, key)}
    for key in ("timeout", "retries", "parallel"):
        if getattr(case, key) != shared[key]:
            metadata[_CALLED.get(key, key)] = getattr(case, key)
    metadata |= {"weight": case.weight} if case.weight != 1 else {}
    return made | ({"metadata": metadata} if metadata else {})


def _input(case: Case, root: str) -> dict[str, Json]:
    asked = question_of(case, root)
    if case.wanted.asked:
        return {"type": MESSAGES, "content": [message_of(one) for one in case.wanted.asked]}
    if _asks_nobody(case):
        content = asked.text if asked.text is not None else asked.other
        return {"type": kind_of(case.recipe).eval_input, "content": content}
    if asked.text is not None:
        return {"type": "prompt", "content": asked.text}
    return {"type": MESSAGES, "content": [{"role": role, "content": text} for role, text in asked.messages]}


def _wanted(case: Case) -> dict[str, Json]:
    """What a good answer is, as messages are written in every form."""
    wanted = case.wanted
    made: dict[str, Json] = {"expected_outcome": wanted.outcome} if wanted.outcome else {}
    made |= {"reference": format_messages(wanted.messages, "assistant")} if wanted.messages else {}
    made |= {"sidecar": dict(wanted.sidecar)} if wanted.sidecar else {}
    return made | ({"conversation_id": wanted.conversation_id} if wanted.conversation_id else {})


def _composite(how: Method, lost: list[LeftBehind], case: Case) -> dict[str, Json] | None:
    """The config of a grader that is made of others."""
    if not isinstance(how, Composite):
        return None
    aggregator: dict[str, Json] = {"on_error": how.on_error} if how.on_error != Composite(()).on_error else {}
    if how.judge is not None:
        config = stated_fields(how.judge.method)
        aggregator = {"type": row_of(how.judge).method, "config": config, **aggregator}
    made: dict[str, Json] = {"graders": [_grader(part, lost, case) for part in how.graders]}
    made |= {"aggregator": aggregator} if aggregator else {}
    return made | ({"pass_at": how.pass_at} if how.pass_at is not None else {})


def _rule(rule: PassRule) -> Json:
    """A rule by its name, or with its limits."""
    said = stated_fields(rule)
    return rule.by if said.keys() <= {"by"} else said


def _is_derived(grader: Grader, case: Case) -> bool:
    """Whether the expectation asks for it by itself."""
    return Task(grader, case).is_derived


def _grader(grader: Grader, lost: list[LeftBehind], case: Case) -> dict[str, Json] | None:
    row = row_of(grader)
    if row.kind == "code" and not row.method:
        lost.append(LeftBehind(f"the grader {grader.name}", "no file of ours names one of its kind", case))
        return None
    said_of = _composite(grader.method, lost, case)
    own = stated_fields(grader.method) if said_of is None else said_of
    config = {**({"method": row.method} if row.method else {}), **own}
    made: dict[str, Json] = {"type": grader.kind}
    made |= {"name": grader.name} if grader.name != row.name else {}
    made["config"] = config
    made |= {"weight": tidy(grader.weight)} if grader.weight != 1 else {}
    usual = case.pass_rule.by == "all"
    return made | ({"required": grader.required} if grader.required is not usual else {})
