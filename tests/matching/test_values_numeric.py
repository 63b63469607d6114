"""`type: numeric`: the numbers of the baseline, each in its place, and nothing else."""

from typing import Any

import pytest
import ruled

from baselinekit.model.values import Json
from baselinekit.values.places import places, with_values

NUMERIC = {"type": "numeric"}
ROW = ["cpu", 0.93, 7]
BY_K = {"arrays": {"$": {"by": "k"}}}
CASES: list[tuple[str, Json, Json, dict[str, Any], bool]] = [
    ("another text", ROW, ["gpu", 0.93, 7], {}, True),
    ("one less at the head", ROW, [0.93, 7], {}, False),
    ("one more at the head", ROW, ["x", "cpu", 0.93, 7], {}, False),
    ("one more at the end", ROW, [*ROW, 9], {}, True),
    ("one optional is absent", ["<<any_integer?>>", 5], [5], {}, False),
    ("an optional one at the end", [5, "<<any_integer?>>"], [5], {}, True),
    ("an array of texts is missing", {"a": 1, "b": ["x"]}, {"a": 1}, {}, True),
    ("a number became an object", {"a": 1}, {"a": {"value": 1}}, {}, False),
    ("missing, with a tolerance", ROW, [0.93, 7], {"tolerance": {"*": {"abs": 10}}}, False),
    ("a group", {"g": {"a": 1, "b": [2]}}, {"g": {"a": 2, "b": [3]}}, {"tolerance": {"g": {"abs": 1}}}, True),
    ("no bound at all", {"a": 1}, {"a": 10**9}, {"tolerance": {"a": {}}}, True),
    ("a slice of another length selects other places",
     {"t": ["red", 1, 1, True], "n": 1}, {"t": [1, 1, True], "n": 1}, {"ignore_fields": ["$.t[:-1]"]}, False),
    ("and so do places from the end", {"t": [{}, {"n": 3}, {"n": 3}, {}]},
     {"t": [{}, {"n": 3}, {"n": 2.5}, {}, {"n": 3}]}, {"ignore_values": ["$.t[-2:]"]}, False),
    ("any number of what a rule leaves out, beside a filter",
     {"t": [{"n": 1}, {"n": 2}], "n": 1}, {"t": [{"n": 1}], "n": 1},
     {"ignore_values": ["t.*"], "tolerance": {"$.t[?(@.m == @.k)].n": {"abs": 1}}}, True),
    ("what both select is left out", {"t": [1, 2]}, {"t": [9, 2, "y"]}, {"ignore_fields": ["$.t[0]"]}, True),
    ("in any order", ROW, [7, "cpu", 0.93], {"arrays": {"$": "unordered"}}, True),
    ("null for the array", ROW, None, {}, False),
    ("in any order, a number less", ROW, ["cpu", 7, "x"], {"arrays": {"$": "unordered"}}, False),
    ("in any order, one more", ROW, [7, "cpu", 0.93, 1], {"arrays": {"$": "unordered"}}, False),
    ("in any order, further ones allowed", ROW, [7, "cpu", 1, 0.93], {"arrays": {"$": "subset"}}, True),
    ("by a key, a row less", [{"k": "a", "n": 1}, {"k": "b", "n": 2}], [{"k": "b", "n": 2}], BY_K, False),
    ("by a key", [{"k": "a", "n": 1}], [{"k": "b", "n": 9}, {"k": "a", "n": 1}], BY_K, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "rules", "passes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_numeric_compares_numbers(expected: Json, actual: Json, rules: dict[str, Any], passes: bool) -> None:
    assert ruled.compare(expected, actual, NUMERIC | rules).passed is passes


def test_numeric_field_rule_compares_numbers_in_place() -> None:
    rules = {"fields": {"x": {"type": "numeric"}}}
    for came, passes in ((["gpu", 0.93, 7], True), ([0.93, 7], False)):
        assert ruled.compare({"x": ROW, "y": "z"}, {"x": came, "y": "z"}, rules).passed is passes


@pytest.mark.parametrize(
    "stored", [{"a": 1}, [1], {"a": [1]}, [{"a": 1}], [{"a": 1, "b": "<<any>>"}] * 5, [{"a": 1}] * 5]
)
@pytest.mark.parametrize("rules", [{"type": "numeric"}, {"type": "structural"}])
@pytest.mark.parametrize("bounds", [{"min_delta": 1}, {"max_delta": -1}])
def test_tolerance_requiring_change_fails_for_same_number(
    stored: Json, rules: dict[str, Any], bounds: dict[str, int]
) -> None:
    rules = {**rules, "tolerance": {"*": bounds}}
    assert not ruled.compare(stored, stored, rules).passed
    by = next(iter(bounds.values()))
    moved = {path: held + by for path, held in places(stored) if isinstance(held, int)}
    assert ruled.compare(stored, with_values(stored, moved), rules).passed
