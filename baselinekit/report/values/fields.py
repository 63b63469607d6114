"""What may stand under each key of a result file, and what is said of what may not."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from baselinekit.clipped import already_masked, clipped
from baselinekit.errors import Problem, nearest
from baselinekit.model.values import Json, Path, json_type

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

    def complain(self, at: Path, what: str, mend: str = "") -> None:
        if len(self.problems) < _ENOUGH:
            name = _shown(at)
            self.problems.append(Problem("BK130", f"{name} {what}" if name else f"it {what}", mend, at=at))

    def mapping(self, raw: Json, table: Mapping[str, Field], at: Path) -> bool:
        """Whether it is an object with just these keys, each with such a value."""
        before = len(self.problems)
        if raw.__class__ is not dict:
            self.complain(at, f"is a JSON {json_type(raw)}, and should be an object")
            return False
        for key, value in raw.items():
            field = table.get(key)
            if field is None:
                mend = nearest(key, table) or "a newer version may have written it: use that one"
                self.complain((*at, key), "is a key that it does not have", mend)
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
