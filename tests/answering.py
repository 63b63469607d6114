"""A service on a free port of this machine that answers in every way in which a client can be answered, and
counts how often it was asked."""

import gzip
import json
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY_IN_BODY = "tok-5f3a9c1e7b2d4860aa"


class Answering:
    """`asked`: the requests that came in, as method and path."""

    def __init__(self, port: int = 0):
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        vars(self._server)["owner"] = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        asked: list[str] = vars(self.server)["owner"].asked
        asked.append(f"{self.command} {self.path}")
        body = self._body()
        path = self.path.partition("?")[0].strip("/").replace("/", "_").replace(".", "_") or "plain"
        answer = getattr(self, f"_{path}", None)
        if answer is None:
            self._send(404, b'{"error": "nothing here"}')
        else:
            answer(body, len(asked))

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _json(self, status: int, value: Any, **headers: str) -> None:
        self._send(status, json.dumps(value).encode(), **headers)

    def _plain(self, body: bytes, number: int) -> None:
        self._json(200, {"number": number})

    def _echo(self, body: bytes, number: int) -> None:
        told = {"path": self.path, "headers": dict(self.headers), "body": body.decode("latin-1")}
        self._json(200, {"number": number, **told}, x_request_id=f"req-{number}")

    def _gzip(self, body: bytes, number: int) -> None:
        self._send(200, gzip.compress(json.dumps({"name": "Zoë"}).encode()), content_encoding="gzip")

    def _picture(self, body: bytes, number: int) -> None:
        self._send(200, bytes(range(256)) * 8, "image/png")

    def _login(self, body: bytes, number: int) -> None:
        crumb = f"session={KEY_IN_BODY}; Path=/; HttpOnly"
        self._json(200, {"access_token": KEY_IN_BODY, "user": "ann"}, set_cookie=crumb)

    def _away(self, body: bytes, number: int) -> None:
        self._send(302, b"", location="/plain")

    def _busy(self, body: bytes, number: int) -> None:
        self._json(503 if number == 1 else 200, {"number": number})

    def _denied(self, body: bytes, number: int) -> None:
        self._json(401, {"error": "who are you?"})

    def _drop(self, body: bytes, number: int) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def _half(self, body: bytes, number: int) -> None:
        self.send_response(200)
        self.send_header("content-length", "100")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def _events(self, body: bytes, number: int) -> None:
        self._stream(
            [f"data: {json.dumps({'word': word})}\n\n" for word in ("one", "two")] + ["data: [DONE]\n\n"]
        )

    def _endless(self, body: bytes, number: int) -> None:
        with suppress(OSError):
            self._stream(f"data: {n}\n\n" for n in range(100_000))

    def _v1_chat_completions(self, body: bytes, number: int) -> None:
        """As a model answers."""
        asked = json.loads(body)
        told = {"id": "chatcmpl-1", "created": 1, "model": asked["model"]}
        if asked.get("stream"):
            words = [
                {"index": 0, "delta": {"content": word}, "finish_reason": None} for word in ("so ", "be it")
            ]
            chunks = [{**told, "object": "chat.completion.chunk", "choices": [word]} for word in words]
            self._stream([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"])
            return
        message = {"role": "assistant", "content": f"answer {number}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._json(200, {**told, "object": "chat.completion", "choices": [choice]})

    def _stream(self, events: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events:
            self.wfile.write(f"{len(event):x}\r\n{event}\r\n".encode())
        self.wfile.write(b"0\r\n\r\n")


for verb in ("POST", "PUT", "HEAD", "DELETE"):
    setattr(Handler, f"do_{verb}", Handler.do_GET)
