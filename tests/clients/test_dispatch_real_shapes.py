"""What servers really say in the two wire forms: recorded from the proxy of LiteLLM, or as their makers
document it. Each has keys that nobody else sends, and leaves out some that others do."""

from collections.abc import Iterator
from typing import Any

import pytest
from model_server import ASCII_KEY, Clock, ModelServer, Said, failure, message, models, question, world

from baselinekit.clients.http import Client
from baselinekit.clients.models.dispatch import Models
from baselinekit.model.recipes import Answer, Model, Usage
from baselinekit.model.traces import ToolCall

CALL = {"name": "find_order", "arguments": '{"order": 4711}'}
FOUND = ToolCall("find_order", {"order": 4711})


def choice(message: dict[str, Any], ended: Any = "stop", **more: Any) -> dict[str, Any]:
    """What stands around a message everywhere."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1795300502,
        "model": "served",
        "choices": [{"index": 0, "message": message, "finish_reason": ended}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30},
        **more,
    }


ANSWERS: dict[str, tuple[dict[str, Any], str, tuple[ToolCall, ...] | None, Usage]] = {
    "LiteLLM: no usage details, no refusal": (
        {
            "id": "chatcmpl-2ee68ced-b916-403a-b5fb-545e95ad70f1",
            "created": 1795300502,
            "model": "served",
            "object": "chat.completion",
            "choices": [
                {"finish_reason": "stop", "index": 0, "message": {"content": "Hello", "role": "assistant"}}
            ],
            "usage": {"completion_tokens": 20, "prompt_tokens": 10, "total_tokens": 30},
        },
        "Hello",
        (),
        Usage(10, 20),
    ),
    "LiteLLM: calls of tools beside an empty text, and it says stop": (
        choice(
            {
                "content": "",
                "role": "assistant",
                "tool_calls": [{"function": CALL, "id": "call_1", "type": "function"}],
            }
        ),
        "",
        (FOUND,),
        Usage(10, 20),
    ),
    "OpenAI: null beside calls of tools": (
        choice(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_abc", "type": "function", "function": CALL}],
                "refusal": None,
                "annotations": [],
            },
            "tool_calls",
            service_tier="default",
            system_fingerprint="fp_1",
        ),
        "",
        (FOUND,),
        Usage(10, 20),
    ),
    "OpenAI as it was: one call without a list": (
        choice({"role": "assistant", "content": None, "function_call": CALL}, "function_call"),
        "",
        (FOUND,),
        Usage(10, 20),
    ),
    "vLLM: an empty list of calls, and why it stopped twice": (
        {
            **choice({"role": "assistant", "content": "Hello", "reasoning_content": None, "tool_calls": []}),
            "prompt_logprobs": None,
        },
        "Hello",
        (),
        Usage(10, 20),
    ),
    "a model that thinks aloud beside its answer": (
        choice({"role": "assistant", "content": "Hello", "reasoning_content": "They greet me."}),
        "Hello",
        (),
        Usage(10, 20),
    ),
    "arguments that are an object already": (
        choice(
            {
                "content": None,
                "tool_calls": [{"function": {"name": "find_order", "arguments": {"order": 4711}}}],
            },
            "tool_calls",
        ),
        "",
        (FOUND,),
        Usage(10, 20),
    ),
    "another word for a whole answer": (
        choice({"role": "assistant", "content": "Hello"}, "eos_token", usage={}),
        "Hello",
        (),
        Usage(None, None),
    ),
    "OpenAI: sources of a search whose calls are not reported": (
        choice({"content": "Rain.", "annotations": [{"type": "url_citation", "url_citation": {"url": "x"}}]}),
        "Rain.",
        None,
        Usage(10, 20),
    ),
}

SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "rain"}}
SOURCES = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "https://x"}]}
SEARCHED = message({"type": "thinking", "thinking": "Hm"}, SEARCH, SOURCES, "It rains.")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    client = Client(proxies={})
    yield client
    client.close()


def asked(client: Client, server: ModelServer, form: str = "openai") -> Models:
    entry = Model(**{form: "id-1", "base_url": server.url, "key": "k", "retries": 0})  # type: ignore[arg-type]
    return models(entry, world(client.send, secrets={"k": ASCII_KEY}))


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_of_a_real_server_is_read(client: Client, name: str) -> None:
    said, text, calls, usage = ANSWERS[name]
    with ModelServer(said) as server:
        answer: Answer = asked(client, server).ask(question())
    assert (answer.text, answer.tool_calls, answer.usage) == (text, calls, usage)
    assert answer.served == "served"


def test_tool_calls_with_search_of_the_provider_are_reported(client: Client) -> None:
    with ModelServer(SEARCHED) as server:
        answer = asked(client, server, "anthropic").ask(question())
    assert (answer.text, answer.tool_calls) == ("It rains.", (ToolCall("web_search", {"query": "rain"}),))


@pytest.mark.parametrize(
    ("form", "said", "kind"),
    [
        ("openai", choice({"content": [{"type": "image_url", "image_url": {"url": "x"}}]}), "image_url"),
        ("openai", choice({"content": "See:", "images": [{"type": "image_url"}]}), "images"),
        ("openai", choice({"content": None, "audio": {"id": "a", "data": "UklG"}}), "audio"),
        ("anthropic", message("See:", {"type": "image", "source": {}}), "image"),
    ],
)
def test_answer_with_a_part_that_would_be_lost_is_an_error(
    client: Client, form: str, said: dict[str, Any], kind: str
) -> None:
    with ModelServer(said) as server:
        (problem,) = failure(asked(client, server, form)).problems
    assert (problem.code, f"a part of the type '{kind}'" in problem.message) == ("BK612", True)


def test_a_message_of_litellm_is_read(client: Client) -> None:
    said = {
        "content": [{"text": "Hello", "type": "text"}],
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "model": "served",
        "role": "assistant",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "type": "message",
        "usage": {"input_tokens": 2095, "output_tokens": 503},
    }
    with ModelServer(said) as server:
        answer = asked(client, server, "anthropic").ask(question())
    assert (answer.text, answer.usage, answer.served) == ("Hello", Usage(2095, 503), "served")


@pytest.mark.parametrize("ended", ["length", "max_tokens", "model_length", "MAX_TOKENS"])
def test_an_answer_that_reached_its_limit_is_none_in_any_word(client: Client, ended: str) -> None:
    with ModelServer(choice({"content": "half an ans"}, ended)) as server:
        (problem,) = failure(asked(client, server)).problems
    assert (problem.code, "limit of tokens" in problem.message) == ("BK613", True)


@pytest.mark.parametrize(
    "ended", ["error", "time_limit", "cancelled", "abort", "insufficient_system_resource"]
)
def test_an_answer_that_broke_off_is_none(client: Client, ended: str) -> None:
    with ModelServer(choice({"content": "half an ans"}, ended)) as server:
        (problem,) = failure(asked(client, server)).problems
    assert (problem.code, problem.message) == (
        "BK613",
        f"the model 'm': the answer was interrupted ({ended})",
    )


def test_an_answer_that_broke_off_says_why(client: Client) -> None:
    said = choice({"content": "half"}, None)
    said["choices"][0]["error"] = {"code": 502, "message": "Upstream went away"}
    with ModelServer(said) as server:
        assert "interrupted (Upstream went away)" in str(failure(asked(client, server)))


FAILURES: list[tuple[Said, str]] = [
    (
        Said(
            {
                "error": {
                    "message": "/chat/completions: Invalid model name passed in model=nope. "
                    "Call `/v1/models` to view available models for your key.",
                    "type": "invalid_request_error",
                    "param": None,
                    "code": "400",
                }
            },
            400,
        ),
        "for your key",
    ),
    (
        Said(
            {
                "error": {
                    "message": "This model's maximum context length is 8192 tokens.",
                    "type": "invalid_request_error",
                    "param": "messages",
                    "code": "context_length_exceeded",
                }
            },
            400,
        ),
        "maximum context length",
    ),
    (
        Said(
            {
                "error": {
                    "message": "litellm.RateLimitError: this is a mock rate limit error\n\n"
                    "LiteLLM: model group 'busy' failed with the error above. No fallback was attempted.",
                    "type": "throttling_error",
                    "param": None,
                    "code": "429",
                }
            },
            429,
        ),
        "No fallback was attempted: send fewer requests at once",
    ),
    (
        Said(
            {
                "error": {
                    "message": "Authentication Error, Invalid proxy server token passed.",
                    "type": "auth_error",
                    "param": "None",
                    "code": "401",
                }
            },
            401,
        ),
        "Invalid proxy server token passed: check the variable 'k'",
    ),
]


@pytest.mark.parametrize(("said", "word"), FAILURES)
def test_a_failure_of_a_real_server_says_what_to_do(client: Client, said: Said, word: str) -> None:
    with ModelServer(said) as server:
        assert word in str(failure(asked(client, server)))


def test_a_server_that_is_not_there_is_named_with_its_model(client: Client) -> None:
    entry = Model(openai="id-1", base_url="http://127.0.0.1:9", retries=0)
    (problem,) = failure(models(entry, world(client.send))).problems
    assert problem.message.startswith(
        "the model 'm': POST http://127.0.0.1:9/v1/chat/completions: no connection"
    )


def test_who_was_not_there_for_one_question_is_tried_once_for_the_next(client: Client) -> None:
    """Else a run of hundreds would wait for each of them anew."""
    clock = Clock()
    server = ModelServer()
    with server:
        up = server.url
    client = models(Model(openai="x", base_url=up, retries=4), world(client.send, clock=clock))
    assert "(5 tries)" in str(failure(client))
    for _ in range(20):
        assert "tries" not in str(failure(client))
    assert len(clock.slept) == 4
