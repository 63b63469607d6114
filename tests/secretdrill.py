"""Three hundred secrets, every spelling in which one could come back, and what none may leave behind."""

import base64
import html
import json
import random
import re
import string
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

_LETTERS = string.ascii_letters + string.digits
_ODD = "+/=_-.~!$&'()*,;:@ %#?[]{}|\\\"<>`^"
_WIDE = "äöüßéñçøЖДлю日本語秘密鍵한글€£😀🔑"
_WORDS = ["correct", "horse", "battery", "staple", "winter", "garden", "silver", "river"]


def _made() -> Iterator[str]:
    chance = random.Random(300)

    def some(count: int, alphabet: str = _LETTERS) -> str:
        return "".join(chance.choice(alphabet) for _ in range(count))

    def url_safe(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    for n in range(40):
        yield some(6 + n % 5)
    for n in range(60):
        yield some(12 + n % 29)
    for _ in range(20):
        head, claims = {"alg": "HS256"}, {"sub": some(6), "exp": chance.randrange(10**9)}
        yield f"{url_safe(head)}.{url_safe(claims)}.{some(43)}"
    for n in range(60):
        yield some(1) + some(6 + n % 20, _LETTERS + _ODD) + some(1)
    for n in range(20):
        yield some(1) + some(4 + n % 10, _LETTERS + _WIDE) + some(1)
    for _ in range(15):
        yield " ".join(chance.sample(_WORDS, 3))
    for n in range(15):
        lines = "\n".join(some(64, _LETTERS + "+/") for _ in range(3 + n % 6))
        yield f"-----BEGIN TEST KEY-----\n{lines}\n{some(20, _LETTERS)}\n-----END TEST KEY-----\n"
    for _ in range(15):
        yield f"postgres://{some(8)}:{some(14)}@db.internal:5432/{some(5)}"
    for n in range(15):
        yield "1" + some(5 + n, string.digits)
    for n in range(15):
        yield base64.b64encode(chance.randbytes(10 + n)).decode()
    for n in range(10):
        inner = some(9 + n)
        yield from (inner, f"{some(3)}{inner}{some(3)}")
    yield from (
        "<<any_string>>x",
        "{{name}}x",
        "ab<<cd",
        "{{{{x9",
        "%41%42%43x",
        "\\\\n\\u0041x",
        "end7q\\",
        "\\start9",
    )
    yield from ("a b\tc\nd-e-f-g", "9f8e7d9f8e7d", "aaaaaaaaaaaa", "ababababab", "***secret***", "x=1&y=2;z")


def _small(escaped: str) -> str:
    return re.sub("%..", lambda code: code[0].lower(), escaped)


BY_CHARACTER: dict[str, Callable[[str], str]] = {
    "plain": str,
    "url": lambda char: quote(char, safe=""),
    "url, small": lambda char: _small(quote(char, safe="")),
    "url, path": quote,
    "url, browser": lambda char: quote(char, safe="!'()*"),
    "form": quote_plus,
    "form, small": lambda char: _small(quote_plus(char)),
    "html": html.escape,
    "html, numbers": lambda char: html.escape(char).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    "html, no quotes": lambda char: html.escape(char, quote=False),
    "json": lambda char: json.dumps(char)[1:-1],
    "json, no ascii": lambda char: json.dumps(char, ensure_ascii=False)[1:-1],
    "json, slashes": lambda char: json.dumps(char)[1:-1].replace("/", "\\/"),
}
"""Spellings that go character by character: what each of them becomes."""


def _b64(raw: str) -> str:
    return base64.b64encode(raw.encode()).decode()


def _url_safe(raw: str) -> str:
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _around(spell: Callable[[str], str], shift: int) -> Callable[[str], str]:
    return lambda secret: spell("u" * shift + secret + ":!" + "v" * shift)


IN_BULK: dict[str, tuple[Callable[[str], str], float]] = {
    "hex": (lambda secret: secret.encode().hex(), 2),
    "HEX": (lambda secret: secret.encode().hex().upper(), 2),
    "HeX": (lambda secret: _swapped(secret.encode().hex()), 2),
    "base64": (_b64, 4 / 3),
    "base64, for URLs": (_url_safe, 4 / 3),
    **{f"base64 of more, {shift}": (_around(_b64, shift), 4 / 3) for shift in range(3)},
    **{f"base64 of more, for URLs, {shift}": (_around(_url_safe, shift), 4 / 3) for shift in range(3)},
}
"""Spellings of the whole, and how many of their characters encode one of the secret."""


def _swapped(text: str) -> str:
    return "".join(char.upper() if at % 3 else char for at, char in enumerate(text))


SECRETS = list(dict.fromkeys(_made()))
assert len(SECRETS) >= 300


def least(secret: str) -> int:
    """This number of characters of a secret, one after the other, is too many."""
    return 6 if len(secret) >= 12 else max(2, len(secret) // 2)


def spellings(secret: str) -> Iterator[tuple[str, str]]:
    """Each by its name."""
    for name, spell in BY_CHARACTER.items():
        yield name, "".join(map(spell, secret))
    for name, (spell_all, _) in IN_BULK.items():
        yield name, spell_all(secret)


def windows(secret: str, name: str) -> set[str]:
    """The parts of a spelling that may occur nowhere. Of a secret that is encoded with more around it, these
    are the parts that depend on the secret alone."""
    count = least(secret)
    if name in BY_CHARACTER:
        parts = [*map(BY_CHARACTER[name], secret)]
        return {"".join(parts[at : at + count]) for at in range(len(parts) - count + 1)}
    spell, each = IN_BULK[name]
    raw = secret.encode()
    wide = max(1, len(raw) // len(secret))
    size = max(4, -(-int(count * wide * each * 10) // 10) + 2)
    text = spell(secret)
    if "more" in name:
        other = spell("".join(chr(ord("z") - ord(char) % 7) if char.isascii() else char for char in secret))
        if len(other) == len(text):
            parts = [
                at for at, (char, another) in enumerate(zip(text, other, strict=True)) if char != another
            ]
            text = text[parts[0] : parts[-1] + 1]
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def left(secret: str, name: str, masked: str) -> set[str]:
    """What a text that was masked still gives away."""
    bare = masked.replace("***", "\0")
    return {window for window in windows(secret, name) if window in bare}
