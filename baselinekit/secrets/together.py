"""Searches all texts of a value together for secrets, which costs almost nothing for texts without any."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any

from baselinekit.secrets.declared import Declared, Found, merge_spans
from baselinekit.secrets.finding import SHORTEST_RUN, find_random_or_encoded, shapes_in, spans
from baselinekit.secrets.names import is_secret_header, is_secret_key
from baselinekit.secrets.scan import TextScan

_SEPARATOR, _CONTAINERS = "\n", (dict, list, tuple)
_SCALARS = frozenset((str, int, float, bool, type(None)))
_LONG_TEXT = 10_000  # longer texts are searched separately


def texts_in(value: Any) -> tuple[list[str], set[str]]:
    """Return all texts of a value, including its keys, and the keys alone."""
    texts: list[str] = []
    keys: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            value = value.values()
        for item in value:
            if isinstance(item, str):
                texts.append(item)
            elif isinstance(item, _CONTAINERS):
                collect(item)

    collect(value)
    texts += keys
    return texts, keys


def keys_in(value: Any) -> set[str]:
    """Return all keys of a value."""
    keys: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            keys.update(value)
            value = value.values()
        for item in value:
            if item.__class__ not in _SCALARS and isinstance(item, _CONTAINERS):
                collect(item)

    collect(value)
    return keys


def numbers_in(value: Any) -> Iterator[str]:
    """Yield all numbers of a value."""
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(item)
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield str(value)


def says_secrets(keys: Iterable[str | int]) -> bool:
    """Whether any of the keys is named like a secret."""
    return any(isinstance(key, str) and (is_secret_key(key) or is_secret_header(key)) for key in keys)


def suspicious_texts(texts: Iterable[str]) -> set[str]:
    """Return the texts in which something looks like a secret, regardless of their paths. All of them are
    searched together, each once, and only candidates are searched again by themselves."""
    texts = set(texts)
    suspicious = {text for text in texts if len(text) > _LONG_TEXT and next(spans(text), None)}
    short = [text for text in texts if len(text) <= _LONG_TEXT]
    scan, text_ends = TextScan(_SEPARATOR.join(short)), _text_ends(short)
    candidates = _text_numbers(sorted(shapes_in(scan)), text_ends)
    if b"-----BEGIN " in scan.data:  # a key that starts there would hide what is in the following texts
        candidates |= _text_numbers(((start, start + 1) for start, _ in scan.runs(SHORTEST_RUN)), text_ends)
        candidates |= _text_numbers(scan.escaped_urls(), text_ends)
    else:
        candidates |= _text_numbers(sorted(find_random_or_encoded(scan)), text_ends)
    return suspicious | {text for text in {short[number] for number in candidates} if next(spans(text), None)}


def find_declared(texts: Sequence[str], declared: Declared) -> dict[str, list[Found]]:
    """Return the texts that contain a declared secret, or a part of one that extends over several texts, with
    the places in them."""
    text_ends = _text_ends(texts)
    places: dict[str, list[Found]] = {}
    for start, end, name in declared.find(_SEPARATOR.join(texts)):
        for number in sorted(_text_numbers([(start, end)], text_ends)):
            text_start = text_ends[number] - 1 - len(texts[number])
            place = max(0, start - text_start), min(len(texts[number]), end - text_start), name
            if place[0] < place[1]:
                places.setdefault(texts[number], []).append(place)
    return {text: merge_spans(text_places) for text, text_places in places.items()}


def _text_ends(texts: Sequence[str]) -> list[int]:
    return list(accumulate(map((1).__add__, map(len, texts))))


def _text_numbers(places: Iterable[tuple[Any, ...]], text_ends: list[int]) -> set[int]:
    """Return the numbers of the texts that the places are in. A place that extends over several texts (its
    blanks may be line ends) is in all of them."""
    numbers: set[int] = set()
    number = 0
    for start, end, *_ in places:
        if start >= text_ends[number]:
            number = bisect_right(text_ends, start, number)
        numbers.add(number)
        if end > text_ends[number]:
            numbers.update(range(number, bisect_right(text_ends, end - 1) + 1))
    return numbers
