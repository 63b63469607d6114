"""Values that were seen -> the narrowest placeholders that accept every one of them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.contained import takes_all
from baselinekit.placeholders.grammar import escape, whole
from baselinekit.placeholders.pieces import WIDE, Column, TextPieces, Write, hides_a_day
from baselinekit.placeholders.table import TABLE, Table, Words
from baselinekit.placeholders.template import compile_text
from baselinekit.tree.equality import EXACT, decimal, is_number

# What is proposed to stand for values: the placeholder that all have, or a text with placeholders in it.


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


def for_rows(table: Table = TABLE) -> tuple[str, ...]:
    """The placeholders that may stand for a key of one row that describes many, the narrowest first."""
    return tuple(f"<<{row.name}>>" for row in table.values() if row.learnt and row.learnt.in_rows)


# Texts of which only a part varies: what is the same in all of them stays (pieces.py).


_LONGEST = 200_000
_MOST_PARTS = 500
_MOST_WIDE = 2


def around_what_varies(texts: Sequence[str], write: Write, words: Words) -> PlaceholderProposal | None:
    """The template that keeps what is the same in all texts, if that is worth keeping. It `says_little` where
    a part of it could be any text."""
    if max(map(len, texts)) > _LONGEST:
        return None

    def sure(column: Column) -> str | None:
        return next((one.text for one in learnt_as(column, "string", "sure", words)), None)

    written, placeholders, kept = TextPieces(texts, words, sure).rendered(write)
    wide = sum(text in WIDE for text in placeholders)
    most_wide = _MOST_WIDE if any(char.isalnum() for char in kept) else 0
    if not kept or not placeholders or len(placeholders) > _MOST_PARTS or wide > most_wide:
        return None
    if hides_a_day(placeholders, kept):
        return None
    reason = f"the text around {'it' if len(placeholders) == 1 else 'them'} stays"
    return PlaceholderProposal(written, reason, wide > 0)


# Values that were seen -> the narrowest placeholders that accept every one of them.


# Of numbers. Two or three of them say nothing about the next thousand: a counter grows, begins again after a
# restart, and a size or a time taken may be a hundred times as large on a slow day. So there is no bound but
# zero, for what counts and measures: a negative one is a fault.


def for_numbers(values: Sequence[Json], words: Words) -> Iterator[PlaceholderProposal]:
    """Candidates, the narrowest first."""
    wider = list(learnt_as(values, "number", "type", words))
    for moments in learnt_as(values, "number", "sure", words):
        yield moments
        templates: list[Any] = [compile_text(proposal.text, words) for proposal in (moments, *wider)]
        narrow = templates.pop(0)
        yield from (also for also, wide in zip(wider, templates, strict=True) if takes_all(wide, narrow))
        return
    numbers = [decimal(value) for value in values]
    least, most = min(numbers), max(numbers)
    rows = ((row.name, row.learnt) for row in words.table.values() if row.learnt and row.learnt.between)
    ranges = [(name, rule) for name, rule in rows if rule.fits(values)]
    if least != most and ranges and _stays_above_zero(numbers, all(map(whole, values))):
        name, rule = ranges[0]
        seen = f"{rule.describe(values)} from {_shown(least)} to {_shown(most)}"
        yield PlaceholderProposal(f"<<{name}(0)>>", f"{seen}, and no negative ones")
    yield from wider


_TIMES_THE_SPREAD = 10


_ENOUGH = 3
"""Two deviations are close to each other, and of one sign, once in thirty."""


def _stays_above_zero(numbers: Sequence[Decimal], integers: bool) -> bool:
    """What is counted is never negative. What is measured with a fraction may be a deviation: it stays above
    zero if ten times the spread does not lead below."""
    least, most = min(numbers), max(numbers)
    room = EXACT.multiply(EXACT.subtract(most, least), Decimal(_TIMES_THE_SPREAD))
    return least >= 0 and (integers or (len(numbers) >= _ENOUGH and least >= room))


_MOST_DIGITS = 30
_READ = Context(prec=6, traps=[])


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
        yield from for_numbers(values, words)
    elif type == "string":
        proposals = list(learnt_as(values, "string", "sure", words)) or list(
            _by_their_parts(values, write, words)
        )
        if not proposals:
            yield from _few(values)
        yield from proposals
        yield from learnt_as(values, "string", "type", words)
    else:
        yield from learnt_as(values, type, "sure", words)
        yield from learnt_as(values, type, "type", words)


def _by_their_parts(texts: Sequence[str], write: Write, words: Words) -> Iterator[PlaceholderProposal]:
    """What is known of texts that have no format as a whole: one of their parts, or a wide format."""
    template = around_what_varies(texts, write, words)
    likely = list(learnt_as(texts, "string", "likely", words))
    if template is None or (template.says_little and likely):
        yield from likely
        return
    yield replace(template, says_little=False)
    if not template.says_little and _SPACED not in template.text:
        yield from (proposal for proposal in likely if proposal.text == "<<any_url>>")


def _few(values: Sequence[Json]) -> Iterator[PlaceholderProposal]:
    """A few texts of which each was seen more than once are likely to be all there are. Of numbers that is
    chance: two clients were connected, then three."""
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
