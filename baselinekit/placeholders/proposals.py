"""What is proposed to stand for values: the placeholder that all have, or a text with placeholders in it."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.placeholders.table import TABLE, Table, Words
from baselinekit.placeholders.template import compile_text

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


# Values that were seen -> the rows of the table that all of them have.


def learnt_as(
    values: Sequence[Json], type: str, when: str, words: Words = _NO_WORDS
) -> Iterator[PlaceholderProposal]:
    """The placeholders of the table that are learnt of such values, with what narrows them first. Of formats
    the first one alone; of those that say hardly more than a type, all."""
    for row in words.table.values():
        learnt = row.learnt
        if learnt is None or (learnt.of, learnt.when) != (type, when):
            continue
        if not (accepts_all(f"<<{row.name}>>", values, words) and learnt.fits(values)):
            continue
        argument = learnt.argument(values)
        if argument is not None:
            yield PlaceholderProposal(f"<<{row.name}({argument})>>", learnt.narrowed.format(argument))
        yield PlaceholderProposal(f"<<{row.name}>>", learnt.words, when == "type")
        if when != "type":
            return


def likely_formats(texts: Sequence[str], words: Words) -> Iterator[PlaceholderProposal]:
    """The formats that are either wide, or of which a text can have only a part that varies."""
    yield from learnt_as(texts, "string", "likely", words)
    if all(map(_DIGITS.fullmatch, texts)):
        lengths = {*map(len, texts)}
        if len(lengths) == 1:
            (length,) = lengths
            yield PlaceholderProposal(f"<<regex('[0-9]{{{length}}}')>>", f"texts of {length} digits")
        yield PlaceholderProposal("<<regex('[0-9]+')>>", "texts of digits")


def for_rows(table: Table = TABLE) -> tuple[str, ...]:
    """The placeholders that may stand for a key of one row that describes many, the narrowest first."""
    return tuple(f"<<{row.name}>>" for row in table.values() if row.learnt and row.learnt.in_rows)


# Texts of which only a part varies -> the text with placeholders in it: `/users/<<any_uuid>>/posts`. The
# texts are taken apart into words, numbers and what has a format; what is the same in all of them stays.


_LONGEST = 20_000
_MOST_PARTS = 12
_MOST_WIDE = 2
_DIGITS = re.compile(r"[0-9]+")
_LEAST_FORMAT = 10
WIDE = ("<<any_nonempty_string>>", "<<any_string>>")
"""What stands for a part of which nothing is known; the second one where there may be none."""


@cache
def _pieces(pieces: tuple[str, ...]) -> re.Pattern[str]:
    """What a text is taken apart into: formats, names before a number, words, gaps."""
    formats = " | ".join(pieces)
    return re.compile(
        rf"""(?<![\w.-])(?: {formats} )(?![\w]|[.:-][\w])
          | (?P<named>[^\W\d_]+)(?=[0-9]+(?!\w))
          | \w+ | \s+ | .""",
        re.VERBOSE | re.DOTALL,
    )


def around_what_varies(texts: Sequence[str], write: Write, words: Words) -> PlaceholderProposal | None:
    """The template that keeps what is the same in all texts, if that is worth keeping. Of one text alone only
    what has a format can vary. It `says_little` where a part of it could be any text."""
    distinct = list(dict.fromkeys(texts))
    if max(map(len, distinct)) > _LONGEST:
        return None
    rules = [row.learnt for row in words.table.values() if row.learnt]
    pieces = _pieces(tuple(rule.piece for rule in rules if rule.piece))
    rows = [[match[0] for match in pieces.finditer(text)] for text in distinct]

    def varies(column: Sequence[str]) -> bool:
        if len(rows) > 1:
            return len(set(column)) > 1
        # of one text: what hardly two answers have in common, such as an id, a token, a moment
        return len(column[0]) >= _LEAST_FORMAT and any(learnt_as(column, "string", "sure", words))

    columns = _columns(rows, varies)
    stands = [_placeholder_for(column, words) if varies(column) else None for column in columns]
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


def _placeholder_for(column: Sequence[str], words: Words) -> str:
    """What stands for the part that varies."""
    if not all(column):
        return WIDE[1]
    for proposal in learnt_as(column, "string", "sure", words):
        return proposal.text
    for row in words.table.values():
        part = row.learnt.part if row.learnt else ""
        if part and all(re.fullmatch(part, text) for text in column):
            return f"<<{row.name}>>"
    return WIDE[0]
