"""The placeholders of values that vary by nature: moments and days in every common form, lengths of time,
sizes, numbers as texts, tokens. They also accept what a clock, a counter or a generator will write next
year."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.placeholders.formats import Texts, are_mixed, text_format, texts
from baselinekit.placeholders.grammar import Args, Extent, Kind, LearningRule, bounds, count, take
from baselinekit.placeholders.moments import (
    DATE,
    ISO,
    MomentForm,
    date_forms,
    day_of,
    moment_forms,
    moment_of,
    unit_of,
    verbose,
)
from baselinekit.structs import replace

# Moments and days. The argument is the name of a form: if a service writes another form, that is a
# difference.


_LONGEST_MOMENT = 100
_ANY_CHARACTERS = rf"[^\n]{{1,{_LONGEST_MOMENT}}}"


def _build_form_kind(
    name: str, forms: Callable[[], Mapping[str, MomentForm]], read_any: Callable[[str], object], example: str
) -> Callable[[Args, float], Kind]:
    """The function that builds the kind of texts of one form, or of any form."""

    def build(args: Args, now: float) -> Kind:
        (form,) = take(name, args, f"{name}({example})", lambda arg: isinstance(arg, str) and arg in forms())
        if form is None:
            pattern = "|".join(form.pattern for form in forms().values())
            read: Callable[[str], object] = read_any
        else:
            pattern, read = forms()[str(form)].pattern, forms()[str(form)].moment
        extent = Extent(frozenset({"string"}), (6, _LONGEST_MOMENT), names=frozenset({f"{name}({form})"}))
        kind = texts(f"(?:{pattern})", lambda text: read(text) is not None)
        return replace(kind, furthest=_ANY_CHARACTERS, extent=extent if form else Extent())

    def plain(args: Args, now: float) -> Kind:
        kind = build(args, now)
        return kind if args else replace(kind, extent=_text_extent(6, _LONGEST_MOMENT))

    return plain


def _text_extent(least: int, most: int | None) -> Extent:
    return Extent(frozenset({"string"}), (least, most))


def common_form(forms: Callable[[], Mapping[str, MomentForm]]) -> Callable[[Texts], str | None]:
    """The form that all texts have; None where two forms fit them all (5/6/2026), as the next text may have
    either."""

    def common(values: Texts) -> str | None:
        fitting = [
            name for name, form in forms().items() if all(form.moment(value) is not None for value in values)
        ]
        ambiguous = "us" in fitting and "european" in fitting
        return None if ambiguous or not fitting else fitting[0]

    return common


def _piece_pattern(forms: Mapping[str, MomentForm], *left_out: str) -> str:
    return "|".join(verbose(form.pattern) for name, form in forms.items() if name not in left_out)


# Lengths of time and sizes, written for people.


_COUNT = r"[0-9]+(?:\.[0-9]+)?"
_LONG_UNITS = r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?)"
_SHORT_UNITS = r"(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h|d|w|y)"
_CLOCK_SPAN = r"(?:-?[0-9]+ days?, |-?[0-9]+[.d] ?)?[0-9]{1,6}:[0-5][0-9]:[0-5][0-9](?:[.,][0-9]{1,9})?"
_WORDED_SPAN = (
    rf"(?:(?:an?|{_COUNT}) ?{_LONG_UNITS})(?:(?:,? and |, | )(?:an?|{_COUNT}) ?{_LONG_UNITS}){{0,6}}"
    rf"(?:,? {_CLOCK_SPAN})?"
)
_SHORT_SPAN = rf"{_COUNT} ?{_SHORT_UNITS}(?: {_COUNT} ?{_SHORT_UNITS}){{0,6}}"
_SPAN = rf"(?:{_CLOCK_SPAN}|{_WORDED_SPAN}|{_SHORT_SPAN})"
_WHOLE_SPAN = lazy_pattern(_SPAN)


def is_timespan(value: object) -> bool:
    """Whether a value is a text that states a length of time: 0:30:36, 3m20s, 2 days."""
    return isinstance(value, str) and _WHOLE_SPAN.fullmatch(value) is not None


_SIZE = rf"{_COUNT} ?(?:[kKMGTPE]i?[Bb]|[KMGTPE]i?|B|[Bb]ytes?)"
_NUMERIC = r"[+-]?(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]{1,4})?|[0-9]+\.?(?:[eE][+-][0-9]{1,4})?)"

# Tokens: the characters of RFC 9110's token68 in any order, also escaped as in a URL.


_TOKEN = r"(?:[A-Za-z0-9._~+/-]|%[0-9A-Fa-f]{2})+={0,2}"
_LEAST_TOKEN = 6
_LEAST_LETTERS = 16
_DIGITS = lazy_pattern("[0-9]+")
_HEX = lazy_pattern("[0-9a-fA-F]{8,}")
_OTHER_FORM = lazy_pattern(r"[.+/=]")


def token(args: Args, now: float) -> Kind:
    """Tokens of a least length: generators change the length of ids by a few characters, by chance or over
    time, but losing half of them is a fault."""
    low, high = bounds("any_token", args, "any_token(10)", count)
    most = "" if high is None else high
    inline = rf"[A-Za-z0-9._~+/=%-]{{{low or 1},{most}}}"
    accepts = re.compile(_TOKEN).fullmatch

    def judge(value: Json) -> bool:
        fits = isinstance(value, str) and len(value) >= (low or 1) and (high is None or len(value) <= high)
        return fits and isinstance(value, str) and accepts(value) is not None

    return Kind(judge, inline, furthest=r"\S*", extent=_text_extent(low or 1, high))


def is_random(text: str) -> bool:
    """Whether a text is more likely generated than written by a person: it has digits among the letters, or
    many letters of both cases."""
    if len(text) < _LEAST_TOKEN or not re.fullmatch(_TOKEN, text):
        return False
    if are_mixed([text]):
        return True
    upper = sum(char.isupper() for char in text)
    lower = sum(char.islower() for char in text)
    return len(text) >= _LEAST_LETTERS and min(upper, lower) >= len(text) // 5


def are_tokens(values: Texts) -> bool:
    plain = not any(map(_OTHER_FORM.search, values))
    return plain and all(map(is_random, values)) and not all(map(_HEX.fullmatch, values))


def half_of_shortest(values: Sequence[str]) -> str:
    return str(max(min(map(len, values)) // 2, 1))


def are_moments(values: Texts) -> bool:
    """Whether `any_datetime` is right for these texts: not for ISO 8601, which has a row of its own, and for
    numbers only if they are moments of our time."""
    if all(re.fullmatch(_NUMERIC, text) for text in values):
        basic = all(moment_forms()["basic"].moment(text) is not None for text in values)
        return basic or unit_of([Decimal(text) for text in values]) is not None
    return not all(re.fullmatch(ISO, text) for text in values)


FIRST = (
    text_format(
        "any_datetime",
        _build_form_kind("any_datetime", moment_forms, moment_of, "http"),
        (6, _LONGEST_MOMENT),
        LearningRule(
            "dates with a time",
            fits=are_moments,
            argument=common_form(moment_forms),
            narrowed="dates with a time ({})",
            piece=_piece_pattern(moment_forms(), "epoch"),
            in_rows=True,
        ),
    ),
    text_format(
        "any_date",
        _build_form_kind("any_date", date_forms, day_of, "words"),
        (8, _LONGEST_MOMENT),
        LearningRule(
            "dates",
            fits=lambda values: not all(re.fullmatch(DATE, text) for text in values),
            argument=common_form(date_forms),
            narrowed="dates ({})",
            piece=_piece_pattern(date_forms(), "iso"),
        ),
    ),
    text_format(
        "any_size",
        _SIZE,
        (2, None),
        LearningRule(
            "sizes",
            piece=verbose(_SIZE),
        ),
    ),
    text_format(
        "any_digits",
        "[0-9]+",
        (1, None),
        LearningRule("texts of digits", when="likely"),
        narrower_than=("any_numeric", "any_hex", "any_token"),
    ),
    text_format(
        "any_numeric",
        _NUMERIC,
        (1, None),
        LearningRule("numbers as texts", when="likely"),
    ),
)
"""The rows that are tried before the formats of the standards."""

LAST = (
    text_format(
        "any_timespan",
        _SPAN,
        (2, None),
        LearningRule(
            "lengths of time",
            fits=lambda values: all(" " in text or text.count(":") == 2 for text in values),
            piece=verbose(rf"(?:{_CLOCK_SPAN}|{_WORDED_SPAN})"),
        ),
    ),
    text_format(
        "any_token",
        token,
        (1, None),
        LearningRule(
            "tokens",
            when="likely",
            fits=are_tokens,
            argument=half_of_shortest,
            narrowed="tokens of {} characters or more",
        ),
    ),
)
"""The rows that are tried after them: a time of day is also a length of time, and tokens have no other
form."""
