"""Texts that were seen -> the format that all of them have. A format that many a plain word has as well (a
hostname, hexadecimal digits) counts only where the texts look like it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from baselinekit.placeholders.proposals import Proposal, accepts_all

Texts = Sequence[str]

_LEAST_HEX = 8
_LEAST_BASE64 = 16
_DIGITS = re.compile(r"[0-9]+")
_UUID_VERSION, _UUID_VARIANT = 14, 19


@dataclass(frozen=True, slots=True)
class _Format:
    name: str
    words: str
    fits: Callable[[Texts], bool] = lambda texts: True
    argument: Callable[[Texts], str | None] = lambda texts: None
    with_argument: str = ""


def _same(texts: Texts, of: Callable[[str], object]) -> str | None:
    found = {of(text) for text in texts}
    return str(found.pop()) if len(found) == 1 else None


def _mixed(texts: Texts) -> bool:
    """Letters and digits: no words, and no plain numbers."""
    joined = "".join(texts)
    return any(c.isdigit() for c in joined) and any(c.isalpha() for c in joined)


def _looks_hexadecimal(texts: Texts) -> bool:
    return _mixed(texts) and min(map(len, texts)) >= _LEAST_HEX


def _looks_encoded(texts: Texts) -> bool:
    joined = "".join(texts)
    cases = any(c.isupper() for c in joined) and any(c.islower() for c in joined)
    return cases and _mixed(texts) and min(map(len, texts)) >= _LEAST_BASE64


def _looks_like_hosts(texts: Texts) -> bool:
    """With a dot, small letters, and an end that is no number."""
    return all("." in text and text == text.lower() and text.rpartition(".")[2].isalpha() for text in texts)


def _version(texts: Texts) -> str | None:
    version = _same(texts, lambda text: text[_UUID_VERSION : _UUID_VERSION + 1])
    laid_out = all(text[_UUID_VARIANT : _UUID_VARIANT + 1] in "89abAB" for text in texts)
    return version if version and version in "12345678" and laid_out else None


_STRONG = (
    _Format("any_uuid", "UUIDs", argument=_version, with_argument="UUIDs of version {}"),
    _Format("any_jwt", "JSON web tokens"),
    _Format("any_ulid", "ULIDs", lambda texts: _mixed(texts) and all(text.upper() == text for text in texts)),
    _Format("any_iso_datetime", "dates with a time"),
    _Format("any_iso_date", "dates"),
    _Format("any_time", "times of day"),
    _Format("any_semver", "versions"),
    _Format(
        "any_ip",
        "IP addresses",
        lambda texts: all("." in text or ":" in text for text in texts),
        lambda texts: _same(texts, lambda text: 6 if ":" in text else 4),
        "IP addresses of version {}",
    ),
)
_FURTHER = (
    _Format("any_email", "e-mail addresses"),
    _Format("any_url", "URLs"),
    _Format("any_duration", "lengths of time", _mixed),
    _Format(
        "any_hex",
        "hexadecimal digits",
        _looks_hexadecimal,
        lambda texts: _same(texts, len),
        "{} hexadecimal digits",
    ),
    _Format("any_base64", "base64", _looks_encoded),
    _Format("any_hostname", "names of hosts", _looks_like_hosts),
)


def strong_formats(texts: Texts) -> Iterator[Proposal]:
    """The formats that no text has by chance; the exact form of one first."""
    yield from _found(_STRONG, texts)


def further_formats(texts: Texts) -> Iterator[Proposal]:
    """The formats that are either wide, or of which a text can have only a part that varies."""
    yield from _found(_FURTHER, texts)
    if all(map(_DIGITS.fullmatch, texts)):
        length = _same(texts, len)
        if length:
            yield Proposal(f"<<regex('[0-9]{{{length}}}')>>", f"texts of {length} digits")
        yield Proposal("<<regex('[0-9]+')>>", "texts of digits")


def _found(formats: tuple[_Format, ...], texts: Texts) -> Iterator[Proposal]:
    for one in formats:
        if accepts_all(f"<<{one.name}>>", texts) and one.fits(texts):
            argument = one.argument(texts)
            if argument is not None:
                yield Proposal(f"<<{one.name}({argument})>>", one.with_argument.format(argument))
            yield Proposal(f"<<{one.name}>>", one.words)
            return
