"""What is proposed to stand for texts: the format that all have, or a text with placeholders in it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import compile_text

# What is proposed to stand for values, and whether it does: nobody is offered what refuses a value seen.


Write = Callable[[str, bool], str]
"""A literal text as a stored output holds it; the flag says whether a placeholder comes right after it."""


@dataclass(frozen=True, slots=True)
class PlaceholderProposal:
    """A text to store, and why. `says_little`: it holds on to no more than a type or a length."""

    text: str
    reason: str
    says_little: bool = False


def that_accept(
    candidates: Iterable[PlaceholderProposal], values: Sequence[Json], words: Words
) -> list[PlaceholderProposal]:
    """Those that accept every value, each once: the matcher itself is asked."""
    found: dict[str, PlaceholderProposal] = {}
    for candidate in candidates:
        if candidate.text not in found and accepts_all(candidate.text, values, words):
            found[candidate.text] = candidate
    return list(found.values())


_NO_WORDS = Words()


def accepts_all(text: str, values: Sequence[Json], words: Words = _NO_WORDS) -> bool:
    try:
        template = compile_text(text, words)
        if isinstance(template, str):
            return all(value == template for value in values)
        return all(template.accepts(value, {}) for value in values)
    except BaselinekitError:  # what cannot be read, or takes too long, is no proposal
        return False


# Texts that were seen -> the format that all of them have. A format that many a plain word has as well
# (a hostname, hexadecimal digits) counts only where the texts look like it.


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


def strong_formats(texts: Texts) -> Iterator[PlaceholderProposal]:
    """The formats that no text has by chance; the exact form of one first."""
    yield from _found(_STRONG, texts)


def further_formats(texts: Texts) -> Iterator[PlaceholderProposal]:
    """The formats that are either wide, or of which a text can have only a part that varies."""
    yield from _found(_FURTHER, texts)
    if all(map(_DIGITS.fullmatch, texts)):
        length = _same(texts, len)
        if length:
            yield PlaceholderProposal(f"<<regex('[0-9]{{{length}}}')>>", f"texts of {length} digits")
        yield PlaceholderProposal("<<regex('[0-9]+')>>", "texts of digits")


def _found(formats: tuple[_Format, ...], texts: Texts) -> Iterator[PlaceholderProposal]:
    for one in formats:
        if accepts_all(f"<<{one.name}>>", texts) and one.fits(texts):
            argument = one.argument(texts)
            if argument is not None:
                yield PlaceholderProposal(f"<<{one.name}({argument})>>", one.with_argument.format(argument))
            yield PlaceholderProposal(f"<<{one.name}>>", one.words)
            return


# Texts of which only a part varies -> the text with placeholders in it: `/users/<<any_uuid>>/posts`. The
# texts are taken apart into words, numbers and what has a format; what is the same in all of them stays.


_LONGEST = 20_000
_MOST_PARTS = 12
_MOST_WIDE = 2
_LEAST_FORMAT = 10
WIDE = ("<<any_nonempty_string>>", "<<any_string>>")
"""What stands for a part of which nothing is known; the second one where there may be none."""

_PIECE = re.compile(
    r"""(?<![\w.-])(?:
          [0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt\ ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?
            (?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?
        | [0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}
        | [A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
        | [0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?
        | v?[0-9]+(?:\.[0-9]+){2,3}(?:-[0-9A-Za-z.]+)?
        | [0-9]+\.[0-9]+ )(?![\w]|[.:-][\w])
      | (?P<named>[^\W\d_]+)(?=[0-9]+(?!\w))
      | \w+ | \s+ | .""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = (
    (re.compile(r"-?[0-9]+"), "<<any_integer>>"),
    (re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"), "<<any_number>>"),
    (re.compile(r"(?=.*[0-9])[0-9a-fA-F]{8,}"), "<<any_hex>>"),
)


def around_what_varies(texts: Sequence[str], write: Write) -> PlaceholderProposal | None:
    """The template that keeps what is the same in all texts, if that is worth keeping. Of one text alone only
    what has a format can vary. It `says_little` where a part of it could be any text."""
    distinct = list(dict.fromkeys(texts))
    if max(map(len, distinct)) > _LONGEST:
        return None
    rows = [[match[0] for match in _PIECE.finditer(text)] for text in distinct]
    varies = _has_format if len(rows) == 1 else _differs
    columns = _columns(rows, varies)
    stands = [_stands(column) if varies(column) else None for column in columns]
    placeholders = [text for text in stands if text is not None]
    wide = sum(text in WIDE for text in placeholders)
    kept = "".join(column[0] for column, stand in zip(columns, stands, strict=True) if stand is None)
    most_wide = _MOST_WIDE if any(char.isalnum() for char in kept) else 0
    if not kept or not placeholders or len(placeholders) > _MOST_PARTS or wide > most_wide:
        return None
    written = "".join(
        write(column[0], place + 1 < len(columns)) if stand is None else stand
        for place, (column, stand) in enumerate(zip(columns, stands, strict=True))
    )
    reason = f"the text around {'it' if len(placeholders) == 1 else 'them'} stays"
    return PlaceholderProposal(written, reason, wide > 0)


def _differs(column: Sequence[str]) -> bool:
    return len(set(column)) > 1


def _has_format(column: Sequence[str]) -> bool:
    """Whether a piece is what hardly two answers have in common: an id, a token, a moment."""
    return len(column[0]) >= _LEAST_FORMAT and any(strong_formats(column))


def _columns(rows: list[list[str]], varies: Callable[[Sequence[str]], bool]) -> list[list[str]]:
    """The pieces of all texts beside each other: those that vary one after the other as one. Where texts have
    more pieces than others, only their beginnings and their ends can be set beside each other."""
    length = min(map(len, rows))
    if any(len(row) != length for row in rows):
        first = rows[0]
        head = _shared(rows, length)
        tail = _shared([row[::-1] for row in rows], length - head)
        middle = ["".join(row[head : len(row) - tail]) for row in rows]
        rows = [[*first[:head], between, *first[len(first) - tail :]] for between in middle]
    columns: list[list[str]] = []
    varied = None
    for pieces in zip(*rows, strict=True):
        varying = varies(pieces)
        if columns and varying == varied:
            columns[-1] = [before + after for before, after in zip(columns[-1], pieces, strict=True)]
        else:
            columns.append(list(pieces))
        varied = varying
    return columns


def _shared(rows: list[list[str]], most: int) -> int:
    """How many pieces all of them begin with."""
    first = rows[0]
    return next((n for n in range(most) if any(row[n] != first[n] for row in rows)), most)


def _stands(column: Sequence[str]) -> str:
    """What stands for the part that varies."""
    if all(column):
        for proposal in strong_formats(column):
            return proposal.text
        for pattern, text in _PLAIN:
            if all(map(pattern.fullmatch, column)):
                return text
        return WIDE[0]
    return WIDE[1]
