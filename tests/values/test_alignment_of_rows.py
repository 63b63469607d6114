"""Rows whose order counts, set side by side."""

import random

import pytest

from baselinekit.values.alignment import align
from baselinekit.values.equality import freeze


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        ("abcd", "abcd", "aa bb cc dd"),
        ("abcd", "bcd", "bb cc dd"),
        ("abab", "baba", "aa bb aa"),
        ("aaab", "aab", "aa aa bb"),
        ("abc", "xbz", "ax bb cz"),
        ("", "abc", ""),
        ("abc", "", ""),
    ],
)
def test_align(before: str, after: str, pairs: str) -> None:
    found = align(before, after, freeze)
    assert " ".join(before[e] + after[a] for e, a in found.pairs) == pairs
    assert sorted([e for e, _ in found.pairs] + found.missing) == list(range(len(before)))
    assert sorted([a for _, a in found.pairs] + found.extra) == list(range(len(after)))


def test_an_alignment_is_one_of_each_row_in_order() -> None:
    chance = random.Random(5)
    for _ in range(300):
        before = [chance.randint(0, 9) for _ in range(chance.randint(0, 30))]
        after = [row for row in before if chance.random() < 0.8] + [chance.randint(0, 9)]
        found = align(before, after, freeze)
        assert found.pairs == sorted(found.pairs)
        assert [a for _, a in found.pairs] == sorted(a for _, a in found.pairs)
        assert sorted([e for e, _ in found.pairs] + found.missing) == list(range(len(before)))
        assert sorted([a for _, a in found.pairs] + found.extra) == list(range(len(after)))
