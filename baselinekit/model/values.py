"""The values that all packages exchange: JSON, a marker for missing values, paths into documents, edits."""

from datetime import UTC, datetime
from enum import Enum
from typing import Any, NamedTuple

Json = Any
"""None, bool, int, float, Decimal (a number that a float cannot hold), str, list, dict with str keys."""

Path = tuple[str | int, ...]
"""A place in a document: keys and indexes from the root."""


class Edit(NamedTuple):
    """A change to a file: set the value at `path` of the record; a missing key is added, and so are its
    parents. The store applies it after approval."""

    path: Path
    value: Json


class Absent(Enum):
    """A missing value, which differs from `null`."""

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
    """Parse an ISO 8601 time and convert it to UTC; None if it is invalid. Without a zone it counts as
    UTC."""
    try:
        time = datetime.fromisoformat(text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None
