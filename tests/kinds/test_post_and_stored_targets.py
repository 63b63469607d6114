"""Targets that are services, and answers that were stored: what is sent, asked again, and found by an id."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, Refused, cannot_replay
from baselinekit.files.jsontext import encode
from baselinekit.kinds.dispatch import check, files_hash, replay
from baselinekit.kinds.given import ReplayExecution
from baselinekit.kinds.messages import ConversationInput, row_of
from baselinekit.kinds.programs import PostExecution
from baselinekit.kinds.settings import Setting
from baselinekit.model.recipes import Observation, Recipe, Request, Response, Usage
from baselinekit.model.traces import ToolCall, TraceMessage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Redactor, Scope, Secret
from baselinekit.structs import replace

QUESTION = ConversationInput(
    [TraceMessage("system", "Be brief."), TraceMessage("user", "{{a}} is \\{{b}}")],
    input_files=["/r/a.txt"],
    case="one",
)


class Service:
    """Answers in turn, and notes what it was sent and how long was waited."""

    def __init__(self, *answers: tuple[int, str, str] | str):
        self.answers = list(answers)
        self.sent: list[Request] = []
        self.waits: list[float] = []

    def send(self, request: Request) -> Response:
        self.sent.append(request)
        answer = self.answers[min(len(self.sent), len(self.answers)) - 1]
        if isinstance(answer, str):
            raise cannot_replay(answer, "nobody is there")
        status, kind, body = answer
        return Response(status, (("content-type", kind),), body.encode(), 0.5)

    def within(self, setting: Setting) -> Setting:
        scope = replace(setting.scope, values={"a": "A", **setting.scope.values})
        return replace(
            setting, scope=scope, clients=replace(setting.clients, send=self.send, sleep=self.waits.append)
        )


def post(**more: Any) -> Recipe:
    return Recipe(QUESTION, PostExecution("post", "http://127.0.0.1:9/ask", target="agent", **more))


OK = (200, "application/json", '{"text": "hi", "token_usage": {"input": 3}}')


def test_post_target_is_sent_the_case_as_json(setting: Setting) -> None:
    service = Service(OK)
    there = service.within(setting)
    check(post(), there)
    observation = replay(post(headers={"X-A": "1"}), there)
    assert (observation.output, observation.usage, observation.seconds) == ("hi", Usage(3), 0.5)
    (request,) = service.sent
    assert (request.method, request.url, request.timeout) == ("POST", "http://127.0.0.1:9/ask", 120.0)
    assert ("X-A", "1") in request.headers
    assert json.loads(request.content) == {
        "id": "one",
        "question": "A is {{b}}",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "A is {{b}}"}],
        "guideline_files": [],
        "input_files": ["/r/a.txt"],
    }


@pytest.mark.parametrize(
    ("answers", "retries", "requests"),
    [
        ([(503, "text/plain", "busy"), OK], None, 2),
        ([(429, "text/plain", ""), (500, "text/plain", ""), OK], None, 3),
        (["BK301", OK], None, 2),
        ([(408, "text/plain", ""), (504, "text/plain", ""), (502, "text/plain", ""), OK], 3, 4),
    ],
)
def test_a52_post_target_busy_service_is_retried(
    setting: Setting, answers: Sequence[Any], retries: int | None, requests: int
) -> None:
    service = Service(*answers)
    observation = replay(post(retries=retries), service.within(setting))
    assert (observation.output, observation.attempts, len(service.sent)) == ("hi", requests, requests)
    for number, wait in enumerate(service.waits):
        assert 0.75 * 2**number <= wait <= 1.25 * 2**number


@pytest.mark.parametrize(
    ("answers", "retries", "requests", "code"),
    [
        ([(503, "text/plain", "")], None, 3, "BK611"),
        ([(503, "text/plain", "")], 0, 1, "BK611"),
        ([(401, "text/plain", "")], 5, 1, "BK611"),
        ([(403, "text/plain", "")], 5, 1, "BK611"),
        ([(404, "text/plain", "")], 5, 1, "BK611"),
        (["BK301"], 1, 2, "BK301"),
        (["BK303"], 5, 1, "BK303"),
    ],
)
def test_a52_post_target_permanent_failure_is_not_retried(
    setting: Setting, answers: Sequence[Any], retries: int | None, requests: int, code: str
) -> None:
    service = Service(*answers)
    with pytest.raises(CannotReplay, match=code):
        replay(post(retries=retries), service.within(setting))
    assert len(service.sent) == requests


def test_post_target_is_checked_like_a_request(setting: Setting) -> None:
    far = Recipe(QUESTION, PostExecution("post", "http://169.254.169.254/x"))
    there = Service(OK).within(setting)
    with pytest.raises(Refused, match="BK407") as raised:
        check(far, there)
    assert raised.value.problems[0].at == ("current", "execution", "url")
    only = replace(there, trust=Trust(allow_hosts=("example.com",)))
    with pytest.raises(Refused, match="BK401"):
        check(post(), only)
    secrets = {"token": Secret("s3cret-0123456789")}
    keyed = replace(there, scope=Scope({"a": ""}, secrets), redactor=Redactor(secrets))
    with pytest.raises(Refused, match="BK402"):
        check(post(headers={"X-Key": "{{token}}"}), keyed)
    with pytest.raises(BaselinekitError, match="BK501") as undefined:
        check(post(headers={"X-Key": "{{nobody}}"}), there)
    assert undefined.value.problems[0].at == ("current", "execution", "headers", "X-Key")


# Stored answers.


def stored(setting: Setting, text: str, name: str = "t.jsonl", case: str = "one") -> Recipe:
    (Path(setting.surroundings.folder) / name).write_text(text, "utf-8")
    question = replace(QUESTION, messages=[TraceMessage("user", "?")], case=case)
    return Recipe(question, ReplayExecution("replay", name))


ANSWER = {"output_messages": [{"role": "assistant", "content": "42", "tool_calls": [{"tool": "add"}]}]}


@pytest.mark.parametrize(
    ("name", "text", "output"),
    [
        ("t.jsonl", '{"id": "one", "text": "42"}\n', "42"),
        ("t.jsonl", '{"id": "two", "text": "x"}\n\n{"id": "one", "text": "42"}\n', "42"),
        ("t.jsonl", json.dumps({"eval_id": "one", **ANSWER}), "42"),
        ("t.jsonl", '{"eval_id": "one", "dataset": "set", "candidate_answer": "42", "score": 1}', "42"),
        ("t.json", '[{"id": "one", "output": {"risk": 3}}]', {"risk": 3}),
        ("t.yaml", "- test_id: one\n  candidate_answer: '42'\n", "42"),
        ("t.jsonl", '{"id": "set/one", "text": "whole"}\n{"id": "one", "text": "short"}', "whole"),
    ],
)
def test_stored_answer_is_found_by_case_id(setting: Setting, name: str, text: str, output: Json) -> None:
    there = replace(setting, asker="set/one")
    recipe = stored(there, text, name)
    check(recipe, there)
    observation = replay(recipe, there)
    assert (observation.output, observation.recorded) == (output, True)
    assert files_hash(recipe, there)


def test_stored_answer_round_trips(setting: Setting) -> None:
    call = ToolCall("add", {"a": 1}, None, "c1", 0.25, "late")
    messages = (TraceMessage("assistant", "", (call,), "bot"), TraceMessage("assistant", {"x": [1]}))
    usage = Usage(5, 2, Decimal("0.015"), 1)
    for number, observation in enumerate(
        (
            Observation({"x": [1]}, 1.5, tool_calls=(call,), usage=usage, messages=messages),
            Observation("plain", 0.25),
            Observation({"text": "a value"}, 0.0),
            Observation(None, 0.0),
        )
    ):
        text = "".join(f"{encode(row_of('one', turn, observation))}\n" for turn in (2, 1))
        read = replay(stored(setting, text, f"{number}.jsonl"), setting)
        assert replace(read, recorded=False) == observation
    calls = Observation("x", 0.0, tool_calls=(call,))
    read = replay(stored(setting, encode(row_of("one", 1, calls)), "calls.jsonl"), setting)
    assert (read.output, read.tool_calls) == ("x", (call,))


def test_stored_answer_of_each_attempt(setting: Setting) -> None:
    recipe = stored(setting, '{"id": "one", "text": "1"}\n{"id": "one", "text": "2"}\n')
    assert [replay(recipe, replace(setting, turn=turn)).output for turn in (0, 1)] == ["1", "2"]
    mixed = '{"id": "one", "attempt": 2, "text": "2"}\n{"id": "one", "attempt": 1, "text": "1"}\n'
    turned = stored(setting, mixed, "mixed.jsonl")
    assert [replay(turned, replace(setting, turn=turn)).output for turn in (0, 1)] == ["1", "2"]
    with pytest.raises(CannotReplay, match=r"BK795.*holds 2 answers for one, and this is attempt 3"):
        replay(recipe, replace(setting, turn=2))
    alone = stored(setting, '{"id": "one", "text": "1"}', "alone.jsonl")
    assert replay(alone, replace(setting, turn=7)).output == "1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"id": "once", "text": "1"}', "holds no answer for one: did you mean 'once'?"),
        ('{"id": "one", "error": "timeout"}\n{"id": "x", "text": ""}', "holds no answer for one"),
        ('{"id": "one", "score": 1}\n{"id": "x", "text": ""}', "holds no answer for one"),
    ],
)
def test_stored_answer_missing_is_an_error(setting: Setting, text: str, words: str) -> None:
    recipe = stored(setting, text)
    check(recipe, setting)
    with pytest.raises(CannotReplay, match="BK795") as raised:
        replay(recipe, setting)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "t.jsonl:1:1: there is no answer in it"),
        ('{"id": "one", "text": "1"}\n{"text": "2"}', "t.jsonl:2:1: the answer does not say whose it is"),
        ('{"id": "one", "text": "1"}\n7', "t.jsonl:2:1: an answer is not an object"),
        ('{"id": "one", "text": "1"}\n{', "t.jsonl:2:1: not JSON"),
        ("[1]", "t.jsonl:1:1: an answer is not an object"),
    ],
)
def test_check_unreadable_file_of_answers_is_refused(setting: Setting, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match="BK795") as raised:
        check(stored(setting, text), setting)
    assert words in str(raised.value)


def test_f41_stored_answers_outside_project_are_refused(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"id": "one", "text": "x"}', "utf-8")
    outside = Recipe(
        stored(setting, "x").input, ReplayExecution("replay", str(tmp_path / "out.jsonl"), target="t")
    )
    with pytest.raises(Refused):
        check(outside, setting)
    around = replace(setting.surroundings, targets={"t": outside.execution})
    assert replay(outside, replace(setting, surroundings=around)).output == "x"
