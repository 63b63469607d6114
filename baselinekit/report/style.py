"""Text dressed for a terminal: all colours come from here, and lines that fit its width."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from baselinekit.escape import log

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PAINT = re.compile(r"\x1b\[[0-9;]*m")
_CUT = "…"


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is shown: colours and width as the terminal has them, `verbose` as the reader wants it."""

    colour: bool = False
    width: int = 100
    verbose: bool = False

    def paint(self, text: str, colours: str) -> str:
        if not self.colour or not text or not colours:
            return text
        codes = ";".join(_CODES[colour] for colour in colours.split())
        return f"\x1b[{codes}m{text}\x1b[0m"


def format_lines(lines: Iterable[str]) -> str:
    """What a screen shows of these lines."""
    return log("".join(f"{line}\n" for line in lines))


def width(text: str) -> int:
    """The columns that a terminal gives to a text: two for a wide character, none for an accent.
    Colours take none."""
    text = _PAINT.sub("", text)
    return len(text) if text.isascii() else sum(map(_columns, text))


def fitted(text: str, columns: int) -> str:
    """The text, or as much of it as fits with a mark at its end."""
    if width(text) <= columns:
        return text
    kept, room = [], columns - 1
    painted = False
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        if _PAINT.fullmatch(part):
            painted = True
            kept.append(part)
            continue
        for character in part:
            room -= _columns(character)
            if room < 0:
                return "".join(kept) + _CUT + ("\x1b[0m" if painted else "")
            kept.append(character)
    return "".join(kept)


def wrapped(words: Iterable[str], columns: int, gap: str = "  ") -> Iterator[str]:
    """Words that must not be torn apart, in as many lines as they need."""
    line = ""
    for word in words:
        if line and width(line) + width(gap) + width(word) > columns:
            yield line
            line = word
        else:
            line = f"{line}{gap}{word}" if line else word
    if line:
        yield line


def _columns(character: str) -> int:
    return 0 if combining(character) else 1 + (east_asian_width(character) in "WF")
