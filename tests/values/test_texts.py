"""What is cut from a text is counted, however often it was cut."""

import re

import pytest
from hypothesis import given, strategies as st

from baselinekit.report.values import cut_line, first_lines
from baselinekit.values.texts import count_noun, mask_and_clip, no_mask, split_note


def counted(shown: str) -> int:
    note = re.search(r" … and (?:over )?([\d,]+) more characters?\Z", shown)
    return int(note[1].replace(",", "")) if note else 0


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc … and 1 more character"),
        ("x" * 5_000, 10, "xxxxxxxxxx … and 4,990 more characters"),
        ("", 3, ""),
    ],
)
def test_mask_and_clip_counts_cut_characters(text: str, limit: int, shown: str) -> None:
    assert mask_and_clip(text, limit, no_mask) == shown


@given(st.text(max_size=300), st.lists(st.integers(1, 200), min_size=1, max_size=4))
def test_mask_and_clip_again_counts_the_whole_text(text: str, limits: list[int]) -> None:
    shown = text
    for limit in sorted(limits, reverse=True):
        shown = mask_and_clip(shown, limit, no_mask)
    kept, gone = split_note(shown)
    assert len(kept) + gone == len(text)
    assert text.startswith(kept)


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=300), st.integers(1, 100))
def test_cut_line_counts_cut_characters(text: str, limit: int) -> None:
    shown = cut_line(text, limit)
    assert "\n" not in shown
    if " … and " not in text:
        assert len(shown.partition(" … and ")[0]) <= max(limit, 10)
        assert counted(shown) <= len(text)


LONG = "\n".join(f"line {number}" for number in range(3_000))


@pytest.mark.parametrize(
    ("text", "most", "last"),
    [
        (LONG, 12, "… and 2,988 more lines"),
        (LONG + "\n", 12, "… and 2,988 more lines"),
        ("a\nb\nc", 2, "… and 1 more line"),
        ("a\nb", 2, "b"),
        ("a\r\nb", 2, "b"),
        (mask_and_clip(LONG, 20_000, no_mask), 12, "… and over 2,099 more lines"),
        ("x" * 400_000, 12, "x" * 500 + " … and 399,500 more characters"),
        (mask_and_clip("x" * 400_000, 20_000, no_mask), 12, "x" * 500 + " … and 399,500 more characters"),
    ],
)
def test_first_lines_counts_cut_lines(text: str, most: int, last: str) -> None:
    assert first_lines(text, most)[-1] == last


@pytest.mark.parametrize(("number", "words"), [(0, "0 cases"), (1, "1 case"), (1204, "1,204 cases")])
def test_count_noun_singular_and_plural(number: int, words: str) -> None:
    assert count_noun(number, "case") == words
