"""Prepares texts for the search for secrets: as bytes that are scanned quickly, and without escapes."""

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Generic, TypeVar

from baselinekit.lazy import lazy_pattern

ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

# A fast scan of a text of any length for words, and for runs of letters and digits. What takes a regular
# expression a second takes a search for bytes a few milliseconds.

_SMALL_LETTERS = {"\u017f": "s", "\u212a": "k", "\u0130": "i", "\u0131": "i"}
"""Characters beyond ASCII that regular expressions treat as these letters if they ignore case."""


def _make_table(extra: str) -> bytes:
    """Return a table that turns letters, digits and `extra` into `a`, and everything else into a blank."""
    return bytes(
        97 if chr(code) in extra or (code < 128 and chr(code).isalnum()) else 32 for code in range(256)
    )


_RUN_TABLE = _make_table("+/_-")
_URL_TABLE = _make_table("_.~%+/=:@;-")
_ANY_URL_TABLE = _make_table("_.~%+/=:@;-?")
_CHUNK_TABLE = bytes(32 if chr(code) in " \t\n\r\v\f\x1c\x1d\x1e\x1f\"'<>" else 97 for code in range(256))


class TextScan:
    """A text as bytes, one for each character, so that positions are the same. Characters that are not ASCII
    are question marks."""

    def __init__(self, text: str):
        self.text = text
        self.data = text.encode("ascii", "replace")
        self._runs = self.data.translate(_RUN_TABLE)
        self._low = self._chunks = b""
        self._places: dict[tuple[tuple[bytes, ...], bool], list[int]] = {}

    def words(self, words: tuple[bytes, ...], ignore_case: bool) -> list[int]:
        """Return the sorted positions of any of some words, which are in lower case with `ignore_case`."""
        key = (words, ignore_case)
        if key not in self._places:
            self._places[key] = sorted(self._find(words, ignore_case))
        return self._places[key]

    def _find(self, words: Iterable[bytes], ignore_case: bool) -> Iterator[int]:
        data = self.data
        if ignore_case:
            if not self._low:
                text = self.text
                if not text.isascii():
                    for character, letter in _SMALL_LETTERS.items():
                        text = text.replace(character, letter)
                self._low = text.encode("ascii", "replace").lower()
            data = self._low
        for word in words:
            place = data.find(word)
            while place >= 0:
                yield place
                place = data.find(word, place + 1)

    def runs(self, shortest: int, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the maximal runs of letters, digits and `+/_-`, without the `=` after them."""
        runs, pattern = self._runs, b"a" * shortest
        place = runs.find(pattern, start)
        while place >= 0:
            end = runs.find(b" ", place + shortest)
            end = len(runs) if end < 0 else end
            yield place, end
            place = runs.find(pattern, end)

    def run(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the run that contains a part of the text; None if it contains other characters."""
        if self._runs.count(b"a", start, end) < end - start:
            return None
        return _span_around(self._runs, start, end)

    def padded(self, end: int) -> int:
        """Return the end of a run including up to two `=` after it."""
        return end + (2 if self.data.startswith(b"==", end) else self.data.startswith(b"=", end))

    def chunk(self, start: int, end: int) -> tuple[int, int]:
        """Return the span around a run up to the next blank, quote or angle bracket on both sides."""
        self._chunks = self._chunks or self.data.translate(_CHUNK_TABLE)
        return _span_around(self._chunks, start, end)

    def escaped_urls(self) -> Iterator[tuple[int, int]]:
        """Yield the words made of URL characters that contain a `%`."""
        place = self.data.find(b"%")
        if place < 0:
            return
        words = self.data.translate(_URL_TABLE if self.text.isascii() else _ANY_URL_TABLE)
        while place >= 0:
            start, end = _span_around(words, place, place + 1)
            yield start, end
            place = self.data.find(b"%", end)


def _span_around(data: bytes, start: int, end: int) -> tuple[int, int]:
    blank = data.find(b" ", end)
    return data.rfind(b" ", 0, start) + 1, len(data) if blank < 0 else blank


# A text without its escapes (`%41`, `\u0041`, `\x41`, `\101`, `&#65;`, `\"` and the like, also nested), and
# the original position of each character. Different spellings of a text become the same.

_MAX_ROUNDS = 4
_SHELL_QUOTE = "'\"'\"'"
"""A single quote inside single quotes in a shell."""
_ESCAPE_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HEX = "[0-9A-Fa-f]"
_MAX_CODE_POINT = 0x10FFFF


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
"""Each alternative starts with a different character, so that the search is fast."""
_ESCAPE_QUICKLY = lazy_pattern(rf"%{_H}{{2}}|\\[\s\S]|&(?:\#|[A-Za-z]{{2,8}};)|'(?:\"'\"|\\+)'")
_ONE_PERCENT = lazy_pattern(rf"{_H}{{2}}(?=%|\Z)")
_ONE_X = lazy_pattern(rf"x({_H}{{2}})")
_ONE_OCTAL = lazy_pattern(r"[0-7]{3}")


class Moved:
    """A text made from another one by replacements, and the mapping of positions back to it."""

    def __init__(self, text: str, pieces: Iterable[tuple[int, int, str]] = ()):
        """`pieces`: the replaced spans of the text, in order, each with its replacement."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._before: list[tuple[int, int]] = []
        parts: list[str] = []
        position = length = 0
        for start, end, replacement in pieces:
            parts += (text[position:start], replacement)
            length += start - position
            self._starts.append(length)
            length += len(replacement)
            self._ends.append(length)
            self._before.append((start, end))
            position = end
        parts.append(text[position:])
        self.text = "".join(parts) if self._before else text

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of a part of the text, with whole escapes at both ends."""
        return self._place(start, 0), self._place(end - 1, 1)

    def _place(self, position: int, side: int) -> int:
        number = bisect_right(self._starts, position) - 1
        while number >= 0 and self._starts[number] == self._ends[number] == position and side == 1:
            number -= 1  # what was removed before a character does not belong to it
        if number < 0:
            return position + side
        if position < self._ends[number]:
            return self._before[number][side]
        return self._before[number][1] + position - self._ends[number] + side


class Unescaped:
    """A text without escapes, however deep they are nested."""

    def __init__(self, text: str, alphabet: Container[str] | None = None):
        """`alphabet`: the characters that matter. If no escape stands for one of them, the text stays as it
        is."""
        self._rounds: list[Moved] = []
        self.text = text
        for _ in range(_MAX_ROUNDS):
            pieces = list(_escapes(self.text)) if has_escapes(self.text) else []
            characters = set().union(*{replacement for _, _, replacement in pieces})
            if not pieces or not (alphabet is None or any(character in alphabet for character in characters)):
                break
            moved = Moved(self.text, pieces)
            self._rounds.append(moved)
            self.text = moved.text
        self.with_plus = self.text
        """The text with each `+` as it is, while `text` has blanks instead, as in a form."""
        self.text = self.text.replace("+", " ")

    def rounds(self) -> Iterator[tuple[str, Callable[[int, int], tuple[int, int]]]]:
        """Yield the text after each round but the last, and a function that maps spans back from it."""
        for number, moved in enumerate(self._rounds[:-1], 1):
            yield moved.text, partial(_origin, self._rounds[:number])

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the original text of a part of this text."""
        return _origin(self._rounds, start, end)


def _origin(rounds: Sequence[Moved], start: int, end: int) -> tuple[int, int]:
    for moved in reversed(rounds):
        start, end = moved.origin(start, end)
    return start, end


def has_escapes(text: str) -> bool:
    return "%" in text or "\\" in text or "&" in text or _SHELL_QUOTE in text


def may_escape(text: str, alphabet: Container[str]) -> bool:
    """Whether an escape may stand for one of the characters that matter. Different escapes are checked once
    each: most texts have a few of them, many times."""

    def matters(escape: str) -> bool:
        if escape[0] == "%" and len(escape) == 3:
            code = int(escape[1:], 16)
            return code > 127 or chr(code) in alphabet
        if escape[0] == "\\" and escape[-1] in _ESCAPE_LETTERS:
            return _ESCAPE_LETTERS[escape[-1]] in alphabet
        return escape[0] != "\\" or escape[-1] in alphabet or escape[-1] in "\\%&'"

    return has_escapes(text) and any(map(matters, set(_ESCAPE_QUICKLY.findall(text))))


def _escapes(text: str) -> Iterator[tuple[int, int, str]]:
    characters_by_escape: dict[str, str | None] = {}
    for match in _ESCAPE.finditer(text):
        escape = match[0]
        if escape not in characters_by_escape:
            characters_by_escape[escape] = _decode_escape(match)
        characters = characters_by_escape[escape]
        if characters is not None:
            yield *match.span(), characters


@cache
def _entities() -> dict[str, str]:
    from html.entities import name2codepoint  # imported on demand: few texts have entities

    return {name: chr(code) for name, code in name2codepoint.items()} | {"apos": "'"}


def _decode_escape(match: re.Match[str]) -> str | None:
    kind, body = match.lastgroup or "", match[match.lastgroup or 0]
    if kind == "sign":
        return _ESCAPE_LETTERS[body]
    if kind == "other":
        return body
    if kind == "quoted":
        return "'"
    if kind == "named":
        return _entities().get(body)
    if kind in ("percent", "x", "octal"):
        pattern, base = {"percent": (_ONE_PERCENT, 16), "x": (_ONE_X, 16), "octal": (_ONE_OCTAL, 8)}[kind]
        try:
            codes = bytes(int(digits, base) for digits in pattern.findall(body))
            return codes.decode("utf-8", "surrogatepass")
        except ValueError:
            return None
    if kind == "low":
        return chr(0x10000 + (int(match["high"], 16) - 0xD800 << 10) + int(body, 16) - 0xDC00)
    code = int(body, 10 if kind == "decimal" else 16)
    return chr(code) if code <= _MAX_CODE_POINT else None


# A cache of what was found in recent texts. An answer is masked several times in a run: for its file, for the
# report and for the screen.


Result = TypeVar("Result")

_MIN_KEPT_CHARS = 200
"""Searching a shorter text is as fast as finding it in the cache."""
_MAX_KEPT_CHARS = 1_000_000
"""The most characters of all texts of a generation, and of one text."""


def keeps(text: str) -> bool:
    """Whether the results of a text are cached."""
    return _MIN_KEPT_CHARS <= len(text) <= _MAX_KEPT_CHARS


class RecentTexts(Generic[Result]):
    """A cache of the results of a function for the texts of two generations: a full generation becomes the
    old one, which is dropped. Threads share it without a lock: at worst, two of them do the same work."""

    def __init__(self) -> None:
        self._new: dict[tuple[str, Hashable], Result] = {}
        self._old: dict[tuple[str, Hashable], Result] = {}
        self._held = 0

    def of(self, text: str, find: Callable[[], Result], how: Hashable = None) -> Result:
        """Return the cached result, or call `find`. `how`: what else the result depends on besides the
        text."""
        if not keeps(text):
            return find()
        key = (text, how)
        cached = self._new.get(key)
        if cached is not None:
            return cached
        cached = self._old.get(key)
        result = find() if cached is None else cached
        self._held += len(text)
        if self._held > _MAX_KEPT_CHARS:
            self._old, self._new, self._held = self._new, {}, len(text)
        self._new[key] = result
        return result
