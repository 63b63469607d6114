"""tests/checklist.md says what each number in the name of a test means, and which tests hold it.

`BASELINEKIT_GOLDEN=write pytest tests/test_checklist.py` writes its list of tests anew; read the diff."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS / "checklist.md"
RINGS = (TESTS, TESTS.parent / "drills", TESTS.parent / "studies")
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \| (.*) ?\|$", re.MULTILINE)
NAME = re.compile(r"^\s*def (test_((?:[a-z]\d+_)+)\w*)", re.MULTILINE)
FAULT = re.compile(r"f\d\d")
"""Faults have a page of their own (docs/faults.md, tests/test_faults_page.py)."""


def numbered(source: str) -> Iterator[tuple[str, str]]:
    """Each number that the name of a test bears, with the name: `test_h20_h40_…` is a test of both."""
    for name, numbers in NAME.findall(source):
        yield from ((number.upper(), name) for number in numbers.strip("_").split("_"))


@cache
def borne_by() -> Mapping[str, set[str]]:
    found = defaultdict(set)
    for file in (file for ring in RINGS for file in ring.rglob("test_*.py")):
        for number, name in numbered(file.read_text("utf-8")):
            if not FAULT.fullmatch(number.lower()):
                found[number].add(name)
    return found


def written_anew(page: str, tests: Mapping[str, set[str]]) -> str:
    def row(match: re.Match[str]) -> str:
        names = ", ".join(f"`{name}`" for name in sorted(tests.get(match[1], ())))
        return f"| {match[1]} | {match[2]} | {names} |"

    return ROW.sub(row, page)


def rows() -> list[tuple[str, str, list[str]]]:
    found = ROW.findall(PAGE.read_text("utf-8"))
    return [(number, asked, re.findall(r"`(\w+)`", names)) for number, asked, names in found]


def test_every_number_in_the_name_of_a_test_has_a_row() -> None:
    numbers = [number for number, _, _ in rows()]
    assert len(set(numbers)) == len(numbers)
    assert borne_by().keys() <= set(numbers)


def test_every_row_says_what_it_asks() -> None:
    for number, asked, _ in rows():
        assert len(asked) > 30, number


def test_each_row_names_the_tests_that_there_are() -> None:
    page = PAGE.read_text("utf-8")
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        page = written_anew(page, borne_by())
        PAGE.write_text(page, "utf-8")
    assert page == written_anew(page, borne_by())
    assert [number for number, _, names in rows() if not names] == []


def test_every_line_of_the_table_is_read() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| [A-Z]\d", line)]
    assert len(lines) == len(rows())


def test_no_test_of_one_is_lost_unseen() -> None:
    """More may come; where one goes, its promise is to be tested elsewhere first."""
    assert sum(len(names) for names in borne_by().values()) >= 200
