"""Answers of a server on a raw socket, read by this product and by the one before its inside was rebuilt: what is
sent, the output and the error are to be the same. `python fuzzed_beside_old.py COUNT SEED` prints what differs."""

import json
import random
import re
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "tests" / "hostile")]

from fuzzed import GOOD, mutated
from oldproduct import old_product
from server import TEXT, chunked, head, whole

ASKS = """
from baselinekit.TRUST import Trust
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.model.recipes import Auth, HttpDefaults, HttpRequest, Recipe, Surroundings
from baselinekit.CLIENT import Client
from baselinekit.replaying.dispatch import replay
from baselinekit.replaying.settings import Clients, Setting
from baselinekit.VARIABLES import Redactor, Scope

client = Client(proxies={})
came = []

def send(request):
    response = client.send(request)
    came.append(repr((response.status, response.headers, response.body)))
    return response

def answer(case):
    came.clear()
    setting = Setting(
        Surroundings(root="/", folder="/", override_base_url=case["url"]), Scope(), Trust(), Redactor({}),
        HttpDefaults(), Clients(send, None, client.sleep),
    )
    auth = Auth("digest", "ada", "pw") if case["digest"] else None
    step = HttpRequest(case["method"], endpoint=case["path"], take=case["take"], auth=auth)
    later = HttpRequest("GET", endpoint="/later/x")
    execution = HttpExecution("http", timeout=case["timeout"], redirects=case["redirects"], max_body=20_000)
    try:
        observed = replay(Recipe(HttpFlow([step, later]), execution), setting)
    except BaselinekitError as error:
        return [str(error), list(came)]
    return [repr(observed.output), list(came)]
"""
OLD = {"TRUST": "trust", "CLIENT": "replaying.client", "VARIABLES": "variables"}
NEW = {"TRUST": "clients.trust", "CLIENT": "clients.http", "VARIABLES": "secrets.variables"}
MORE = [
    whole(b"hi", TEXT, "Set-Cookie: s=1; Path=/later", "Set-Cookie: t=2; Max-Age=0", "Set-Cookie: u=3; Path=/"),
    whole(b"hi", TEXT, "Set-Cookie: s=1; Domain=0.0.1; Path=/", "Set-Cookie: broken", "Set-Cookie: s=4; Path=/"),
    whole(b"", "Location: /next", status="303 See Other"),
    whole(b"", "Location: //[x", status="301 Moved"),
    whole(b"", "Location: http://localhost:1/", "Set-Cookie: a=b; Path=/", status="307 Go"),
    whole(b"", 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth", algorithm=MD5', status="401 No"),
    whole(b"", "WWW-Authenticate: Digest realm=r", status="401 No"),
    chunked(b"data: 1\n\ndata: 2\n\ndata: 3\n\n", "Content-Type: text/event-stream", size=9),
    whole(b"x" * 30_000, TEXT),
    head("Content-Length: 5, 5", TEXT) + b"hello",
    head(TEXT, "X-A: 1", "x-a: 2") + b"until the end",
    b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + whole(b"hello", TEXT),
    chunked(b"hello", "Trailer: X", TEXT, end=b"0\r\nX: y\r\n\r\n"),
    head("Transfer-Encoding: chunked", TEXT) + b"5;ext=1\r\nhello\r\n0\r\n\r\n",
    whole(b"hello", TEXT, "Connection: close"),
    b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi",
]


def asks(modules: dict[str, str]) -> str:
    return re.sub("|".join(modules), lambda name: modules[name[0]], ASKS)


class Server:
    """Gives the answers of a case one after the other, whatever is asked."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.begin([], False, 0.0)
        threading.Thread(target=self._accept, daemon=True).start()

    def begin(self, answers: list[bytes], stays_open: bool, pause: float) -> None:
        self._answers, self._stays_open, self._pause = list(answers), stays_open, pause
        self.seen: list[bytes] = []
        self.lock = threading.Lock()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, suppress(OSError):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    if not (more := connection.recv(65_536)):
                        return
                    data += more
                request, data = data.split(b"\r\n\r\n", 1)[0], b""
                with self.lock:
                    self.seen.append(request)
                    reply = self._answers.pop(0) if self._answers else whole(b"later", TEXT)
                middle = len(reply) // 2 if self._pause else len(reply)
                connection.sendall(reply[:middle])
                if middle < len(reply):
                    time.sleep(self._pause)
                    connection.sendall(reply[middle:])
                if not self._stays_open:
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(2)
                    connection.recv(1)
                    return


def cases(count: int, chance: random.Random) -> Any:
    for _ in range(count):
        answers = [mutated(chance.choice(GOOD + MORE * 2), chance) for _ in range(chance.choice((1, 1, 2, 3)))]
        asked = {
            "method": chance.choice(("GET",) * 8 + ("HEAD", "POST", "PUT")),
            "path": chance.choice(("/x/y", "/x/../y", "/x?a=b&c=%20'")),
            "take": chance.choice((None, None, None, 2)),
            "redirects": chance.choice((0, 2)),
            "digest": chance.random() < 0.1,
            "timeout": 0.4,
        }
        yield asked, (answers, chance.random() < 0.15, chance.choice((0.0, 0.0, 0.0, 0.002)))


def plain(text: str) -> str:
    """A difference without its particulars, to group by."""
    return re.sub(r"0x[0-9a-f]+|[0-9]+", "N", re.sub(r"(['\"]).*?\1|bytearray\(.*", "…", text))[:200]


def alike(request: bytes) -> list[bytes]:
    """A request without what is drawn by lot, and without the place of `Content-Length: 0`."""
    lines = re.sub(rb'(cnonce|response)="[^"]*"', b"", request).split(b"\r\n")
    return sorted(lines, key=lambda line: line == b"Content-Length: 0")


def run(count: int, seed: int, shown: int = 2) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(asks(NEW), namespace)
    server = Server()
    url = f"http://127.0.0.1:{server.port}"
    groups: dict[str, list[Any]] = defaultdict(list)
    became: Counter[str] = Counter()

    def both(ask: Any, case: Any, script: Any) -> Any:
        found = []
        for one in (ask, namespace["answer"]):
            server.begin(*script)
            found.append((one({**case, "url": url}), list(map(alike, server.seen))))
        return found

    with old_product(asks(OLD)) as ask:
        for number, (case, script) in enumerate(cases(count, random.Random(seed))):
            old, new = both(ask, case, script)
            if old != new:
                old, new = both(ask, case, script)
            became[new[0][0].split()[0] if new[0][0].startswith("BK") else "answer"] += 1
            if old != new:
                texts = [plain(found[0][0]) for found in (old, new)]
                what = " => ".join(texts) if texts[0] != texts[1] else "what was sent or came"
                groups[what].append((number, case, script, old, new))
    for what, found in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"\n== {len(found)} x {what}")
        for number, case, script, old, new in found[:shown]:
            print(f"  {number}: {case} {str(script)[:1500]}\n   old {str(old)[:1200]}\n   new {str(new)[:1200]}")
    return {"became": became, "differences": {what: len(found) for what, found in groups.items()}}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2])), indent=1))
