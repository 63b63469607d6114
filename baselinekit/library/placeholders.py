"""Placeholders as Python values: they are used inside an expected value, equal every value that they accept,
and are written as their texts in a baseline file."""

import json
import time
from decimal import Decimal

from baselinekit.cli.entry import clock
from baselinekit.errors import InvalidInput, Problem
from baselinekit.library.values import NoJsonError, as_json, serializer
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Token, quoted, split
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget, kind_of

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "any_string": ("min", "max"),
    "any_number": ("min", "max"),
    "any_integer": ("min", "max"),
    "any_token": ("min", "max"),
    "any_array": ("of", "min", "max"),
    "any_uuid": ("version",),
    "any_ip": ("version",),
    "any_iso_datetime": ("within",),
    "any_unix_timestamp": ("within",),
    "any_hex": ("length",),
}
"""The arguments that a placeholder takes in parentheses, in their order."""


class Placeholder:
    """A placeholder for a class of values. `==` tells whether it accepts a value; `| None` also accepts null,
    `.optional` a missing key; calling it with arguments narrows it."""

    __slots__ = ("_token", "text")

    def __init__(self, text: str):
        parts = split(text)
        if len(parts) != 1 or not isinstance(parts[0], Token):
            raise InvalidInput(Problem("BK211", f"{text!r} is not one placeholder", "as in <<any_uuid>>"))
        self.text = text
        self._token = parts[0]
        kind_of(self._token, PlaceholderContext(now=clock()()))

    def __call__(self, *values: Json, **named: Json) -> "Placeholder":
        """The same with arguments: `any_string(min=1, max=80)`, `any_iso_datetime(within="1h")`."""
        name = self._token.name
        argument_names = _ARGUMENTS.get(name, ())
        given = dict(zip(argument_names, values, strict=False))
        if values[len(argument_names) :] or not named.keys() <= {*argument_names} - given.keys():
            raise TypeError(f"{name} takes {', '.join(argument_names) or 'no arguments'}, each of them once")
        arguments = [(given | named).get(key) for key in argument_names]
        while arguments and arguments[-1] is None:
            arguments.pop()
        return build_placeholder(name, *arguments)

    def __or__(self, other: None) -> "Placeholder":
        if other is not None:
            return NotImplemented
        return Placeholder(_text_with(self._token, nullable=True))

    __ror__ = __or__

    @property
    def optional(self) -> "Placeholder":
        """The same placeholder for a key that may be absent."""
        return Placeholder(_text_with(self._token, optional=True))

    def accepts(self, value: object) -> bool:
        """Whether the placeholder accepts a value."""
        try:
            json_value = as_json(value)
        except NoJsonError:
            return False
        if json_value is None and self._token.nullable:
            return True
        words = PlaceholderContext(now=clock()(), regex_budget=RegexBudget(time.thread_time))
        return kind_of(self._token, words).accepts(json_value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Placeholder):
            return self.text == other.text
        return self.accepts(other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


@serializer(Placeholder)
def _placeholder_text(placeholder: Placeholder) -> str:
    return placeholder.text


def _text_with(token: Token, nullable: bool = False, optional: bool = False) -> str:
    """Return the text of the placeholder changed to also accept null, or a missing key."""
    key = f" as {token.key}" if token.key else ""
    stem = token.text.removesuffix(f"{key}>>").removesuffix("|null").removesuffix("?")
    mark = "?" if optional or token.optional else ""
    null = "|null" if nullable or token.nullable else ""
    return f"{stem}{mark}{null}{key}>>"


def build_placeholder(name: str, *args: Json) -> Placeholder:
    """Return a placeholder from its name and its arguments."""
    texts = ", ".join(_format_argument(arg) for arg in args)
    return Placeholder(f"<<{name}({texts})>>" if args else f"<<{name}>>")


def _format_argument(value: Json) -> str:
    if isinstance(value, str):
        return quoted(value)
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def placeholder(text: str) -> Placeholder:
    """Any placeholder by its text: `placeholder("<<any_timespan>>")`."""
    return Placeholder(text if text.startswith("<<") else f"<<{text}>>")


def number(value: int | float | Decimal, abs: int | float | Decimal = 0) -> Placeholder:
    """A number that is not further from `value` than `abs`, counted in decimals: `number(4.2, abs=0.1)`."""
    return Placeholder(f"<<number({Decimal(str(value))} ± {Decimal(str(abs))})>>")


def one_of(*values: Json) -> Placeholder:
    """One of these texts, numbers, booleans or None."""
    return build_placeholder("one_of", *(as_json(value) for value in values))


def regex(pattern: str) -> Placeholder:
    """A text that matches as a whole."""
    return build_placeholder("regex", pattern)


def contains(part: str) -> Placeholder:
    """A text with this part."""
    return build_placeholder("contains", part)


def starts_with(part: str) -> Placeholder:
    """A text that begins with this part."""
    return build_placeholder("starts_with", part)


def ends_with(part: str) -> Placeholder:
    """A text that ends with this part."""
    return build_placeholder("ends_with", part)


def length(least: int, most: int | None = None) -> Placeholder:
    """A text, an array or an object of this length, or of a length between two."""
    return build_placeholder("length", least) if most is None else build_placeholder("length", least, most)


anything = Placeholder("<<any>>")
any_string = Placeholder("<<any_string>>")
any_nonempty_string = Placeholder("<<any_nonempty_string>>")
any_integer = Placeholder("<<any_integer>>")
any_number = Placeholder("<<any_number>>")
any_boolean = Placeholder("<<any_boolean>>")
any_object = Placeholder("<<any_object>>")
any_array = Placeholder("<<any_array>>")
any_uuid = Placeholder("<<any_uuid>>")
any_jwt = Placeholder("<<any_jwt>>")
any_token = Placeholder("<<any_token>>")
any_hex = Placeholder("<<any_hex>>")
any_base64 = Placeholder("<<any_base64>>")
any_iso_datetime = Placeholder("<<any_iso_datetime>>")
any_iso_date = Placeholder("<<any_iso_date>>")
any_time = Placeholder("<<any_time>>")
any_unix_timestamp = Placeholder("<<any_unix_timestamp>>")
any_semver = Placeholder("<<any_semver>>")
any_ip = Placeholder("<<any_ip>>")
any_email = Placeholder("<<any_email>>")
any_url = Placeholder("<<any_url>>")
