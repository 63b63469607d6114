"""Matchings of rows to columns are as large as can be."""

from hypothesis import given, strategies as st

from baselinekit.values.alignment import pair_most


@given(
    st.lists(st.integers(0, 3), max_size=6),
    st.integers(0, 6),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5))),
)
def test_a_matching_is_as_large_as_can_be(kinds: list[int], size: int, edges: set[tuple[int, int]]) -> None:
    """Rows of one kind fit the same columns."""
    rows = range(len(kinds))
    kind_of, pairs = dict(enumerate(kinds)), dict[int, int]()
    alone = [
        *pair_most(rows, kind_of, lambda row: range(size), lambda row, c: (kinds[row], c) in edges, pairs)
    ]
    assert sorted([*pairs, *alone]) == [*rows]
    assert all((kinds[row], column) in edges for row, column in pairs.items())
    assert len({*pairs.values()}) == len(pairs) == _most(kinds, size, edges)


def _most(rows: list[int], size: int, edges: set[tuple[int, int]]) -> int:
    """By trying every set of columns: one bit for each."""
    reached = {0: 0}
    for row in rows:
        for taken, count in list(reached.items()):
            for column in range(size):
                if (row, column) in edges and not taken >> column & 1:
                    after = taken | 1 << column
                    reached[after] = max(reached.get(after, 0), count + 1)
    return max(reached.values())
