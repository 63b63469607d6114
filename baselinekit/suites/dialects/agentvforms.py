"""What AgentV's eval files may say: their keys, for reading and for editors, and what later versions call
otherwise."""

from dataclasses import field, replace
from typing import TypeVar

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema.complaints import Parts, Schema, add_part, or_null, ref
from baselinekit.schema.records import check
from baselinekit.suites.dialects.agentvmessages import ROLES
from baselinekit.suites.dialects.evaluators import TYPES as EVALUATORS

CASES = "evalcases"
INPUTS = ("input_messages", "input")
OUTPUTS = ("expected_messages", "expected_output")
"""Two names of the same thing each; the first goes before the second."""

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
"""What later versions of AgentV say, and what stands for it here."""


@frozen
class EvalFileFacts:
    """An eval file around its cases, or what stands beside a file of JSON Lines. What has no type here is
    looked at by itself."""

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


@frozen
class EvalFileExecution:
    """`execution:` of a file or a case: who is asked, and who judges."""

    target: str | None = None
    evaluators: Json = ABSENT
    evaluator: str | None = None


@frozen
class EvalFileCase:
    """A case as it stands there."""

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
    """What a mapping states, and what is wrong with it: a key that is wrong hides nothing of the others."""
    stated, problems = check(form, raw)
    if stated is None and isinstance(raw, dict):
        wrong = {problem.at[0] for problem in problems if problem.at}
        stated, _ = check(form, {key: value for key, value in raw.items() if key not in wrong})
    return stated, [of_later(problem) for problem in problems]


def of_later(problem: Problem) -> Problem:
    """A key that a later version has is told what stands for it."""
    key = (problem.at or ("",))[-1]
    if problem.code != "BK103" or key not in LATER:
        return problem
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
    several = {"type": "array", "minItems": 1, "items": ref("EvalFileMessage")}
    asked: Schema = {"anyOf": [{"type": "string"}, several, {"type": "object"}]}
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
    judges = {"type": "array", "minItems": 1, "items": ref("EvalFileEvaluator")}
    add_part(parts, "EvalFileExecution", EvalFileExecution, evaluators=or_null(judges))
    around: dict[str, Schema] = {
        "execution": or_null(ref("EvalFileExecution")),
        "evaluators": or_null(judges),
    }
    add_part(
        parts,
        "EvalFileCase",
        EvalFileCase,
        **around,
        **dict.fromkeys(INPUTS, asked),
        expected_messages=or_null(several),
        rubrics={"type": "array", "minItems": 1, "items": {"type": ["string", "object"]}},
    )
    parts["EvalFileCase"]["required"] = ["id"]
    add_part(
        parts,
        "EvalFile",
        EvalFileFacts,
        **around,
        evalcases={"type": "array", "minItems": 1, "items": ref("EvalFileCase")},
    )
    parts["EvalFile"]["properties"]["$schema"] = {"type": "string"}
    parts["EvalFile"]["required"] = [CASES]
    return [ref("EvalFile")]
