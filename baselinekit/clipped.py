"""The beginning of a long text, and how much of it that leaves out.

A text may be cut more than once: an answer where it is kept, and what was kept where it is shown. What was
cut off before counts as well, so that the number is that of the whole text."""

import re

from baselinekit.plural import many

_LONGEST_NUMBER = 40
_LONGEST_NOTE = 60
_NOTE = re.compile(r" … and ([0-9]{1,3}(?:,[0-9]{3})*) more characters?\Z")


def clipped(text: str, limit: int) -> str:
    """At most so many characters of a text, and a count of the others."""
    text, gone = whole(text)
    end = end_at(text, limit)
    return text[:end] + note(gone + len(text) - end)


def whole(text: str) -> tuple[str, int]:
    """A text without the note at its end, and the number that stands there."""
    found = _NOTE.search(text, max(0, len(text) - _LONGEST_NOTE))
    return (text[: found.start()], int(found[1].replace(",", ""))) if found else (text, 0)


def note(gone: int) -> str:
    """What is said where so many characters are left out."""
    return f" … and {many(gone, 'more character')}" if gone else ""


def end_at(text: str, limit: int) -> int:
    """Where to cut a text. Half a number is another number, so it goes as a whole."""
    if len(text) <= limit:
        return len(text)
    for end in range(limit, max(0, limit - _LONGEST_NUMBER), -1):
        if not (text[end - 1].isdigit() and text[end].isdigit()):
            return end
    return limit
