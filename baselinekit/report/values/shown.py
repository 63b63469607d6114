"""Values as a person reads them: short, on one line, harmless, and cut with a count of what was cut."""

import re
from bisect import bisect_left, bisect_right

from baselinekit.clipped import end_at, note, whole
from baselinekit.escape import one_line
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.plural import many
from baselinekit.report.values.encode import encode, pieces

LONGEST = 500
_LOOKED_AT = 100_000
_CONTEXT = 40

_PLACEHOLDER = re.compile(r"<<[a-z][^\n]*>>|\{\{any_[^\n]*\}\}")


def pair(expected: Json, actual: Json, with_types: bool = False) -> tuple[str, str]:
    """Both sides of a difference. Where long texts begin alike, what they share is left out, so that the
    place where they part is in sight."""
    left, left_open = _text(expected, template=True)
    right, right_open = _text(actual, template=False)
    if max(len(left), len(right)) > LONGEST:
        shared = max(0, _shared(left, right) - _CONTEXT)
        if shared > _CONTEXT:
            left, right = (f"… {shared:,} characters alike … {text[shared:]}" for text in (left, right))
    shown = [_cut(left, left_open), _cut(right, right_open)]
    if with_types:
        shown = [_typed(text, value) for text, value in zip(shown, (expected, actual), strict=True)]
    return shown[0], shown[1]


def short(value: Json, limit: int = 60) -> str:
    """A value in passing: a text without its quotes, anything else as JSON."""
    if value is ABSENT:
        return "not set"
    if isinstance(value, str):
        return cut_line(value, limit)
    text, more = _text(value, template=False)
    return _cut(text, more, limit)


def cut_line(text: str, limit: int = LONGEST) -> str:
    """One line of a longer text. Counted are characters of the text, however they are written here."""
    return _line(*whole(text), limit)


def first_lines(text: str, most: int, limit: int = LONGEST) -> list[str]:
    """The first lines of a text, each of them cut, and what that leaves out at the end."""
    kept, gone = whole(text)
    lines = kept.removesuffix("\n").split("\n") if kept else []
    shown = [_line(line, 0, limit) for line in lines[:most]]
    if len(lines) > most:
        rest = len(lines) - most
        shown.append(f"… and {'over ' if gone else ''}{many(rest, 'more line')}")
    elif gone:
        shown[-1:] = [_line(lines[-1] if lines else "", gone, limit)]
    return shown


def _line(text: str, gone: int, limit: int) -> str:
    """On one line, where `gone` characters are missing already."""
    fitting = len(text) if len(text) <= limit and len(one_line(text)) <= limit else -1
    if fitting < 0:
        sizes = range(1, min(len(text), limit) + 1)
        fitting = end_at(text, bisect_right(sizes, limit, key=lambda size: len(one_line(text[:size]))))
    return one_line(text[:fitting]) + note(gone + len(text) - fitting)


def _text(value: Json, template: bool) -> tuple[str, bool]:
    """The text, and whether there would have been more of it."""
    if value is ABSENT:
        return "", False
    if isinstance(value, str):
        if template and _PLACEHOLDER.fullmatch(value):
            return one_line(value), False
        return encode(value[:_LOOKED_AT]), len(value) > _LOOKED_AT
    parts: list[str] = []
    size = 0
    for part in pieces(value):
        parts.append(part[:_LOOKED_AT])
        size += len(part)
        if size > _LOOKED_AT:
            return "".join(parts), True
    return "".join(parts), False


def _typed(text: str, value: Json) -> str:
    if value is ABSENT or (isinstance(value, str) and text == value):
        return text
    return f"{text} ({json_type(value)})"


def _shared(left: str, right: str) -> int:
    """How many characters two texts begin with alike, found by halving: a loop over them would be slow."""
    size = min(len(left), len(right))
    return bisect_left(range(1, size + 1), True, key=lambda length: left[:length] != right[:length])


def _cut(text: str, more: bool, limit: int = LONGEST) -> str:
    if len(text) <= limit:
        return text + " …" if more else text
    end = end_at(text, limit)
    told = note(len(text) - end)
    return text[:end] + (told.replace("and ", "and over ") if more else told)
