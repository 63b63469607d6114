"""The keys of a result file, and what may stand under each."""

import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from typing import Any

from baselinekit.errors import Problem, nearest
from baselinekit.model.results import OUTCOMES
from baselinekit.model.values import Json, Path, json_type
from baselinekit.texts import already_masked, clipped

# What may stand under each key of a result file, and what is said of what may not.


_ENOUGH = 20
"""Of what is wrong with one file, more than this helps nobody."""

_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


_LONGEST_SHOWN = 80
_LONGEST_PATH = 120

Test = Callable[[str], tuple[str, str] | None]
"""What is wrong with a text, and what it should be; None when nothing is."""


def _short(value: str) -> str:
    return clipped(value, _LONGEST_SHOWN, already_masked, counted=False)


def one_of(words: Collection[str]) -> Test:
    def test(value: str) -> tuple[str, str] | None:
        return None if value in words else (f"is {_short(value)!r}", f"one of {', '.join(words)}")

    return test


def of_form(pattern: re.Pattern[str], words: str) -> Test:
    def test(value: str) -> tuple[str, str] | None:
        return None if pattern.fullmatch(value) else (f"is {_short(value)!r}", f"it should be {words}")

    return test


class Field:
    """The classes of value that a key may have; none: any value."""

    def __init__(
        self,
        *classes: type[Any],
        least: int | None = None,
        optional: bool = False,
        test: Test | None = None,
    ):
        self.classes = frozenset(classes)
        self.least = least
        self.optional = optional
        self.test = test
        self.words = " or ".join(
            name
            for kind, name in _NAMES.items()
            if kind in classes and not (kind is int and float in classes)
        )


class Reader:
    """Collects what is wrong, so that all of it is said at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def complain(self, at: Path, what: str, hint: str = "") -> None:
        if len(self.problems) < _ENOUGH:
            name = _shown(at)
            self.problems.append(Problem("BK130", f"{name} {what}" if name else f"it {what}", hint, at=at))

    def mapping(self, raw: Json, table: Mapping[str, Field], at: Path) -> bool:
        """Whether it is an object with just these keys, each with such a value."""
        before = len(self.problems)
        if raw.__class__ is not dict:
            self.complain(at, f"is a JSON {json_type(raw)}, and should be an object")
            return False
        for key, value in raw.items():
            field = table.get(key)
            if field is None:
                hint = nearest(key, table) or "a newer version may have written it: use that one"
                self.complain((*at, key), "is a key that it does not have", hint)
            elif field.classes and value.__class__ not in field.classes:
                self.complain((*at, key), f"is a JSON {json_type(value)}, and should be {field.words}")
            elif field.least is not None and value is not None and value < field.least:
                self.complain((*at, key), f"is {value}, and should be {field.least} or more")
            elif field.test is not None and (told := field.test(value)) is not None:
                self.complain((*at, key), *told)
        for key, field in table.items():
            if not field.optional and key not in raw:
                self.complain(at, f"has no {key!r}")
        return len(self.problems) == before and len(self.problems) < _ENOUGH

    def texts(self, raw: Mapping[str, Json], key: str, at: Path) -> tuple[str, ...]:
        found = raw.get(key, [])
        for number, text in enumerate(found):
            if not isinstance(text, str):
                self.complain((*at, key, number), f"is a JSON {json_type(text)}, and should be a string")
        return tuple(text for text in found if isinstance(text, str))

    def numbers(self, raw: Mapping[str, Json], at: Path) -> dict[str, int | float]:
        for name, value in raw.items():
            if value.__class__ not in (int, float):
                self.complain((*at, name), f"is a JSON {json_type(value)}, and should be a number")
        return {name: value for name, value in raw.items() if isinstance(value, int | float)}


def _shown(at: Path) -> str:
    text = ""
    for key in at:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return clipped(text, _LONGEST_PATH, already_masked, counted=False)


# Which keys a result file has, and what stands under each: every key that results/json.py writes is
# here.


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,511}")
_KINDS = ("missing", "extra", "value", "type", "order", "count", "tolerance", "similarity")

_TEXT = Field(str)
_WORDS = Field(str, type(None))
_COUNT = Field(int, least=0)
_LINE = Field(int, type(None), least=1)
_SECONDS = Field(int, float, least=0)
_TEXTS = Field(list, optional=True)

FILE = {"format": _TEXT, "run": Field(dict), "summary": Field(dict), "results": Field(list)}
RUN = {
    "id": _TEXT,
    "started": Field(str, test=of_form(_TIME, "a time such as 2024-01-20T14:00:00Z")),
    "seconds": _SECONDS,
    "tool": _TEXT,
    "command": _TEXT,
    "config": _WORDS,
    "environment": Field(dict),
    "shard": Field(dict, type(None)),
    "commit": Field(str, optional=True),
    "coverage": Field(dict, optional=True),
    "against": Field(dict, optional=True),
    "interrupted": Field(bool, optional=True),
    "suite": Field(dict, optional=True),
    "earlier": Field(dict, optional=True),
    "spent": Field(dict, optional=True),
    "warnings": _TEXTS,
    "not_recorded": _TEXTS,
}
SHARD = {
    "number": Field(int, least=1),
    "of": Field(int, least=1),
    "total": _COUNT,
    **dict.fromkeys(("target", "configuration", "content"), Field(str, optional=True)),
}
COVERAGE = {"chosen": Field(dict), "left_out": _COUNT}
UNANSWERED = {"calls": _COUNT, "tokens": _COUNT, "cost_usd": Field(int, float, Decimal, least=0)}
SPENT = {**UNANSWERED, "unanswered": Field(dict, optional=True)}
SUMMARY: dict[str, Field] = {**dict.fromkeys(OUTCOMES, _COUNT), "complete": Field(bool)}
RESULT = {
    "id": Field(str, test=of_form(_ID, "letters, digits, `.`, `_`, `-` and `/`")),
    "file": _TEXT,
    "line": _LINE,
    "kind": _TEXT,
    "outcome": Field(str, test=one_of(OUTCOMES)),
    "verdict": _WORDS,
    "reason": _TEXT,
    "code": _WORDS,
    "difference_count": _COUNT,
    "differences": Field(list),
    "attempts": _COUNT,
    "observed": Field(dict),
    "environment_drift": Field(dict),
    "recipe_hash": _TEXT,
    "name": Field(str, optional=True),
    "criticality": Field(str, optional=True),
    "target": Field(str, optional=True),
    "notes": _TEXTS,
    "explanation": _TEXTS,
    "repeats": Field(dict, optional=True),
    "case": Field(dict, optional=True),
    "position": Field(int, least=0, optional=True),
    "resolved": Field(optional=True),
}
REPEATS = {"replays": Field(int, least=1), "passed": _COUNT, "errors": _COUNT}
USAGE = {
    "tokens_in": Field(int, least=0, optional=True),
    "tokens_out": Field(int, least=0, optional=True),
    "cost_usd": Field(int, float, Decimal, least=0, optional=True),
}
OBSERVED = {"seconds": _SECONDS, **USAGE, "scores": Field(dict, optional=True)}
DIFFERENCE = {
    "path": _TEXT,
    "kind": Field(str, test=one_of(_KINDS)),
    "expected": Field(optional=True),
    "actual": Field(optional=True),
    "file": _TEXT,
    "line": _LINE,
    "rule": _WORDS,
    "note": Field(str, optional=True),
}
SIDES = {"captured": Field(optional=True), "now": Field(optional=True)}
