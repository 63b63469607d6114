"""tests/checklist.md explains each number in the name of a test, and lists its tests.

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
def names_by_number() -> Mapping[str, set[str]]:
    found = defaultdict(set)
    for file in (file for ring in RINGS for file in ring.rglob("test_*.py")):
        for number, name in numbered(file.read_text("utf-8")):
            if not FAULT.fullmatch(number.lower()):
                found[number].add(name)
    return found


def rewritten(page: str, tests: Mapping[str, set[str]]) -> str:
    def row(match: re.Match[str]) -> str:
        names = ", ".join(f"`{name}`" for name in sorted(tests.get(match[1], ())))
        return f"| {match[1]} | {match[2]} | {names} |"

    return ROW.sub(row, page)


def rows() -> list[tuple[str, str, list[str]]]:
    found = ROW.findall(PAGE.read_text("utf-8"))
    return [(number, promise, re.findall(r"`(\w+)`", names)) for number, promise, names in found]


def test_checklist_has_row_for_every_number() -> None:
    numbers = [number for number, _, _ in rows()]
    assert len(set(numbers)) == len(numbers)
    assert names_by_number().keys() <= set(numbers)


def test_checklist_rows_are_described() -> None:
    for number, promise, _ in rows():
        assert len(promise) > 30, number


def test_checklist_names_existing_tests() -> None:
    page = PAGE.read_text("utf-8")
    if os.environ.get("BASELINEKIT_GOLDEN") == "write":
        page = rewritten(page, names_by_number())
        PAGE.write_text(page, "utf-8")
    assert page == rewritten(page, names_by_number())
    assert [number for number, _, names in rows() if not names] == []


def test_checklist_every_line_is_parsed() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| [A-Z]\d", line)]
    assert len(lines) == len(rows())


def test_checklist_has_at_least_200_tests() -> None:
    """More may come; where one goes, its promise is to be tested elsewhere first."""
    assert sum(len(names) for names in names_by_number().values()) >= 200
