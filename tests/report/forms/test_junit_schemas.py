"""JUnit reports by the schemas that CI systems check."""

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from junitschemas import SCHEMAS, invalid
from test_forms import a_run, evals, weakened

from baselinekit.model.results import Report
from baselinekit.report.forms import render_report
from baselinekit.structs import replace

RUNS: dict[str, Callable[[], Report]] = {
    "all outcomes": a_run,
    "evals": evals,
    "weakened": lambda: weakened(True),
    "nothing": lambda: replace(a_run(), results=()),
    "long": lambda: replace(a_run(), seconds=123_456.789),
}


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("run", RUNS)
def test_junit_report_is_valid_by_every_schema(run: str, schema: str) -> None:
    text = render_report(RUNS[run](), "x.junit.xml")
    assert [*invalid(ElementTree.fromstring(text), SCHEMAS[schema])] == []


BROKEN = [
    ("<testcase ", '<testcase file="x.yaml" '),
    ('timestamp="2024-01-20T14:00:00"', 'timestamp="2024-01-20T14:00:00Z"'),
    ("<testsuites>", '<testsuites skipped="1">'),
]


@pytest.mark.parametrize(("old", "new"), BROKEN)
def test_invalid_finds_elements_that_no_schema_allows(old: str, new: str) -> None:
    text = render_report(a_run(), "x.junit.xml")
    assert old in text
    root = ElementTree.fromstring(text.replace(old, new))
    assert any([*invalid(root, schema)] for schema in SCHEMAS.values())
