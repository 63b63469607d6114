"""Python values as JSON: every form that is known, one of a user's own, and errors that say how to add it."""

import dataclasses
import datetime
import enum
import sqlite3
import uuid
from collections import UserString, namedtuple
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

import pytest

from baselinekit import compare, serializer
from baselinekit.library.values import NoJsonError, as_json

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Row:
    id: int
    tags: set[str]


class Money:
    def __init__(self, amount: str) -> None:
        self.amount = amount


class Euro(Money):
    pass


@serializer(Money)
def money(value: Money) -> object:
    return {"amount": value.amount, "kind": type(value)}


@serializer(type)
def kind(value: type) -> object:
    return value.__name__


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("1.10"), Decimal("1.10")),
        (Colour.RED, "red"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.datetime(2024, 1, 15, 10, 30, tzinfo=datetime.UTC), "2024-01-15T10:30:00+00:00"),
        (datetime.timedelta(minutes=1), 60.0),
        (PurePosixPath("a/b"), "a/b"),
        (UserString("text"), "text"),
        (sqlite3.Row(sqlite3.connect(":memory:").execute("select 1 a"), (1,)), {"a": 1}),
        (b"text", "text"),
        (b"\xff\x00", {"base64": "/wA="}),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), {"x": 1, "y": 2}),
        ({1: "a", None: "b", Colour.RED: "c"}, {"1": "a", "null": "b", "red": "c"}),
        (Row(1, {"b", "a"}), {"id": 1, "tags": ["a", "b"]}),
        (Euro("1.50"), {"amount": "1.50", "kind": "Euro"}),
    ],
    ids=lambda value: type(value).__name__,  # a set has no order of its own, an object an address
)
def test_as_json_gives_one_form(value: object, expected: object) -> None:
    assert as_json(value) == expected
    assert compare(expected, value).passed


def test_as_json_of_an_unknown_type_proposes_a_serializer() -> None:
    class Unknown:
        pass

    with pytest.raises(NoJsonError) as caught:
        as_json({"a": [1, Unknown()]})
    assert str(caught.value).startswith("a[1] is a ")
    assert "@baselinekit.serializer(" in str(caught.value)
    assert " at 0x" not in str(caught.value)


def ring() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (ring(), r"^\[0\]\[0\].* has more than 64 levels, or holds itself"),
        ({"a": float("nan")}, "a is nan"),
        ([float("inf")], r"\[0\] is inf"),
        ({(1, 2): 3}, "has a key that is not a text: tuple"),
    ],
    ids=["ring", "nan", "infinity", "key"],
)
def test_as_json_refuses_values_that_json_does_not_have(value: object, what: str) -> None:
    with pytest.raises(NoJsonError, match=what):
        as_json(value)


def test_as_json_copies_json() -> None:
    """What a test changes afterwards is not what was compared."""
    value = {"rows": [{"id": 1, "name": "Ada", "share": 0.5, "tags": [], "last": None}], "done": True}
    expected = as_json(value)
    assert expected == value
    value["rows"][0]["tags"].append("late")
    assert expected["rows"][0]["tags"] == []
