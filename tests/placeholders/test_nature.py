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

from baselinekit.placeholders.nature import SinceCapture, looks_like_id, nature_of_change

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


def words(text: str) -> list[str]:
    return text.split()


NAMES = words(
    """
    prod-001 ORD-1001 item42 SKU12345 users-list get-api-v1-users us-east-1 eu-central-1a 1001 42 A12
    B-7 de_DE v1 1.2.3 2.0.0-rc.1 sha256 utf-8 gpt-4o-mini-2024-07-18 OAuth2AuthorizationServer
    Base64UrlEncoder active ada@example.com iPhone15ProMax 4111111111111111 +49301234567
    978-3-16-148410-0 DE89370400440532013000 #ff00aa 12:30:45 11111111-1111-1111-1111-111111111111
    00000000-0000-0000-0000-000000000001 deadbeef cafebabe0000 /api/v1/users/42
    https://example.com/a/b3c4 2001:db8::1 10.0.0.1 db2.internal.example x86_64 application/json
    2026-01-15 2026-01-15T10:00:00Z 1767225600 PT5M http2 python3.11 Win32NT node18-alpine3.17 covid19
    b2b mp3 base64 i18n a11y feature/JIRA-1234-fix JIRA-1234 room101 E.164 ISO8601 RFC2822 MD5 ipv4
    utf8mb4_bin 9223372036854775807 1000000000000000000
    """
)
NAMES += ["Ada Lovelace", "text/html; charset=utf-8"]
KEYS = ["name", "status", "slug", "version", "path", "value", "code"]
MANY = 50


def misses() -> list[tuple[str, Any]]:
    CHANCE.seed(13)
    cases = ((kind, key, make()) for kind, (key, make) in IDS.items() for _ in range(MANY))
    return [(kind, value) for kind, key, value in cases if not looks_like_id(value, ("body", key))]


def test_looks_like_id_finds_most_ids() -> None:
    """Measured: 20 kinds of ids, 50 of each."""
    missed = misses()
    assert len(missed) <= 0.02 * len(IDS) * MANY, missed


def test_looks_like_id_leaves_most_names() -> None:
    """Measured: names, numbers, versions and other words of people, under seven keys and as an id."""
    cases = [(value, key) for value in NAMES for key in (*KEYS, "id")]
    wrong = [(value, key) for value, key in cases if looks_like_id(value, ("body", key))]
    assert len(wrong) <= 0.01 * len(cases), wrong


NOW = datetime(2026, 11, 22, 21, 55, 30, tzinfo=UTC)
SECONDS = NOW.timestamp()


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
    ("port", 8080, 8081, None),
    ("count", 3, 4, None),
    ("name", "Ada", "Bob", None),
    ("process_id", "5041", "6566", "counter"),
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
    ("name", "CONSTANTS_IN_CAPITALS", "OTHERS_IN_CAPITALS", None),
    ("name", "INTERNATIONALIZATIONSERVICE", "INTERNATIONALISATIONSERVICE", None),
    ("gas", "0x6fc23ac00", "0x6fc23ac01", None),
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
    ("link", "/orders/3f2b8c1e-7a9d-4e21-b6f0-12c9a8d7e456", "/orders/9a1c77de-04b2-4f6a-8e3b-5d0f6a7b8c9d",
     "id"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "before", "after", "nature"), CHANGES)
def test_nature_of_change_by_key_and_values(key: str, before: Any, after: Any, nature: str | None) -> None:
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
def test_nature_of_change_moment_must_be_after_capture(before: str, after: str, is_of_a_clock: bool) -> None:
    span = SinceCapture(
        datetime(2026, 1, 1, 10, tzinfo=UTC).timestamp(), datetime(2026, 1, 5, 10, tzinfo=UTC).timestamp()
    )
    assert (nature_of_change(("at",), before, after, span) == "moment") == is_of_a_clock
    assert nature_of_change(("at",), f"at {before}", f"at {after}", span) == (
        "moment" if is_of_a_clock else None
    )
