"""What two sequences share, and what lies between."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.values.alignment import Gap, pair_equal

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
def test_the_stretches_that_differ(before: str, after: str, found: list[Gap]) -> None:
    assert pair_equal(before, after)[1] == found


@given(ITEMS, ITEMS)
def test_between_two_stretches_both_sequences_go_on_with_the_same(before: str, after: str) -> None:
    pairs, gaps = pair_equal(before, after)
    assert all(before[b] == after[a] for b, a in pairs)
    old = [n for b1, b2, _, _ in gaps for n in range(b1, b2)]
    new = [n for _, _, a1, a2 in gaps for n in range(a1, a2)]
    assert sorted([*(b for b, _ in pairs), *old]) == [*range(len(before))]
    assert sorted([*(a for _, a in pairs), *new]) == [*range(len(after))]
