"""Of two templates, whether the first takes all that the second takes.

Each placeholder says what is known of the values that it accepts (kinds.Extent): the first takes them all if
each thing that it asks for follows from what the second asks for. Few values are tried one by one. Where
nothing is known the answer is no: whoever asks tells a person rather one thing too many than too few."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from baselinekit.errors import BaselinekitError
from baselinekit.model.values import Json
from baselinekit.placeholders.accepts import Extent, Kind, of_types
from baselinekit.placeholders.grammar import Token
from baselinekit.placeholders.template import Inline, Part, Placeholder, Slot
from baselinekit.tree.equality import decimal, is_number
from baselinekit.variables import as_text

_NULL = "null"
_MOST_VALUES = 1_000
_TEXT = frozenset(("string",))
_NUMBER = frozenset(("number",))
_NULL_TYPE = frozenset(("null",))
Lengths = tuple[int, int | None]


def takes_all(wide: Placeholder | Inline, narrow: Placeholder | Inline) -> bool:
    """Whether every value that `narrow` accepts, bindings and absence included, is accepted by `wide`."""
    try:
        if isinstance(wide, Inline) and isinstance(narrow, Inline) and _by_slots(wide.parts, narrow.parts):
            return True
        if isinstance(narrow, Inline):
            return _takes_known(wide, _of_text(narrow.parts))
        if isinstance(wide, Inline):
            further = narrow.token.optional or narrow.token.nullable
            return not further and _takes_known(wide, narrow.kind.extent)
        if not _flags(wide.token, wide.kind, narrow.token):
            return False
        null = wide.token.nullable and narrow.kind.extent.types == _NULL_TYPE
        return null or kind_takes_all(wide.kind, narrow.kind)
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
        return all(wide.accepts(value, {}) for value in _written(known.values))
    if isinstance(wide, Inline):
        return _around_one(wide.parts, known)
    return follows(wide.kind.extent, known)


def _flags(wide: Token, kind: Kind, narrow: Token) -> bool:
    """Whether what may be absent, may be null or is bound is so on both sides."""
    if wide.key is not None and wide.key != narrow.key:
        return False
    if narrow.optional and not wide.optional:
        return False
    return wide.nullable or not narrow.nullable or kind.accepts(None)


def kind_takes_all(wide: Kind, narrow: Kind) -> bool:
    """Whether every value of one kind is one of the other."""
    values = narrow.extent.values
    if values is not None and len(values) <= _MOST_VALUES:
        return all(wide.accepts(value) for value in _written(values))
    return follows(wide.extent, narrow.extent)


def follows(asked: Extent, known: Extent) -> bool:
    """Whether all that the first asks for follows from what is known of the second."""
    if asked == Extent():
        return True
    if asked.names is None or known.names is None or asked.values is not None:
        return False
    return (
        known.types <= asked.types
        and asked.names <= known.names
        and _within(asked.lengths, known.lengths)
        and (known.types.isdisjoint(_NUMBER) or _numbers(asked, known))
        and (asked.within is None or (known.within is not None and known.within <= asked.within))
        and known.begins.startswith(asked.begins)
        and known.ends.endswith(asked.ends)
        and all(any(part in held for held in _held(known)) for part in asked.holds)
        and (asked.element is None or _elements(asked.element, known))
    )


def _held(known: Extent) -> tuple[str, ...]:
    """Texts that are a part of whatever is accepted."""
    return (known.begins, known.ends, *known.holds)


def _within(asked: Lengths, known: Lengths) -> bool:
    if known[0] < asked[0]:
        return False
    return asked[1] is None or (known[1] is not None and known[1] <= asked[1])


def _numbers(asked: Extent, known: Extent) -> bool:
    (low, high), (least, most) = asked.numbers, known.numbers
    if asked.whole is not None and asked.whole != known.whole:
        return False
    if low is not None and (least is None or least < low):
        return False
    return high is None or (most is not None and most <= high)


def _elements(element: Kind, known: Extent) -> bool:
    if known.lengths[1] == 0:
        return True
    return known.element is not None and kind_takes_all(element, known.element)


def _written(values: Sequence[Json]) -> Iterator[Json]:
    """The values in each way that they may be written: 5 is also 5.0, which is no integer."""
    for value in values:
        yield value
        if is_number(value) and decimal(value) == decimal(value).to_integral_value():
            yield int(value)
            yield Decimal(value) if isinstance(value, int) else value


# inside a text


def _of_text(parts: Sequence[Part]) -> Extent:
    """What is known of the texts that parts one after the other accept."""
    literals = [part for part in parts if isinstance(part, str)]
    least, most = sum(map(len, literals)), sum(map(len, literals))
    endless = False
    for part in parts:
        if isinstance(part, Slot):
            low, high = _lengths(part)
            least += low
            most += high or 0
            endless = endless or high is None
    first, last = parts[0], parts[-1]
    return replace(
        of_types("string"),
        lengths=(least, None if endless else most),
        begins=first if isinstance(first, str) else "",
        ends=last if isinstance(last, str) else "",
        holds=tuple(literals),
    )


def _lengths(slot: Slot) -> Lengths:
    """How long the part of a text may be that a placeholder stands for."""
    low, high = _lengths_of(slot.kind)
    if slot.token.nullable:
        low, high = min(low, len(_NULL)), None if high is None else max(high, len(_NULL))
    return 0 if slot.token.optional else low, high


def _lengths_of(kind: Kind) -> Lengths:
    if kind.any_text is not None:
        return kind.any_text
    values = kind.extent.values
    if values is not None and all(isinstance(value, str | bool | None) for value in values):
        sizes = [len(as_text(value)) for value in values]
        return min(sizes), max(sizes)
    if kind.extent.types == _TEXT:
        return kind.extent.lengths
    return int(kind.extent.types == _NUMBER), None


def _by_slots(wide: Sequence[Part], narrow: Sequence[Part]) -> bool:
    """Whether the same text stands between placeholders of which each takes all that the other takes."""
    return len(wide) == len(narrow) and all(
        _slot_takes_all(one, other) if isinstance(one, Slot) and isinstance(other, Slot) else one == other
        for one, other in zip(wide, narrow, strict=True)
    )


def _slot_takes_all(wide: Slot, narrow: Slot) -> bool:
    one, other = wide.kind, narrow.kind
    if not _flags(wide.token, one, narrow.token):
        return False
    if wide.token.key is not None and one.extent.types != other.extent.types:
        return False  # 5 as a number and as a part of a text are bound as different values
    if one.any_text is not None:
        return _within(one.any_text, _lengths_of(other))
    values = other.extent.values
    if values is not None and not one.timed:
        texts = [as_text(value) for value in values[:_MOST_VALUES]]
        return len(texts) == len(values) and all(_reads(one, text) for text in texts)
    types = one.extent.types
    if types == other.extent.types and (types == _TEXT or (types == _NUMBER and one.inline == other.inline)):
        return kind_takes_all(one, other)
    return False


def _reads(kind: Kind, text: str) -> bool:
    """Whether a placeholder inside a text takes this part of it."""
    return re.fullmatch(kind.inline or "", text) is not None and kind.accepts(kind.read(text))


def _around_one(parts: Sequence[Part], known: Extent) -> bool:
    """Whether parts that are a beginning, any text of some length and an end take every such text."""
    slots = [part for part in parts if isinstance(part, Slot)]
    if len(slots) != 1 or slots[0].kind.any_text is None or known.types != _TEXT or known.names is None:
        return False
    at = parts.index(slots[0])
    before, after = parts[:at], parts[at + 1 :]  # a literal each, or nothing
    begins, ends = "".join(map(str, before)), "".join(map(str, after))
    low, high = slots[0].kind.any_text
    around = len(begins) + len(ends)
    asked = (low + around, None if high is None else high + around)
    return known.begins.startswith(begins) and known.ends.endswith(ends) and _within(asked, known.lengths)
