"""Of two templates, whether the first takes all that the second takes.

Each placeholder says what is known of the values that it accepts (`Extent`): the first takes them all if
thing that it asks for follows from what the second asks for. Few values are tried one by one. Where nothing
is known the answer is no: a user is rather told one difference too many than one too few."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import Extent, Kind, Token, of_types
from baselinekit.placeholders.template import Inline, Part, Placeholder, Slot
from baselinekit.tree.equality import decimal, is_number
from baselinekit.variables import as_text

_NULL = "null"
_MOST_VALUES = 1_000
_TEXT = frozenset(("string",))
_NUMBER = frozenset(("number",))
Lengths = tuple[int, int | None]


def takes_all(wide: Placeholder | Inline, narrow: Placeholder | Inline) -> bool:
    """Whether every value that `narrow` accepts, bindings and absence included, is accepted by `wide`."""
    try:
        if isinstance(narrow, Inline):
            by_slots = isinstance(wide, Inline) and _slots_take_all(wide.parts, narrow.parts)
            return by_slots or _takes_known(wide, _extent_of(narrow.parts))
        if isinstance(wide, Inline):
            further = narrow.token.optional or narrow.token.nullable
            return not further and _takes_known(wide, narrow.kind.extent)
        if not _marks_follow(wide.token, wide.kind, narrow.token):
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


def _marks_follow(wide: Token, kind: Kind, narrow: Token) -> bool:
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
        and _is_within(known.lengths, asked.lengths)
        and ("number" not in known.types or (same_form and _is_within(known.numbers, asked.numbers)))
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


def _is_within(inner: tuple[Json, Json], outer: tuple[Json, Json]) -> bool:
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


def _extent_of(parts: Sequence[Part]) -> Extent:
    """What is known of the texts that parts one after the other accept."""
    literals = tuple(part for part in parts if isinstance(part, str))
    least = most = sum(map(len, literals))
    endless = False
    for slot in (part for part in parts if isinstance(part, Slot)):
        low, high = _lengths_of(slot.kind)
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


def _lengths_of(kind: Kind) -> Lengths:
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


def _slots_take_all(wide: Sequence[Part], narrow: Sequence[Part]) -> bool:
    """Whether the same text stands between placeholders of which each takes all that the other takes."""
    return len(wide) == len(narrow) and all(
        _slot_takes_all(left, right) if isinstance(left, Slot) and isinstance(right, Slot) else left == right
        for left, right in zip(wide, narrow, strict=True)
    )


def _slot_takes_all(wide: Slot, narrow: Slot) -> bool:
    kind, known = wide.kind, narrow.kind.extent
    if not _marks_follow(wide.token, kind, narrow.token):
        return False
    if wide.token.key is not None and kind.extent.types != known.types:
        return False  # 5 as a number and as a part of a text are bound as different values
    if kind.any_text is not None:
        return _is_within(_lengths_of(narrow.kind), kind.any_text)
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
    return (
        known.begins.startswith(begins) and known.ends.endswith(ends) and _is_within(known.lengths, lengths)
    )
