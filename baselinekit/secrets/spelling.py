"""The forms in which a known secret could come back: encoded, escaped, or both."""

import base64
import json
import re
import string
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html.entities import name2codepoint
from urllib.parse import quote

# A text without its escapes, and where each of its characters stood before: `%41`, `\u0041`, `\x41`,
# `\101`, `&#65;`, `\"` and the like, also nested in one another. Two spellings of a text become one.


_MOST_ROUNDS = 4
_QUOTED = "'\"'\"'"
"""How a shell is given a quote."""
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ENTITIES = {name: chr(code) for name, code in name2codepoint.items()} | {"apos": "'"}
_HEX = "[0-9A-Fa-f]"
_LAST_CHARACTER = 0x10FFFF


_H = "[0-9A-Fa-f]"
_PERCENT = rf"(?:25)*(?:[0-7]{_H}|[c-fC-F]{_H}(?:%(?:25)*[89abAB]{_H}){{1,3}})"
_X = rf"x(?:[0-7]{_H}|[c-fC-F]{_H}(?:\\+x[89abAB]{_H}){{1,3}})"
_OCTAL = r"[01][0-7]{2}|3[0-7]{2}(?:\\+2[0-7]{2}){1,3}"
_ESCAPE = re.compile(
    rf"%(?P<percent>{_PERCENT})"
    rf"|\\(?<!\\\\)\\*(?:(?P<x>{_X})|(?P<octal>{_OCTAL})"
    rf"|u(?P<high>[dD][89abAB]{_H}{{2}})\\+u(?P<low>[dD][c-fC-F]{_H}{{2}})"
    rf"|u(?P<unit>{_H}{{4}})|u\{{(?P<braced>{_H}{{1,6}})\}}|U(?P<long>{_H}{{8}})"
    rf"|x(?P<latin>{_H}{{2}})|(?P<sign>[ntrbf])|(?P<other>[^\w\s]))"
    rf"|&(?:amp;)*(?:\#0{{0,9}}(?P<decimal>[0-9]{{1,7}});?|\#[xX]0{{0,9}}(?P<hex>{_H}{{1,6}});?"
    r"|(?P<named>[A-Za-z]{2,8}[0-9]{0,2});)"
    r"|'(?P<quoted>\"'\"|\\{1,8}')'"
)
"""Each alternative begins with a character of its own, so that the search for it is quick."""
_ROUGHLY = re.compile(rf"%{_H}{{2}}|\\[\s\S]|&(?:\#|[A-Za-z]{{2,8}};)|'(?:\"'\"|\\+)'")
_ONE_PERCENT = re.compile(rf"{_H}{{2}}(?=%|\Z)")
_ONE_X = re.compile(rf"x({_H}{{2}})")
_ONE_OCTAL = re.compile(r"[0-7]{3}")


class Moved:
    """A text that was made of another one, and the way back to it."""

    def __init__(self, text: str, pieces: Iterable[tuple[int, int, str]] = ()):
        """`pieces`: what stood where in the text, in order, and what stands there instead."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._before: list[tuple[int, int]] = []
        parts: list[str] = []
        position = length = 0
        for start, end, instead in pieces:
            parts += (text[position:start], instead)
            length += start - position
            self._starts.append(length)
            length += len(instead)
            self._ends.append(length)
            self._before.append((start, end))
            position = end
        parts.append(text[position:])
        self.text = "".join(parts) if self._before else text

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text stood before, whole escapes at both ends."""
        return self._place(start, 0), self._place(end - 1, 1)

    def _place(self, position: int, side: int) -> int:
        number = bisect_right(self._starts, position) - 1
        while number >= 0 and self._starts[number] == self._ends[number] == position and side == 1:
            number -= 1  # what was left out in front of a character does not belong to it
        if number < 0:
            return position + side
        if position < self._ends[number]:
            return self._before[number][side]
        return self._before[number][1] + position - self._ends[number] + side


class Unescaped:
    """A text without escapes, however deep they are nested."""

    def __init__(self, text: str, alphabet: Container[str] | None = None):
        """`alphabet`: the characters that matter. Where no escape stands for one of them, the text stays."""
        self._rounds: list[Moved] = []
        self.text = text
        for _ in range(_MOST_ROUNDS):
            pieces = list(_escapes(self.text)) if has_escapes(self.text) else []
            meant = set().union(*{instead for _, _, instead in pieces})
            if not pieces or not (alphabet is None or any(one in alphabet for one in meant)):
                break
            moved = Moved(self.text, pieces)
            self._rounds.append(moved)
            self.text = moved.text
        self.with_plus = self.text
        """`+` may be itself, or the blank of a form."""
        self.text = self.text.replace("+", " ")

    def rounds(self) -> Iterator[tuple[str, Callable[[int, int], tuple[int, int]]]]:
        """What each round left, and the way back from it."""
        for number, moved in enumerate(self._rounds[:-1], 1):
            yield moved.text, partial(_origin, self._rounds[:number])

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where a stretch of the text stood in the one with the escapes."""
        return _origin(self._rounds, start, end)


def _origin(rounds: Sequence[Moved], start: int, end: int) -> tuple[int, int]:
    for moved in reversed(rounds):
        start, end = moved.origin(start, end)
    return start, end


def has_escapes(text: str) -> bool:
    return "%" in text or "\\" in text or "&" in text or _QUOTED in text


def may_escape(text: str, alphabet: Container[str]) -> bool:
    """Whether an escape may stand for one of the characters that matter. Most texts have a few kinds of
    escapes, and many of each."""
    return has_escapes(text) and any(_matters(written, alphabet) for written in set(_ROUGHLY.findall(text)))


def _matters(written: str, alphabet: Container[str]) -> bool:
    if written[0] == "%" and len(written) == 3:
        code = int(written[1:], 16)
        return code > 127 or chr(code) in alphabet
    if written[0] == "\\" and written[-1] in _SIGNS:
        return _SIGNS[written[-1]] in alphabet
    return written[0] != "\\" or written[-1] in alphabet or written[-1] in "\\%&'"


def _escapes(text: str) -> Iterator[tuple[int, int, str]]:
    known: dict[str, str | None] = {}
    for match in _ESCAPE.finditer(text):
        written = match[0]
        if written not in known:
            known[written] = _meant(match)
        meant = known[written]
        if meant is not None:
            yield *match.span(), meant


def _meant(match: re.Match[str]) -> str | None:
    kind, written = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "sign":
        return _SIGNS[written]
    if kind == "other":
        return written
    if kind == "quoted":
        return "'"
    if kind == "named":
        return _ENTITIES.get(written)
    if kind in ("percent", "x", "octal"):
        return _decoded(kind, written)
    if kind == "low":
        return chr(0x10000 + (int(match["high"], 16) - 0xD800 << 10) + int(written, 16) - 0xDC00)
    code = int(written, 10 if kind == "decimal" else 16)
    return chr(code) if code <= _LAST_CHARACTER else None


def _decoded(kind: str, written: str) -> str | None:
    if kind == "percent":
        codes = [int(pair, 16) for pair in _ONE_PERCENT.findall(written)]
    elif kind == "x":
        codes = [int(pair, 16) for pair in _ONE_X.findall(written)]
    else:
        codes = [int(digits, 8) for digits in _ONE_OCTAL.findall(written)]
    try:
        return bytes(codes).decode("utf-8", "surrogatepass")
    except ValueError:
        return None


# The forms in which a known secret could come back, and what a text is searched for to find each of
# them.


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
