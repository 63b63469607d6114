"""Resolved: what came back, seen through the template. What matched keeps the author's text."""

from typing import Any

import pytest
import ruled

from baselinekit.model.values import Json

UNORDERED = {"arrays": {"$": "unordered"}}
BY_ID = {"arrays": {"$": {"by": "id"}}}

CASES: list[tuple[str, Json, Json, dict[str, Any], Json]] = [
    ("a placeholder that matched stays, also beside what changed",
     {"id": "<<any_integer>>", "n": 1}, {"id": 5, "n": 2}, {}, {"id": "<<any_integer>>", "n": 2}),
    ("what came is escaped",
     {"a": 1}, {"a": "<<any>>", "b": ["{{any_uuid}}"]}, {}, {"a": r"\<<any>>", "b": [r"\{{any_uuid}}"]}),
    ("an escape that matched stays",
     {"a": r"\<<any>>", "b": 1}, {"a": "<<any>>", "b": 2}, {}, {"a": r"\<<any>>", "b": 2}),
    ("what is new stands behind what it follows",
     {"a": 1, "old": 2, "b": "<<any>>"}, {"z": 0, "a": 1, "new": 2, "b": 5, "c": 3}, {},
     {"z": 0, "a": 1, "new": 2, "b": "<<any>>", "c": 3}),
    ("what may be absent stays",
     {"a": "<<any?>>", "b": 1}, {"b": 2}, {}, {"a": "<<any?>>", "b": 2}),
    ("what is ignored stays as it was",
     {"at": 1, "b": 1}, {"at": 9, "b": 2}, {"ignore_fields": ["at"]}, {"at": 1, "b": 2}),
    ("what is tolerated stays as it was",
     {"n": 1, "m": 1}, {"n": 1.5, "m": 9}, {"tolerance": {"*": {"abs": 1}}}, {"n": 1, "m": 9}),
    ("what only is worded otherwise stays as it was",
     {"t": "Hello there, World", "n": 1}, {"t": "hello there world", "n": 2},
     {"type": "semantic", "method": "words"},
     {"t": "Hello there, World", "n": 2}),
    ("further keys that are allowed are not taken over",
     {"a": 1}, {"a": 2, "b": 1}, {"options": {"allow_additional_fields": True}}, {"a": 2}),
    ("rows keep their placeholders when others go",
     [{"id": "<<any>>", "n": 1}, {"id": "<<any>>", "n": 2}, {"id": "<<any>>", "n": 3}],
     [{"id": 7, "n": 2}, {"id": 8, "n": 4}], {},
     [{"id": "<<any>>", "n": 2}, {"id": "<<any>>", "n": 4}]),
    ("a moved row is the author's row",
     [{"n": 1, "t": "<<any>>"}, {"n": 2}, {"n": 3}], [{"n": 2}, {"n": 3}, {"n": 1, "t": 5}], {},
     [{"n": 2}, {"n": 3}, {"n": 1, "t": "<<any>>"}]),
    ("rows in free order stand where the author has them",
     [{"k": 1, "t": "<<any>>"}, {"k": 2, "t": "<<any>>"}], [{"k": 2, "t": 5}, {"k": 3, "t": 6}], UNORDERED,
     [{"k": 3, "t": "<<any>>"}, {"k": 2, "t": "<<any>>"}]),
    ("elements keep what the template said of them",
     [{"id": "<<any_integer>>", "n": 1}], [{"id": 1, "n": 1}, {"id": "x", "n": 1}], {},
     [{"id": "<<any_integer>>", "n": 1}, {"id": "x", "n": 1}]),
    ("in the order that came, where order counts",
     {"a": 1, "b": "<<any>>"}, {"b": 5, "a": 1}, {"options": {"allow_field_reordering": False}},
     {"b": "<<any>>", "a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected", "actual", "rules", "resolved"), CASES, ids=[case[0] for case in CASES]
)
def test_compare_resolved_is_the_refreshed_template(
    name: str, expected: Json, actual: Json, rules: dict[str, Any], resolved: Json
) -> None:
    found = ruled.compare(expected, actual, rules)
    assert not found.passed
    assert repr(found.resolved) == repr(resolved)
    assert ruled.compare(found.resolved, actual, rules).passed


def test_resolved_unchanged_part_is_the_same_object() -> None:
    expected = {"a": {"x": ["<<any_integer>>", 2]}, "b": {"y": 1}}
    found = ruled.compare(expected, {"a": {"x": [1, 2]}, "b": {"y": 2}})
    assert found.resolved["a"] is expected["a"]
    assert ruled.compare(expected, {"a": {"x": [1, 2]}, "b": {"y": 1}}).resolved is expected
