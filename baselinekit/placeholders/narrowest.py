"""Values that were seen -> the narrowest placeholders that accept every one of them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache
from itertools import pairwise
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.contained import takes_all
from baselinekit.placeholders.grammar import escape, whole
from baselinekit.placeholders.table import TABLE, Table, Words
from baselinekit.placeholders.template import compile_text
from baselinekit.texts import many
from baselinekit.tree.equality import EXACT, decimal, is_number

# What is proposed to stand for values: the placeholder that all have, or a text with placeholders in it.


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
        yield PlaceholderProposal(f"<<{row.name}>>", learnt.describe(values), when == "type")
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


# Values that were seen -> the narrowest placeholders that accept every one of them.


# Of numbers: the range that they are likely to stay in.


_ENOUGH_STEPS = 4
"""Chance alone makes five numbers grow in one case of 120."""

_MOST_DIGITS = 30
_TEN = Decimal(10)
_MEASURED_DIGITS = 12
_READ = Context(prec=6, traps=[])


def for_numbers(values: Sequence[Json], words: Words) -> Iterator[PlaceholderProposal]:
    """Candidates, the narrowest first. The order in which the values were seen counts: what only grows has
    no upper bound."""
    wider = list(learnt_as(values, "number", "type", words))
    for moments in learnt_as(values, "number", "sure", words):
        yield moments
        templates: list[Any] = [compile_text(proposal.text, words) for proposal in (moments, *wider)]
        narrow = templates.pop(0)
        yield from (also for also, wide in zip(wider, templates, strict=True) if takes_all(wide, narrow))
        return
    integers = all(map(whole, values))
    numbers = [decimal(value) for value in values]
    least, most = min(numbers), max(numbers)
    rows = ((row.name, row.learnt) for row in words.table.values() if row.learnt and row.learnt.between)
    ranges = [(name, rule) for name, rule in rows if rule.fits(values)]
    if least != most and ranges:
        name, rule = ranges[0]
        low, high = _widened(least, most, integers)
        seen = f"{rule.describe(values)} from {_shown(least)} to {_shown(most)}"
        if _grows(numbers, integers):
            low = min(low, _rounded(least, _step(least, integers), ROUND_FLOOR))
            yield PlaceholderProposal(
                f"<<{name}({_written(low)})>>", f"{seen}, each greater than the one before"
            )
        elif (  # more digits than anybody writes: a measured time, say, which may be ten times as long
            not integers
            and least >= 0
            and max(len(number.as_tuple().digits) for number in numbers) >= _MEASURED_DIGITS
        ):
            tenfold = EXACT.multiply(most, _TEN)
            high = _rounded(tenfold, _step(tenfold, integers), ROUND_CEILING)
            yield PlaceholderProposal(
                f"<<{name}(0, {_written(high)})>>", f"{seen}, measured values: up to ten times the highest"
            )
        else:
            yield PlaceholderProposal(
                f"<<{name}({_written(low)}, {_written(high)})>>", f"{seen}, with room on both sides"
            )
    yield from wider


def _grows(numbers: Sequence[Decimal], integers: bool) -> bool:
    """A counter or a clock: every number is greater than the one before. Of a few that can be chance, unless
    they are counted off."""
    steps = [EXACT.subtract(after, before) for before, after in pairwise(numbers)]
    counted = integers and len(set(steps)) == 1 and (steps[0] == 1 or len(steps) > 1)
    return min(steps) > 0 and (counted or len(steps) >= _ENOUGH_STEPS)


def _widened(least: Decimal, most: Decimal, integers: bool) -> tuple[Decimal, Decimal]:
    """As much room on either side as there is between them, rounded outwards; a sign that no number had is
    not let in."""
    span = EXACT.subtract(most, least)
    step = _step(EXACT.multiply(span, Decimal(3)), integers)
    low = _rounded(EXACT.subtract(least, span), step, ROUND_FLOOR)
    high = _rounded(EXACT.add(most, span), step, ROUND_CEILING)
    zero = Decimal(0)
    return (max(low, zero) if least >= 0 else low), (min(high, zero) if most <= 0 else high)


def _step(size: Decimal, integers: bool) -> Decimal:
    """The power of ten that a number of this size is rounded by."""
    power = size.adjusted() if size else 0
    return Decimal(1).scaleb(max(power, 0) if integers else power, EXACT)


def _rounded(number: Decimal, step: Decimal, rounding: str) -> Decimal:
    steps = EXACT.divide(number, step).to_integral_value(rounding, EXACT)
    return EXACT.multiply(steps, step)


def _shown(number: Decimal) -> str:
    """With as many digits as one reads."""
    return _written(number if number == number.to_integral_value() else _READ.plus(number))


def _written(number: Decimal) -> str:
    if not number:
        return "0"
    plain = number.normalize(EXACT)
    return f"{plain:f}" if -_MOST_DIGITS < plain.adjusted() < _MOST_DIGITS else f"{plain}".replace("E", "e")


# Of any values. Each proposal of the list accepts whatever the one before it does, and the last one hardly
# says more than the type: the first is the one to store, unless somebody knows better.


_MOST_ALTERNATIVES = 5
_LONGEST_ALTERNATIVE = 40
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SPACED = "<<any_iso_datetime>>"
"""It may hold a blank, which a URL may not."""

_WORDS_OF_JSON = ("true", "false", "null")
_ANYTHING = PlaceholderProposal("<<any>>", "values of different types", True)


def narrowest(
    values: Sequence[Json], write: Write = escape, words: Words | None = None
) -> list[PlaceholderProposal]:
    """The proposals, best first; none for no values. `values` are in the order in which they were seen;
    `write` is how a literal part of a text is to be stored, and `words` what the project means by it."""
    if not values:
        return []
    words = words or Words()
    stated = [value for value in values if value is not None]
    candidates = list(_for(stated or values, write, words))
    if stated and len(stated) < len(values):
        candidates = [
            replace(candidate, text=f"{candidate.text[:-2]}|null>>", reason=f"{candidate.reason}, or null")
            for candidate in candidates
            if is_alone(candidate.text)
        ]
    return that_accept(candidates, values, words) or [_ANYTHING]


def _for(values: Sequence[Json], write: Write, words: Words) -> Iterator[PlaceholderProposal]:
    types = {json_type(value) for value in values}
    type = types.pop()
    if types:
        return
    if type == "number" and all(map(is_number, values)):
        yield from _few(values)
        yield from for_numbers(values, words)
    elif type == "string":
        proposals = list(learnt_as(values, "string", "sure", words)) or list(
            _by_their_parts(values, write, words)
        )
        if not proposals:
            yield from _few(values)
            if len(values) > 1:
                yield _of_length(values)
        yield from proposals
        yield from learnt_as(values, "string", "type", words)
    else:
        yield from learnt_as(values, type, "sure", words)
        yield from learnt_as(values, type, "type", words)


def _by_their_parts(texts: Sequence[str], write: Write, words: Words) -> Iterator[PlaceholderProposal]:
    """What is known of texts that have no format as a whole: one of their parts, or a wide format."""
    template = around_what_varies(texts, write, words)
    likely = list(likely_formats(texts, words))
    if template is None or (template.says_little and likely):
        yield from likely
        return
    yield replace(template, says_little=False)
    if not template.says_little and _SPACED not in template.text:
        yield from (proposal for proposal in likely if proposal.text == "<<any_url>>")


def _of_length(texts: Sequence[str]) -> PlaceholderProposal:
    """Texts that nothing else is known of: as long as those that were seen, with room where they differ."""
    low, high = min(map(len, texts)), max(map(len, texts))
    reason = f"texts of {many(low, 'character')}"
    if low != high:
        reason = f"texts of {low} to {high} characters, with room on both sides"
        low, high = max(low - (high - low), min(low, 1)), high + (high - low)
    return PlaceholderProposal(f"<<any_string({low}, {high})>>", reason, True)


def _few(values: Sequence[Json]) -> Iterator[PlaceholderProposal]:
    """A few values of which each was seen more than once are likely to be all there are."""
    counted = Counter(values)
    are_few = 1 < len(counted) <= _MOST_ALTERNATIVES and min(counted.values()) > 1
    if are_few and all(len(str(value)) <= _LONGEST_ALTERNATIVE for value in counted):
        args = [
            "'" + value.replace("'", "''") + "'"
            if isinstance(value, str) and (not _BARE.fullmatch(value) or value in _WORDS_OF_JSON)
            else str(value)
            for value in counted
        ]
        reason = f"{len(counted)} values, each seen more than once"
        yield PlaceholderProposal(f"<<one_of({', '.join(args)})>>", reason)


def is_alone(text: str) -> bool:
    """Whether it is one placeholder alone, which null can be said of."""
    return text.startswith("<<") and text.endswith(">>") and text.count("<<") == 1
