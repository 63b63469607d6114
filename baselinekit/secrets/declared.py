"""Where known secrets stand in a text, in every spelling."""

import base64
import binascii
import json
import re
import string
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal
from urllib.parse import quote

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.scan import Moved, RecentTexts, TextScan, Unescaped, may_escape

# The forms in which a known secret could come back, and what a text is searched for to find each of
# them.

SHORTEST_WITHIN = 6
"""A shorter secret is masked as a whole value alone (short.py)."""
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
_FENCE = lazy_pattern(r"\s*-----[A-Z ]+-----\s*")
_NOT_TELLING = lazy_pattern(r"[\W_]+")
_MIXED = lazy_pattern(r"(?=.*[A-Za-z])(?=.*\d)|(?=.*[a-z]).*[A-Z]")
_COOKIES = lazy_pattern(r"[\w.-]+=[^;\s]*(?:; [\w.-]+=[^;\s]*)+")
_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_BASE32 = string.ascii_uppercase + "234567"

Kind = str
"""How a text is read where a needle is looked for: `plain` as it is, `base64` also with the letters for URLs,
`hex` in small letters, `base32` in capitals; `chunk` stands for the whole run around it."""


@frozen
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
    yield from cookies_of(secret)
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


def cookies_of(secret: str) -> Iterator[str]:
    """The values in a secret that is a header of several cookies: each comes back alone."""
    if "; " in secret and _COOKIES.fullmatch(secret):
        for pair in secret.split("; "):
            _, _, value = pair.partition("=")
            if len(value) >= _SHORTEST_FRAGMENT:
                yield value


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
            yield from (("base32", core, None) for core in _cores(raw, 5, 5, base64.b32encode))
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
    return _cores(raw, 3, 6, base64.b64encode)


def _cores(raw: bytes, places: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    yield encode(raw).decode().rstrip("=")
    for shift in range(places):
        core = encode(b"\0" * shift + raw)[-(-8 * shift // bits) : 8 * (shift + len(raw)) // bits].decode()
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
_WRAP = lazy_pattern(
    r"(?<=[A-Za-z0-9+/_-]{40})(?:\\{1,8}[nrt]|[\"'] ?[+.](?=\s)|[\s\"',()\\]|%0[aAdD]|&\#1[03];|<br ?/?>)"
    r"{1,200}(?:[-+?>|] {1,40})?(?=[A-Za-z0-9+/_-])"
)
"""The end of a line of a longer text in base64, also where it is escaped, quoted or a line of a diff."""
_PAIRS = lazy_pattern(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{2}(?:[\s:,-]{1,2}(?:0x)?[0-9A-Fa-f]{2}){3,}(?![0-9A-Fa-f])"
)
_BETWEEN_PAIRS = lazy_pattern(r"[\s:,-]+(?:0x)?")
_HEX_AS_H = bytes.maketrans(b"0123456789abcdefABCDEF" + b" \t\r\n:,-", b"h" * 22 + b"s" * 7)
"""Digits become `h`, and what may stand between two bytes `s`. A letter `h` or `s` of the text does no harm:
it is only a first look."""
_FOUR_PAIRS = (b"hhshhshhshh", b"hhsshhsshhsshh")
_FOUR_WITH_X = (b"hhshxhhshxhhshxhh", b"hhsshxhhsshxhhsshxhh")
_DEEPEST = 3
_WORST = 8
"""Of so many letters of a text, one at most is none."""
_IN_RUNS = string.ascii_letters + string.digits + "+/_-="
_PADDING = lazy_pattern("={1,6}")
_HEX_DIGITS = lazy_pattern(r"(?:[2-7][0-9A-Fa-f]){4}(?:[0-9A-Fa-f]{2})+")
_BASE32_TEXT = lazy_pattern(r"[A-Z2-7]+|[a-z2-7]+")
_BASE64_TEXT = lazy_pattern(
    r"(?:[I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){2}"
)
"""How the encoding of a text begins whose first letters are ASCII."""

_READ: dict[Kind, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": lambda text: _as_ascii(text).translate(_FOR_URLS).decode(),
    "hex": lambda text: _as_ascii(text).lower().decode(),
    "base32": lambda text: _as_ascii(text).upper().decode(),
    "chunk": lambda text: _as_ascii(text).translate(_FOR_URLS).decode(),
    "hex chunk": lambda text: _as_ascii(text).lower().decode(),
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
        self._recent: RecentTexts[tuple[Found, ...]] = RecentTexts()

    def __bool__(self) -> bool:
        return bool(self._needles or self._others)

    def find(self, text: str) -> list[Found]:
        """Every place, in order; those that overlap are one."""
        own: tuple[Found, ...] = ()
        if self._needles and len(text) >= SHORTEST:
            own = self._recent.of(text, lambda: tuple(self._find(text, 0)))
        return merged((*own, *self._others.find(text))) if self._others else list(own)

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
        kinds = _as_ascii(text).translate(_HEX_AS_H)
        if any(four in kinds for four in _FOUR_PAIRS + (_FOUR_WITH_X if "0x" in text else ())):
            for match in _PAIRS.finditer(text):  # in hex with something between the bytes
                between = ((gap.start(), gap.end(), "") for gap in _BETWEEN_PAIRS.finditer(match[0]))
                whole = Moved(match[0], between)
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


def _as_ascii(text: str) -> bytes:
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
                look, last = TextScan(read), 0  # the runs that hold a piece of a long secret
                for place, end in _places(read, letters):
                    if place >= last and (run := look.run(place, end)):
                        last = run[1]
                        yield *run, needle.name
            else:
                for start, end in _places(read, letters):
                    yield (
                        *(_padded(text, start, end) if needle.kind != "plain" else (start, end)),
                        needle.name,
                    )


def _padded(text: str, start: int, end: int) -> tuple[int, int]:
    padding = _PADDING.match(text, end)
    return start, padding.end() if padding else end


def _places(text: str, needle: str) -> Iterator[tuple[int, int]]:
    place = text.find(needle)
    while place >= 0:
        yield place, place + len(needle)
        place = text.find(needle, place + 1)


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
    if _BASE32_TEXT.fullmatch(plain):
        cut = plain[: len(plain) - (len(plain) % 8 in (1, 3, 6))].upper()
        yield from _texts(base64.b32decode(cut + "=" * (-len(cut) % 8)))
    if not _BASE64_TEXT.match(plain):
        return
    cut = plain[: len(plain) - (len(plain) % 4 == 1)].replace("-", "+").replace("_", "/")
    yield from _texts(binascii.a2b_base64(cut + "=" * (-len(cut) % 4)))


def _texts(raw: bytes) -> Iterator[str]:
    """What bytes say, if they say something. At their end may be what does not belong to them."""
    for coding in ("utf-8", "utf-16-le") if b"\0" in raw else ("utf-8",):
        text = raw.decode(coding, "replace")
        if _WORST * text.count("\ufffd") <= len(text):
            yield text
