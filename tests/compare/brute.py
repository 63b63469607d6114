"""A comparer that tries everything: slow, simple, and written without a look at the real one. And random
pairs of small documents with random rules for both."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from baselinekit.model.values import Json, Path

ACCEPTS: dict[str, Callable[[Json], bool]] = {
    "<<any>>": lambda value: True,
    "<<any?>>": lambda value: True,
    "<<any_integer>>": lambda value: type(value) is int,
    "<<any_integer?>>": lambda value: type(value) is int,
    "<<any_string>>": lambda value: type(value) is str,
    "<<any_string|null>>": lambda value: value is None or type(value) is str,
    "<<one_of(1, a)>>": lambda value: value == "a" or (_number(value) and value == 1),
    "{{any_boolean}}": lambda value: type(value) is bool,
    "x<<any_string>>": lambda value: type(value) is str and value.startswith("x"),
}
LITERAL = {r"\<<any>>": "<<any>>"}

SCALARS: list[Json] = [None, True, False, 0, 1, 2, 3, 1.0, 2.5, "a", "A", "b", "", "xa", "<<any>>"]
MODES = ["unordered"] * 3 + ["subset", "each", "ordered"]


@dataclass
class Given:
    """Rules, their paths as tuples with `*` for any step and a leading `**` for any way there."""

    type: str = "structural"
    additional: bool = False
    missing: bool = False
    empty: bool = False
    any_case: bool = False
    ignore_fields: list[tuple[str, ...]] = field(default_factory=list)
    ignore_values: list[tuple[str, ...]] = field(default_factory=list)
    arrays: dict[tuple[str, ...], str] = field(default_factory=dict)
    tolerance: dict[tuple[str, ...], float] = field(default_factory=dict)

    def rules(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "options": {
                "allow_additional_fields": self.additional,
                "allow_missing_fields": self.missing,
                "allow_empty_arrays": self.empty,
                "case_sensitive": not self.any_case,
            },
            "ignore_fields": [_text(path) for path in self.ignore_fields],
            "ignore_values": [_text(path) for path in self.ignore_values],
            "arrays": {_text(path): how for path, how in self.arrays.items()},
            "tolerance": {_text(path): {"abs": width} for path, width in self.tolerance.items()},
        }

    def matches(self, expected: Json, actual: Json, path: Path = ()) -> bool:
        if self._ignored(path):
            return True
        if isinstance(expected, str) and expected in ACCEPTS:
            return ACCEPTS[expected](actual)
        if isinstance(expected, dict):
            return isinstance(actual, dict) and self._objects(expected, actual, path)
        if isinstance(expected, list):
            return isinstance(actual, list) and self._arrays(expected, actual, path)
        if isinstance(expected, str):
            expected = LITERAL.get(expected, expected)
            same_case = isinstance(actual, str) and expected.casefold() == actual.casefold()
            return isinstance(actual, str) and (expected == actual or (self.any_case and same_case))
        if _number(expected):
            return _number(actual) and self._numbers(expected, actual, path)
        return expected is actual

    def _numbers(self, expected: Any, actual: Any, path: Path) -> bool:
        widths = [
            width
            for pattern, width in self.tolerance.items()
            if any(_leads(pattern, path[:size]) for size in range(len(path) + 1))
        ]
        if widths:
            return abs(Fraction(str(actual)) - Fraction(str(expected))) <= Fraction(str(widths[0]))
        return expected == actual and (self.type != "exact" or type(expected) is type(actual))

    def _objects(self, expected: dict[str, Json], actual: dict[str, Json], path: Path) -> bool:
        for key, value in expected.items():
            below = (*path, key)
            if key in actual:
                if not self.matches(value, actual[key], below):
                    return False
            elif not (self.missing or self._optional(value, below)):
                return False
        further = [key for key in actual if key not in expected]
        return self.additional or all(self._ignored((*path, key)) for key in further)

    def _optional(self, value: Json, path: Path) -> bool:
        if self._ignored(path):
            return bool(self.ignore_fields)
        return isinstance(value, str) and value.endswith("?>>")

    def _ignored(self, path: Path) -> bool:
        """Unless a rule that compares is more exact."""
        hiding = [p for p in (*self.ignore_fields, *self.ignore_values) if _leads(p, path)]
        comparing = [p for p in (*self.arrays, *self.tolerance) if _leads(p, path)]
        return bool(hiding) and max(map(_exactness, hiding)) >= max(
            map(_exactness, comparing), default=(-9, 0)
        )

    def _arrays(self, expected: list[Json], actual: list[Json], path: Path) -> bool:
        if self._ignored((*path, 10**9)):
            return True
        ways = [pattern for pattern in self.arrays if _leads(pattern, path)]
        how = self.arrays[max(ways, key=_exactness)] if ways else None
        if how is None:
            template = self.type == "structural" and len(expected) == 1 and _holds_placeholder(expected)
            how = "each" if template else "ordered"
        if how == "each" and expected:
            if not actual:
                return self.empty
            return all(
                any(self.matches(expected[e], value, (*path, e)) for e in range(len(expected)))
                for value in actual
            )
        free = how in ("unordered", "subset")
        must = [e for e in range(len(expected)) if not self._optional(expected[e], (*path, e))]
        may = [e for e in range(len(expected)) if e not in must]
        for size in range(len(may) + 1):
            for some in combinations(may, size):
                chosen = sorted([*must, *some])
                if how == "subset" and not some:
                    orders: Any = permutations(range(len(actual)), len(chosen))
                elif len(chosen) != len(actual):
                    continue
                else:
                    orders = permutations(range(len(actual))) if free else [range(len(actual))]
                for order in orders:
                    if all(
                        self.matches(expected[e], actual[a], (*path, e))
                        for e, a in zip(chosen, order, strict=True)
                    ):
                        return True
        return False


def _text(path: tuple[str, ...]) -> str:
    return ".".join(path) or "$"


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _leads(pattern: tuple[str, ...], path: Path) -> bool:
    if pattern[:1] == ("**",):
        return any(_leads(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return len(pattern) == len(path) and all(
        step in ("*", str(key)) for step, key in zip(pattern, path, strict=True)
    )


def _exactness(pattern: tuple[str, ...]) -> tuple[int, int]:
    return -pattern.count("**"), sum(step not in ("*", "**") for step in pattern)


def _holds_placeholder(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_placeholder, value.values() if isinstance(value, dict) else value))
    return isinstance(value, str) and value in ACCEPTS


class Maker:
    """Random pairs: most of the actual ones are made out of the expected one, and then perhaps spoilt."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def pair(self) -> tuple[Given, Json, Json]:
        given = Given(
            type=self.random.choice(["structural"] * 4 + ["exact"]),
            additional=self.random.random() < 0.25,
            missing=self.random.random() < 0.1,
            empty=self.random.random() < 0.3,
            any_case=self.random.random() < 0.15,
        )
        expected = self.expected(3, (), given)
        actual = self.actual(expected, given)
        if self.random.random() < 0.6:
            for _ in range(self.random.randint(1, 2)):
                actual = self.spoilt(actual)
        if self.random.random() < 0.3:
            self._ignore(given)
        return given, expected, actual

    def _ignore(self, given: Given) -> None:
        key = self.random.choice("abcd")
        path = self.random.choice([(key,), ("**", key), ("*", key), (key, "*"), (key, "*", "a")])
        self.random.choice([given.ignore_fields, given.ignore_values]).append(path)

    def scalar(self) -> Json:
        return self.random.choice(
            [None, True, False, 0, 1, 2, 3, 1.0, 2.5, "a", "A", "b", "", "xa", "<<any>>"]
        )

    def expected(self, depth: int, path: tuple[str, ...], given: Given) -> Json:
        roll = self.random.random()
        if depth and roll < 0.35:
            size = self.random.randint(0, 3)
            if roll < 0.2 and given.type != "exact":
                given.arrays.setdefault(
                    path, self.random.choice(["unordered"] * 3 + ["subset", "each", "ordered"])
                )
            row = self.expected(depth - 1, (*path, "*"), given)
            return [
                row if self.random.random() < 0.3 else self.expected(depth - 1, (*path, "*"), given)
                for _ in range(size)
            ]
        if depth and roll < 0.65:
            keys = self.random.sample("abcd", self.random.randint(0, 3))
            return {key: self.expected(depth - 1, (*path, key), given) for key in keys}
        if path and not given.tolerance and roll < 0.7:
            given.tolerance[path] = self.random.choice([0.5, 1, 2])
        if roll < 0.85:
            value = self.scalar()
            return (
                {text: written for written, text in LITERAL.items()}.get(value, value)
                if isinstance(value, str)
                else value
            )
        return self.random.choice(list(ACCEPTS))

    def actual(self, expected: Json, given: Given) -> Json:
        """Something that the expected value probably accepts."""
        if isinstance(expected, dict):
            kept = {
                key: self.actual(value, given)
                for key, value in expected.items()
                if not (isinstance(value, str) and value.endswith("?>>") and self.random.random() < 0.5)
            }
            keys = list(kept)
            self.random.shuffle(keys)
            return {key: kept[key] for key in keys}
        if isinstance(expected, list):
            rows = [
                self.actual(row, given)
                for row in expected
                if not (isinstance(row, str) and row.endswith("?>>") and self.random.random() < 0.5)
            ]
            if self.random.random() < 0.5:
                self.random.shuffle(rows)
            if rows and self.random.random() < 0.2:
                rows.append(self.actual(self.random.choice(expected), given))
            return rows
        if isinstance(expected, str) and expected in ACCEPTS:
            fitting = [value for value in (self.scalar() for _ in range(20)) if ACCEPTS[expected](value)]
            return fitting[0] if fitting else "x"
        if _number(expected) and self.random.random() < 0.2:
            return expected + self.random.choice([-1, 0.5, 1, 0.0])
        return LITERAL.get(expected, expected) if isinstance(expected, str) else expected

    def spoilt(self, value: Json) -> Json:
        """One random change somewhere."""
        if isinstance(value, dict) and value and self.random.random() < 0.8:
            key = self.random.choice(list(value))
            return {**value, key: self.spoilt(value[key])}
        if isinstance(value, list) and value and self.random.random() < 0.8:
            at = self.random.randrange(len(value))
            return [*value[:at], self.spoilt(value[at]), *value[at + 1 :]]
        if isinstance(value, dict):
            kept = {key: item for key, item in value.items() if self.random.random() < 0.6}
            return (
                kept if self.random.random() < 0.5 else {**value, self.random.choice("abcd"): self.scalar()}
            )
        if isinstance(value, list):
            kept_rows = [row for row in value if self.random.random() < 0.6]
            return kept_rows if self.random.random() < 0.5 else [*value, self.scalar()]
        return self.scalar()
