"""The written forms: every one parses, whatever came back from outside (F33, F34, F35), and none looks as if
all were well when it was not."""

import json
import re
from decimal import Decimal
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from report.evalruns import EARLIER, JUDGES, METRICS, results
from report.reports import FILE, NASTY, metric, report, result, spot

from baselinekit.model.results import BaselineChange, BaselineChanges, MetricChange, Report, SuiteFacts
from baselinekit.model.values import ABSENT
from baselinekit.report.forms import FORMS, form_of, render_report
from baselinekit.report.forms.markdown import format_step_summary
from baselinekit.structs import replace

TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)
REVISED = (
    BaselineChange("users", "loosened", FILE, 7, ("ignore_fields: users.*.name",)),
    BaselineChange("gone", "removed", "baselines/gone.yaml", None),
    BaselineChange("new", "added", FILE, 9),
)


def a_run(**more: Any) -> Report:
    return report(
        result(
            "users-list",
            "failed",
            spot(("body", "users", 1, "email"), "value", "<<any_email>>", "nobody"),
            spot(("body", "price"), "tolerance", Decimal("4.20"), 10**30, rule="tolerance.price", note="far"),
            spot(("body", "lost"), "missing", None),
            spot(("body", "new"), "extra", [1], line=None),
            name="User list",
            criticality="critical",
            environment_drift={"node": ("18", "20"), "git": (ABSENT, "x")},
            recipe_hash="abc",
            resolved={"price": Decimal("4.20")},
        ),
        result("orders", "error", code="BK301", reason="refused\nsecond line", attempts=3),
        result("judged", "unscored", reason="no answer"),
        result("later", "skipped", reason="-x"),
        result("fine", "passed", notes=("a note",), resolved={"not": "written"}),
        environment={"platform": "linux"},
        warnings=("a warning",),
        not_recorded=("a.yaml: no space left",),
        complete=False,
        **more,
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


def test_result_file_has_every_digit_and_no_key_for_an_absent_value() -> None:
    text = render_report(a_run(), "out/x.json")
    written = json.loads(text, parse_float=Decimal)
    counts = dict.fromkeys(("passed", "failed", "error", "unscored", "skipped"), 1)
    assert written["summary"] == {**counts, "complete": False}
    failed, error, *_, passed = written["results"]
    assert failed["differences"][1] == {
        "path": "body.price",
        "kind": "tolerance",
        "expected": Decimal("4.20"),
        "actual": 10**30,
        "file": FILE,
        "line": 14,
        "rule": "tolerance.price",
        "note": "far",
    }
    assert "4.20" in text
    assert "actual" not in failed["differences"][2]
    assert "expected" not in failed["differences"][3]
    assert failed["environment_drift"] == {"git": {"now": "x"}, "node": {"captured": "18", "now": "20"}}
    assert failed["resolved"] == {"price": Decimal("4.20")}
    assert not {"resolved"} & (error.keys() | passed.keys())


def test_junit_keeps_the_five_outcomes_apart() -> None:
    suite = suite_of(a_run())
    names = ("tests", "failures", "errors", "skipped", "time", "timestamp")
    assert [suite.attrib[name] for name in names] == ["5", "1", "1", "2", "0.210", "2024-01-20T14:00:00"]
    outcomes = dict.fromkeys(("failed", "error", "unscored", "skipped", "passed"), "1")
    properties = {item.attrib["name"]: item.attrib["value"] for item in suite.iter("property")}
    assert properties == {**outcomes, "complete": "false"}
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert {name: [child.tag for child in case] for name, case in cases.items()} == {
        "users-list": ["failure"],
        "orders": ["error"],
        "judged": ["skipped"],
        "later": ["skipped"],
        "fine": [],
    }
    failure, facts = cases["users-list"][0], cases["users-list"].attrib
    assert (facts["classname"], facts["time"]) == ("baselines.shop.users-list", "0.125")
    assert failure.attrib["message"] == "4 differences, the first at body.users[1].email"
    assert '+ "nobody"' in (failure.text or "")
    assert f"{FILE}:14" in (failure.text or "")
    assert cases["orders"][0].attrib == {"type": "BK301", "message": "BK301 refused"}
    assert suite.findtext("system-err") == "a warning\nnot recorded: a.yaml: no space left"


def test_f34_junit_of_any_character_parses() -> None:
    for start in (0, 0x2000, 0xD000, 0xE000, 0xF000, 0x1F000, 0x10F000):
        text = "".join(map(chr, range(start, start + 0x1000)))
        written = render_report(report(result("a", "error", reason=text, name=text)), "x.junit.xml")
        ElementTree.fromstring(written.encode())


def test_markdown_fits_a_comment_and_counts_the_lines_left_out() -> None:
    def failed(n: int) -> Any:
        spots = (spot((f"n{n}", f"k{key}"), "value", "`" * 90, "|" * 400) for key in range(9))
        return result(f"case-{n}", "failed", *spots)

    text = render_report(report(*map(failed, range(300))), "x.md")
    assert len(text) <= 60_000
    assert "and 250 more" in text
    shown = text.count("\n<details><summary>")
    assert shown > 10
    assert f"*{300 - shown:,} more are not shown here" in text
    nasty = [spot((f"k{key}",), "value", "\u202e`" * 250, "\x1b" * 500) for key in range(50)]
    alone = render_report(report(result("a", "failed", *nasty)), "x.md")
    assert len(alone) <= 60_000
    left = re.search(r"… and (\d+) more differences", alone)
    assert alone.count("@@ k") + (int(left[1]) if left else 0) == 50
    many = tuple(replace(EARLIER.cases[0], id=f"{n}-" + "x" * 400) for n in range(500))
    page = render_report(evals(earlier=replace(EARLIER, cases=many)), "x.md")
    assert (len(page) <= 60_000, "… and 450 more" in page) == (True, True)


def test_f33_step_summary_stays_within_its_bytes() -> None:
    wide = [
        result(f"case-{n}", "failed", spot((f"k{n}",), "value", "漢" * 400, "字" * 400)) for n in range(900)
    ]
    for room in (1_000_000, 60_000, 2_000, 900, 0, -1):
        page = format_step_summary(report(*wide), room)
        assert len(page.encode()) <= max(room, 0)
        if room >= 2_000:
            assert f"*{900 - page.count('<details>'):,} more are not shown here" in page
    assert len(format_step_summary(report(*wide), 1_000_000).encode()) > 950_000


BREAKING = (
    "</summary></details><b>\n\n# a\n```\n````\n@team #1 GH-2 ![i](http://e.example/i.png) <!-- &amp; |"
)


@pytest.mark.parametrize("text", [BREAKING, NASTY])
def test_f33_markdown_of_hostile_text_stays_in_its_folded_part(text: str) -> None:
    nasty = result(text, "failed", spot((text,), "value", text, f"b\n{text}"), name=text, target=text)
    page = render_report(report(nasty, result("b", "error", reason=text), warnings=(text,)), "x.md")
    fence = re.search(r"(?ms)^(`{3,})diff\n.*?^\1$", page)
    assert fence is not None
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", page.replace(fence[0], ""))
    assert re.findall(r"(?<!\\)<[^>]*>", outside) == [
        *["<details open>", "<summary>", "<b>", "</b>", "<code>", "</code>", "</summary>", "</details>"] * 2
    ]
    assert not re.search(r"(?<!\\)!\[|@\w|GH-\d|(?m:^# )", outside)


def test_f33_forms_escape_names_of_metrics() -> None:
    earlier = replace(EARLIER, run=NASTY, metrics=(MetricChange(NASTY, "regressed", 1, 0, 1, 1, 0, 1, 1),))
    suite = SuiteFacts(NASTY, None, (metric(NASTY, None, why=NASTY), metric(NASTY, 0.5, NASTY)))
    for path in ("x.md", "x.junit.xml", "x.sarif", "x.eval.json", "github"):
        written = render_report(evals(earlier=earlier, suite=suite), path)
        assert "\x1b" not in written
        assert "\n::error::" not in written
        assert "| \\x1b" not in written  # a name in a table is in a code span


@pytest.mark.slow
@given(TEXT, TEXT)
def test_forms_of_any_text_parse(text: str, other: str) -> None:
    nasty = result(
        text or "id",
        "failed",
        spot(("body", text), "value", text, other, rule=other, note=text),
        name=other,
        criticality=text,
        target=other,
        reason=text,
        notes=(other,),
        environment_drift={text: (other, text)},
        resolved={text: other},
    )
    run = report(nasty, result("e", "error", reason=other), warnings=(text,))
    assert json.loads(render_report(run, "x.json"))["results"][0]["differences"][0]["kind"] == "value"
    ElementTree.fromstring(render_report(run, "x.junit.xml").encode())
    assert [test["name"] for test in ctrf_of(run)["tests"]] == [text or "id", "e"]
    assert [found["ruleId"] for found in sarif_of(run)["results"]] == ["difference/value", "error"]
    for path in ("x.json", "x.junit.xml", "x.md", "x.html", "x.sarif", "x.ctrf.json", "github"):
        page = render_report(run, path)
        page.encode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)


def test_sarif_fingerprint_depends_on_the_subject_and_not_on_line_or_values() -> None:
    def print_of(*path: str, id: str = "a", **more: Any) -> str:
        found = result(id, "failed", spot(path, "value", 1, more.get("actual", 2), line=more.get("line", 1)))
        prints: dict[str, str] = sarif_of(report(found))["results"][0]["partialFingerprints"]
        return prints["baselinekit/v1"]

    assert print_of("k") == print_of("k", line=9) == print_of("k", actual=7)
    assert len({print_of("k"), print_of("l"), print_of("k", id="b"), print_of("k", "l")}) == 4


@pytest.mark.slow
def test_sarif_stays_within_the_limits_of_code_scanning_and_counts_the_rest() -> None:
    many = [result(f"r{n}", "failed", *(spot((k,), "value", 1, 2) for k in range(60))) for n in range(100)]
    run = sarif_of(report(*many))
    assert len(run["results"]) == 5_000
    note = run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert note.startswith("1,000 more differences are not in this file")


@pytest.mark.parametrize("text", ["é 漢", "\udcff\x00", "%41 ?#", "a\\b:c"])
def test_sarif_uri_is_quoted(text: str) -> None:
    hostile = f"http://e.example/?x#y {text}"
    run = sarif_of(report(result("a", "failed", spot(("k",), "value", 1, 2)), folder=hostile))
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"http%3A/e.example/[A-Za-z0-9/._~%-]*|[A-Za-z0-9/._~%-]*", uri)
    assert unquote(uri, errors="surrogateescape").endswith("users-list.yaml")


@pytest.mark.parametrize(
    ("started", "start"),
    [("2024-01-20T14:00:00", 1705759200000), ("2024-01-20T19:45:00+05:45", 1705759200000), ("yesterday", 0)],
)
def test_ctrf_begins_at_the_same_moment_in_every_zone(started: str, start: int) -> None:
    assert ctrf_of(report(result("a", "passed"), started=started))["summary"]["start"] == start


@pytest.mark.parametrize("path", ["x.html", "x.md", "x.junit.xml", "x.sarif", "x.ctrf.json", "x.json"])
def test_every_form_lists_weakened_baselines(path: str) -> None:
    written = render_report(weakened(False), path)
    words = ("users", "loosened", "ignore", "gone", "removed", "main")
    assert [word for word in words if word not in written] == []


@pytest.mark.parametrize("path", ["x.html", "x.md", "x.junit.xml", "x.ctrf.json", "x.eval.json"])
def test_every_form_shows_the_earlier_run_and_the_judges(path: str) -> None:
    written = render_report(evals(), path)
    words = ("eval-20240119-143052", "regressed", "improved", "insufficient", "the model differs", "0.83")
    assert [word for word in words if word not in written] == []


def test_forms_for_programs_are_red_where_weakened_baselines_fail_the_run() -> None:
    names = ["users (loosened since main)", "gone (removed since main)"]
    suite, calm = suite_of(weakened(True)), suite_of(weakened(False))
    red = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "2")
    assert [case.attrib["name"] for case in red] == names
    assert red[0].findtext("failure") == f"{FILE}:7\nignore_fields: users.*.name"
    assert (calm.attrib["tests"], calm.attrib["failures"]) == ("1", "0")
    assert "loosened  users" in (calm.findtext("system-out") or "")
    strict, lenient = ctrf_of(weakened(True, folder="svc")), ctrf_of(weakened(False))
    assert (strict["summary"]["tests"], strict["summary"]["failed"]) == (3, 2)
    test = strict["tests"][1]
    assert (test["name"], test["status"], test["extra"]) == (names[0], "failed", {"verdict": "weakened"})
    assert (test["filePath"], test["line"]) == (f"svc/{FILE}", 7)
    assert test["message"] == "ignore_fields: users.*.name"
    assert (lenient["summary"]["tests"], lenient["summary"]["failed"]) == (1, 0)
    for is_strict, level in ((True, "error"), (False, "warning")):
        run = sarif_of(weakened(is_strict))
        assert [(item["ruleId"], item["level"], item["message"]["text"]) for item in run["results"]] == [
            ("weakened", level, f"{names[0]}: ignore_fields: users.*.name"),
            ("weakened", level, f"{names[1]}: the baseline is removed"),
        ]
        notes = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
        assert notes == ["against main (96e676b1a2b3): 1 removed, 1 loosened, 1 added"]


def test_form_of_ending_in_any_case_is_found() -> None:
    assert form_of("A.JSON") is form_of("dir.md/x.json")
    assert form_of("x.xml") is form_of("x.JUnit.xml")
    assert form_of("x.sarif.json") is form_of("x.sarif")


def test_forms_read_elsewhere_name_a_file_as_its_repository_does() -> None:
    run = a_run(folder="services/shop")
    for path in ("x.junit.xml", "x.sarif", "x.ctrf.json", "github", "x.md"):
        places = re.findall(rf"[\w/]*{re.escape(FILE)}", render_report(run, path))
        assert {*places} == {f"services/shop/{FILE}"}, path
    for path in ("x.json", "x.html"):  # a command to type is meant for the project's folder
        assert "services/shop" not in render_report(run, path), path


def test_form_of_a_new_row_is_found() -> None:
    forms = {**FORMS, ".toy.txt": "report.forms.toyform"}
    assert form_of("out/Run.Toy.txt", forms)(a_run()) == "users-list failed\norders error\n"
    assert form_of("x.json", forms) is form_of("x.json")
