"""Finds known secrets in a text, in every spelling."""

import base64
import binascii
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal
from urllib.parse import quote

from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.secrets.scan import ALPHANUMERIC, Moved, RecentTexts, TextScan, Unescaped, may_escape

# The forms in which a known secret could come back, and what a text is searched for to find each of them.

SHORTEST_WITHIN = 6
"""A shorter secret is masked only as a whole value (short.py)."""
SHORTEST = 4
"""A shorter secret cannot be searched for: it would be found everywhere."""

CHUNK = 16
"""Any encoded piece of a long secret that is twice as long contains a chunk that is searched for."""

_SHORTEST_LINE = 6
_SHORTEST_MIXED_LINE = 4
_SHORTEST_FRAGMENT = 8
_LONG = 48
MOST_SHORT_BYTES = 9
"""Secrets with at most so many bytes are searched for in base64 and base32 bit by bit."""
_FENCE = lazy_pattern(r"\s*-----[A-Z ]+-----\s*")
_NON_LETTERS = lazy_pattern(r"[\W_]+")
_MIXED = lazy_pattern(r"(?=.*[A-Za-z])(?=.*\d)|(?=.*[a-z]).*[A-Z]")
_COOKIES = lazy_pattern(r"[\w.-]+=[^;\s]*(?:; [\w.-]+=[^;\s]*)+")
_HEX_SECRET = lazy_pattern(r"[0-9a-f]+(?:-[0-9a-f]+)*")
_GUID_DIGITS = 32
_BASE64 = ALPHANUMERIC + "+/"
_BASE32 = ALPHANUMERIC[:26] + "234567"

Kind = str
"""How a text is read to search for a needle: `plain` as it is, `base64` also with the URL-safe letters, `hex`
in lower case, `base32` in upper case; a `chunk` stands for the whole run around it."""


@frozen
class Needle:
    """The name of the secret that a searched text reveals, and how the text is read. If the needle is short,
    `around` matches it together with the characters beside it, bit by bit."""

    name: str
    kind: Kind
    around: re.Pattern[str] | None = None


Needles = Mapping[str, list[Needle]]
Named = tuple[str, str]


def needles_of(secrets: Mapping[str, str]) -> tuple[Needles, Needles]:
    """Return what to search for in a text as it is, and in one without escapes."""
    sorted_secrets = sorted(
        ((value, name) for name, value in secrets.items() if len(value) >= SHORTEST),
        key=lambda pair: len(pair[0]),
        reverse=True,
    )
    needles_by_text: dict[str, dict[tuple[Kind, str], Needle]] = {}

    def add(text: str, name: str, kind: Kind, around: re.Pattern[str] | None = None) -> None:
        if len(text) >= SHORTEST:
            pattern = around.pattern if around else ""
            needles_by_text.setdefault(text, {}).setdefault((kind, pattern), Needle(name, kind, around))

    unescaped_needles: dict[str, list[Needle]] = {}
    for value, name in sorted_secrets:
        for form in _spellings(value):
            add(form, name, "plain")
            for unescaped in _unescaped_forms(form):
                unescaped_needles.setdefault(unescaped, [Needle(name, "plain")])
        for digits in (digits for digits in hex_spellings(value) if len(digits) >= SHORTEST_WITHIN):
            add(digits, name, "hex")
            unescaped_needles.setdefault(digits, []).append(Needle(name, "hex"))
    for value, name in sorted_secrets:
        for kind, core, around in _encoded_cores(value):
            add(core, name, kind, around)
    return {text: list(needles.values()) for text, needles in needles_by_text.items()}, unescaped_needles


def _spellings(secret: str) -> Iterator[str]:
    """Yield the secret as it is, on one line, and each of its lines alone; in other Unicode normal forms; and
    with its bytes decoded as Latin-1, as in a header."""
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
    """Yield the lines of a secret with several lines that reveal something: a diff shows it line by line."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", secret)]
    if len(lines) > 1:
        for line in lines:
            letters = _NON_LETTERS.sub("", line)
            shortest = _SHORTEST_MIXED_LINE if _MIXED.match(letters) else _SHORTEST_LINE
            if len(letters) >= shortest and not _FENCE.fullmatch(line):
                yield line


def cookies_of(secret: str) -> Iterator[str]:
    """Yield the values in a secret that is a header of several cookies: each may come back alone."""
    if "; " in secret and _COOKIES.fullmatch(secret):
        for pair in secret.split("; "):
            _, _, value = pair.partition("=")
            if len(value) >= _SHORTEST_FRAGMENT:
                yield value


def hex_spellings(secret: str) -> Iterator[str]:
    """Yield a secret of hexadecimal digits in lower case, with its hyphens, without them, and as a GUID: its
    case and its hyphens mean nothing, and a service may write it in another way."""
    written = secret.strip("{} \t\r\n").lower()
    digits = written.replace("-", "")
    if _HEX_SECRET.fullmatch(written) and (len(digits) == _GUID_DIGITS or not digits.isdigit()):
        yield from dict.fromkeys((written, digits))
        if len(digits) == _GUID_DIGITS:
            yield "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unescaped_forms(secret: str) -> Iterator[str]:
    """Yield the secret as `Unescaped` leaves it. A backslash at its end may be taken for an escape of what
    follows; and if backslashes are escaped one by one, it is not known which of them belong to the secret."""
    for form in (secret, secret.replace("\\", "")) if "\\" in secret else (secret,):
        unescaped = Unescaped(form).text
        stripped = unescaped.rstrip("\\")
        if len(stripped) >= SHORTEST - (len(secret) >= 2 * SHORTEST):
            yield stripped
        elif len(unescaped) >= SHORTEST:
            yield unescaped


def _encoded_cores(secret: str) -> Iterator[tuple[Kind, str, re.Pattern[str] | None]]:
    for form in dict.fromkeys((secret, *lines_of(secret))):
        raw = _raw(form)
        yield "hex", raw.hex(), None
        if len(raw) <= MOST_SHORT_BYTES:
            yield from _bit_exact_needles(raw, "base64", _BASE64)
            yield from _bit_exact_needles(raw, "base32", _BASE32)
        else:
            yield from (("base64", core, None) for core in _in_base64(raw))
            yield from (("base32", core, None) for core in _cores(raw, 5, 5, base64.b32encode))
    for encoded in _in_base64(_raw(secret)):
        yield from (("base64", core, None) for core in _in_base64(encoded.encode()))
    for alternative in _alternatives_in_base64(secret):
        yield from (("base64", core, None) for core in _in_base64(alternative))
    raw = _raw(secret)
    yield from _chunks("hex chunk", raw.hex())
    for core in _in_base64(raw):
        yield from _chunks("chunk", core)


def _chunks(kind: Kind, long: str) -> Iterator[tuple[Kind, str, None]]:
    if len(long) >= _LONG:
        for at in range(0, len(long) - CHUNK + 1, CHUNK):
            yield kind, long[at : at + CHUNK], None


def _alternatives_in_base64(secret: str) -> Iterator[bytes]:
    """Yield what may be in base64 instead of the secret: JSON or a URL that contains it, or UTF-16."""
    for form in (
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(_raw(secret), ""),
    ):
        if form != secret:
            yield _raw(form)
    yield secret.encode("utf-16-le", "surrogatepass")


def _in_base64(raw: bytes) -> Iterator[str]:
    """Yield the characters of a base64 text that the secret alone determines, for each of its three
    offsets."""
    return _cores(raw, 3, 6, base64.b64encode)


def _cores(raw: bytes, places: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    yield encode(raw).decode().rstrip("=")
    for shift in range(places):
        core = encode(b"\0" * shift + raw)[-(-8 * shift // bits) : 8 * (shift + len(raw)) // bits].decode()
        if len(core) >= _SHORTEST_FRAGMENT:
            yield core


def _bit_exact_needles(
    raw: bytes, kind: Kind, letters: str
) -> Iterator[tuple[Kind, str, re.Pattern[str] | None]]:
    """Yield patterns for a short secret that also match the letters at both ends that it determines only
    partly."""
    bits_per_letter = len(letters).bit_length() - 1
    for shift in range(3 if bits_per_letter == 6 else 5):
        bits = "".join(f"{byte:08b}" for byte in raw)
        head_bits = 8 * shift % bits_per_letter
        bit_row = "." * head_bits + bits
        bit_row += "." * (-len(bit_row) % bits_per_letter)
        groups = [bit_row[at : at + bits_per_letter] for at in range(0, len(bit_row), bits_per_letter)]
        whole_groups = [number for number, group in enumerate(groups) if "." not in group]
        core = "".join(letters[int(groups[number], 2)] for number in whole_groups)
        before, after = groups[: whole_groups[0]], groups[whole_groups[-1] + 1 :]
        before_pattern = "".join((*(_letter_class(group, letters) for group in before), re.escape(core)))
        after_pattern = "".join(_letter_class(group, letters) for group in after)
        yield kind, core, re.compile(f"{before_pattern}{after_pattern}")


def _letter_class(bits: str, letters: str) -> str:
    """Return a pattern for a letter of which only these bits are known."""
    matching = (
        letter
        for number, letter in enumerate(letters)
        if all(
            bit in (".", letter_bit) for bit, letter_bit in zip(bits, f"{number:0{len(bits)}b}", strict=True)
        )
    )
    return f"[{re.escape(''.join(matching))}]"


# Which of many strings can occur in a text, found in one pass over it. A text is read in steps of eight
# characters; each secret is indexed by the eight characters at every offset that a step can hit. A candidate
# is then searched for exactly; a string that is no candidate cannot be in the text.

_STEPS: tuple[tuple[int, Literal["Q", "I"]], ...] = ((8, "Q"), (4, "I"))
"""How many characters a step has, and the format of `memoryview` for a number with so many bytes."""
_MAX_SINGLE = 12
"""Up to so many strings are found faster one by one."""
_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-_", b"abcdefghijklmnopqrstuvwxyz+/")


def _fold(text: str) -> bytes:
    """Return one byte per character, without the differences that some encodings ignore, such as case."""
    return text.encode("ascii", "replace").translate(_FOLDED)


class Index:
    """Strings that are searched for together."""

    def __init__(self, strings: Iterable[str]):
        groups: dict[int, dict[str, bytes]] = {0: {}}
        for secret in strings:
            raw = _fold(secret)
            width = next((width for width, _ in _STEPS if len(raw) >= 2 * width - 1), 0)
            groups.setdefault(width, {})[secret] = raw
        self._single = groups.pop(0)
        self._seeds: dict[int, dict[int, list[str]]] = {}
        for width, members in groups.items():
            if len(members) <= _MAX_SINGLE and width == _STEPS[-1][0]:
                self._single |= members
                continue
            seeds = self._seeds.setdefault(width, {})
            for secret, raw in members.items():
                for at in range(width):
                    seeds.setdefault(int.from_bytes(raw[at : at + width], sys.byteorder), []).append(secret)
        self._wanted = {width: frozenset(seeds) for width, seeds in self._seeds.items()}
        self._shortest = {width: min(map(len, groups[width])) for width in self._seeds}

    def candidates(self, text: str) -> list[str]:
        """Return the strings that may occur in a text, including all that do."""
        data = _fold(text)
        candidates = {secret: None for secret, raw in self._single.items() if raw in data}
        padded = memoryview(data + b"\0" * (-len(data) % 8))
        for width, kind in _STEPS:
            if width in self._wanted and len(data) >= self._shortest[width]:
                seeds = self._seeds[width]
                for hit in self._wanted[width].intersection(padded.cast(kind)):
                    candidates |= dict.fromkeys(seeds[hit])
        return list(candidates)


# Known secrets in a text, in every spelling. A text without any is recognised quickly: one pass yields
# candidates, and only those are searched for exactly.

Found = tuple[int, int, str]
"""Start, end and the name of the secret."""


_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_LONGEST_LINE = 40
_WRAP = lazy_pattern(
    r"(?<=[A-Za-z0-9+/_-]{40})(?:\\{1,8}[nrt]|[\"'] ?[+.](?=\s)|[\s\"',()\\]|%0[aAdD]|&\#1[03];|<br ?/?>)"
    r"{1,200}(?:[-+?>|] {1,40})?(?=[A-Za-z0-9+/_-])"
)
"""The end of a line in a longer base64 text, also if it is escaped, quoted or in a diff."""
_PAIRS = lazy_pattern(
    r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{2}(?:[\s:,-]{1,2}(?:0x)?[0-9A-Fa-f]{2}){3,}(?![0-9A-Fa-f])"
)
_BETWEEN_PAIRS = lazy_pattern(r"[\s:,-]+(?:0x)?")
_HEX_AS_H = bytes.maketrans(b"0123456789abcdefABCDEF" + b" \t\r\n:,-", b"h" * 22 + b"s" * 7)
"""Digits become `h`, and what may be between two bytes `s`. A letter `h` or `s` in the text does no harm:
this is only a first check."""
_FOUR_PAIRS = (b"hhshhshhshh", b"hhsshhsshhsshh")
_FOUR_WITH_X = (b"hhshxhhshxhhshxhh", b"hhsshxhhsshxhhsshxhh")
_MAX_DEPTH = 3
_CHARS_PER_ERROR = 8
"""In a decoded text, at most one of so many characters may be invalid."""
_IN_RUNS = ALPHANUMERIC + "+/_-="
_PADDING = lazy_pattern("={1,6}")
_HEX_DIGITS = lazy_pattern(r"(?:[2-7][0-9A-Fa-f]){4}(?:[0-9A-Fa-f]{2})+")
_BASE32_TEXT = lazy_pattern(r"[A-Z2-7]+|[a-z2-7]+")
_BASE64_TEXT = lazy_pattern(
    r"(?:[I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){2}"
)
"""The start of the encoding of a text that starts with ASCII characters."""

_READINGS: dict[Kind, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": lambda text: _to_ascii(text).translate(_FOR_URLS).decode(),
    "hex": lambda text: _to_ascii(text).lower().decode(),
    "base32": lambda text: _to_ascii(text).upper().decode(),
    "chunk": lambda text: _to_ascii(text).translate(_FOR_URLS).decode(),
    "hex chunk": lambda text: _to_ascii(text).lower().decode(),
}
"""How a text is read to search for a needle of a kind. Positions stay the same."""


class Declared:
    """Searches texts for the declared secrets."""

    def __init__(self, secrets: Mapping[str, str], others: "Declared | None" = None):
        self._others = others
        self._needles, self._unescaped_needles = needles_of(secrets)
        self._index, self._unescaped_index = Index(self._needles), Index(self._unescaped_needles)
        self._shortest_run = 11 if any(len(secret) <= MOST_SHORT_BYTES for secret in secrets.values()) else 16
        """Encoded twice in base64, four bytes have eleven characters, and ten bytes sixteen."""
        self._has_blanks = any(" " in needle for needle in self._unescaped_needles)
        self._alphabet = frozenset("".join((_IN_RUNS, "%\\&", *self._unescaped_needles)))
        self._recent: RecentTexts[tuple[Found, ...]] = RecentTexts()

    def __bool__(self) -> bool:
        return bool(self._needles or self._others)

    def find(self, text: str) -> list[Found]:
        """Return every place, in order; overlapping ones are merged."""
        own_places: tuple[Found, ...] = ()
        if self._needles and len(text) >= SHORTEST:
            own_places = self._recent.of(text, lambda: tuple(self._find(text, 0)))
        return merge_spans((*own_places, *self._others.find(text))) if self._others else list(own_places)

    def _find(self, text: str, depth: int) -> list[Found]:
        places = list(self._search(text, depth))
        if may_escape(text, self._alphabet) or (self._has_blanks and "+" in text):
            unescaped = Unescaped(text, self._alphabet)
            inner_places = (
                list(_find_needles(unescaped.text, self._unescaped_needles, self._unescaped_index))
                if unescaped.text != text
                else []
            )
            inner_places += self._search(unescaped.with_plus, depth) if unescaped.with_plus != text else ()
            places += ((*unescaped.origin(start, end), name) for start, end, name in inner_places)
            for round_text, origin in unescaped.rounds():
                round_places = _find_needles(round_text, self._needles, self._index)
                places += ((*origin(start, end), name) for start, end, name in round_places)
        return merge_spans(places)

    def _search(self, text: str, depth: int) -> Iterator[Found]:
        """Yield secrets in the text as it is, encoded ones, and those inside of encoded texts."""
        yield from _find_needles(text, self._needles, self._index)
        runs = {text[start:end] for start, end in self._runs(text)}
        if any(len(run) >= _LONGEST_LINE for run in runs):
            unwrapped = Moved(text, ((match.start(), match.end(), "") for match in _WRAP.finditer(text)))
            if unwrapped.text != text:
                inner_places = [
                    *_find_needles(unwrapped.text, self._needles, self._index),
                    *self._search_decoded(unwrapped.text, depth),
                ]
                yield from ((*unwrapped.origin(start, end), name) for start, end, name in inner_places)
        if runs:
            yield from self._search_decoded(text, depth, runs)
        kinds = _to_ascii(text).translate(_HEX_AS_H)
        if any(pattern in kinds for pattern in _FOUR_PAIRS + (_FOUR_WITH_X if "0x" in text else ())):
            for match in _PAIRS.finditer(text):  # hex with separators between the bytes
                gaps = ((gap.start(), gap.end(), "") for gap in _BETWEEN_PAIRS.finditer(match[0]))
                unwrapped = Moved(match[0], gaps)
                for start, end, name in _find_needles(unwrapped.text, self._needles, self._index):
                    first, last = unwrapped.origin(start, end)
                    yield match.start() + first, match.start() + last, name

    def _search_decoded(self, text: str, depth: int, runs: Iterable[str] | None = None) -> Iterator[Found]:
        """Yield the runs that encode a text with a secret, also when encoded several times."""
        if depth >= _MAX_DEPTH:
            return
        if runs is None:
            runs = {text[start:end] for start, end in self._runs(text)}
        decoded_texts = {plain for run in runs for plain in _decode_run(run)}
        if not decoded_texts or not self._find("\n".join(decoded_texts), depth + 1):
            return
        for start, end in self._runs(text):
            for plain in _decode_run(text[start:end]):
                if len(plain) >= SHORTEST and (hits := self._find(plain, depth + 1)):
                    yield *_with_padding(text, start, end), hits[0][2]
                    break

    def _runs(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the runs without the letter of an escaped line end before them."""
        for start, end in TextScan(text).runs(self._shortest_run):
            is_torn = start > 0 and text[start - 1] == "\\" and text[start] in "nrt"
            yield start + is_torn, end


def mask_spans(text: str, places: Iterable[Found], mask: str) -> str:
    """Return the text with a mask in each place."""
    parts: list[str] = []
    position = 0
    for start, end, _ in places:
        parts += (text[position:start], mask)
        position = end
    return "".join((*parts, text[position:])) if position else text


def _to_ascii(text: str) -> bytes:
    return text.encode("ascii", "replace")


def _find_needles(text: str, needles: Needles, index: Index) -> Iterator[Found]:
    """Yield the places of needles in a text, which is read as each of them requires."""
    readings: dict[Kind, str] = {}
    for needle_text in index.candidates(text):
        for needle in needles[needle_text]:
            if needle.kind not in readings:
                readings[needle.kind] = _READINGS[needle.kind](text)
            reading = readings[needle.kind]
            if needle_text not in reading:
                continue
            if needle.around is not None:
                yield from (
                    (*_with_padding(text, *match.span()), needle.name)
                    for match in needle.around.finditer(reading)
                )
            elif needle.kind.endswith("chunk"):
                scan, last_end = TextScan(reading), 0  # the runs that contain a piece of a long secret
                for start, end in _find_all(reading, needle_text):
                    if start >= last_end and (run := scan.run(start, end)):
                        last_end = run[1]
                        yield *run, needle.name
            else:
                for start, end in _find_all(reading, needle_text):
                    yield (
                        *(_with_padding(text, start, end) if needle.kind != "plain" else (start, end)),
                        needle.name,
                    )


def _with_padding(text: str, start: int, end: int) -> tuple[int, int]:
    padding = _PADDING.match(text, end)
    return start, padding.end() if padding else end


def _find_all(text: str, needle: str) -> Iterator[tuple[int, int]]:
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + 1)


def merge_spans(places: Iterable[Found]) -> list[Found]:
    """Return the places in order, with overlapping ones merged."""
    merged_places: list[Found] = []
    for start, end, name in sorted(places, key=lambda place: (place[0], -place[1])):
        if merged_places and start < merged_places[-1][1]:
            previous = merged_places[-1]
            merged_places[-1] = (previous[0], max(previous[1], end), previous[2])
        else:
            merged_places.append((start, end, name))
    return merged_places


def _decode_run(run: str) -> Iterator[str]:
    """Yield the texts that a run may be the encoding of."""
    if len(run) % 2 == 0 and _HEX_DIGITS.fullmatch(run):
        yield from _decode_texts(bytes.fromhex(run))
    if _BASE32_TEXT.fullmatch(run):
        unpadded = run[: len(run) - (len(run) % 8 in (1, 3, 6))].upper()
        yield from _decode_texts(base64.b32decode(unpadded + "=" * (-len(unpadded) % 8)))
    if not _BASE64_TEXT.match(run):
        return
    unpadded = run[: len(run) - (len(run) % 4 == 1)].replace("-", "+").replace("_", "/")
    yield from _decode_texts(binascii.a2b_base64(unpadded + "=" * (-len(unpadded) % 4)))


def _decode_texts(raw: bytes) -> Iterator[str]:
    """Yield the texts that bytes may encode. The end may have bytes that do not belong to the text."""
    for encoding in ("utf-8", "utf-16-le") if b"\0" in raw else ("utf-8",):
        text = raw.decode(encoding, "replace")
        if _CHARS_PER_ERROR * text.count("\ufffd") <= len(text):
            yield text
