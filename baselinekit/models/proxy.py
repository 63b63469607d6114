"""A model for one program, for as long as it runs: a server on this machine that asks in its place. The
program gets an address and a token, and no key; how often it may ask is settled before anybody is asked."""

import hmac
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any

from baselinekit.documents.jsontext import NotJson, decode, to_bytes
from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, OutOfBudget, fault_of_ours
from baselinekit.model.recipes import Answer, Ask, Message, Usage
from baselinekit.model.values import Json

_MOST_OF_ONE = 1_000_000
_MOST_OF_ALL = 20_000_000
"""Bytes of questions: of one request, and of all that a program sends."""

_MOST_CONNECTIONS = 32
"""At once; further ones wait in the queue of the system, for a program may ask all its questions together."""

_QUEUE = 1_024
_AT_ONCE = 8
_PATIENCE = 10.0
_LINGER = 1.0
_MOST_DROPPED = 5_000_000
_INTERRUPTED = "BK330"
_NAMES = ("AGENTV_TARGET_PROXY", "BASELINEKIT_TARGET_PROXY")


class Proxy:
    """Opened for one program and closed with it. `ended`: what stopped the run while it asked, which is no
    fault of the program."""

    def __init__(self, ask: Callable[[Ask], Answer], model: str, most: int, seconds: float):
        self.model, self.most = model, most
        self.calls, self.failed, self.usage = 0, 0, Usage()
        self.ended: BaselinekitError | None = None
        self._ask, self._until = ask, time.monotonic() + seconds
        self._token = secrets.token_urlsafe(32)
        self._bytes = 0
        self._open: set[socket.socket] = set()
        self._asking = 0
        self._closed = False
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_QUEUE)
        self._listener.setblocking(False)  # who waits may be gone when there is room
        self._room = threading.Semaphore(_MOST_CONNECTIONS)
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="target proxy", daemon=True)
        self._thread.start()

    @property
    def environment(self) -> dict[str, str]:
        host, port = self._listener.getsockname()[:2]
        values = {"URL": f"http://{host}:{port}", "TOKEN": self._token}
        return {f"{name}_{key}": value for name in _NAMES for key, value in values.items()}

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """From now on nobody is asked; what is under way is waited for, as it is paid for."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self._wake.send(b"x")
        self._room.release()  # it may be waiting for room
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._asking)
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, self._wake, self._woken):
            one.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while not self._closed:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._listener in ready:
                    self._room.acquire()
                    if not self._closed:
                        self._admit()

    def _admit(self) -> None:
        """Talk to the next one that waits. There is room for it."""
        try:
            connection, where = self._listener.accept()
        except OSError:  # it is gone
            self._room.release()
            return
        with self._changed:
            self._open.add(connection)
        threading.Thread(target=self._talk, args=(connection, where), daemon=True).start()

    def _talk(self, connection: socket.socket, where: Any) -> None:
        try:
            connection.settimeout(_PATIENCE)
            with suppress(Exception):  # it hung up, was too slow, or sent what is no request
                _Conversation(connection, where, _Named(self))
                _hear_out(connection)
        finally:
            with self._changed:
                self._open.discard(connection)
            connection.close()
            self._room.release()

    def knows(self, stated: str) -> bool:
        """Whether this is the token, in a time that does not tell how much of it is right."""
        return hmac.compare_digest(stated.encode("utf-8", "replace"), f"Bearer {self._token}".encode())

    def admit_bytes(self, count: int) -> bool:
        """Whether so much more may be read; then it counts."""
        with self._changed:
            if count > _MOST_OF_ONE or self._bytes + count > _MOST_OF_ALL:
                return False
            self._bytes += count
            return True

    def reserve(self, count: int) -> bool:
        """Whether so many more may be asked; then they count, whatever comes of them. All of them or none."""
        with self._changed:
            if self.calls + count > self.most:
                return False
            self.calls += count
            return True

    def asked(self, request: dict[str, Json]) -> dict[str, Json]:
        """The answer to one question that was reserved."""
        system, question = request.get("systemPrompt"), str(request["question"])
        messages = (*((Message("system", str(system)),) if system else ()), Message("user", question))
        with self._changed:
            if self._closed:
                raise _Closed
            self._asking += 1
        try:
            left = max(0.001, self._until - time.monotonic())
            answer = self._ask(Ask(self.model, messages, timeout=left))
        except BaselinekitError as error:
            code = error.problems[0].code
            with self._changed:
                self.failed += 1
                if isinstance(error, OutOfBudget | NeverSent) or code == _INTERRUPTED:
                    self.ended = self.ended or error
            raise
        except Exception as error:  # told as ours, and not by a thread that nobody hears
            self.ended = fault_of_ours(error)
            raise self.ended from None
        else:
            with self._changed:
                self.usage += answer.usage
            said: list[Json] = [{"role": "assistant", "content": answer.text}]
            return {"outputMessages": said, "rawText": answer.text}
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()


def _hear_out(connection: socket.socket) -> None:
    """What it still sends is dropped, up to a limit: who is hung up on while it sends does not read why."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(_LINGER)
    dropped = 0
    while dropped < _MOST_DROPPED and (data := connection.recv(65_536)):
        dropped += len(data)


class _Closed(Exception):
    """The program has ended; what it left behind asks nobody."""


class _Refused(Exception):
    def __init__(self, status: int, why: str):
        super().__init__(why)
        self.status, self.why = status, why


class _Named(BaseServer):
    """The proxy as its connections know it."""

    def __init__(self, proxy: Proxy):
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self.proxy = proxy


class _Conversation(BaseHTTPRequestHandler):
    """One connection with one request. No header allows pages of a browser to read anything here."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "baselinekit", ""

    @property
    def proxy(self) -> Proxy:
        assert isinstance(self.server, _Named)
        return self.server.proxy

    def do_GET(self) -> None:
        self._reply(self._info)

    def do_POST(self) -> None:
        self._reply(self._asked)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody is told: what was asked is in the report."""

    def _reply(self, make: Callable[[], dict[str, Json]]) -> None:
        self.close_connection = True
        try:
            if not self.proxy.knows(self.headers.get("Authorization") or ""):
                raise _Refused(401, "the token is missing or wrong")
            status, said = 200, make()
        except _Refused as error:
            status, said = error.status, {"error": error.why}
        except _Closed:
            status, said = 503, {"error": "the proxy is closing"}
        except CannotReplay as error:
            problem = error.problems[0]
            status, said = 502, {"error": problem.message, "code": problem.code}
        except BaselinekitError as error:
            status, said = 500, {"error": error.problems[0].message, "code": error.problems[0].code}
        self._write(status, said)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no request of ours at all (another method, a line that is none) is answered as JSON too."""
        self.close_connection = True
        self._write(code, {"error": message or "this is no request"})

    def _write(self, status: int, said: dict[str, Json]) -> None:
        body = to_bytes(said)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _info(self) -> dict[str, Json]:
        if self.path != "/info":
            raise _Refused(404, "there are GET /info, POST /invoke and POST /invokeBatch")
        proxy = self.proxy
        counted: dict[str, Json] = {"callCount": proxy.calls, "maxCalls": proxy.most}
        return {"targetName": proxy.model, **counted, "availableTargets": [proxy.model]}

    def _asked(self) -> dict[str, Json]:
        if self.path not in ("/invoke", "/invokeBatch"):
            raise _Refused(404, "there are GET /info, POST /invoke and POST /invokeBatch")
        stated = self._body()
        if self.path == "/invoke":
            requests = [stated]
        else:
            listed = stated.get("requests")
            if not isinstance(listed, list) or not listed:
                raise _Refused(400, "`requests` is a list of questions")
            requests = listed
        self._check(requests)
        if not self.proxy.reserve(len(requests)):
            most = self.proxy.most
            raise _Refused(429, f"no more than {most} call{'s' if most > 1 else ''} for this judge")
        with ThreadPoolExecutor(min(_AT_ONCE, len(requests))) as pool:
            answers = list(pool.map(self.proxy.asked, requests))
        return answers[0] if self.path == "/invoke" else {"responses": answers}

    def _check(self, requests: list[Any]) -> None:
        for number, request in enumerate(requests):
            where = f"requests[{number}]: " if len(requests) > 1 else ""
            if not isinstance(request, dict):
                raise _Refused(400, f"{where}a request is an object with a question")
            question, system = request.get("question"), request.get("systemPrompt")
            if not isinstance(question, str) or not question.strip():
                raise _Refused(400, f"{where}`question` is missing")
            if not isinstance(system, str | None):
                raise _Refused(400, f"{where}`systemPrompt` is no text")
            if request.get("target") not in (None, self.proxy.model):
                raise _Refused(400, f"{where}there is one target: {self.proxy.model}")

    def _body(self) -> dict[str, Any]:
        stated = self.headers.get("Content-Length") or ""
        if "Transfer-Encoding" in self.headers or not stated.isascii() or not stated.isdecimal():
            raise _Refused(411, "state the Content-Length of the body")
        if not self.proxy.admit_bytes(int(stated)):
            raise _Refused(413, f"a request has at most {_MOST_OF_ONE:,} bytes, and all {_MOST_OF_ALL:,}")
        raw = self.rfile.read(int(stated))
        if len(raw) < int(stated):
            raise _Refused(400, "the body ended early")
        try:
            value = decode(raw.decode("utf-8"))
        except (UnicodeDecodeError, NotJson):
            raise _Refused(400, "the body is no JSON") from None
        if not isinstance(value, dict):
            raise _Refused(400, "the body is no object")
        return value
