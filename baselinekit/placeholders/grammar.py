"""How a placeholder is written, and its types: its row in the table, what it accepts, its bindings."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.secrets.variables import as_text
from baselinekit.structs import Struct
from baselinekit.values.equality import decimal, is_number, same_json
from baselinekit.values.places import with_texts

# The grammar: `<<` name [`(` args `)`] [`?`] [`|null`] [` as ` key] `>>`; `{{any_…}}` means the same.
# Anything else is literal (`a << b`, `<<<<<<<`). An odd run of backslashes right before `<<` or `{{any_`
# makes it literal, and one backslash is dropped; `escape` is the inverse of `split`.


_OPENER = r"(<<|\{\{(?=any_))"
_NAME = r"(?=([a-z][a-z0-9_]*)(?:\(|\?|\||\s+as\s|>>|\}\}))"
_MARKER = lazy_pattern(rf"(?<!\\)((?:\\\\)*)(\\)?{_OPENER}(?(2)|{_NAME})")
"""An escaped opening, or one with a name: its pairs of backslashes, the one that escapes it, and both."""

_NAMED_MARKER = lazy_pattern(rf"(?<!\\)(\\*){_OPENER}{_NAME}")
_ARGUMENT = r"""(?:'(?:[^']|'')*'\s*|"(?:[^"\\]|\\.)*"\s*|[^\s,()<>'"][^,()<>'"]*)"""
_ARGUMENTS = lazy_pattern(_ARGUMENT)
_AFTER_NAME = lazy_pattern(
    rf"(?:\(\s*((?:{_ARGUMENT}(?:,\s*{_ARGUMENT})*)?)\))?"
    r"(\?)?(\|\s*null)?(?:\s+as\s+([A-Za-z_][A-Za-z0-9_-]*))?\s*(>>|\}\})"
)
_FOLLOWER = "<<any>>"
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_INTEGER = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,999})")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")


class Token(Struct):
    """One placeholder as it is written. `optional`: the key may be absent; `key`: the name of a binding."""

    name: str
    args: tuple[Json, ...]
    optional: bool
    nullable: bool
    key: str | None
    text: str


def has_marker(value: Json) -> bool:
    """Whether a value is a text that may stand for something else than itself: it has a placeholder in it, a
    malformed one, or an escaped one. `1 << 4` is none."""
    may_have = isinstance(value, str) and ("<<" in value or "{{any_" in value)
    return may_have and _MARKER.search(value) is not None


def holds_marker(value: Json) -> bool:
    """Whether any text in a value has a marker."""
    return any(map(has_marker, texts_in(value)))


def tokens_in(value: Json) -> Iterator[Token]:
    """Every placeholder in the texts of a value. Malformed ones are skipped, and reported elsewhere."""
    for text in texts_in(value):
        if has_marker(text):
            with suppress(InvalidInput):
                yield from (part for part in split(text) if isinstance(part, Token))


def describes_many(value: Json) -> bool:
    """Whether a value can describe other values too: it holds a placeholder other than `<<var(name)>>`, which
    is one value under another name."""
    return any(token.name != "var" for token in tokens_in(value))


def texts_in(value: Json) -> Iterator[str]:
    """Every text of a value; keys are never placeholders."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def split(text: str) -> list[str | Token]:
    """Split a text into literal texts (unescaped, never two in a row) and placeholders."""
    parts: list[str | Token] = []
    literal = ""
    position = 0
    while match := _MARKER.search(text, position):
        backslashes, escaped, opener, name = match.groups()
        literal += text[position : match.start()] + backslashes
        position = match.end()
        if escaped:
            literal += opener
            continue
        start, rest = match.start(3), _AFTER_NAME.match(text, match.end(4))
        if rest is None or (opener == "<<") != (rest[5] == ">>"):
            raise _malformed(text[start:], name)
        position = rest.end()
        try:
            args = tuple(_read_argument(arg.strip()) for arg in _ARGUMENTS.findall(rest[1] or ""))
        except ValueError:
            raise _malformed(text[start:], name) from None
        if literal:
            parts.append(literal)
            literal = ""
        token_text = text[start:position]
        parts.append(Token(name, args, bool(rest[2]), bool(rest[3]), rest[4], token_text))
    literal += text[position:]
    if literal or not parts:
        parts.append(literal)
    return parts


def escape(text: str, followed: bool = False) -> str:
    """Escape a text for a stored output, so that it is read as it is. `followed`: a placeholder comes right
    after it."""
    if not has_marker(text) and not (followed and text.endswith(("\\", "<", "{"))):
        return text
    escaped = _NAMED_MARKER.sub(r"\\\1\2", text)
    follower = [_FOLLOWER] if followed else []
    # An odd run of backslashes before a marker cannot be escaped: one would be lost. Such a text is quoted.
    with suppress(InvalidInput):
        parts = [part if isinstance(part, str) else part.text for part in split(escaped + "".join(follower))]
        if parts == [text, *follower]:
            return escaped
    return f"<<one_of({quoted(text)})>>"


def quoted(text: str) -> str:
    """A text as an argument of a placeholder."""
    return "'" + text.replace("'", "''") + "'"


def escape_value(value: Json) -> Json:
    """Escape every text in a value."""
    return with_texts(value, escape)


def unescaped(value: Json) -> Json:
    """Return the value that a stored one means. A text with a placeholder in it stays as it is."""
    return with_texts(value, _unescape)


def _unescape(text: str) -> str:
    try:
        parts = split(text)
    except InvalidInput:
        return text
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else text


def is_template(value: Json) -> bool:
    """Whether a stored value is a text with a placeholder in it."""
    return has_marker(value) and unescaped(value) == value


def _read_argument(written: str) -> Json:
    """The value of an argument: a quoted text, a JSON number or constant, else the word itself."""
    if written.startswith("'"):
        return written[1:-1].replace("''", "'")
    if written.startswith('"'):
        return json.loads(written)
    if _INTEGER.fullmatch(written):
        return int(written)
    return Decimal(written) if _NUMBER.fullmatch(written) else _CONSTANTS.get(written, written)


def _malformed(text: str, name: str) -> InvalidInput:
    hint = "write it as <<name(args)?|null as key>>, or put a backslash before << to mean the text itself"
    if ")" not in text:
        hint = f"{hint}; between {{ }} or [ ] of YAML put it in quotes"
    return InvalidInput(Problem("BK211", f"the placeholder {name!r} cannot be read as it is written", hint))


# The types of placeholders: their row in the table, what they accept, their arguments and their bindings.


Args = tuple[Json, ...]

_MOST_DIGITS = 1_000
_MOST = 1_000_000_000
_LENGTH_OF_TIME = lazy_pattern(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}


class Kind(Struct):
    """What a placeholder with its arguments accepts. `accepts` judges a JSON value. `inline` is the regular
    expression that finds a candidate inside a longer text (None: it cannot stand there) and `read` turns the
    candidate into the value to judge. From the beginning of a candidate, `furthest` matches at least as much
    as could belong to it (None: the rest of the text). `any_text`: every text of these lengths is
    accepted."""

    accepts: Callable[[Json], bool]
    inline: str | None = None
    read: Callable[[str], Json] = str
    furthest: str | None = None
    any_text: tuple[int, int | None] | None = None


def of_length(low: int, high: int | None, *classes: type[Any]) -> Kind:
    """The kind of texts, arrays or objects of a length between two."""

    def accepts(value: Json) -> bool:
        return isinstance(value, classes) and low <= len(value) and (high is None or len(value) <= high)

    inline = rf"[\s\S]{{{low},{'' if high is None else high}}}?"
    return Kind(accepts, inline, any_text=(low, high))


def read_number(text: str) -> Json:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else Decimal(text)


def between(number: Json, low: Json, high: Json) -> bool:
    exact = decimal(number)
    return (low is None or exact >= decimal(low)) and (high is None or exact <= decimal(high))


class LearningRule(Struct):
    """How a placeholder is learnt: it is proposed for values of the type `of` if it accepts them all and they
    fit. `words`: describes the values. `when`: "sure" (no value has its form by
    chance), "likely" (plain words may have it, or only a part of a text varies), "type" (little more
    than the type). `argument`: a property of all values that narrows the placeholder. `piece`:
    the expression that finds it in a longer text, where it may stand for a part that
    varies. `in_rows`: it may stand for a key of one row that describes many."""

    words: str
    of: str = "string"
    when: Literal["sure", "likely", "type"] = "sure"
    fits: Callable[[Sequence[Any]], bool] = lambda values: True
    argument: Callable[[Sequence[Any]], str | None] = lambda values: None
    piece: str = ""
    in_rows: bool = False


class PlaceholderType(Struct):
    """A placeholder as one row of the table: its name, the function that builds its kind from its arguments
    (and the words of a project), the types of the values that are stored as it (None: any), how it is learnt,
    if it is, and an example of its arguments, if it takes any."""

    name: str
    build: Callable[[Args, Any], Kind]
    types: frozenset[str] | None = frozenset({"string"})
    learnt: LearningRule | None = None
    example: str = ""


class BadArguments(Exception):
    """Raised where a placeholder cannot take its arguments."""


def take(args: Args, *checks: Callable[[Json], bool]) -> list[Json]:
    """Check the arguments and return them; missing ones are None."""
    pairs = zip(args, checks, strict=False)
    if len(args) > len(checks) or not all(arg is None or fits(arg) for arg, fits in pairs):
        raise BadArguments
    return [*args, *[None] * (len(checks) - len(args))]


def whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def count(value: Json) -> bool:
    """Whether a value is a reasonable number of characters or elements."""
    return whole(value) and 0 <= value <= _MOST


def bounds(args: Args, fits: Callable[[Json], bool], *before: Callable[[Json], bool]) -> list[Json]:
    """Check and return the arguments; the last two are a minimum and a maximum."""
    taken = take(args, *before, fits, fits)
    low, high = taken[-2:]
    if low is not None and high is not None and low > high:
        raise BadArguments
    return taken


def seconds(value: Json) -> Decimal | None:
    """The seconds of a length of time: a number of seconds, or a text such as 500ms, 30s, 5m, 2h, 7d."""
    if is_number(value):
        return decimal(value) if value >= 0 else None
    match = _LENGTH_OF_TIME.fullmatch(value) if isinstance(value, str) else None
    return Decimal(match[1]) * _UNITS[match[2]] if match else None


# Bindings: `<<name as key>>` is one value wherever the same key appears.

Bindings = dict[str, Json]


class Piece(str):
    """A bound part of a text, which may still turn out to be a text, a number or null."""

    __slots__ = ()


def agrees(token: Token, value: Json, bindings: Bindings) -> bool:
    """Whether a value agrees with its binding; the first value of a key becomes its binding."""
    if token.key is None:
        return True
    existing = bindings.setdefault(token.key, value)
    if isinstance(existing, Piece) and not isinstance(value, Piece):
        bindings[token.key] = value  # this value tells the type of the part of a text
    if isinstance(existing, Piece) or isinstance(value, Piece):
        return as_text(existing) == as_text(value)
    return same_json(existing, value)
