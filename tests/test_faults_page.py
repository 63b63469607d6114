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


def test_faults_page_rows_match_tests() -> None:
    promised = [fault for fault, _, _ in rows()]
    assert len(set(promised)) == len(promised)
    assert sorted(promised) == sorted(set(faults_tested()))


def test_faults_page_rows_are_described_with_existing_codes() -> None:
    for fault, what, promise in rows():
        assert len(what) > 15, fault
        assert len(promise) > 30, fault
        for code in re.findall(r"BK\d+", what + promise):
            assert explain(code) is not None, (fault, code)


def test_faults_page_every_line_is_parsed() -> None:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| F\d", line)]
    assert len(lines) == len(rows())
