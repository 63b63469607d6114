"""Where known secrets stand in a text, in every spelling. A text that holds none is told so quickly: it is
searched for words that are known beforehand, and only where one of them may stand is it looked at closely."""

import base64
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile

from baselinekit.secretlike.look import Look
from baselinekit.secretlike.spelling import CHUNK, SHORTEST, Needle, needles_of
from baselinekit.secretlike.unescaped import Moved, Unescaped, has_escapes

Found = tuple[int, int, str]
"""From where to where, and the name of the secret."""


_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_SHORT_RUN = re.compile(r"(?:(?<=\\)[nrt])?([A-Za-z0-9+/_-]{6,}={0,2})")
"""Without what is left of a line end that is written as an escape."""
_LONGEST_LINE = 40
_WRAP = re.compile(
    r"(?<=[A-Za-z0-9+/_-]{40})(?:\\{1,8}[nrt]|[\s\"',]|%0[aAdD]|&\#1[03];){1,200}(?:[-+?>|] {1,40})?"
    r"(?=[A-Za-z0-9+/_-])"
)
"""The end of a line of a longer text in base64, also where it is escaped, quoted or a line of a diff."""
_PAIRS = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{2}(?:[\s:,-]{1,2}(?:0x)?[0-9A-Fa-f]{2}){3,}(?![0-9A-Fa-f])")
_BETWEEN_PAIRS = re.compile(r"[\s:,-]+(?:0x)?")
_HEX_AS_H = bytes.maketrans(b"0123456789abcdefABCDEF" + b" \t\r\n:,-", b"h" * 22 + b"s" * 7)
"""Digits become `h`, and what may stand between two bytes `s`. A letter `h` or `s` of the text does no harm:
it is only a first look."""
_FOUR_PAIRS = (b"hhshhshhshh", b"hhsshhsshhsshh", b"hhshxhhshxhhshxhh", b"hhsshxhhsshxhhsshxhh")
_DEEPEST = 2
_FEW = 2_000
"""Of a text that is not longer, a regular expression takes less time than what is prepared for long ones."""
_IN_RUNS = string.ascii_letters + string.digits + "+/_-="
_PADDING = re.compile("={1,2}")


class Declared:
    """The declared secrets as what a text is searched for."""

    def __init__(self, secrets: Mapping[str, str]):
        self._needles = needles_of(secrets)
        least = min(self._needles.shortest_run, _LONGEST_LINE)
        self._runs = re.compile(rf"[A-Za-z0-9+/_-]{{{least},}}")
        self._least = least
        self._alphabet = frozenset(
            "".join((_IN_RUNS, "%\\&", *(bare for bare, _ in self._needles.unescaped)))
        )

    def __bool__(self) -> bool:
        return bool(self._needles.plain)

    def find(self, text: str) -> list[Found]:
        """Every place, in order; those that overlap are one."""
        if not self._needles.plain or len(text) < SHORTEST:
            return []
        found = list(_places(text, self._needles.plain))
        if has_escapes(text) or "+" in text:
            bare = Unescaped(text, self._alphabet)
            within = list(_places(bare.text, self._needles.unescaped)) if bare.text != text else []
            within += self._encoded(bare.with_plus) if bare.with_plus != text else ()
            found += ((*bare.origin(start, end), name) for start, end, name in within)
            for other, origin in bare.rounds():
                places = _places(other, self._needles.plain)
                found += ((*origin(start, end), name) for start, end, name in places)
        found += self._encoded(text)
        found += self._decoded(text)
        return merged(found)

    def _encoded(self, text: str) -> Iterator[Found]:
        """In base64, base32 and hex."""
        if len(text) < self._least or not self._least:
            return
        if len(text) < _FEW:
            runs = set(self._runs.findall(text))
        else:
            runs = {text[start:end] for start, end in Look(text).runs(self._least)}
        longest = max((len(run) for run in runs), default=0)
        if runs and any(True for _ in self._in_run("\n".join(runs), longest)):
            yield from self._in_run(text, longest)
        if longest >= _LONGEST_LINE:
            yield from self._wrapped(text)
            yield from self._in_pieces(text)
        kinds = text.encode("ascii", "replace").translate(_HEX_AS_H)
        if any(four in kinds for four in _FOUR_PAIRS):
            yield from self._in_pairs(text)

    def _in_run(self, text: str, longest: int) -> Iterator[Found]:
        """In runs of letters and digits that are at most so long."""
        data, known = text.encode("ascii", "replace"), self._needles
        for start, end, name in _places(data.translate(_FOR_URLS).decode(), _up_to(longest, known.base64)):
            padded = _PADDING.match(text, end)
            yield start, padded.end() if padded else end, name
        yield from _places(data.lower().decode(), _up_to(longest, known.hex))
        yield from _places(data.upper().decode(), _up_to(longest, known.base32))

    def _wrapped(self, text: str) -> Iterator[Found]:
        whole = Moved(text, ((match.start(), match.end(), "") for match in _WRAP.finditer(text)))
        if whole.text != text:
            found = self._in_run(whole.text, len(whole.text))
            yield from ((*whole.origin(start, end), name) for start, end, name in found)

    def _in_pieces(self, text: str) -> Iterator[Found]:
        """A run that holds a piece of a long secret."""
        if not self._needles.chunks:
            return
        for match in self._runs.finditer(text):
            run = match[0].replace("-", "+").replace("_", "/")
            low = run.lower()
            chunks = self._needles.chunks
            for at in range(len(run) - CHUNK + 1):
                name = chunks.get(run[at : at + CHUNK]) or chunks.get(low[at : at + CHUNK])
                if name is not None:
                    yield *match.span(), name
                    break

    def _in_pairs(self, text: str) -> Iterator[Found]:
        """In hex with something between the bytes."""
        for match in _PAIRS.finditer(text):
            pieces = ((one.start(), one.end(), "") for one in _BETWEEN_PAIRS.finditer(match[0]))
            whole = Moved(match[0], pieces)
            for start, end, name in _places(whole.text.lower(), self._needles.hex):
                first, last = whole.origin(start, end)
                yield match.start() + first, match.start() + last, name

    def _decoded(self, text: str, depth: int = 0) -> Iterator[Found]:
        """Short ones in a run that is base64 from its beginning."""
        if not self._needles.short:
            return
        for match in _SHORT_RUN.finditer(text):
            inner = _plain_of(match[1])
            hit = next(_places(inner, self._needles.short), None)
            if hit is None and depth + 1 < _DEEPEST:
                hit = next(self._decoded(inner, depth + 1), None)
            if hit is not None:
                yield *match.span(1), hit[2]


def covering(text: str, found: Iterable[Found], mask: str) -> str:
    """The text with a mask in each such place."""
    parts: list[str] = []
    position = 0
    for start, end, _ in found:
        parts += (text[position:start], mask)
        position = end
    return "".join((*parts, text[position:])) if position else text


def _up_to(longest: int, needles: tuple[Needle, ...]) -> Iterable[Needle]:
    """Of needles by their length, those that are not longer."""
    return takewhile(lambda one: len(one[0]) <= longest, needles)


def _places(text: str, needles: Iterable[Needle]) -> Iterator[Found]:
    for needle, name in needles:
        place = text.find(needle)
        while place >= 0:
            yield place, place + len(needle), name
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


def _plain_of(run: str) -> str:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    return base64.b64decode(plain + "=" * (-len(plain) % 4)).decode("utf-8", "replace")
