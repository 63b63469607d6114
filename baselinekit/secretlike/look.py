"""One quick look over a text, however long: where words stand, and runs of letters and digits. What takes a
regular expression a second takes the search for bytes a few milliseconds."""

from collections.abc import Iterable, Iterator

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


class Look:
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
