"""Writes the cassettes beside this file, by vcrpy itself: `python make_cassettes.py` in an environment with
vcrpy, requests and httpx. The service is the one below."""

import gzip
import io
import json
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import requests
import vcr

PORT = 8765
URL = f"http://127.0.0.1:{PORT}"
CASSETTES = Path(__file__).parent / "cassettes"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw"
ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "/bytes": (200, "application/octet-stream", b"\x89PNG\xff\x00"),
    "/text": (200, "text/plain; charset=utf-8", "hello\nÄ\n".encode()),
    "/latin": (200, "text/plain; charset=iso-8859-1", "hellö".encode("latin-1")),
    "/missing": (404, "application/json", b'{"error":"no such thing"}'),
    "/moved": (302, "application/json", b""),
    "/empty": (204, "application/json", b""),
    "/login": (200, "application/json", json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode()),
    "/broken": (200, "application/json", b'{"a": '),
}


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("latin-1")[:200]
        usual: Any = {"method": self.command, "path": self.path, "sent": sent, "n": 1.5, "name": "Zoë"}
        path, headers = self.path.split("?")[0], {}
        known = (200, "application/json", json.dumps(usual, ensure_ascii=False).encode())
        status, kind, body = ANSWERS.get(path, known)
        if path in ("/gzip", "/deflate"):
            headers["Content-Encoding"] = path[1:]
            body = gzip.compress(body) if path == "/gzip" else zlib.compress(body)
        headers |= {"Location": "/json"} if path == "/moved" else {}
        headers |= {"Set-Cookie": "session=s3cr3tcookievalue12345; Path=/"} if path == "/login" else {}
        headers |= {} if status == 204 else {"Content-Length": str(len(body))}
        self.send_response(status)
        for name, value in ({"Content-Type": kind} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


for method in ("GET", "POST", "PUT", "DELETE"):
    setattr(Answers, f"do_{method}", Answers.answer)


def many() -> None:
    for path in (
        "json?x=1&y=a%20b",
        "gzip",
        "deflate",
        "bytes",
        "text",
        "latin",
        "missing",
        "moved",
        "empty",
        "broken",
    ):
        requests.get(f"{URL}/{path}", timeout=5)
    requests.post(f"{URL}/orders", json={"a": [1, 2], "n": None}, headers={"X-Trace": "t1"}, timeout=5)
    requests.post(f"{URL}/form", data={"a": "1", "b": ["x", "y"]}, timeout=5)
    requests.put(f"{URL}/text", data="plain body", headers={"Content-Type": "text/plain"}, timeout=5)
    requests.delete(f"{URL}/orders/7", timeout=5)


def secrets() -> None:
    posted = {"user": "ada", "password": "hunter2hunter2"}
    token = requests.post(f"{URL}/login", json=posted, timeout=5).json()["access_token"]
    requests.get(f"{URL}/me", headers={"Authorization": f"Bearer {token}"}, timeout=5)
    cookies = {"session": "s3cr3tcookievalue12345"}
    requests.get(f"{URL}/key?api_key=ABCD1234efgh5678ijkl", cookies=cookies, timeout=5)


def binary() -> None:
    requests.post(f"{URL}/bin", data=b"\xff\x00\x01", timeout=5)
    requests.post(f"{URL}/file", files={"f": ("a.txt", b"hello")}, timeout=5)
    requests.post(f"{URL}/stream", data=io.BytesIO(b"from a buffer"), timeout=5)


def again() -> None:
    requests.get(f"{URL}/gzip", timeout=5)
    requests.get(f"{URL}/gzip", timeout=5)


def by_httpx() -> None:
    httpx.get(f"{URL}/gzip")
    httpx.post(f"{URL}/orders", json={"z": 1})


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for calls in (many, secrets, binary, again, by_httpx):
        with vcr.use_cassette(str(CASSETTES / f"{calls.__name__}.yaml"), record_mode="all"):
            calls()
    with vcr.use_cassette(str(CASSETTES / "plain.json"), serializer="json", record_mode="all"):
        requests.get(f"{URL}/json", timeout=5)
        requests.post(f"{URL}/orders", json={"k": "v"}, timeout=5)
    with vcr.use_cassette(
        str(CASSETTES / "decoded.yaml"), record_mode="all", decode_compressed_response=True
    ):
        requests.get(f"{URL}/gzip", timeout=5)
    server.shutdown()


if __name__ == "__main__":
    main()
