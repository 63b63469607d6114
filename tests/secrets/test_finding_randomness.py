"""The rule for random tokens: it finds them, and leaves alone what real answers are full of."""

import base64
import hashlib
import random
import string
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from baselinekit.secrets.finding import likeness, secret_parts

CHANCE = random.Random(20)
LETTERS = string.ascii_letters + string.digits


def letters(count: int, alphabet: str = LETTERS) -> str:
    return "".join(CHANCE.choice(alphabet) for _ in range(count))


MADE: dict[str, tuple[Callable[[], str], float]] = {
    "24 letters and digits": (lambda: letters(24), 0.05),
    "32 letters and digits": (lambda: letters(32), 0.02),
    "40 in base64": (lambda: base64.b64encode(CHANCE.randbytes(30)).decode(), 0.04),
    "43 in base64 for URLs": (lambda: base64.urlsafe_b64encode(CHANCE.randbytes(32)).decode(), 0.02),
    "32 small letters and digits": (lambda: letters(32, string.ascii_lowercase + string.digits), 0.07),
    "after a word": (lambda: f"session_{letters(32)}", 0.02),
    "in a sentence": (lambda: f"Your key is {letters(32)}, keep it.", 0.02),
    "encoded in base64": (lambda: base64.b64encode(f"user:{letters(32)}".encode()).decode(), 0.02),
    "encoded for a URL": (lambda: quote(f"?/{letters(32)}=", safe=""), 0.02),
}


@pytest.mark.parametrize("how", MADE)
def test_likeness_finds_random_token(how: str) -> None:
    make, missed_at_most = MADE[how]
    missed = sum(likeness(make(), ("body", "value")) is None for _ in range(1_000))
    assert missed <= 1_000 * missed_at_most


ORDINARY: dict[str, Callable[[], str]] = {
    "uuid": lambda: str(uuid.UUID(int=CHANCE.getrandbits(128))),
    "md5": lambda: hashlib.md5(CHANCE.randbytes(8), usedforsecurity=False).hexdigest(),
    "sha1": lambda: hashlib.sha1(CHANCE.randbytes(8), usedforsecurity=False).hexdigest(),
    "sha256": lambda: hashlib.sha256(CHANCE.randbytes(8)).hexdigest(),
    "named digest": lambda: "sha512-" + base64.b64encode(CHANCE.randbytes(64)).decode(),
    "date": lambda: datetime.fromtimestamp(CHANCE.randrange(2**31), UTC).isoformat(),
    "address": lambda: f"https://docs.example.com/d/{letters(40)}/edit?page={letters(30)}",
    "path": lambda: f"/srv/data/{letters(40)}/index",
    "picture": lambda: "data:image/png;base64," + base64.b64encode(CHANCE.randbytes(100)).decode(),
    "known bytes": lambda: base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0" + CHANCE.randbytes(90)).decode(),
    "large data": lambda: base64.b64encode(CHANCE.randbytes(3_000)).decode(),
    "cursor": lambda: base64.b64encode(f"cursor:v2:{CHANCE.randrange(10**9)}".encode()).decode(),
    "number": lambda: str(CHANCE.randrange(10**40)),
    "ulid": lambda: "01" + letters(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"),
    "etag": lambda: f'W/"{letters(27)}"',
    "prefixed hex": lambda: "SM" + hashlib.md5(CHANCE.randbytes(8), usedforsecurity=False).hexdigest(),
}


@pytest.mark.parametrize("what", ORDINARY)
def test_likeness_ignores_ordinary_values(what: str) -> None:
    for _ in range(300):
        text = ORDINARY[what]()
        assert likeness(text, ("body", "value")) is None, text


@pytest.mark.parametrize("name", ["id", "user_id", "nodeId", "etag", "sha256", "avatar", "next_page_token"])
def test_likeness_ignores_random_values_with_explaining_name(name: str) -> None:
    for _ in range(100):
        assert likeness(letters(32), ("body", name)) is None
        assert likeness(letters(32), ("body", name, 0)) is None


WORDS = ["OAUTH2", "PASSWORD", "BEARER", "API", "KEY", "V2", "TOKEN", "X", "RATE", "S3", "AUTH0", "ID", "MD5"]
SAMPLE_VALUES = ["…", "<value>", "${VALUE}", "{{value}}", "$VALUE", "[value]", ""]


@pytest.mark.parametrize("value", SAMPLE_VALUES)
def test_likeness_ignores_variable_name_with_sample_value(value: str) -> None:
    """As in the hint to pass one: `--secret OAUTH2_PASSWORD_BEARER=…`."""
    for _ in range(300):
        name = "_".join(CHANCE.choices(WORDS, k=CHANCE.randrange(2, 7)))
        assert likeness(f"pass --secret {name}={value}", ("body", "value")) is None, name


def test_secret_parts_finds_token_after_variable_name() -> None:
    missed = 0
    for _ in range(1_000):
        token = letters(32)
        text = f"export OAUTH2_PASSWORD_BEARER={token}"
        missed += (text.index(token), len(text)) not in secret_parts(text)
    assert missed <= 20


@pytest.mark.parametrize(
    "text",
    [
        "token=…12345678", "password: …hunter2", "getUserByEmailAddressOrNull",
        "org.springframework.beans.factory.BeanCreationException", "ORDER_STATUS_PENDING_PAYMENT_2",
        "x86_64-unknown-linux-gnu-20241120", "feature/JIRA-1234-add-OAuth2-support",
        "Donaudampfschifffahrtsgesellschaftskapitaen2", "application/vnd.api+json;charset=utf-8",
        "2024-11-20T12-30-45-backup-of-database-03",
        "arn:aws:lambda:us-west-2:123456789012:function:my-function",
        "urn:ietf:params:oauth:grant-type:token-exchange",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0",
        "com.example.App/2.14.3-rc.1+build.20240101", "AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA",
    ],
)  # fmt: skip
def test_likeness_ignores_names_and_paths(text: str) -> None:
    assert likeness(text, ("body", "value")) is None


@pytest.mark.parametrize("padding", ["", "=", "=="])
@pytest.mark.parametrize("lead", ["", "key=", "token: "])
def test_secret_parts_token_with_padding_is_one_part(lead: str, padding: str) -> None:
    """`TOKEN==` was taken for a name with the value `=`, and the token itself could not be hidden."""
    token = f"YmluYXJ5IGNvbnRlbnRzIP//3g9Xq{padding}"
    assert secret_parts(lead + token) == [(len(lead), len(lead) + len(token))]
