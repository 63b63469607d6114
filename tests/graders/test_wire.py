"""The case as a judge's program receives it: the documented keys, and null for what is missing."""

import json
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from cases import case, exactly

from baselinekit.files.jsontext import to_bytes
from baselinekit.graders.base import texts_of, trace_summary, wire_of
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.graders import task_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Observation, Usage
from baselinekit.model.traces import ToolCall, TraceMessage

GRADER = Grader("g", "code", CodeJudge("x"))


def wire(case: Case, observation: Observation, config: dict[str, Any] | None = None) -> Any:
    return wire_of(task_of(GRADER, case), observation, config)


CALL = ToolCall("fetch", {"maxResults": 3, "URLPath": {"innerKey": 1}}, {"someRows": [1]}, "c1", 0.25)
OUTPUT = (
    TraceMessage("assistant", "", (CALL,)),
    TraceMessage("tool", {"rowCount": 1}, name="fetch"),
    TraceMessage("assistant", "42"),
)
PARTS: Any = [{"type": "text", "value": "add"}, {"type": "file", "value": "a.md", "text": "15\n27"}]
WANTED = GoodAnswer(
    "adds both",
    (
        TraceMessage("assistant", "", (ToolCall("vector_search", {"q": 1}, None),)),
        TraceMessage("assistant", {"sumOf": 42}),
    ),
    (TraceMessage("system", "You add."), TraceMessage("user", PARTS), TraceMessage("user", "please")),
    {"camelCase": {"andDeeper": True}},
    "conversation",
    ("/r/x.instructions.md",),
    ("/r/a.md",),
)


def test_a20_wire_of_has_the_documented_keys_and_keeps_inner_ones() -> None:
    usage = Usage(1000, 500, Decimal("0.0015"), 200)
    observation = Observation("42", 3.5, tool_calls=(ToolCall("a", {}),), usage=usage, messages=OUTPUT)
    found = json.loads(to_bytes(wire(case(wanted=WANTED), observation, {"someKey": {"otherKey": 1}})))
    call = {"tool": "fetch", "input": CALL.input, "output": CALL.output, "id": "c1", "duration_ms": 250}
    search = {"tool": "vector_search", "input": {"q": 1}, "output": None}
    counted = {
        "event_count": 1,
        "tool_names": ["fetch"],
        "tool_calls_by_name": {"fetch": 1},
        "error_count": 0,
    }
    tokens = {"input": 1000, "output": 500, "cached": 200}
    assert found == {
        "question": "add\n\n=== a.md ===\n15\n27",
        "expected_outcome": "adds both",
        "reference_answer": '{\n  "sumOf": 42\n}',
        "candidate_answer": "42",
        "guideline_files": ["/r/x.instructions.md"],
        "input_files": ["/r/a.md"],
        "input_messages": [
            {"role": "system", "content": "You add."},
            {"role": "user", "content": PARTS},
            {"role": "user", "content": "please"},
        ],
        "expected_messages": [
            {"role": "assistant", "content": "", "tool_calls": [search]},
            {"role": "assistant", "content": {"sumOf": 42}},
        ],
        "output_messages": [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "fetch", "content": {"rowCount": 1}},
            {"role": "assistant", "content": "42"},
        ],
        "trace_summary": {**counted, "token_usage": tokens, "cost_usd": 0.0015, "duration_ms": 3500},
        "config": {"someKey": {"otherKey": 1}},
        "sidecar": {"camelCase": {"andDeeper": True}},
    }


def test_a20_wire_of_a_case_without_messages_has_null_for_what_is_missing() -> None:
    found = wire(case(expected=exactly("olleh")), Observation("olleh", 0.1))
    assert {key: value for key, value in found.items() if value} == {
        "question": "Reverse: hello",
        "reference_answer": "olleh",
        "candidate_answer": "olleh",
        "input_messages": [{"role": "user", "content": "Reverse: hello"}],
        "expected_messages": [{"role": "assistant", "content": "olleh"}],
        "output_messages": [{"role": "assistant", "content": "olleh"}],
    }
    assert [key for key, value in found.items() if value is None] == ["trace_summary", "config", "sidecar"]


ASSISTANT, USER = (partial(TraceMessage, "assistant"), partial(TraceMessage, "user"))


@pytest.mark.parametrize(
    ("question", "reference", "output", "texts"),
    [
        ((USER("one"), USER("two")), (ASSISTANT("x"), ASSISTANT("y")), "z", ("one", "y", "z")),
        ((USER({"a": 1}),), (ASSISTANT([1]),), {}, ('{\n  "a": 1\n}', "[\n  1\n]", "{}")),
        ((TraceMessage("assistant", "hi"), USER("later")), (), 5, ("later", "", "5")),
    ],
)
def test_a24_texts_of_cases(question: Any, reference: Any, output: Any, texts: tuple[str, str, str]) -> None:
    made = case(wanted=GoodAnswer("o", reference, question))
    derived = texts_of(task_of(GRADER, made), Observation(output, 0.1))
    assert (derived["question"], derived["reference_answer"], derived["candidate_answer"]) == texts


CALLS = (ToolCall("b", {}), ToolCall("a", {}, error="no"), ToolCall("b", {}))
COUNTED = {"event_count": 3, "tool_names": ["a", "b"], "tool_calls_by_name": {"a": 1, "b": 2}}


def test_a20_trace_summary_counts_the_known_values() -> None:
    assert trace_summary(Observation("x", 1.0)) is None
    counted = trace_summary(Observation("x", 0.0004, usage=Usage(7)))
    assert counted == {"token_usage": {"input": 7}, "duration_ms": 0}
    counted = trace_summary(Observation("x", 2.0, tool_calls=CALLS, usage=Usage(cost_usd=Decimal(0))))
    assert counted == {**COUNTED, "error_count": 1, "cost_usd": 0.0, "duration_ms": 2000}
