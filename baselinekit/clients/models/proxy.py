"""A model for one program while it runs: a server on this machine that asks the model for it. The program
gets an address and a token, and no key; how often it may ask is checked before the model is asked."""

import hmac
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from typing import Any

from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, OutOfBudget, internal_error
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.model.recipes import Answer, Message, ModelQuestion, Usage
from baselinekit.model.values import Json

_MOST_OF_ONE = 1_000_000
_MOST_OF_ALL = 20_000_000
"""Bytes of questions: of one request, and of all requests of a program."""

_MOST_CONNECTIONS = 32
"""At once; further ones wait in the queue of the system, as a program may ask all its questions together."""

_QUEUE = 1_024
_AT_ONCE = 8
_PATIENCE = 10.0
_LINGER = 1.0
_MOST_DROPPED = 5_000_000
_INTERRUPTED = "BK330"
_NAMES = ("AGENTV_TARGET_PROXY", "BASELINEKIT_TARGET_PROXY")


class Proxy:
    """Opened for one program and closed with it. `ended`: the error that stopped the run while the program
    asked, which is not the program's fault."""

    def __init__(
        self,
        ask: Callable[[ModelQuestion], Answer],
        model: str,
        most: int,
        seconds: float,
        declared: Iterable[str] = (),
    ):
        """`model` is asked unless a request names another one of the `declared` models as its `target`."""
        self.model, self.most = model, most
        self.targets = [*dict.fromkeys((model, *declared))]
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
        self._listener.setblocking(False)  # a waiting client may be gone when there is room
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
        """Stop asking. Questions that are under way are waited for, as they cost something already."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self._wake.send(b"x")
        self._room.release()  # it may be waiting for room
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._asking)
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for resource in (self._listener, self._wake, self._woken):
            resource.close()

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
        """Accept the next waiting connection. There is room for it."""
        try:
            connection, address = self._listener.accept()
        except OSError:  # it is gone
            self._room.release()
            return
        with self._changed:
            self._open.add(connection)
        threading.Thread(target=self._talk, args=(connection, address), daemon=True).start()

    def _talk(self, connection: socket.socket, address: Any) -> None:
        try:
            connection.settimeout(_PATIENCE)
            with suppress(Exception):  # it hung up, was too slow, or sent no valid request
                _ProxyHandler(connection, address, _ProxyServer(self))
                _drain(connection)
        finally:
            with self._changed:
                self._open.discard(connection)
            connection.close()
            self._room.release()

    def knows(self, authorization: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return hmac.compare_digest(authorization.encode("utf-8", "replace"), f"Bearer {self._token}".encode())

    def admit_bytes(self, count: int) -> bool:
        """Whether so many more bytes may be read; if so, they are counted."""
        with self._changed:
            if count > _MOST_OF_ONE or self._bytes + count > _MOST_OF_ALL:
                return False
            self._bytes += count
            return True

    def reserve(self, count: int) -> bool:
        """Whether so many more questions may be asked, all of them or none; if so, they are counted, whatever
        their outcome."""
        with self._changed:
            if self.calls + count > self.most:
                return False
            self.calls += count
            return True

    def answer(self, request: dict[str, Json]) -> dict[str, Json]:
        """Answer one question that was reserved."""
        system, question = request.get("systemPrompt"), str(request["question"])
        messages = (*((Message("system", str(system)),) if system else ()), Message("user", question))
        with self._changed:
            if self._closed:
                raise _Closed
            self._asking += 1
        try:
            seconds_left = max(0.001, self._until - time.monotonic())
            model = str(request.get("target") or self.model)
            answer = self._ask(ModelQuestion(model, messages, timeout=seconds_left))
        except BaselinekitError as error:
            code = error.problems[0].code
            with self._changed:
                self.failed += 1
                if isinstance(error, OutOfBudget | NeverSent) or code == _INTERRUPTED:
                    self.ended = self.ended or error
            raise
        except Exception as error:  # reported as our fault, not lost in a thread
            self.ended = internal_error(error)
            raise self.ended from None
        else:
            with self._changed:
                self.usage += answer.usage
            output_messages: list[Json] = [{"role": "assistant", "content": answer.text}]
            return {"outputMessages": output_messages, "rawText": answer.text}
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()


def _drain(connection: socket.socket) -> None:
    """Read and drop what the client still sends, up to a limit: a client whose connection is closed while it
    sends does not read the reply."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(_LINGER)
    dropped = 0
    while dropped < _MOST_DROPPED and (data := connection.recv(65_536)):
        dropped += len(data)


class _Closed(Exception):
    """The program has ended, so processes that it left behind get no answers."""


class _Refused(Exception):
    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


class _ProxyServer(BaseServer):
    """The server object that the handlers of connections need; it holds the proxy."""

    def __init__(self, proxy: Proxy):
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self.proxy = proxy


class _ProxyHandler(BaseHTTPRequestHandler):
    """One connection with one request. No header allows web pages in a browser to read the replies."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "baselinekit", ""

    @property
    def proxy(self) -> Proxy:
        assert isinstance(self.server, _ProxyServer)
        return self.server.proxy

    def do_GET(self) -> None:
        self._reply(self._info)

    def do_POST(self) -> None:
        self._reply(self._answer_requests)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the questions are in the report."""

    def _reply(self, make: Callable[[], dict[str, Json]]) -> None:
        self.close_connection = True
        try:
            if not self.proxy.knows(self.headers.get("Authorization") or ""):
                raise _Refused(401, "the token is missing or wrong")
            status, reply = 200, make()
        except _Refused as error:
            status, reply = error.status, {"error": error.reason}
        except _Closed:
            status, reply = 503, {"error": "the proxy is closing"}
        except CannotReplay as error:
            problem = error.problems[0]
            status, reply = 502, {"error": problem.message, "code": problem.code}
        except BaselinekitError as error:
            status, reply = 500, {"error": error.problems[0].message, "code": error.problems[0].code}
        self._write(status, reply)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer an invalid request (another method, a line that is no request line) as JSON too."""
        self.close_connection = True
        self._write(code, {"error": message or "this is no request"})

    def _write(self, status: int, reply: dict[str, Json]) -> None:
        body = to_bytes(reply)
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
        counts: dict[str, Json] = {"callCount": proxy.calls, "maxCalls": proxy.most}
        return {"targetName": proxy.model, **counts, "availableTargets": [*proxy.targets]}

    def _answer_requests(self) -> dict[str, Json]:
        if self.path not in ("/invoke", "/invokeBatch"):
            raise _Refused(404, "there are GET /info, POST /invoke and POST /invokeBatch")
        body = self._body()
        if self.path == "/invoke":
            requests = [body]
        else:
            listed_requests = body.get("requests")
            if not isinstance(listed_requests, list) or not listed_requests:
                raise _Refused(400, "`requests` is a list of questions")
            requests = listed_requests
        self._check(requests)
        if not self.proxy.reserve(len(requests)):
            most = self.proxy.most
            raise _Refused(429, f"no more than {most} call{'s' if most > 1 else ''} for this judge")
        with ThreadPoolExecutor(min(_AT_ONCE, len(requests))) as pool:
            answers = list(pool.map(self.proxy.answer, requests))
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
            if request.get("target") not in (None, *self.proxy.targets):
                names = ", ".join(self.proxy.targets)
                raise _Refused(
                    400, f"{where}no model of the configuration is that `target`: there is {names}"
                )

    def _body(self) -> dict[str, Any]:
        stated_length = self.headers.get("Content-Length") or ""
        if (
            "Transfer-Encoding" in self.headers
            or not stated_length.isascii()
            or not stated_length.isdecimal()
        ):
            raise _Refused(411, "state the Content-Length of the body")
        if not self.proxy.admit_bytes(int(stated_length)):
            raise _Refused(413, f"a request has at most {_MOST_OF_ONE:,} bytes, and all {_MOST_OF_ALL:,}")
        raw = self.rfile.read(int(stated_length))
        if len(raw) < int(stated_length):
            raise _Refused(400, "the body ended early")
        try:
            value = decode(raw.decode("utf-8"))
        except (UnicodeDecodeError, NotJson):
            raise _Refused(400, "the body is no JSON") from None
        if not isinstance(value, dict):
            raise _Refused(400, "the body is no object")
        return value
