"""Values of many types, which tests compare with the snapshots of other tools and with baselines."""

import dataclasses
import datetime as dt
import enum
import random
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
    *("", "a", "a b", " lead", "trail ", "it's", 'say "hi"', "both ' and \"", "back\\slash", "tab\there"),
    *(
        "é ü ß",
        "日本語",
        "emoji 😀",
        "\x00nul",
        "\x1b[31mred",
        "nbsp\u00a0end",
        "zero\u200bwidth",
        "\ufeffbom",
    ),
    *(
        "null",
        "true",
        "1",
        "1.5",
        "~",
        "- a",
        "a: b",
        "# no comment",
        "{a}",
        "[a]",
        "<<any_uuid>>",
        "{{name}}",
    ),
    *("'''", "''' in '''", "a,", "a: 'b',", "})", "dict({", "# name: x", "# ---", "...", "datetime", "<ANY>"),
    "\\<<any>>",
    "2020-01-01",
    "2020-01-01 10:00:00",
    "12:30:45",
    "0o17",
    "1e3",
    "yes",
    "NaN",
    "\u2028sep",
]
LINES = [
    *(
        "a\nb",
        "a\n",
        "\n",
        "\n\n",
        "\na",
        "a\n\nb",
        "  indented\n    more\n",
        "a\n'''\nb",
        "'''\n",
        "a\n  '''\n",
    ),
    *(
        "tab\t\n\tend",
        "x\n# ---\ny",
        "# name: t\n",
        "a\x0cb\nc",
        "a\u2028b\nc",
        "a\x85b\n",
        "a\n  ''',\n  'b': 1\n",
    ),
    "line\n" * 30,
    "def f():\n    return {\n        'a': 1,\n    }\n",
    "é\n日本\n",
    "a \n b \n",
    "a\n})\n",
]
NUMBERS = [
    0,
    -1,
    7,
    10**20,
    -(10**30),
    0.1,
    -2.5,
    1e-7,
    1e22,
    1.0,
    123456789.123456789,
    2**53 + 1,
    True,
    False,
    None,
]
MOMENTS = [
    dt.datetime.fromisoformat("2020-01-01"),
    dt.datetime.fromisoformat("2020-01-01T10:30:05.123456"),
    dt.datetime(2020, 1, 1, 10, 30, tzinfo=UTC),
    dt.datetime(2020, 1, 1, 10, 30, 5, 7, tzinfo=EAST),
    dt.date(2024, 2, 29),
    dt.time(10, 5),
    dt.time(10, 5, 6, 7),
    dt.timedelta(days=1, seconds=5, microseconds=3),
    dt.timedelta(days=-1, hours=3),
]
OTHERS = [
    ID,
    Decimal("1.50"),
    Decimal("-1E+3"),
    Fraction(1, 3),
    PurePosixPath("/a/b c"),
    PureWindowsPath("C:\\a\\b"),
    b"text",
    b"\xff\x00",
    Color.RED,
    Color.GREEN,
    Level.HIGH,
    Word.YES,
    Perm.R | Perm.W,
    Perm.R,
]
MANY = [
    [],
    {},
    (),
    set(),
    frozenset(),
    [[]],
    [{}],
    [()],
    (1,),
    ((1, 2), [3]),
    {"a": 1, "b": [1, 2, {"c": None}]},
    {1: "a", 2: "b"},
    {True: 1, None: 2},
    {1.5: "a"},
    {"it's": "x", 'q"q': 1, "a: b": 2, "a,b": 3, "": 4, "two words": 5},
    {"line\nbreak": "value\nof lines"},
    {"deep": {"text": "a\nb\n", "more": ["x\ny", {"k": "p\n"}]}},
    {1, 2, 10, 3},
    {"b", "a"},
    {(1, 2), (0, 1)},
    frozenset({"x", "y"}),
    {"set": {1, 2}, "frozen": frozenset({"a"})},
    OrderedDict([("z", 1), ("a", 2)]),
    defaultdict(list, {"a": [1]}),
    Counter("abca"),
    MappingProxyType({"a": 1}),
    Texts(a=1),
    Texts(),
    Rows([1, "a"]),
    Rows(),
    Pair(1, "b"),
    Pair(Point(1), None),
    Point(1, 2.5, {"b", "a"}),
    Line(Point(0), None),
    Line(Point(0), Point(1, 1.0, {"t"}), {"text": "a\nb", "when": MOMENTS[2]}),
    [Point(1), Point(2)],
    {"point": Point(3), "color": Color.RED, "level": Level.LOW, "id": ID},
    {Color.GREEN: 1, dt.date(2020, 1, 1): 2},
    [MOMENTS, OTHERS],
    {"bytes": b"a\nb", "path": PurePosixPath("x"), "n": Decimal("0.10")},
    [None, [True, [False, [1, [2.5, ["x"]]]]]],
    {"a" * 300: "b" * 5000},
    list(range(200)),
    [TEXTS, LINES, NUMBERS],
    dict(zip(TEXTS, LINES, strict=False)),
]


def _made(made: random.Random, depth: int) -> Any:
    kind = made.randrange(10 if depth else 6)
    if kind < 2:
        return made.choice(TEXTS)
    if kind == 2:
        return made.choice(LINES)
    if kind == 3:
        return made.choice(NUMBERS)
    if kind == 4:
        return made.choice(MOMENTS)
    if kind == 5:
        return made.choice(OTHERS)
    if kind == 6:
        return [_made(made, depth - 1) for _ in range(made.randrange(4))]
    if kind == 7:
        return tuple(_made(made, depth - 1) for _ in range(made.randrange(4)))
    if kind == 8:
        return Line(Point(made.randrange(9)), None, {"n": _made(made, depth - 1)})
    return {made.choice(TEXTS): _made(made, depth - 1) for _ in range(made.randrange(5))}


_RANDOM = random.Random(17)
VALUES: list[Any] = [
    *TEXTS,
    *LINES,
    *NUMBERS,
    *MOMENTS,
    *OTHERS,
    *MANY,
    *(_made(_RANDOM, 4) for _ in range(150)),
]
