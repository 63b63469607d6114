"""Three hundred secrets, every spelling in which one could come back, and what none may leave behind."""

import base64
import html
import json
import random
import shlex
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


def escaped_by(one: Callable[[str], str]) -> Callable[[str], list[str]]:
    return lambda secret: [one(character) for character in secret]


def _percent(digits: str) -> Callable[[str], str]:
    return lambda character: "".join(f"%{byte:{digits}}" for byte in character.encode())


def _units(written: str) -> Callable[[str], str]:
    def one(character: str) -> str:
        raw = character.encode("utf-16-be")
        return "".join(
            written.format(int.from_bytes(raw[at : at + 2], "big")) for at in range(0, len(raw), 2)
        )

    return one


def _mixed(character: str) -> str:
    ways = (str, _percent("02X"), _units("\\u{:04x}"), lambda one: f"&#{ord(one)};", _percent("02x"))
    return ways[ord(character) % len(ways) if character not in "\\&%" else 1](character)


BY_CHARACTER: dict[str, Callable[[str], list[str]]] = {
    "plain": list,
    "percent": escaped_by(_percent("02X")),
    "percent, small": escaped_by(_percent("02x")),
    "percent, twice": escaped_by(lambda one: quote(_percent("02X")(one))),
    "percent, where needed": escaped_by(lambda one: quote(one, safe="")),
    "form": escaped_by(quote_plus),
    "\\u": escaped_by(_units("\\u{:04x}")),
    "\\U in capitals": escaped_by(_units("\\u{:04X}")),
    "\\u, twice": escaped_by(_units("\\\\u{:04x}")),
    "\\x": escaped_by(lambda one: "".join(f"\\x{byte:02x}" for byte in one.encode())),
    "\\101": escaped_by(lambda one: "".join(f"\\{byte:03o}" for byte in one.encode())),
    "entities": escaped_by(lambda one: f"&#{ord(one)};"),
    "entities in hex": escaped_by(lambda one: f"&#x{ord(one):X};"),
    "html": escaped_by(html.escape),
    "html, twice": escaped_by(lambda one: html.escape(html.escape(one))),
    "json": escaped_by(lambda one: json.dumps(one)[1:-1]),
    "json, no ascii": escaped_by(lambda one: json.dumps(one, ensure_ascii=False)[1:-1]),
    "json in json": escaped_by(lambda one: json.dumps(json.dumps(one)[1:-1])[1:-1]),
    "json in a url": escaped_by(lambda one: quote(json.dumps(one)[1:-1], safe="")),
    "mixed": escaped_by(_mixed),
}
"""Spellings that go character by character: what each of them becomes."""


def _as_hex(secret: str) -> str:
    return secret.encode().hex()


def _in_lines(text: str, columns: int, end: str = "\n") -> str:
    return end.join(text[at : at + columns] for at in range(0, len(text), columns))


def _b64(raw: str | bytes) -> str:
    return base64.b64encode(raw.encode() if isinstance(raw, str) else raw).decode()


def _b32(raw: str) -> str:
    return base64.b32encode(raw.encode()).decode()


_LONG = "The quick brown fox jumps over the lazy dog, twice and then once more. "

IN_BULK: dict[str, tuple[Callable[[str], str], float]] = {
    "hex": (_as_hex, 2),
    "HEX": (lambda secret: _as_hex(secret).upper(), 2),
    "HeX": (lambda secret: _swapped(_as_hex(secret)), 2),
    "hex:hex": (lambda secret: secret.encode().hex(":"), 3),
    "HEX HEX": (lambda secret: secret.encode().hex(" ").upper(), 3),
    "hex-hex": (lambda secret: secret.encode().hex("-"), 3),
    "base64": (_b64, 4 / 3),
    "base64, for URLs": (
        lambda secret: base64.urlsafe_b64encode(secret.encode()).decode().rstrip("="),
        4 / 3,
    ),
    "base64, escaped": (lambda secret: quote(_b64(secret), safe=""), 4 / 3),
    "base64, slashes": (lambda secret: _b64(secret).replace("/", "\\/"), 4 / 3),
    **{
        f"base64 of more, {shift}": (
            lambda secret, shift=shift: _b64("u" * shift + secret + ":!" + "v" * shift),
            4 / 3,
        )
        for shift in range(3)
    },
    **{
        f"base64 wrapped at {columns} from {shift}, {how}": (
            lambda secret, columns=columns, shift=shift, end=end: _in_lines(
                _b64(_LONG[: 40 + shift] + secret + _LONG), columns, end
            ),
            4 / 3,
        )
        for columns in (64, 76)
        for shift in (0, 7, 14)
        for how, end in (("lines", "\n"), ("escaped", "\\n"), ("windows", "\r\n  "), ("diff", "\n+ "))
    },
    "double base64": (lambda secret: _b64(_b64(secret)), 16 / 9),
    **{
        f"double base64 of more, {shift}": (
            lambda secret, shift=shift: _b64("x" * (shift // 3) + _b64("u" * shift + secret + "end")),
            16 / 9,
        )
        for shift in range(9)
    },
    "base32": (_b32, 8 / 5),
    "base32, small": (lambda secret: _b32(secret).lower().rstrip("="), 8 / 5),
    **{f"base32 of more, {n}": (lambda secret, n=n: _b32("u" * n + secret + "vw"), 8 / 5) for n in range(5)},
    "shell": (lambda secret: shlex.quote(secret), 1),
}
"""Spellings of the whole, and how many characters of them stand for one of the secret."""

_NOT_FOR_SHORT = ("double base64 of more", "base32 of more", "base64 wrapped")
_SHORT = 9
"""Of a shorter secret, these hold too little that could be told from any other text."""


def _swapped(text: str) -> str:
    return "".join(one.upper() if at % 3 else one for at, one in enumerate(text))


SECRETS = list(dict.fromkeys(_made()))
assert len(SECRETS) >= 300


def least(secret: str) -> int:
    """So many characters of a secret, one after the other, are too many."""
    return 6 if len(secret) >= 12 else max(2, len(secret) // 2)


def spellings(secret: str) -> Iterator[tuple[str, str]]:
    """Each by its name."""
    for name, spell in BY_CHARACTER.items():
        yield name, "".join(spell(secret))
    for name, (spell_all, _) in IN_BULK.items():
        if not (len(secret.encode()) < _SHORT and name.startswith(_NOT_FOR_SHORT)):
            yield name, spell_all(secret)


def windows(secret: str, name: str, only: str = "") -> set[str]:
    """What of a spelling may stand nowhere. Of what is encoded with more around it, that is what the secret
    alone decides."""
    count = least(secret)
    if name in BY_CHARACTER:
        parts = BY_CHARACTER[name](secret)
        return {"".join(parts[at : at + count]) for at in range(len(parts) - count + 1)}
    spell, each = IN_BULK[name]
    raw = secret.encode()
    wide = max(1, len(raw) // len(secret))
    size = max(4, -(-int(count * wide * each * 10) // 10) + 2)
    text = spell(secret)
    if "more" in name or "wrapped" in name:
        other = spell("".join(chr(ord("z") - ord(one) % 7) if one.isascii() else one for one in secret))
        if len(other) == len(text):
            parts = [at for at, (one, another) in enumerate(zip(text, other, strict=True)) if one != another]
            text = text[parts[0] : parts[-1] + 1]
    return {text[at : at + size] for at in range(len(text) - size + 1)}


def left(secret: str, name: str, masked: str) -> set[str]:
    """What a text that was masked still gives away."""
    bare = masked.replace("***", "\0")
    return {window for window in windows(secret, name) if window in bare}
