"""A model for one program, asked over a real socket: what it answers, what it refuses, and that nothing is
left of it when the program has ended."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from baselinekit.clients.models.proxy import Proxy
from baselinekit.errors import CannotReplay, NeverSent, OutOfBudget, Problem
from baselinekit.model.recipes import Answer, ModelQuestion, Usage

QUESTION = {"question": "Is it relevant?"}


class Judges:
    """The model; it keeps its questions. `error`: what it raises instead of an answer."""

    def __init__(self) -> None:
        self.questions: list[ModelQuestion] = []
        self.error: Exception | None = None
        self.wait = threading.Event()
        self.wait.set()
        self.begun = threading.Event()

    def ask(self, ask: ModelQuestion) -> Answer:
        self.questions.append(ask)
        self.begun.set()
        self.wait.wait(10)
        if self.error is not None:
            raise self.error
        return Answer(f"answer to {ask.messages[-1].content}", usage=Usage(3, 2))


@pytest.fixture
def judges() -> Judges:
    return Judges()


@pytest.fixture
def proxy(judges: Judges) -> Iterator[Proxy]:
    with Proxy(judges.ask, "judge", 5, 60.0, ["judge", "strict"]) as proxy:
        yield proxy
    address = urlsplit(proxy.environment["AGENTV_TARGET_PROXY_URL"])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(address.hostname), address.port or 0), timeout=10)


def sent(
    proxy: Proxy, path: str, body: Any = None, token: str | None = "", method: str = "", **headers: str
) -> tuple[int, Any]:
    """`body`: a value other than bytes is sent as JSON. `token`: "" is the right one."""
    url = urlsplit(proxy.environment["AGENTV_TARGET_PROXY_URL"])
    connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=10)
    raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    if token is not None:
        headers["Authorization"] = f"Bearer {token or proxy.environment['AGENTV_TARGET_PROXY_TOKEN']}"
    try:
        connection.request(method or ("GET" if raw is None else "POST"), path, raw, headers)
        reply = connection.getresponse()
        text = reply.read()
        assert not [name for name, _ in reply.getheaders() if name.lower().startswith("access-control")]
        return reply.status, json.loads(text) if reply.getheader(
            "Content-Type"
        ) == "application/json" else text
    finally:
        connection.close()


def test_a25_proxy_environment_has_address_and_token_under_both_names(proxy: Proxy) -> None:
    found = proxy.environment
    assert sorted(found) == [
        "AGENTV_TARGET_PROXY_TOKEN",
        "AGENTV_TARGET_PROXY_URL",
        "BASELINEKIT_TARGET_PROXY_TOKEN",
        "BASELINEKIT_TARGET_PROXY_URL",
    ]
    assert found["AGENTV_TARGET_PROXY_URL"].startswith("http://127.0.0.1:")
    assert len(found["AGENTV_TARGET_PROXY_TOKEN"]) >= 40


def test_a25_proxy_answers_invoke_and_batch(proxy: Proxy, judges: Judges) -> None:
    assert sent(proxy, "/info") == (
        200,
        {"targetName": "judge", "callCount": 0, "maxCalls": 5, "availableTargets": ["judge", "strict"]},
    )
    answer = {
        "outputMessages": [{"role": "assistant", "content": "answer to Is it relevant?"}],
        "rawText": "answer to Is it relevant?",
    }
    assert sent(proxy, "/invoke", {**QUESTION, "systemPrompt": "Be terse."}) == (200, answer)
    assert [(item.role, item.content) for item in judges.questions[0].messages] == [
        ("system", "Be terse."),
        ("user", "Is it relevant?"),
    ]
    assert (judges.questions[0].model, 0 < (judges.questions[0].timeout or 0) <= 60) == ("judge", True)
    status, many = sent(
        proxy, "/invokeBatch", {"requests": [{"question": "b"}, {"question": "a", "target": "strict"}]}
    )
    assert (status, [item["rawText"] for item in many["responses"]]) == (200, ["answer to b", "answer to a"])
    assert {ask.messages[-1].content: ask.model for ask in judges.questions[1:]} == {
        "b": "judge",
        "a": "strict",
    }
    assert sent(proxy, "/info")[1]["callCount"] == 3
    assert (proxy.calls, proxy.failed, proxy.usage) == (3, 0, Usage(9, 6))


@pytest.mark.parametrize("token", [None, "wrong", "x" * 60_000, "ü".encode().decode("latin-1"), "of another"])
@pytest.mark.parametrize(("path", "body"), [("/info", None), ("/invoke", QUESTION), ("/nowhere", QUESTION)])
def test_a25_f48_proxy_request_without_token_is_refused(
    proxy: Proxy, judges: Judges, token: str | None, path: str, body: Any
) -> None:
    if token == "of another":
        with Proxy(judges.ask, "judge", 5, 60.0) as other:
            token = other.environment["AGENTV_TARGET_PROXY_TOKEN"]
    status, answer = sent(proxy, path, body, token)
    assert (status, answer) == (401, {"error": "the token is missing or wrong"})
    assert (judges.questions, proxy.calls) == ([], 0)


@pytest.mark.parametrize(
    ("path", "body", "status", "why"),
    [
        ("/nowhere", QUESTION, 404, "there are GET /info"),
        ("/info", QUESTION, 404, "there are GET /info"),
        ("/invoke", {}, 400, "`question` is missing"),
        ("/invoke", {"question": "  "}, 400, "`question` is missing"),
        ("/invoke", {"question": 5}, 400, "`question` is missing"),
        ("/invoke", {**QUESTION, "systemPrompt": 5}, 400, "`systemPrompt` is not a text"),
        ("/invoke", {**QUESTION, "target": "gpt-5"}, 400, "there is judge, strict"),
        ("/invoke", {**QUESTION, "target": ["strict"]}, 400, "there is judge, strict"),
        ("/invoke", [QUESTION], 400, "the body is not an object"),
        ("/invoke", b"{", 400, "the body is not JSON"),
        ("/invoke", b'{"question": "a", "question": "b"}', 400, "the body is not JSON"),
        ("/invoke", b"\xff\xfe", 400, "the body is not JSON"),
        ("/invoke", b"[" * 200_000, 400, "the body is not JSON"),
        ("/invoke", b" " * 1_000_001, 413, "at most 1,000,000 bytes"),
        ("/invokeBatch", QUESTION, 400, "`requests` is a list"),
        ("/invokeBatch", {"requests": []}, 400, "`requests` is a list"),
        ("/invokeBatch", {"requests": ["a", "b"]}, 400, "requests[0]: a request is an object"),
        ("/invokeBatch", {"requests": [QUESTION, {}]}, 400, "requests[1]: `question` is missing"),
        ("/invokeBatch", {"requests": [QUESTION] * 6}, 429, "no more than 5 calls for this judge"),
    ],
)
def test_a25_f48_proxy_invalid_question_asks_no_model(
    proxy: Proxy, judges: Judges, path: str, body: Any, status: int, why: str
) -> None:
    found, answer = sent(proxy, path, body)
    assert (found, why in answer["error"]) == (status, True)
    assert (judges.questions, proxy.calls) == ([], 0)


@pytest.mark.parametrize("length", ["-1", "1e3", "x", "", "٣", "99999999999999999999"])
def test_f48_proxy_invalid_content_length_is_refused(proxy: Proxy, length: str) -> None:
    token = proxy.environment["AGENTV_TARGET_PROXY_TOKEN"]
    raw = f"POST /invoke HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
    assert spoken(proxy, raw.encode()).split(b" ")[1] in (b"411", b"413")
    chunked = f"POST /invoke HTTP/1.1\r\nAuthorization: Bearer {token}\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert spoken(proxy, chunked.encode()).split(b" ")[1] == b"411"


def spoken(proxy: Proxy, raw: bytes) -> bytes:
    """The whole answer to raw bytes, until the connection is closed."""
    url = urlsplit(proxy.environment["AGENTV_TARGET_PROXY_URL"])
    with socket.create_connection((str(url.hostname), url.port or 0), timeout=10) as talk:
        talk.sendall(raw)
        answer = b""
        try:
            while data := talk.recv(65_536):
                answer += data
        except ConnectionResetError:  # with what was not read
            pass
        return answer


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET /info HTTP/9.9\r\n\r\n",
        b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /info HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"OPTIONS /invoke HTTP/1.1\r\nOrigin: http://evil\r\n\r\n",
        b"DELETE /invoke HTTP/1.1\r\n\r\n",
    ],
)
def test_f48_proxy_invalid_request_never_succeeds(
    proxy: Proxy, judges: Judges, raw: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = spoken(proxy, raw)
    assert b" 200 " not in answer
    assert b"ccess-Control" not in answer
    assert sent(proxy, "/invoke", QUESTION)[0] == 200, "the next one is answered"
    assert capfd.readouterr() == ("", "")


def test_a25_f48_proxy_call_limit_holds_for_threads(judges: Judges) -> None:
    judges.wait.clear()
    with Proxy(judges.ask, "judge", 50, 60.0) as proxy:
        statuses: list[int] = []
        threads = [
            threading.Thread(
                target=lambda: statuses.append(sent(proxy, "/invokeBatch", {"requests": [QUESTION] * 3})[0])
            )
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        while len([item for item in statuses if item == 429]) < 4:
            time.sleep(0.001)
        assert proxy.calls == 48, "reserved before anybody is asked, and all of a batch or none"
        judges.wait.set()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [200] * 16 + [429] * 4
        assert [sent(proxy, "/invoke", QUESTION)[0] for _ in range(3)] == [200, 200, 429]
    assert len(judges.questions) == proxy.calls == 50


def test_a25_proxy_model_failure_is_reported_and_counted(proxy: Proxy, judges: Judges) -> None:
    judges.error = CannotReplay(Problem("BK611", "the model 'judge' is not there", "start it"))
    assert sent(proxy, "/invoke", QUESTION) == (
        502,
        {"error": "the model 'judge' is not there", "code": "BK611"},
    )
    assert (proxy.calls, proxy.failed, proxy.ended, proxy.usage) == (1, 1, None, Usage())


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("no"),
        OutOfBudget(Problem("BK620", "the model is not asked: 5 of 5 calls are used")),
        NeverSent(Problem("BK330", "interrupted")),
        CannotReplay(Problem("BK330", "was interrupted")),
    ],
)
def test_f48_proxy_error_that_ends_the_run_is_kept(
    proxy: Proxy, judges: Judges, error: Exception, capfd: pytest.CaptureFixture[str]
) -> None:
    judges.error = error
    status, answer = sent(proxy, "/invoke", QUESTION)
    ours = isinstance(error, ZeroDivisionError)
    assert (status, answer["code"]) == (502, "BK399" if ours else error.problems[0].code)
    assert proxy.ended is error or (ours and proxy.ended is not None)
    assert capfd.readouterr() == ("", "")


def test_a25_f48_proxy_close_waits_for_running_question(judges: Judges) -> None:
    judges.wait.clear()
    before = set(threading.enumerate())
    proxy = Proxy(judges.ask, "judge", 5, 60.0)

    def ask() -> None:
        with suppress(OSError, http.client.HTTPException):  # it may be hung up on
            sent(proxy, "/invoke", QUESTION)

    asking = threading.Thread(target=ask)
    asking.start()
    assert judges.begun.wait(10)
    closing = threading.Thread(target=proxy.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive(), "one question is under way"
    judges.wait.set()
    closing.join(10)
    asking.join(10)
    assert proxy.usage == Usage(3, 2)
    deadline = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not set(threading.enumerate()) - before
