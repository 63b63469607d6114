"""The forms in which a known secret could come back, and what a text is searched for to find each of them."""

import base64
import json
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from baselinekit.secretlike.unescaped import Unescaped

SHORTEST = 4
"""A shorter secret cannot be kept: it is everywhere."""

CHUNK = 16
"""Any piece of a long secret that is twice as long, and encoded, holds a chunk of it that is looked for."""

_SHORTEST_LINE = 6
_SHORTEST_MIXED_LINE = 4
_SHORTEST_FRAGMENT = 8
_LONG = 48
MOST_SHORT_BYTES = 9
"""What a secret of so few bytes decides of a longer text in base64 is looked for to the bit."""
_FENCE = re.compile(r"\s*-----[A-Z ]+-----\s*")
_NOT_TELLING = re.compile(r"[\W_]+")
_MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*\d)|(?=.*[a-z]).*[A-Z]")
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_BASE32 = string.ascii_uppercase + "234567"

Kind = str
"""How a text is read where a needle is looked for: `plain` as it is, `base64` also with the letters for URLs,
`hex` in small letters, `base32` in capitals; `chunk` stands for the whole run around it."""


@dataclass(frozen=True, slots=True)
class Needle:
    """What is looked for, the name of the secret that it gives away, and how the text is read. Where what a
    needle holds is little, `around` says what has to stand beside it, to the bit."""

    name: str
    kind: Kind
    around: re.Pattern[str] | None = None


Needles = Mapping[str, list[Needle]]
Named = tuple[str, str]


def needles_of(secrets: Mapping[str, str]) -> tuple[Needles, Needles]:
    """What to look for in a text as it stands, and in one without escapes."""
    kept = sorted(
        ((value, name) for name, value in secrets.items() if len(value) >= SHORTEST),
        key=lambda one: len(one[0]),
        reverse=True,
    )
    found: dict[str, dict[tuple[Kind, str], Needle]] = {}

    def add(text: str, name: str, kind: Kind, around: re.Pattern[str] | None = None) -> None:
        if len(text) >= SHORTEST:
            pattern = around.pattern if around else ""
            found.setdefault(text, {}).setdefault((kind, pattern), Needle(name, kind, around))

    bare: dict[str, list[Needle]] = {}
    for value, name in kept:
        for form in _written(value):
            add(form, name, "plain")
            for unescaped in _bare(form):
                bare.setdefault(unescaped, [Needle(name, "plain")])
    for value, name in kept:
        for kind, core, around in _encoded(value):
            add(core, name, kind, around)
    return {text: list(needles.values()) for text, needles in found.items()}, bare


def _written(secret: str) -> Iterator[str]:
    """As it is, on one line, and each of its lines alone; and with other marks for the same letters, or with
    its bytes taken for letters, as a header's are."""
    yield secret
    if len(joined := " ".join(secret.split())) >= SHORTEST:
        yield joined
    yield from lines_of(secret)
    if not secret.isascii():
        yield unicodedata.normalize("NFC", secret)
        yield unicodedata.normalize("NFD", secret)
        yield _raw(secret).decode("latin-1")
        yield _raw(secret).decode("cp1252", "replace")


def lines_of(secret: str) -> Iterator[str]:
    """The lines of a secret of several lines, as far as they tell something: a diff shows it line by line."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", secret)]
    if len(lines) > 1:
        for line in lines:
            telling = _NOT_TELLING.sub("", line)
            least = _SHORTEST_MIXED_LINE if _MIXED.match(telling) else _SHORTEST_LINE
            if len(telling) >= least and not _FENCE.fullmatch(line):
                yield line


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _bare(secret: str) -> Iterator[str]:
    """The secret as `Unescaped` leaves it. A backslash at its end may be taken for the escape of what
    follows; and where others are escaped one by one, it cannot be told which of them were its own."""
    for form in (secret, secret.replace("\\", "")) if "\\" in secret else (secret,):
        whole = Unescaped(form).text
        bare = whole.rstrip("\\")
        if len(bare) >= SHORTEST - (len(secret) >= 2 * SHORTEST):
            yield bare
        elif len(whole) >= SHORTEST:
            yield whole


def _encoded(secret: str) -> Iterator[tuple[Kind, str, re.Pattern[str] | None]]:
    for form in dict.fromkeys((secret, *lines_of(secret))):
        raw = _raw(form)
        yield "hex", raw.hex(), None
        if len(raw) <= MOST_SHORT_BYTES:
            yield from _to_the_bit(raw, "base64", _BASE64)
            yield from _to_the_bit(raw, "base32", _BASE32)
        else:
            yield from (("base64", core, None) for core in _in_base64(raw))
            yield from (("base32", core, None) for core in _in_base32(raw))
    for inner in _in_base64(_raw(secret)):
        yield from (("base64", core, None) for core in _in_base64(inner.encode()))
    for other in _escaped(secret):
        yield from (("base64", core, None) for core in _in_base64(other))
    raw = _raw(secret)
    yield from _chunks("hex chunk", raw.hex())
    for core in _in_base64(raw):
        yield from _chunks("chunk", core)


def _chunks(kind: Kind, long: str) -> Iterator[tuple[Kind, str, None]]:
    if len(long) >= _LONG:
        for at in range(0, len(long) - CHUNK + 1, CHUNK):
            yield kind, long[at : at + CHUNK], None


def _escaped(secret: str) -> Iterator[bytes]:
    """What may be in base64 instead of the secret: a JSON text that holds it, or a URL; or UTF-16."""
    for form in (
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(_raw(secret), ""),
    ):
        if form != secret:
            yield _raw(form)
    yield secret.encode("utf-16-le", "surrogatepass")


def _in_base64(raw: bytes) -> Iterator[str]:
    """What of a text in base64 the secret alone decides, at each of the three places that it can have."""
    return _cores(raw, 3, 6, lambda one: base64.b64encode(one).decode())


def _in_base32(raw: bytes) -> Iterator[str]:
    """As `_in_base64`, at each of five places."""
    return _cores(raw, 5, 5, lambda one: base64.b32encode(one).decode())


def _cores(raw: bytes, places: int, bits: int, encode: Callable[[bytes], str]) -> Iterator[str]:
    yield encode(raw).rstrip("=")
    for shift in range(places):
        core = encode(b"\0" * shift + raw)[-(-8 * shift // bits) : 8 * (shift + len(raw)) // bits]
        if len(core) >= _SHORTEST_FRAGMENT:
            yield core


def _to_the_bit(raw: bytes, kind: Kind, letters: str) -> Iterator[tuple[Kind, str, re.Pattern[str] | None]]:
    """Of a short secret even the letters at both ends count that only in part are its own."""
    each = len(letters).bit_length() - 1
    for shift in range(3 if each == 6 else 5):
        bits = "".join(f"{byte:08b}" for byte in raw)
        head = 8 * shift % each
        row = "." * head + bits
        row += "." * (-len(row) % each)
        groups = [row[at : at + each] for at in range(0, len(row), each)]
        whole = [number for number, group in enumerate(groups) if "." not in group]
        core = "".join(letters[int(groups[number], 2)] for number in whole)
        before, after = groups[: whole[0]], groups[whole[-1] + 1 :]
        written = "".join((*(_any(one, letters) for one in before), re.escape(core)))
        ending = "".join(_any(one, letters) for one in after)
        yield kind, core, re.compile(f"{written}{ending}")


def _any(bits: str, letters: str) -> str:
    """A letter of which only these bits are known."""
    fitting = (
        letter
        for number, letter in enumerate(letters)
        if all(bit in (".", other) for bit, other in zip(bits, f"{number:0{len(bits)}b}", strict=True))
    )
    return f"[{re.escape(''.join(fitting))}]"
