"""A hundred secrets, and whether a text gives one of them away: plain, as JSON or a shell would quote it,
URL-encoded, or in base64 at any of the three places that it can stand in there."""

import base64
import json
import random
import string
from collections.abc import Iterator
from urllib.parse import quote

_CHANCE = random.Random(100)
_LETTERS = string.ascii_letters + string.digits
_SHORTEST_FRAGMENT = 7


def letters(count: int, alphabet: str = _LETTERS) -> str:
    return "".join(_CHANCE.choice(alphabet) for _ in range(count))


def _token() -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in _CLAIMS)
    return ".".join((*parts, letters(43)))


_CLAIMS = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "admin": True})
# None of fewer than six characters: those are masked as a whole value alone (tests/secrets/test_short.py).
DECLARED = [
    *(letters(count) for count in (6, 8, 12, 16, 20, 24, 32, 40, 64)),
    *(letters(_CHANCE.randrange(9, 30), _LETTERS + "+/=_-.~!$&'()*,;:@ %#?[]{}|\\\"<>`^") for _ in range(15)),
    *(
        "q7Z~x9", "pw-1.a", "kö9€ßé", "日本語のひみつ", "a b\tc\nd", "\\\\n\\u0041x", "%41%42%43x",
        "<<any_string>>x", "{{name}}x",
    ),
    *("9f8e7d", "9f8e7d6c", "9f8e7d6c5b4a", "xx9f8e7d6c5b4ayy", "9f8e7d9f8e7d"),
    *("31415926535", "correct horse battery", "hunter2hunter2"),
]  # fmt: skip
KNOWN = [
    *("ghp_" + letters(36), "gho_" + letters(36), "github_pat_" + letters(60), "glpat-" + letters(20)),
    *("AKIA" + letters(16, string.ascii_uppercase + "234567"), "AIza" + letters(35), "ya29." + letters(60)),
    *(
        "xoxb-" + letters(12, string.digits) + "-" + letters(24),
        "sk_live_" + letters(24),
        "rk_test_" + letters(24),
    ),
    *("sk-" + letters(48), "sk-proj-" + letters(60), "sk-ant-" + letters(60), "hf_" + letters(34)),
    *("npm_" + letters(36), "SG." + letters(22) + "." + letters(43), "GOCSPX-" + letters(28)),
    *("whsec_" + letters(32), "dop_v1_" + letters(64, "0123456789abcdef")),
    *(_token() for _ in range(5)),
]
RANDOM = [
    *(letters(32) for _ in range(12)),
    *(letters(40, string.ascii_lowercase + string.digits) for _ in range(6)),
    *(base64.b64encode(_CHANCE.randbytes(33)).decode() for _ in range(6)),
    *(base64.urlsafe_b64encode(_CHANCE.randbytes(36)).decode() for _ in range(6)),
    *(letters(64) for _ in range(6)),
]
SECRETS = [*DECLARED, *KNOWN, *RANDOM]


def spellings(secret: str) -> list[str]:
    """How a service, a program or a model may give it back."""
    shifted = (base64.b64encode(f"{':' * shift}{secret}".encode()).decode() for shift in range(3))
    return [secret, quote(secret, safe=""), *shifted, base64.urlsafe_b64encode(secret.encode()).decode()]


def _forms(secret: str) -> Iterator[str]:
    """What must stand nowhere."""
    raw = secret.encode()
    yield from (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw).decode()
        end = len(whole) if (shift + len(raw)) % 3 == 0 else whole.index("=") - 1
        core = whole[(0, 2, 3)[shift] : end]
        if len(core) >= _SHORTEST_FRAGMENT:
            yield from (core, core.replace("+", "-").replace("/", "_"))


FORMS = [(secret, form) for secret in SECRETS for form in dict.fromkeys(_forms(secret))]


def given_away(text: str) -> list[tuple[str, str]]:
    """Each secret that stands in the text, with the form that it has there."""
    return [(secret, form) for secret, form in FORMS if form in text]
