"""The grader `field_accuracy`: fields of an output beside those of the right answer."""

from typing import Any

import pytest
from cases import case, exactly, graded

from baselinekit.graders.by_field import FieldAccuracy, GradedField, dates_in, number_in
from baselinekit.graders.graders import problems_of
from baselinekit.model.evals import GoodAnswer
from baselinekit.model.grades import Grade, Grader
from baselinekit.model.traces import TraceMessage

LINES = [{"sku": "a", "amount": 1}, {"sku": "b", "amount": 2}]
INVOICE = {"number": "INV-7", "date": "15-JAN-2025", "total": 1889, "lines": LINES}


def judged(how: FieldAccuracy, output: Any, right: Any = INVOICE) -> Grade:
    return graded(output, how, wanted=GoodAnswer(messages=(TraceMessage("assistant", right),)))


def fields(*paths: str, **more: Any) -> FieldAccuracy:
    return FieldAccuracy([GradedField(path, **more) for path in paths])


WEIGHTED = FieldAccuracy([GradedField("number", weight=3), GradedField("total")])
OPTIONAL = FieldAccuracy([GradedField("number"), GradedField("total", required=False)])
ALL = FieldAccuracy([GradedField("number"), GradedField("total")], "all_or_nothing")


@pytest.mark.parametrize(
    ("how", "output", "score"),
    [
        (fields("number", "total"), {"number": "INV-7", "total": 1}, 0.5),
        (fields("total"), {"total": "1889"}, 0.0),
        (fields("number"), 'Here it is:\n```json\n{"number": "INV-7"}\n```', 1.0),
        (fields("number"), "INV-7", 0.0),
        (fields("lines[*].amount"), {"lines": [{"amount": 1}, {"amount": 2}, {"amount": 3}]}, 0.0),
        (WEIGHTED, {"total": 1889}, 0.25),
        (OPTIONAL, {"number": "INV-7"}, 1.0),
        (fields("total", required=False), {}, 0.0),
        (ALL, {"total": 1889}, 0.0),
    ],
)
def test_a50_field_accuracy_is_share_of_right_fields(how: FieldAccuracy, output: Any, score: float) -> None:
    found = judged(how, output)
    assert (found.score, found.outcome) == (score, "passed" if score >= 0.8 else "failed")
    assert bool(found.reason) == (score < 0.8)


def test_field_accuracy_ignores_an_optional_field_without_a_right_value() -> None:
    assert judged(OPTIONAL, {"number": "INV-7", "total": 1}, {"number": "INV-7"}).score == 1


@pytest.mark.parametrize(
    ("given", "right", "tolerance", "relative", "holds"),
    [
        (0.3, 0.1, 0.2, False, True),
        (0.001, 0, 0.1, True, False),
        ("1,889", 1889, 0, False, False),
        (True, 1, 0, False, False),
    ],
)
def test_a50_field_number_within_its_tolerance_is_right(
    given: Any, right: Any, tolerance: float, relative: bool, holds: bool
) -> None:
    how = fields("n", match="numeric_tolerance", tolerance=tolerance, relative=relative)
    assert judged(how, {"n": given}, {"n": right}).score == float(holds)


@pytest.mark.parametrize(
    ("given", "right", "formats", "holds"),
    [
        ("15JAN25", "2025-01-15", ["YYYY-MM-DD", "DDMMMYY"], True),
        ("03/04/2025", "2025-03-04", ["YYYY-MM-DD", "DD/MM/YYYY"], False),
        ("2025-01-15T10:00:00Z", "2025-01-15", [], True),
        ("2025-01-15T10:00:00Z", "2025-01-15T10:00:01Z", [], False),
        ("15:05 15.01.2025", "2025-01-15T15:05", ["YYYY-MM-DDTHH:mm", "H:mm DD.MM.YYYY"], True),
        ("2025-01-15T10:00:00+99:00", "2025-01-15", [], False),
        ("0001-01-01T00:00:00+14:00", "2025-01-15T10:00:00Z", [], False),
        (20250115, "2025-01-15", [], False),
        ("٢٠٢٥-٠١-١٥", "2025-01-15", [], False),
    ],
)
def test_a50_date_in_another_format_is_right(given: Any, right: str, formats: list[str], holds: bool) -> None:
    how = fields("d", match="date", formats=formats)
    assert judged(how, {"d": given}, {"d": right}).score == float(holds)
    assert dates_in(right, formats)


def test_a50_field_accuracy_explains_each_wrong_field() -> None:
    graded_fields = [GradedField("total", "numeric_tolerance", tolerance=5), GradedField("date", "date")]
    how = FieldAccuracy([GradedField("number"), *graded_fields, GradedField("lines[*].sku")])
    found = judged(how, {"total": 1900, "date": "soon", "lines": [{"sku": "a"}, {"sku": "c"}]})
    assert found.details["misses"] == [
        "number: missing",
        "total: 1900, and 1889 is right: 11 apart, at most 5 is allowed",
        'date: "soon", and "15-JAN-2025" is right',
        'lines[*].sku: lines[1].sku: "c", and "b" is right',
    ]
    assert [number_in("1e3"), number_in("NaN")] == [1000, None]


AT = ("config", "fields", 0)


@pytest.mark.parametrize(
    ("how", "right", "at", "what"),
    [
        (FieldAccuracy([]), INVOICE, AT[:2], "this cannot fail"),
        (fields("number"), "no JSON at all", None, "there is no answer to set the fields beside"),
        (fields("nmber"), INVOICE, (*AT, "path"), "has no 'nmber'"),
        (fields("number", weight=0), INVOICE, AT[:2], "this cannot fail"),
        (fields("date", match="date", formats=["HH:mm"]), INVOICE, (*AT, "formats"), "tells no day"),
        (fields("date", match="date", formats=["YYYY-MM-DD o"]), INVOICE, (*AT, "formats"), "has 'o', which"),
    ],
)
def test_field_accuracy_problems(how: FieldAccuracy, right: Any, at: Any, what: str) -> None:
    made = case(wanted=GoodAnswer(messages=(TraceMessage("assistant", right),)))
    found = problems_of(Grader("fields", "code", how), made)
    assert [(problem.at, what in problem.message) for problem in found] == [(at, True)]


def test_field_accuracy_without_messages_uses_the_expected_value() -> None:
    right = {"number": "INV-7"}
    assert graded(right, fields("number"), exactly(right)).outcome == "passed"
