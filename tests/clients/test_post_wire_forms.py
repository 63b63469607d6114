"""Both wire forms over real sockets: what goes out, what is read, and what is no answer."""

import time
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest
from model_server import ASCII_KEY, Clock, ModelServer, Said, chat, failure, message, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.dispatch import Models
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import Message, Model, ModelQuestion, Prices, Tool
from baselinekit.model.traces import ToolCall
from baselinekit.structs import replace

WEATHER = Tool("weather", "What it is like outside", {"type": "object", "properties": {"city": {}}})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    client = Client(proxies={})
    yield client
    client.close()


def of(server: ModelServer, client: Client, form: str, **more: Any) -> Models:
    entry = Model(**{form: "id-1", "base_url": server.url, "key": "k", **more})  # type: ignore[arg-type]
    return models(entry, world(client.send, secrets={"k": ASCII_KEY}))


def test_a_chat_completion_is_asked_for_as_the_form_wants_it(client: Client) -> None:
    with ModelServer() as server:
        asked = of(server, client, "openai", system="Be brief.", temperature=0, settings={"seed": 7})
        asked.ask(ModelQuestion("m", (Message("user", "Hi"),), tools=(WEATHER,), max_tokens=20, json=True))
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {ASCII_KEY}"
    assert seen.headers["content-type"] == "application/json"
    assert seen.body == {
        "model": "id-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "temperature": 0,
        "max_tokens": 20,
        "response_format": {"type": "json_object"},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "What it is like outside",
                    "parameters": {"type": "object", "properties": {"city": {}}},
                },
            }
        ],
        "seed": 7,
    }


def test_a_message_is_asked_for_as_the_form_wants_it(client: Client) -> None:
    with ModelServer() as server:
        asked = of(server, client, "anthropic", temperature=0.5, headers={"Anthropic-Version": "2099-01-01"})
        asked.ask(
            ModelQuestion(
                "m",
                (Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Yes?")),
                tools=(WEATHER,),
                json=True,
            )
        )
    (seen,) = server.seen
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == ASCII_KEY
    assert seen.headers["anthropic-version"] == "2099-01-01"
    assert "authorization" not in seen.headers
    assert seen.body.pop("system").startswith("Be brief.\n\nAnswer with one JSON value")
    assert seen.body == {
        "model": "id-1",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
        "temperature": 0.5,
        "tools": [
            {
                "name": "weather",
                "description": "What it is like outside",
                "input_schema": {"type": "object", "properties": {"city": {}}},
            }
        ],
    }


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_the_question_goes_before_the_entry_and_null_leaves_a_setting_out(client: Client, form: str) -> None:
    with ModelServer() as server:
        asked = of(
            server, client, form, system="A", temperature=1, max_tokens=5, settings={"temperature": None}
        )
        asked.ask(ModelQuestion("m", (Message("system", "B"), Message("user", "Hi")), max_tokens=6))
    body = server.seen[0].body
    assert body["max_tokens"] == 6
    assert "temperature" not in body
    assert "A" not in (body.get("system"), body["messages"][0]["content"])


def test_newer_models_know_the_limit_by_another_name(client: Client) -> None:
    with ModelServer() as server:
        of(server, client, "openai", settings={"max_completion_tokens": 9}).ask(question(max_tokens=5))
    assert server.seen[0].body["max_completion_tokens"] == 9
    assert "max_tokens" not in server.seen[0].body


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/api/v1", "/api/v1/chat/completions"),
        ("/v1beta/openai/chat/completions", "/v1beta/openai/chat/completions"),
        ("/api/paas/v4", "/api/paas/v4/chat/completions"),
        ("/v1beta/openai/", "/v1beta/openai/chat/completions"),
        ("/openai/v1?api-version=preview", "/openai/v1/chat/completions?api-version=preview"),
        ("/inference", "/inference/chat/completions"),
        ("/openai/deployments/gpt?api-version=1", "/openai/deployments/gpt/chat/completions?api-version=1"),
        ("/deployments/gpt", "/deployments/gpt/v1/chat/completions"),
        ("/vault", "/vault/v1/chat/completions"),
        ("/deploy?api-version=1", "/deploy/v1/chat/completions?api-version=1"),
    ],
)
def test_base_url_may_end_before_or_after_the_version(client: Client, ending: str, path: str) -> None:
    with ModelServer(Said({"error": "nothing here"}, 404)) as server:
        (problem,) = failure(of(server, client, "openai", base_url=server.url + ending)).problems
    assert server.seen[0].path == path
    assert problem.message.endswith(f"status 404: nothing here (asked: {server.url}{path})")


def test_a_server_without_a_key_gets_none(client: Client) -> None:
    with ModelServer() as server:
        of(server, client, "openai", key=None).ask(question())
    assert "authorization" not in server.seen[0].headers


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_tool_without_a_description_is_sent_without_one(client: Client, form: str) -> None:
    with ModelServer() as server, suppress(CannotReplay):
        of(server, client, form).ask(question(tools=(replace(WEATHER, description=""),)))
    (tool,) = server.seen[0].body["tools"]
    assert "description" not in {**tool, **tool.get("function", {})}


def test_an_answer_has_all_that_was_said(client: Client) -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bern"}'}},
        {"id": "2", "type": "function", "function": {"name": "stop", "arguments": ""}},
        {"id": "3", "type": "function", "function": {"name": "odd", "arguments": "{not json"}},
    ]
    with ModelServer(chat(None, "tool_calls", tool_calls=calls)) as server:
        answer = of(server, client, "openai", prices=Prices(2, 10.5)).ask(question(tools=(WEATHER,)))
    assert answer.text == ""
    assert answer.tool_calls == (
        ToolCall("weather", {"city": "Bern"}),
        ToolCall("stop", {}),
        ToolCall("odd", "{not json"),
    )
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (12, 3)
    assert answer.usage.cost_usd == Decimal("0.0000555")
    assert (answer.served, answer.attempts, answer.recorded) == ("served-1", 1, False)
    assert 0 < answer.seconds < 5


def test_a_message_has_all_that_was_said(client: Client) -> None:
    said = message(
        {"type": "thinking", "thinking": "hm", "signature": "x"},
        "It is ",
        {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Bern"}},
        "raining.",
        ended="tool_use",
        input_tokens=1,
        cache_creation_input_tokens=20,
        cache_read_input_tokens=300,
        output_tokens=4,
    )
    with ModelServer(said) as server:
        answer = of(server, client, "anthropic").ask(question())
    assert answer.text == "It is raining."
    assert answer.tool_calls == (ToolCall("weather", {"city": "Bern"}),)
    assert (answer.usage.tokens_in, answer.usage.tokens_out, answer.usage.cost_usd) == (321, 4, None)
    assert answer.served == "served-2"


def test_big_integers_and_parts_of_a_text_come_whole(client: Client) -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "f", "arguments": '{"n": 12345678901234567890123}'},
    }
    said = chat([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], tool_calls=[call])  # type: ignore[arg-type]
    said["usage"] = None
    with ModelServer(said) as server:
        answer = of(server, client, "openai").ask(question())
    assert answer.text == "ab"
    assert answer.tool_calls[0].input == {"n": 12345678901234567890123}
    assert answer.usage.tokens_in is None


NO_ANSWER: list[tuple[str, Any, str, str]] = [
    ("openai", chat("half", "length"), "BK613", "cut off"),
    ("openai", chat(None, "content_filter"), "BK614", "filter"),
    ("openai", chat(None, refusal="I will not."), "BK614", "I will not."),
    ("openai", Said(b"<html>Welcome</html>"), "BK612", "<html>Welcome</html>"),
    ("openai", Said(b'{"choices": [], "choices": []}'), "BK612", "the key 'choices' occurs twice"),
    ("openai", Said(b"\xff\xfe"), "BK612", "did not answer in JSON"),
    ("openai", {"choices": []}, "BK612", "not a chat completion"),
    ("openai", {"choices": [{"message": "hello"}]}, "BK612", "not a chat completion"),
    ("openai", {"choices": [{"message": {"content": 5}}]}, "BK612", "not a chat completion"),
    ("openai", {"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}, "BK612", "not a chat completion"),
    ("openai", [1, 2], "BK612", "not a chat completion"),
    ("openai", {"error": {"message": "no such thing", "code": "nope"}}, "BK610", "no such thing (nope)"),
    ("openai", Said({"error": {"message": "bad key"}}, 401), "BK610", "check the variable 'k'"),
    ("openai", Said({"error": "model not found"}, 404), "BK610", "model not found"),
    ("openai", Said({"error": {"message": "no", "code": "400"}}, 400), "BK610", "status 400: no: correct"),
    ("openai", Said({"detail": "a field is missing"}, 422), "BK610", "a field is missing"),
    ("openai", Said(b"Payload too large", 413), "BK610", "Payload too large"),
    ("openai", Said(b"", 302, {"Location": "/elsewhere"}), "BK610", "correct `base_url`"),
    (
        "openai",
        Said({"error": {"message": "pay first", "code": "insufficient_quota"}}, 429),
        "BK610",
        "pay first (insufficient_quota): its account has no credit left",
    ),
    (
        "anthropic",
        Said({"error": {"message": "Your credit balance is too low to access the API."}}, 400),
        "BK610",
        "no credit left",
    ),
    (
        "openai",
        Said({"error": {"message": "The response was filtered", "code": "content_filter"}}, 400),
        "BK614",
        "did not answer: The response was filtered (content_filter): change the prompt",
    ),
    ("openai", chat("", "content_filter"), "BK614", "did not answer: its content filter"),
    ("openai", Said(b'data: {"id": "c1"}\n\n'), "BK612", "streams are not read"),
    ("anthropic", Said(b"event: message_start\ndata: {}\n\n"), "BK612", "streams are not read"),
    ("anthropic", message("half", ended="model_context_window_exceeded"), "BK613", "a larger context"),
    ("anthropic", message("half", ended="max_tokens"), "BK613", "max_tokens"),
    ("anthropic", message("half", ended="pause_turn"), "BK613", "(pause_turn): the provider paused"),
    ("anthropic", message("", ended="refusal"), "BK614", "declined"),
    ("anthropic", {"content": "text"}, "BK612", "not a message"),
    ("anthropic", {"content": [{"type": "text", "text": 5}]}, "BK612", "not a message"),
    ("anthropic", {"content": [{"type": "tool_use", "name": "f"}]}, "BK612", "not a message"),
    (
        "anthropic",
        Said({"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: 0"}}, 400),
        "BK610",
        "max_tokens: 0 (invalid_request_error)",
    ),
]


@pytest.mark.parametrize(("form", "said", "code", "word"), NO_ANSWER)
def test_what_is_no_answer_is_an_error_that_says_why(
    client: Client, form: str, said: Any, code: str, word: str
) -> None:
    with ModelServer(said) as server:
        error = failure(of(server, client, form))
    assert error.problems[0].code == code
    assert word in str(error)
    assert "'m'" in str(error)
    assert len(server.seen) == 1, "it is not asked again"


def test_what_an_answer_that_is_cut_off_took_is_counted(client: Client) -> None:
    with ModelServer(chat("half", "length")) as server:
        asked = of(server, client, "openai")
        failure(asked)
    assert (asked.spent.calls, asked.spent.tokens) == (1, 15)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_f18_an_answer_that_never_comes_ends_at_the_deadline(client: Client, form: str) -> None:
    with ModelServer(Said({}, pause=3)) as server:
        clock = Clock()
        asked = of(server, client, form, timeout=0.2)
        started = time.monotonic()
        error = failure(asked)
        assert time.monotonic() - started < 1.2
    assert error.problems[0].code == "BK303"
    assert clock.slept == []


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_f49_no_key_stands_in_any_error(client: Client, form: str) -> None:
    echo = Said({"error": {"message": f"the key {ASCII_KEY} is wrong, sent as Bearer {ASCII_KEY}"}}, 401)
    with ModelServer(echo, Said(f"no: {ASCII_KEY}".encode())) as server:
        asked = of(server, client, form)
        told = [str(failure(asked)), str(failure(asked))]
        # A variable that nobody declared as a secret is one when it holds a key.
        server.script.append(echo)
        entry = Model(openai="x", base_url=server.url, key="k")
        told.append(str(failure(models(entry, world(client.send, secret=lambda name: ASCII_KEY)))))
    assert len(server.seen) == 3
    for text in told:
        assert ASCII_KEY not in text
        assert "***" in text


def test_an_interrupted_question_says_so(client: Client) -> None:
    own = Client(proxies={})
    with ModelServer() as server:
        asked = of(server, own, "openai")
        own.cancel()
        with pytest.raises(CannotReplay) as caught:
            asked.ask(question())
    own.close()
    assert caught.value.problems[0].code == "BK330"
