"""Small services whose answers hold what varies in real ones, on a real socket, by a clock of their own."""

import base64
import hashlib
import hmac
import json
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import formatdate
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

from little_api import LittleApi

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
BASE62 = BASE36 + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NANOID = BASE62 + "_-"


@dataclass
class Process:
    """One run of the services: what they remember from its start on. `now` is their clock."""

    number: int
    now: float
    count: int = 0
    began: float = 0.0
    dice: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.began = self.now - 3.2
        self.dice = random.Random(self.number)
        self.count = self.dice.randint(2, 40) if self.number else 11

    def made_of(self, signs: str, length: int) -> str:
        return "".join(self.dice.choice(signs) for _ in range(length))

    def in_base(self, number: int, signs: str) -> str:
        text = ""
        while number or not text:
            number, digit = divmod(number, len(signs))
            text = signs[digit] + text
        return text

    def uuid(self, version: int = 4) -> str:
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=version))

    def at(self, form: str, away: float = 0.0) -> str:
        return datetime.fromtimestamp(self.now + away, UTC).strftime(form)


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def ids(one: Process) -> Any:
    stamp = int(one.now * 1000)
    crockford = one.in_base(stamp, CROCKFORD).rjust(10, "0") + one.made_of(CROCKFORD, 16)
    snowflake = (stamp - 1_420_070_400_000 << 22) + one.count
    return {
        "kind": "order",
        "uuid": one.uuid(),
        "uuid7": str(
            uuid.UUID(int=(stamp << 80) | (7 << 76) | one.dice.getrandbits(76) & ~(3 << 62) | (2 << 62))
        ),
        "upper": one.uuid().upper(),
        "urn": f"urn:uuid:{one.uuid()}",
        "ulid": crockford,
        "ulid_lower": crockford.lower(),
        "snowflake": snowflake,
        "snowflake_text": str(snowflake),
        "nanoid": one.made_of(NANOID, 21),
        "nanoid_short": one.made_of(BASE62, 11) + "a1",
        "cuid": "c" + one.in_base(stamp, BASE36) + one.made_of(BASE36, 16) + "x1",
        "ksuid": one.made_of(BASE62, 25) + "Q7",
        "object_id": f"{int(one.now):08x}{one.dice.getrandbits(64):016x}",
        "prefixed": f"req_{one.made_of(BASE62, 20)}x9",
        "session": f"s%3A{one.made_of(BASE62, 30)}7a.{one.made_of(BASE62, 41)}b2",
        "tenant": "acme",
        "flags": [True, None, 3],
    }


def digests(one: Process) -> Any:
    data = one.dice.randbytes(16)
    return {
        "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
        "sha256": hashlib.sha256(data).hexdigest(),
        "named": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "integrity": "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode(),
        "content_md5": base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode(),
        "trace": f"00-{one.dice.getrandbits(128):032x}-{one.dice.getrandbits(64):016x}-01",
        "span": f"{one.dice.getrandbits(64):x}",
        "algorithm": "sha256",
        "size": 16,
    }


def tokens(one: Process) -> Any:
    claims = {"sub": "ada", "iat": int(one.now), "exp": int(one.now) + 900, "jti": one.uuid()}
    signed = f"{encoded({'alg': 'HS256', 'typ': 'JWT'})}.{encoded(claims)}"
    mark = hmac.new(b"k", signed.encode(), "sha256").digest()
    jwt = f"{signed}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"
    return {
        "access_token": jwt,
        "header": f"Bearer {jwt}",
        "refresh": base64.b64encode(one.dice.randbytes(32)).decode(),
        "csrf": one.dice.randbytes(32).hex(),
        "token_type": "bearer",
        "expires_in": 900,
        "scope": ["read", "write"],
    }


def tags(one: Process) -> Any:
    return {
        "weak": f'W/"{one.dice.getrandbits(16):x}-{one.made_of(BASE62, 26)}"',
        "strong": f'"{one.dice.randbytes(16).hex()}"',
        "nginx": f'"{int(one.now):x}-264"',
        "vary": "Accept-Encoding",
        "max_age": 60,
    }


def signed_urls(one: Process) -> Any:
    aws = one.at("%Y%m%dT%H%M%SZ")
    credential = f"AKEXAMPLE%2F{aws[:8]}%2Fus-east-1%2Fs3%2Faws4_request"
    return {
        "s3": f"https://bucket.example/a/b.png?X-Amz-Credential={credential}&X-Amz-Date={aws}"
        f"&X-Amz-Expires=900&X-Amz-Signature={one.dice.randbytes(32).hex()}",
        "front": f"https://cdn.example/v1/a.mp4?Expires={int(one.now) + 3600}"
        f"&Signature={one.made_of(NANOID, 60)}~A1&Key-Pair-Id=K2JCJMDEHXQW5F",
        "blob": f"https://blob.example/c/x.txt?se={one.at('%Y-%m-%dT%H%%3A%M%%3A%SZ', 3600)}&sp=r"
        f"&sig={quote(base64.b64encode(one.dice.randbytes(32)), safe='')}",
        "share": f"http://127.0.0.1/share/{one.uuid()}/view?page=1",
        "self": "https://bucket.example/a/b.png",
    }


def paging(one: Process) -> Any:
    last = one.dice.randint(5, 5_000_000)
    cursor = base64.b64encode(json.dumps({"id": last, "at": int(one.now)}).encode()).decode()
    return {
        "items": [{"name": name, "seen": one.at("%Y-%m-%dT%H:%M:%S.%fZ")} for name in ("a", "b", "c")],
        "next": f"/items?cursor={cursor}&limit=3",
        "cursor": cursor,
        "page": 1,
        "total": 3,
    }


def versions(one: Process) -> Any:
    return {
        "version": "2.14.1",
        "commit": "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "revision": one.count,
        "revision_text": str(one.count + 17),
        "generation": one.count * 3,
        "build": f"2.14.1+{one.count}",
        "started": one.at("%Y-%m-%dT%H:%M:%SZ", one.began - one.now),
        "pid": one.dice.randint(100, 99_999),
    }


def metrics(one: Process) -> Any:
    size = 10 ** one.dice.uniform(3, 9)
    slow = 10 ** one.dice.uniform(-2, 3)
    return {
        "took": slow / 1000,
        "took_text": f"{slow:.2f}ms" if slow < 1000 else f"{slow / 1000:.3f}s",
        "load": [round(one.dice.uniform(0, 8), 2) for _ in range(3)],
        "ratio": round(one.dice.random(), 4),
        "drift": one.dice.gauss(0, 0.2) + 0.00001,
        "rss": int(size),
        "rss_text": f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB",
        "value": [one.now, repr(one.dice.uniform(0, 1e-3))],
        "go": f"{one.dice.randint(0, 3)}h{one.dice.randint(0, 59)}m{one.dice.uniform(0, 59):.3f}s",
        "unit": "ms",
        "limit": 1000,
    }


def uptimes(one: Process) -> Any:
    seconds = one.now - one.began + one.count
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours}:{minutes:02}:{rest:02.0f}" if rest < 59.5 else f"{hours}:{minutes:02}:59"
    return {
        "uptime": seconds,
        "seconds": int(seconds),
        "clock": f"{days} day{'s' * (days != 1)}, {clock}" if days else f"0{clock}"[-8:],
        "words": f"{days} days" if days else f"{int(seconds)} seconds",
        "iso": f"P{days}DT{hours}H{minutes}M{rest:.3f}S",
        "requests": one.count,
        "since": one.at("%a %b %e %H:%M:%S UTC %Y", -seconds),
        "role": "leader",
    }


def statistics(one: Process) -> Any:
    rows = [{"name": f"counter-{n}", "type": "item", "value": str(one.count * (n + 1))} for n in range(12)]
    return [*rows, {"name": "version", "type": "item", "value": "5.0.1"}]


def shuffled(one: Process) -> Any:
    rows = [{"key": key, "weight": number} for number, key in enumerate("abcdef")]
    one.dice.shuffle(rows)
    return {"rows": rows, "count": 6}


def moments(one: Process) -> Any:
    return {
        "http": formatdate(one.now, usegmt=True),
        "mail": formatdate(one.now, localtime=False),
        "iso": one.at("%Y-%m-%dT%H:%M:%SZ"),
        "isoformat": datetime.fromtimestamp(one.now, UTC).isoformat(),
        "apache": one.at("%d/%b/%Y:%H:%M:%S +0000"),
        "ctime": one.at("%a %b %e %H:%M:%S %Y"),
        "us": one.at("%m/%d/%Y %I:%M:%S %p"),
        "european": one.at("%d.%m.%Y %H:%M:%S"),
        "go": one.at("%Y-%m-%d %H:%M:%S.%f +0000 UTC m=+") + f"{one.now - one.began:.9f}",
        "seconds": int(one.now),
        "float": round(one.now, 3),
        "millis": int(one.now * 10**3),
        "nanos": int(one.now * 10**9),
        "text": str(int(one.now)),
        "day": one.at("%Y-%m-%d"),
        "time": one.at("%H:%M:%S"),
        "created": "2024-01-15T10:30:00Z",
        "birthday": "1815-12-10",
    }


def log(one: Process) -> Any:
    line = f'127.0.0.1 - - [{one.at("%d/%b/%Y:%H:%M:%S +0000")}] "GET /a HTTP/1.1" 200 {one.count}'
    return {"lines": [line, f"{one.at('%Y/%m/%d %H:%M:%S')} [notice] {one.dice.randint(2, 99_999)}#0: start"]}


def page(one: Process) -> Any:
    body = "\n".join(f"<p>Paragraph {number} says what it says.</p>" for number in range(400))
    took = f"{one.dice.uniform(0.4, 900):.3f}"
    return (
        f"<html><head><meta name=csrf content={one.dice.randbytes(20).hex()}></head><body>\n{body}\n"
        f"<footer>Rendered in {took} ms on {one.at('%A, %d %B %Y at %H:%M')}, visit {one.count}</footer>\n"
    )


def exposition(one: Process) -> Any:
    lines = [
        f'# TYPE metric_{n} gauge\nmetric_{n}{{job="a"}} {one.dice.uniform(0, 1e6):.6g}' for n in range(90)
    ]
    return "\n".join([*lines, 'build_info{version="2.14.1"} 1', ""])


def record(one: Process) -> Any:
    """What a service made at its start: the same in both answers of a capture, and of now."""
    start = one.began
    return {
        "name": "worker",
        "started_at": datetime.fromtimestamp(start, UTC).isoformat(),
        "boot": int(start),
        "banner": f"worker 3 up since {formatdate(start, usegmt=True)}, ready",
        "today": one.at("%Y-%m-%d"),
        "ready": True,
    }


SERVICES: dict[str, Callable[[Process], Any]] = {
    f"/{one.__name__}": one
    for one in (
        ids,
        digests,
        tokens,
        tags,
        signed_urls,
        paging,
        versions,
        metrics,
        uptimes,
        statistics,
        shuffled,
        moments,
        log,
        page,
        exposition,
        record,
    )
}

ISO = "%Y-%m-%dT%H:%M:%SZ"
WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll"]


def workers(one: Process) -> Any:
    """A pool that grows and shrinks: its threads, and how many there are."""
    rows = [
        {"name": f"worker-{n}", "ident": one.dice.randint(10**14, 10**15), "daemon": n > 1, "state": "idle"}
        for n in range(one.dice.randint(3, 7))
    ]
    return {"pool": "default", "size": len(rows), "limit": 12, "threads": rows}


def largest(one: Process) -> Any:
    """The largest tables: two stay, the others come and go, and all of them grow."""
    names = ["events", "users", *one.dice.sample(WORDS, 4)]
    sizes = sorted((one.dice.randint(100, 10**6) for _ in names), reverse=True)
    rows = [{"table": name, "bytes": size, "unit": "B"} for name, size in zip(names, sizes, strict=True)]
    return {"largest": rows, "database": "shop", "version": 14}


def last_lines(one: Process) -> Any:
    """The last lines of a log."""
    rows = [
        {
            "at": one.at("%Y-%m-%dT%H:%M:%SZ", -n),
            "level": one.dice.choice(["info", "warn"]),
            "text": one.dice.choice(WORDS),
        }
        for n in range(one.dice.randint(2, 9), 0, -1)
    ]
    return {"lines": rows, "file": "/var/log/shop.log"}


def members(one: Process) -> Any:
    """The members of a cluster in any order, with what each of them says of itself."""
    rows = [
        {
            "name": name,
            "zone": "a",
            "seen": one.at("%Y-%m-%dT%H:%M:%SZ"),
            "load": round(one.dice.random() + 0.01, 4),
        }
        for name in ("one", "two", "three", "four")
    ]
    one.dice.shuffle(rows)
    return {"members": rows, "quorum": 3}


def tag_set(one: Process) -> Any:
    """A set without an order."""
    rows = ["blue", "green", "red", "white", "black"]
    one.dice.shuffle(rows)
    return {"tags": rows, "count": 5}


def sessions(one: Process) -> Any:
    """Rows with lists of their own."""
    rows = [
        {"id": f"{one.dice.getrandbits(128):032x}", "roles": ["read", "write"], "since": int(one.now) - n}
        for n in range(one.dice.randint(1, 4))
    ]
    return {"sessions": rows, "realm": "shop"}


LISTS = {f"/list-{one.__name__}": one for one in (workers, largest, last_lines, members, tag_set, sessions)}
"""Services with a list that moves by itself."""


class Running(LittleApi):
    """The services as one process on a socket. A request takes a second of their clock."""

    def __init__(
        self, number: int, now: float, services: Mapping[str, Callable[[Process], Any]], port: int = 0
    ):
        one = Process(number, now)

        def answer(service: Callable[[Process], Any]) -> Any:
            one.now += 1.13
            one.count += one.dice.randint(1, 9)
            return service(one)

        super().__init__(
            {path: partial(lambda made, _: answer(made), made) for path, made in services.items()}, port
        )
        self.port = int(self.url.rpartition(":")[2])
        self._connection = HTTPConnection("127.0.0.1", self.port)

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        super().__exit__()

    def ask(self, path: str) -> Any:
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        text = response.read().decode()
        body = json.loads(text) if response.headers["Content-Type"] == "application/json" else text
        return {"status": response.status, "body": body}
