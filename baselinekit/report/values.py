"""Values as text: as JSON with all their digits, and short for people."""

import json
from bisect import bisect_right
from decimal import Decimal
from textwrap import shorten

from baselinekit.escape import json_string, one_line
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import ABSENT, Json
from baselinekit.values.texts import count_noun, note, split_note

# A value as JSON text, every number with its original digits.


def encode(value: Json, indent: int | None = None, level: int = 0) -> str:
    """Return the text on one line, or indented for its nesting level in a larger one. The same value always
    gives the same text."""
    if not isinstance(value, dict | list | tuple) or not value:
        return _leaf(value)
    inner, end = ("\n" + " " * (indent * n) if indent is not None else "" for n in (level + 1, level))
    between = ", " if indent is None else "," + inner
    if isinstance(value, dict):
        members = (f"{json_string(key)}: {encode(item, indent, level + 1)}" for key, item in value.items())
        return f"{{{inner}{between.join(members)}{end}}}"
    return f"[{inner}{between.join([encode(item, indent, level + 1) for item in value])}{end}]"


def page(value: Json) -> str:
    """Return the text of a file or of output for programs: indented, with a final line break."""
    return encode(value, indent=2) + "\n"


def without_absent(sides: dict[str, Json]) -> dict[str, Json]:
    """Return the sides without absent ones. Null is a value."""
    return {key: value for key, value in sides.items() if value is not ABSENT}


def _leaf(value: Json) -> str:
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, float | Decimal):
        text = str(value)
        return json_string(text) if "n" in text.lower() else text  # JSON has no literal for inf and NaN
    return json.dumps(value)


# Values for people: short, on one line, without control characters, and cut with a count of what was cut.


LONGEST = 500

_PLACEHOLDER = lazy_pattern(r"<<[a-z][^\n]*>>|\{\{any_[^\n]*\}\}")


def short(value: Json, limit: int = 60) -> str:
    """Return a value within a sentence: a text without quotes, anything else as JSON."""
    if value is ABSENT:
        return "not set"
    return cut_line(value, limit) if isinstance(value, str) else cut(encode(value), limit)


def short_words(text: str, limit: int) -> str:
    """Return a part of a text within a sentence: of a long one the words at its beginning."""
    words = shorten(text, limit, placeholder=" …") if len(text) > limit else ""
    return words if " " in words else short(text, limit)


def cut_line(text: str, limit: int = LONGEST) -> str:
    """Return one line of a longer text. The count of what was cut is in characters of the original text."""
    return _line(*split_note(text), limit)


def first_lines(text: str, most: int, limit: int = LONGEST) -> list[str]:
    """Return the first lines of a text, each of them cut, and a note on the lines left out."""
    head, cut_count = split_note(text)
    lines = head.removesuffix("\n").split("\n") if head else []
    shown_lines = [_line(line, 0, limit) for line in lines[:most]]
    if len(lines) > most:
        remaining = len(lines) - most
        shown_lines.append(f"… and {'over ' if cut_count else ''}{count_noun(remaining, 'more line')}")
    elif cut_count:
        shown_lines[-1:] = [_line(lines[-1] if lines else "", cut_count, limit)]
    return shown_lines


def _line(text: str, cut_count: int, limit: int) -> str:
    """Return the text on one line; `cut_count` characters were cut already."""
    fitting = len(text) if len(text) <= limit and len(one_line(text)) <= limit else -1
    if fitting < 0:
        sizes = range(1, min(len(text), limit) + 1)
        fitting = min(len(text), bisect_right(sizes, limit, key=lambda size: len(one_line(text[:size]))))
    return one_line(text[:fitting]) + note(cut_count + len(text) - fitting)


def as_text(value: Json, template: bool = False) -> str:
    """Return a value as JSON; of a `template` its placeholders as they are."""
    if value is ABSENT:
        return ""
    is_placeholder = template and isinstance(value, str) and _PLACEHOLDER.fullmatch(value)
    return one_line(value) if is_placeholder else encode(value)


def cut(text: str, limit: int = LONGEST) -> str:
    end = min(len(text), limit)
    return text[:end] + note(len(text) - end)
