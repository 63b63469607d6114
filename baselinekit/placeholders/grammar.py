"""The grammar: `<<` name [`(` args `)`] [`?`] [`|null`] [` as ` key] `>>`; `{{any_…}}` means the same.

What does not begin so is literal (`a << b`, `<<<<<<<`). An odd run of backslashes right before `<<` or
`{{any_` makes it literal and one of them is dropped; `escape` writes what `split` reads back."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.values import Json

_MARKER = re.compile(r"(?<!\\)(\\*)(<<|\{\{(?=any_))")
_BEGINS = re.compile(r"([a-z][a-z0-9_]*)(?=\(|\?|\||\s+as\s|>>|\}\})")
_TAIL = re.compile(r"(\?)?(\|\s*null)?(?:\s+as\s+([A-Za-z_][A-Za-z0-9_-]*))?\s*")
_BLANKS = re.compile(r"\s*")
_BARE = re.compile(r"[^,()<>'\"]+")
_RAW = re.compile(r"'((?:[^']|'')*)'")
_FOLLOWER = "<<any>>"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,999})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")


@dataclass(frozen=True, slots=True)
class Token:
    """One placeholder as it is written. `optional`: the key may be absent; `key`: the name of a binding."""

    name: str
    args: tuple[Json, ...]
    optional: bool
    nullable: bool
    key: str | None
    text: str


def has_marker(text: str) -> bool:
    """Whether a text could hold a placeholder, or an escape of one."""
    return "<<" in text or "{{any_" in text


def holds_marker(value: Json) -> bool:
    """Whether any text of a value could."""
    return any(map(has_marker, texts_in(value)))


def tokens_in(value: Json) -> Iterator[Token]:
    """Every placeholder in the texts of a value. Malformed ones are somebody else's to report."""
    for text in texts_in(value):
        if has_marker(text):
            with suppress(InvalidInput):
                yield from (part for part in split(text) if isinstance(part, Token))


def describes_many(value: Json) -> bool:
    """Whether a value can describe others than itself: it holds a placeholder, and not only `<<var(name)>>`,
    which is one value under another name."""
    return any(token.name != "var" for token in tokens_in(value))


def texts_in(value: Json) -> Iterator[str]:
    """Every text of a value; keys are never placeholders."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def split(text: str) -> list[str | Token]:
    """The text in parts: literal texts (escapes undone, never two in a row) and placeholders."""
    parts: list[str | Token] = []
    literal = ""
    position = 0
    while match := _MARKER.search(text, position):
        literal += text[position : match.start()]
        run, opener = match.groups()
        if len(run) % 2:
            literal += run[1:] + opener
            position = match.end()
            continue
        literal += run
        begins = _BEGINS.match(text, match.end())
        if begins is None:
            literal += opener[0]
            position = match.end() - 1
            continue
        token, position = _token(text, match.end() - 2, begins, ">>" if opener == "<<" else "}}")
        if literal:
            parts.append(literal)
            literal = ""
        parts.append(token)
    literal += text[position:]
    if literal or not parts:
        parts.append(literal)
    return parts


def escape(text: str, followed: bool = False) -> str:
    """The text as a stored output holds it, so that it stands for itself. `followed`: a placeholder comes
    right after it."""
    if not has_marker(text) and not (followed and text.endswith(("\\", "<", "{"))):
        return text
    written = _escaped(text)
    after = [_FOLLOWER] if followed else []
    # An odd run of backslashes before a marker cannot be written: one would be lost. Such a text is quoted.
    with suppress(InvalidInput):
        parts = [part if isinstance(part, str) else part.text for part in split(written + "".join(after))]
        if parts == [text, *after]:
            return written
    return "<<one_of('" + text.replace("'", "''") + "')>>"


def _escaped(text: str) -> str:
    result = ""
    position = 0
    while match := _MARKER.search(text, position):
        run, opener = match.groups()
        begins = _BEGINS.match(text, match.end())
        result += text[position : match.start()] + ("\\" if begins else "") + run
        result += opener if begins else opener[0]
        position = match.end() if begins else match.end() - 1
    return result + text[position:]


def escape_value(value: Json) -> Json:
    """A value with every text in it escaped; the same object when there is nothing to escape."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, list):
        items = [escape_value(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = {key: escape_value(item) for key, item in value.items()}
        return pairs if any(pairs[key] is not item for key, item in value.items()) else value
    return value


def _token(text: str, start: int, begins: re.Match[str], closer: str) -> tuple[Token, int]:
    position = begins.end()
    args: tuple[Json, ...] = ()
    if text[position] == "(":
        args, position = _args(text, start, position + 1)
    tail = _TAIL.match(text, position)
    assert tail is not None  # every part of it is optional
    if not text.startswith(closer, tail.end()):
        raise malformed(text[start : tail.end() + 2], f"should end with {closer}")
    end = tail.end() + 2
    token = Token(begins[1], args, bool(tail[1]), bool(tail[2]), tail[3], text[start:end])
    return token, end


def _args(text: str, start: int, position: int) -> tuple[tuple[Json, ...], int]:
    args: list[Json] = []
    while True:
        position = _blank(text, position)
        if raw := _RAW.match(text, position):
            args.append(raw[1].replace("''", "'"))
            position = raw.end()
        elif quoted := _QUOTED.match(text, position):
            try:
                args.append(json.loads(quoted[0]))
            except ValueError:
                raise malformed(text[start : quoted.end()], "has a text that is not JSON") from None
            position = quoted.end()
        elif bare := _BARE.match(text, position):
            args.append(_scalar(bare[0].strip()))
            position = bare.end()
        elif args or text[position : position + 1] != ")":
            raise malformed(text[start : position + 1], "has an argument that cannot be read")
        position = _blank(text, position)
        closing = text[position : position + 1]
        position += 1
        if closing == ")":
            return tuple(args), position
        if closing != ",":
            raise malformed(text[start:position], "should go on with a comma or a closing parenthesis")


def _blank(text: str, position: int) -> int:
    """The position after any blanks."""
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def _scalar(word: str) -> Json:
    """A bare word as JSON would read it, else the word itself."""
    if word in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[word]
    if _INTEGER.fullmatch(word):
        return int(word)
    return Decimal(word) if _NUMBER.fullmatch(word) else word


def malformed(shown: str, why: str) -> InvalidInput:
    hint = "write it as <<name(args)?|null as key>>, or put a backslash before << to mean the text itself"
    return InvalidInput(Problem("BK211", f"the placeholder {shown!r} {why}", hint))
