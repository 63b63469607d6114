"""Values of many types, which tests compare with the snapshots of other tools and with baselines."""

import dataclasses
import datetime as dt
import enum
import uuid
from collections import OrderedDict, namedtuple
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Perm(enum.Flag):
    R = 4
    W = 2


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str] = dataclasses.field(default_factory=set)


class Texts(dict):
    """A mapping of one's own."""


Pair = namedtuple("Pair", "left right")
WHEN = dt.datetime(2020, 1, 1, 10, tzinfo=dt.timezone(dt.timedelta(hours=2)))
ID = uuid.UUID("6f7a7b5e-9d3c-4e5f-8a7b-1c2d3e4f5a6b")
TEXTS = ["", " lead", "both ' and \"", "\x00\x1b[31m", "日本語 😀", "null", "1.5", "a: b", "yes"]
MARKS = ["<<any_uuid>>", "\\<<any>>", "{{name}}", "# name: x"]
LINES = ["a\n", "\na", "  indented\n    more\n", "x\n# ---\ny", "a\x0cb\nc", "a\u2028b", "line\n" * 30]
NUMBERS = [0, -(10**30), 0.1, 1e22, 1.0, 2**53 + 1, True, None]
MOMENTS = [WHEN, dt.date(2024, 2, 29), dt.time(10, 5, 6, 7), dt.timedelta(days=-1, hours=3)]
OTHERS = [ID, Decimal("1.50"), PurePosixPath("/a/b c"), b"\xff\x00", Color.RED, Level.LOW, Perm.R | Perm.W]
EMPTY = [[], {}, (), set(), [()], {1, 2, 10, 3}, frozenset({"x", "y"}), {(1, 2), (0, 1)}]
KEYS = [{1: "a", 2: "b"}, {True: 1, None: 2}, {"it's": 1, "a: b": 3, "": 4}, {"line\nbreak": "a\nb"}]
KINDS = [OrderedDict(z=1, a=2), MappingProxyType({"a": 1}), Texts(a=1), Pair(Point(1), None), [MOMENTS]]
NESTED = [{"deep": {"text": "a\nb\n", "more": ["x\ny", {"k": "p\n"}], "id": ID}}, Point(1, {"b", "a"})]
VALUES: list[Any] = [*TEXTS, *MARKS, *LINES, *NUMBERS, *MOMENTS, *OTHERS, *EMPTY, *KEYS, *KINDS, *NESTED]
