"""`type: numeric`: the numbers of the baseline, each in its place, and nothing else."""

from typing import Any

import pytest
import ruled
from hypothesis import given, strategies as st

from baselinekit.model.values import Json
from baselinekit.values.equality import is_number, same_number

NUMERIC = {"type": "numeric"}
ROW = ["cpu", 0.93, 7]
CASES: list[tuple[str, Json, Json, dict[str, Any], bool]] = [
    ("the same", ROW, ["cpu", 0.93, 7], {}, True),
    ("another text", ROW, ["gpu", 0.93, 7], {}, True),
    ("a number for the text", ROW, [1, 0.93, 7], {}, True),
    ("one less at the head", ROW, [0.93, 7], {}, False),
    ("one less at the end", ROW, ["cpu", 0.93], {}, False),
    ("one less in between", ROW, ["cpu", 7], {}, False),
    ("one more at the head", ROW, ["x", "cpu", 0.93, 7], {}, False),
    ("one more at the end", ROW, [*ROW, 9], {}, True),
    ("a text at the end is missing", [1, "x"], [1], {}, True),
    ("nothing left", ROW, [], {}, False),
    ("null for the array", ROW, None, {}, False),
    ("an object for the array", ROW, {"0": "cpu"}, {}, False),
    ("one optional is absent", ["<<any_integer?>>", 5], [5], {}, False),
    ("an optional one at the end", [5, "<<any_integer?>>"], [5], {}, True),
    ("a key is missing", {"a": 1, "b": 2}, {"a": 1}, {}, False),
    ("a further key", {"a": 1}, {"a": 1, "b": 2}, {}, True),
    ("a text is missing", {"a": 1, "b": "x"}, {"a": 1}, {}, True),
    ("an array of numbers is missing", {"a": 1, "b": [2]}, {"a": 1}, {}, False),
    ("an array of texts is missing", {"a": 1, "b": ["x"]}, {"a": 1}, {}, True),
    ("an empty array is missing", {"a": 1, "b": []}, {"a": 1}, {}, True),
    ("a number became a text", {"a": 0.93}, {"a": "0.93"}, {}, False),
    ("a number became null", {"a": 1}, {"a": None}, {}, False),
    ("a number became true", {"a": 1}, {"a": True}, {}, False),
    ("a number became an object", {"a": 1}, {"a": {"value": 1}}, {}, False),
    ("a number became an array", {"a": 1}, {"a": [1]}, {}, False),
    ("a number became NaN", {"a": 1}, {"a": float("nan")}, {}, False),
    ("an object became a number", {"a": {"b": 1}, "c": 1}, {"a": 1, "c": 1}, {}, False),
    ("1 and 1.0", {"a": 1}, {"a": 1.0}, {}, True),
    ("in its tolerance", ROW, ["cpu", 0.95, 7], {"tolerance": {"*": {"abs": 0.1}}}, True),
    ("a text in its tolerance", ROW, ["cpu", "0.93", 7], {"tolerance": {"*": {"abs": 0.1}}}, False),
    ("missing, with a tolerance", ROW, [0.93, 7], {"tolerance": {"*": {"abs": 10}}}, False),
    ("a group", {"g": {"a": 1, "b": [2]}}, {"g": {"a": 2, "b": [3]}}, {"tolerance": {"g": {"abs": 1}}}, True),
    (
        "missing in a group",
        {"g": {"a": 1, "b": [2]}},
        {"g": {"a": 2}},
        {"tolerance": {"g": {"abs": 1}}},
        False,
    ),
    ("no bound at all", {"a": 1}, {"a": 10**9}, {"tolerance": {"a": {}}}, True),
    ("no bound, and a text", {"a": 1}, {"a": "1"}, {"tolerance": {"a": {}}}, False),
    ("no bound, and missing", {"a": 1, "b": 1}, {"b": 1}, {"tolerance": {"a": {}}}, False),
    (
        "a slice of another length selects other places",
        {"t": ["red", 1, 1, True], "n": 1},
        {"t": [1, 1, True], "n": 1},
        {"ignore_fields": ["$.t[:-1]"]},
        False,
    ),
    (
        "and so do places from the end",
        {"t": [{}, {"n": 3}, {"n": 3}, {}]},
        {"t": [{}, {"n": 3}, {"n": 2.5}, {}, {"n": 3}]},
        {"ignore_values": ["$.t[-2:]"]},
        False,
    ),
    (
        "and an index from the end",
        {"t": [1, 1.0, None]},
        {"t": [{"id": 2}, 1, 1.0, None, {"id": 2}]},
        {"ignore_fields": ["$.t[-3]"]},
        False,
    ),
    (
        "any number of what a rule leaves out, beside a filter",
        {"t": [{"n": 1}, {"n": 2}], "n": 1},
        {"t": [{"n": 1}], "n": 1},
        {"ignore_values": ["t.*"], "tolerance": {"$.t[?(@.m == @.k)].n": {"abs": 1}}},
        True,
    ),
    (
        "what both sides select stays left out",
        {"t": [1, 2, "x"]},
        {"t": [9, 2, "x", "y"]},
        {"ignore_fields": ["$.t[0]"]},
        True,
    ),
    ("in any order", ROW, [7, "cpu", 0.93], {"arrays": {"$": "unordered"}}, True),
    ("in any order, a number less", ROW, ["cpu", 7, "x"], {"arrays": {"$": "unordered"}}, False),
    ("in any order, one more", ROW, [7, "cpu", 0.93, 1], {"arrays": {"$": "unordered"}}, False),
    ("in any order, further ones allowed", ROW, [7, "cpu", 1, 0.93], {"arrays": {"$": "subset"}}, True),
    ("in any order, twice", [1, 1, "x"], [1, 2, "x"], {"arrays": {"$": "unordered"}}, False),
    (
        "by a key",
        [{"k": "a", "n": 1}],
        [{"k": "b", "n": 9}, {"k": "a", "n": 1}],
        {"arrays": {"$": {"by": "k"}}},
        False,
    ),
    (
        "by a key, a row less",
        [{"k": "a", "n": 1}, {"k": "b", "n": 2}],
        [{"k": "b", "n": 2}],
        {"arrays": {"$": {"by": "k"}}},
        False,
    ),
    ("by a key, a number less", [{"k": "a", "n": 1}], [{"k": "a"}], {"arrays": {"$": {"by": "k"}}}, False),
]


@pytest.mark.parametrize(
    ("expected", "actual", "rules", "passes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_numbers_in_their_places(expected: Json, actual: Json, rules: dict[str, Any], passes: bool) -> None:
    assert ruled.compare(expected, actual, NUMERIC | rules).passed is passes


@pytest.mark.parametrize(
    ("expected", "actual", "passes"), [(case[1], case[2], case[4]) for case in CASES if not case[3]]
)
def test_below_a_field_of_its_own(expected: Json, actual: Json, passes: bool) -> None:
    rules = {"fields": {"x": {"type": "numeric"}}}
    assert ruled.compare({"x": expected, "y": "z"}, {"x": actual, "y": "z"}, rules).passed is passes


def test_what_is_not_compared_is_told() -> None:
    reports = ruled.compare(ROW, ["cpu", 0.93, 7], NUMERIC).reports
    assert [report.message for report in reports] == [
        "1 value other than numbers: not compared (type: numeric)"
    ]


@pytest.mark.parametrize(
    "stored", [{"a": 1}, [1], {"a": [1]}, [{"a": 1}], [{"a": 1, "b": "<<any>>"}] * 5, [{"a": 1}] * 5]
)
@pytest.mark.parametrize("rules", [{"type": "numeric"}, {"type": "structural"}])
@pytest.mark.parametrize("bounds", [{"min_delta": 1}, {"max_delta": -1}])
def test_a_tolerance_that_asks_for_a_change_is_not_met_by_the_same_number(
    stored: Json, rules: dict[str, Any], bounds: dict[str, int]
) -> None:
    rules = {**rules, "tolerance": {"*": bounds}}
    assert not ruled.compare(stored, stored, rules).passed
    moved = _moved(stored, next(iter(bounds.values())))
    assert ruled.compare(stored, moved, rules).passed


def _moved(value: Json, by: int) -> Json:
    if isinstance(value, dict):
        return {key: _moved(item, by) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, by) for item in value]
    return value + by if isinstance(value, int) else value


LEAVES = st.sampled_from(["x", "1", None, True, 0, 1, 1.0, 2, 0.5])
DOCUMENTS = st.recursive(
    LEAVES,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from("abc"), below, max_size=3),
    max_leaves=10,
)


def numbers_hold(expected: Json, actual: Json) -> bool:
    """What the sentence says, and no more."""
    if not has_numbers(expected):
        return True
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            not has_numbers(value) or (key in actual and numbers_hold(value, actual[key]))
            for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(actual, list) and all(
            not has_numbers(value) or (place < len(actual) and numbers_hold(value, actual[place]))
            for place, value in enumerate(expected)
        )
    return is_number(actual) and same_number(expected, actual)


def has_numbers(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(has_numbers, value.values() if isinstance(value, dict) else value))
    return is_number(value)


@given(DOCUMENTS, DOCUMENTS, st.randoms(use_true_random=False))
def test_as_the_sentence_says(expected: Json, other: Json, chance: Any) -> None:
    stored = {"x": expected, "n": 5}
    actual = {"x": other if chance.random() < 0.2 else changed(expected, chance), "n": 5}
    assert ruled.compare(stored, actual, NUMERIC).passed is numbers_hold(stored, actual)


def changed(value: Json, chance: Any) -> Json:
    """Something like a value: a leaf is another one, an element is gone or has come."""
    if isinstance(value, dict):
        return {key: changed(item, chance) for key, item in value.items() if chance.random() < 0.95}
    if isinstance(value, list):
        items = [changed(item, chance) for item in value if chance.random() < 0.9]
        return [*items, 1] if chance.random() < 0.1 else items
    return chance.choice(["x", None, True, 1, 2]) if chance.random() < 0.1 else value
