"""The table of all placeholders. A new placeholder is one row, here or among the formats of texts."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

from baselinekit.errors import CannotReplay, InvalidInput, Problem, suggest
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.formats import FORMATS, have_one_unit, unix_timestamp
from baselinekit.placeholders.grammar import (
    Args,
    BadArguments,
    Kind,
    LearningRule,
    PlaceholderType,
    Token,
    between,
    bounds,
    count,
    of_length,
    read_number,
    take,
    whole,
)
from baselinekit.secrets.variables import Scope, as_text
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.values.equality import delta, is_number, same_json
from baselinekit.values.texts import mask_and_clip, no_mask

SECONDS = 1.0
"""The time that all regular expressions of one baseline may take: many that are each just quick enough add
up."""
_NEGLIGIBLE = 0.0001
"""Shorter searches do not count: their sum would depend only on the size of the answer."""


class RegexBudget(MutableStruct):
    """The time spent in regular expressions. `clock` counts the seconds of this thread only, so that work of
    other threads does not count."""

    clock: Callable[[], float] = field(default=lambda: 0.0)
    spent: float = 0.0

    def is_over(self, start: float) -> bool:
        """Whether the budget is used up, including the search that began at `start`."""
        elapsed = self.clock() - start
        if elapsed > _NEGLIGIBLE:
            self.spent += elapsed
        return self.spent > SECONDS


# A user's regular expression, with an enforced time limit. The standard library's `re` keeps the
# interpreter's lock while it backtracks, so one bad pattern would stall every other baseline; the `regex`
# package releases it and stops in time.


_LONGEST = 1_000
_LONGEST_TEXT = 1_000_000
_LONGEST_SHOWN = 80
_MOST_STEPS = 10_000

_PART = lazy_pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<times>\d+)(?:,\d*)?\}|.", re.DOTALL)
_REFERS_TO_ITSELF = lazy_pattern(r"(?<!\\)(?:\\\\)*\(\?(?:R|[+-]?\d|&|P>)")


def _shorten(pattern: str) -> str:
    return mask_and_clip(pattern, _LONGEST_SHOWN, no_mask, counted=False)


@lru_cache(maxsize=1024)
def compiled(pattern: str, longest: int | None = _LONGEST, flags: tuple[str, ...] = ("dotall",)) -> Any:
    """Compile a pattern; an invalid one is an error. Without `longest` a stored text surrounds the pattern,
    and may be long. The regex package is imported here, so that it costs no time without a pattern."""
    import regex

    shown = _shorten(pattern)
    if longest is not None and len(pattern) > longest:
        raise InvalidInput(Problem("BK214", f"a regular expression is longer than {_LONGEST} characters"))
    if _REFERS_TO_ITSELF.search(pattern):
        raise InvalidInput(Problem("BK214", f"{shown!r} refers to itself", "write out what it repeats"))
    if _count_steps(pattern) > _MOST_STEPS + (len(pattern) if longest is None else 0):
        message = f"{shown!r} repeats its parts more than {_MOST_STEPS:,} times"
        raise InvalidInput(Problem("BK214", message, "with + or * for what may occur often"))
    try:
        return regex.compile(pattern, sum(getattr(regex, flag.upper()) for flag in set(flags)))
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput(Problem("BK214", f"{shown!r} is not a regular expression: {error}")) from None


def _count_steps(pattern: str) -> int:
    """The approximate size of a compiled pattern: a part that must occur a hundred times is written out a
    hundred times."""
    sizes = [0]
    last = 0
    for part in _PART.finditer(pattern):
        if part["times"] is not None:
            sizes[-1] += last * (int(part["times"]) - 1)
            last *= int(part["times"])
        elif part[0] == "(":
            sizes.append(0)
        elif part[0] == ")" and len(sizes) > 1:
            last = sizes.pop() + 1
            sizes[-1] += last
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


def full_match(pattern: Any, text: str, regex_budget: RegexBudget) -> Any:
    """The match of the whole text, or None; CannotReplay if it takes too long."""
    return in_time(pattern, pattern.fullmatch, text, regex_budget)


def search(pattern: Any, text: str, regex_budget: RegexBudget, seconds: float = SECONDS) -> Any:
    """The first match anywhere in the text, or None; CannotReplay if it takes too long."""
    return in_time(pattern, pattern.search, text, regex_budget, seconds)


def in_time(pattern: Any, find: Any, text: str, regex_budget: RegexBudget, seconds: float = SECONDS) -> Any:
    if len(text) > _LONGEST_TEXT:
        raise _limit_error(pattern, f"is given {len(text):,} characters, over the limit of {_LONGEST_TEXT:,}")
    start = regex_budget.clock()
    try:
        match = find(text, timeout=seconds, concurrent=True)
    except TimeoutError:
        raise _limit_error(pattern, f"takes longer than {seconds:g} s") from None
    if regex_budget.is_over(start):
        raise _limit_error(pattern, f"and those before it take longer than {SECONDS:g} s in total")
    return match


def _limit_error(pattern: Any, reason: str) -> CannotReplay:
    shortened = _shorten(str(pattern.pattern))
    return CannotReplay(Problem("BK215", f"the regular expression {shortened!r} {reason}", "make it simpler"))


# The rows of the table.


_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?"
NUMBER_IN_TEXT = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?|[eE][+-][0-9]{1,4})?"
"""Numbers as programs write them: 12e3 is more likely hexadecimal digits."""

_LOOSE_NUMBER = NUMBER_IN_TEXT.replace("(?:0|[1-9][0-9]*)", "[0-9]+")

_NUMBER_END = r"[-+0-9.eE]+"
ANYTHING = r"[\s\S]*?"
_NEAR = lazy_pattern(rf"({_NUMBER})(?:\s*(?:±|\+/-|\+-)\s*({_NUMBER}))?")

Table = Mapping[str, PlaceholderType]


class PlaceholderContext(Struct):
    """What placeholders mean in one project: its own placeholders (`own`), its variables, and the present
    moment (seconds since 1970), which only the caller knows. `regex_budget` is for one baseline; `table`: the
    built-in placeholders; `config_from`: the commit whose configuration counts, if not the one of the
    checkout."""

    own: dict[str, str] = field(default_factory=dict)
    scope: Scope = field(default_factory=Scope)
    now: float = 0.0
    regex_budget: RegexBudget = field(default_factory=RegexBudget)
    table: Table = field(default_factory=lambda: TABLE)
    config_from: str | None = None


def kind_of(token: Token, words: PlaceholderContext) -> Kind:
    """The kind that a placeholder names; an unknown name is an error with the nearest one."""
    row = words.table.get(token.name)
    if token.name in words.own:
        if row is not None:
            message = f"`placeholders:` of the configuration redefines {token.name}"
            raise InvalidInput(Problem("BK108", message, "choose another name: it is a built-in one"))
        if token.args:
            raise _bad_arguments(token, token.name)
        return _regex_kind(words.own[token.name], words.regex_budget)
    if row is None:
        hint = suggest(token.name, {*words.table, *words.own})
        hint = hint or "declare it under `placeholders:`, or write \\<< to mean the text"
        if words.config_from:
            hint += f"; the configuration as of {words.config_from} counts (--config-from)"
        raise InvalidInput(Problem("BK212", f"there is no placeholder {token.name!r}", hint))
    try:
        return row.build(token.args, words)
    except BadArguments:
        raise _bad_arguments(token, row.example or row.name) from None


def _bad_arguments(token: Token, example: str) -> InvalidInput:
    message = f"{token.text} has arguments that do not fit"
    return InvalidInput(Problem("BK211", message, f"for example <<{example}>>"))


def types_of(name: str, table: Table | None = None) -> frozenset[str] | None:
    """The types of the values that are stored as a placeholder, None for any. A placeholder of the project
    itself is for a text."""
    row = (TABLE if table is None else table).get(name)
    return row.types if row else frozenset({"string"})


def string(args: Args, words: PlaceholderContext, least: int = 0) -> Kind:
    low, high = bounds(args, count)
    return of_length(max(least, low or 0), high, str)


def number(args: Args, words: PlaceholderContext, only: type | None = None) -> Kind:
    low, high = bounds(args, is_number)

    def accepts(value: Json) -> bool:
        fits = is_number(value) and (only is None or isinstance(value, int) == (only is int))
        return fits and between(value, low, high)

    inline = r"-?[0-9]+" if only is int else _NUMBER
    furthest = r"-?[0-9]{1,1001}" if only is int else _NUMBER_END
    return Kind(accepts, inline, read_number, furthest=furthest)


def number_near(args: Args, words: PlaceholderContext) -> Kind:
    match = _NEAR.fullmatch(" ".join(str(arg) for arg in args))
    if match is None or (match[2] or "").startswith("-"):
        raise BadArguments
    middle, distance = Decimal(match[1]), Decimal(match[2] or 0)

    def is_near(value: Any) -> bool:
        return is_number(value) and delta(middle, value).copy_abs() <= distance

    return Kind(is_near, _NUMBER, read_number, furthest=_NUMBER_END)


def array(args: Args, words: PlaceholderContext) -> Kind:
    of, low, high = bounds(args, count, lambda arg: isinstance(arg, str))
    arrays = of_length(low or 0, high, list)
    if of is None:
        return replace(arrays, inline=None, any_text=None)
    element = kind_of(Token(of, (), False, False, None, f"<<{of}>>"), words)
    return Kind(lambda value: arrays.accepts(value) and all(map(element.accepts, value)))


def one_of(args: Args, words: PlaceholderContext) -> Kind:
    if not args:
        raise BadArguments
    texts = {as_text(arg): arg for arg in args}

    def accepts(value: Json) -> bool:
        return any(same_json(value, arg) for arg in args)

    inline = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return Kind(accepts, inline, texts.get)


def regex(args: Args, words: PlaceholderContext) -> Kind:
    (pattern,) = take(args, lambda arg: arg is not None)
    if pattern is None:
        raise BadArguments
    return _regex_kind(str(pattern), words.regex_budget)


def _regex_kind(pattern: str, regex_budget: RegexBudget) -> Kind:
    expression = compiled(pattern, flags=())
    return Kind(
        lambda value: isinstance(value, str) and full_match(expression, value, regex_budget) is not None,
        ANYTHING,  # inside a longer text: the expression judges the part
    )


def text_test(name: str, test: Callable[[str, str], bool], inline: str) -> PlaceholderType:
    def build(args: Args, words: PlaceholderContext) -> Kind:
        if len(args) != 1:
            raise BadArguments
        part = as_text(args[0])
        found = inline.replace("PART", re.escape(part))
        return Kind(lambda value: isinstance(value, str) and test(value, part), found)

    return PlaceholderType(name, build, example=f"{name}('some text')")


def length(args: Args, words: PlaceholderContext) -> Kind:
    low, high = bounds(args, count)
    if low is None:
        raise BadArguments
    return of_length(low, low if len(args) == 1 else high, str, list, dict)


def variable(args: Args, words: PlaceholderContext) -> Kind:
    if len(args) != 1 or not isinstance(args[0], str):
        raise BadArguments
    value = words.scope.lookup(args[0])
    return Kind(lambda actual: same_json(actual, value), re.escape(as_text(value)), lambda text: value)


def without_args(kind: Kind) -> Callable[[Args, PlaceholderContext], Kind]:
    def build(args: Args, words: PlaceholderContext) -> Kind:
        take(args)
        return kind

    return build


def all_of_type(name: str, type: str, words: str, *values: Json) -> PlaceholderType:
    """A placeholder for all values of one type. `values`: all of them, if there are few."""
    inline = "|".join(map(as_text, values)) or None
    read = {as_text(value): value for value in values}
    kind = Kind(lambda value: json_type(value) == type, inline, read.get)
    learnt = LearningRule(words, type, "sure" if values else "type", in_rows=type != "null")
    return PlaceholderType(name, without_args(kind), frozenset({type}), learnt)


_ANY = Kind(lambda value: True, ANYTHING, any_text=(0, None))
_IS_NUMBER = frozenset({"number"})

_ROWS = (
    PlaceholderType(
        "any_unix_timestamp",
        unix_timestamp,
        frozenset({"number", "string"}),
        LearningRule("moments since 1970", "number", fits=have_one_unit),
        "any_unix_timestamp(5m)",
    ),
    PlaceholderType(
        "any_integer",
        partial(number, only=int),
        _IS_NUMBER,
        LearningRule(
            "whole numbers", "number", "type", fits=lambda values: all(map(whole, values)), in_rows=True
        ),
        "any_integer(0, 100)",
    ),
    PlaceholderType(
        "any_number",
        number,
        _IS_NUMBER,
        LearningRule("numbers", "number", "type", piece=_LOOSE_NUMBER, in_rows=True),
        "any_number(0, 100)",
    ),
    PlaceholderType("any_float", partial(number, only=float), _IS_NUMBER, example="any_float(0, 100)"),
    PlaceholderType("number", number_near, _IS_NUMBER, example="number(9.99 ± 0.05)"),
    *FORMATS,
    PlaceholderType(
        "any_nonempty_string",
        partial(string, least=1),
        learnt=LearningRule("texts", when="type", fits=all, in_rows=True),
        example="any_nonempty_string(1, 80)",
    ),
    PlaceholderType(
        "any_string",
        string,
        learnt=LearningRule("texts", when="type", in_rows=True),
        example="any_string(1, 80)",
    ),
    PlaceholderType("regex", regex, example=r"regex('^ORD-\d{8}$')"),
    text_test("contains", lambda text, part: part in text, r"[\s\S]*?PART[\s\S]*?"),
    text_test("starts_with", str.startswith, r"PART[\s\S]*?"),
    text_test("ends_with", str.endswith, r"[\s\S]*?PART"),
    all_of_type("any_boolean", "boolean", "true or false", True, False),
    all_of_type("any_null", "null", "nothing but null", None),
    all_of_type("any_object", "object", "any objects"),
    PlaceholderType(
        "any_array",
        array,
        frozenset({"array"}),
        LearningRule("any arrays", "array", "type", in_rows=True),
        "any_array(any_uuid, 1, 10)",
    ),
    PlaceholderType("any", without_args(_ANY), None),
    PlaceholderType("one_of", one_of, None, example="one_of(active, 'on hold', 3)"),
    PlaceholderType("length", length, None, example="length(1, 10)"),
    PlaceholderType("var", variable, None, example="var(base_url)"),
)
TABLE: Table = {row.name: row for row in _ROWS}
"""Placeholders are learnt in this order within each degree of certainty."""
