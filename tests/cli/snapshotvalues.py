"""Values of many types, which tests compare with the snapshots of other tools and with baselines."""

import dataclasses
import datetime as dt
import enum
import uuid
from collections import Counter, OrderedDict, defaultdict, namedtuple
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath, PureWindowsPath
from types import MappingProxyType
from typing import Any


class Color(enum.Enum):
    RED = 1
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Perm(enum.Flag):
    R = 4
    W = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5
    tags: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Line:
    start: Point
    end: Point | None
    notes: dict[str, Any] = dataclasses.field(default_factory=dict)


Pair = namedtuple("Pair", "left right")


class Texts(dict):
    """A mapping of one's own."""


class Rows(list):
    """A list of one's own."""


UTC = dt.UTC
EAST = dt.timezone(dt.timedelta(hours=2))
ID = uuid.UUID("6f7a7b5e-9d3c-4e5f-8a7b-1c2d3e4f5a6b")

TEXTS = [
    *(
        "",
        " lead",
        "trail ",
        "both ' and \"",
        "back\\slash",
        "tab\there",
        "日本語 😀",
        "\x00nul",
        "\x1b[31mred",
    ),
    *("nbsp\u00a0end", "zero\u200bwidth", "\ufeffbom", "\u2028sep", "null", "1.5", "~", "- a", "a: b", "# c"),
    *(
        "<<any_uuid>>",
        "\\<<any>>",
        "{{name}}",
        "''' in '''",
        "})",
        "# name: x",
        "...",
        "2020-01-01",
        "1e3",
        "yes",
    ),
]
LINES = [
    *("a\nb", "a\n", "\n\n", "\na", "  indented\n    more\n", "a\n  '''\n", "tab\t\n\tend", "x\n# ---\ny"),
    *("a\x0cb\nc", "a\u2028b\nc", "a\x85b\n", "line\n" * 30, "a \n b \n", "a\n  ''',\n  'b': 1\n"),
]
NUMBERS = [0, -1, -(10**30), 0.1, 1e-7, 1e22, 1.0, 123456789.123456789, 2**53 + 1, True, False, None]
MOMENTS = [
    *(dt.datetime.fromisoformat("2020-01-01T10:30:05.123456"), dt.date(2024, 2, 29), dt.time(10, 5, 6, 7)),
    *(
        dt.datetime(2020, 1, 1, tzinfo=UTC),
        dt.datetime(2020, 1, 1, 10, tzinfo=EAST),
        dt.timedelta(days=-1, hours=3),
    ),
]
OTHERS = [
    *(
        ID,
        Decimal("1.50"),
        Decimal("-1E+3"),
        Fraction(1, 3),
        PurePosixPath("/a/b c"),
        PureWindowsPath("C:\\a"),
    ),
    *(b"text", b"\xff\x00", Color.RED, Level.HIGH, Word.YES, Perm.R | Perm.W),
]
MANY = [
    *([], {}, (), set(), frozenset({"x", "y"}), [[]], [()], ((1, 2), [3]), {1, 2, 10, 3}, {(1, 2), (0, 1)}),
    *({1: "a", 2: "b"}, {True: 1, None: 2}, {1.5: "a"}, {"it's": 1, 'q"q': 2, "a: b": 3, "": 4}),
    *({"line\nbreak": "value\nof lines"}, {Color.GREEN: 1, dt.date(2020, 1, 1): 2}, {"a" * 300: "b" * 5000}),
    *(
        OrderedDict([("z", 1), ("a", 2)]),
        defaultdict(list, {"a": [1]}),
        Counter("abca"),
        MappingProxyType({"a": 1}),
    ),
    *(Texts(a=1), Rows([1, "a"]), Pair(Point(1), None), Point(1, 2.5, {"b", "a"}), [MOMENTS, OTHERS]),
    Line(Point(0), Point(1, 1.0, {"t"}), {"text": "a\nb", "when": MOMENTS[2]}),
    {"deep": {"text": "a\nb\n", "more": ["x\ny", {"k": "p\n"}], "id": ID, "path": PurePosixPath("x")}},
    dict(zip(TEXTS, LINES, strict=False)),
]
VALUES: list[Any] = [*TEXTS, *LINES, *NUMBERS, *MOMENTS, *OTHERS, *MANY]
