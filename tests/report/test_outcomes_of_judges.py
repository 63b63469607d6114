"""A low score, a reply that cannot be read and a judge that was not asked: in every form another thing."""

import json
from typing import Any

from report.evalruns import case
from report.reports import report

from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import Report, Result
from baselinekit.report.details import line_of
from baselinekit.report.forms import render_report

REPLY = "Here is my verdict:\nSCORE=5"
UNPARSEABLE = "judge output unparseable: it is not the one line SCORE=<1-5> REASON=<one sentence>"
MISSED = "'private names' is missing; nearest: line 1: 'private nams'"
ASKED = Grade("judge", "model", "passed", 1.0, line=20)
LOW = Grade("judge", "model", "failed", 0.25, "2 of 5, and 4 passes: curt", line=20)
UNREAD = Grade(
    "judge",
    "model",
    "error",
    None,
    UNPARSEABLE,
    verdict="unparseable",
    code="BK640",
    details={"reply": REPLY},
    line=20,
)
NOT_ASKED = Grade(
    "judge", "model", "unscored", None, "contains has failed it already", verdict="not judged", line=20
)
CONTAINS = Grade("contains", "code", "passed", 1.0, line=14)
MISSING = Grade("contains", "code", "failed", 0.0, MISSED, line=14)


def judged(id: str, outcome: Any, *grades: Grade, reason: str = "", **more: Any) -> Result:
    code, verdict = more.pop("code", None), more.pop("verdict", None)
    attempt = Attempt(1, outcome, None, grades, reason, code, verdict, output="It is kept.")
    return case(id, outcome, attempts=(attempt,), reason=reason, code=code, verdict=verdict)


RUN: Report = report(
    judged("low", "failed", CONTAINS, LOW, reason="judge: 2 of 5, and 4 passes: curt"),
    judged("unread", "error", CONTAINS, UNREAD, reason=UNPARSEABLE, code="BK640", verdict="unparseable"),
    judged("missing", "failed", MISSING, NOT_ASKED, reason=f"contains: {MISSED}"),
)


def test_e5_forms_for_programs_have_verdict_code_and_line() -> None:
    sarif = json.loads(render_report(RUN, "x.sarif"))["runs"][0]
    found = {item["properties"]["id"]: item for item in sarif["results"]}
    assert [found[id]["ruleId"] for id in ("low", "unread", "missing")] == ["failed", "BK640", "failed"]
    assert found["unread"]["properties"]["verdict"] == "unparseable"
    region = found["missing"]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 14}
    tests = {test["name"]: test for test in json.loads(render_report(RUN, "x.ctrf.json"))["results"]["tests"]}
    assert (tests["low"]["status"], tests["unread"]["status"]) == ("failed", "other")
    assert tests["unread"]["extra"] == {"code": "BK640", "verdict": "unparseable"}
    failures = json.loads(render_report(RUN, "x.eval.json"))["eval_report"]["failures"]
    graders = {item["eval_id"]: item["details"]["graders"][-1] for item in failures}
    assert (graders["unread"]["verdict"], graders["unread"]["code"]) == ("unparseable", "BK640")
    assert graders["unread"]["details"] == {"reply": REPLY}
    assert graders["missing"]["verdict"] == "not judged"


def test_line_of_leads_to_the_check_that_explains_the_outcome() -> None:
    assert {result.id: line_of(result) for result in RUN.results} == {"low": 20, "unread": 20, "missing": 14}
