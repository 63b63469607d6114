"""Answers that were good once: bytes flipped, cut, doubled and spliced, header lines mixed, JSON turned over.
`python fuzzed.py COUNT SEED` sends them over a real socket to the real replay and the real matchers, in this
one process, and says in JSON what became of them."""

import gzip
import json
import random
import socket
import sys
import threading
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from server import JSON, TEXT, chunked, head, whole

from baselinekit.clients.http import Client
from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.dispatch import replay
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.settings import Clients, Setting
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.recipes import HttpDefaults, HttpRequest, Recipe, Surroundings
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.secrets.variables import Redactor, Scope
from baselinekit.structs import replace

TIMEOUT = 2.0

VALUE = {
    "id": 7,
    "uuid": "0b1f2c9e-6a57-4a53-8d13-0e7a2e1f4c11",
    "score": 4.25,
    "on": True,
    "none": None,
    "rows": [{"id": n, "name": f"name {n}", "tags": ["a", "b"]} for n in range(5)],
    "text": "héllo\n\u202ewörld",
}
BODY = json.dumps(VALUE, ensure_ascii=False).encode()
GOOD = [
    whole(BODY, JSON, 'ETag: "x"', "Set-Cookie: a=b; Path=/; Expires=Thu, 01 Jan 2099 00:00:00 GMT"),
    chunked(BODY, JSON, size=40),
    whole(gzip.compress(BODY), JSON, "Content-Encoding: gzip"),
    chunked(zlib.compress(BODY), JSON, "Content-Encoding: deflate", size=60),
    whole(BODY.decode().encode("utf-16"), "Content-Type: application/json; charset=utf-16"),
    whole("plain text, größer\r\n".encode("latin-1") * 9, "Content-Type: text/plain; charset=latin-1"),
    b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + whole(BODY, JSON),
    head("Location: /next?page=2", "Content-Length: 0", status="302 Found"),
    whole(b"", status="204 No Content"),
    whole(bytes(range(256)), "Content-Type: application/octet-stream"),
    b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n<html><b>hello</b></html>",
    whole(BODY, TEXT, status="503 Busy"),
]
PIECES = [
    *(
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\0",
        b"\xff",
        b"\x1b[2J",
        b": ",
        b"chunked",
        b"gzip",
        b"0\r\n\r\n",
        b"{",
        b"[" * 90,
    ),
    *(
        b"NaN",
        b"1e999",
        b"9" * 1200,
        b'"',
        b"\\ud800",
        b"-",
        b"HTTP/1.1 ",
        b"HTTP/1.1 100 C\r\n\r\n",
        b"Content-Length: 5\r\n",
    ),
    *(
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Encoding: br\r\n",
        b"charset=zlib",
        b"Location: //evil.invalid/\r\n",
    ),
]

RULES: list[tuple[Any, Rules]] = [
    (VALUE, Rules()),
    (
        {**VALUE, "uuid": "<<any_uuid>>", "rows": [{"id": "<<any_integer as n>>", "name": "<<any_string>>"}]},
        Rules(ignore_fields=["**.tags", "text"]),
    ),
    (VALUE, Rules(type="numeric", tolerance={})),
    (VALUE, Rules(type="exact", ignore_values=["rows.*.id"])),
    (VALUE, Rules(arrays={"rows": "unordered", "rows.*.tags": "subset"})),
    ("plain <<any_string>>", Rules(type="structural")),
    ({"sha256": "<<any_hex>>", "size": "<<number(256 ± 100)>>"}, Rules()),
]


def mutated(raw: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 6))):
        raw = chance.choice(MUTATIONS)(raw, chance)
    return raw


def flip(raw: bytes, chance: random.Random) -> bytes:
    if not raw:
        return raw
    spot = chance.randrange(len(raw))
    return raw[:spot] + bytes([raw[spot] ^ 1 << chance.randrange(8)]) + raw[spot + 1 :]


def cut(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw) + 1)
    end = chance.choice((len(raw), min(len(raw), start + chance.randint(1, 9))))
    return raw[:start] + raw[end:]


def double(raw: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(raw) + 1)
    piece = raw[start : start + chance.choice((1, 8, 60, 4000))]
    return raw[:start] + piece * chance.choice((2, 3, 30)) + raw[start + len(piece) :]


def splice(raw: bytes, chance: random.Random) -> bytes:
    other = chance.choice(GOOD)
    return raw[: chance.randrange(len(raw) + 1)] + other[chance.randrange(len(other)) :]


def insert(raw: bytes, chance: random.Random) -> bytes:
    spot = chance.randrange(len(raw) + 1)
    return raw[:spot] + chance.choice(PIECES) + raw[spot:]


def mix_headers(raw: bytes, chance: random.Random) -> bytes:
    first, _, rest = raw.partition(b"\r\n")
    headers, end, body = rest.partition(b"\r\n\r\n")
    lines = headers.split(b"\r\n")
    lines += chance.choice(GOOD).partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    chance.shuffle(lines)
    return first + b"\r\n" + b"\r\n".join(lines[: chance.randint(0, len(lines))]) + end + body


def other_json(raw: bytes, chance: random.Random) -> bytes:
    """The answer with another JSON body, its length right."""
    value = json.loads(BODY)
    for _ in range(chance.randint(1, 4)):
        key = chance.choice(list(value))
        value[key] = chance.choice(ODD_VALUES)
        if chance.random() < 0.3:
            value[chance.choice(("", "new", "a.b", "$", "<<any>>", "\ud800"))] = value.pop(key)
        value = value or {"x": 1}
    return whole(json.dumps(value).encode(), JSON)


ODD_VALUES: list[Any] = [
    *(None, True, 0, -0.0, 1, 1e308, 5e-324, 2**70, "", "x" * 3000, [], {}, [[]], "\ud800", "<<any_uuid>>"),
    *([{"id": 2**61 - 1}] * 40, {"id": {"id": {"id": 1}}}, [1, "1", 1.0, True], [[[[[[[1]]]]]]]),
]

MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    flip,
    flip,
    cut,
    double,
    splice,
    insert,
    mix_headers,
    other_json,
]


class Fuzzer:
    """A server that answers with whatever `current` is, and then says no more."""

    def __init__(self) -> None:
        self.current = b""
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(self.current)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(TIMEOUT)
                connection.recv(1)  # until the client has had it all: closing sooner could take it away again


def matchers(recipe: Recipe) -> list[Matcher]:
    words = PlaceholderContext()
    return [
        compile_baseline(
            Baseline(str(n), recipe, baseline=Known({"status": 200, "body": body}), comparison=rules), words
        )
        for n, (body, rules) in enumerate(RULES)
    ]


def run(count: int, seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    server, client = Fuzzer(), Client(proxies={})
    setting = Setting(
        Surroundings(root="/", folder="/", override_base_url=server.url),
        Scope(),
        Trust(),
        Redactor({}),
        HttpDefaults(),
        Clients(client.send, lambda run: None, client.sleep),  # type: ignore[arg-type,return-value]
    )
    recipe = Recipe(HttpRequest(endpoint="/x"), HttpExecution("http", timeout=TIMEOUT, redirects=2))
    judges, methods = matchers(recipe), ("GET",) * 9 + ("HEAD",)
    became: Counter[str] = Counter()
    faults: list[str] = []
    slowest = 0.0
    for number in range(count):
        server.current = mutated(chance.choice(GOOD), chance)
        asked = replace(recipe, input=replace(recipe.input, method=chance.choice(methods)))
        started = time.monotonic()
        try:
            passed = chance.choice(judges).compare(replay(asked, setting)).passed
            became["passed" if passed else "failed"] += 1
        except BaselinekitError as error:
            became[error.problems[0].code] += 1
        except Exception:
            faults.append(f"{number}: {server.current!r}\n{traceback.format_exc()}")
        slowest = max(slowest, time.monotonic() - started)
    client.close()
    return {
        "became": became,
        "faults": faults[:5],
        "slowest": slowest,
        "cpu": time.process_time(),
        **_memory(),
    }


def _memory() -> dict[str, float]:
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return {
        "megabytes": next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))
