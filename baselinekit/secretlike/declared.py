"""Where known secrets stand in a text, in every spelling. A text that holds none is told so quickly: it is
searched for words that are known beforehand, and only where one of them may stand is it looked at closely."""

import base64
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from baselinekit.secretlike.look import Look
from baselinekit.secretlike.spelling import CHUNK, SHORTEST, Needle, Needles, needles_of
from baselinekit.secretlike.unescaped import Moved, Unescaped, has_escapes, ragged

Found = tuple[int, int, str]
"""From where to where, and the name of the secret."""

Origin = Callable[[int, int], tuple[int, int]]

Read = tuple[str, Origin]
Least = Callable[[str], int]

_FOR_URLS = bytes.maketrans(b"-_", b"+/")
_LOWER = bytes(range(256)).lower()
_UPPER = bytes(range(256)).upper()
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
_HEX_AS_H = bytes(
    104
    if chr(code) in "0123456789abcdefABCDEF"
    else 115
    if chr(code) in " \t\r\n:,-"
    else 120
    if chr(code) == "x"
    else 0
    for code in range(256)
)
_FOUR_PAIRS = (b"hhshhshhshh", b"hhsshhsshhsshh", b"hhshxhhshxhhshxhh", b"hhsshxhhsshxhhsshxhh")
_TORN_PAIRS = re.compile(r"(?<=[0-9A-Fa-f]{2})[\s:,-]{1,2}(?:0x)?(?=[0-9A-Fa-f]|\Z)")
_ENCODED_EDGE = 6
_LONGEST_ESCAPE = 12
_BEGIN_ESCAPES = ("%", "\\", "&")
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
        self._alphabet = frozenset("".join((_IN_RUNS, "%\\&", *(bare for bare, _ in self._needles.unescaped))))
        self._longest = max((len(needle) for needle, _ in self._all()), default=0)

    def __bool__(self) -> bool:
        return bool(self._needles.plain)

    def _all(self) -> Iterator[Needle]:
        one: Needles = self._needles
        yield from (*one.plain, *one.unescaped, *one.base64, *one.hex, *one.base32)

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
        if runs and self._in_runs("\n".join(runs)):
            yield from self._in_run(text)
        if any(len(run) >= _LONGEST_LINE for run in runs):
            yield from self._wrapped(text)
            yield from self._in_pieces(text)
        kinds = text.encode("ascii", "replace").translate(_HEX_AS_H)
        if any(four in kinds for four in _FOUR_PAIRS):
            yield from self._in_pairs(text)

    def _in_runs(self, runs: str) -> bool:
        return next(self._in_run(runs), None) is not None

    def _in_run(self, text: str) -> Iterator[Found]:
        data = text.encode("ascii", "replace")
        for start, end, name in _places(data.translate(_FOR_URLS).decode(), self._needles.base64):
            padded = _PADDING.match(text, end)
            yield start, padded.end() if padded else end, name
        yield from _places(data.lower().decode(), self._needles.hex)
        yield from _places(data.upper().decode(), self._needles.base32)

    def _wrapped(self, text: str) -> Iterator[Found]:
        whole = Moved(text, ((match.start(), match.end(), "") for match in _WRAP.finditer(text)))
        if whole.text != text:
            yield from ((*whole.origin(start, end), name) for start, end, name in self._in_run(whole.text))

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

    def at_edges(self, text: str, start: bool, end: bool) -> list[Found]:
        """Where a text that was cut at its start or its end may begin with the end of a secret, or end with
        the beginning of one."""
        found: list[Found] = []
        if start:
            head = text[: self._longest * _ENCODED_EDGE]
            found += ((0, stop, name) for stop, name in self._ends(head))
        if end:
            offset = max(0, len(text) - self._longest * _ENCODED_EDGE)
            found += ((offset + at, len(text), name) for at, name in self._beginnings(text[offset:]))
        return merged(found)

    def _ends(self, head: str) -> Iterator[tuple[int, str]]:
        """How far a text begins with the end of a secret. An escape may be torn, too: what is left of it is
        skipped."""
        torn = [at for at in range(1, _LONGEST_ESCAPE) if head[at : at + 1] in _BEGIN_ESCAPES]
        for skipped in (0, *torn):
            for needles, least, form in self._forms(head[skipped:]):
                text, origin = form()
                for needle, name in needles:
                    size = least(needle)
                    last = needle[-size:]
                    at = text.find(last, 0, len(needle))
                    while at >= 0:
                        if needle.endswith(text[: at + size]):
                            yield skipped + origin(0, at + size)[1], name
                        at = text.find(last, at + 1, len(needle))

    def _beginnings(self, tail: str) -> Iterator[tuple[int, str]]:
        """From where on a text ends with the beginning of a secret."""
        for cut in {len(tail), ragged(tail)}:
            for needles, least, form in self._forms(tail[:cut]):
                text, origin = form()
                for needle, name in needles:
                    first = needle[: least(needle)]
                    at = text.find(first, max(0, len(text) - len(needle)))
                    while at >= 0:
                        if needle.startswith(text[at:]):
                            yield origin(at, at + 1)[0], name
                        at = text.find(first, at + 1)

    def _forms(self, text: str) -> Iterator[tuple[Iterable[Needle], Least, Callable[[], Read]]]:
        """The needles, how much of one is enough, and the text as they are looked for in it."""
        one = self._needles
        bare = Unescaped(text)
        yield one.plain, _some, lambda: (text, _unmoved)
        yield one.unescaped, _some, lambda: (bare.text, bare.origin)
        read = [(text, _unmoved), (bare.with_plus, bare.origin)]
        for written, origin in read[: 1 + (bare.with_plus != text)]:
            for way, needles in ((_FOR_URLS, one.base64), (_LOWER, one.hex), (_UPPER, one.base32)):
                yield needles, _some_encoded, partial(_in_one_line, written, origin, _WRAP, way)
            yield one.hex, _some_encoded, partial(_in_one_line, written, origin, _TORN_PAIRS, _LOWER)


def _in_one_line(text: str, before: Origin, gap: re.Pattern[str], way: bytes) -> Read:
    whole = Moved(text, ((match.start(), match.end(), "") for match in gap.finditer(text)))

    def origin(start: int, end: int) -> tuple[int, int]:
        return before(*whole.origin(start, end))

    return whole.text.encode("ascii", "replace").translate(way).decode(), origin


def _some(needle: str) -> int:
    return min(SHORTEST, max(2, len(needle) // 2))


def _some_encoded(needle: str) -> int:
    return min(_ENCODED_EDGE, max(4, len(needle) // 2))


def _unmoved(start: int, end: int) -> tuple[int, int]:
    return start, end


def covering(text: str, found: Iterable[Found], mask: str) -> str:
    """The text with a mask in each such place."""
    parts, position = [], 0
    for start, end, _ in found:
        parts += (text[position:start], mask)
        position = end
    return "".join((*parts, text[position:])) if position else text


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
