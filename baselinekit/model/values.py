"""The values that travel: JSON, the mark for a value that is not there, paths into a document, and
what is to stand at one of them."""

from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

Json = Any
"""None, bool, int, float, Decimal (a number that a float cannot hold), str, list, dict with str keys."""

Path = tuple[str | int, ...]
"""Where in a document: keys and indexes, from the root."""


class Edit(NamedTuple):
    """A change to a file: set the value at `path` of the record; the key is added, and its parents, when it
    is not there. Made by whoever decides, shown to whoever approves, applied by the store."""

    path: Path
    value: Json


class Absent(Enum):
    """Not there at all, which `null` is not."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT = Absent.ABSENT


def json_type(value: Json) -> str:
    """The name that JSON gives to a value's type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return "absent" if value is ABSENT else "number"


def parse_time(text: Json) -> datetime | None:
    """An ISO 8601 time in UTC; None where it is none. Without a zone it is taken for UTC."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
