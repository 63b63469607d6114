"""What in a text or a value looks like a secret that nobody declared, and the text without it."""

import re
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

from baselinekit.secrets.declared import Declared, Found, merged
from baselinekit.secrets.randomness import TextScan, random_in
from baselinekit.secrets.shapes import is_secret_header, is_secret_key, may_be_random, shapes_in

# What a text would give away, and the text without it. Also where it is encoded: base64, URL.


Span = tuple[int, int, str]

BY_NAME = "a value whose name says that it is a secret"
_RANDOM = "a random token"
_SHORTEST_VALUE = 8
SHORTEST_RUN = 16
_LINE_ENDS = ("\\n", "\\r", "\\t")
_NO_TEXT = re.compile(rb"^[\x80-\xc1\xf5-\xff]|[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What no text begins with, and what is in none."""
_DEEPEST = 2
_MOST_DECODED = 8_192


def says_secret(path: tuple[str | int, ...]) -> bool:
    """Whether the key, or the header, at the end of a path is called like a secret."""
    name = path[-1] if path else None
    return isinstance(name, str) and (
        is_secret_key(name) or (path[-2:-1] == ("headers",) and is_secret_header(name))
    )


def likeness(text: str, path: tuple[str | int, ...] = ()) -> str | None:
    """What a text that stands at a path looks like, if it looks like a secret."""
    found = next(spans(text, path), None)
    if found is not None:
        return f"what looks like {found[2]}"
    return BY_NAME if len(text) >= _SHORTEST_VALUE and says_secret(path) else None


def spans(text: str, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
    """Where in a text something looks like a secret, and what it looks like. They may overlap."""
    if len(text) < _SHORTEST_VALUE:
        return
    look = TextScan(text)
    yield from shapes_in(look)
    yield from shapeless(look, path, depth)


def shapeless(look: TextScan, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
    """What is random, or encoded."""
    text = look.text
    if not any(may_be_random(name) for name in _names(path)):
        yield from ((start, end, _RANDOM) for start, end in random_in(look) if not is_text(text[start:end]))
    if depth < _DEEPEST:
        yield from _encoded(look, path, depth)


def covered(
    text: str, path: tuple[str | int, ...] = (), mask: str = "***", plain: Container[str] = ()
) -> str:
    """The text with a mask over each such place; `plain`: runs that may be random and are no secret."""
    result, position = "", 0
    for start, end, what in sorted(spans(text, path)):
        if what == _RANDOM and text[start:end] in plain:
            continue
        if start >= position:
            result += f"{text[position:start]}{mask} ({what})"
        position = max(position, end)
    return result + text[position:] if position else text


def long_runs(text: str) -> Iterator[str]:
    """What in a text could be taken for random elsewhere, where nothing says what it is."""
    look = TextScan(text)
    return (text[start : look.padded(stop)] for start, stop in look.runs(SHORTEST_RUN))


def _encoded(look: TextScan, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    text = look.text
    for start, stop in look.runs(SHORTEST_RUN):
        if text[start - 1 : start + 1] in _LINE_ENDS and stop - start > SHORTEST_RUN:
            start += 1  # what is left of a line end that is written as an escape
        end = look.padded(stop)
        inner = decoded(text[start:end])
        if inner is not None and (found := next(spans(inner, path, depth + 1), None)):
            yield start, end, f"{found[2]} in base64"
    for start, end in look.escaped_urls():
        inner = unquote(text[start:end])
        if inner != text[start:end] and (found := next(spans(inner, path, depth + 1), None)):
            yield start, end, found[2]


def decoded(run: str) -> str | None:
    """The text that a run encodes in base64, if it encodes one."""
    run = run[:_MOST_DECODED].rstrip("=").replace("-", "+").replace("_", "/")
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        if _NO_TEXT.search(a2b_base64(run[:8])):
            return None
        text = a2b_base64(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None


def is_text(run: str) -> bool:
    """A run that encodes a text (a cursor, an id with its type) is as secret as that text is."""
    return decoded(run) is not None


def _names(path: tuple[str | int, ...]) -> list[str]:
    """The nearest keys: what stands in a list is called as the list is, and `{from, to}` as what changed."""
    return [key for key in path if isinstance(key, str)][-2:]


# A whole value, looked at once: which of its many texts hold something that looks like a secret.


_BETWEEN = "\n"
_LONG = 10_000
"""A text of this length is worth a look of its own."""


def texts_in(value: Any) -> tuple[list[str], set[str]]:
    """All texts of a value, its keys among them, and the keys alone."""
    texts: list[str] = []
    keys: set[str] = set()
    _gather(value, texts, keys)
    texts += keys
    return texts, keys


def _gather(value: Any, texts: list[str], keys: set[str]) -> None:
    if isinstance(value, dict):
        keys.update(value)
        value = value.values()
    for item in value:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict | list | tuple):
            _gather(item, texts, keys)


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


def suspects(texts: Sequence[str]) -> set[str]:
    """The texts in which something looks like a secret, wherever they stand. All of them are looked through
    together, and only a few more closely."""
    found = {text for text in texts if len(text) > _LONG and next(spans(text), None)}
    short = [text for text in texts if len(text) <= _LONG]
    return found | _suspects(short, TextScan(_BETWEEN.join(short)))


def _suspects(texts: list[str], look: TextScan) -> set[str]:
    ends = _ends(texts)
    near = _numbers(sorted(shapes_in(look)), ends)
    if b"-----BEGIN " in look.data:  # what it begins would hide what stands in the texts behind it
        near |= _numbers(((start, start + 1) for start, _ in look.runs(SHORTEST_RUN)), ends)
        near |= _numbers(look.escaped_urls(), ends)
    else:
        near |= _numbers(sorted(shapeless(look)), ends)
    return {text for text in _those(near, texts) if next(spans(text), None)}


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


def _those(numbers: set[int], texts: Sequence[str]) -> set[str]:
    return {texts[number] for number in numbers}


def _ends(texts: Sequence[str]) -> list[int]:
    return list(accumulate(len(text) + 1 for text in texts))


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
