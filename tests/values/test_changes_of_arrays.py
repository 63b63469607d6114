"""Which elements of an array are the same ones after a change."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.values.changes import match_elements

A, B, C = ({"id": n, "name": f"user {n}", "price": 10 + n} for n in range(3))


def like(row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**row, **changes}


CASES: list[tuple[list[Any], list[Any], list[int | None]]] = [
    ([1, 2, 3], [1, 2, 3], [0, 1, 2]),
    ([1, 2, 3], [0, 1, 2, 3], [None, 0, 1, 2]),
    ([1, 2, 3], [1, 3], [0, 2]),
    ([1, 2, 3], [1, 5, 3], [0, 1, 2]),
    ([1, 1, 1], [1, 1], [0, 1]),
    ([1, 1, 2, 1], [1, 2, 1, 1], [0, 2, 3, 1]),
    ([1, True, 1.0], [True, 1.0, 1], [1, 2, 0]),
    ([A, B, C], [C, A, B], [2, 0, 1]),
    ([A, B, C], [like(A, price=0), B, like(C, name="x")], [0, 1, 2]),
    ([A, B, C], [{"z": 1}, like(A, price=0), like(B, price=0), like(C, price=0)], [None, 0, 1, 2]),
    ([A, B, C], [like(C, price=0), A, B], [2, 0, 1]),
    ([A, B], [B, like(A, price=0), {"z": 1}], [1, 0, None]),
    ([A, [1], "x"], [A, {"k": 1}, "x"], [0, 1, 2]),
    ([], [1], [None]),
    ([1], [], []),
    ([[1, 2], [3, 4]], [[3, 4, 5], [1, 2]], [1, 0]),
]


@pytest.mark.parametrize(("old", "new", "found"), CASES)
def test_match_elements_finds_partners(old: list[Any], new: list[Any], found: list[int | None]) -> None:
    assert match_elements(old, new) == found


def test_match_elements_by_key() -> None:
    assert match_elements([A, B], [like(A, id=1), like(B, id=0)]) == [1, 0]
    swapped = [like(A, price=B["price"]), like(B, price=A["price"])]
    assert match_elements([A, B], swapped) == [0, 1]
    assert match_elements([A, B], swapped, "price") == [1, 0]
    assert match_elements([A, B], [like(A, id=7), B], "id") == [None, 1]
    assert match_elements([A, like(B, id=0), C], [like(B, id=0), A, C], "id") == [1, 0, 2], (
        "a key that two have"
    )
    assert match_elements([A, "x"], ["x", A], "id") == [1, 0]


def test_match_elements_many_changed_rows_by_identifying_field() -> None:
    old = [{"n": n, "price": n} for n in range(3_000)]
    new = [{"n": -1, "price": -1}, *({"n": n, "price": 0} for n in range(3_000))]
    assert match_elements(old, new) == [None, *range(3_000)]


@given(
    st.lists(st.sampled_from([0, 1, A, B, [1]]), max_size=9),
    st.lists(st.sampled_from([1, A, C, [1]]), max_size=9),
)
def test_match_elements_partners_are_unique_and_equal_ones_match(old: list[Any], new: list[Any]) -> None:
    found = [place for place in match_elements(old, new) if place is not None]
    assert len(found) == len({*found})
    assert match_elements(old, old) == [*range(len(old))]
    for value in (0, A, C):
        pairs = zip(match_elements(old, new), new, strict=True)
        equal = sum(place is not None and old[place] == value == row for place, row in pairs)
        assert equal == min(old.count(value), new.count(value))
