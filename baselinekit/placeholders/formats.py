"""The placeholders that name a format: uuid, e-mail, dates and times, addresses, versions, encodings."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from ipaddress import ip_address
from typing import Any

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import (
    Args,
    Extent,
    Kind,
    LearningRule,
    PlaceholderType,
    count,
    read_number,
    seconds,
    take,
    whole,
)
from baselinekit.placeholders.moments import (
    CLOCK,
    CLOCK_OF_12,
    DATE,
    ISO,
    ZONE,
    is_date,
    is_time,
    iso_moment,
    verbose,
    with_zone,
)
from baselinekit.structs import replace
from baselinekit.values.equality import is_number

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

_UNTIL_BLANK = r"[^\s]*(?: [0-9][^\s]*)?"
"""No format contains a blank, except the one between a date and a time."""

_LEAST_HEX = 8
_LEAST_BASE64 = 16
_UUID_VERSION, _UUID_VARIANT = 14, 19
Texts = Sequence[str]


def texts(pattern: str, check: Callable[[str], bool] | None = None) -> Kind:
    """The kind of texts that match the pattern as a whole and pass the check."""
    full = re.compile(pattern).fullmatch

    def accepts(value: Json) -> bool:
        return isinstance(value, str) and full(value) is not None and (check is None or check(value))

    return Kind(accepts, pattern, furthest=_UNTIL_BLANK)


def text_format(
    name: str,
    build: str | Callable[[Args, float], Kind],
    lengths: tuple[int, int | None],
    learnt: LearningRule,
    *,
    check: Callable[[str], bool] | None = None,
    narrower_than: tuple[str, ...] = (),
    types: frozenset[str] | None = frozenset({"string"}),
    bounded: bool = False,
) -> PlaceholderType:
    """The row of a format. `build`: an expression, if the format takes no arguments, else the function that
    builds its kind. `lengths`: the lengths of its texts. The kind without arguments is made once, on first
    use."""

    def complete(kind: Kind) -> Kind:
        extent = Extent(frozenset({"string"}), lengths) if kind.extent.names is None else kind.extent
        names = frozenset({name, *narrower_than, *(extent.names or ())})
        return replace(kind, extent=replace(extent, names=names))

    @cache
    def plain() -> Kind:
        return complete(texts(build, check) if isinstance(build, str) else build((), 0.0))

    def kind_of(args: Args, words: Any) -> Kind:
        if isinstance(build, str):
            take(name, args, name)
        return plain() if isinstance(build, str) or not args else complete(build(args, words.now))

    return PlaceholderType(name, kind_of, types, learnt, bounded)


def _text_extent(lengths: tuple[int, int | None], *names: str) -> Extent:
    return Extent(frozenset({"string"}), lengths, names=frozenset(names))


def uuid(args: Args, now: float) -> Kind:
    """UUIDs. With a version, the layout of RFC 9562 with its variant digit; without one any text of that
    form: test data is full of 1111…, and the nil and max UUIDs have no version."""
    (version,) = take("any_uuid", args, "any_uuid(4)", lambda arg: whole(arg) and 1 <= arg <= 8)
    any_digit = "[0-9a-fA-F]"
    digit, variant = (any_digit, any_digit) if version is None else (str(version), "[89abAB]")
    kind = texts(
        rf"{any_digit}{{8}}-{any_digit}{{4}}-{digit}{any_digit}{{3}}"
        rf"-{variant}{any_digit}{{3}}-{any_digit}{{12}}"
    )
    extra_names = () if version is None else (f"any_uuid({version})",)
    return replace(kind, extent=_text_extent((36, 36), *extra_names))


def hex_digits(args: Args, now: float) -> Kind:
    (length,) = take("any_hex", args, "any_hex(40)", lambda arg: count(arg) and arg > 0)
    kind = texts(rf"[0-9a-fA-F]{{{length}}}" if length else "[0-9a-fA-F]+")
    further_names = ("any_base64",) if length and length % 4 != 1 else ()
    return replace(kind, extent=_text_extent((length or 1, length), "any_token", *further_names))


def ip(args: Args, now: float) -> Kind:
    (version,) = take("any_ip", args, "any_ip(4)", lambda arg: whole(arg) and arg in (4, 6))

    def check(text: str) -> bool:
        actual_version = ip_version(text)
        return actual_version is not None and version in (None, actual_version)

    extra_names = () if version is None else (f"any_ip({version})",)
    return replace(texts(r"[0-9A-Fa-f:.]{2,45}", check), extent=_text_extent((2, 45), *extra_names))


def iso_datetime(args: Args, now: float) -> Kind:
    (within,) = take("any_iso_datetime", args, "any_iso_datetime(5m)", lambda arg: seconds(arg) is not None)
    span = None if within is None else float(seconds(within) or 0)

    def check(text: str) -> bool:
        moment = iso_moment(text)
        return moment is not None and (span is None or abs(with_zone(moment).timestamp() - now) <= span)

    extent = replace(_text_extent((16, 35)), within=seconds(within))
    return replace(texts(ISO, check), extent=extent)


def unix_timestamp(args: Args, words: Any) -> Kind:
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
                return span is None or abs(float(value / unit) - words.now) <= span
        return False

    extent = Extent(
        frozenset(("number",)),
        numbers=(Decimal(10**9), Decimal(10**19)),
        within=seconds(within),
        names=frozenset({"any_unix_timestamp"}),
    )
    inline = r"[0-9]{10}(?:[0-9]{3}){0,3}(?:\.[0-9]+)?"
    return Kind(accepts, inline, read_number, furthest="[0-9.]+", extent=extent)


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
    """Whether a text is a token of RFC 7519: signed (three parts, the last one empty only for `alg: none`) or
    encrypted (five parts)."""
    parts = text.split(".")
    header = json_object(parts[0])
    algorithm = header.get("alg") if header is not None else None
    if header is None or not isinstance(algorithm, str) or any(len(part) % 4 == 1 for part in parts):
        return False
    if len(parts) == 5:
        return isinstance(header.get("enc"), str)
    nested = str(header.get("cty", "")).upper() == "JWT"
    return bool(parts[2]) == (algorithm != "none") and (nested or json_object(parts[1]) is not None)


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
    version = common(values, lambda text: text[_UUID_VERSION : _UUID_VERSION + 1])
    has_variant = all(text[_UUID_VARIANT : _UUID_VARIANT + 1] in "89abAB" for text in values)
    return version if version and version in "12345678" and has_variant else None


FORMATS = (
    text_format(
        "any_uuid",
        uuid,
        (36, 36),
        LearningRule(
            "UUIDs",
            argument=uuid_version,
            narrowed="UUIDs of version {}",
            piece="[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
            in_rows=True,
        ),
        narrower_than=("any_hostname", "any_base64", "any_token"),
        bounded=True,
    ),
    text_format(
        "any_jwt",
        r"[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?",
        (6, None),
        LearningRule("JSON web tokens", piece=r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
        check=is_jwt,
    ),
    text_format(
        "any_ulid",
        r"[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}",
        (26, 26),
        LearningRule(
            "ULIDs",
            fits=lambda values: are_mixed(values) and all(text.upper() == text for text in values),
            in_rows=True,
        ),
        narrower_than=("any_base64", "any_token"),
    ),
    text_format(
        "any_iso_datetime",
        iso_datetime,
        (16, 35),
        LearningRule(
            "dates with a time",
            piece=verbose(ISO),
            in_rows=True,
        ),
        narrower_than=("any_datetime",),
    ),
    text_format(
        "any_iso_date",
        DATE,
        (10, 10),
        LearningRule("dates", piece=DATE, in_rows=True),
        check=is_date,
        narrower_than=("any_hostname", "any_base64", "any_token"),
    ),
    text_format(
        "any_time",
        rf"(?:{CLOCK}{ZONE}?|{CLOCK_OF_12})",
        (5, 24),
        LearningRule(
            "times of day",
            # 00:00:07 may be the time since a start: a length of time, which can pass 24 hours
            fits=lambda values: not all(text.startswith("00:") for text in values),
            piece=rf"{verbose(CLOCK_OF_12)}|{CLOCK}",
        ),
        check=is_time,
    ),
    text_format(
        "any_semver",
        _SEMVER,
        (5, None),
        LearningRule("versions", piece=r"v?[0-9]+(?:\.[0-9]+){2,3}(?:-[0-9A-Za-z.]+)?", in_rows=True),
    ),
    text_format(
        "any_ip",
        ip,
        (2, 45),
        LearningRule(
            "IP addresses",
            fits=lambda values: all("." in text or ":" in text for text in values),
            argument=lambda values: common(values, lambda text: 6 if ":" in text else 4),
            narrowed="IP addresses of version {}",
        ),
        bounded=True,
    ),
    text_format(
        "any_email",
        rf"{_ATOM}(?:\.{_ATOM}){{0,31}}@{_LABEL}(?:\.{_LABEL}){{1,{_MOST_LABELS}}}",
        (5, _MOST_EMAIL),
        LearningRule("e-mail addresses", when="likely", in_rows=True),
        check=is_email,
    ),
    text_format("any_url", _URL, (6, None), LearningRule("URLs", when="likely", in_rows=True), check=is_url),
    text_format(
        "any_duration",
        f"(?:{_ISO_DURATION}|{_SHORT_DURATION})",
        (2, None),
        LearningRule(
            "lengths of time",
            when="likely",
            fits=are_mixed,
            piece=f"{_SHORT_DURATION}|{_ISO_DURATION}",
        ),
        # ISO 8601: only the smallest unit may have a fraction.
        check=lambda text: not (text.startswith("P") and _FRACTION_BEFORE_MORE.search(text)),
        types=frozenset({"number", "string"}),
    ),
    text_format(
        "any_hex",
        hex_digits,
        (1, None),
        LearningRule(
            "hexadecimal digits",
            when="likely",
            fits=lambda values: are_mixed(values) and min(map(len, values)) >= _LEAST_HEX,
            argument=digest_length,
            narrowed="{} hexadecimal digits",
            part=r"(?=.*[0-9])[0-9a-fA-F]{8,}",
        ),
        bounded=True,
    ),
    text_format(
        "any_base64",
        r"[A-Za-z0-9+/_-]+={0,2}",
        (2, None),
        LearningRule(
            "base64",
            when="likely",
            fits=lambda values: (
                are_mixed(values)
                and any(char in "+/=" for char in "".join(values))
                and not "".join(values).isupper()
                and not "".join(values).islower()
                and min(map(len, values)) >= _LEAST_BASE64
            ),
        ),
        check=is_base64,
        narrower_than=("any_token",),
    ),
    text_format(
        "any_hostname",
        _HOST,
        (1, _MOST_HOST),
        LearningRule(
            "names of hosts",
            when="likely",
            fits=lambda values: all(
                "." in text and text == text.lower() and text.rpartition(".")[2].isalpha() for text in values
            ),
        ),
        # RFC 1123: the last label is never a number, as the host would be read as an address.
        check=lambda text: len(text) <= _MOST_HOST and not text.rpartition(".")[2].isdecimal(),
    ),
)
"""Each format: how it is read, how long its texts are, which formats it is narrower than, and how it is
learnt. Formats are learnt in this order."""
