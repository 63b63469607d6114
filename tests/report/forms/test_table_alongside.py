"""What is said of a run beside its results, in every form: weakened baselines, an earlier run, the judges."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from report.evalruns import EARLIER, JUDGES, METRICS, case, results
from report.reports import FILE, NASTY, metric, report, result, spot

from baselinekit.model.results import (
    BaselineChange,
    BaselineChanges,
    MetricChange,
    Report,
    SuiteFacts,
)
from baselinekit.report.forms.table import render_report
from baselinekit.structs import replace

REVISED = (
    BaselineChange("users", "loosened", FILE, 7, ("ignore_fields: users.*.name",)),
    BaselineChange("gone", "removed", "baselines/gone.yaml", None),
    BaselineChange("new", "added", FILE, 9),
)


def weakened(strict: bool, **more: Any) -> Report:
    against = BaselineChanges(ref="main", commit="96e676b1a2b3", strict=strict, changes=REVISED)
    return report(result("users", "passed"), against=against, **more)


def evals(**more: Any) -> Report:
    suite = SuiteFacts("Support assistant", "1.2.0", METRICS, judges=JUDGES)
    return report(*results(), **{"suite": suite, "earlier": EARLIER, **more})


def suite_of(run: Report) -> ElementTree.Element:
    return ElementTree.fromstring(render_report(run, "x.junit.xml").encode())[0]


def ctrf_of(run: Report) -> Any:
    return json.loads(render_report(run, "x.ctrf.json"))["results"]


def sarif_of(run: Report) -> Any:
    return json.loads(render_report(run, "x.sarif"))["runs"][0]


@pytest.mark.parametrize("path", ["x.html", "x.md", "x.junit.xml", "x.sarif", "x.ctrf.json", "x.json"])
def test_every_form_lists_what_was_weakened(path: str) -> None:
    written = render_report(weakened(False), path)
    for said in ("users", "loosened", "ignore", "gone", "removed", "main"):
        assert said in written, said


@pytest.mark.parametrize("path", ["x.html", "x.md", "x.junit.xml", "x.ctrf.json", "x.eval.json"])
def test_every_form_tells_of_the_earlier_run_and_of_the_judges(path: str) -> None:
    written = render_report(evals(), path)
    for said in (
        "eval-20240119-143052",
        "regressed",
        "improved",
        "insufficient",
        "the model differs",
        "0.83",
    ):
        assert said in written, said


def test_junit_is_red_where_weakened_baselines_fail_the_run_and_only_there() -> None:
    suite = suite_of(weakened(True))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "2")
    red = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert [case.attrib["name"] for case in red] == [
        "users (loosened since main)",
        "gone (removed since main)",
    ]
    assert red[0].findtext("failure") == f"{FILE}:7\nignore_fields: users.*.name"
    calm = suite_of(weakened(False))
    assert (calm.attrib["tests"], calm.attrib["failures"]) == ("1", "0")
    assert "loosened  users" in (calm.findtext("system-out") or "")


def test_ctrf_is_red_in_the_same_way() -> None:
    strict = ctrf_of(weakened(True, folder="svc"))
    assert (strict["summary"]["tests"], strict["summary"]["failed"]) == (3, 2)
    assert strict["tests"][1] == {
        "name": "users (loosened since main)",
        "status": "failed",
        "duration": 0,
        "rawStatus": "weakened",
        "suite": [FILE],
        "filePath": f"svc/{FILE}",
        "message": "loosened since main: --fail-on-weakened",
        "trace": "ignore_fields: users.*.name",
        "line": 7,
    }
    calm = ctrf_of(weakened(False))
    assert (calm["summary"]["tests"], calm["summary"]["failed"]) == (1, 0)
    assert [one["change"] for one in calm["extra"]["against"]["changes"]] == ["loosened", "removed", "added"]


@pytest.mark.parametrize(("strict", "level"), [(True, "error"), (False, "warning")])
def test_sarif_has_a_result_for_each_weakened_baseline(strict: bool, level: str) -> None:
    run = sarif_of(weakened(strict))
    assert [(one["ruleId"], one["level"], one["message"]["text"]) for one in run["results"]] == [
        ("weakened/loosened", level, "users: loosened since main: ignore_fields: users.*.name"),
        ("weakened/removed", level, "gone: removed since main"),
    ]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "weakened/loosened",
        "weakened/removed",
    ]
    notes = [one["message"]["text"] for one in run["invocations"][0]["toolExecutionNotifications"]]
    assert notes == ["against main (96e676b1a2b3): 1 removed, 1 loosened, 1 added"]


def test_where_nothing_was_weakened_the_page_says_that_it_was_asked() -> None:
    run = report(
        result("a", "passed"),
        against=BaselineChanges(ref="main", commit="96e676b1a2b3", strict=False, changes=()),
    )
    assert "nothing added, removed, loosened or changed" in render_report(run, "x.html")


def test_junit_has_the_metrics_and_the_verdicts_as_properties() -> None:
    suite = suite_of(evals())
    known = {one.attrib["name"]: one.attrib["value"] for one in suite.findall("properties/property")}
    assert known["pass@1 (per case)"] == "0.500 (0.200 to 0.800)"
    assert "pass@3 (per case)" not in known
    assert (known["compared_to"], known["regressed"]) == ("eval-20240119-143052", "1")
    assert known["curt: since"] == "regressed"
    assert (known["odd: verdict"], known["odd: since"]) == ("flaky", "insufficient evidence")
    assert not [name for name in known if name.startswith("shape")]


def test_ctrf_marks_what_is_flaky_and_what_regressed() -> None:
    tests = {test["name"]: test for test in ctrf_of(evals())["tests"]}
    assert tests["odd"]["flaky"] is True
    assert "flaky" not in tests["curt"]
    assert tests["curt"]["extra"] == {"since": "regressed"}
    extra = ctrf_of(evals())["extra"]
    assert [judge["state"] for judge in extra["judges"]] == ["calibrated", "other labels"]
    assert [metric["value"] for metric in extra["metrics"]] == [0.5, 0.52, None]


def test_a_comment_shows_what_was_expected_and_what_came() -> None:
    page = render_report(evals(), "x.md")
    assert "```diff\n@@ expected and actual @@\n- ab\n+ ba\n```" in page
    assert "@@ actual @@\n+ The parcel\n+ came late.\n" in page
    assert "### Metrics\n" in page
    assert "### compared to eval-20240119-143052: 1 regressed" in page


def test_an_annotation_says_what_was_expected_and_what_came() -> None:
    told = render_report(evals(), "github")
    assert "title=odd%3A failed::2 of 3 attempts passed; no%0Aexpected: ab%0Aactual: ba\n" in told
    hostile = case("a", "failed", output=NASTY, reason=NASTY)
    assert len(render_report(report(hostile), "github").splitlines()) == 1


def test_a_comment_keeps_its_limit_with_many_cases_and_metrics() -> None:
    cases = tuple(replace(EARLIER.cases[0], id=f"{n}-" + "x" * 400) for n in range(500))
    page = render_report(evals(earlier=replace(EARLIER, cases=cases)), "x.md")
    assert len(page) <= 60_000
    assert "… and 450 more" in page


def test_f33_names_of_metrics_from_a_file_stay_what_they_are() -> None:
    earlier = replace(EARLIER, run=NASTY, metrics=(MetricChange(NASTY, "regressed", 1, 0, 1, 1, 0, 1, 1),))
    suite = SuiteFacts(NASTY, None, (metric(NASTY, None, why=NASTY), metric(NASTY, 0.5, NASTY)))
    for path in ("x.md", "x.junit.xml", "x.sarif"):
        written = render_report(evals(earlier=earlier, suite=suite), path)
        assert "\x1b" not in written
        assert "\n::error::" not in written
        assert "not available: \x1b" not in written
        assert "| \\x1b" not in written  # no name stands bare in a table


GIT = {"git.commit": ("a1" * 20, "b2" * 20), "git.branch": ("main", "new")}


@pytest.mark.parametrize("path", ["x.html", "x.md"])
def test_what_git_says_takes_one_line(path: str) -> None:
    def told(**more: Any) -> str:
        failed = result("a", "failed", spot(("k",), "value", 1, 2), environment_drift={**GIT, **more})
        return render_report(report(failed), path)

    alone = told()
    assert "a1a1a1a1a1a1" in alone
    assert "a1" * 20 not in alone
    assert "<caption>Changed since capture" not in alone
    both = told(python=("3.11", "3.12"))
    assert both.index("3.11") < both.index("a1a1a1a1a1a1")
