"""The report of an eval run: its figures, its words, and nothing from outside that could do harm."""

import json
from typing import Any

from report.reports import FILE, metric, report

from baselinekit.model.grades import Attempt, Grade, GraderKind, Outcome
from baselinekit.model.results import CaseFacts, Metric, Report, Result, SuiteFacts
from baselinekit.report.evalreport import without_details
from baselinekit.report.forms import render_report


def case(
    id: str, outcome: Outcome = "passed", kind: str = "capability", grader: GraderKind = "code", **more: Any
) -> Result:
    score = {"passed": 1.0, "failed": 0.0}.get(outcome)
    details = {"expected": "olleh", "actual": "hello"} if outcome == "failed" else {}
    grade = Grade("exact_match", grader, outcome, score, more.get("reason", ""), details=details)
    attempt = Attempt(1, outcome, score, (grade,), more.get("reason", ""), output=more.pop("output", None))
    attempts = more.pop("attempts", (attempt,))
    return Result(id, FILE, 3, "prompt", outcome, case=CaseFacts(kind, attempts), **more)


def suite(*results: Result, metrics: tuple[Metric, ...] = (), **more: Any) -> Report:
    return report(
        *results, suite=SuiteFacts("Feature X", "1.2.3", metrics), id="eval-20240120-143052", **more
    )


def document(run: Report) -> Any:
    return json.loads(render_report(run, "x.eval.json"))["eval_report"]


def test_h66_eval_report_has_two_pass_rates() -> None:
    cases = [case(f"c{n}", one) for n, one in enumerate([*["passed"] * 13, "failed", "error"])]  # type: ignore[list-item,arg-type]
    summary = document(suite(*cases))["summary"]
    assert (summary["pass_rate"], summary["pass_rate_of_decided"]) == (0.867, 0.929)


def test_reports_have_the_reason_of_a_skip() -> None:
    run = suite(case("a", "skipped", reason="until the key is here"))
    for form in (".md", ".html", ".xml", ".eval.json", ".json"):
        assert "until the key is here" in render_report(run, f"x{form}"), form
    assert document(run)["skipped"] == [{"eval_id": "a", "reason": "until the key is here"}]


def test_h66_eval_report_of_nothing_has_no_rate() -> None:
    assert document(suite())["summary"]["pass_rate"] is None
    assert document(suite(case("a", "skipped")))["summary"]["pass_rate"] is None
    assert suite().exit_code != 0


def test_eval_report_has_a_recommendation_for_each_case() -> None:
    tried = tuple(Attempt(n + 1, outcome, None) for n, outcome in enumerate(("passed", "failed", "passed")))
    run = suite(
        case("fine"),
        case("wrong", "failed", reason="it is not the expected output"),
        case("odd", "failed", verdict="flaky", attempts=tried),
        case("lucky", "passed", verdict="flaky"),
        case("broken", "error", code="BK640"),
        case("waits", "unscored", reason="it has no rating yet"),
        metrics=(metric("pass@3", None, threshold=0.9, why="too few"),),
    )
    advice = document(run)["recommendations"]
    assert [words.partition(":")[0] for words in advice[:5]] == ["wrong", "odd", "lucky", "broken", "waits"]
    assert advice[-1] == "pass@3 is not available (too few): raise --attempts"
    assert document(suite(case("fine")))["recommendations"] == []


def test_h67_without_details_hides_outputs_in_every_form() -> None:
    run = without_details(suite(case("a", "failed", output="a secret of the house", reason="it differs")))
    for form in ("x.md", "x.eval.json", "x.json", "x.html"):
        page = render_report(run, form)
        assert "olleh" not in page
        assert "a secret of the house" not in page
