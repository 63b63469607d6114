"""Texts of which only a part varies -> the text with placeholders in it: `/users/<<any_uuid>>/posts`.

The texts are taken apart into words, numbers and what has a format; what is the same in all of them stays."""

import re
from collections.abc import Callable, Sequence

from baselinekit.placeholders.likely import strong_formats
from baselinekit.placeholders.proposals import Proposal, Write

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


def around_what_varies(texts: Sequence[str], write: Write) -> Proposal | None:
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
    return Proposal(written, reason, wide > 0)


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
