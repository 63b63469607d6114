"""What two sequences share, and what lies between."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.values.alignment import Gap, gaps, landmarks

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
    assert list(gaps(before, after)) == found


@pytest.mark.slow
@given(ITEMS, ITEMS)
def test_between_two_stretches_both_sequences_go_on_with_the_same(before: str, after: str) -> None:
    b = a = 0
    for b1, b2, a1, a2 in [*gaps(before, after), (len(before), len(before), len(after), len(after))]:
        assert before[b:b1] == after[a:a1]
        assert b1 <= b2
        assert a1 <= a2
        b, a = b2, a2


@given(ITEMS, ITEMS)
def test_a_landmark_is_in_no_stretch(before: str, after: str) -> None:
    left = [(range(b1, b2), range(a1, a2)) for b1, b2, a1, a2 in gaps(before, after)]
    assert not any(b in old or a in new for b, a in landmarks(before, after) for old, new in left)
