"""Laws that hold for every JSON value: nothing differs from itself, comparing changes nothing, and a matcher
that reports that it compares everything finds another value at any place."""

import copy
import json
from decimal import Decimal
from typing import Any

import pytest
import ruled
from hypothesis import given, strategies as st

from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import escape_value
from baselinekit.values.equality import bytes_of, identical, same_json
from baselinekit.values.places import places, with_values

pytestmark = pytest.mark.slow

TEXTS = st.one_of(
    st.text(max_size=6),
    st.lists(
        st.sampled_from(["<<", "any", ">>", "\\", "{{any_", "}}", "<", "(", "'", "x", "\r\n", " "]),
        max_size=7,
    ).map("".join),
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, -0.0, 2**53 + 1, Decimal("1e400"), Decimal("0.1000000000000000055"), 10**300])
    | TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS, below, max_size=4),
    max_leaves=12,
)
WAYS: list[dict[str, Any]] = [
    {},
    {"type": "exact"},
    {"type": "numeric"},
    {"type": "semantic", "method": "words"},
    {"options": {"allow_field_reordering": False}},
    {"options": {"case_sensitive": False, "trim_whitespace": True}},
    {"tolerance": {"*": {"abs": 0}}},
    {"ignore_fields": ["**.nothing"]},
    {"arrays": {"**": "unordered"}},
    {"arrays": {"**": "subset"}},
]


@given(JSON)
@pytest.mark.parametrize("way", WAYS, ids=json.dumps)
def test_compare_value_with_itself_passes(way: dict[str, Any], value: Json) -> None:
    if way.get("type") == "numeric":
        value = [value, 7]  # a baseline without a number could not fail
    written = escape_value(value)
    before = copy.deepcopy((written, value))
    found = ruled.compare(written, value, way)
    assert (found.passed, found.count, found.differences) == (True, 0, ())
    assert found.resolved is written
    assert repr((written, value)) == repr(before)


@given(JSON, JSON)
def test_compare_passes_exactly_for_same_json(left: Json, right: Json) -> None:
    before = copy.deepcopy((left, right))
    assert ruled.compare(escape_value(left), right).passed == same_json(left, right)
    found = ruled.compare(escape_value(left), right)
    again = ruled.compare(found.resolved, right)
    assert again.passed
    assert repr((left, right)) == repr(before)


@given(JSON, JSON)
def test_identical_values_are_same_json(left: Json, right: Json) -> None:
    assert identical(left, copy.deepcopy(left))
    if identical(left, right):
        assert same_json(left, right)
        assert repr(left) == repr(right) or left == 0  # -0.0 is 0.0


@pytest.mark.parametrize(
    ("left", "right"),
    [([1], [True]), ([1], [1.0]), ([0], [False]), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), ([2**70], [2.0**70])],
)
def test_bytes_of_differ_by_type_and_key_order(left: Json, right: Json) -> None:
    assert left == right
    assert bytes_of(left) != bytes_of(right)


@given(
    st.sampled_from(["skill", "http"]),
    JSON,
    st.sampled_from([{}, {"type": "exact"}, {"require_keys": ["a"]}]),
)
def test_plain_matcher_finds_changed_value_at_every_place(
    kind: str, value: Json, rules: dict[str, Any]
) -> None:
    output: Json = {"status": 200, "headers": {"ETag": "x", "content-type": "a/b; c=d"}, "body": value}
    output = output if kind == "http" else {"a": value, "b": ""}
    matcher = ruled.matcher(escape_value(output), rules, kind)
    leaves = [path for path, leaf in places(output) if not isinstance(leaf, dict | list)]
    changed = with_values(output, dict.fromkeys(leaves, "\0"))
    found = {difference.at for difference in matcher.compare(Observation(changed, 0.0)).differences}
    assert not matcher.is_plain or found >= set(leaves)


@pytest.mark.parametrize(
    ("output", "rules"),
    [
        ({"a": "<<any>>"}, {}),
        ({"a": 1}, {"type": "numeric"}),
        ({"a": "x"}, {"type": "semantic", "method": "words"}),
        ({"a": 1, "b": 2}, {"ignore_fields": ["a"]}),
        ({"a": 1}, {"ignore_values": ["a"]}),
        ({"a": 1}, {"tolerance": {"a": {"abs": 1}}}),
        ({"a": 1}, {"tolerance": {"case_sensitive": False}}),
        ({"a": 1}, {"options": {}}),
        ({"a": [{"id": 1}]}, {"arrays": {"a": {"by": "id"}}}),
        ({"a": "x"}, {"fields": {"a": {"type": "semantic", "method": "words"}}}),
    ],
)
def test_matcher_with_loosening_rule_is_not_plain(output: Json, rules: dict[str, Any]) -> None:
    assert ruled.matcher({"b": 1}, {}).is_plain
    assert not ruled.matcher(output, rules).is_plain
