"""A text as it is searched for secrets: scanned as bytes, and without its escapes."""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Generic, TypeVar

from baselinekit.lazy import lazy_pattern

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
        self._places: dict[tuple[tuple[bytes, ...], bool], list[int]] = {}

    def words(self, words: tuple[bytes, ...], folded: bool) -> list[int]:
        """Where any of some words stands; `folded`: in small letters or capitals."""
        key = (words, folded)
        if key not in self._places:
            self._places[key] = sorted(self._find(words, folded))
        return self._places[key]

    def _find(self, words: Iterable[bytes], folded: bool) -> Iterator[int]:
        data = self.data
        if folded:
            if not self._low:
                text = self.text
                if not text.isascii():
                    for odd, letter in _FOLDED.items():
                        text = text.replace(odd, letter)
                self._low = text.encode("ascii", "replace").lower()
            data = self._low
        for word in words:
            place = data.find(word)
            while place >= 0:
                yield place
                place = data.find(word, place + 1)

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


def _around(data: bytes, start: int, end: int) -> tuple[int, int]:
    after = data.find(b" ", end)
    return data.rfind(b" ", 0, start) + 1, len(data) if after < 0 else after


# A text without its escapes, and where each of its characters stood before: `%41`, `\u0041`, `\x41`,
# `\101`, `&#65;`, `\"` and the like, also nested in one another. Two spellings of a text become one.

_MOST_ROUNDS = 4
_QUOTED = "'\"'\"'"
"""How a shell is given a quote."""
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = "[0-9A-Fa-f]"
_LAST_CHARACTER = 0x10FFFF


_H = "[0-9A-Fa-f]"
_PERCENT = rf"(?:25)*(?:[0-7]{_H}|[c-fC-F]{_H}(?:%(?:25)*[89abAB]{_H}){{1,3}})"
_X = rf"x(?:[0-7]{_H}|[c-fC-F]{_H}(?:\\+x[89abAB]{_H}){{1,3}})"
_OCTAL = r"[01][0-7]{2}|3[0-7]{2}(?:\\+2[0-7]{2}){1,3}"
_ESCAPE = lazy_pattern(
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
_ROUGHLY = lazy_pattern(rf"%{_H}{{2}}|\\[\s\S]|&(?:\#|[A-Za-z]{{2,8}};)|'(?:\"'\"|\\+)'")
_ONE_PERCENT = lazy_pattern(rf"{_H}{{2}}(?=%|\Z)")
_ONE_X = lazy_pattern(rf"x({_H}{{2}})")
_ONE_OCTAL = lazy_pattern(r"[0-7]{3}")


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

    def matters(written: str) -> bool:
        if written[0] == "%" and len(written) == 3:
            code = int(written[1:], 16)
            return code > 127 or chr(code) in alphabet
        if written[0] == "\\" and written[-1] in _SIGNS:
            return _SIGNS[written[-1]] in alphabet
        return written[0] != "\\" or written[-1] in alphabet or written[-1] in "\\%&'"

    return has_escapes(text) and any(map(matters, set(_ROUGHLY.findall(text))))


def _escapes(text: str) -> Iterator[tuple[int, int, str]]:
    known: dict[str, str | None] = {}
    for match in _ESCAPE.finditer(text):
        written = match[0]
        if written not in known:
            known[written] = _meant(match)
        meant = known[written]
        if meant is not None:
            yield *match.span(), meant


@cache
def _entities() -> dict[str, str]:
    from html.entities import name2codepoint  # few texts have any

    return {name: chr(code) for name, code in name2codepoint.items()} | {"apos": "'"}


def _meant(match: re.Match[str]) -> str | None:
    kind, written = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "sign":
        return _SIGNS[written]
    if kind == "other":
        return written
    if kind == "quoted":
        return "'"
    if kind == "named":
        return _entities().get(written)
    if kind in ("percent", "x", "octal"):
        pattern, base = {"percent": (_ONE_PERCENT, 16), "x": (_ONE_X, 16), "octal": (_ONE_OCTAL, 8)}[kind]
        try:
            codes = bytes(int(digits, base) for digits in pattern.findall(written))
            return codes.decode("utf-8", "surrogatepass")
        except ValueError:
            return None
    if kind == "low":
        return chr(0x10000 + (int(match["high"], 16) - 0xD800 << 10) + int(written, 16) - 0xDC00)
    code = int(written, 10 if kind == "decimal" else 16)
    return chr(code) if code <= _LAST_CHARACTER else None


# What was found in the texts that were looked through last. One answer is masked several times in a run: for
# the file that keeps it, for the report and for the screen.


Result = TypeVar("Result")

_SHORTEST_KEPT = 200
"""A shorter text is looked through as soon as it is found again."""
_MOST_KEPT = 1_000_000
"""Characters of all texts of a generation, and of one text."""


def keeps(text: str) -> bool:
    """Whether what is found in a text is kept."""
    return _SHORTEST_KEPT <= len(text) <= _MOST_KEPT


class RecentTexts(Generic[Result]):
    """What a function of a text gave, for the texts of two generations: a full one becomes the old one, and
    the one before is forgotten. Threads share it without a lock: at worst, two of them do the same."""

    def __init__(self) -> None:
        self._new: dict[tuple[str, Hashable], Result] = {}
        self._old: dict[tuple[str, Hashable], Result] = {}
        self._held = 0

    def of(self, text: str, find: Callable[[], Result], how: Hashable = None) -> Result:
        """`how`: on what else than the text the result depends."""
        if not keeps(text):
            return find()
        key = (text, how)
        known = self._new.get(key)
        if known is not None:
            return known
        known = self._old.get(key)
        found = find() if known is None else known
        self._held += len(text)
        if self._held > _MOST_KEPT:
            self._old, self._new, self._held = self._new, {}, len(text)
        self._new[key] = found
        return found
