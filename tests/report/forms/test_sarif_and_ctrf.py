"""The two forms that other programs read: their shape, their counts, their bounds. (Both were checked against
the published schemas; what those demand of us is repeated here.)"""

import json
import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, strategies as st
from report.reports import FILE, NASTY, report, result, spot

from baselinekit.model.results import Report
from baselinekit.report.forms.table import render_report

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)


def sarif(run: Report) -> Any:
    return json.loads(render_report(run, "x.sarif"))["runs"][0]


def ctrf(run: Report) -> Any:
    return json.loads(render_report(run, "x.ctrf.json"))


def a_run(**more: Any) -> Report:
    return report(
        result(
            "users",
            "failed",
            spot(("body", "a"), "value", "<<any_email>>", "nobody"),
            spot(("body", "b"), "missing", 1, line=None),
        ),
        result("orders", "error", code="BK301", reason="refused", attempts=3),
        result("judged", "unscored", reason="no answer"),
        result("later", "skipped", reason="-x"),
        result("fine", "passed"),
        environment={"platform": "linux"},
        warnings=("a warning",),
        **more,
    )


def test_sarif_has_a_result_for_each_difference_at_its_line() -> None:
    run = sarif(a_run(folder="svc"))
    assert [(found["ruleId"], found["level"], found["message"]["text"]) for found in run["results"]] == [
        ("difference/value", "error", 'users: body.a is "nobody", expected <<any_email>>'),
        ("difference/missing", "error", "users: body.b is missing, expected 1"),
        ("BK301", "error", "orders: BK301 refused"),
        ("unscored", "warning", "judged: no answer"),
    ]
    places = [found["locations"][0]["physicalLocation"] for found in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {f"svc/{FILE}"}
    assert {place["artifactLocation"]["uriBaseId"] for place in places} == {"%SRCROOT%"}
    assert [place.get("region") for place in places] == [
        {"startLine": 14},
        None,
        {"startLine": 3},
        {"startLine": 3},
    ]


def test_sarif_explains_each_rule_that_it_names() -> None:
    run = sarif(a_run())
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert list(rules) == ["difference/value", "difference/missing", "BK301", "unscored"]
    assert all(rule["shortDescription"]["text"] for rule in rules.values())
    assert "help" in rules["BK301"]
    invocation = run["invocations"][0]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (1, True)
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "a warning"


def test_a_fingerprint_survives_new_lines_and_new_values_and_nothing_else() -> None:
    def print_of(*path: str, id: str = "a", **more: Any) -> str:
        found = result(id, "failed", spot(path, "value", 1, more.get("actual", 2), line=more.get("line", 1)))
        prints: dict[str, str] = sarif(report(found))["results"][0]["partialFingerprints"]
        return prints["baselinekit/v1"]

    assert print_of("k") == print_of("k", line=9) == print_of("k", actual=7)
    assert len({print_of("k"), print_of("l"), print_of("k", id="b"), print_of("k", "l")}) == 4


@pytest.mark.slow
def test_sarif_stays_within_what_code_scanning_takes_and_counts_the_rest() -> None:
    many = [result(f"r{n}", "failed", *(spot((k,), "value", 1, 2) for k in range(60))) for n in range(100)]
    run = sarif(report(*many))
    assert len(run["results"]) == 5_000
    said = run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert said.startswith("1,000 more differences are not in this file")


def test_ctrf_keeps_the_five_outcomes_apart() -> None:
    written = ctrf(a_run())
    assert (written["reportFormat"], written["specVersion"]) == ("CTRF", "0.0.0")
    results = written["results"]
    assert results["summary"] == {
        "tests": 5,
        "passed": 1,
        "failed": 1,
        "pending": 0,
        "skipped": 1,
        "other": 2,
        "start": 1705759200000,
        "stop": 1705759200210,
        "extra": {"failed": 1, "error": 1, "unscored": 1, "skipped": 1, "passed": 1, "complete": True},
    }
    tests = {test["name"]: test for test in results["tests"]}
    assert {name: test["status"] for name, test in tests.items()} == {
        "users": "failed",
        "orders": "other",
        "judged": "other",
        "later": "skipped",
        "fine": "passed",
    }
    assert {name: test["rawStatus"] for name, test in tests.items()} == {
        "users": "failed",
        "orders": "error",
        "judged": "unscored",
        "later": "skipped",
        "fine": "passed",
    }
    assert tests["users"]["message"] == "2 differences"
    assert f"body.a  {FILE}:14\n  - <<any_email>>\n" in tests["users"]["trace"]
    assert (tests["orders"]["retries"], tests["orders"]["extra"]) == (2, {"code": "BK301"})
    assert tests["fine"].keys() == {
        "name",
        "status",
        "duration",
        "rawStatus",
        "suite",
        "filePath",
        "type",
        "line",
    }


@pytest.mark.parametrize(
    "started", ["2024-01-20T14:00:00", "2024-01-20T19:45:00+05:45", "2024-01-20T14:00:00Z"]
)
def test_ctrf_of_a_run_begins_at_the_same_moment_in_every_zone(started: str) -> None:
    """A time without a zone is in UTC, and not where this machine is."""
    summary = ctrf(report(result("a", "passed"), started=started))["results"]["summary"]
    assert summary["start"] == 1705759200000


def test_ctrf_of_a_run_whose_start_cannot_be_read_begins_in_1970() -> None:
    assert ctrf(report(result("a", "passed"), started="yesterday"))["results"]["summary"]["start"] == 0


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_is_data_there(one: str, other: str) -> None:
    hostile = result(one, "failed", spot((other,), "value", one, other, rule=one, note=other), target=one)
    run = report(hostile, result(other, "error", reason=one), folder=other, warnings=(one,))
    assert [test["name"] for test in ctrf(run)["results"]["tests"]] == [one, other]
    found = sarif(run)["results"]
    assert [one["ruleId"] for one in found] == ["difference/value", "error"]
    uri = found[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9/._~%-]*", uri)
    assert unquote(uri, errors="surrogateescape").endswith("users-list.yaml")


def test_a_hostile_name_is_no_uri_of_its_own() -> None:
    run = report(result("a", "failed", spot(("k",), "value", 1, 2)), folder="http://e.example/?x#y " + NASTY)
    uri = sarif(run)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("http%3A/e.example/%3Fx%23y%20")
