"""What a text would give away, and the text without it. Also where it is encoded: base64, URL."""

import base64
import re
from collections.abc import Iterator
from urllib.parse import unquote

from baselinekit.secretlike.names import is_secret_header, is_secret_key, may_be_random
from baselinekit.secretlike.randomness import random_in
from baselinekit.secretlike.shapes import shapes_in

Span = tuple[int, int, str]

BY_NAME = "what its name says is a secret"
_RANDOM = "a random token"
_SHORTEST_VALUE = 8
_BASE64 = re.compile(r"(?:(?<=\\)[nrt])?([A-Za-z0-9+/_-]{16,}={0,2})")
"""Without what is left of a line end that is written as an escape."""
_PERCENT = re.compile(r"(?<![\w.~%+/=:@;-])[\w.~%+/=:@;-]*%[0-9A-Fa-f]{2}[\w.~%+/=:@;-]*")
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
    yield from shapes_in(text)
    if not any(may_be_random(name) for name in _names(path)):
        yield from (
            (start, end, _RANDOM) for start, end in random_in(text) if not _is_encoded(text[start:end])
        )
    if depth < _DEEPEST:
        yield from _encoded(text, path, depth)


def covered(text: str, path: tuple[str | int, ...] = (), mask: str = "***") -> str:
    """The text with a mask over each such place."""
    result, position = "", 0
    for start, end, what in sorted(spans(text, path)):
        if start >= position:
            result += f"{text[position:start]}{mask} ({what})"
        position = max(position, end)
    return result + text[position:] if position else text


def _encoded(text: str, path: tuple[str | int, ...], depth: int) -> Iterator[Span]:
    for match in _BASE64.finditer(text):
        inner = _decoded(match[1])
        if inner is not None and (found := next(spans(inner, path, depth + 1), None)):
            yield match.start(1), match.end(1), f"{found[2]} in base64"
    for match in _PERCENT.finditer(text) if "%" in text else ():
        inner = unquote(match[0])
        if inner != match[0] and (found := next(spans(inner, path, depth + 1), None)):
            yield match.start(), match.end(), found[2]


def _decoded(run: str) -> str | None:
    """The text that a run encodes in base64, if it encodes one."""
    run = run[:_MOST_DECODED].rstrip("=").replace("-", "+").replace("_", "/")
    run = run[:-1] if len(run) % 4 == 1 else run
    try:
        text = base64.b64decode(run + "=" * (-len(run) % 4)).decode()
    except ValueError:
        return None
    return text if text.replace("\n", "").replace("\r", "").replace("\t", "").isprintable() else None


def _is_encoded(run: str) -> bool:
    """A run that encodes a text (a cursor, an id with its type) is as secret as that text is."""
    return _decoded(run) is not None


def _names(path: tuple[str | int, ...]) -> list[str]:
    """The nearest keys: what stands in a list is called as the list is, and `{from, to}` as what changed."""
    return [key for key in path if isinstance(key, str)][-2:]
