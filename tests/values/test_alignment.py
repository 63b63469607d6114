"""What two sequences share, what lies between, and which rows are paired."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.values.alignment import Gap, align, pair_equal, pair_most
from baselinekit.values.equality import freeze

ITEMS = st.lists(st.sampled_from("abcdefgh"), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", []),
        ("abc", "abc", []),
        ("abc", "", [(0, 3, 0, 0)]),
        ("", "abc", [(0, 0, 0, 3)]),
        ("abc", "axc", [(1, 2, 1, 2)]),
        ("abc", "abxyc", [(2, 2, 2, 4)]),
        ("abcde", "acdxe", [(1, 2, 1, 1), (4, 4, 3, 4)]),
        ("aaa", "aa", [(2, 3, 2, 2)]),
    ],
)
def test_pair_equal_gives_gaps(before: str, after: str, found: list[Gap]) -> None:
    assert pair_equal(before, after)[1] == found


@given(ITEMS, ITEMS)
def test_pair_equal_pairs_and_gaps_cover_both_sequences(before: str, after: str) -> None:
    pairs, gaps = pair_equal(before, after)
    assert all(before[b] == after[a] for b, a in pairs)
    old = [n for b1, b2, _, _ in gaps for n in range(b1, b2)]
    new = [n for _, _, a1, a2 in gaps for n in range(a1, a2)]
    assert sorted([*(b for b, _ in pairs), *old]) == [*range(len(before))]
    assert sorted([*(a for _, a in pairs), *new]) == [*range(len(after))]


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("abcd", "bcd", "bb cc dd"),
        ("abab", "baba", "aa bb aa"),
        ("aaab", "aab", "aa aa bb"),
        ("abc", "xbz", "ax bb cz"),
        ("", "abc", ""),
        ("abc", "", ""),
    ],
)
def test_align_pairs_rows(before: str, after: str, pairs: str) -> None:
    found = align(before, after, freeze)
    assert " ".join(before[e] + after[a] for e, a in found.pairs) == pairs


@given(ITEMS, ITEMS)
def test_align_has_each_row_once_and_in_order(before: str, after: str) -> None:
    found = align(before, after, freeze)
    assert found.pairs == sorted(found.pairs)
    assert [a for _, a in found.pairs] == sorted(a for _, a in found.pairs)
    assert sorted([e for e, _ in found.pairs] + found.missing) == list(range(len(before)))
    assert sorted([a for _, a in found.pairs] + found.extra) == list(range(len(after)))


@given(
    st.lists(st.integers(0, 3), max_size=6),
    st.integers(0, 6),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 5))),
)
def test_pair_most_is_a_largest_matching(kinds: list[int], size: int, edges: set[tuple[int, int]]) -> None:
    """Rows of one kind fit the same columns. Every set of columns is tried: one bit for each."""
    reached, pairs, rows = {0: 0}, dict[int, int](), range(len(kinds))
    for kind in kinds:
        for taken, count in list(reached.items()):
            for column in range(size):
                if (kind, column) in edges and not taken >> column & 1:
                    after = taken | 1 << column
                    reached[after] = max(reached.get(after, 0), count + 1)

    def fits(row: int, column: int) -> bool:
        return (kinds[row], column) in edges

    alone = [*pair_most(rows, dict(enumerate(kinds)), lambda row: range(size), fits, pairs)]
    assert sorted([*pairs, *alone]) == [*rows]
    assert all((kinds[row], column) in edges for row, column in pairs.items())
    assert len({*pairs.values()}) == len(pairs) == max(reached.values())
