"""Rows that are all alike are judged by their columns: that finds what looking into each row finds."""

from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import ruled
from hypothesis import given, settings, strategies as st

from baselinekit.matching.columnar import ColumnarArray
from baselinekit.matching.dispatch import Matcher
from baselinekit.matching.objects import Object
from baselinekit.matching.unordered import Unordered
from baselinekit.matching.values import Literal, Node, Walk
from baselinekit.model.values import Json

pytestmark = pytest.mark.slow

VALUES = st.sampled_from(
    [0, 1, True, False, 1.0, -0.0, 0.0, 2**53, float(2**53), "a", "A", None, [1], [True], {"k": 0}]
)
Changes = list[tuple[int, str, Json]]
CHANGES = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("xyz"), VALUES), max_size=3)
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=4, max_size=6)
MODES: list[dict[str, Any]] = [
    {},
    {"type": "exact"},
    {"options": {"case_sensitive": False}},
    {"options": {"allow_additional_fields": True}},
    {"tolerance": {"**": {"abs": 1}}},
]


def rows_of(values: list[tuple[Json, ...]], loose: bool) -> list[Json]:
    more = {"any": "<<any_integer>>"} if loose else {}
    return [{"id": f"row {n}", "x": x, "y": y, "in": {"z": z}, **more} for n, (x, y, z) in enumerate(values)]


def answered(rows: list[Json], changes: Changes) -> list[Json]:
    """What these rows accept, but for the changes."""
    actual = [{**deepcopy(row), **({"any": n} if "any" in row else {})} for n, row in enumerate(rows)]
    for n, key, value in changes:
        row = actual[n % len(actual)]
        (row["in"] if key == "z" else row)[key] = value
    return actual


def alike(rows: list[Json], rules: dict[str, Any]) -> tuple[ColumnarArray | None, Matcher]:
    """The node of such rows; opened, if they are literal."""
    matcher = ruled.matcher({"rows": rows}, rules)
    root = matcher.root
    if isinstance(root, Literal):
        root = matcher.compiler.open(rows, root.mode, root.state.step("rows", rows, 1), None)
    elif isinstance(root, Object):
        root = dict(root.nodes)["rows"]
    return (root if isinstance(root, ColumnarArray) else None), matcher


def walked(node: Node, actual: list[Json], matcher: Matcher) -> tuple[int, list[str], Json]:
    walk = Walk(matcher.compiler.open, False)
    resolved = node.walk(actual, walk, None)
    return walk.count, sorted(map(repr, walk.differences)), resolved


@given(ROWS, CHANGES, st.booleans(), st.sampled_from(MODES))
@settings(max_examples=300)
def test_by_columns_and_row_by_row_they_find_the_same(
    values: list[tuple[Json, ...]], changes: Changes, loose: bool, rules: dict[str, Any]
) -> None:
    rows = rows_of(values, loose)
    actual = answered(rows, changes)
    node, matcher = alike(rows, rules)
    if node is not None:
        assert walked(node, actual, matcher) == walked(node.make(), actual, matcher)


@given(ROWS, CHANGES, st.booleans(), st.sampled_from(MODES), st.randoms())
@settings(max_examples=300)
def test_in_any_order_they_find_the_same_partners(
    values: list[tuple[Json, ...]], changes: Changes, loose: bool, rules: dict[str, Any], random: Random
) -> None:
    if rules.get("type") == "exact":
        return
    rows = rows_of(values, loose)
    actual = answered(rows, changes)
    random.shuffle(actual)
    node, matcher = alike(rows, rules | {"arrays": {"rows": "unordered"}})
    if node is not None:
        row_by_row = node.make()
        assert isinstance(row_by_row, Unordered)
        quick = walked(node, actual, matcher)
        assert quick == walked(replace(row_by_row, columns=None), actual, matcher)


def test_in_any_order_a_nested_value_belongs_to_its_row() -> None:
    rows = [{"x": n, "in": {"any": "<<any_integer>>", "y": n}} for n in range(4)]
    right = [{"x": n, "in": {"any": 7, "y": n}} for n in (2, 0, 3, 1)]
    wrong = [{"x": n, "in": {"any": 7, "y": m}} for n, m in ((2, 0), (0, 1), (3, 2), (1, 3))]
    rules = {"arrays": {"rows": "unordered"}}
    assert ruled.compare({"rows": rows}, {"rows": right}, rules).passed
    assert ruled.compare({"rows": rows}, {"rows": wrong}, rules).count == 4


def test_rows_that_only_numbers_of_another_type_tell_apart_are_still_found() -> None:
    """Half of them have equal bytes: the other half is not tried one by one."""
    rows = [{"tags": [n, n]} for n in range(4_000)]
    actual = [{"tags": [n, n]} if n % 2 else {"tags": [float(n), n]} for n in reversed(range(4_000))]
    assert ruled.compare({"rows": rows}, {"rows": actual}, {"arrays": {"rows": "unordered"}}).passed
