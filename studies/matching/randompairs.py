"""Random pairs of small documents with random rules for both. Most of the actual ones are made out of the
expected one, and then perhaps spoilt: both verdicts are frequent, and close to each other."""

import random
from typing import Any

from brute import ACCEPTS, BINDS, LITERAL, Given, Steps, is_number

from baselinekit.files.jsontext import decode
from baselinekit.model.values import Json

ORDINARY: list[Json] = [None, True, False, 0, 1, 2, 3, 1.0, 2.5, "a", "A", "b", "", "xa", "<<any>>"]
ODD: list[Json] = decode(
    """[9007199254740992, 9007199254740993, 9007199254740992.0, 9007199254740993.0, 1e23, 0.0, -0.0, 1E0,
    100000000000000000000000, 99999999999999991611392, 0.1, 0.10000000000000000001, 1e400, -1e400, 1.1, 0.8,
    0.1000000000000000055511151231257827021181583404541015625, 2.0, 2.50, "1", "true", "null", " a", "a\\n",
    "a\\r\\nb", "a\\nb", "{{any_null}}", "\\u0130", "\\ud800", [], {}, [[]], {"": null}, "1b"]"""
)
KEYS = "abcd"
HOW: list[Any] = ["unordered"] * 6 + ["subset", "subset", "each", "ordered"] + [{"by": "a"}] * 3
COLUMNS: list[list[Json]] = [
    [1, True, 1.0],
    [0, False, 0.0],
    [1, 1.5, 2, 2.5, 3],
    ["a", "A", "xa", " a"],
    [1, "1", None],
    ["<<any_integer>>", 1, 2],
    ["<<any>>", "a", 1],
    ["<<any_string>>", "a", "xa", "x<<any_string>>"],
    ["<<any?>>", 1, "a"],
    ["<<any as k>>", "<<any_integer as k>>", 1],
]
TWINS: list[list[Json]] = [
    [0, False, 0.0, ""],
    [1, True, 1.0, "1"],
    ["a", "A", " a"],
    [None, "null"],
    [2, 2.5, 1.5],
]
BOUNDS: list[dict[str, Any]] = [
    {"abs": 0},
    {"abs": 0.5},
    {"abs": 1},
    {"abs": 2},
    {"rel": 0.5},
    {"abs": 0.1, "rel": 0.25},
    {"min_delta": -0.3},
    {"min_delta": 0, "max_delta": 1},
    {"max_delta": 0.2},
]


class Maker:
    """One pair for each seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed).random
        self.binding = self.chance(0.12)
        self.odd = self.chance(0.25)
        self.given = Given()
        self.ignored: set[str] = set()
        self.tolerated = False

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, options: Any) -> Any:
        return options[int(self.random() * len(options))]

    def pair(self) -> tuple[Given, Json, Json]:
        given = self.given
        roll = self.random()
        given.type = "structural" if roll < 0.8 else "exact" if roll < 0.92 else "numeric"
        if self.chance(0.4):
            option = self.pick(
                ["additional_fields"] * 3 + ["missing_fields", "empty_arrays", "empty_arrays"] + ["order"]
            )
            given.options |= (
                {"allow_field_reordering": False} if option == "order" else {f"allow_{option}": True}
            )
        if self.chance(0.12):
            given.options |= self.pick([{"case_sensitive": False}, {"trim_whitespace": True}])
        roll = self.random()
        if roll < 0.4:
            expected = self.table()
        elif roll < 0.5:
            expected = self.grid()
        else:
            expected = self.expected(3 if self.chance(0.4) else 2, ())
        if self.chance(0.2):
            kind = given.ignore_values if self.chance(0.5) else given.ignore_fields
            kind.append(self.anywhere())
        if self.chance(0.08):
            type = self.pick(["exact", "structural", "numeric"])
            rule = {"type": type, "tolerance": self.pick(BOUNDS)} if self.chance(0.3) else {"type": type}
            given.fields[self.anywhere()] = rule
        rules = [*given.ignore_fields, *given.ignore_values]
        self.ignored = {step for path in rules for step in path if step in KEYS}
        self.tolerated = bool(given.tolerance)
        actual = self.actual(expected)
        if self.chance(0.6):
            actual = self.spoilt(actual)
            if self.chance(0.3):
                actual = self.spoilt(actual)
        return given, expected, actual

    def anywhere(self) -> Steps:
        key = self.pick(KEYS)
        return self.pick(
            [(key,), ("**", key), ("**", key), ("*", key), (key, "*"), (key, "*", "a"), ("*", "*", key)]
        )

    def scalar(self) -> Json:
        return self.pick(ODD if self.odd and self.chance(0.4) else ORDINARY)

    def expected(self, depth: int, path: Steps) -> Json:
        roll = self.random() * (1 if path else 0.72)
        if depth and roll < 0.36:
            return self.array(depth - 1, path, rows=roll < 0.2)
        if depth and roll < 0.7:
            return self.object(depth - 1, path)
        if path and not self.given.tolerance and roll < 0.78:
            steps = path if self.chance(0.8) else ("**", path[-1])
            self.given.tolerance[steps] = self.pick(BOUNDS)
        if roll < 0.9:
            return _written(self.scalar())
        return self.pick(list(BINDS)) if self.binding and self.chance(0.7) else self.pick(list(ACCEPTS))

    def array(self, depth: int, path: Steps, rows: bool) -> list[Json]:
        how = self.pick(HOW)
        if (rows or self.chance(0.3)) and self.given.type != "exact" and path not in self.given.arrays:
            self.given.arrays[path] = how
        else:
            how = self.given.arrays.get(path)
        below = (*path, "*")
        if isinstance(how, dict):
            rows_of = [self.object(depth, below) for _ in range(int(self.random() * 4))]
            return [{"a": 0, **row} | {"a": self.pick([n, str(n), n + 0.5])} for n, row in enumerate(rows_of)]
        made = [self.expected(depth, below) for _ in range(int(self.random() * 3.3))]
        if made and self.chance(0.4):
            made.append(self.near(self.pick(made)))
        return made

    def table(self) -> Json:
        """Rows that are hard to distinguish, mostly in any order: what a careless matching stumbles over."""
        path = () if self.chance(0.7) else ("a",)
        if self.given.type != "exact":
            self.given.arrays[path] = self.pick(["unordered"] * 6 + ["subset", "subset", "each"])
        columns = {key: self.pick(COLUMNS) for key in KEYS[: 1 + int(self.random() * 3)]}
        if self.binding:
            columns[self.pick(list(columns))] = COLUMNS[-1]
        key = self.pick(list(columns))
        if self.chance(0.25):
            columns[key] = COLUMNS[2]
            where = self.pick([(*path, "*", key), (*path, "*", key), path])
            self.given.tolerance[where] = self.pick(BOUNDS)
        if self.chance(0.15):
            self.given.ignore_fields.append((*path, "*", key))
        rows: list[Json] = []
        for _ in range(1 + int(self.random() * 3.5)):
            row = {key: self.pick(column) for key, column in columns.items()}
            rows.append(row[key] if self.chance(0.15) else row)
        if self.chance(0.15):
            rows.append(self.pick(["<<any?>>", "<<any_integer?>>"]))
        return {"a": rows} if path else rows

    def grid(self) -> Json:
        """Rows that are all alike, as an API answers: what is literal in them, and the same placeholders."""
        path = () if self.chance(0.7) else ("a",)
        if self.given.type != "exact" and self.chance(0.8):
            self.given.arrays[path] = self.pick(["unordered"] * 5 + ["subset"])
        columns = {key: self.pick(COLUMNS[:5]) for key in KEYS[: int(self.random() * 3)]}
        below = self.pick(COLUMNS[:5])
        same = self.pick([{}, {"c": "<<any_integer>>"}, {"c": "{{any_boolean}}"}, {"c": "x<<any_string>>"}])
        nested = self.chance(0.4)
        if self.chance(0.15):
            self.given.ignore_fields.append((*path, "*", self.pick(KEYS)))
        named = self.chance(0.5)
        rows: list[Json] = []
        for n in range(4 + int(self.random() * 1.5)):
            row = {key: self.pick(column) for key, column in columns.items()} | same
            row |= {"id": n} if named else {}
            rows.append(row | {"d": {"a": "<<any_integer>>", "b": self.pick(below)}} if nested else row)
        return {"a": rows} if path else rows

    def near(self, value: Json) -> Json:
        """A row like another one, or the same."""
        if isinstance(value, dict) and value and self.chance(0.6):
            return {**value, self.pick(list(value)): _written(self.scalar())}
        return value

    def object(self, depth: int, path: Steps) -> dict[str, Json]:
        size = int(self.random() * 4)
        start = int(self.random() * 4)
        keys = [KEYS[(start + n) % 4] for n in range(size)]
        return {key: self.expected(depth, (*path, key)) for key in keys}

    def actual(self, expected: Json) -> Json:
        """Something that the expected value probably accepts."""
        if isinstance(expected, dict):
            kept = {key: self.actual(value) for key, value in expected.items() if not self._left_out(value)}
            return dict(reversed(kept.items())) if self.chance(0.3) else kept
        if isinstance(expected, list):
            rows = [self.actual(row) for row in expected if not self._left_out(row)]
            if self.chance(0.5):
                rows.sort(key=lambda row: self.random())
            if rows and self.chance(0.2):
                rows.append(self.actual(self.pick(expected)))
            return rows
        if isinstance(expected, str):
            return self._filled(expected)
        if is_number(expected) and self.chance(0.5 if self.tolerated else 0.1):
            number = int(expected) if abs(expected) < 10**30 else 1
            return self.pick([number + 1, number - 1, number + 0.5, float(number), number])
        return expected

    def _filled(self, expected: str) -> Json:
        if expected in BINDS:
            return 1 if self.chance(0.7) else self.scalar()
        if expected not in ACCEPTS:
            return LITERAL.get(expected, expected)
        accepts = ACCEPTS[expected]
        tried = (self.scalar() for _ in range(8))
        return next((value for value in tried if accepts(value)), "xa")

    def _left_out(self, value: Json) -> bool:
        return isinstance(value, str) and ("?>>" in value or "?|" in value) and self.chance(0.5)

    def spoilt(self, value: Json) -> Json:
        """One random change somewhere."""
        if isinstance(value, dict) and value:
            key = self.pick(list(value))
            roll = self.random()
            if roll < 0.75:
                return {**value, key: self.spoilt(value[key])}
            if roll < 0.88:
                return {other: item for other, item in value.items() if other != key}
            return {**value, self.pick(KEYS): self.scalar()}
        if isinstance(value, list) and value:
            at = int(self.random() * len(value))
            roll = self.random()
            if roll < 0.7:
                return [*value[:at], self.spoilt(value[at]), *value[at + 1 :]]
            return value[:at] + value[at + 1 :] if roll < 0.85 else [*value, self.pick(value)]
        twins = [twin for twin in TWINS if any(item is value or item == value for item in twin)]
        return self.pick(twins[0]) if twins and self.chance(0.5) else self.scalar()


def _written(value: Json) -> Json:
    """A value as a stored output holds it."""
    if isinstance(value, str):
        return next((written for written, text in LITERAL.items() if text == value), value)
    return value
