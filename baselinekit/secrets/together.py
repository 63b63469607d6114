"""All texts of a value looked through together for secrets: what holds none costs next to nothing a text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

from baselinekit.secrets.declared import Declared, Found, merged
from baselinekit.secrets.finding import SHORTEST_RUN, shapeless, shapes_in, spans
from baselinekit.secrets.names import is_secret_header, is_secret_key
from baselinekit.secrets.scan import TextScan

_BETWEEN, _HOLDERS = "\n", (dict, list, tuple)
_SCALARS = frozenset((str, int, float, bool, type(None)))
_LONG = 10_000  # a text of this length is worth a look of its own


def texts_in(value: Any) -> tuple[list[str], set[str]]:
    """All texts of a value, its keys among them, and the keys alone."""
    texts: list[str] = []
    keys: set[str] = set()

    def gather(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            value = value.values()
        for item in value:
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, _HOLDERS):
                gather(item)

    gather(value)
    texts += keys
    return texts, keys


def keys_in(value: Any) -> set[str]:
    """All keys of a value."""
    keys: set[str] = set()

    def gather(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            value = value.values()
        for item in value:
            if item.__class__ not in _SCALARS and isinstance(item, _HOLDERS):
                gather(item)

    gather(value)
    return keys


def numbers_in(value: Any) -> Iterator[str]:
    """All numbers of a value."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield str(value)


def says_secrets(keys: Iterable[str | int]) -> bool:
    """Whether any of some keys is called like a secret."""
    return any(isinstance(key, str) and (is_secret_key(key) or is_secret_header(key)) for key in keys)


def suspects(texts: Iterable[str]) -> set[str]:
    """The texts in which something looks like a secret, wherever they stand. All of them are looked through
    together, each once, and only a few more closely."""
    texts = set(texts)
    found = {text for text in texts if len(text) > _LONG and next(spans(text), None)}
    short = [text for text in texts if len(text) <= _LONG]
    look, ends = TextScan(_BETWEEN.join(short)), _ends(short)
    near = _numbers(sorted(shapes_in(look)), ends)
    if b"-----BEGIN " in look.data:  # what it begins would hide what stands in the texts behind it
        near |= _numbers(((start, start + 1) for start, _ in look.runs(SHORTEST_RUN)), ends)
        near |= _numbers(look.escaped_urls(), ends)
    else:
        near |= _numbers(sorted(shapeless(look)), ends)
    return found | {text for text in {short[number] for number in near} if next(spans(text), None)}


def holding(texts: Sequence[str], declared: Declared) -> dict[str, list[Found]]:
    """Which texts hold a declared secret, or a part of one that lies across several, and where in them."""
    ends = _ends(texts)
    places: dict[str, list[Found]] = {}
    for start, end, name in declared.find(_BETWEEN.join(texts)):
        for number in sorted(_numbers([(start, end)], ends)):
            first = ends[number] - 1 - len(texts[number])
            place = max(0, start - first), min(len(texts[number]), end - first), name
            if place[0] < place[1]:
                places.setdefault(texts[number], []).append(place)
    return {text: merged(found) for text, found in places.items()}


def _ends(texts: Sequence[str]) -> list[int]:
    return list(accumulate(map((1).__add__, map(len, texts))))


def _numbers(found: Iterable[tuple[Any, ...]], ends: list[int]) -> set[int]:
    """Which texts some places are in. One that lies across several (a blank in it is the end of a line) is
    in all of them."""
    numbers: set[int] = set()
    number = 0
    for start, end, *_ in found:
        if start >= ends[number]:
            number = bisect_right(ends, start, number)
        numbers.add(number)
        if end > ends[number]:
            numbers.update(range(number, bisect_right(ends, end - 1) + 1))
    return numbers
