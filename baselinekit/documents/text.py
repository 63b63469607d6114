"""The text of a file: decoded and encoded without losing a byte, its places and its line ends."""

import re
from typing import NamedTuple

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.model.values import Json

BOM = "\ufeff"

_LINE_END = re.compile(r"\r\n?|\n|\Z")
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


class Text(NamedTuple):
    """A file's text without its byte order mark, so that every mark in it is an index into `body`."""

    body: str
    bom: bool


def decode(data: bytes, file: str) -> Text:
    """The text of a UTF-8 file, its line ends as they are."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        what = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise InvalidInput(
            Problem("BK101", what, "save the file as UTF-8", place(file, before, len(before)))
        ) from None
    return Text(text[1:], True) if text.startswith(BOM) else Text(text, False)


def encode(body: str, bom: bool) -> bytes:
    return (BOM + body if bom else body).encode("utf-8")


def place(file: str, body: str, index: int) -> Place:
    """Line and column of an index, as an editor counts them."""
    start = body.rfind("\n", 0, index) + 1
    return Place(file, body.count("\n", 0, index) + 1, index - start + 1)


def newline(body: str) -> str:
    """The line end that the file uses."""
    if "\r\n" in body:
        return "\r\n"
    return "\r" if "\r" in body and "\n" not in body else "\n"


def line_start(body: str, index: int) -> int:
    start = body.rfind("\n", 0, index) + 1
    return max(start, body.rfind("\r", start, index) + 1)


def line_end(body: str, index: int) -> tuple[int, int]:
    """Where the line ends that a place is on, and where the next one begins."""
    match = _LINE_END.search(body, index)
    return match.span() if match else (len(body), len(body))


def characters(value: Json) -> int:
    """How much text there is in a value, keys included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + characters(item) for key, item in value.items())
    return sum(map(characters, value)) if isinstance(value, list) else 0


def refuse_conflict(body: str, file: str) -> None:
    """A file in which git left both sides is no file yet, even where it happens to parse."""
    match = _CONFLICT.search(body) if "<<<<<<< " in body else None
    if match:
        what = "an unresolved git conflict"
        hint = "keep one of the two sides, and remove the markers"
        raise InvalidInput(Problem("BK101", what, hint, place(file, body, match.start())))


def repeated_key(key: str, file: str, body: str, index: int, first: int | None) -> Problem:
    """A key that a mapping has twice, with both places: what a merge leaves, or hides."""
    what = f"the key {key!r} occurs twice"
    before = f"it is on line {place(file, body, first).line} already; " if first is not None else ""
    return Problem("BK102", what, before + "remove one of the two", place(file, body, index))
