"""Moments as texts: the forms in which services write dates and times, and the moments they mean."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from urllib.parse import unquote_plus

from baselinekit.lazy import lazy_pattern
from baselinekit.structs import Struct

DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?)?"
ZONE = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
CLOCK_OF_12 = r"(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?[ \u00a0\u202f]?[AaPp][Mm]"
ISO = rf"{DATE}[Tt ]{CLOCK}{ZONE}?"


# Dates with and without a time, as in ISO 8601 and RFC 3339.


_LEAP_SECOND = lazy_pattern(r"(?<=:[0-9]{2}:)60")
_BEFORE_LEAP_SECONDS = ((6, 30, 23, 59), (12, 31, 23, 59))
"""In UTC: all leap seconds so far were at the end of June or December."""

_LEAP_DAYS = ("2016-12-31", "2017-01-01")
"""East of UTC the leap second comes on the next morning."""


def iso_moment(text: str) -> datetime | None:
    """The moment of an ISO text; None for a day that does not exist, and for a second 60 where there is no
    leap second."""
    regular = _LEAP_SECOND.sub("59", text).upper()
    try:
        moment = datetime.fromisoformat(regular)
        if regular == text.upper():
            return moment
        utc = with_zone(moment).astimezone(UTC)
        is_leap = (utc.month, utc.day, utc.hour, utc.minute) in _BEFORE_LEAP_SECONDS
        return moment + timedelta(seconds=1) if is_leap else None
    except (ValueError, OverflowError):
        return None


def with_zone(moment: datetime) -> datetime:
    """The moment with a zone: a time without one counts as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_time(text: str) -> bool:
    """Whether a time of day is valid: a second 60 only where a leap second can be, at 23:59 UTC."""
    if not _LEAP_SECOND.search(text):
        return True
    return any(iso_moment(f"{day}T{text}") is not None for day in _LEAP_DAYS)


def is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


# Numbers of seconds since 1970, or of fractions of seconds.


_FIRST_SECOND, _LAST_SECOND = 1_200_000_000, 2_200_000_000
"""2008 to 2039: a number of ten digits outside of that is more likely to be something else."""

UNITS = {1: "seconds", 10**3: "milliseconds", 10**6: "microseconds", 10**9: "nanoseconds"}


def unit_of(moments: Any) -> str | None:
    """The unit in which all numbers are moments between 2008 and 2039, counted since 1970."""
    for unit, name in UNITS.items():
        if all(_FIRST_SECOND * unit <= moment < _LAST_SECOND * unit for moment in moments):
            return name
    return None


def seconds_of(number: Any) -> float | None:
    """The moment that a number may mean, in seconds since 1970."""
    for unit in UNITS:
        if _FIRST_SECOND * unit <= number < _LAST_SECOND * unit:
            return float(number / unit)
    return None


# The forms of other standards and of the languages in which most services are written. A form matches the
# same service's texts on any day: one digit or two for a day, a fraction or none, any zone.


_SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ENDINGS = ("uary", "ruary", "ch", "il", "", "e", "y", "ust", "tember", "ober", "ember", "ember")
_MON = f"(?P<name>{'|'.join(_MONTHS)})"
_MONTH = (
    f"(?P<name>{'|'.join(f'{month}(?:{rest})?' for month, rest in zip(_MONTHS, _ENDINGS, strict=True))})\\.?"
)
_Y, _YY, _M = "(?P<y>[0-9]{4})", "(?P<y>[0-9]{2})", "(?P<m>0?[1-9]|1[0-2])"
_MM = "(?P<m>0[1-9]|1[0-2])"
_D, _DD = "(?P<d>[ 0]?[1-9]|[12][0-9]|3[01])", "(?P<d>0[1-9]|[12][0-9]|3[01])"
_HOUR, _MINUTE, _SECOND = "(?P<h>[01]?[0-9]|2[0-3])", "(?P<i>[0-5][0-9])", "(?P<s>[0-5][0-9]|60)"
_FRACTION = "(?P<f>[.,][0-9]{1,9})?"
_TIME = f"{_HOUR}:{_MINUTE}:{_SECOND}"
_SHORT_TIME = f"{_HOUR}:{_MINUTE}(?::{_SECOND}{_FRACTION})?"
_NOON = r"(?:[ \u00a0\u202f]?(?P<noon>[AaPp])\.?[Mm]\.?)?"
_OFFSET = "[+-][0-9]{2}:?[0-9]{2}"
_NAMED = f"(?P<z>[A-Z]{{1,5}}|{_OFFSET})"
_COMMENT = r"(?: \([^()\n]{0,60}\))?"
_NAMED_DAY = f"(?:(?:{_LONG_DAY}|{_SHORT_DAY}),? )?"
_AND_TIME = f"(?:,| at|) {_SHORT_TIME}{_NOON}(?: {_NAMED})?"

_PATTERNS: dict[str, str] = {
    "http": f"{_SHORT_DAY}, {_DD} {_MON} {_Y} {_TIME} (?P<z>GMT)",
    "rfc2822": f"(?:{_SHORT_DAY}, )?{_D} {_MON} {_Y} {_HOUR}:{_MINUTE}(?::{_SECOND})? {_NAMED}{_COMMENT}",
    "rfc850": f"{_LONG_DAY}, {_DD}-{_MON}-{_YY} {_TIME} (?P<z>GMT|UTC)",
    "cookie": f"{_SHORT_DAY}, {_DD}-{_MON}-{_Y} {_TIME} (?P<z>GMT|UTC)",
    "apache": f"{_DD}/{_MON}/{_Y}:{_TIME} (?P<z>{_OFFSET})",
    "ctime": f"{_SHORT_DAY} {_MON} {_D} {_TIME} {_Y}",
    "date": f"{_SHORT_DAY} {_MON} {_D} {_TIME}{_NOON} {_NAMED} {_Y}",
    "javascript": f"{_SHORT_DAY} {_MON} {_D} {_Y} {_TIME} GMT(?P<z>{_OFFSET}){_COMMENT}",
    "go": (
        rf"{_Y}-{_MM}-{_DD} {_TIME}{_FRACTION} (?P<z>{_OFFSET}) (?:[A-Z]{{1,5}}|[+-][0-9]{{2,4}})"
        r"(?: m=[+-][0-9]+(?:\.[0-9]+)?)?"
    ),
    "zoned": rf"{_Y}-{_MM}-{_DD}[T ]{_SHORT_TIME}(?P<z>Z|{_OFFSET})\[[A-Za-z0-9_/+-]{{1,40}}\]",
    "sql": f"{_Y}-{_MM}-{_DD}[T ]{_SHORT_TIME} ?{_NAMED}",
    "basic": rf"(?P<y>20[0-9]{{2}}){_MM}{_DD}[T_-]?(?P<h>[01][0-9]|2[0-3]){_MINUTE}{_SECOND}{_FRACTION}"
    r"(?P<z>Z|[+-][0-9]{4})?",
    "slashes": f"{_Y}/{_MM}/{_DD}[T ]{_SHORT_TIME}(?: ?{_NAMED})?",
    "us": f"{_M}/(?P<d>0?[1-9]|[12][0-9]|3[01])/{_Y},? {_SHORT_TIME}{_NOON}",
    "european": rf"(?P<d>0?[1-9]|[12][0-9]|3[01])(?P<sep>[./-]){_M}(?P=sep){_Y},? {_SHORT_TIME}{_NOON}",
    "words": f"{_NAMED_DAY}{_MONTH} {_D}(?:st|nd|rd|th)?,? {_Y}{_AND_TIME}",
    "day_first": rf"{_NAMED_DAY}{_D}\.?[ -]{_MONTH},?[ -]{_Y}{_AND_TIME}",
    "syslog": f"{_MON} {_D} {_TIME}{_FRACTION}",
    "klog": f"[DIWEF]{_MM}{_DD} {_TIME}{_FRACTION}",
}
_DATES: dict[str, str] = {
    "words": f"{_NAMED_DAY}{_MONTH} {_D}(?:st|nd|rd|th)?,? {_Y}",
    "day_first": rf"{_NAMED_DAY}{_D}\.?[ -]{_MONTH},?[ -]{_Y}",
    "slashes": f"{_Y}/{_MM}/{_DD}",
    "us": f"{_M}/(?P<d>0?[1-9]|[12][0-9]|3[01])/{_Y}",
    "european": rf"(?P<d>0?[1-9]|[12][0-9]|3[01])(?P<sep>[./-]){_M}(?P=sep){_Y}",
    "basic": f"(?P<y>20[0-9]{{2}}){_MM}{_DD}",
}
_NAMED_GROUP = lazy_pattern(r"\(\?P<sep>(\[[^\]]*\])\)|\(\?P=sep\)|\(\?P<[a-z0-9]+>")
_ESCAPED = (
    r"(?:[A-Z][a-z]{2,8}(?:%2C|%20|[+,]){1,2})?[0-9]{1,4}(?:[-/.+]|%2F|%20)[0-9A-Za-z]{1,9}"
    r"(?:[-/.+]|%2F|%20)[0-9]{1,4}(?:T|[+,]|%20|%2C){1,2}[0-9]{2}%3A[0-5][0-9](?:%3A[0-5][0-9]"
    r"(?:\.[0-9]{1,9})?)?(?:Z|(?:%20|\+)?(?:GMT|UTC)|(?:%20|\+)?(?:%2B|[+-])[0-9]{2}(?:%3A)?[0-9]{2})?"
).replace("%3A", "%3[Aa]")
_EPOCH = r"[1-9][0-9]{9}(?:[0-9]{3}){0,3}(?:\.[0-9]{1,9})?"


class MomentForm(Struct):
    """One form: the expression that finds it, and the function that gives the moment of a text, in seconds
    since 1970."""

    pattern: str
    moment: Callable[[str], float | None]


def _make_form(pattern: str) -> MomentForm:
    def moment(text: str) -> float | None:
        match = re.compile(pattern).fullmatch(text)
        return None if match is None else _timestamp_of_parts(match.groupdict())

    # without the names of its groups, as it may occur several times in a longer expression
    plain = _NAMED_GROUP.sub(lambda group: "[./-]" if group[1] or "=sep" in group[0] else "(?:", pattern)
    return MomentForm(plain, moment)


def _timestamp_of_parts(parts: dict[str, str | None]) -> float | None:
    """The timestamp of the parts of a date. Without a year a leap year is assumed, so that any day is valid.
    None for a day that does not exist."""
    name = parts.get("name")
    year = int(parts.get("y") or 2000)
    month = _MONTHS.index(name[:3]) + 1 if name else int(parts["m"] or 0)
    hour = int(parts.get("h") or 0)
    if parts.get("noon"):
        hour = hour % 12 + (12 if str(parts["noon"]) in "Pp" else 0)
    second = min(int(parts.get("s") or 0), 59)
    day = int(parts.get("d") or 0)
    try:
        zone, minute = _parse_zone(parts.get("z") or ""), int(parts.get("i") or 0)
        full_year = year + 2000 if year < 100 else year
        return datetime(full_year, month, day, hour, minute, second, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None


def _parse_zone(text: str) -> timezone:
    """The zone of an offset; the name of a zone counts as UTC."""
    if text[:1] not in ("+", "-"):
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def iso_seconds(text: str) -> float | None:
    moment = iso_moment(text) if is_iso(text) else None
    try:
        return None if moment is None else with_zone(moment).timestamp()
    except (ValueError, OverflowError):
        return None


def _iso_day(text: str) -> float | None:
    return iso_seconds(f"{text} 00:00") if re.fullmatch(DATE, text) and is_date(text) else None


def is_iso(text: str) -> bool:
    return re.fullmatch(ISO, text) is not None


def epoch_seconds(text: str) -> float | None:
    """The moment of a number that `any_unix_timestamp` accepts: 2001 to 2286."""
    if not re.fullmatch(_EPOCH, text):
        return None
    number = Decimal(text)
    return next((float(number / unit) for unit in UNITS if 10**9 <= number / unit < 10**10), None)


def escaped_seconds(text: str) -> float | None:
    """The moment of a text that is escaped as in the query of a URL."""
    return moment_of(unquote_plus(text)) if re.fullmatch(_ESCAPED, text) else None


# The forms by name. In a longer text they are tried in this order, and the first that fits is the longest.

Forms = dict[str, MomentForm]
MOMENT_FORMS: Forms = {
    **{name: _make_form(pattern) for name, pattern in _PATTERNS.items()},
    "iso": MomentForm(ISO, iso_seconds),
    "escaped": MomentForm(_ESCAPED, escaped_seconds),
    "epoch": MomentForm(_EPOCH, epoch_seconds),
}
DATE_FORMS: Forms = {
    **{name: _make_form(pattern) for name, pattern in _DATES.items()},
    "iso": MomentForm(DATE, _iso_day),
}


def _stated(text: str, forms: Forms) -> float | None:
    moments = (form.moment(text) for form in forms.values()) if re.search("[0-9]", text) else ()
    return next((moment for moment in moments if moment is not None), None)


def _found_in(text: str, forms: Forms) -> Iterator[re.Match[str]]:
    either = "|".join(form.pattern for form in forms.values())
    return re.finditer(rf"(?<![0-9A-Za-z.])(?:{either})(?![0-9A-Za-z]|[.:][0-9])", text)


def moment_of(text: str) -> float | None:
    """The moment that a text states in any of the forms."""
    return _stated(text, MOMENT_FORMS)


def day_of(text: str) -> float | None:
    """The beginning, in UTC, of the day that a text states in any form."""
    return _stated(text, DATE_FORMS)


def moments_in(text: str) -> Iterator[tuple[int, int, float]]:
    """The moments in a text: start, end, and the moment in seconds since 1970. A day alone is no moment."""
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
    day = day_of(text) if now else None
    return day is not None and 0 <= now - day < _DAY


def holds_now(text: str, now: float) -> bool:
    """Whether a text contains a moment near now, or today's date."""
    days = (day_of(match[0]) for match in _found_in(text, DATE_FORMS))
    return any(abs(when - now) <= NEAR for _, _, when in moments_in(text)) or any(
        day is not None and 0 <= now - day < _DAY for day in days
    )
