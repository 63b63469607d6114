"""Long arrays: what a reader would call one change is one difference, nothing takes quadratic time, and all
differences are counted."""

import os
import time
from typing import Any

import pytest
import ruled

from baselinekit.errors import CannotReplay
from baselinekit.matching.walk import MOST_KEPT
from baselinekit.model.values import Json


def rows(count: int, **more: Json) -> list[Json]:
    return [{"id": n, "name": f"row {n}", "tags": [n, "x"], **more} for n in range(count)]


def test_compare_row_removed_at_the_head_is_one_difference() -> None:
    assert ruled.shown(ruled.compare(rows(1000), rows(1000)[1:])) == [["[0]", "missing"]]
    loose = [{**row, "at": "<<any_string>>"} for row in rows(1000)]
    found = ruled.compare(loose, rows(1000, at="now")[1:])
    assert ruled.shown(found) == [["[0]", "missing"]]
    assert found.resolved == loose[1:]


def test_compare_moved_row_is_one_order_difference() -> None:
    changed = rows(1000)
    changed.insert(900, changed.pop(100))
    found = ruled.compare(rows(1000), changed)
    assert ruled.shown(found) == [["[900]", "order"]]
    assert found.differences[0].at == (100,)
    assert found.differences[0].note == "moved from [100]; `arrays: {'$': unordered}` allows any order"


@pytest.mark.parametrize(
    ("expected", "actual", "sides", "note"),
    [
        (["a", "b", "c", "d"], ["d", "b", "c", "a"], None, "the same 4 elements"),
        ([3, 1, 2], [2, 1, 3.0], None, "the same 3 elements"),
        (rows(3), rows(3)[::-1], ([0, 1, 2], [2, 1, 0]), "the same 3 elements by their old places"),
        ([{"v": n // 2} for n in range(4)], [{"v": n // 2} for n in (2, 3, 0, 1)],
         ([0, 1, 2, 3], [2, 3, 0, 1]), "the same 4 elements by their old places"),
        (list(range(1000)), list(range(1000))[::-1], None, "the same 1,000 elements"),
    ],
)  # fmt: skip
def test_compare_reordered_array_is_one_order_difference(
    expected: list[object], actual: list[object], sides: tuple[object, object] | None, note: str
) -> None:
    found = ruled.compare(expected, actual)
    assert ruled.shown(found) == [["$", "order"]]
    (difference,) = found.differences
    assert difference.note == f"{note}; `arrays: {{'$': unordered}}` allows any order"
    assert sides is None or (difference.expected, difference.actual) == sides
    assert found.resolved != expected
    assert sorted(map(str, found.resolved)) == sorted(map(str, expected))  # with its placeholders
    assert ruled.compare(found.resolved, actual).passed
    assert ruled.compare(expected, actual, {"arrays": {"$": "unordered"}}).passed


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ([1, 2, 3], [3, 2, 4]),  # another element
        ([1, 1, 2], [2, 2, 1]),  # as often
        (["a", "<<any_integer as n>>", "<<any_integer as n>>"], [2, 1, "a"]),  # what is bound counts
        ([True, 2, 3], [3, 2, 1]),
    ],
)
def test_compare_changed_elements_are_not_a_reordering(expected: list[object], actual: list[object]) -> None:
    assert ["$", "order"] not in ruled.shown(ruled.compare(expected, actual))


def test_compare_exact_reordered_array_proposes_no_rule() -> None:
    found = ruled.compare(["a", "b", "c"], ["c", "b", "a"], {"type": "exact"})
    assert found.differences[0].note == "the same 3 elements; an exact comparison counts their order"
    assert ["$", "order"] not in ruled.shown(ruled.compare([1, 2, 3], [3, 2, 1.0], {"type": "exact"}))


def test_order_difference_note_proposes_rule_that_works() -> None:
    inner = [{"id": 1, "tags": ["a", "b", "c"]}, {"id": 2, "tags": []}]
    came = [{"id": 1, "tags": ["c", "b", "a"]}, {"id": 2, "tags": []}]
    (difference,) = ruled.compare({"rows": inner}, {"rows": came}).differences
    assert difference.note == "the same 3 elements; `arrays: {'rows[*].tags': unordered}` allows any order"
    assert ruled.compare({"rows": inner}, {"rows": came}, {"arrays": {"rows[*].tags": "unordered"}}).passed


def test_compare_changed_rows_are_one_difference_each() -> None:
    changed = rows(1000)
    changed[700]["name"] = "other"  # type: ignore[index]
    del changed[400]
    changed.insert(50, {"id": "new"})
    assert ruled.shown(ruled.compare(rows(1000), changed)) == [
        ["[400]", "missing"], ["[700].name", "value"], ["[50]", "extra"],
    ]  # fmt: skip


def test_compare_renamed_row_is_paired_by_email() -> None:
    before = [{"name": name, "email": f"{name}@x", "n": 1} for name in ("ada", "grace", "alan")]
    after = [row | ({"name": "grace b."} if row["name"] == "grace" else {}) for row in before]
    assert ruled.shown(ruled.compare(before, after)) == [["[1].name", "value"]]


HOSTILE: list[tuple[str, list[Json], list[Json], dict[str, Any]]] = [
    ("few values, shifted", [0, 1] * 10_000, [1, 0] * 10_000 + [7], {}),
    ("all alike", [0] * 20_000, [0] * 19_000, {}),
    ("nothing in common", list(range(20_000)), list(range(-1, -20_000, -1)), {}),
    ("reversed", list(range(10_000)), list(range(10_000, 0, -1)), {}),
    ("rows with nothing in common", rows(5_000), [{"key": n} for n in range(5_000)], {}),
    ("unordered, shuffled", rows(10_000), rows(10_000)[::-1], {"arrays": {"$": "unordered"}}),
    ("unordered, loose", [{**r, "at": "<<any>>"} for r in rows(10_000)], rows(10_000, at=1)[::-1],
     {"arrays": {"$": "unordered"}}),
    ("unordered, all changed", rows(3_000), [{"k": n} for n in range(3_000)], {"arrays": {"$": "subset"}}),
    ("unordered, too few partners", ["<<any>>"] * 1_200, [1] * 600, {"arrays": {"$": "unordered"}}),
    ("by key", rows(10_000), rows(10_000)[::-1], {"arrays": {"$": {"by": "id"}}}),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "before", "after", "rules"), HOSTILE, ids=[case[0] for case in HOSTILE])
def test_compare_long_arrays_takes_no_quadratic_time(
    name: str, before: list[Json], after: list[Json], rules: dict[str, Any]
) -> None:
    """F55."""
    began = time.process_time()
    ruled.compare(before, after, rules)
    assert time.process_time() - began < 8


def test_compare_counts_all_differences_and_keeps_the_first() -> None:
    """F09."""
    before = {f"k{n:05}": n for n in range(12_345)}
    after = {key: value + 1 for key, value in before.items()}
    found = ruled.compare(before, after)
    assert found.count == 12_345
    assert len(found.differences) == MOST_KEPT == 10_000
    assert found.differences[0].path == ("k00000",)
    assert found.resolved == after
    assert not found.passed


def test_compare_unordered_one_broken_row_among_equal_ones_is_a_difference() -> None:
    many = [{"at": "<<any_integer>>"}] * 1_500
    found = ruled.compare({"body": {"rows": many}}, {"body": {"rows": [{"at": "x"}] + [{"at": 1}] * 1_499}},
                          {"arrays": {"body.rows": "unordered"}})  # fmt: skip
    assert ruled.shown(found) == [["body.rows[0].at", "value"]]


@pytest.mark.slow
def test_compare_unordered_too_many_ambiguous_rows_is_an_error() -> None:
    """Each stored row accepts other values, and no two rows of the answer are alike: it would pass."""
    stored = [{"at": f"<<any_integer({n}, {10**6 + n})>>"} for n in range(2_100)]
    actual = [{"at": n} for n in reversed(range(2_100))]
    with pytest.raises(CannotReplay, match=r"BK231 .*body\.rows.* has too many rows"):
        ruled.compare(
            {"body": {"rows": stored}}, {"body": {"rows": actual}}, {"arrays": {"body.rows": "unordered"}}
        )


def test_compare_unordered_conflicting_bindings_fail() -> None:
    stored = [{"a": f"<<any as k{n}>>"} for n in range(9)] + [{"a": "<<any as k0>>"}]
    actual = [{"a": n} for n in range(10)]
    assert not ruled.compare(stored, actual, {"arrays": {"$": "unordered"}}).passed
    assert ruled.compare(stored, [*actual[:9], {"a": 4}], {"arrays": {"$": "unordered"}}).passed


@pytest.mark.slow
def test_compare_nested_unordered_arrays_stops_at_limit() -> None:
    """Two million trials are an error. Ordinarily most of them are taken for made."""
    inner = ["<<any_string>>"] * 20
    stored = {"rows": [{"inner": [*inner, f"<<one_of({n})>>"]} for n in range(1_200)]}
    actual = {"rows": [{"inner": [*(f"{n}-{m}" for m in range(20)), -1]} for n in range(1_200)]}
    matcher = ruled.matcher(stored, {"arrays": {"rows": "unordered", "rows.*.inner": "unordered"}})
    walk = matcher.new_walk()
    walk.trials = 0 if os.environ.get("BASELINEKIT_THOROUGH") else 1_950_000
    began = time.thread_time()
    with pytest.raises(CannotReplay, match=r"BK231 .* too many rows"):
        matcher.walk(walk, actual)
    assert time.thread_time() - began < 60


def test_compare_subset_optional_row_may_be_absent() -> None:
    rules = {"arrays": {"$": "subset"}}
    assert ruled.compare(["<<any as k>>", "<<any as k>>", "<<any_integer?>>"], [1, "xa", 1], rules).passed


def test_compare_resolved_moved_row_keeps_bindings() -> None:
    before = [{"a": "x"}, "<<any as m>>", {"c": 1}, "<<any as m>>"]
    after = [1, {"c": 1}, 1, {"a": "x"}]
    assert ruled.compare(ruled.compare(before, after).resolved, after).passed


def test_compare_ignored_binding_does_not_separate_rows() -> None:
    stored = [{"a": "<<any as k>>", "c": "<<any as k>>"}, {"a": 1, "c": "<<any_integer as k>>"}]
    stored += [{"a": "<<any as k>>", "c": 1}]
    rules = {"ignore_fields": ["*.a"], "arrays": {"$": "subset"}}
    assert not ruled.compare(stored, [{"a": 1, "c": 1}, {"a": 1, "c": 1}, {"a": 1, "c": "A"}], rules).passed
    assert ruled.compare(stored, [{"a": 1, "c": 1}, {"a": 2, "c": 1}, {"a": 3, "c": 1}], rules).passed
