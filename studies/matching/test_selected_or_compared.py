"""A leaf that no rule selects is compared, whatever selects its neighbours; what is selected is not."""

import copy
import os
import random
from typing import Any

import pytest
import ruled
import selecting
from selecting import Plain, Selector, Step

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.values.paths import find, parse

PAIRS = int(
    os.environ.get("BASELINEKIT_PAIRS", "200000" if os.environ.get("BASELINEKIT_THOROUGH") else "6000")
)
ROUNDS = 12
KEYS = "abc"
VALUES: list[Json] = [0, 1, 1.0, 2, True, False, None, "x", "y", "1", [], {}, [1], {"a": 1}, ["x", "y"]]
SIGNS = ["==", "!=", "!=", "<", "<="]


class Maker:
    """A document, another one, and selectors, for each seed."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.order_free = self.chance(0.25)
        self.alike = self.chance(0.5)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def one(self, options: Any) -> Any:
        return options[int(self.random.random() * len(options))]

    def document(self) -> Json:
        count = int(self.random.random() * 4) + (2 if self.alike else 0)
        rows = [self.row(n) for n in range(min(count, 5))]
        document: Json = {"rows": rows, "more": {key: self.row(0) for key in KEYS if self.chance(0.4)}}
        return rows if self.chance(0.2) else document

    def row(self, n: int) -> Json:
        if not self.alike and self.chance(0.3):
            return self.one(VALUES)
        keys = KEYS if self.alike else [key for key in KEYS if self.chance(0.75)]
        row: dict[str, Json] = {key: self.one(VALUES[:10] if self.alike else VALUES) for key in keys}
        if self.alike:
            row |= {"id": n, "in": {"a": self.one(VALUES[:9]), "b": n}}
        elif self.chance(0.3):
            row["rows"] = [self.one(VALUES), {"a": self.one(VALUES), "b": self.one(VALUES)}]
        return row

    def changed(self, value: Json) -> Json:
        if isinstance(value, dict) and value and self.chance(0.9):
            key = self.one(list(value))
            roll = self.random.random()
            if roll < 0.1:
                return {other: item for other, item in value.items() if other != key}
            if roll < 0.2:
                return {**value, self.one(KEYS): self.one(VALUES)}
            return {**value, key: self.changed(value[key])}
        if isinstance(value, list) and value and self.chance(0.9):
            at = int(self.random.random() * len(value))
            roll = self.random.random()
            if roll < 0.2:
                return value[:at] + value[at + 1 :]
            if roll < 0.35:
                return [*value[:at], copy.deepcopy(self.one(value)), *value[at:]]
            if roll < 0.4:
                return [*value[:at], self.one(VALUES), *value[at:]]
            if roll < 0.5 and self.order_free:
                return self.random.sample(value, len(value))
            return [*value[:at], self.changed(value[at]), *value[at + 1 :]]
        return self.one(VALUES)

    def selector(self, rows: bool) -> Selector:
        begin: Selector = (
            [] if rows or self.chance(0.15) else [("name", "rows" if self.chance(0.75) else "more")]
        )
        steps: Selector = [*begin, *([("deep",)] if self.chance(0.15) else []), self.step()]
        for _ in range(int(self.random.random() * 2.3)):
            steps.append(self.step() if self.chance(0.4) else ("name", self.one(KEYS)))
        return steps

    def step(self) -> Step:
        roll = self.random.random()
        if roll < 0.45 or (self.order_free and roll < 0.7):
            return ("filter", self.term(2))
        if roll < 0.55:
            return ("any",)
        if roll < 0.65 or self.order_free:
            return ("name", self.one([*KEYS, "in", "rows"]))
        if roll < 0.75:
            return ("index", self.one([0, 1, 2, -1, -2, 7]))
        if roll < 0.85:
            return ("many", self.one([[0, 2], [-1, 0], [1, 2], ["a", "b"], [0, -2]]))
        start, stop = self.one([None, 0, 1, -1, -2]), self.one([None, 1, 2, -1])
        return ("slice", start, stop, self.one([None, 1, 2, -1]))

    def term(self, depth: int) -> Step:
        roll = self.random.random()
        if depth and roll < 0.15:
            return ("not", ("is there", self.one(KEYS)))
        if depth and roll < 0.35:
            return (self.one(["&&", "||"]), self.term(depth - 1), self.term(depth - 1))
        if roll < 0.5:
            return ("is there", self.one(KEYS))
        other: Any = ("@", self.one(KEYS)) if self.chance(0.25) else self.one(VALUES[:10])
        return (self.one(SIGNS), self.one(KEYS), other)


def check(seed: int) -> str:
    """What one seed shows: passed or failed, refused, or what is wrong, in a sentence."""
    maker = Maker(seed)
    stored = maker.document()
    came = copy.deepcopy(stored)
    for _ in range(int(maker.random.random() * 4)):
        came = maker.changed(came)
    selectors = [maker.selector(isinstance(stored, list)) for _ in range(maker.one([1, 1, 2, 3]))]
    kind = maker.one(["ignore_fields", "ignore_values"])
    rules: dict[str, Any] = {kind: [selecting.text_of(one) for one in selectors]}
    if maker.order_free:
        rules["arrays"] = {"**": "unordered"}
    for one in selectors:
        places = {path for path, _ in find(parse(selecting.text_of(one)), stored)}
        if places != selecting.selected(one, stored):
            return f"seed {seed}: {selecting.text_of(one)} leads elsewhere in {stored!r}: {places}"
    try:
        found = ruled.compare(stored, came, rules)
    except InvalidInput:
        return "refused"
    plain = Plain(selectors, kind == "ignore_values", stored, came, maker.order_free)
    wanted = plain.matches()
    if found.passed and not wanted:
        return f"seed {seed}: a wrong pass: {stored!r} / {came!r} / {rules}"
    if wanted and not found.passed and plain.selects_alike():
        return f"seed {seed}: a wrong fail: {stored!r} / {came!r} / {rules}: {ruled.shown(found)}"
    by_place = any(step[0] in ("index", "many", "slice") for one in selectors for step in one)
    if not by_place and not found.passed and not _accepted(found.resolved, came, rules):
        return f"seed {seed}: what was resolved does not pass: {stored!r} / {came!r} / {rules}"
    return "passed" if found.passed else "failed"


def _accepted(stored: Json, came: Json, rules: dict[str, Any]) -> bool:
    try:
        return ruled.compare(stored, came, rules).passed
    except InvalidInput:
        return True


@pytest.mark.parametrize("round", range(ROUNDS))
def test_what_no_rule_selects_is_compared_and_what_one_selects_is_not(round: int) -> None:
    wrong, counts = [], {"passed": 0, "failed": 0, "refused": 0}
    for seed in range(round, PAIRS, ROUNDS):
        shown = check(seed)
        if shown in counts:
            counts[shown] += 1
        else:
            wrong.append(shown)
    assert wrong == [], wrong[0]
    assert min(counts["passed"], counts["failed"]) > PAIRS / ROUNDS / 10
