"""The keys of AgentV's eval files, for reading and for editors, and keys of later versions."""

from typing import TypeVar

from baselinekit.errors import Problem
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import Parts, Schema, add_part, or_null, read_right_keys, ref
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.dialects.evaluators import TYPES as EVALUATORS
from baselinekit.suites.messages import ROLES

CASES = "evalcases"
INPUTS = ("input_messages", "input")
OUTPUTS = ("expected_messages", "expected_output")
"""Two names for the same thing; the first takes precedence."""

LATER = {
    "tests": "`evalcases`",
    "criteria": "`expected_outcome`",
    "assert": "`execution: {evaluators: [...]}`",
    "assertions": "`execution: {evaluators: [...]}`",
    "metadata": "`sidecar`",
    "rubric": "`rubrics`",
    "trials": "the option --attempts N",
    "workers": "the option -j N",
    "cache": "the option --cache",
    "cost_limit_usd": "the option --max-cost USD",
    "targets": "`target`: one a run",
    "threshold": "the option --fail-under",
}
"""Keys of later versions of AgentV, and what to write here instead."""

_ELSEWHERE = {
    "reference_answer": "what judges get as reference_answer is the last message of `expected_output`",
    "input": "state it in each case",
    "question": "what judges get as question is the text of `input`",
    "candidate_answer": "what judges get as candidate_answer is what the target answers",
    "max_duration_ms": "it limits a call of `tool_trajectory`; an answer, {type: latency, threshold: …}",
}
"""Keys of AgentV's that are in other places of a file, or in none."""


class EvalFileFacts(Struct):
    """An eval file without its cases, or the settings file of JSON Lines. Untyped values (Json) are checked
    separately."""

    evalcases: Json = ABSENT
    name: str | None = None
    description: str | None = None
    version: str | int | float | None = None
    note: str | None = None
    author: str | None = None
    license: str | None = None
    tags: list[str] = field(default_factory=list)
    dataset: str | None = None
    target: str | None = None
    execution: Json = ABSENT
    evaluators: Json = ABSENT
    evaluator: str | None = None


class EvalFileExecution(Struct):
    """`execution:` of a file or a case: the target, and the evaluators."""

    target: str | None = None
    evaluators: Json = ABSENT
    evaluator: str | None = None


class EvalFileCase(Struct):
    """A case as the file states it."""

    id: str
    expected_outcome: str | None = None
    outcome: str | None = None
    input: Json = ABSENT
    input_messages: Json = ABSENT
    expected_output: Json = ABSENT
    expected_messages: Json = ABSENT
    execution: Json = ABSENT
    evaluators: Json = ABSENT
    evaluator: str | None = None
    rubrics: Json = ABSENT
    sidecar: dict[str, Json] = field(default_factory=dict)
    conversation_id: str | None = None
    dataset: str | None = None
    description: str | None = None
    note: str | None = None
    tags: list[str] = field(default_factory=list)


T = TypeVar("T")


def read_facts(form: type[T], raw: Json) -> tuple[T | None, list[Problem]]:
    """Read a mapping into `form`, and return its problems: a wrong key does not affect the others."""
    facts, problems = read_right_keys(form, raw)
    return facts, [with_later_hint(problem) for problem in problems]


def with_later_hint(problem: Problem) -> Problem:
    """Add to an unknown key of a later version what to write instead."""
    key = (problem.at or ("",))[-1]
    if problem.code != "BK103" or key not in (*LATER, *_ELSEWHERE):
        return problem
    if key in _ELSEWHERE:
        return replace(problem, hint=_ELSEWHERE[str(key)])
    return replace(problem, hint=f"a later AgentV says so; here it is {LATER[str(key)]}")


# For editors.


def schema(parts: Parts) -> list[Schema]:
    message = {
        "type": "object",
        "properties": {
            "role": {"enum": [*ROLES]},
            "content": {},
            "name": {"type": "string"},
            "tool_calls": {},
        },
        "required": ["role"],
    }
    parts["EvalFileMessage"] = message
    messages = {"type": "array", "minItems": 1, "items": ref("EvalFileMessage")}
    case_input: Schema = {"anyOf": [{"type": "string"}, messages, {"type": "object"}]}
    evaluator = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "type": {"enum": [*EVALUATORS]},
            "weight": {"type": "number", "minimum": 0},
            "required": {"type": "boolean"},
        },
        "required": ["name", "type"],
    }
    parts["EvalFileEvaluator"] = evaluator
    evaluators = {"type": "array", "minItems": 1, "items": ref("EvalFileEvaluator")}
    add_part(parts, "EvalFileExecution", EvalFileExecution, evaluators=or_null(evaluators))
    shared: dict[str, Schema] = {
        "execution": or_null(ref("EvalFileExecution")),
        "evaluators": or_null(evaluators),
    }
    add_part(
        parts,
        "EvalFileCase",
        EvalFileCase,
        **shared,
        **dict.fromkeys(INPUTS, case_input),
        expected_messages=or_null(messages),
        rubrics={"type": "array", "minItems": 1, "items": {"type": ["string", "object"]}},
    )
    parts["EvalFileCase"]["required"] = ["id"]
    add_part(
        parts,
        "EvalFile",
        EvalFileFacts,
        **shared,
        evalcases={"type": "array", "minItems": 1, "items": ref("EvalFileCase")},
    )
    parts["EvalFile"]["properties"]["$schema"] = {"type": "string"}
    parts["EvalFile"]["required"] = [CASES]
    return [ref("EvalFile")]
