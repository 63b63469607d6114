"""The weight of the project only falls: setup.cfg has the numbers."""

import pytest
import size

BOUNDS = size.section("baselinekit:size")
SLACK = 0.01


@pytest.mark.parametrize("name", BOUNDS)
def test_size_is_within_the_number_in_setup_cfg(name: str) -> None:
    assert size.totals()[name] <= BOUNDS[name]


@pytest.mark.parametrize("name", BOUNDS)
def test_number_in_setup_cfg_is_lowered_with_the_size(name: str) -> None:
    now = size.totals()[name]
    assert BOUNDS[name] - now <= max(10, SLACK * BOUNDS[name]), f"write {name} = {now}"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# a comment\n\nx = 1\n", 1),
        ('"""A module."""\nx = """a\nb"""\n', 2),
        ('def f():\n    """What it does,\n    in two lines."""\n    return (\n        1\n    )\n', 4),
        ('class A:\n    x: int\n    """Of an attribute."""\n', 2),
    ],
    ids=["empty", "comment", "text", "function", "attribute"],
)
def test_lines_of_code_without_comments_and_docstrings(source: str, lines: int) -> None:
    assert size.lines_of_code(source) == lines
