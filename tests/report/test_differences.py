"""Texts of several lines side by side, in bounded time."""

import time

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.results import ReportedDifference
from baselinekit.report.differences import sides_of, unified

LINES = st.lists(st.sampled_from(["a", "b", "c", "", " "]), max_size=12).map("\n".join)


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        ("a\nb\n", "a\nb\n", []),
        ("a\nb\nc\n", "a\nx\nc\n", ["@@ line 1 @@", "| a", "- b", "+ x", "| c"]),
        ("a\n", "a", ["@@ line 1 @@", "| a", "+ \\ no newline at the end"]),
        ("a", "a\n", ["@@ line 1 @@", "| a", "- \\ no newline at the end"]),
        ("a\nb", "a  \nb", ["@@ line 1 @@", "- a", "+ a\\x20\\x20", "| b"]),
        ("", "a\nb\n", ["@@ line 1 @@", "+ a", "+ b"]),
        ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\nX\n", ["@@ line 3 @@", "| 3", "| 4", "| 5", "- 6", "+ X"]),
    ],
)
def test_unified(expected: str, actual: str, lines: list[str]) -> None:
    assert unified(expected, actual) == lines


@given(LINES, LINES)
def test_unified_is_empty_only_when_nothing_differs(expected: str, actual: str) -> None:
    assert (unified(expected, actual) == []) == (expected == actual)
    gone = sum(line.startswith("- ") for line in unified(expected, actual))
    came = sum(line.startswith("+ ") for line in unified(expected, actual))
    assert max(gone, came) <= max(expected.count("\n"), actual.count("\n")) + 2


@pytest.mark.parametrize(
    "texts",
    [
        ([str(n % 2) for n in range(2_000)], [str(n % 3) for n in range(2_000)]),
        (
            [str((n % 50 and n % 2) or n) for n in range(2_000)],
            [str((n % 50 and n % 3) or n) for n in range(2_000)],
        ),
        ([f"a{n}" for n in range(2_000)], [f"b{n}" for n in range(2_000)]),
    ],
    ids=["repeated", "with landmarks", "all changed"],
)
def test_f55_unified_of_two_thousand_lines_is_quick(texts: tuple[list[str], list[str]]) -> None:
    started = time.process_time()
    lines = unified(*map("\n".join, texts))
    assert time.process_time() - started < 0.5
    assert sum(line[0] in "-+" for line in lines) > 500


def test_unified_finds_a_change_late_in_a_long_text() -> None:
    lines = [str(number) for number in range(50_000)]
    changed = [*lines[:40_000], "new", *lines[40_001:]]
    assert unified("\n".join(lines), "\n".join(changed)) == [
        "@@ line 39998 @@",
        *("| 39997", "| 39998", "| 39999", "- 40000", "+ new", "| 40001", "| 40002", "| 40003"),
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        (
            "a\nid <<any_integer>>\nold\n",
            "a\nid 5\nnew\n",
            ["@@ line 1 @@", "| a", "| id 5", "- old", "+ new"],
        ),
        ("run <<any_integer>> of 9", "run 5 of ten", ['- "run 5 of 9"', '+ "run 5 of ten"']),
        ("<<any_integer>>", "x", ["- <<any_integer>>", '+ "x"']),
        ("id <<any_uuid as a>>", "id 5", ['- "id <<any_uuid as a>>"', '+ "id 5"']),
    ],
)
def test_sides_of_leaves_out_values_that_a_placeholder_matches(
    expected: str, actual: str, lines: list[str]
) -> None:
    spot = ReportedDifference(("body",), "value", expected, actual, "a.yaml", 1)
    assert [line.text for line in sides_of(spot)] == lines
