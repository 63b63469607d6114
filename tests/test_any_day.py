"""Any day, any zone: a few golden cases that write times, and the document that shows them.

`make anyday` runs everything that starts commands of ours at each of these moments."""

import os
import re
from pathlib import Path

import architecture
import pytest
import test_golden
import test_readme
from console import ROOT

pytestmark = pytest.mark.slow

_EUROPE = "CET-1CEST,M3.5.0,M10.5.0/3"
MOMENTS = {
    "a leap day ends, half a world ahead": ("2028-02-29T23:59:59Z", "<+14>-14"),
    "a year ends, half a world behind": ("2026-12-31T23:59:59Z", "<-12>12"),
    "clocks go forward": ("2027-03-28T00:59:59Z", _EUROPE),
    "clocks go back": ("2027-10-31T00:59:59Z", _EUROPE),
    "the seconds of 32 bits were used up": ("2038-01-19T03:14:07Z", "UTC0"),
}
CASES = ("compare-passes", "grade-queue")


@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("case", CASES)
def test_golden_case_passes_on_any_day(case: str, when: str, tmp_path: Path) -> None:
    at, zone = MOMENTS[when]
    test_golden.play(test_golden.GOLDEN / case, tmp_path / "project", at=at, zone=zone)


@pytest.mark.parametrize("when", [*MOMENTS] if os.environ.get("BASELINEKIT_THOROUGH") else [*MOMENTS][1::2])
def test_document_passes_on_any_day(when: str, tmp_path: Path) -> None:
    document = (ROOT / "docs/runs.md").read_text("utf-8")
    at, zone = MOMENTS[when]
    shown = re.sub(r"\d{4}-\d\d-\d\dT", "2019-04-01T", document)
    assert shown != document
    test_readme.play(shown, tmp_path / "project", at=at, zone=zone)


KNOW_THE_TIME = {
    "clocks": "the clock of the tests",
    "at": "hands it on",
    "hostile.test_surroundings_of_a_run": "a run by the machine's clock, as a user starts it",
}


def test_tests_read_no_clock_of_the_machine() -> None:
    root = ROOT / "tests"
    sources = {
        ".".join(path.relative_to(root).with_suffix("").parts): path.read_text("utf-8")
        for path in root.rglob("*.py")
    }
    assert {line.split(":")[0] for line in architecture.clocks(sources)} == set(KNOW_THE_TIME)
