"""The placeholders that name a format: uuid, e-mail, dates and times, addresses, versions, encodings."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from ipaddress import ip_address

from baselinekit.model.values import Json
from baselinekit.placeholders.kinds import Args, Kind, count, is_number, read_number, seconds, take, whole

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL}){{0,10}}"
_DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]{1,9})?)?"
_LEAP_SECOND = re.compile(r"(?<=:[0-9]{2}:)60")
_ZONE = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):?[0-5][0-9])"
_ISO_DURATION = (
    r"P(?=[0-9T])(?:[0-9]+W|(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?)"
)
_SHORT_DURATION = r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|d)){1,6}"
_URL = (
    rf"(?:https?|wss?|ftp)://(?:[^\s/?#@]{{1,200}}@)?(?:{_HOST}|\[[0-9A-Fa-f:.]{{2,45}}\])"
    r"(?::[0-9]{1,5})?(?:[/?#][^\s]*)?"
)
_SEMVER = (
    r"v?(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
    r"(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)

Build = Callable[[Args, float], Kind]


def literal(text: str) -> str:
    return re.escape(text)


def texts(pattern: str, check: Callable[[str], bool] | None = None) -> Kind:
    """Texts that match as a whole, and pass the check."""
    full = re.compile(pattern).fullmatch

    def accepts(value: Json) -> bool:
        return isinstance(value, str) and full(value) is not None and (check is None or check(value))

    return Kind(accepts, pattern)


def _fixed(name: str, kind: Kind) -> Build:
    def build(args: Args, now: float) -> Kind:
        take(name, args, name)
        return kind

    return build


def _uuid(args: Args, now: float) -> Kind:
    (version,) = take("any_uuid", args, "any_uuid(4)", lambda arg: whole(arg) and 1 <= arg <= 8)
    digit = "[0-9a-fA-F]" if version is None else str(version)
    return texts(
        rf"[0-9a-fA-F]{{8}}-[0-9a-fA-F]{{4}}-{digit}[0-9a-fA-F]{{3}}-[0-9a-fA-F]{{4}}-[0-9a-fA-F]{{12}}"
    )


def _hex(args: Args, now: float) -> Kind:
    (length,) = take("any_hex", args, "any_hex(40)", lambda arg: count(arg) and arg > 0)
    return texts(rf"[0-9a-fA-F]{{{length}}}" if length else "[0-9a-fA-F]+")


def _ip(args: Args, now: float) -> Kind:
    (version,) = take("any_ip", args, "any_ip(4)", lambda arg: whole(arg) and arg in (4, 6))

    def check(text: str) -> bool:
        try:
            return version in (None, ip_address(text).version)
        except ValueError:
            return False

    return texts(r"[0-9A-Fa-f:.]{2,45}", check)


def _datetime(args: Args, now: float) -> Kind:
    (within,) = take("any_iso_datetime", args, "any_iso_datetime(5m)", lambda arg: seconds(arg) is not None)
    span = None if within is None else float(seconds(within) or 0)

    def check(text: str) -> bool:
        moment = _moment(text)
        return moment is not None and (span is None or abs(_seconds(moment) - now) <= span)

    return texts(rf"{_DATE}[Tt ]{_CLOCK}{_ZONE}?", check)


def _moment(text: str) -> datetime | None:
    """None for a day that does not exist."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # or it is spelled in a way that this reader does not know
        leap = _LEAP_SECOND.sub("59", text).upper()
    try:
        return datetime.fromisoformat(leap) + timedelta(seconds=leap != text.upper())
    except (ValueError, OverflowError):
        return None


def _seconds(moment: datetime) -> float:
    """Seconds since 1970; a time without a zone counts as UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _unix(args: Args, now: float) -> Kind:
    """Seconds, milliseconds, microseconds or nanoseconds between 2001 and 2286."""
    (within,) = take(
        "any_unix_timestamp", args, "any_unix_timestamp(5m)", lambda arg: seconds(arg) is not None
    )
    span = None if within is None else float(seconds(within) or 0)

    def accepts(value: Json) -> bool:
        if not is_number(value):
            return False
        for unit in (1, 1_000, 1_000_000, 1_000_000_000):
            if 10**9 * unit <= value < 10**10 * unit:
                return span is None or abs(float(value / unit) - now) <= span
        return False

    return Kind(accepts, r"[0-9]{10}(?:[0-9]{3}){0,3}(?:\.[0-9]+)?", read_number)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(text.rstrip("=")) % 4 != 1


def _is_jwt(text: str) -> bool:
    header = text.split(".")[0]
    try:
        return base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)).lstrip()[:1] == b"{"
    except (binascii.Error, ValueError):
        return False


FORMATS: dict[str, Build] = {
    "any_uuid": _uuid,
    "any_email": _fixed(
        "any_email", texts(rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]{{1,64}}@{_LABEL}(?:\.{_LABEL}){{1,8}}")
    ),
    "any_url": _fixed("any_url", texts(_URL)),
    "any_hostname": _fixed("any_hostname", texts(_HOST, lambda text: len(text) <= 253)),
    "any_ip": _ip,
    "any_iso_datetime": _datetime,
    "any_iso_date": _fixed("any_iso_date", texts(_DATE, _is_date)),
    "any_time": _fixed("any_time", texts(rf"{_CLOCK}{_ZONE}?")),
    "any_unix_timestamp": _unix,
    "any_duration": _fixed("any_duration", texts(f"(?:{_ISO_DURATION}|{_SHORT_DURATION})")),
    "any_hex": _hex,
    "any_base64": _fixed("any_base64", texts(r"[A-Za-z0-9+/_-]+={0,2}", _is_base64)),
    "any_jwt": _fixed("any_jwt", texts(r"[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*", _is_jwt)),
    "any_semver": _fixed("any_semver", texts(_SEMVER)),
    "any_ulid": _fixed("any_ulid", texts(r"[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}")),
}
