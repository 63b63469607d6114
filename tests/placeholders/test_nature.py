"""What looks like an id, which moment a text is, and which change is none: cases with known answers, and how
often the rules err on them."""

import base64
import hashlib
import json
import random
import string
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from baselinekit.placeholders.counters import path_with_row_name, with_fraction
from baselinekit.placeholders.moments import moments_in
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.nature import SinceCapture, looks_like_id, moment_of, nature_of_change

CHANCE = random.Random(13)
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def made_up(signs: str, length: int) -> str:
    return "".join(CHANCE.choice(signs) for _ in range(length))


def jwt() -> str:
    parts = ({"alg": "HS256"}, {"sub": CHANCE.randint(1, 9**9)})
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*texts, made_up(string.ascii_letters + string.digits, 43)])


ALNUM = string.ascii_letters + string.digits
IDS: dict[str, tuple[str, Any]] = {
    "uuid4": ("any", lambda: str(uuid.UUID(int=CHANCE.getrandbits(128), version=4))),
    "uuid in capitals": ("any", lambda: str(uuid.UUID(int=CHANCE.getrandbits(128), version=4)).upper()),
    "ulid": ("any", lambda: "01" + made_up(CROCKFORD, 24)),
    "object id": ("any", lambda: "6" + made_up("0123456789abcdef", 23)),
    "trace id": ("any", lambda: made_up("0123456789abcdef", 32)),
    "span id": ("any", lambda: made_up("0123456789abcdef", 16)),
    "sha256": ("any", lambda: hashlib.sha256(CHANCE.randbytes(8)).hexdigest()),
    "snowflake": ("any", lambda: CHANCE.randint(10**17, 10**18) // 1000 * 1000 + CHANCE.randint(1, 999)),
    "thread": ("ident", lambda: 140_000_000_000_000 + 256 * CHANCE.randint(10**6, 10**9) + 64),
    "snowflake as text": ("any", lambda: f"{CHANCE.randint(10**16, 10**18)}{CHANCE.randint(1, 9)}"),
    "jwt": ("any", jwt),
    "token of 32": ("any", lambda: made_up(ALNUM, 32)),
    "nanoid": ("id", lambda: made_up(ALNUM + "_-", 21)),
    "prefixed": ("any", lambda: f"req_{made_up(ALNUM, 14)}"),
    "stripe": ("customer", lambda: f"cus_{made_up(ALNUM, 14)}"),
    "cuid": ("id", lambda: f"c{made_up(string.ascii_lowercase + string.digits, 24)}"),
    "etag": ("etag", lambda: f'"{made_up("0123456789abcdef", 13)}"'),
    "weak etag": ("etag", lambda: f'W/"{made_up("0123456789abcdef", 2)}-{made_up(ALNUM, 27)}"'),
    "short request id": ("request_id", lambda: made_up(string.ascii_lowercase + string.digits, 10)),
    "session": ("sessionId", lambda: made_up(ALNUM, 24)),
}
NAMES = [
    *(
        "prod-001",
        "ORD-1001",
        "item42",
        "SKU12345",
        "users-list",
        "get-api-v1-users",
        "us-east-1",
        "eu-central-1a",
    ),
    *(
        "1001",
        "42",
        "A12",
        "B-7",
        "de_DE",
        "v1",
        "1.2.3",
        "2.0.0-rc.1",
        "sha256",
        "utf-8",
        "gpt-4o-mini-2024-07-18",
    ),
    *(
        "OAuth2AuthorizationServer",
        "Base64UrlEncoder",
        "active",
        "Ada Lovelace",
        "ada@example.com",
        "iPhone15ProMax",
    ),
    *(
        "4111111111111111",
        "+49301234567",
        "978-3-16-148410-0",
        "DE89370400440532013000",
        "#ff00aa",
        "12:30:45",
    ),
    *(
        "11111111-1111-1111-1111-111111111111",
        "00000000-0000-0000-0000-000000000001",
        "deadbeef",
        "cafebabe0000",
    ),
    *(
        "/api/v1/users/42",
        "https://example.com/a/b3c4",
        "2001:db8::1",
        "10.0.0.1",
        "db2.internal.example",
        "x86_64",
    ),
    *(
        "application/json",
        "text/html; charset=utf-8",
        "2026-01-15",
        "2026-01-15T10:00:00Z",
        "1767225600",
        "PT5M",
    ),
    *(
        "http2",
        "python3.11",
        "Win32NT",
        "node18-alpine3.17",
        "covid19",
        "b2b",
        "mp3",
        "base64",
        "i18n",
        "a11y",
    ),
    *(
        "feature/JIRA-1234-fix",
        "JIRA-1234",
        "room101",
        "E.164",
        "ISO8601",
        "RFC2822",
        "MD5",
        "ipv4",
        "utf8mb4_bin",
    ),
    "9223372036854775807",
    "1000000000000000000",
]
KEYS = ["name", "status", "slug", "version", "path", "value", "code"]
MANY = 50


def misses() -> list[tuple[str, Any]]:
    CHANCE.seed(13)
    cases = ((kind, key, make()) for kind, (key, make) in IDS.items() for _ in range(MANY))
    return [(kind, value) for kind, key, value in cases if not looks_like_id(value, ("body", key))]


def test_few_ids_are_overlooked() -> None:
    """Measured: 20 kinds of ids, 50 of each."""
    missed = misses()
    assert len(missed) <= 0.02 * len(IDS) * MANY, missed


def test_hardly_a_name_is_taken_for_an_id() -> None:
    """Measured: names, numbers, versions and other words of people, under seven keys and as an id."""
    cases = [(value, key) for value in NAMES for key in (*KEYS, "id")]
    wrong = [(value, key) for value, key in cases if looks_like_id(value, ("body", key))]
    assert len(wrong) <= 0.01 * len(cases), wrong


@pytest.mark.parametrize("value", [True, None, 42, 3.5, [], {}, 10**18, 2**63 - 1, "", "x"])
def test_what_is_no_id_at_all(value: Any) -> None:
    assert not looks_like_id(value, ("body", "id"))


NOW = datetime(2026, 11, 22, 21, 55, 30, tzinfo=UTC)
SECONDS = NOW.timestamp()
FORMS = [
    *("2026-11-22T21:55:30Z", "2026-11-22T22:55:30+01:00", "2026-11-22 21:55:30", "2026-11-22T21:55:30.000"),
    *("2026-11-22T21:55:30.000000000Z", "2026-11-22 21:55:30.000 +0000 UTC", "2026-11-22T16:55:30-0500"),
    *("Sun, 22 Nov 2026 21:55:30 GMT", "Sun, 22 Nov 2026 22:55:30 +0100", "22/Nov/2026:21:55:30 +0000"),
    *(
        "Sun Nov 22 21:55:30 2026",
        "Sun Nov 22 21:55:30 UTC 2026",
        "22-Nov-2026 21:55:30",
        "22 Nov 2026 21:55:30",
    ),
    *("22.11.2026 21:55:30", "11/22/2026 21:55:30", "11/22/2026, 21:55:30"),
    *(str(int(SECONDS)), f"{int(SECONDS)}.000", f"{int(SECONDS)}000", f"{int(SECONDS)}000000"),
    *(int(SECONDS), SECONDS, int(SECONDS) * 1000, int(SECONDS) * 10**6, int(SECONDS) * 10**9),
]


@pytest.mark.parametrize("text", FORMS)
def test_a_moment_is_read_in_every_form(text: Any) -> None:
    assert moment_of(text) == SECONDS
    if isinstance(text, str):
        ((start, end, when),) = moments_in(f"it is {text}, they say")
        assert (start, end, when) == (6, 6 + len(text), SECONDS)


@pytest.mark.parametrize(
    "text",
    ["2026-13-45T99:00:00Z", "2026-11-22", "21:55:30", "12345", "99/99/2026 10:00", 42, "1.2.3", None, ""],
)
def test_what_is_no_moment(text: Any) -> None:
    assert moment_of(text) is None


ROWS: list[tuple[str, Any, Any, str | None]] = [  # a row {name, value} beside one whose number is learnt
    ("uptime", "500", "12", "counter"),
    ("cpu-steal", "2893", "2894", "counter"),
    ("backend-queries", 6, 9, "counter"),
    ("process.open_fds", 15, 16, "counter"),
    ("udp-in-errors", "0", "3", "counter"),
    ("node_load1", 0.25, 0.31, "counter"),
    ("cache-ttl", "20", "60", None),
    ("max-connections", 100, 50, None),
    ("request_timeout", 30, 60, None),
    ("security-status", "0", "unsafe", None),
    ("version", "4.8.1", "4.9.0", None),
    ("backend-queries", 6, "9", None),
    ("backend-queries", 6, None, None),
    ("a name of people", 6, 9, None),
]


@pytest.mark.parametrize(("name", "before", "after", "nature"), ROWS)
@pytest.mark.parametrize(("key", "value"), [("name", "value"), ("metric", "val"), ("key", "count")])
def test_a_row_names_its_value_as_a_key_does(
    key: str, value: str, name: str, before: Any, after: Any, nature: str | None
) -> None:
    span = SinceCapture(None, 0.0)
    table = [{key: "requests", value: "<<any_digits>>"}, {key: name, value: before}]
    change = (("body", 1, value), before, after, span)
    assert nature_of_change(*change, {"body": table}) == nature
    alone = [{key: "requests", value: 7}, {key: name, value: before}]  # nothing says that it is of metrics
    assert nature_of_change(*change, {"body": alone}) == ("counter" if name == "uptime" else None)
    assert nature_of_change(*change, None) is None


BESIDE: list[tuple[str, Any, Any, str | None]] = [  # a key of an object in which two numbers vary
    ("used_memory", "12476416", "12279808", "counter"),
    ("used_memory_human", "11.90M", "11.71M", "counter"),
    ("used_memory_peak_perc", "98.39%", "100.15%", "counter"),
    ("allocator_frag_ratio", "1.10", "1.15", "counter"),
    ("instantaneous_ops_per_sec", 0, 3, "counter"),
    ("buffersUsed", 35209216, 35471360, "counter"),
    ("total_net_input_bytes", 515, 529, "counter"),
    ("ctx_switches_gauge", 4383401, 4580400, "counter"),
    ("memory", 16, 32, None),
    ("cpu", 4, 8, None),
    ("disk", "20G", "40G", None),
    ("heap_limit", 512, 1024, None),
    ("max_memory_used", 512, 1024, None),
    ("price", 9.99, 12.49, None),
    ("total", 42, 43, None),
    ("free", 3, 4, None),
    ("size_bytes", 1042, 977, None),
    ("used_memory_policy", "noeviction", "allkeys-lru", None),
    ("hits", 3, "three", None),
]


@pytest.mark.parametrize(
    ("columns", "nature"),
    [
        (["PID", "uptime"], "counter"),
        ([{"name": "pid"}, {"name": "uptime"}], "counter"),
        ([{"text": "pid"}], "counter"),
        (["price", "uptime"], None),
        ([], None),
        ("pid", None),
        (None, None),
    ],
)
def test_a_column_names_its_values_as_a_key_does(columns: Any, nature: str | None) -> None:
    table = {"series": [{"columns": columns, "values": [[11349, "5s"]]}]}
    span, path = SinceCapture(None, 0.0), ("series", 0, "values", 0, 0)
    assert nature_of_change(path, 11349, 11542, span, table) == nature


def test_all_that_go_tells_of_its_memory_moves_together() -> None:
    span, path = SinceCapture(None, 0.0), ("memstats", "MSpanInuse")
    moving = {"memstats": {"Alloc": "<<any_integer(0)>>", "Frees": "<<any_integer(0)>>", "MSpanInuse": 40320}}
    assert nature_of_change(path, 40320, 49536, span, moving) == "counter"
    assert nature_of_change(path, 40320, 49536, span, {"memstats": {"MSpanInuse": 40320}}) is None
    rows = {"memstats": {**moving["memstats"], "BySize": [{"Size": 8, "Frees": 338}]}}
    assert nature_of_change(("memstats", "BySize", 0, "Frees"), 338, 155, span, rows) == "counter"
    assert nature_of_change(("memstats", "BySize", 0, "Size"), 8, 16, span, rows) is None


def test_what_go_tells_of_its_memory_is_known_by_its_keys() -> None:
    span, path = SinceCapture(None, 0.0), ("runtime", "values", "Sys")
    moving = {"Alloc": "<<any_integer(0)>>", "HeapInUse": "<<any_integer(0)>>", "Sys": 14660872}
    go = {"runtime": {"values": {**moving, "NumGC": 3, "Mallocs": 87}}}
    assert nature_of_change(path, 14660872, 14398728, span, go) == "counter"
    assert nature_of_change(path, 14660872, 14398728, span, {"runtime": {"values": moving}}) is None


SPACE: list[tuple[str, Any, Any, Any, str | None]] = [  # beside `size`
    ("used", 73926733824, 35017560064, 35017932800, "counter"),
    ("free", 73926733824, 35017560064, 35017932800, "counter"),
    ("available", 73926733824, 35017560064, 35017932800, "counter"),
    ("used", 50, 20, 21, None),  # seats, places, a quota
    ("used", 4096, 1200, 1210, None),
    ("price", 73926733824, 35017560064, 35017932800, None),
    ("used_limit", 73926733824, 35017560064, 35017932800, None),
]


@pytest.mark.parametrize(("name", "size", "before", "after", "nature"), SPACE)
def test_the_space_that_is_used_varies_beside_the_size_of_the_whole(
    name: str, size: int, before: int, after: int, nature: str | None
) -> None:
    span = SinceCapture(None, 0.0)
    body = {"size": size, name: before}
    assert nature_of_change(("body", name), before, after, span, {"body": body}) == nature
    assert nature_of_change(("body", name), before, after, span, {"body": {name: before}}) is None
    assert nature_of_change(("body", "size"), size, size + 1, span, {"body": body}) is None


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("GCCPUFraction", [0], "<<any_number>>"),
        ("cpu", [0, 4], "<<any_number>>"),
        ("load", [0.5, 1], "<<any_number>>"),
        ("requests", [0, 4], "<<any_integer(0)>>"),
        ("cpu", ["0", "4"], "<<any_digits>>"),
    ],
)
def test_a_number_whose_name_says_so_may_have_a_fraction(name: str, values: list[Any], text: str) -> None:
    assert narrowest(with_fraction(("body", name), values))[0].text == text


@pytest.mark.parametrize(("name", "before", "after", "nature"), BESIDE)
def test_a_number_of_a_process_moves_as_those_beside_it(
    name: str, before: Any, after: Any, nature: str | None
) -> None:
    span, path = SinceCapture(None, 0.0), ("body", name)
    moving = {"body": {"used": "<<any_digits>>", "peak": "<<any_size>>", name: before}}
    assert nature_of_change(path, before, after, span, moving) == nature
    one_moves = {"body": {"used": "<<any_digits>>", "peak": "1.2M", name: before}}
    assert nature_of_change(path, before, after, span, one_moves) is None


def test_a_row_names_its_id_as_a_key_does() -> None:
    output = {"headers": [{"name": "X-Request-Id", "value": "kf83ja0x2p"}, {"name": "colour", "value": "b2"}]}
    assert looks_like_id("kf83ja0x2p", path_with_row_name(("headers", 0, "value"), output))
    assert not looks_like_id("kf83ja0x2p", ("headers", 0, "value"))
    assert path_with_row_name(("headers", 1, "value"), output) == ("headers", 1, "colour")


@pytest.mark.parametrize(
    "path", [(), ("headers",), ("headers", 7, "value"), ("gone", "value"), ("n", "value")]
)
def test_a_place_without_a_named_row_keeps_its_path(path: Any) -> None:
    output: Any = {"headers": [{"value": 1}], "n": {"name": 3, "value": 4}}
    assert path_with_row_name(path, output) == path


def later(text: str, days: int) -> str:
    return (datetime.fromisoformat(text) + timedelta(days=days)).isoformat()


CHANGES: list[tuple[str, Any, Any, str | None]] = [
    ("id", str(uuid.UUID(int=1 << 90 | 0x3F2B8C1E7A9D, version=4)), "x", None),
    ("id", "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "9a1c77de-04b2-4f6a-8e3b-5d0f6a7b8c9d", "id"),
    ("id", "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "9a1c77de04b24f6a8e3b5d0f6a7b8c9d", None),
    ("id", "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", None, None),
    ("customer", "cus_NffrFeUfNV2Hib", "cus_9sd8F7gh2KLm3x", "id"),
    ("customer", "cus_NffrFeUfNV2Hib", "sub_9sd8F7gh2KLm3x", None),
    ("at", "2026-01-01T00:00:00+00:00", later("2026-01-01T00:00:00+00:00", 3), "moment"),
    ("at", later("2026-01-01T00:00:00+00:00", 3), "2026-01-01T00:00:00+00:00", None),
    ("at", 1767225600, 1767225700, "moment"),
    ("at", 1767225600, "1767225700", None),
    ("uptime", 500, 12, "counter"),
    ("process_cpu_seconds", 5.2531, 7.5192, "counter"),
    ("goroutineCount", 28, 31, "counter"),
    ("raftAppliedIndex", "7", "24", "counter"),
    ("resourceVersion", "1042", "1077", "counter"),
    ("elapsed", 0.002341, 0.001877, "counter"),
    ("timeout_seconds", 30, 60, None),
    ("max_latency", 0.2512, 0.3512, None),
    ("duration", 142, 90, None),
    ("duration", 1.5, 2.5, None),
    ("port", 8080, 8081, None),
    ("offset", 0, 20, None),
    ("age", 36, 37, None),
    ("connections", 100, 50, None),
    ("memory", 16, 32, None),
    ("version", 1, 2, None),
    ("raft_term", "2", "3", "counter"),
    ("mod_revision", "12", "13", "counter"),
    ("price", 5, 7, None),
    ("total", 3, 4, None),
    ("count", 3, 4, None),
    ("support", "x", "y", None),
    ("name", "Ada", "Bob", None),
    ("status", "active", "inactive", None),
    ("process_id", "5041", "6566", "counter"),
    ("parentProcessId", 5041, 6566, "counter"),
    ("uptime", "3.5", "0.25", "counter"),
    ("elapsed", "0.002341", "0.001877", "counter"),
    ("used_memory", 12476416, 12279808, None),  # alone: see below
    ("uptime", 500, "a day", None),
    ("uptime", 500, True, None),
    ("text", "hello 1767225600 Ada", "hello 1767225700 Ada", "moment"),
    ("uptime", "0:30:00", "0:30:36", "counter"),
    ("uptime", "3 m 20 s", "14 s", "counter"),
    ("length", "1:43:00", "1:44:30", None),  # of a film
    ("PID", 5041, 6566, "counter"),
    ("server_name", "NDRO45BHCOSDN2NQWNRLCNN46ZMF", "NAKAPB5JOG5JQAWEQROFAOQQYG7P", "id"),
    ("name", "CONSTANTS_IN_CAPITALS", "OTHERS_IN_CAPITALS", None),
    ("name", "INTERNATIONALIZATIONSERVICE", "INTERNATIONALISATIONSERVICE", None),
    ("miner", "0x3f2b8c1e7a9d4e21b6f0", "0x9a1c77de04b24f6a8e3b", "id"),
    ("gas", "0x6fc23ac00", "0x6fc23ac01", None),
    ("to", "0x3f2b8c1e7a9d4e21b6f0", "0x00000000000000000000", None),
    ("to", "3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "00000000-0000-0000-0000-000000000000", None),
    ("text", "of 3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "of 00000000-0000-0000-0000-000000000000", None),
    ("block_hash", "0x3f2b8c1e7a9d4e21b6f0", "0x9a1c77de04b24f6a8e3b", None),
    ("text", "hello 1767225600 Ada", "hello 1767225700 Bob", None),
    ("sha256", "3f2b8c1e7a9d4e21" * 4, "9a1c77de04b24f6a" * 4, None),  # of a body of bytes, or of a file
    ("contentHash", "3f2b8c1e7a9d4e21" * 2, "9a1c77de04b24f6a" * 2, None),
    ("body_md5", "3f2b8c1e7a9d4e21" * 2, "9a1c77de04b24f6a" * 2, None),
    ("Docker-Content-Digest", "sha256:" + "3f2b8c1e7a9d4e21" * 4, "sha256:" + "9a1c77de04b24f6a" * 4, None),
    ("image", "web@sha256:" + "3f2b8c1e7a9d4e21" * 4, "web@sha256:" + "9a1c77de04b24f6a" * 4, None),
    ("script", "sha384-q8i/X+965DzO0rT7abK41JStQIAqVgRVzpbzo5sm", "sha384-oqVuAfXRKap7fdgcCY5uykM6", None),
    ("etag", '"3f2b8c1e7a9d"', '"9a1c77de04b2"', "id"),
    ("trace", "3f2b8c1e7a9d4e21" * 2, "9a1c77de04b24f6a" * 2, "id"),
    (
        "link",
        "/orders/3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456",
        "/orders/9a1c77de-04b2-4f6a-8e3b-5d0f6a7b8c9d",
        "id",
    ),
]


@pytest.mark.parametrize(("key", "before", "after", "nature"), CHANGES)
def test_the_nature_of_a_change(key: str, before: Any, after: Any, nature: str | None) -> None:
    span = SinceCapture(
        datetime(2026, 1, 1, tzinfo=UTC).timestamp(), datetime(2026, 1, 5, tzinfo=UTC).timestamp()
    )
    assert nature_of_change(("body", key), before, after, span) == nature


@pytest.mark.parametrize(
    ("before", "after", "is_of_a_clock"),
    [
        ("2026-01-01T08:00:00Z", "2026-01-03T00:00:00Z", True),  # it was started again in between
        ("2026-01-01T11:00:00Z", "2026-01-05T11:00:00Z", True),  # it ends an hour after it was asked
        ("2026-01-01T11:00:00Z", "2026-01-09T11:00:00Z", False),  # another day was put there
        ("2025-06-01T00:00:00Z", "2025-07-01T00:00:00Z", False),  # both are of before the capture
        ("2026-01-03T00:00:00Z", "2025-12-03T00:00:00Z", False),
    ],
)
def test_a_moment_that_no_clock_wrote_since_is_a_change(before: str, after: str, is_of_a_clock: bool) -> None:
    span = SinceCapture(
        datetime(2026, 1, 1, 10, tzinfo=UTC).timestamp(), datetime(2026, 1, 5, 10, tzinfo=UTC).timestamp()
    )
    assert (nature_of_change(("at",), before, after, span) == "moment") == is_of_a_clock
    assert nature_of_change(("at",), f"at {before}", f"at {after}", span) == (
        "moment" if is_of_a_clock else None
    )
