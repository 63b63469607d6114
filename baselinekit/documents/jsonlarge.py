"""Large JSON texts at two thirds of the price: read without a call for each pair and each whole number. What
the reader then lets pass (a repeated key, endless nesting or digits) is looked for in the signs that stand
outside of texts; where there is any, or it is not sure, the text is read the slow way, which says what is
wrong."""

from collections.abc import Callable
from json import JSONDecoder
from typing import Any

from baselinekit.model.values import Json

_MOST_ESCAPES = 20
"""One in so many characters: where there are more, to leave them out takes longer than is won."""

_SIGNS = bytes({*range(256)} - {*b'[{]}:"'})
"""All but what stands around values, in front of them, and around texts."""
_ROUND = bytes.maketrans(b"[{]}", b"(())")
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_STRIDE = 32


class NotSure(ValueError):
    """There may be something wrong with a text."""


def decode_large(
    text: str,
    deepest: int,
    most_digits: int,
    fraction: Callable[[str], Any],
    constant: Callable[[str], Any],
) -> Json:
    """The value of a JSON text in which every key occurs once, no value is nested deeper and no whole number
    is longer. ValueError, RecursionError: nobody knows whether it is one."""
    if text.count("\\") > len(text) // _MOST_ESCAPES:
        raise NotSure
    sizes: list[int] = []

    def counted(box: dict[str, Any]) -> dict[str, Any]:
        sizes.append(len(box))
        return box

    value: Json = JSONDecoder(object_hook=counted, parse_float=fraction, parse_constant=constant).decode(text)
    data = text.encode("utf-8", "surrogatepass")
    signs = _outside_of_texts(data)
    if signs.count(b":") != sum(sizes):  # of a repeated key only the last value is left
        raise NotSure
    if _is_deep(signs, deepest) or _has_more_digits(data, most_digits):
        raise NotSure
    return value


def _outside_of_texts(data: bytes) -> bytes:
    """The brackets and colons of a JSON text. An end of a text and the beginning of the next one go together:
    what is left stands inside or outside as before."""
    if b"\\" in data:
        data = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    signs = data.translate(None, _SIGNS).replace(b'""', b"")
    return b"".join(signs.split(b'"')[::2]) if b'"' in signs else signs


def _is_deep(signs: bytes, deepest: int) -> bool:
    """Whether brackets that belong together are nested deeper. Each look takes the innermost away."""
    brackets = signs.translate(_ROUND, b":")
    for _ in range(deepest):
        if not brackets:
            return False
        brackets = brackets.replace(b"()", b"")
    return bool(brackets)


def _has_more_digits(data: bytes, most: int) -> bool:
    """Whether more digits stand beside each other, in a text or not. Most often a look at few of all
    characters tells that they do not."""
    if b"0" * (most // _STRIDE) not in data[::_STRIDE].translate(_DIGITS):
        return False
    return b"0" * (most + 1) in data.translate(_DIGITS)
