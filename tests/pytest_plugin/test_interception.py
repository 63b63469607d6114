"""Calls through real client libraries over real sockets: recorded while a service answers, and answered in
the same way when there is none."""

import asyncio
import importlib
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from answering import KEY_IN_BODY, Answering

from baselinekit.documents.languages import YAML, dump_yaml
from baselinekit.pytest_plugin.interception import Interception
from baselinekit.pytest_plugin.tape import MatchSettings, Mode, Tape
from baselinekit.variables import Redactor

pytestmark = pytest.mark.slow

requests = pytest.importorskip("requests", reason="pip install -e '.[dev]'")
httpx_like = [
    importlib.import_module("httpx"),
    pytest.importorskip("httpx2", reason="pip install -e '.[dev]'"),
]
CLIENTS = pytest.mark.parametrize("client", httpx_like, ids=lambda module: module.__name__)
TEST = "t.py::test"


class Missed(BaseException):
    """What a call is answered with that nobody recorded."""


class Recording:
    """The file of one test, through as many runs as a case makes."""

    def __init__(self) -> None:
        self.text = ""

    @contextmanager
    def run(self, mode: Mode = "record", passed: bool = True, **counting: Any) -> Iterator[Tape]:
        known = YAML.load(self.text, "c.yaml")[0] if self.text else {}
        tape = Tape(
            "c.yaml", TEST, mode, known, Redactor({}), Missed, lambda: "2026-01-01", MatchSettings(**counting)
        )
        caught = Interception(tape)
        caught.start()
        try:
            yield tape
        finally:
            caught.stop()
        outcome = tape.finish(passed)
        if outcome.calls is not None:
            self.text = dump_yaml({TEST: outcome.calls})


def recorded_and_replayed(ask: Callable[[str], Any]) -> tuple[Any, str]:
    """What a function got from the service, which it gets from the file alone; and the file."""
    recording = Recording()
    with Answering() as service:
        with recording.run():
            came = ask(service.url)
        times = len(service.asked)
    assert times
    with recording.run("replay"):
        again = ask(service.url)  # nobody listens there any more
    assert again == came
    return came, recording.text


@CLIENTS
def test_a_client_gets_from_the_file_what_it_got_from_the_service(client: Any) -> None:
    def ask(url: str) -> Any:
        with client.Client(base_url=url, headers={"authorization": f"Bearer {KEY_IN_BODY}"}) as one:
            got = [one.post("/echo", json={"q": 1.5}).json()["number"] for _ in range(2)]
            login = one.post("/login", data={"user": "ann", "password": "hunter22"})
            posted = one.post("/echo", files={"f": ("a.txt", b"hello", "text/plain")}, data={"x": "1"})
            chunked = one.post("/echo", content=iter([b"ab", b"cd"])).json()["body"]
            return (
                got,
                one.get("/gzip").json(),
                one.get("/picture").content,
                (login.json()["user"], list(one.cookies)),
                one.get("/away", follow_redirects=True).url.path,
                (one.head("/plain").status_code, one.get("/nothing").status_code),
                (posted.status_code, chunked),
                one.get("/gzip").headers["content-type"],
            )

    came, text = recorded_and_replayed(ask)
    assert came[0] == [1, 2]
    assert came[1] == {"name": "Zoë"}
    assert came[3] == ("ann", ["session"])
    assert KEY_IN_BODY not in text
    assert "hunter22" not in text


@CLIENTS
def test_a_stream_comes_piece_by_piece(client: Any) -> None:
    def ask(url: str) -> Any:
        with client.Client(base_url=url) as one:
            with one.stream("GET", "/events") as response:
                lines = list(response.iter_lines())
            with one.stream("GET", "/events") as response:
                raw = b"".join(response.iter_raw())
        return lines, raw

    (lines, raw), text = recorded_and_replayed(ask)
    assert lines[0] == 'data: {"word": "one"}'
    assert raw.endswith(b"data: [DONE]\n\n")
    assert """events:\n        - 'data: {"word": "one"}'\n""" in text


@CLIENTS
def test_calls_at_the_same_time_get_each_its_own_answer(client: Any) -> None:
    async def all_at_once(url: str) -> Any:
        async with client.AsyncClient(base_url=url) as one:
            answers = await asyncio.gather(*(one.post("/echo", json={"n": n}) for n in range(8)))
            files = await one.post("/echo", files={"f": ("a.txt", b"hello", "text/plain")})
            async with one.stream("GET", "/events") as response:
                lines = [line async for line in response.aiter_lines()]
            return [json.loads(answer.json()["body"])["n"] for answer in answers], files.status_code, lines

    came, _ = recorded_and_replayed(lambda url: asyncio.run(all_at_once(url)))
    assert came[0] == list(range(8))


@CLIENTS
def test_calls_of_threads_are_calls_of_their_test(client: Any) -> None:
    def ask(url: str) -> Any:
        got: dict[int, Any] = {}

        def one(number: int) -> None:
            with client.Client(base_url=url) as own:
                got[number] = json.loads(own.post("/echo", json={"n": number}).json()["body"])["n"]

        threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return got

    came, _ = recorded_and_replayed(ask)
    assert came == {number: number for number in range(6)}


def test_requests_gets_from_the_file_what_it_got_from_the_service() -> None:
    def ask(url: str) -> Any:
        with requests.Session() as one:
            one.headers["x-api-key"] = "zzz-top-secret-123"
            got = [one.post(f"{url}/echo", json={"q": 1}).json()["number"] for _ in range(2)]
            login = one.post(f"{url}/login", data={"user": "ann", "password": "hunter22"})
            with one.get(f"{url}/events", stream=True) as response:
                lines = list(response.iter_lines())
            with one.get(f"{url}/gzip", stream=True) as response:
                raw = json.loads(response.raw.read(decode_content=True))
            with one.get(f"{url}/gzip", stream=True) as response:
                small = json.loads(b"".join(response.iter_content(3)))
            with one.get(f"{url}/events", stream=True) as response:
                first = next(response.iter_lines())
            bodies = (iter([b"ab", b"cd"]), io.BytesIO(b"abcd"), "abcd", b"abcd")
            return (
                got,
                (login.json()["user"], list(one.cookies.keys()), login.reason, login.ok),
                (lines, raw, small, first),
                [one.post(f"{url}/echo", data=body).json()["body"] for body in bodies],
                (one.get(f"{url}/gzip").json(), one.get(f"{url}/picture").content),
                (one.get(f"{url}/away").json(), one.head(f"{url}/plain").status_code),
                one.get(f"{url}/nothing").status_code,
            )

    came, text = recorded_and_replayed(ask)
    assert came[0] == [1, 2]
    assert came[3] == ["abcd"] * 4
    assert came[2][3] == b'data: {"word": "one"}'
    for secret in ("zzz-top-secret-123", "hunter22", KEY_IN_BODY):
        assert secret not in text


SECRET = "k7Jq2mX9vB4nR8tL"


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("authorization", lambda c, u: c.get(f"{u}/echo", headers={"Authorization": f"Bearer {SECRET}"})),
        ("basic", lambda c, u: c.get(f"{u}/echo", auth=("ann", SECRET))),
        ("api key", lambda c, u: c.get(f"{u}/echo", headers={"x-api-key": SECRET})),
        ("goog key", lambda c, u: c.get(f"{u}/echo", headers={"x-goog-api-key": SECRET})),
        ("query", lambda c, u: c.get(f"{u}/echo", params={"key": SECRET})),
        ("query by name", lambda c, u: c.get(f"{u}/echo", params={"access_token": SECRET})),
        ("json", lambda c, u: c.post(f"{u}/echo", json={"auth": {"client_secret": SECRET}})),
        ("form", lambda c, u: c.post(f"{u}/echo", data={"password": SECRET, "user": "ann"})),
        ("cookie", lambda c, u: c.get(f"{u}/echo", headers={"cookie": f"sid={SECRET}"})),
        ("twice", lambda c, u: c.get(f"{u}/echo", params={"q": SECRET}, headers={"x-api-key": SECRET})),
        ("address", lambda c, u: c.get(u.replace("://", f"://ann:{SECRET}@") + "/echo")),
    ],
)
@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_no_secret_stands_in_the_file_however_it_travels(library: str, name: str, ask: Any) -> None:
    """The service sends back all that it was sent, so that each secret comes back in the body as well."""
    client = importlib.import_module(library)
    came, text = recorded_and_replayed(lambda url: ask(client, url).status_code)
    assert came == 200
    assert SECRET not in text
    assert "***" in text


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_what_an_answer_hands_out_is_masked_there_and_wherever_it_goes(library: str) -> None:
    client = importlib.import_module(library)

    def ask(url: str) -> Any:
        token = client.get(f"{url}/login").json()["access_token"]
        return client.get(
            f"{url}/echo", headers={"x-user": "ann"}, params={"q": f"about {token}"}
        ).status_code

    _, text = recorded_and_replayed(ask)
    assert KEY_IN_BODY not in text


@CLIENTS
def test_what_was_not_answered_is_not_recorded(client: Any) -> None:
    recording = Recording()
    with Answering() as service, recording.run() as tape, client.Client(base_url=service.url) as one:
        for path in ("/drop", "/half"):
            with pytest.raises(client.TransportError):
                one.get(path)
        with pytest.raises(client.ConnectError):
            client.get("http://127.0.0.1:1/")
        assert one.get("/plain").status_code == 200
        assert tape.missed == []
    assert recording.text.count("request:") == 1
    assert "/plain" in recording.text


def test_what_requests_was_not_answered_is_not_recorded() -> None:
    recording = Recording()
    with Answering() as service, recording.run():
        for path in ("/drop", "/half"):
            with suppress(requests.exceptions.RequestException):  # below urllib3 2 half an answer is one
                requests.get(f"{service.url}{path}")
        assert requests.get(f"{service.url}/plain").status_code == 200
    assert recording.text.count("request:") == 1


@CLIENTS
def test_a_retry_is_replayed_as_it_was(client: Any) -> None:
    def ask(url: str) -> Any:
        with client.Client(base_url=url) as one:
            return [one.get("/busy").status_code for _ in range(2)]

    assert recorded_and_replayed(ask)[0] == [503, 200]


@CLIENTS
def test_a_stream_that_is_left_early_can_be_left_early_again(client: Any) -> None:
    def ask(url: str) -> Any:
        with client.Client(base_url=url) as one, one.stream("GET", "/endless") as response:
            for line in response.iter_lines():
                return line
        return None

    came, text = recorded_and_replayed(ask)
    assert came == "data: 0"
    assert "ended_early: true" in text


@CLIENTS
def test_a_miss_is_no_exception_that_code_copes_with(client: Any) -> None:
    def coping() -> None:
        try:
            client.get("http://127.0.0.1:1/plain")
        except Exception:
            pytest.fail("caught")

    with Recording().run("replay") as tape:
        with pytest.raises(Missed, match=r"BK630 GET http://127.0.0.1:1/plain is not recorded"):
            coping()
        assert len(tape.missed) == 1


@CLIENTS
def test_other_transports_are_left_alone(client: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"app"})

    async def ask_app() -> int:
        async with client.AsyncClient(transport=client.ASGITransport(app=app), base_url="http://t") as one:
            return int((await one.get("/")).status_code)

    with Recording().run("replay"):
        mocked = client.MockTransport(lambda request: client.Response(418))
        assert client.Client(transport=mocked).get("http://t/").status_code == 418
        assert asyncio.run(ask_app()) == 201


@CLIENTS
def test_a_mock_below_the_transport_answers_as_it_did(client: Any) -> None:
    """As that of respx, which stands in for the connection pool."""
    own = client.HTTPTransport()
    made = type("Pool", (), {"handle_request": lambda self, request: mocked.append(request), "close": print})
    mocked: list[Any] = []
    own._pool = made()
    with Recording().run("replay") as tape, pytest.raises(AttributeError):
        own.handle_request(client.Request("GET", "http://127.0.0.1:1/"))
    assert len(mocked) == 1
    assert tape.missed == []


@CLIENTS
def test_what_is_passed_through_is_asked_and_not_recorded(client: Any) -> None:
    recording = Recording()
    with Answering() as service:
        host = service.url.removeprefix("http://")
        with recording.run("replay", pass_through=(host,)), client.Client(base_url=service.url) as one:
            assert [one.get("/plain").json()["number"] for _ in range(2)] == [1, 2]
        with recording.run("record", only=("api.example.com",)), client.Client(base_url=service.url) as one:
            assert one.get("/plain").json()["number"] == 3
    assert recording.text == ""


def sends() -> list[Any]:
    found = [requests.adapters.HTTPAdapter.send]
    for module in httpx_like:
        found += [module.HTTPTransport.handle_request, module.AsyncHTTPTransport.handle_async_request]
    return found


def test_everything_is_as_it_was_when_a_test_has_ended() -> None:
    before, finders = sends(), list(sys.meta_path)
    with Recording().run():
        assert all(one is not other for one, other in zip(sends(), before, strict=True))
    assert sends() == before
    assert sys.meta_path == finders


def test_whoever_stands_in_front_of_us_stays() -> None:
    """A mock that a test has put in our place and never taken away is not ours to remove."""
    owner, name = requests.adapters.HTTPAdapter, "send"
    before = owner.__dict__[name]
    try:
        with Recording().run():
            ours = owner.__dict__[name]
            setattr(owner, name, lambda *args, **named: ours(*args, **named))
            mock = owner.__dict__[name]
        assert owner.__dict__[name] is mock
        with Answering() as service:
            assert requests.get(f"{service.url}/plain").status_code == 200  # through us, who do nothing now
    finally:
        setattr(owner, name, before)


LATE = """
import sys
from baselinekit.pytest_plugin.interception import Interception
from baselinekit.pytest_plugin.tape import Tape
from baselinekit.variables import Redactor
class Missed(BaseException): pass
tape = Tape("c.yaml", "t", "replay", {}, Redactor({}), Missed, str)
caught = Interception(tape)
loaded = {"httpx", "httpx2", "requests"} & set(sys.modules)
caught.start()
print(sorted(loaded), sorted({"httpx", "httpx2", "requests"} & set(sys.modules)))
import httpx, httpx2, requests
for ask in (httpx.get, httpx2.get, requests.get):
    try:
        ask("http://127.0.0.1:1/")
    except Missed as missed:
        print("missed")
caught.stop()
print(httpx.__spec__.loader.__class__.__name__, "exec_module" in vars(httpx.__spec__.loader))
for ask in (httpx.get, requests.get):
    try:
        ask("http://127.0.0.1:1/")
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.mark.slow
def test_a_library_that_is_imported_later_is_caught_and_none_is_imported_for_us() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines == ["[] []", *["missed"] * 3, "SourceFileLoader False", "ConnectError", "ConnectionError"]
