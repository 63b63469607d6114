"""Where a new key goes among those that are there."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.values.changes import with_new_keys


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        ("abc", "abc", "abc"),
        ("abc", "abxc", "abxc"),
        ("abc", "axc", "axbc"),  # b was renamed: the new one takes its place
        ("abc", "xyabc", "xyabc"),
        ("abc", "xbc", "xabc"),
        ("abc", "cxa", "abcx"),
        ("abc", "xy", "xyabc"),
        ("", "xy", "xy"),
        ("ab", "", "ab"),
    ],
)
def test_with_new_keys_places_key_after_its_predecessor(old: str, new: str, order: str) -> None:
    assert "".join(with_new_keys(old, new)) == order


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdefxyz"), unique=True))
def test_with_new_keys_loses_no_key_and_keeps_order(old: list[str], new: list[str]) -> None:
    order = with_new_keys(old, new)
    assert [key for key in order if key in old] == old
    assert sorted(order) == sorted({*old, *new})
