"""What the frozen corpus is made of: baselines of every form with answers that agree or differ, and replies
of hostile servers. One seed gives the same corpus each time; `python studies/corpus.py record` freezes it."""

import gzip
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

Make = Callable[[random.Random], Any]

WORDS = [
    "paris",
    "blue",
    "Ünïcode",
    "no",
    "1e3",
    "line\nbreak",
    "",
    " padded ",
    "O'Brien",
    "a: b",
    "#tag",
    "0x1f",
]
KEYS = [
    "id",
    "name",
    "price",
    "created_at",
    "tags",
    "user",
    "items",
    "total",
    "note",
    "a.b",
    "x y",
    "0",
    "ok",
]


def uuid(random: random.Random) -> str:
    digits = f"{random.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def moment(random: random.Random) -> str:
    month, day, hour = random.randint(1, 12), random.randint(1, 28), random.randint(0, 23)
    return f"2025-{month:02}-{day:02}T{hour:02}:30:00Z"


PLACEHOLDERS: dict[str, Make] = {
    "<<any_uuid>>": uuid,
    "<<any_iso_datetime>>": moment,
    "<<any_iso_date>>": lambda random: moment(random)[:10],
    "<<any_integer>>": lambda random: random.randint(-5, 10 ** random.randint(1, 20)),
    "<<any_integer(0)>>": lambda random: random.randint(0, 10**6),
    "<<any_number>>": lambda random: random.choice([1, 2.5, -3e20, 7]),
    "<<any_float>>": lambda random: random.random() * 9,
    "<<any_boolean>>": lambda random: random.random() < 0.5,
    "<<any_string>>": lambda random: random.choice(WORDS),
    "<<any_nonempty_string>>": lambda random: random.choice(WORDS) or "x",
    "<<any_string(2, 40)>>": lambda random: "ab" * random.randint(1, 9),
    "<<any_email>>": lambda random: f"u{random.randint(1, 99)}@example.org",
    "<<any_url>>": lambda random: f"https://example.org/{random.randint(1, 99)}",
    "<<any_hex(8)>>": lambda random: f"{random.getrandbits(32):08x}",
    "<<any_hex>>": lambda random: f"{random.getrandbits(64):016x}",
    "<<any_ip>>": lambda random: f"10.0.0.{random.randint(1, 254)}",
    "<<any_semver>>": lambda random: f"1.{random.randint(0, 9)}.0",
    "<<any_ulid>>": lambda random: "01ARZ3NDEKTSV4RRFFQ69G5FA" + random.choice("VWXYZ"),
    "<<any_duration>>": lambda random: random.choice(["PT5S", "1h2m", "350ms"]),
    "<<any_unix_timestamp>>": lambda random: 1_700_000_000 + random.randint(0, 10**7),
    "<<any>>": lambda random: random.choice([1, None, "x", [], {"k": 1}]),
    "<<any_null>>": lambda random: None,
    "<<any_array>>": lambda random: [1] * random.randint(0, 3),
    "<<any_object>>": lambda random: {"k": random.randint(0, 9)},
    "<<one_of(new, paid, sent)>>": lambda random: random.choice(["new", "paid", "sent"]),
    "<<regex('^ORD-\\d{4}$')>>": lambda random: f"ORD-{random.randint(1000, 9999)}",
    "<<contains(der)>>": lambda random: "order " + random.choice(WORDS),
    "<<starts_with('ab')>>": lambda random: "ab" + random.choice(WORDS),
    "<<number(5 ± 1)>>": lambda random: random.choice([4, 5, 5.5, 6]),
    "<<any_integer|null>>": lambda random: random.choice([None, 3]),
    "<<any_string?>>": lambda random: random.choice(WORDS),
    "/users/<<any_uuid>>/posts": lambda random: f"/users/{uuid(random)}/posts",
    "took <<any_number>> ms at <<any_iso_datetime>>": lambda random: (
        f"took {random.randint(1, 90)} ms at {moment(random)}"
    ),
    "{{any_uuid}}": uuid,
    "\\<<any_uuid>>": lambda random: "<<any_uuid>>",
    "a << b": lambda random: "a << b",
}


@dataclass(frozen=True)
class Pair:
    """An expected value as it is stored, and one that agrees with it."""

    expected: Any
    actual: Any


def leaf(random: random.Random, share: float) -> Pair:
    if random.random() < share:
        text, make = random.choice(list(PLACEHOLDERS.items()))
        return Pair(text, make(random))
    value = random.choice(
        [
            random.randint(-3, 300),
            round(random.uniform(-9, 99), 2),
            random.choice(WORDS),
            random.choice(WORDS),
            None,
            random.random() < 0.5,
            2**63 + random.randint(0, 9),
            f"2025-01-{random.randint(1, 28):02}",
        ]
    )
    return Pair(value, value)


def value(random: random.Random, depth: int = 3, share: float = 0.25) -> Pair:
    kind = random.random()
    if depth == 0 or kind < 0.35:
        return leaf(random, share)
    if kind < 0.75:
        keys = random.sample(KEYS, random.randint(1, 5))
        parts = {key: value(random, depth - 1, share) for key in keys}
        return Pair({k: p.expected for k, p in parts.items()}, {k: p.actual for k, p in parts.items()})
    if kind < 0.9:
        return rows(random, share)
    parts = [value(random, depth - 1, share) for _ in range(random.randint(0, 4))]
    return Pair([p.expected for p in parts], [p.actual for p in parts])


def rows(random: random.Random, share: float) -> Pair:
    keys = random.sample(KEYS[1:], random.randint(1, 4))
    shape = {key: random.choice([None, *PLACEHOLDERS]) if random.random() < share else None for key in keys}
    expected, actual = [], []
    for number in range(random.randint(1, 6)):
        row, other = {"id": number + 1}, {"id": number + 1}
        for key, text in shape.items():
            if text:
                row[key], other[key] = text, PLACEHOLDERS[text](random)
            else:
                row[key] = other[key] = leaf(random, 0).expected
        expected.append(row)
        actual.append(other)
    return Pair(expected, actual)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, below in entries:
        found += places(below, (*path, key))
    return found


def changed(random: random.Random, value: Any) -> Any:
    """A value with one change somewhere: another leaf, a key more or less, another type, another order."""
    every = places(value)
    if not every:
        return random.choice([1, "other", None, {"more": 1}, [1]])
    path = random.choice(every)
    result = json.loads(json.dumps(value))
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    key, how = path[-1], random.random()
    old = parent[key]
    if isinstance(old, list) and len(old) > 1 and how < 0.5:
        random.shuffle(old)
    elif isinstance(old, list) and how < 0.8:
        old.append(random.choice(old) if old and random.random() < 0.5 else {"id": 99, "name": "new"})
    elif how < 0.2:
        del parent[key]
    elif how < 0.35 and isinstance(parent, dict):
        parent[random.choice([*KEYS, "added"])] = random.choice([1, "new", None, [1]])
    elif how < 0.5:
        parent[key] = {"int": str(old), "str": 5}.get(type(old).__name__, [old])
    elif isinstance(old, bool) or old is None:
        parent[key] = not old
    elif isinstance(old, int | float):
        parent[key] = old + random.choice([1, -1, 0.01, 1000])
    elif isinstance(old, str):
        parent[key] = random.choice([old + "!", old.upper(), old.strip(), "<<any_uuid>>", "quite another"])
    else:
        parent[key] = None
    return result


def dotted(path: tuple[Any, ...], random: random.Random) -> str:
    """A place as a path that people write: with wildcards for some indices, or as JSONPath."""
    as_jsonpath = random.random() < 0.25
    steps = []
    for key in path:
        if isinstance(key, int):
            star = random.random() < 0.7
            steps.append("[*]" if star else f"[{key}]")
        elif as_jsonpath:
            steps.append(f"['{key}']" if not key.isidentifier() else f".{key}")
        else:
            steps.append(f'."{key}"' if not key.isidentifier() else f".{key}")
    text = "".join(steps)
    return f"$.body{text}" if as_jsonpath else f"body{text}"


def rules(random: random.Random, value: Any) -> dict[str, Any]:
    every = places(value)
    comparison: dict[str, Any] = {
        "type": random.choice(["structural"] * 6 + ["exact", "exact", "numeric", "numeric"])
    }
    if not every:
        return comparison
    if random.random() < 0.3:
        comparison["ignore_fields"] = sorted(
            {dotted(random.choice(every), random) for _ in range(random.randint(1, 2))}
        )
    if random.random() < 0.12:
        comparison["ignore_values"] = [dotted(random.choice(every), random)]
    if random.random() < 0.08:
        comparison["require_keys"] = [dotted(random.choice(every), random)]
    if random.random() < 0.25 or comparison["type"] == "numeric":
        bound = random.choice(
            [{"abs": 0.5}, {"rel": 0.01}, {"max_delta": 1}, {"min_delta": -1, "max_delta": None}]
        )
        comparison["tolerance"] = {random.choice(["*", dotted(random.choice(every), random)]): bound}
    if comparison["type"] != "numeric" and random.random() < 0.3:
        options = {
            "allow_additional_fields": True,
            "allow_missing_fields": True,
            "allow_field_reordering": False,
            "case_sensitive": False,
            "trim_whitespace": True,
            "allow_empty_arrays": True,
        }
        comparison["options"] = dict(random.sample(sorted(options.items()), random.randint(1, 2)))
    lists = [path for path in every if isinstance(at(value, path), list)]
    if lists and random.random() < 0.6:
        how = random.choice(["ordered", "unordered", "unordered", "each", "subset", {"by": "id"}])
        comparison["arrays"] = {dotted(random.choice(lists), random): how}
    return comparison


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@dataclass(frozen=True)
class Draft:
    """One case: the file of a baseline, and what its server answers."""

    id: str
    file: str
    text: str
    body: str
    content_type: str = "application/json"
    status: int = 200


def draft(number: int, random: random.Random) -> Draft:
    id = f"case-{number:03}"
    pair = value(random, depth=random.randint(1, 4))
    body = pair.actual
    for _ in range(random.choice([0, 0, 1, 1, 1, 2, 3])):
        body = changed(random, body)
    if random.random() < 0.12:
        return text_draft(id, random)
    output = {"status": 200, "body": pair.expected}
    if random.random() < 0.3:
        output = {"status": 200, "headers": {"content-type": "application/json"}, "body": pair.expected}
    record: dict[str, Any] = {
        "id": id,
        "name": f"Case {number}",
        "baseline": {"output": output, "captured_at": "2025-01-15T10:30:00Z"},
        "current": {"input": {"method": "GET", "endpoint": f"/{id}"}, "execution": {"type": "http"}},
        "comparison": rules(random, pair.expected),
        "metadata": {
            "criticality": random.choice(["low", "medium", "high"]),
            "tags": ["corpus"],
            "last_passed": None,
            "failure_count": random.randint(0, 3),
        },
    }
    if random.random() < 0.1:
        del record["metadata"]
    status = 200 if random.random() < 0.95 else 500
    return Draft(
        id, *written(id, record, random), json.dumps(body, ensure_ascii=random.random() < 0.5), status=status
    )


def text_draft(id: str, random: random.Random) -> Draft:
    lines = [
        random.choice(
            ["started at <<any_iso_datetime>>", "order <<any_integer>> sent", "plain line", "état: ok", ""]
        )
        for _ in range(random.randint(1, 6))
    ]
    actual = [
        line.replace("<<any_iso_datetime>>", moment(random)).replace(
            "<<any_integer>>", str(random.randint(1, 999))
        )
        for line in lines
    ]
    if random.random() < 0.6:
        actual[random.randrange(len(actual))] = random.choice(["another line", "plain  line", "PLAIN LINE"])
    record = {
        "id": id,
        "baseline": {"output": {"status": 200, "body": "\n".join(lines) + "\n"}},
        "current": {"input": {"method": "GET", "endpoint": f"/{id}"}, "execution": {"type": "http"}},
        "comparison": {
            "type": "exact",
            "options": dict(
                random.sample(
                    sorted({"case_sensitive": False, "trim_whitespace": True}.items()), random.randint(0, 2)
                )
            ),
        },
        "metadata": {"last_passed": None, "failure_count": 0},
    }
    if not record["comparison"]["options"]:
        del record["comparison"]["options"]
    return Draft(id, *written(id, record, random), "\n".join(actual) + "\n", "text/plain; charset=utf-8")


class Dumper(yaml.SafeDumper):
    """Literal style for texts of several lines, as captures write them."""


def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Dumper.add_representer(str, represent_text)


def written(id: str, record: dict[str, Any], random: random.Random) -> tuple[str, str]:
    """The name of the file and its text, in one of the styles in which people keep such files."""
    style = random.random()
    if style < 0.08:
        return f"baselines/{id}.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    flow = None if style < 0.25 else False
    dumper = Dumper if style > 0.4 else yaml.SafeDumper
    text = yaml.dump(
        record, Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=flow
    )
    text = text.replace(f"id: {id}\n", f"id: {id}   # what it is\n", 1)
    if random.random() < 0.3:
        text = "# kept by hand\n" + text + "# the end\n"
    if random.random() < 0.3:
        lines = text.splitlines(keepends=True)
        lines.insert(
            random.randint(1, len(lines) - 1), "" if "|" in text or '"\n' in text else "# a remark\n"
        )
        text = "".join(lines)
    if random.random() < 0.08:
        text = text.replace("\n", "\r\n")
    if random.random() < 0.05:
        text = "\ufeff" + text
    if random.random() < 0.05:
        text = text.rstrip("\n")
    return f"baselines/{id}.yaml", text


OK = b"HTTP/1.1 200 OK\r\n"
TYPE = b"Content-Type: application/json\r\n"
BODY = b'{"n": 1}'
MOVED = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n"


def sized(body: bytes, *headers: bytes) -> bytes:
    more = b"".join(header + b"\r\n" for header in headers)
    return OK + TYPE + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def hostile() -> dict[str, bytes]:
    """What a hostile or broken server sends, byte for byte, before it closes the connection."""
    packed = gzip.compress(BODY, mtime=0)
    raw = zlib.compressobj(wbits=-15)
    deflated = raw.compress(BODY) + raw.flush()
    chunks = OK + TYPE + b"Transfer-Encoding: chunked\r\n\r\n"
    return {
        "plain": sized(BODY),
        "no length": OK + TYPE + b"\r\n" + BODY,
        "longer than its length": sized(BODY) + b"tail",
        "shorter than its length": OK + TYPE + b"Content-Length: 100\r\n\r\n" + BODY,
        "two lengths": OK + TYPE + b"Content-Length: 8\r\nContent-Length: 9\r\n\r\n" + BODY,
        "same length twice": OK + TYPE + b"Content-Length: 8\r\nContent-Length: 8\r\n\r\n" + BODY,
        "negative length": OK + TYPE + b"Content-Length: -1\r\n\r\n" + BODY,
        "length of words": OK + TYPE + b"Content-Length: eight\r\n\r\n" + BODY,
        "length and chunks": OK
        + TYPE
        + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n"
        + BODY
        + b"\r\n0\r\n\r\n",
        "chunks": chunks + b"4\r\n" + BODY[:4] + b"\r\n4\r\n" + BODY[4:] + b"\r\n0\r\n\r\n",
        "chunks with extension": chunks + b"8;x=y\r\n" + BODY + b"\r\n0\r\n\r\n",
        "chunks with trailer": chunks + b"8\r\n" + BODY + b"\r\n0\r\nX: y\r\n\r\n",
        "chunk cut short": chunks + b"8\r\n" + BODY[:3],
        "no last chunk": chunks + b"8\r\n" + BODY + b"\r\n",
        "chunk size of words": chunks + b"xyz\r\n" + BODY + b"\r\n0\r\n\r\n",
        "chunk size of a thousand digits": chunks + b"f" * 1000 + b"\r\n",
        "unknown transfer coding": OK + TYPE + b"Transfer-Encoding: gzip\r\n\r\n" + packed,
        "gzip": sized(packed, b"Content-Encoding: gzip"),
        "x-gzip": sized(packed, b"Content-Encoding: x-gzip"),
        "gzip in capitals": sized(packed, b"Content-Encoding: GZIP"),
        "gzip cut short": sized(packed[:-6], b"Content-Encoding: gzip"),
        "gzip with another sum": sized(packed[:-8] + b"\0" * 8, b"Content-Encoding: gzip"),
        "gzip and a tail": sized(packed + b"junk", b"Content-Encoding: gzip"),
        "two members of gzip": sized(
            gzip.compress(BODY[:4], mtime=0) + gzip.compress(BODY[4:], mtime=0), b"Content-Encoding: gzip"
        ),
        "gzip that is none": sized(BODY, b"Content-Encoding: gzip"),
        "deflate with a head": sized(zlib.compress(BODY), b"Content-Encoding: deflate"),
        "deflate without one": sized(deflated, b"Content-Encoding: deflate"),
        "gzip twice": sized(gzip.compress(packed, mtime=0), b"Content-Encoding: gzip, gzip"),
        "identity": sized(BODY, b"Content-Encoding: identity"),
        "unknown coding": sized(BODY, b"Content-Encoding: lzma"),
        "a bomb": sized(gzip.compress(b"[" + b"0," * 40_000_000 + b"0]", mtime=0), b"Content-Encoding: gzip"),
        "empty": sized(b""),
        "no body (204)": b"HTTP/1.1 204 No Content\r\n\r\n",
        "not modified (304)": b"HTTP/1.1 304 Not Modified\r\n\r\n",
        "nothing at all": b"",
        "only a status": b"HTTP/1.1 200 OK\r\n",
        "no http": b"SSH-2.0-OpenSSH_9.2\r\n",
        "http 0.9": BODY,
        "http 1.0": b"HTTP/1.0 200 OK\r\n" + TYPE + b"\r\n" + BODY,
        "http 3.7": b"HTTP/3.7 200 OK\r\n" + TYPE + b"\r\n" + BODY,
        "status of two digits": b"HTTP/1.1 20 OK\r\n" + TYPE + b"\r\n" + BODY,
        "status of words": b"HTTP/1.1 fine OK\r\n" + TYPE + b"\r\n" + BODY,
        "status without reason": b"HTTP/1.1 200\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "status 999": b"HTTP/1.1 999 What\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "bare line feeds": b"HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 8\n\n" + BODY,
        "header without colon": OK + b"Nonsense\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "header with blank before colon": OK + b"X : y\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "header over two lines": OK + b"X: y\r\n z\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "header with a null": OK + b"X: y\0z\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "header in latin-1": OK + b"X: caf\xe9\r\n" + TYPE + b"Content-Length: 8\r\n\r\n" + BODY,
        "a header of a megabyte": OK
        + b"X: "
        + b"y" * 1_000_000
        + b"\r\n"
        + TYPE
        + b"Content-Length: 8\r\n\r\n"
        + BODY,
        "ten thousand headers": OK
        + b"".join(b"X-%d: y\r\n" % n for n in range(10_000))
        + TYPE
        + b"Content-Length: 8\r\n\r\n"
        + BODY,
        "a hint before (103)": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + sized(BODY),
        "continue before (100)": b"HTTP/1.1 100 Continue\r\n\r\n" + sized(BODY),
        "a hundred hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100 + sized(BODY),
        "switching protocols": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + BODY,
        "two answers": sized(BODY) + sized(b'{"n": 2}'),
        "no json": sized(b"{nope"),
        "json with a repeated key": sized(b'{"n": 1, "n": 2}'),
        "json with NaN": sized(b'{"n": NaN}'),
        "json of 1e400": sized(b'{"n": 1e400}'),
        "json with a half surrogate": sized(b'{"n": "\\ud800"}'),
        "json with a byte order mark": sized(b"\xef\xbb\xbf" + BODY),
        "json in utf-16": sized('{"n": 1}'.encode("utf-16")),
        "json that is no utf-8": sized(b'{"n": "\xff"}'),
        "json of 100,000 levels": sized(b"[" * 100_000 + b"]" * 100_000),
        "json with a number of 10,000 digits": sized(b'{"n": ' + b"7" * 10_000 + b"}"),
        "json with a tail": sized(b'{"n": 1} x'),
        "text in an unknown charset": OK
        + b"Content-Type: text/plain; charset=klingon\r\nContent-Length: 2\r\n\r\nhi",
        "content type of nonsense": OK + b"Content-Type: ;;;\r\nContent-Length: 8\r\n\r\n" + BODY,
        "two content types": OK + TYPE + b"Content-Type: text/plain\r\nContent-Length: 8\r\n\r\n" + BODY,
        "redirect": MOVED + b"Location: /elsewhere\r\n\r\n",
        "redirect to metadata": MOVED + b"Location: http://169.254.169.254/\r\n\r\n",
        "redirect without a place": MOVED + b"\r\n",
        "cookie of another host": sized(BODY, b"Set-Cookie: a=b; Domain=example.org"),
        "cookie of a megabyte": sized(BODY, b"Set-Cookie: a=" + b"b" * 100_000),
        "terminal escapes": sized(b'{"n": "\\u001b[2J\\u001b]0;x\\u0007"}'),
    }
