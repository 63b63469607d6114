"""The narrowest placeholders that accept all values seen, and whether one accepts all that another does."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, json_type
from baselinekit.placeholders.grammar import Extent, Kind, Token, escape, of_types, whole
from baselinekit.placeholders.pieces import WIDE, Column, TextPieces, Write, hides_a_day
from baselinekit.placeholders.table import TABLE, Table, Words
from baselinekit.placeholders.template import Inline, Part, Placeholder, Slot, compile_text
from baselinekit.tree.equality import EXACT, decimal, is_number
from baselinekit.variables import as_text

# Of two templates, whether the first takes all that the second takes. Each placeholder says what is
# known of the values that it accepts (`Extent`): the first takes them all if thing that it asks for
# follows from what the second asks for. Few values are tried one by one. Where nothing is known the
# answer is no: a user is rather told one difference too many than one too few.


_NULL = "null"
_MOST_VALUES = 1_000
_TEXT = frozenset(("string",))
_NUMBER = frozenset(("number",))
Lengths = tuple[int, int | None]


def takes_all(wide: Placeholder | Inline, narrow: Placeholder | Inline) -> bool:
    """Whether every value that `narrow` accepts, bindings and absence included, is accepted by `wide`."""
    try:
        if isinstance(narrow, Inline):
            by_slots = isinstance(wide, Inline) and slots_take_all(wide.parts, narrow.parts)
            return by_slots or _takes_known(wide, extent_of(narrow.parts))
        if isinstance(wide, Inline):
            further = narrow.token.optional or narrow.token.nullable
            return not further and _takes_known(wide, narrow.kind.extent)
        if not marks_follow(wide.token, wide.kind, narrow.token):
            return False
        only_null = narrow.kind.extent.types == {_NULL}
        return (wide.token.nullable and only_null) or kind_takes_all(wide.kind, narrow.kind)
    except BaselinekitError:  # an expression that takes too long says nothing
        return False


def takes_known(wide: Placeholder | Inline, known: Extent) -> bool:
    """The same of what is no placeholder, and of which this much is known. A binding that is gone held other
    places to the same value: no literal asks for that."""
    try:
        return _takes_known(wide, known)
    except BaselinekitError:
        return False


def _takes_known(wide: Placeholder | Inline, known: Extent) -> bool:
    if any(token.key for token in (wide.tokens if isinstance(wide, Inline) else [wide.token])):
        return False
    if known.values is not None and len(known.values) <= _MOST_VALUES:
        return all(wide.accepts(value, {}) for value in _spellings(known.values))
    return _around_one(wide.parts, known) if isinstance(wide, Inline) else follows(wide.kind.extent, known)


def marks_follow(wide: Token, kind: Kind, narrow: Token) -> bool:
    """Whether what may be absent, may be null or is bound is so on both sides."""
    if (wide.key is not None and wide.key != narrow.key) or (narrow.optional and not wide.optional):
        return False
    return wide.nullable or not narrow.nullable or kind.accepts(None)


def kind_takes_all(wide: Kind, narrow: Kind) -> bool:
    """Whether every value of one kind is one of the other."""
    values = narrow.extent.values
    if values is not None and len(values) <= _MOST_VALUES:
        return all(wide.accepts(value) for value in _spellings(values))
    return follows(wide.extent, narrow.extent)


def follows(asked: Extent, known: Extent) -> bool:
    """Whether all that the first asks for follows from what is known of the second."""
    if asked == Extent():
        return True
    if asked.names is None or known.names is None or asked.values is not None:
        return False
    texts = (known.begins, known.ends, *known.holds)
    same_form = asked.whole is None or asked.whole == known.whole
    return (
        known.types <= asked.types
        and asked.names <= known.names
        and is_within(known.lengths, asked.lengths)
        and ("number" not in known.types or (same_form and is_within(known.numbers, asked.numbers)))
        and (asked.within is None or (known.within is not None and known.within <= asked.within))
        and known.begins.startswith(asked.begins)
        and known.ends.endswith(asked.ends)
        and all(any(part in text for text in texts) for part in asked.holds)
        and (
            asked.element is None
            or known.lengths[1] == 0
            or (known.element is not None and kind_takes_all(asked.element, known.element))
        )
    )


def is_within(inner: tuple[Json, Json], outer: tuple[Json, Json]) -> bool:
    """Whether one range lies in another; None is no bound."""
    (least, most), (low, high) = inner, outer
    above = low is None or (least is not None and low <= least)
    return above and (high is None or (most is not None and most <= high))


def _spellings(values: Sequence[Json]) -> Iterator[Json]:
    """The values in each way that they may be written: 5 is also 5.0, which is no integer."""
    for value in values:
        yield value
        if is_number(value) and decimal(value) == decimal(value).to_integral_value():
            yield int(value)
            yield Decimal(value) if isinstance(value, int) else value


# Inside a text.


def extent_of(parts: Sequence[Part]) -> Extent:
    """What is known of the texts that parts one after the other accept."""
    literals = tuple(part for part in parts if isinstance(part, str))
    least = most = sum(map(len, literals))
    endless = False
    for slot in (part for part in parts if isinstance(part, Slot)):
        low, high = lengths_of(slot.kind)
        if slot.token.nullable:
            low, high = min(low, len(_NULL)), None if high is None else max(high, len(_NULL))
        least, most = least + (0 if slot.token.optional else low), most + (high or 0)
        endless = endless or high is None
    first, last = parts[0], parts[-1]
    return replace(
        of_types("string"),
        lengths=(least, None if endless else most),
        begins=first if isinstance(first, str) else "",
        ends=last if isinstance(last, str) else "",
        holds=literals,
    )


def lengths_of(kind: Kind) -> Lengths:
    """How long the part of a text may be that a kind accepts."""
    if kind.any_text is not None:
        return kind.any_text
    values = kind.extent.values
    if values is not None and all(isinstance(value, str | bool | None) for value in values):
        sizes = [len(as_text(value)) for value in values]
        return min(sizes), max(sizes)
    if kind.extent.types == _TEXT:
        return kind.extent.lengths
    return int(kind.extent.types == _NUMBER), None


def slots_take_all(wide: Sequence[Part], narrow: Sequence[Part]) -> bool:
    """Whether the same text stands between placeholders of which each takes all that the other takes."""
    return len(wide) == len(narrow) and all(
        slot_takes_all(left, right) if isinstance(left, Slot) and isinstance(right, Slot) else left == right
        for left, right in zip(wide, narrow, strict=True)
    )


def slot_takes_all(wide: Slot, narrow: Slot) -> bool:
    kind, known = wide.kind, narrow.kind.extent
    if not marks_follow(wide.token, kind, narrow.token):
        return False
    if wide.token.key is not None and kind.extent.types != known.types:
        return False  # 5 as a number and as a part of a text are bound as different values
    if kind.any_text is not None:
        return is_within(lengths_of(narrow.kind), kind.any_text)
    if known.values is not None and not kind.timed:
        texts = [as_text(value) for value in known.values]
        inline = re.compile(kind.inline or "")
        return len(texts) <= _MOST_VALUES and all(
            inline.fullmatch(text) is not None and kind.accepts(kind.read(text)) for text in texts
        )
    same_numbers = known.types == _NUMBER and kind.inline == narrow.kind.inline
    same_types = kind.extent.types == known.types and (known.types == _TEXT or same_numbers)
    return same_types and kind_takes_all(kind, narrow.kind)


def _around_one(parts: Sequence[Part], known: Extent) -> bool:
    """Whether parts that are a beginning, any text of some length and an end take every such text."""
    slots = [part for part in parts if isinstance(part, Slot)]
    if len(slots) != 1 or slots[0].kind.any_text is None or known.types != _TEXT or known.names is None:
        return False
    at = parts.index(slots[0])
    begins, ends = "".join(map(str, parts[:at])), "".join(map(str, parts[at + 1 :]))  # a literal each, or ""
    low, high = slots[0].kind.any_text
    around = len(begins) + len(ends)
    lengths = (low + around, None if high is None else high + around)
    return known.begins.startswith(begins) and known.ends.endswith(ends) and is_within(known.lengths, lengths)


# Values that were seen -> the narrowest placeholders that accept every one of them.


# What is proposed to stand for values: the placeholder that all have, or a text with placeholders in it.


@frozen
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
    if least != most and ranges and stays_above_zero(numbers, all(map(whole, values))):
        name, rule = ranges[0]
        seen = f"{rule.describe(values)} from {_shown(least)} to {_shown(most)}"
        yield PlaceholderProposal(f"<<{name}(0)>>", f"{seen}, and no negative ones")
    yield from wider


_TIMES_THE_SPREAD = 10


_ENOUGH = 3
"""Two deviations are close to each other, and of one sign, once in thirty."""


def stays_above_zero(numbers: Sequence[Decimal], integers: bool) -> bool:
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
_BARE = lazy_pattern(r"[A-Za-z][A-Za-z0-9_.-]*")
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
            by_their_parts(values, write, words)
        )
        if not proposals:
            yield from _few(values)
        yield from proposals
        yield from learnt_as(values, "string", "type", words)
    else:
        yield from learnt_as(values, type, "sure", words)
        yield from learnt_as(values, type, "type", words)


def by_their_parts(texts: Sequence[str], write: Write, words: Words) -> Iterator[PlaceholderProposal]:
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
