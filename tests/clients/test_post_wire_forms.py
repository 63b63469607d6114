"""Both wire forms: what is sent, how answers of real servers are read, and which answers are errors."""

from typing import Any

import pytest
from model_server import ASCII_KEY, Reply, Wire, chat, failure, message, models, question, world

from baselinekit.clients.models.dispatch import Models
from baselinekit.model.recipes import Message, Model, ModelQuestion, Tool, Usage
from baselinekit.model.traces import ToolCall
from baselinekit.structs import replace

BASE = "http://127.0.0.1:9"
SCHEMA = {"type": "object", "properties": {"city": {}}}
WEATHER = Tool("weather", "What it is like outside", SCHEMA)


def models_of(wire: Wire, form: str = "openai", **more: Any) -> Models:
    entry = Model(**{form: "id-1", "base_url": BASE, "key": "k", **more})
    return models(entry, world(wire, secrets={"k": ASCII_KEY}))


def test_openai_form_sends_chat_completion_request() -> None:
    wire = Wire()
    model = models_of(wire, system="Be brief.", temperature=0, settings={"seed": 7})
    model.ask(ModelQuestion("m", (Message("user", "Hi"),), tools=(WEATHER,), max_tokens=20, json=True))
    (received,) = wire.requests
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == f"Bearer {ASCII_KEY}"
    assert received.headers["content-type"] == "application/json"
    function = {"name": "weather", "description": "What it is like outside", "parameters": SCHEMA}
    assert received.body == {
        "model": "id-1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "temperature": 0,
        "max_tokens": 20,
        "response_format": {"type": "json_object"},
        "tools": [{"type": "function", "function": function}],
        "seed": 7,
    }


def test_anthropic_form_sends_message_request() -> None:
    wire = Wire()
    model = models_of(wire, "anthropic", temperature=0.5, headers={"Anthropic-Version": "2099-01-01"})
    talk = (Message("system", "Be brief."), Message("user", "Hi"), Message("assistant", "Yes?"))
    model.ask(ModelQuestion("m", talk, tools=(WEATHER,), json=True))
    (received,) = wire.requests
    assert (received.path, received.headers["x-api-key"]) == ("/v1/messages", ASCII_KEY)
    assert received.headers["anthropic-version"] == "2099-01-01"
    assert "authorization" not in received.headers
    assert received.body.pop("system").startswith("Be brief.\n\nAnswer with one JSON value")
    assert received.body == {
        "model": "id-1",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
        "temperature": 0.5,
        "tools": [{"name": "weather", "description": "What it is like outside", "input_schema": SCHEMA}],
    }


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_wire_form_question_overrides_entry_and_null_omits_setting(form: str) -> None:
    wire = Wire()
    settings = {"temperature": None}
    model = models_of(wire, form, system="A", temperature=1, max_tokens=5, key=None, settings=settings)
    if form == "anthropic":
        model = models_of(wire, form, system="A", temperature=1, max_tokens=5, settings=settings)
    tools = (replace(WEATHER, description=""),)
    model.ask(ModelQuestion("m", (Message("system", "B"), Message("user", "Hi")), tools=tools, max_tokens=6))
    (received,) = wire.requests
    assert (received.body["max_tokens"], "temperature" in received.body) == (6, False)
    assert "A" not in (received.body.get("system"), received.body["messages"][0]["content"])
    assert "authorization" not in received.headers
    (tool,) = received.body["tools"]
    assert "description" not in {**tool, **tool.get("function", {})}


def test_openai_form_max_completion_tokens_replaces_max_tokens() -> None:
    wire = Wire()
    models_of(wire, settings={"max_completion_tokens": 9}).ask(question(max_tokens=5))
    assert wire.requests[0].body["max_completion_tokens"] == 9
    assert "max_tokens" not in wire.requests[0].body


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("", "/v1/chat/completions"),
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
    ],
)
def test_openai_form_base_url_with_or_without_version(ending: str, path: str) -> None:
    wire = Wire(Reply({"error": "nothing here"}, 404))
    (problem,) = failure(models_of(wire, base_url=BASE + ending)).problems
    assert wire.requests[0].path == path
    assert problem.message.endswith(f"status 404: nothing here (asked: {BASE}{path})")


def choice(reply: dict[str, Any], ended: Any = "stop", **more: Any) -> dict[str, Any]:
    """What is around a message everywhere."""
    usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
    return {
        "model": "served",
        "choices": [{"message": reply, "finish_reason": ended}],
        "usage": usage,
        **more,
    }


CALL = {"name": "find_order", "arguments": '{"order": 4711}'}
FOUND = (ToolCall("find_order", {"order": 4711}),)
CITED = [{"type": "url_citation", "url_citation": {"url": "x"}}]
BIG = {"name": "f", "arguments": '{"n": 12345678901234567890123}'}
ODD = [{"function": {"name": "stop", "arguments": ""}}, {"function": {"name": "odd", "arguments": "{no"}}]
SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "rain"}}
SOURCES = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "https://x"}]}
USE = {"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Bern"}}
CACHED = {"cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
USUAL = Usage(10, 20)
ANSWERS: dict[str, tuple[str, dict[str, Any], str, tuple[ToolCall, ...] | None, Usage]] = {
    "LiteLLM: no usage details": ("openai", choice({"content": "Hello"}), "Hello", (), USUAL),
    "LiteLLM: calls beside an empty text, and stop": (
        "openai", choice({"content": "", "tool_calls": [{"function": CALL, "id": "1"}]}), "", FOUND, USUAL),
    "OpenAI: null beside calls of tools": (
        "openai", choice({"tool_calls": [{"function": CALL}], "refusal": None}, "tool_calls"),
        "", FOUND, USUAL),
    "OpenAI as it was: one call without a list": (
        "openai", choice({"content": None, "function_call": CALL}, "function_call"), "", FOUND, USUAL),
    "vLLM: an empty list of calls": (
        "openai", choice({"content": "Hello", "reasoning_content": None, "tool_calls": []}),
        "Hello", (), USUAL),
    "a model that thinks aloud beside its answer": (
        "openai", choice({"content": "Hi", "reasoning_content": "They greet me."}), "Hi", (), USUAL),
    "arguments that are an object already": (
        "openai", choice({"tool_calls": [{"function": {**CALL, "arguments": {"order": 4711}}}]}),
        "", FOUND, USUAL),
    "another word for a whole answer": (
        "openai", choice({"content": "Hello"}, "eos_token", usage={}), "Hello", (), Usage(None, None)),
    "OpenAI: sources of a search whose calls are not reported": (
        "openai", choice({"content": "Rain.", "annotations": CITED}), "Rain.", None, USUAL),
    "big integers, and a text in parts": (
        "openai",
        choice({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                "tool_calls": [{"function": BIG}]}, usage=None),
        "ab", (ToolCall("f", {"n": 12345678901234567890123}),), Usage(None, None)),
    "arguments that are nothing or no JSON": (
        "openai", choice({"content": None, "tool_calls": ODD}), "",
        (ToolCall("stop", {}), ToolCall("odd", "{no")), USUAL),
    "Anthropic: blocks of every kind, and tokens of a cache": (
        "anthropic",
        message({"type": "thinking", "thinking": "hm"}, "It is ", USE, "raining.", ended="tool_use",
                input_tokens=1, output_tokens=4, **CACHED),
        "It is raining.", (ToolCall("weather", {"city": "Bern"}),), Usage(321, 4, None, 300)),
    "Anthropic: a search of the provider": (
        "anthropic", message(SEARCH, SOURCES, "It rains."), "It rains.",
        (ToolCall("web_search", {"query": "rain"}),), Usage(10, 4)),
    "LiteLLM: a message": ("anthropic", message("Hello", input_tokens=2095, output_tokens=503), "Hello", (),
                           Usage(2095, 503)),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_wire_form_reads_answer_of_real_server(name: str) -> None:
    form, reply, text, calls, usage = ANSWERS[name]
    answer = models_of(Wire(reply), form).ask(question())
    assert (answer.text, answer.tool_calls) == (text, calls)
    assert replace(answer.usage, tokens_cached=usage.tokens_cached) == usage
    assert (answer.served, answer.attempts, answer.recorded) == (reply["model"], 1, False)


NO_CREDIT = {"error": {"message": "Your credit balance is too low to access the API."}}
QUOTA = {"error": {"message": "pay first", "code": "insufficient_quota"}}
BUSY = {"error": {"message": "litellm.RateLimitError: a mock\n\nNo fallback was attempted.", "code": "429"}}
BROKEN = choice({"content": "half"}, None)
BROKEN["choices"][0]["error"] = {"code": 502, "message": "Upstream went away"}
NO_ANSWER: list[tuple[str, Any, str, str]] = [
    ("openai", chat("half", "length"), "BK613", "cut off (length): raise `max_tokens`"),
    ("openai", chat("half", "time_limit"), "BK613", "the answer was interrupted (time_limit)"),
    ("openai", BROKEN, "BK613", "interrupted (Upstream went away)"),
    ("openai", chat("", "content_filter"), "BK614", "did not answer: its content filter"),
    ("openai", chat(None, refusal="I will not."), "BK614", "I will not."),
    ("openai", choice({"content": [{"type": "image_url"}]}), "BK612", "a part of the type 'image_url'"),
    ("openai", choice({"content": "See:", "images": [{}]}), "BK612", "a part of the type 'images'"),
    ("openai", choice({"content": None, "audio": {"id": "a"}}), "BK612", "a part of the type 'audio'"),
    ("openai", Reply(b"<html>Welcome</html>"), "BK612", "<html>Welcome</html>"),
    ("openai", Reply(b'{"choices": [], "choices": []}'), "BK612", "the key 'choices' occurs twice"),
    ("openai", Reply(b"\xff\xfe"), "BK612", "did not answer in JSON"),
    ("openai", {"choices": [{"message": "hello"}]}, "BK612", "not a chat completion"),
    ("openai", {"choices": [{"message": {"content": 5}}]}, "BK612", "not a chat completion"),
    ("openai", {"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}, "BK612", "not a chat completion"),
    ("openai", Reply([1, 2]), "BK612", "not a chat completion"),
    ("openai", Reply(b'data: {"id": "c1"}\n\n'), "BK612", "streams are not read"),
    ("openai", {"error": {"message": "no such thing", "code": "nope"}}, "BK610", "no such thing (nope)"),
    ("openai", Reply({"error": {"message": "bad key"}}, 401), "BK610", "check the variable 'k'"),
    (
        "openai",
        Reply({"error": {"message": "no", "code": "400"}}, 400),
        "BK610",
        "status 400: no (400): correct",
    ),
    ("openai", Reply({"detail": "a field is missing"}, 422), "BK610", "a field is missing"),
    ("openai", Reply(b"Payload too large", 413), "BK610", "Payload too large"),
    ("openai", Reply(b"", 302, {"Location": "/elsewhere"}), "BK610", "correct `base_url`"),
    ("openai", Reply(QUOTA, 429), "BK610", "pay first (insufficient_quota): correct the prompt"),
    ("openai", Reply(BUSY, 429), "BK611", "No fallback was attempted. (429): send fewer requests"),
    ("anthropic", Reply(NO_CREDIT, 400), "BK610", "credit balance is too low"),
    ("anthropic", message("See:", {"type": "image", "source": {}}), "BK612", "a part of the type 'image'"),
    ("anthropic", Reply(b"event: message_start\ndata: {}\n\n"), "BK612", "streams are not read"),
    ("anthropic", message("half", ended="model_context_window_exceeded"), "BK613", "a larger context"),
    ("anthropic", message("half", ended="max_tokens"), "BK613", "cut off (max_tokens)"),
    ("anthropic", message("", ended="refusal"), "BK614", "declined"),
    ("anthropic", {"content": "text"}, "BK612", "not a message"),
    ("anthropic", {"content": [{"type": "text", "text": 5}]}, "BK612", "not a message"),
    ("anthropic", {"content": [{"type": "tool_use", "name": "f"}]}, "BK612", "not a message"),
    ("anthropic", Reply({"error": {"type": "invalid", "message": "no"}}, 400), "BK610", "no (invalid)"),
]


@pytest.mark.parametrize(("form", "reply", "code", "word"), NO_ANSWER)
def test_wire_form_invalid_answer_is_an_error(form: str, reply: Any, code: str, word: str) -> None:
    wire = Wire(reply)
    error = failure(models_of(wire, form, retries=0))
    assert error.problems[0].code == code
    assert word in str(error)
    assert "'m'" in str(error)
    assert len(wire.requests) == 1, "it is not asked again"


def test_wire_form_usage_of_truncated_answer_is_counted() -> None:
    model = models_of(Wire(chat("half", "length")))
    failure(model)
    assert (model.spent.calls, model.spent.tokens) == (1, 15)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_f49_wire_form_errors_mask_the_key(form: str) -> None:
    echo = Reply({"error": {"message": f"the key {ASCII_KEY} is wrong, sent as Bearer {ASCII_KEY}"}}, 401)
    model = models_of(Wire(echo, Reply(f"no: {ASCII_KEY}".encode())), form)
    texts = [str(failure(model)), str(failure(model))]
    # A variable that no configuration declares as a secret is one when it holds a key.
    entry = Model(openai="x", base_url=BASE, key="k")
    texts.append(str(failure(models(entry, world(Wire(echo), secret=lambda name: ASCII_KEY)))))
    for text in texts:
        assert ASCII_KEY not in text
        assert "***" in text
