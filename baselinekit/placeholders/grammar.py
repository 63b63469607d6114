"""How a placeholder is written, and what it is: its row in the table, what it accepts, its bindings."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Literal

from baselinekit.errors import InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.tree.equality import decimal, is_number, same_json
from baselinekit.variables import as_text

# The grammar: `<<` name [`(` args `)`] [`?`] [`|null`] [` as ` key] `>>`; `{{any_…}}` means the same.
# What does not begin so is literal (`a << b`, `<<<<<<<`). An odd run of backslashes right before `<<` or
# `{{any_` makes it literal and one of them is dropped; `escape` writes what `split` reads back.


_MARKER = lazy_pattern(r"(?<!\\)(\\*)(<<|\{\{(?=any_))")
_BEGINS = lazy_pattern(r"([a-z][a-z0-9_]*)(?=\(|\?|\||\s+as\s|>>|\}\})")
WRITTEN = rf"(?:<<|\{{\{{(?=any_))(?:(?<=\\<<)|(?<=\\\{{\{{)|{_BEGINS.pattern})"
_WRITTEN = lazy_pattern(WRITTEN)
_TAIL = lazy_pattern(r"(\?)?(\|\s*null)?(?:\s+as\s+([A-Za-z_][A-Za-z0-9_-]*))?\s*")
_BLANKS = lazy_pattern(r"\s*")
_BARE = lazy_pattern(r"[^,()<>'\"]+")
_RAW = lazy_pattern(r"'((?:[^']|'')*)'")
_FOLLOWER = "<<any>>"
_QUOTED = lazy_pattern(r'"(?:[^"\\]|\\.)*"')
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None}
_INTEGER = lazy_pattern(r"-?(?:0|[1-9][0-9]{0,999})")
_NUMBER = lazy_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")


@frozen
class Token:
    """One placeholder as it is written. `optional`: the key may be absent; `key`: the name of a binding."""

    name: str
    args: tuple[Json, ...]
    optional: bool
    nullable: bool
    key: str | None
    text: str


def has_marker(text: str) -> bool:
    """Whether a text may stand for something else than itself: there is a placeholder in it, a broken one, or
    an escape of one. `1 << 4` is none."""
    return ("<<" in text or "{{any_" in text) and _WRITTEN.search(text) is not None


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
            word = bare[0].strip()  # as JSON would read it, else the word itself
            number = (
                int(word) if _INTEGER.fullmatch(word) else Decimal(word) if _NUMBER.fullmatch(word) else word
            )
            args.append(_CONSTANTS.get(word, number))
            position = bare.end()
        elif args or text[position : position + 1] != ")":
            raise malformed(text[start : position + 1], "has an argument that cannot be read")
        position = _blank(text, position)
        closing = text[position : position + 1]
        position += 1
        if closing == ")":
            return tuple(args), position
        if not closing:
            raise malformed(text[start:position], "ends within its arguments", _CUT_BY_YAML)
        if closing != ",":
            raise malformed(text[start:position], "should go on with a comma or a closing parenthesis")


def _blank(text: str, position: int) -> int:
    """The position after any blanks."""
    match = _BLANKS.match(text, position)
    return match.end() if match else position


_FORM = "write it as <<name(args)?|null as key>>, or put a backslash before << to mean the text itself"
_CUT_BY_YAML = "put it in quotes: between { } or [ ] YAML takes a comma for the end of a value"


def malformed(shown: str, why: str, hint: str = _FORM) -> InvalidInput:
    return InvalidInput(Problem("BK211", f"the placeholder {shown!r} {why}", hint))


# What a placeholder is: its row in the table, what it accepts, its arguments and its bindings.


Args = tuple[Json, ...]

_MOST_DIGITS = 1_000
_MOST = 1_000_000_000
_LENGTH_OF_TIME = lazy_pattern(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNITS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600), "d": Decimal(86400)}
TYPES = frozenset(("string", "number", "boolean", "null", "object", "array"))


@frozen
class Extent:
    """What every value has that a placeholder accepts, and no other value has: its type, its length (of a
    text, an array, an object), its size and form (of a number: `whole` those written without a fraction,
    `within` of the present moment), how a text begins and ends and what it holds, the tests by `names` that
    it passes (formats and expressions; None: nobody knows), its elements, or that it is one of some values.
    Of a format the length follows from the name: it stands here for those who ask for a length alone."""

    types: frozenset[str] = TYPES
    lengths: tuple[int, int | None] = (0, None)
    numbers: tuple[Decimal | None, Decimal | None] = (None, None)
    whole: bool | None = None
    within: Decimal | None = None
    begins: str = ""
    ends: str = ""
    holds: tuple[str, ...] = ()
    names: frozenset[str] | None = frozenset()
    element: "Kind | None" = None
    values: tuple[Json, ...] | None = None


UNKNOWN = Extent(names=None)


def of_types(*types: str) -> Extent:
    return Extent(frozenset(types))


@frozen
class Kind:
    """What a placeholder with its arguments accepts. `accepts` judges a JSON value. `inline` is the regular
    expression that finds a candidate inside a longer text (None: it cannot stand there) and `read` turns the
    candidate into the value to judge.
    `timed`: the expression is the user's own, so it needs the time limit. Of a candidate that begins at some
    place, `furthest` matches at least as much as could belong to it (None: the rest of the text); `any_text`:
    every text of these lengths is accepted. `extent` says what is accepted, to whoever sets two kinds beside
    each other."""

    accepts: Callable[[Json], bool]
    inline: str | None = None
    read: Callable[[str], Json] = str
    timed: bool = False
    furthest: str | None = None
    any_text: tuple[int, int | None] | None = None
    extent: Extent = UNKNOWN


def read_number(text: str) -> Json:
    digits = text.removeprefix("-")
    return int(text) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else Decimal(text)


def between(number: Json, low: Json, high: Json) -> bool:
    exact = decimal(number)
    return (low is None or exact >= decimal(low)) and (high is None or exact <= decimal(high))


@frozen
class LearningRule:
    """How a placeholder is learnt: it is proposed for values of the type `of` if it accepts them all and they
    fit. `words`: what the values are, which may hang on them. `when`: "sure" (no value has its form by
    chance), "likely" (plain words may have it, or only a part of a text varies), "type" (it says hardly more
    than the type). `argument`: what all values have in common that narrows it, described by `narrowed`;
    `between`: its arguments are a least and a greatest value. `piece`: the verbose expression that finds it
    in a longer text, where it may stand for a part that varies; `part`: what such a part looks like if
    nothing surer is known of it. `in_rows`: it may stand for a key of one row that describes many."""

    words: str | Callable[[Sequence[Any]], str]
    of: str = "string"
    when: Literal["sure", "likely", "type"] = "sure"
    fits: Callable[[Sequence[Any]], bool] = lambda values: True
    argument: Callable[[Sequence[Any]], str | None] = lambda values: None
    narrowed: str = ""
    between: bool = False
    piece: str = ""
    part: str = ""
    in_rows: bool = False

    def describe(self, values: Sequence[Any]) -> str:
        """What the values are."""
        return self.words if isinstance(self.words, str) else self.words(values)


@frozen
class PlaceholderType:
    """A placeholder as one row: its name, the kind that its arguments make of it (in the words of a project),
    the types of the values that are stored as it (None: any), and how it is learnt, if it is. The extent of
    its kind says what else it is narrower than. `bounded`: its arguments are limits or a version, and without
    them it means the same and accepts more."""

    name: str
    build: Callable[[Args, Any], Kind]
    types: frozenset[str] | None = frozenset({"string"})
    learnt: LearningRule | None = None
    bounded: bool = False


def bad_args(name: str, why: str, example: str) -> InvalidInput:
    return InvalidInput(Problem("BK213", f"the placeholder {name} {why}", f"for example <<{example}>>"))


def take(name: str, args: Args, example: str, *wanted: Callable[[Json], bool]) -> list[Json]:
    """The arguments, each checked, those left out as None."""
    if len(args) > len(wanted):
        most = len(wanted)
        plural = "s" if most > 1 else ""
        why = f"takes at most {most} argument{plural}" if most else "takes no arguments"
        raise bad_args(name, why, example)
    for arg, fits in zip(args, wanted, strict=False):
        if arg is not None and not fits(arg):
            raise bad_args(name, f"cannot take {str(arg)!r}", example)
    return [*args, *[None] * (len(wanted) - len(args))]


def whole(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def count(value: Json) -> bool:
    """A number of characters or elements that one can mean."""
    return whole(value) and 0 <= value <= _MOST


def bounds(
    name: str, args: Args, example: str, fits: Callable[[Json], bool], *before: Callable[[Json], bool]
) -> list[Json]:
    """The arguments of which the last two are a least and a greatest."""
    taken = take(name, args, example, *before, fits, fits)
    low, high = taken[-2:]
    if low is not None and high is not None and low > high:
        raise bad_args(name, f"accepts nothing: {low} is more than {high}", example)
    return taken


def seconds(value: Json) -> Decimal | None:
    """A length of time: a number of seconds, or a text such as 500ms, 30s, 5m, 2h, 7d."""
    if is_number(value):
        return decimal(value) if value >= 0 else None
    match = _LENGTH_OF_TIME.fullmatch(value) if isinstance(value, str) else None
    return Decimal(match[1]) * _UNITS[match[2]] if match else None


# Bindings: `<<name as key>>` is one value wherever the same key stands.

Bindings = dict[str, Json]


class Piece(str):
    """A bound part of a text, of which nobody has said yet whether it is a text, a number or null."""

    __slots__ = ()


def bound(token: Token, value: Json, bindings: Bindings) -> bool:
    """Whether a value is the one that its binding already has; the first value met is the one."""
    if token.key is None:
        return True
    known = bindings.setdefault(token.key, value)
    if isinstance(known, Piece) and not isinstance(value, Piece):
        bindings[token.key] = value  # now it is known what the part of a text was
    if isinstance(known, Piece) or isinstance(value, Piece):
        return as_text(known) == as_text(value)
    return same_json(known, value)
