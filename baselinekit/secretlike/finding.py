"""What a text would give away, and the text without it. Also where it is encoded: base64, URL."""

import re
from binascii import a2b_base64
from collections.abc import Container, Iterator
from urllib.parse import unquote

from baselinekit.secretlike.look import Look
from baselinekit.secretlike.names import is_secret_header, is_secret_key, may_be_random
from baselinekit.secretlike.randomness import random_in
from baselinekit.secretlike.shapes import shapes_in

Span = tuple[int, int, str]

BY_NAME = "what its name says is a secret"
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
    look = Look(text)
    yield from shapes_in(look)
    yield from shapeless(look, path, depth)


def shapeless(look: Look, path: tuple[str | int, ...] = (), depth: int = 0) -> Iterator[Span]:
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
    look = Look(text)
    return (text[start : look.padded(stop)] for start, stop in look.runs(SHORTEST_RUN))


def _encoded(look: Look, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
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
