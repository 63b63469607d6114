"""Whether a text holds a run of characters that nobody would write: the rule for tokens of no known shape."""

import operator
import re
import string
from bisect import bisect_left
from collections.abc import Iterable, Iterator

# One quick look over a text, however long: where words stand, and runs of letters and digits. What takes
# a regular expression a second takes the search for bytes a few milliseconds.


_FOLDED = {"\u017f": "s", "\u212a": "k", "\u0130": "i", "\u0131": "i"}
"""What is a small letter to a regular expression that ignores case, besides the letter itself."""


def _table(also: str) -> bytes:
    """Letters, digits and some more become `a`, and everything else a blank."""
    return bytes(
        97 if chr(code) in also or (code < 128 and chr(code).isalnum()) else 32 for code in range(256)
    )


_RUN = _table("+/_-")
_IN_URL = _table("_.~%+/=:@;-")
_IN_ANY_URL = _table("_.~%+/=:@;-?")
_DELIMITED = bytes(32 if chr(code) in " \t\n\r\v\f\x1c\x1d\x1e\x1f\"'<>" else 97 for code in range(256))


class TextScan:
    """A text as bytes, one for each character: a place in one is a place in the other. What is not ASCII is a
    question mark there."""

    def __init__(self, text: str):
        self.text = text
        self.data = text.encode("ascii", "replace")
        self._runs = self.data.translate(_RUN)
        self._low = self._chunks = b""

    def words(self, words: Iterable[bytes], folded: bool) -> list[int]:
        """Where any of some words stands; `folded`: in small letters or capitals."""
        data, found = self._folded() if folded else self.data, []
        for word in words:
            place = data.find(word)
            while place >= 0:
                found.append(place)
                place = data.find(word, place + 1)
        return sorted(found)

    def runs(self, shortest: int, start: int = 0) -> Iterator[tuple[int, int]]:
        """Runs of letters, digits and `+/_-`, as long as they go, without the `=` behind them."""
        runs, wanted = self._runs, b"a" * shortest
        place = runs.find(wanted, start)
        while place >= 0:
            end = runs.find(b" ", place + shortest)
            end = len(runs) if end < 0 else end
            yield place, end
            place = runs.find(wanted, end)

    def run(self, start: int, end: int) -> tuple[int, int] | None:
        """The run of which this is a part; None where something else stands between."""
        if self._runs.count(b"a", start, end) < end - start:
            return None
        return _around(self._runs, start, end)

    def padded(self, end: int) -> int:
        """The end of a run with at most two `=` behind it."""
        return end + (2 if self.data.startswith(b"==", end) else self.data.startswith(b"=", end))

    def chunk(self, start: int, end: int) -> tuple[int, int]:
        """What stands around a run, as far as there is no blank, quote or bracket."""
        self._chunks = self._chunks or self.data.translate(_DELIMITED)
        return _around(self._chunks, start, end)

    def escaped_urls(self) -> Iterator[tuple[int, int]]:
        """The words of a URL that have a `%` in them."""
        place = self.data.find(b"%")
        if place < 0:
            return
        words = self.data.translate(_IN_URL if self.text.isascii() else _IN_ANY_URL)
        while place >= 0:
            start, end = _around(words, place, place + 1)
            yield start, end
            place = self.data.find(b"%", end)

    def _folded(self) -> bytes:
        if not self._low and self.text.isascii():
            self._low = self.data.lower()
        elif not self._low:
            text = self.text
            for odd, letter in _FOLDED.items():
                text = text.replace(odd, letter)
            self._low = text.encode("ascii", "replace").lower()
        return self._low


def _around(data: bytes, start: int, end: int) -> tuple[int, int]:
    after = data.find(b" ", end)
    return data.rfind(b" ", 0, start) + 1, len(data) if after < 0 else after


# Whether a text holds a run of characters that nobody would write: the rule for tokens of no known
# shape. Each pair of neighbours speaks for chance or for a word, a path, an identifier; the weights are
# logarithms of how much oftener a pair of that kind stands in random letters and digits than in the
# texts of real answers.


_LONGEST = 200
_SHORTEST = 20
_ENOUGH = 12.0
"""The sum of the weights from which on a run is taken for random."""

_FREE = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s\"'<>]*"  # an address; what is secret in it has a name (shapes.py)
    r"|\bdata:[\w.+-]+/[\w.+-]+[;,][^\s\"'<>)]*"
    r"|(?<![A-Za-z0-9+/_=-])\.{0,2}/(?![A-Za-z0-9/]*[+=])[^\s\"'<>]*"  # a path
    r"|\b(?i:sha-?(?:1|224|256|384|512)|md5)[-:=][A-Za-z0-9+/_-]+=*"
    r"|(?i:\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}(?:CERTIFICATE|PUBLIC KEY)[A-Z ]{0,40}-----[^-]*")
_TAG = re.compile(r"\b(?i:W/)?\"[^\"\s]{1,80}\"(?=\s*$)")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_DIGIT = re.compile(r"[0-9]")
_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}|c[a-z0-9]{24}|[0-9a-fA-F]+|[\d_+/-]+|[A-Z0-9_]+")
_SMALL = re.compile(r"[a-z0-9]{24,}")
_HEX = re.compile(r"[0-9a-f]+")
_FEWEST_OTHERS = 3
_FEWEST_SIGNS = 10
_CHECKSUM = re.compile(r"[0-9a-f]{16,}")
_TURN = re.compile(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)")
_MOST_TURNS = 0.22
"""Of the places in small letters and digits, the part where one goes over into the other: ids have fewer."""
_KNOWN_DATA = re.compile(r"iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0|PHN2Zy|PD94bW|H4sI|UEsDB|T2dnU|AAAA")

_COMMON = (
    "ab ac ad ag ai al am an ap ar as at au ay ba be bi bl bo bu ca ce ch ci ck cl co cr ct cu da de di"
    " do ds ea ec ed ee ef eg el em en ep er es et ev ex fa fe ff fi fo fr ge gi gs ha he hi ho ia ib ic"
    " id ie if ig il im in io ip ir is it iv iz ke la ld le li ll lo ls lt lu ly ma me mi mo mp na nc nd"
    " ne nf ng ni no ns nt nu ob oc od ok ol om on oo op or os ot ou ow pa pe pi pl po pp pr pt pu qu ra"
    " rc rd re rg ri rm rn ro rr rs rt ry sa sc se sh si so sp ss st su ta tc te th ti to tr ts tt tu ty"
    " ub ue ul um un up ur us ut va ve vi wa we xt yp ze"
)
"""The pairs of letters that make up 85 of 100 pairs in the words of answers and of programs."""

_WEIGHTS = {
    "ll+": -2.3,
    "ll-": 0.75,
    "Ul+": 1.1,
    "Ul-": 3.1,
    "UU+": 0.5,
    "UU-": 2.6,
    "lU": 2.5,
    "ld": 1.2,
    "dl": 1.2,
    "Ud": 3.3,
    "dU": 3.4,
    "dd": -1.7,
    "ls": -2.3,
    "sl": -2.3,
    "Us": 0.7,
    "sU": 0.0,
    "sd": -1.8,
    "ds": -1.7,
    "ss": -1.0,
}


def random_in(look: TextScan) -> Iterator[tuple[int, int]]:
    """Where a text holds a random run."""
    text, free = look.text, _Free(look)
    for start, stop in look.runs(_SHORTEST):
        end = look.padded(stop)
        if _looks_random(text[start:end]) and not free.holds(start, end):
            yield start, end


def _looks_random(run: str) -> bool:
    if not _DIGIT.search(run) or _UUID.fullmatch(run):
        return False
    run = _CHECKSUM.sub("", run)
    ordinary = len(run) > _LONGEST or _ID.fullmatch(run) or _KNOWN_DATA.match(run)
    return not ordinary and (_is_mixed(run) or _turns(run))


class _Free:
    """The places of a text in which anything may be random: addresses, paths, checksums and the like. They
    are looked for around what looks random, and not in all of a long text."""

    def __init__(self, look: TextScan):
        self._look = look
        self._chunk = (0, 0)
        self._in_chunk: list[tuple[int, int]] = []
        self._long: list[tuple[int, int]] | None = None

    def holds(self, start: int, end: int) -> bool:
        chunk = self._look.chunk(start, end)
        if chunk != self._chunk:
            self._chunk = chunk
            self._in_chunk = [match.span() for match in _FREE.finditer(self._look.text, *chunk)]
        return _meets(self._in_chunk, start, end) or _meets(self._certificates(), start, end)

    def _certificates(self) -> list[tuple[int, int]]:
        """What has blanks in it, or is only what it is at the end of the text."""
        if self._long is None:
            text = self._look.text
            pem = _PEM.finditer(text) if b"-----BEGIN " in self._look.data else ()
            tag = _TAG.finditer(text, max(0, len(text.rstrip()) - 200))
            self._long = sorted(match.span() for match in (*pem, *tag))
        return self._long


def _meets(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of some places, in their order, overlaps with a run."""
    before = bisect_left(places, (end,)) - 1
    return before >= 0 and places[before][1] > start


def _turns(run: str) -> bool:
    """Small letters and digits in turn; where all of them are hexadecimal, it is a checksum or an id."""
    return any(
        len(_TURN.findall(part)) >= _MOST_TURNS * len(part) and len(_HEX.sub("", part)) > _FEWEST_OTHERS
        for part in _SMALL.findall(run)
    )


def _is_mixed(run: str) -> bool:
    """Whether some stretch of it is: what stands before and after (`session_…`) does not speak for it."""
    stretch = run.rstrip("=")
    if len(stretch) < _SHORTEST or len(set(stretch)) < _FEWEST_SIGNS or not _DIGIT.search(stretch):
        return False
    best = total = 0.0
    start = longest = 0
    for place, pair in enumerate(map(operator.add, run, run[1:])):
        total += _WEIGHT[pair]
        if total <= 0:
            total, start = 0.0, place + 1
        elif total > best:
            best, longest = total, place + 2 - start
    return best >= _ENOUGH and longest >= 0.6 * len(stretch)


def _weight(one: str, other: str) -> float:
    kind = _class(one) + _class(other)
    if kind in ("ll", "Ul", "UU"):
        kind += "+" if (one + other).lower() in _PAIRS else "-"
    return _WEIGHTS.get(kind, 0.0)


def _class(char: str) -> str:
    return "l" if char.islower() else "U" if char.isupper() else "d" if char.isdigit() else "s"


_PAIRS = frozenset(_COMMON.split())
_SIGNS = string.ascii_letters + string.digits + "+/_-="
_WEIGHT = {one + other: _weight(one, other) for one in _SIGNS for other in _SIGNS}
