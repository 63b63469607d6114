"""The placeholders for texts of one form: those that a standard defines (uuid, e-mail, addresses, versions,
encodings), and those of values that vary by nature (moments, days, lengths of time, sizes, numbers as texts,
tokens), which also accept what a clock, a counter or a generator will write next year."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.placeholders import grammar
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import is_number

# Moments: the forms in which services write dates and times, and the moments they mean.

DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?"
ZONE = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
CLOCK_OF_12 = r"(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?[ \u00a0\u202f]?[AaPp][Mm]"
ISO = rf"{DATE}[Tt ]{CLOCK}{ZONE}?"


# Numbers of seconds since 1970, or of fractions of seconds.


_FIRST_SECOND, _LAST_SECOND = 1_200_000_000, 2_200_000_000
"""2008 to 2039: a number of ten digits outside of that is more likely to be something else."""

UNITS = (1, 10**3, 10**6, 10**9)
"""Seconds to nanoseconds, as fractions of a second."""


def _unit(number: Any, first: int = _FIRST_SECOND, end: int = _LAST_SECOND) -> int | None:
    """The fraction of a second in which a number is a moment between two others."""
    return next((unit for unit in UNITS if first * unit <= number < end * unit), None)


def have_one_unit(numbers: Sequence[Any]) -> bool:
    """Whether all numbers are moments between 2008 and 2039, counted since 1970 in the same unit."""
    units = set(map(_unit, numbers))
    return len(units) == 1 and None not in units


def seconds_of(number: Any, first: int = _FIRST_SECOND, end: int = _LAST_SECOND) -> float | None:
    """The moment that a number may mean, in seconds since 1970, between two others."""
    unit = _unit(number, first, end)
    return float(number / unit) if unit else None


# The forms of other standards and of the languages in which most services are written. A form matches the
# same service's texts on any day: one digit or two for a day, a fraction or none, any zone.


_SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ENDS = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "tember", "ober", "ember", "ember")
_MON = f"(?P<name>{'|'.join(_MONTHS)})"
_MONTH = f"(?P<name>{'|'.join(f'{month}(?:{end})?' for month, end in zip(_MONTHS, _ENDS, strict=True))})\\.?"
_Y, _M = "(?P<y>[0-9]{4})", "(?P<m>0?[1-9]|1[0-2])"
_MM = "(?P<m>0[1-9]|1[0-2])"
_D, _DD = "(?P<d>[ 0]?[1-9]|[12][0-9]|3[01])", "(?P<d>0[1-9]|[12][0-9]|3[01])"
_HOUR, _MINUTE, _SECOND = "(?P<h>[01]?[0-9]|2[0-3])", "(?P<i>[0-5][0-9])", "(?P<s>[0-5][0-9])"
_FRACTION = "(?P<f>[.,][0-9]{1,9})?"
_TIME = f"{_HOUR}:{_MINUTE}:{_SECOND}"
_SHORT_TIME = f"{_HOUR}:{_MINUTE}(?::{_SECOND}{_FRACTION})?"
_NOON = r"(?:[ \u00a0\u202f]?(?P<noon>[AaPp])\.?[Mm]\.?)?"
_OFFSET = "[+-][0-9]{2}:?[0-9]{2}"
_NAMED = f"(?P<z>[A-Z]{{1,5}}|{_OFFSET})"
_COMMENT = r"(?: \([^()\n]{0,60}\))?"
_NAMED_DAY = f"(?:(?:{_LONG_DAY}|{_SHORT_DAY}),? )?"
_AND_TIME = f"(?:,| at|) {_SHORT_TIME}{_NOON}(?: {_NAMED})?"

_DATES: dict[str, str] = {
    "words": f"{_NAMED_DAY}{_MONTH} {_D}(?:st|nd|rd|th)?,? {_Y}",
    "day_first": rf"{_NAMED_DAY}{_D}\.?[ -]{_MONTH},?[ -]{_Y}",
    "slashes": f"{_Y}/{_MM}/{_DD}",
    "us": f"{_M}/(?P<d>0?[1-9]|[12][0-9]|3[01])/{_Y}",
    "european": rf"(?P<d>0?[1-9]|[12][0-9]|3[01])(?P<sep>[./-]){_M}(?P=sep){_Y}",
    "basic": f"(?P<y>20[0-9]{{2}}){_MM}{_DD}",
}
_PATTERNS: dict[str, str] = {
    "http": f"{_SHORT_DAY}, {_DD} {_MON} {_Y} {_TIME} (?P<z>GMT)",
    "rfc2822": f"(?:{_SHORT_DAY}, )?{_D} {_MON} {_Y} {_HOUR}:{_MINUTE}(?::{_SECOND})? {_NAMED}{_COMMENT}",
    "apache": f"{_DD}/{_MON}/{_Y}:{_TIME} (?P<z>{_OFFSET})",
    "ctime": f"{_SHORT_DAY} {_MON} {_D} {_TIME} {_Y}",
    "date": f"{_SHORT_DAY} {_MON} {_D} {_TIME}{_NOON} {_NAMED} {_Y}",
    "javascript": f"{_SHORT_DAY} {_MON} {_D} {_Y} {_TIME} GMT(?P<z>{_OFFSET}){_COMMENT}",
    "sql": f"{_Y}-{_MM}-{_DD}[T ]{_SHORT_TIME} ?{_NAMED}",
    "basic": rf"{_DATES['basic']}[T_-]?(?P<h>[01][0-9]|2[0-3]){_MINUTE}{_SECOND}{_FRACTION}"
    r"(?P<z>Z|[+-][0-9]{4})?",
    "slashes": f"{_DATES['slashes']}[T ]{_SHORT_TIME}(?: ?{_NAMED})?",
    "us": f"{_DATES['us']},? {_SHORT_TIME}{_NOON}",
    "european": f"{_DATES['european']},? {_SHORT_TIME}{_NOON}",
    "words": f"{_DATES['words']}{_AND_TIME}",
    "day_first": f"{_DATES['day_first']}{_AND_TIME}",
    "syslog": f"{_MON} {_D} {_TIME}{_FRACTION}",
}
_NAMED_GROUP = lazy_pattern(r"\(\?P<sep>(\[[^\]]*\])\)|\(\?P=sep\)|\(\?P<[a-z0-9]+>")
_TIMESTAMPS = 10**9, 10**10
_EPOCH = r"[1-9][0-9]{9}(?:[0-9]{3}){0,3}(?:\.[0-9]{1,9})?"


class MomentForm(Struct):
    """One form: the expression that finds it, and the function that gives the moment of a text, in seconds
    since 1970."""

    pattern: str
    moment: Callable[[str], float | None]


def _form(pattern: str) -> MomentForm:
    def moment(text: str) -> float | None:
        match = re.compile(pattern).fullmatch(text)
        return None if match is None else _timestamp_of_parts(match.groupdict())

    # without the names of its groups, as it may occur several times in a longer expression
    plain = _NAMED_GROUP.sub(lambda group: "[./-]" if group[1] or "=sep" in group[0] else "(?:", pattern)
    return MomentForm(plain, moment)


def _timestamp_of_parts(parts: dict[str, str | None]) -> float | None:
    """The timestamp of the parts of a date. Without a year a leap year is assumed, so that any day is valid.
    None for a day that does not exist."""
    numbers = {part: int(parts.get(part) or 0) for part in "ymdhis"}
    if name := parts.get("name"):
        numbers["m"] = _MONTHS.index(name[:3]) + 1
    if noon := parts.get("noon"):
        numbers["h"] = numbers["h"] % 12 + (12 if noon in "Pp" else 0)
    year, month, day, hour, minute, second = numbers.values()
    try:
        zone = _parse_zone(parts.get("z") or "")
        return datetime(year or 2000, month, day, hour, minute, second, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None


def _parse_zone(text: str) -> timezone:
    """The zone of an offset; the name of a zone counts as UTC."""
    if text[:1] not in ("+", "-"):
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def iso_seconds(text: str) -> float | None:
    """The moment of a text as in ISO 8601 and RFC 3339; a time without a zone counts as UTC."""
    if not re.fullmatch(ISO, text):
        return None
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:  # a day that does not exist
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def iso_day(text: str) -> float | None:
    return iso_seconds(f"{text} 00:00")


def epoch_seconds(text: str) -> float | None:
    """The moment of a number that `any_unix_timestamp` accepts: 2001 to 2286."""
    return seconds_of(Decimal(text), *_TIMESTAMPS) if re.fullmatch(_EPOCH, text) else None


# The forms by name. In a longer text they are tried in this order, and the first that fits is the longest.

Forms = dict[str, MomentForm]
MOMENT_FORMS: Forms = {
    **{name: _form(pattern) for name, pattern in _PATTERNS.items()},
    "iso": MomentForm(ISO, iso_seconds),
    "epoch": MomentForm(_EPOCH, epoch_seconds),
}
DATE_FORMS: Forms = {name: _form(text) for name, text in _DATES.items()} | {"iso": MomentForm(DATE, iso_day)}


def _stated(text: str, forms: Forms) -> float | None:
    moments = (form.moment(text) for form in forms.values()) if re.search("[0-9]", text) else ()
    return next((moment for moment in moments if moment is not None), None)


def _found_in(text: str, forms: Forms) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<![0-9A-Za-z.])(?:{either(forms)})(?![0-9A-Za-z]|[.:][0-9])", text)


def moment_of(text: str) -> float | None:
    """The moment that a text states in any of the forms."""
    return _stated(text, MOMENT_FORMS)


def moments_in(text: str) -> Iterator[tuple[int, int, float]]:
    """The moments in a text: start, end, and the moment in seconds since 1970. A day alone is none."""
    for match in _found_in(text, MOMENT_FORMS):
        moment = moment_of(match[0])
        if moment is not None and moment >= _FIRST_MOMENT:
            yield match.start(), match.end(), moment


_FIRST_MOMENT = 10.0**9
"""2001: earlier moments have no year, or are not written by a service."""

NEAR = 600.0
"""Seconds: a moment closer to now was written for this answer, or when the service started."""

_DAY = 86_400.0


def is_of_now(text: str, now: float) -> bool:
    """Whether a text states a moment within ten minutes of now, or today's date: it was made for this
    answer."""
    moment = moment_of(text) if now else None
    if moment is not None:
        return abs(moment - now) <= NEAR
    return bool(now) and _is_today(text, now)


def holds_now(text: str, now: float) -> bool:
    """Whether a text contains a moment near now, or today's date."""
    return any(abs(when - now) <= NEAR for _, _, when in moments_in(text)) or any(
        _is_today(match[0], now) for match in _found_in(text, DATE_FORMS)
    )


def _is_today(text: str, now: float) -> bool:
    day = _stated(text, DATE_FORMS)  # its beginning, in UTC
    return day is not None and 0 <= now - day < _DAY


# The formats.

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MOST_LABELS = 126
_MOST_HOST = 253
_MOST_EMAIL = 254
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,64}"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,{_MOST_LABELS}}}"
_ISO_NUMBER = r"[0-9]+(?:[.,][0-9]+)?"
_ISO_DURATION = (
    rf"P(?=[0-9T])(?:{_ISO_NUMBER}W|(?:{_ISO_NUMBER}Y)?(?:{_ISO_NUMBER}M)?(?:{_ISO_NUMBER}D)?"
    rf"(?:T(?=[0-9])(?:{_ISO_NUMBER}H)?(?:{_ISO_NUMBER}M)?(?:{_ISO_NUMBER}S)?)?)"
)
_FRACTION_BEFORE_MORE = lazy_pattern(r"[.,][0-9]+[A-Z]T?[0-9]")
_SHORT_DURATION = r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|d)){1,6}"
_FOREIGN = "\u00a1-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0010fffd"
"""The characters beside ASCII that RFC 3987 allows unescaped in an address."""

_URL_HOST = rf"[A-Za-z0-9._~%{_FOREIGN}-]{{1,253}}"
_URL_CHAR = rf"(?:[A-Za-z0-9._~!$&'()*+,;=:@/{_FOREIGN}-]|%[0-9A-Fa-f]{{2}})"
_URL = (
    rf"(?i:https?|wss?|ftp)://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{{2}}){{1,200}}@)?"
    rf"(?:{_URL_HOST}|\[[0-9A-Fa-f:.]{{2,45}}\])(?::[0-9]{{0,5}})?"
    rf"(?:/{_URL_CHAR}*)?(?:\?(?:{_URL_CHAR}|[?\[\]])*)?(?:\#(?:{_URL_CHAR}|[?\[\]])*)?"
)
_AUTHORITY = lazy_pattern(r"//(?:[^@/?#]*@)?(\[[^\]]*\]|[^:/?#]*)(?::([0-9]*))?")
_HOST_LABEL = rf"[A-Za-z0-9_{_FOREIGN}](?:[A-Za-z0-9_{_FOREIGN}-]*[A-Za-z0-9_{_FOREIGN}])?"
_ESCAPED = lazy_pattern(r"%[0-9A-Fa-f]{2}")
_MOST_PORT = 65_535
_NUMERIC_PART = r"(?:0|[1-9][0-9]*)"
_PRE_RELEASE = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = (
    rf"v?{_NUMERIC_PART}\.{_NUMERIC_PART}\.{_NUMERIC_PART}"
    rf"(?:-{_PRE_RELEASE}(?:\.{_PRE_RELEASE})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

_UNTIL_BLANK = r"[^\s]*(?: [0-9][^\s]*)?"
"""No format contains a blank, except the one between a date and a time."""

Texts = Sequence[str]
Builder = Callable[[grammar.Args, Any], grammar.Kind]


def texts(
    pattern: str, check: Callable[[str], bool] | None = None, furthest: str = _UNTIL_BLANK
) -> grammar.Kind:
    """The kind of texts that match the pattern as a whole and pass the check."""
    full = re.compile(pattern).fullmatch

    def accepts(value: Json) -> bool:
        return isinstance(value, str) and full(value) is not None and (check is None or check(value))

    return grammar.Kind(accepts, pattern, furthest=furthest)


def uuid(args: grammar.Args, context: Any) -> grammar.Kind:
    """UUIDs. With a version, the layout of RFC 9562 with its variant digit; without one any text of that
    form: test data is full of 1111…, and the nil and max UUIDs have no version."""
    (version,) = grammar.take(args, lambda arg: grammar.whole(arg) and 1 <= arg <= 8)
    return texts(_UUID, lambda text: version is None or uuid_version([text]) == str(version))


def hex_digits(args: grammar.Args, context: Any) -> grammar.Kind:
    (length,) = grammar.take(args, lambda arg: grammar.count(arg) and arg > 0)
    return texts(rf"[0-9a-fA-F]{{{length}}}" if length else "[0-9a-fA-F]+")


def ip(args: grammar.Args, context: Any) -> grammar.Kind:
    (version,) = grammar.take(args, lambda arg: grammar.whole(arg) and arg in (4, 6))
    versions = (4, 6) if version is None else (version,)
    return texts(r"[0-9A-Fa-f:.]{2,45}", lambda text: ip_version(text) in versions)


def time_span(args: grammar.Args) -> Decimal | None:
    """The seconds from now within which a moment must be, if there is an argument."""
    (within,) = grammar.take(args, lambda arg: grammar.seconds(arg) is not None)
    return grammar.seconds(within)


def iso_datetime(args: grammar.Args, context: Any) -> grammar.Kind:
    span = time_span(args)

    def check(text: str) -> bool:
        moment = iso_seconds(text)
        return moment is not None and (span is None or abs(moment - context.now) <= span)

    return texts(ISO, check)


def unix_timestamp(args: grammar.Args, context: Any) -> grammar.Kind:
    """Seconds, milliseconds, microseconds or nanoseconds between 2001 and 2286."""
    span = time_span(args)

    def accepts(value: Json) -> bool:
        moment = seconds_of(value, *_TIMESTAMPS) if is_number(value) else None
        return moment is not None and (span is None or abs(moment - context.now) <= span)

    pattern = r"[0-9]{10}(?:[0-9]{3}){0,3}(?:\.[0-9]+)?"
    return grammar.Kind(accepts, pattern, grammar.read_number, furthest="[0-9.]+")


def is_email(text: str) -> bool:
    local, _, host = text.rpartition("@")
    return len(text) <= _MOST_EMAIL and len(local) <= 64 and len(host) <= _MOST_HOST


def is_url(text: str) -> bool:
    """Whether the host and the port are valid; the expression checks the rest."""
    authority = _AUTHORITY.search(text)
    if authority is None or int(authority[2] or 0) > _MOST_PORT:
        return False
    host = authority[1]
    if host.startswith("["):
        return ip_version(host[1:-1]) == 6
    labels = _ESCAPED.sub("a", host.removesuffix(".")).split(".")
    if labels[-1].isdecimal():
        return ip_version(host) == 4
    return all(len(label) <= 63 and re.fullmatch(_HOST_LABEL, label) for label in labels)


def ip_version(text: str) -> int | None:
    try:
        return ip_address(text).version
    except ValueError:
        return None


def is_base64(text: str) -> bool:
    """Whether a text uses one of the two alphabets of RFC 4648, with complete padding or none."""
    if ("+" in text or "/" in text) and ("-" in text or "_" in text):
        return False
    if "=" in text and len(text) % 4:
        return False
    return len(text.rstrip("=")) % 4 != 1 and text[0] != "="


def is_jwt(text: str) -> bool:
    """Whether three parts are a signed token of RFC 7519; the last one is empty only for `alg: none`."""
    parts = text.split(".")
    algorithm = (json_object(parts[0]) or {}).get("alg")
    if not isinstance(algorithm, str) or any(len(part) % 4 == 1 for part in parts):
        return False
    return bool(parts[2]) == (algorithm != "none") and json_object(parts[1]) is not None


def json_object(encoded: str) -> dict[str, Json] | None:
    try:
        value = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# How formats are learnt: a format that plain words may have too needs further signs in the texts.


def common(values: Texts, property_of: Callable[[str], object]) -> str | None:
    distinct = {property_of(value) for value in values}
    return str(distinct.pop()) if len(distinct) == 1 else None


def are_mixed(values: Texts) -> bool:
    """Whether the texts have letters and digits: so they are not words, and not plain numbers."""
    joined = "".join(values)
    return any(c.isdigit() for c in joined) and any(c.isalpha() for c in joined)


_LEAST_DIGEST = 32


def digest_length(values: Texts) -> str | None:
    """The common length of digests: whole bytes, and at least 32 digits. A number of 64 bits is often written
    without its leading zeros, so the next one may be shorter."""
    length = common(values, len)
    return length if length and int(length) >= _LEAST_DIGEST and int(length) % 2 == 0 else None


def uuid_version(values: Texts) -> str | None:
    version = common(values, lambda text: text[14])
    has_variant = all(text[19] in "89abAB" for text in values)
    return version if version and version in "12345678" and has_variant else None


# Moments and days. The argument is the name of a form: if a service writes another form, that is a
# difference.

_LONGEST_MOMENT = 100


def moments(forms: Forms) -> Builder:
    """The function that builds the kind of texts of one form, or of any form."""

    def build(args: grammar.Args, context: Any) -> grammar.Kind:
        (form,) = grammar.take(args, lambda arg: isinstance(arg, str) and arg in forms)
        chosen = forms if form is None else {str(form): forms[str(form)]}
        furthest = rf"[^\n]{{1,{_LONGEST_MOMENT}}}"
        return texts(f"(?:{either(chosen)})", lambda text: _stated(text, chosen) is not None, furthest)

    return build


def either(forms: Forms, but: str = "") -> str:
    """The expression for any of the forms."""
    return "|".join(form.pattern for name, form in forms.items() if name != but)


def common_form(forms: Forms) -> Callable[[Texts], str | None]:
    """The form that all texts have; None where two forms fit them all (5/6/2026), as the next text may have
    either."""

    def common(values: Texts) -> str | None:
        fitting = [name for name, form in forms.items() if None not in map(form.moment, values)]
        ambiguous = "us" in fitting and "european" in fitting
        return None if ambiguous or not fitting else fitting[0]

    return common


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
_HEX = lazy_pattern("[0-9a-fA-F]{8,}")
_OTHER_FORM = lazy_pattern(r"[.+/=]")


def token(args: grammar.Args, context: Any) -> grammar.Kind:
    """Tokens of a least length: generators change the length of ids by a few characters, by chance or over
    time, but losing half of them is a fault."""
    low, high = grammar.bounds(args, grammar.count)
    tokens = texts(_TOKEN, grammar.of_length(low or 1, high, str).accepts)
    inline = rf"[A-Za-z0-9._~+/=%-]{{{low or 1},{'' if high is None else high}}}"
    return replace(tokens, inline=inline, furthest=r"\S*")


def is_token(text: str) -> bool:
    """Whether a text that varies is more likely generated than written by a person: it has digits among the
    letters, or many letters of both cases."""
    if len(text) < _LEAST_TOKEN or not re.fullmatch(_TOKEN, text):
        return False
    fewer = min(sum(map(str.isupper, text)), sum(map(str.islower, text)))
    return are_mixed([text]) or (len(text) >= _LEAST_LETTERS and fewer >= len(text) // 5)


def are_tokens(values: Texts) -> bool:
    plain = not any(map(_OTHER_FORM.search, values))
    return plain and all(map(is_token, values)) and not all(map(_HEX.fullmatch, values))


def are_base64(values: Texts) -> bool:
    joined = "".join(values)
    is_one_case = joined.isupper() or joined.islower()
    is_distinct = are_mixed(values) and any(char in "+/=" for char in joined)
    return is_distinct and not is_one_case and min(map(len, values)) >= 16


def are_moments(values: Texts) -> bool:
    """Whether `any_datetime` is right for these texts: not for ISO 8601, which has a row of its own, and for
    numbers only if they are moments of our time."""
    if all(re.fullmatch(_NUMERIC, text) for text in values):
        basic = all(MOMENT_FORMS["basic"].moment(text) is not None for text in values)
        return basic or have_one_unit([Decimal(text) for text in values])
    return not all(re.fullmatch(ISO, text) for text in values)


# The rows.


def text_format(
    name: str,
    build: str | Builder,
    words: str,
    *,
    check: Callable[[str], bool] | None = None,
    types: frozenset[str] = frozenset({"string"}),
    example: str = "",
    **learnt: Any,
) -> grammar.PlaceholderType:
    """The row of a format. `build`: its expression, which `check` completes, if the format takes no
    arguments; else the function that builds its kind, with an `example`. `words` and `learnt`: how it is
    learnt."""

    def of_pattern(args: grammar.Args, context: Any) -> grammar.Kind:
        grammar.take(args)
        return texts(str(build), check)

    rule = grammar.LearningRule(words, **learnt)
    function = of_pattern if isinstance(build, str) else build
    return grammar.PlaceholderType(name, function, types, rule, example)


FORMATS = (
    text_format(
        "any_datetime",
        moments(MOMENT_FORMS),
        "dates with a time",
        example="any_datetime(http)",
        fits=are_moments,
        argument=common_form(MOMENT_FORMS),
        piece=either(MOMENT_FORMS, "epoch"),
        in_rows=True,
    ),
    text_format(
        "any_date",
        moments(DATE_FORMS),
        "dates",
        example="any_date(words)",
        fits=lambda values: not all(re.fullmatch(DATE, text) for text in values),
        argument=common_form(DATE_FORMS),
        piece=either(DATE_FORMS, "iso"),
    ),
    text_format("any_size", _SIZE, "sizes", piece=_SIZE),
    text_format("any_digits", "[0-9]+", "texts of digits", when="likely"),
    text_format("any_numeric", _NUMERIC, "numbers as texts", when="likely"),
    text_format(
        "any_uuid", uuid, "UUIDs", example="any_uuid(4)", argument=uuid_version, piece=_UUID, in_rows=True
    ),
    text_format(
        "any_jwt",
        r"[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*",
        "JSON web tokens",
        check=is_jwt,
        piece=r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    ),
    text_format(
        "any_ulid",
        r"[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}",
        "ULIDs",
        fits=lambda values: are_mixed(values) and all(text.upper() == text for text in values),
        in_rows=True,
    ),
    text_format(
        "any_iso_datetime",
        iso_datetime,
        "dates with a time",
        example="any_iso_datetime(5m)",
        piece=ISO,
        in_rows=True,
    ),
    text_format(
        "any_iso_date", DATE, "dates", check=lambda text: iso_day(text) is not None, piece=DATE, in_rows=True
    ),
    text_format(
        "any_time",
        rf"(?:{CLOCK}{ZONE}?|{CLOCK_OF_12})",
        "times of day",
        # 00:00:07 may be the time since a start: a length of time, which can pass 24 hours
        fits=lambda values: not all(text.startswith("00:") for text in values),
        piece=rf"{CLOCK_OF_12}|{CLOCK}",
    ),
    text_format(
        "any_semver", _SEMVER, "versions", piece=r"v?[0-9]+(?:\.[0-9]+){2,3}(?:-[0-9A-Za-z.]+)?", in_rows=True
    ),
    text_format(
        "any_ip",
        ip,
        "IP addresses",
        example="any_ip(4)",
        fits=lambda values: all("." in text or ":" in text for text in values),
        argument=lambda values: common(values, lambda text: 6 if ":" in text else 4),
    ),
    text_format(
        "any_email",
        rf"{_ATOM}(?:\.{_ATOM}){{0,31}}@{_LABEL}(?:\.{_LABEL}){{1,{_MOST_LABELS}}}",
        "e-mail addresses",
        check=is_email,
        when="likely",
        in_rows=True,
    ),
    text_format("any_url", _URL, "URLs", check=is_url, when="likely", in_rows=True),
    text_format(
        "any_duration",
        f"(?:{_ISO_DURATION}|{_SHORT_DURATION})",
        "lengths of time",
        # ISO 8601: only the smallest unit may have a fraction.
        check=lambda text: not (text.startswith("P") and _FRACTION_BEFORE_MORE.search(text)),
        types=frozenset({"number", "string"}),
        when="likely",
        fits=are_mixed,
        piece=f"{_SHORT_DURATION}|{_ISO_DURATION}",
    ),
    text_format(
        "any_hex",
        hex_digits,
        "hexadecimal digits",
        example="any_hex(40)",
        when="likely",
        fits=lambda values: are_mixed(values) and min(map(len, values)) >= 8,
        argument=digest_length,
        piece=r"(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}(?![+/=~%])",
    ),
    text_format(
        "any_base64", r"[A-Za-z0-9+/_-]+={0,2}", "base64", check=is_base64, when="likely", fits=are_base64
    ),
    text_format(
        "any_hostname",
        _HOST,
        "names of hosts",
        # RFC 1123: the last label is never a number, as the host would be read as an address.
        check=lambda text: len(text) <= _MOST_HOST and not text.rpartition(".")[2].isdecimal(),
        when="likely",
        fits=lambda values: all(re.search(r"\.[a-z]+\Z", text) and text == text.lower() for text in values),
    ),
    text_format(
        "any_timespan",
        _SPAN,
        "lengths of time",
        fits=lambda values: all(" " in text or text.count(":") == 2 for text in values),
        piece=rf"(?:{_CLOCK_SPAN}|{_WORDED_SPAN})",
    ),
    text_format(
        "any_token",
        token,
        "tokens",
        example="any_token(10)",
        when="likely",
        fits=are_tokens,
        argument=lambda values: str(max(min(map(len, values)) // 2, 1)),
    ),
)
"""Formats are learnt in this order. Those that vary by nature come before those of the standards; a time of
day is also a length of time, which comes after it, and tokens have no other form."""
