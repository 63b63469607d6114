"""Targets that are asked with messages: what they answer, and what they report beside it."""

from decimal import Decimal
from typing import Any

import pytest

from baselinekit.errors import CannotReplay, InvalidInput
from baselinekit.kinds.dispatch import check, replay
from baselinekit.kinds.given import EchoExecution, MockExecution
from baselinekit.kinds.messages import ConversationInput, answer_of_text, answer_of_value
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.table import KINDS
from baselinekit.model.recipes import Observation, Recipe, Usage
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Scope, escape_variables
from baselinekit.structs import replace

QUESTION = ConversationInput([TraceMessage("system", "Be brief."), TraceMessage("user", "What is 15 + 27?")])
CALL = {"tool": "add", "input": {"a": 15}, "output": 42, "id": "c1", "duration_ms": 250}
ANSWER: dict[str, Any] = {
    "output_messages": [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]},
        {"role": "tool", "content": {"sum": 42}, "name": "add"},
        {"role": "assistant", "content": "42"},
    ],
    "token_usage": {"input": 10, "output": 2, "cached": 4},
    "cost_usd": 0.0015,
    "duration_ms": 3500,
}


def mock(response: Json, **more: Any) -> Recipe:
    return Recipe(QUESTION, MockExecution("mock", response, **more))


def test_a51_answer_of_value_reads_messages_calls_and_usage() -> None:
    observation = answer_of_value(ANSWER, 9.0, "agent")
    call = ToolCall("add", {"a": 15}, 42, "c1", 0.25)
    assert observation == Observation(
        "42",
        3.5,
        tool_calls=(call,),
        usage=Usage(10, 2, Decimal("0.0015"), 4),
        messages=(
            TraceMessage("assistant", "Let me see.", (call,)),
            TraceMessage("tool", {"sum": 42}, name="add"),
            TraceMessage("assistant", "42"),
        ),
    )


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("plain text\n", "plain text"),
        ("two\r\nlines\r\n", "two\r\nlines"),
        ('{"text": "a"}\n', "a"),
        ('{"text": 7}', 7),
        ('{"answer": "a"}', '{"answer": "a"}'),
        ('["a"]', '["a"]'),
        ("{not json", "{not json"),
        ("", ""),
        ('{"text": "a", "output_messages": [{"role": "assistant", "content": "b"}]}', "b"),
        ('{"text": "a", "output_messages": []}', "a"),
        ('{"output_messages": [{"role": "assistant", "content": {"risk": 3}}]}', {"risk": 3}),
        ('{"output_messages": [{"role": "assistant", "content": [1, 2]}]}', [1, 2]),
        ('{"output_messages": [{"role": "assistant", "content": [{"type": "text", "value": "x"}]}]}', "x"),
        ('{"output_messages": [{"role": "user", "content": "q"}]}', ""),
        ('{"output_messages": [{"role": "assistant"}]}', ""),
        ('{"output_messages": [{"role": "assistant", "content": null}]}', ""),
    ],
)
def test_a51_answer_of_text_gives_output(text: str, output: Json) -> None:
    observation = answer_of_text(text, 1.0, "agent")
    assert (observation.output, observation.seconds) == (output, 1.0)


WRONG: Json = {
    "output_messages": [
        3,
        {"content": "x"},
        {"role": "robot", "tool_calls": {}},
        {"role": "user", "tool_calls": [{"tool": "t", "id": 1, "duration_ms": -1}]},
    ],
    "token_usage": {"input": 1.5, "output": True, "cached": -1},
    "cost_usd": "free",
    "duration_ms": -1,
}
MISTAKES = (
    "output_messages[0]: expected a mapping; output_messages[1].role: the key 'role' is missing; "
    "output_messages[2].role: expected one of system, user, assistant, tool; "
    "output_messages[2].tool_calls: expected a list; output_messages[3].tool_calls[0].id: expected a "
    "string; output_messages[3].tool_calls[0].duration_ms: expected a number of 0 or more; "
    "token_usage.input: expected an integer of 0 or more; token_usage.output: expected an integer of 0 or"
    " more; token_usage.cached: expected an integer of 0 or more; cost_usd: expected a number of 0 or "
    "more; duration_ms: expected a number of 0 or more"
)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (WRONG, MISTAKES),
        ({"output_messages": []}, "there is neither a message nor a `text`"),
        (
            {"output_messages": [{"role": "user", "tool_calls": [{}]}]},
            "output_messages[0].tool_calls[0].tool: the key 'tool' is missing",
        ),
    ],
)
def test_answer_of_value_reports_every_mistake(answer: Json, words: str) -> None:
    with pytest.raises(CannotReplay) as raised:
        answer_of_value(answer, 1.0, "agent")
    assert raised.value.problems[0].code == "BK354"
    assert raised.value.problems[0].message == f"agent gave an answer that cannot be read: {words}"


def test_answer_of_value_notes_unused_keys() -> None:
    assert answer_of_value({"text": "x", "id": "1", "mood": "good"}, 1.0, "agent").notes == (
        "agent also gave mood, which is not used",
    )


@pytest.mark.parametrize(
    ("response", "output"),
    [
        ("42", "42"),
        ("You asked: {question}", "You asked: What is 15 + 27?"),
        ('{"answer": "{question}"}', '{"answer": "What is 15 + 27?"}'),
        ({"risk": "{question}"}, {"risk": "{question}"}),
        (ANSWER, "42"),
        (None, None),
        ("\\{{name}}", "{{name}}"),
    ],
)
def test_a51_mock_gives_its_response(setting: Setting, response: Json, output: Json) -> None:
    check(mock(response), setting)
    assert replay(mock(response), setting).output == output


@pytest.mark.parametrize(
    ("response", "output"),
    [("{question} {{a}}", "hi {question}"), ("{{question}}", "mine"), ("{{a}}", "{question}")],
)
def test_x4_mock_variable_value_is_not_expanded_again(setting: Setting, response: str, output: str) -> None:
    known = replace(setting, scope=Scope({"a": "{question}", "question": "mine"}))
    question = ConversationInput([TraceMessage("user", "hi")])
    assert replay(Recipe(question, MockExecution("mock", response)), known).output == output


def test_a51_mock_waits_for_its_delay(setting: Setting) -> None:
    waited: list[float] = []
    changed = replace(setting, clients=replace(setting.clients, sleep=waited.append))
    slow = mock("x", delay=1.5)
    check(slow, changed)
    assert (replay(slow, changed).seconds, waited) == (1.5, [1.5])


def test_conversation_messages_are_not_expanded(setting: Setting) -> None:
    """No `{{name}}` in one is a variable, in a text, in parts or in a value."""
    messages = [
        TraceMessage("user", "{{a}}"),
        TraceMessage("user", [{"type": "text", "value": "{{b}}"}]),
        TraceMessage("assistant", {"x": "{{c}}"}),
    ]
    question = KINDS["mock"].input_of_messages(messages, (["/r/a.md"], ["/r/b.md"]), "one")
    recipe = Recipe(question, MockExecution("mock", "{question}"))
    check(recipe, setting)
    assert replay(recipe, setting).output == "{{a}}\n\n{{b}}"
    assert isinstance(question, ConversationInput)
    assert (question.guideline_files, question.input_files, question.case) == (
        ["/r/a.md"],
        ["/r/b.md"],
        "one",
    )


@pytest.mark.parametrize("given", ["", "a text\n", None, 0, False, [], {"file": "a/b.txt"}, {"a": [1, None]}])
def test_echo_gives_its_input(setting: Setting, given: Json) -> None:
    recipe = Recipe(given, EchoExecution("echo"))
    check(recipe, setting)
    assert replay(recipe, setting) == Observation(given, 0.0)


def test_echo_variables_are_expanded_once_and_undefined_ones_reported(setting: Setting) -> None:
    known = replace(setting, scope=Scope({"a": "{{b}}", "b": 1}))
    recipe = Recipe(
        {"x": "<{{a}}>", "y": "{{b}}", "z": escape_variables("{{a}} \\{{b}}")}, EchoExecution("echo")
    )
    assert replay(recipe, known).output == {"x": "<{{b}}>", "y": 1, "z": "{{a}} \\{{b}}"}
    with pytest.raises(InvalidInput, match=r"BK501 .*is not defined") as raised:
        check(recipe, setting)
    assert raised.value.problems[0].at == ("current", "input", "x")
