"""A model for one program while it runs: a server on this machine that asks the model for it. The program
gets an address and a token, and no key; how often it may ask is checked before the model is asked."""

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, OutOfBudget, internal_error
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.model.recipes import Answer, Message, ModelQuestion, Usage
from baselinekit.model.values import Json

_MOST_BYTES = 1_000_000
_MOST_DROPPED = 5_000_000
"""Bytes of a request that is too large: they are read, as a client does not see a reply while it sends."""

_AT_ONCE = 8
_POLL = 0.05
_INTERRUPTED = "BK330"
_NAMES = ("AGENTV_TARGET_PROXY", "BASELINEKIT_TARGET_PROXY")
Ask = Callable[[ModelQuestion], Answer]


class Proxy(ThreadingTCPServer):
    """Opened for one program and closed with it. `ended`: the error that stopped the run while the program
    asked, which is not the program's fault."""

    request_queue_size = 1_024
    daemon_threads = True

    def __init__(self, ask: Ask, model: str, most: int, seconds: float, declared: Iterable[str] = ()):
        """`model` is asked unless a request names another one of the `declared` models as its `target`."""
        self.model, self.most = model, most
        self.targets = [*dict.fromkeys((model, *declared))]
        self.calls, self.failed, self.usage = 0, 0, Usage()
        self.ended: BaselinekitError | None = None
        self._ask, self._until = ask, time.monotonic() + seconds
        self._token = secrets.token_urlsafe(32)
        self._asking, self._closed = 0, False
        self._changed = threading.Condition()
        super().__init__(("127.0.0.1", 0), _ModelHandler)
        threading.Thread(target=self.serve_forever, args=(_POLL,), name="target proxy", daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        values = {"URL": f"http://127.0.0.1:{self.server_address[1]}", "TOKEN": self._token}
        return {f"{name}_{key}": value for name in _NAMES for key, value in values.items()}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop asking. Questions that are under way are waited for, as they cost something already."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: not self._asking)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the program hung up, was too slow, or sent no valid request."""

    def info(self) -> dict[str, Json]:
        counts: dict[str, Json] = {"callCount": self.calls, "maxCalls": self.most}
        return {"targetName": self.model, **counts, "availableTargets": [*self.targets]}

    def fault_of(self, request: Any) -> str:
        """Why this is not a question; empty if it is one."""
        if not isinstance(request, dict):
            return "a request is an object with a question"
        if not isinstance(question := request.get("question"), str) or not question.strip():
            return "`question` is missing"
        if not isinstance(request.get("systemPrompt"), str | None):
            return "`systemPrompt` is not a text"
        if request.get("target") not in (None, *self.targets):
            return f"no model of the configuration is that `target`: there is {', '.join(self.targets)}"
        return ""

    def knows(self, authorization: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return hmac.compare_digest(authorization.encode("utf-8", "replace"), f"Bearer {self._token}".encode())

    def reserve(self, count: int) -> bool:
        """Whether these questions may be asked, all of them or none; if so, they are counted, whatever
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
            if self._closed:  # the program has ended: processes that it left behind get no answers
                raise _Refused(503, "the proxy is closing")
            self._asking += 1
        try:
            seconds_left = max(0.001, self._until - time.monotonic())
            model = str(request.get("target") or self.model)
            answer = self._ask(ModelQuestion(model, messages, timeout=seconds_left))
        except Exception as error:
            known = error if isinstance(error, BaselinekitError) else internal_error(error)
            is_end = isinstance(known, OutOfBudget | NeverSent) or known.problems[0].code == _INTERRUPTED
            with self._changed:
                self.failed += 1
                if is_end or known is not error:  # reported as our fault, not lost in a thread
                    self.ended = self.ended or known
            raise known from None
        else:
            with self._changed:
                self.usage += answer.usage
            output_messages: list[Json] = [{"role": "assistant", "content": answer.text}]
            return {"outputMessages": output_messages, "rawText": answer.text}
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()


class _Refused(Exception):
    def __init__(self, status: int, reason: str):
        super().__init__(reason)
        self.status, self.reason = status, reason


class _ModelHandler(BaseHTTPRequestHandler):
    """One connection with one request. No header allows web pages in a browser to read the replies."""

    server_version, sys_version = "baselinekit", ""
    timeout = 10.0
    server: Proxy

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        try:
            raw = self._read_body()
            if not self.server.knows(self.headers.get("Authorization") or ""):
                raise _Refused(401, "the token is missing or wrong")
            if (self.command, self.path) == ("GET", "/info"):
                self._write(200, self.server.info())
            elif self.command == "POST" and self.path in ("/invoke", "/invokeBatch"):
                self._write(200, self._answer_requests(raw))
            else:
                raise _Refused(404, "there are GET /info, POST /invoke and POST /invokeBatch")
        except _Refused as error:
            self._write(error.status, {"error": error.reason})
        except BaselinekitError as error:
            status, problem = 502 if isinstance(error, CannotReplay) else 500, error.problems[0]
            self._write(status, {"error": problem.message, "code": problem.code})

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the questions are in the report."""

    def _write(self, status: int, reply: dict[str, Json]) -> None:
        body = to_bytes(reply)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _read_body(self) -> bytes:
        stated = self.headers.get("Content-Length") or ("" if self.command == "POST" else "0")
        if not (stated.isascii() and stated.isdecimal()):
            raise _Refused(411, "state the Content-Length of the body")
        raw = self.rfile.read(int(stated)) if int(stated) <= _MOST_DROPPED else b""
        if int(stated) > _MOST_BYTES:
            raise _Refused(413, f"a request has at most {_MOST_BYTES:,} bytes")
        return raw

    def _answer_requests(self, raw: bytes) -> dict[str, Json]:
        try:
            body = decode(raw.decode("utf-8"))
        except (UnicodeDecodeError, NotJson):
            raise _Refused(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise _Refused(400, "the body is not an object")
        is_batch = self.path == "/invokeBatch"
        requests = body.get("requests") if is_batch else [body]
        if not isinstance(requests, list) or not requests:
            raise _Refused(400, "`requests` is a list of questions")
        for number, request in enumerate(requests):
            if reason := self.server.fault_of(request):
                raise _Refused(400, f"requests[{number}]: {reason}" if len(requests) > 1 else reason)
        if not self.server.reserve(len(requests)):
            most = self.server.most
            raise _Refused(429, f"no more than {most} call{'s' if most > 1 else ''} for this judge")
        with ThreadPoolExecutor(min(_AT_ONCE, len(requests))) as pool:
            answers = list(pool.map(self.server.answer, requests))
        return {"responses": answers} if is_batch else answers[0]
