"""Where known secrets stand in a text, in every spelling."""

import base64
import binascii
import re
import string
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from baselinekit.secrets.randomness import TextScan
from baselinekit.secrets.spelling import (
    MOST_SHORT_BYTES,
    SHORTEST,
    Kind,
    Moved,
    Needles,
    Unescaped,
    may_escape,
    needles_of,
)

# Which of many strings can occur in a text, told in one pass over it. A text is looked at eight
# characters at a time; each secret that is looked for is known by the eight characters at each place
# where such a step can meet it. What is named here is looked for closely; what is not, cannot be there.


_STEPS: tuple[tuple[int, Literal["Q", "I"]], ...] = ((8, "Q"), (4, "I"))
"""How many characters a step takes, and what `memoryview` calls a number of so many bytes."""
_FEW = 12
"""So many strings are found faster one by one."""
_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_", b"abcdefghijklmnopqrstuvwxyz+/")


def _folded(text: str) -> bytes:
    """One byte for each character. Differences that some encodings do not make are not made here."""
    return text.encode("ascii", "replace").translate(_FOLDED)


class Index:
    """Strings that are looked for together."""

    def __init__(self, strings: Iterable[str]):
        groups: dict[int, dict[str, bytes]] = {0: {}}
        for secret in strings:
            raw = _folded(secret)
            width = next((width for width, _ in _STEPS if len(raw) >= 2 * width - 1), 0)
            groups.setdefault(width, {})[secret] = raw
        self._single = groups.pop(0)
        self._seeds: dict[int, dict[int, list[str]]] = {}
        for width, members in groups.items():
            if len(members) <= _FEW and width == _STEPS[-1][0]:
                self._single |= members
                continue
            seeds = self._seeds.setdefault(width, {})
            for secret, raw in members.items():
                for at in range(width):
                    seeds.setdefault(int.from_bytes(raw[at : at + width], sys.byteorder), []).append(secret)
        self._wanted = {width: frozenset(seeds) for width, seeds in self._seeds.items()}
        self._shortest = {width: min(map(len, groups[width])) for width in self._seeds}

    def candidates(self, text: str) -> list[str]:
        """Those that may occur in a text; all that do are among them."""
        data = _folded(text)
        found = {secret: None for secret, raw in self._single.items() if raw in data}
        padded = memoryview(data + b"\0" * (-len(data) % 8))
        for width, kind in _STEPS:
            if width in self._wanted and len(data) >= self._shortest[width]:
                seeds = self._seeds[width]
                for hit in self._wanted[width].intersection(padded.cast(kind)):
                    found |= dict.fromkeys(seeds[hit])
        return list(found)


# Where known secrets stand in a text, in every spelling. A text that holds none is told so quickly: one
# pass names what may stand in it, and only that is looked for closely.


Found = tuple[int, int, str]
"""From where to where, and the name of the secret."""


_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_LONGEST_LINE = 40
_WRAP = re.compile(
    r"(?<=[A-Za-z0-9+/_-]{40})(?:\\{1,8}[nrt]|[\"'] ?[+.](?=\s)|[\s\"',()\\]|%0[aAdD]|&\#1[03];|<br ?/?>)"
    r"{1,200}(?:[-+?>|] {1,40})?(?=[A-Za-z0-9+/_-])"
)
"""The end of a line of a longer text in base64, also where it is escaped, quoted or a line of a diff."""
_PAIRS = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{2}(?:[\s:,-]{1,2}(?:0x)?[0-9A-Fa-f]{2}){3,}(?![0-9A-Fa-f])")
_BETWEEN_PAIRS = re.compile(r"[\s:,-]+(?:0x)?")
_HEX_AS_H = bytes.maketrans(b"0123456789abcdefABCDEF" + b" \t\r\n:,-", b"h" * 22 + b"s" * 7)
"""Digits become `h`, and what may stand between two bytes `s`. A letter `h` or `s` of the text does no harm:
it is only a first look."""
_FOUR_PAIRS = (b"hhshhshhshh", b"hhsshhsshhsshh")
_FOUR_WITH_X = (b"hhshxhhshxhhshxhh", b"hhsshxhhsshxhhsshxhh")
_DEEPEST = 3
_WORST = 8
"""Of so many letters of a text, one at most is none."""
_IN_RUNS = string.ascii_letters + string.digits + "+/_-="
_PADDING = re.compile("={1,6}")
_HEX_DIGITS = re.compile(r"(?:[2-7][0-9A-Fa-f]){4}(?:[0-9A-Fa-f]{2})+")
_BASE32 = re.compile(r"[A-Z2-7]+|[a-z2-7]+")
_BASE64 = re.compile(r"(?:[I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){2}")
"""How the encoding of a text begins whose first letters are ASCII."""

_READ: dict[Kind, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": lambda text: _ascii(text).translate(_FOR_URLS).decode(),
    "hex": lambda text: _ascii(text).lower().decode(),
    "base32": lambda text: _ascii(text).upper().decode(),
    "chunk": lambda text: _ascii(text).translate(_FOR_URLS).decode(),
    "hex chunk": lambda text: _ascii(text).lower().decode(),
}
"""How a text is read where a needle of a kind is looked for: a place in one is a place in the other."""


class Declared:
    """The declared secrets as what a text is searched for."""

    def __init__(self, secrets: Mapping[str, str], others: "Declared | None" = None):
        self._others = others
        self._needles, self._bare = needles_of(secrets)
        self._index, self._bare_index = Index(self._needles), Index(self._bare)
        self._shortest_run = 11 if any(len(secret) <= MOST_SHORT_BYTES for secret in secrets.values()) else 16
        """Twice in base64, four bytes have eleven characters, and ten have sixteen."""
        self._with_blanks = any(" " in needle for needle in self._bare)
        self._alphabet = frozenset("".join((_IN_RUNS, "%\\&", *self._bare)))

    def __bool__(self) -> bool:
        return bool(self._needles or self._others)

    def find(self, text: str) -> list[Found]:
        """Every place, in order; those that overlap are one."""
        found = self._find(text, 0) if self._needles and len(text) >= SHORTEST else []
        return merged((*found, *self._others.find(text))) if self._others else found

    def _find(self, text: str, depth: int) -> list[Found]:
        found = list(self._in(text, depth))
        if may_escape(text, self._alphabet) or (self._with_blanks and "+" in text):
            bare = Unescaped(text, self._alphabet)
            within = list(_stand(bare.text, self._bare, self._bare_index)) if bare.text != text else []
            within += self._in(bare.with_plus, depth) if bare.with_plus != text else ()
            found += ((*bare.origin(start, end), name) for start, end, name in within)
            for other, origin in bare.rounds():
                places = _stand(other, self._needles, self._index)
                found += ((*origin(start, end), name) for start, end, name in places)
        return merged(found)

    def _in(self, text: str, depth: int) -> Iterator[Found]:
        """As it is, encoded, and in what is encoded."""
        yield from _stand(text, self._needles, self._index)
        runs = {text[start:end] for start, end in self._runs(text)}
        if any(len(run) >= _LONGEST_LINE for run in runs):
            whole = Moved(text, ((match.start(), match.end(), "") for match in _WRAP.finditer(text)))
            if whole.text != text:
                within = [*_stand(whole.text, self._needles, self._index), *self._decoded(whole.text, depth)]
                yield from ((*whole.origin(start, end), name) for start, end, name in within)
        if runs:
            yield from self._decoded(text, depth, runs)
        if _has_pairs(text):
            yield from self._in_pairs(text)

    def _in_pairs(self, text: str) -> Iterator[Found]:
        """In hex with something between the bytes."""
        for match in _PAIRS.finditer(text):
            pieces = ((one.start(), one.end(), "") for one in _BETWEEN_PAIRS.finditer(match[0]))
            whole = Moved(match[0], pieces)
            for start, end, name in _stand(whole.text, self._needles, self._index):
                first, last = whole.origin(start, end)
                yield match.start() + first, match.start() + last, name

    def _decoded(self, text: str, depth: int, runs: Iterable[str] | None = None) -> Iterator[Found]:
        """In runs that are the encoding of a text, however deep."""
        if depth >= _DEEPEST:
            return
        if runs is None:
            runs = {text[start:end] for start, end in self._runs(text)}
        inner = {plain for run in runs for plain in _plain_of(run)}
        if not inner or not self._find("\n".join(inner), depth + 1):
            return
        for start, end in self._runs(text):
            for plain in _plain_of(text[start:end]):
                if len(plain) >= SHORTEST and (hits := self._find(plain, depth + 1)):
                    yield *_padded(text, start, end), hits[0][2]
                    break

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Without what is left of a line end that is written as an escape."""
        for start, end in TextScan(text).runs(self._shortest_run):
            is_torn = start > 0 and text[start - 1] == "\\" and text[start] in "nrt"
            yield start + is_torn, end


def covering(text: str, found: Iterable[Found], mask: str) -> str:
    """The text with a mask in each such place."""
    parts: list[str] = []
    position = 0
    for start, end, _ in found:
        parts += (text[position:start], mask)
        position = end
    return "".join((*parts, text[position:])) if position else text


def _ascii(text: str) -> bytes:
    return text.encode("ascii", "replace")


def _stand(text: str, needles: Needles, index: Index) -> Iterator[Found]:
    """Where needles stand in a text, each read as it has to be."""
    readings: dict[Kind, str] = {}
    for letters in index.candidates(text):
        for needle in needles[letters]:
            if needle.kind not in readings:
                readings[needle.kind] = _READ[needle.kind](text)
            read = readings[needle.kind]
            if letters not in read:
                continue
            if needle.around is not None:
                yield from (
                    (*_padded(text, *one.span()), needle.name) for one in needle.around.finditer(read)
                )
            elif needle.kind.endswith("chunk"):
                yield from ((start, end, needle.name) for start, end in _runs_around(read, letters))
            else:
                for start, end in _places(read, letters):
                    yield (
                        *(_padded(text, start, end) if needle.kind != "plain" else (start, end)),
                        needle.name,
                    )


def _has_pairs(text: str) -> bool:
    kinds = _ascii(text).translate(_HEX_AS_H)
    return any(four in kinds for four in _FOUR_PAIRS + (_FOUR_WITH_X if "0x" in text else ()))


def _padded(text: str, start: int, end: int) -> tuple[int, int]:
    padding = _PADDING.match(text, end)
    return start, padding.end() if padding else end


def _places(text: str, needle: str) -> Iterator[tuple[int, int]]:
    place = text.find(needle)
    while place >= 0:
        yield place, place + len(needle)
        place = text.find(needle, place + 1)


def _runs_around(text: str, piece: str) -> Iterator[tuple[int, int]]:
    """The runs that hold a piece of a long secret."""
    look, end = TextScan(text), 0
    for place, last in _places(text, piece):
        if place >= end and (run := look.run(place, last)):
            end = run[1]
            yield run


def merged(found: Iterable[Found]) -> list[Found]:
    """In order, and those that overlap as one."""
    whole: list[Found] = []
    for start, end, name in sorted(found, key=lambda one: (one[0], -one[1])):
        if whole and start < whole[-1][1]:
            before = whole[-1]
            whole[-1] = (before[0], max(before[1], end), before[2])
        else:
            whole.append((start, end, name))
    return whole


def _plain_of(plain: str) -> Iterator[str]:
    """The texts of which a run may be the encoding."""
    if len(plain) % 2 == 0 and _HEX_DIGITS.fullmatch(plain):
        yield from _texts(bytes.fromhex(plain))
    if _BASE32.fullmatch(plain):
        cut = plain[: len(plain) - (len(plain) % 8 in (1, 3, 6))].upper()
        yield from _texts(base64.b32decode(cut + "=" * (-len(cut) % 8)))
    if not _BASE64.match(plain):
        return
    cut = plain[: len(plain) - (len(plain) % 4 == 1)].replace("-", "+").replace("_", "/")
    yield from _texts(binascii.a2b_base64(cut + "=" * (-len(cut) % 4)))


def _texts(raw: bytes) -> Iterator[str]:
    """What bytes say, if they say something. At their end may be what does not belong to them."""
    for coding in ("utf-8", "utf-16-le") if b"\0" in raw else ("utf-8",):
        text = raw.decode(coding, "replace")
        if _WORST * text.count("\ufffd") <= len(text):
            yield text
