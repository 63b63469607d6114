"""docs/faults.md promises something for each fault, and each promise has a test that bears its number."""

import re
from collections.abc import Iterator
from pathlib import Path

from baselinekit.codes import explain

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/faults.md"
RINGS = ("tests", "drills", "studies")
ROW = re.compile(r"^\| (F\d\d) \| (.+) \| (.+) \|$")


def rows() -> list[tuple[str, str, str]]:
    lines = PAGE.read_text("utf-8").splitlines()
    return [(match[1], match[2], match[3]) for line in lines if (match := ROW.match(line))]


def faults_tested() -> Iterator[str]:
    """`test_f08_f11_…` is a test of both."""
    files = (file for ring in RINGS for file in (ROOT / ring).rglob("test_*.py"))
    for file in files:
        for name in re.findall(r"^\s*def test_((?:f\d\d_)+)", file.read_text("utf-8"), re.MULTILINE):
            yield from (fault.upper() for fault in name.strip("_").split("_"))


def test_each_row_has_a_test_and_each_test_a_row() -> None:
    promised = [fault for fault, _, _ in rows()]
    assert len(set(promised)) == len(promised)
    assert sorted(promised) == sorted(set(faults_tested()))


def test_each_row_says_something_and_its_codes_exist() -> None:
    for fault, what, seen in rows():
        assert len(what) > 15, fault
        assert len(seen) > 30, fault
        for code in re.findall(r"BK\d+", what + seen):
            assert explain(code) is not None, (fault, code)


def test_every_line_of_a_table_is_read() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| F\d", line)]
    assert len(lines) == len(rows())
