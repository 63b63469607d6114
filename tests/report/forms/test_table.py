"""The written forms: every one parses, whatever came back from outside (F33, F34, F35)."""

import json
import re
from decimal import Decimal
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st
from report.reports import FILE, NASTY, report, result, spot

from baselinekit.errors import InvalidInput
from baselinekit.model.results import Report
from baselinekit.model.values import ABSENT
from baselinekit.report.forms.markdown import format_step_summary as step_summary
from baselinekit.report.forms.table import FORMS, form_of, render_report
from baselinekit.structs import replace

TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)


def a_run() -> Report:
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
    )


def test_the_result_file() -> None:
    text = render_report(a_run(), "out/x.json")
    written = json.loads(text, parse_float=Decimal)
    assert list(written) == ["format", "run", "summary", "results"]
    assert written["format"] == "baselinekit.results/1"
    assert written["run"] == {
        "id": "r1",
        "started": "2024-01-20T14:00:00Z",
        "seconds": Decimal("0.21"),
        "tool": "baselinekit 0.1.0",
        "command": "compare",
        "config": None,
        "environment": {"platform": "linux"},
        "shard": None,
        "warnings": ["a warning"],
        "not_recorded": ["a.yaml: no space left"],
    }
    assert written["summary"] == {
        "passed": 1,
        "failed": 1,
        "error": 1,
        "unscored": 1,
        "skipped": 1,
        "complete": False,
    }
    failed, error, *_, passed = written["results"]
    assert failed["differences"][0] == {
        "path": "body.users[1].email",
        "kind": "value",
        "expected": "<<any_email>>",
        "actual": "nobody",
        "file": FILE,
        "line": 14,
        "rule": None,
    }
    assert failed["differences"][1]["expected"] == Decimal("4.20")
    assert failed["differences"][1]["actual"] == 10**30
    assert failed["differences"][1]["note"] == "far"
    assert "4.20" in text
    assert failed["differences"][2]["expected"] is None
    assert "actual" not in failed["differences"][2]
    assert "expected" not in failed["differences"][3]
    assert failed["environment_drift"] == {
        "git": {"now": "x"},
        "node": {"captured": "18", "now": "20"},
    }
    assert failed["resolved"] == {"price": Decimal("4.20")}
    assert (failed["recipe_hash"], failed["observed"]) == ("abc", {"seconds": Decimal("0.125")})
    assert (error["code"], error["reason"], error["attempts"]) == ("BK301", "refused\nsecond line", 3)
    assert "resolved" not in error
    assert "resolved" not in passed
    assert render_report(a_run(), "x.json") == text


def test_only_an_output_of_up_to_a_megabyte_is_carried_along() -> None:
    fitting, too_long = (report(result("a", resolved="x" * size)) for size in (900_000, 1_000_000))
    assert "resolved" in json.loads(render_report(fitting, "x.json"))["results"][0]
    assert "resolved" not in json.loads(render_report(too_long, "x.json"))["results"][0]


def test_differences_are_counted_beyond_those_that_are_kept() -> None:
    run = report(result("a", "failed", spot(("k",), "value", 1, 2), count=20_000))
    assert json.loads(render_report(run, "x.json"))["results"][0]["difference_count"] == 20_000
    assert "and 19,999 more differences" in render_report(run, "x.md")
    assert "and 19,999 more differences" in render_report(run, "x.xml")


def test_junit() -> None:
    suite = ElementTree.fromstring(render_report(a_run(), "x.junit.xml").encode())[0]
    assert suite.attrib == {
        "name": "baselinekit",
        "tests": "5",
        "failures": "1",
        "errors": "1",
        "skipped": "2",
        "time": "0.210",
        "timestamp": "2024-01-20T14:00:00",
        "hostname": "localhost",
        "package": "baselinekit",
        "id": "0",
    }
    counts = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    assert counts == {
        "failed": "1",
        "error": "1",
        "unscored": "1",
        "skipped": "1",
        "passed": "1",
        "complete": "false",
    }
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert list(cases) == ["users-list", "orders", "judged", "later", "fine"]
    assert cases["users-list"].attrib["classname"] == "baselines.shop.users-list"
    assert cases["users-list"].attrib["time"] == "0.125"
    assert {name: [child.tag for child in case] for name, case in cases.items()} == {
        "users-list": ["failure"],
        "orders": ["error"],
        "judged": ["skipped"],
        "later": ["skipped"],
        "fine": [],
    }
    failure = cases["users-list"][0]
    assert failure.attrib["message"] == "4 differences, the first at body.users[1].email"
    assert '+ "nobody"' in (failure.text or "")
    assert f"{FILE}:14" in (failure.text or "")
    assert cases["orders"][0].attrib == {"type": "BK301", "message": "BK301 refused"}
    assert cases["judged"][0].attrib["type"] == "unscored"
    assert suite.findtext("system-err") == "a warning\nnot recorded: a.yaml: no space left"


def test_f34_every_character_there_is_survives_in_junit_or_is_shown() -> None:
    for start in range(0, 0x110000, 0x1000):
        text = "".join(map(chr, range(start, start + 0x1000)))
        written = render_report(report(result("a", "error", reason=text, name=text)), "x.junit.xml")
        (error,) = ElementTree.fromstring(written.encode()).iter("error")
        read = error.attrib["message"] + (error.text or "")
        for character in text[:: 0x1F if start else 1]:
            kept = character in read or character in "\n\r\t"
            assert kept or f"{ord(character):02x}" in read.lower(), hex(ord(character))


def test_markdown_as_it_is_read() -> None:
    text = render_report(a_run(), "x.md")
    assert text.startswith("## baselinekit: 1 failed, 1 error, 1 unscored, 1 skipped, 1 passed in 0.21s ")
    assert "\n> not recorded: a.yaml: no space left\n" in text
    assert f"| failed | `users-list` | critical | 4 differences | `{FILE}:3` |" in text
    assert "| error | `orders` |  | BK301 refused |" in text
    assert "<details><summary><b>failed</b> <code>users-list</code> User list</summary>\n\n" in text
    assert text.endswith("Is the new answer right? `baselinekit review users-list`\n")
    assert "| git | not set | x |\n| node | 18 | 20 |\n" in text
    assert f'@@ body.users[1].email  {FILE}:14 @@\n- <<any_email>>\n+ "nobody"\n' in text
    assert "BK301 refused\n\nsecond line\n" in text
    assert "fine" not in text
    passed = render_report(report(result("a", "passed")), "x.md")
    assert passed == "## baselinekit: 1 passed in 0.21s\n"


def test_markdown_stays_within_a_comment_and_counts_what_it_leaves_out() -> None:
    many = [
        result(
            f"case-{number}",
            "failed",
            *(spot((f"n{number}", f"k{key}"), "value", "`" * 90, "|" * 400) for key in range(9)),
        )
        for number in range(300)
    ]
    text = render_report(report(*many), "x.md")
    assert len(text) <= 60_000
    assert "and 250 more" in text
    shown = text.count("\n<details><summary>")
    assert f"*{300 - shown:,} more are not shown here" in text
    assert shown > 10

    nasty = [spot((f"k{key}",), "value", "\u202e`" * 250, "\x1b" * 500) for key in range(50)]
    alone = render_report(report(result("a", "failed", *nasty)), "x.md")
    assert len(alone) <= 60_000
    told = alone.count("@@ k")
    left = re.search(r"… and (\d+) more differences", alone)
    assert told + (int(left[1]) if left else 0) == 50


@pytest.mark.slow
@given(TEXT, TEXT)
def test_every_form_survives_every_text(one: str, other: str) -> None:
    nasty = result(
        one or "id",
        "failed",
        spot(("body", one), "value", one, other, rule=other, note=one),
        name=other,
        criticality=one,
        target=other,
        reason=one,
        notes=(other,),
        environment_drift={one: (other, one)},
        resolved={one: other},
    )
    run = report(nasty, result("e", "error", reason=other), warnings=(one,))
    read = json.loads(render_report(run, "x.json"))
    assert read["results"][0]["differences"][0]["kind"] == "value"
    ElementTree.fromstring(render_report(run, "x.junit.xml").encode())
    for path in ("x.json", "x.junit.xml", "x.md", "x.html", "x.sarif", "x.ctrf.json", "github"):
        text = render_report(run, path)
        text.encode()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


BREAKING = (
    "</summary></details><b>\n\n# a\n```\n````\n@team #1 GH-2 ![i](http://e.example/i.png) <!-- &amp; |"
)


def test_f33_a_folded_part_cannot_be_left() -> None:
    nasty = result(
        BREAKING, "failed", spot((BREAKING,), "value", BREAKING, "x"), name=BREAKING, target=BREAKING
    )
    text = render_report(report(nasty, result("b", "error", reason=BREAKING)), "x.md")
    fence = re.search(r"(?ms)^(`{3,})diff\n.*?^\1$", text)
    assert fence is not None
    assert len(fence[1]) == 5
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text.replace(fence[0], ""))
    assert re.findall(r"(?<!\\)<[^>]*>", outside) == [
        *["<details open>", "<summary>", "<b>", "</b>", "<code>", "</code>", "</summary>", "</details>"] * 2
    ]
    assert not re.search(r"(?<!\\)!\[|@\w|GH-\d|(?m:^# )", outside)


def test_f33_a_summary_of_a_step_is_counted_in_bytes() -> None:
    wide = [
        result(f"case-{n}", "failed", spot((f"k{n}",), "value", "漢" * 400, "字" * 400)) for n in range(900)
    ]
    for room in (1_000_000, 60_000, 2_000, 900, 0, -1):
        page = step_summary(report(*wide), room)
        assert len(page.encode()) <= max(room, 0)
        if room >= 2_000:
            told = page.count("<details>")
            assert f"*{900 - told:,} more are not shown here" in page
    assert len(step_summary(report(*wide), 1_000_000).encode()) > 950_000


def test_markdown_cannot_be_broken_out_of() -> None:
    nasty = result("id", "failed", spot((NASTY,), "value", NASTY, "b\n" + NASTY), name=NASTY, reason=NASTY)
    text = render_report(report(nasty, warnings=(NASTY,)), "x.md")
    fence = re.search(r"(?ms)^(`{3,})diff\n.*?^\1$", text)
    assert fence is not None
    outside = text.replace(fence[0], "")
    assert "![" not in outside.replace("\\!", "").replace("!\\[", "")
    assert not re.search(r"@\w", outside)
    assert "</failure>" not in outside


@pytest.mark.parametrize("path", ["a.htm", "a", "./github", "a.jsn", "json", "a.md.txt", ".json/x"])
def test_an_unknown_ending_is_refused_with_those_that_are_known(path: str) -> None:
    with pytest.raises(InvalidInput, match=r"BK503 .*\.json, \.junit\.xml, \.xml, \.md") as caught:
        form_of(path)
    assert caught.value.problems[0].hint
    if path == "a.jsn":
        assert "did you mean '.json'?" in str(caught.value)


def test_endings_are_told_without_their_case() -> None:
    run = replace(a_run(), results=())
    assert render_report(run, "A.JSON") == render_report(run, "dir.md/x.json")
    assert render_report(run, "x.xml") == render_report(run, "x.JUnit.xml")


def test_forms_that_other_programs_read_name_a_file_as_its_repository_does() -> None:
    run = replace(a_run(), folder="services/shop")
    for path in ("x.junit.xml", "x.sarif", "x.ctrf.json", "github"):
        assert f"services/shop/{FILE}" in render_report(run, path), path
    for path in ("x.json", "x.html"):  # a command to type is meant for the project's folder
        assert "services/shop" not in render_report(run, path), path


def test_a_new_form_is_a_file_and_a_row() -> None:
    forms = {**FORMS, ".toy.txt": "report.forms.toyform"}
    assert form_of("out/Run.Toy.txt", forms)(a_run()) == "users-list failed\norders error\n"
    assert form_of("x.json", forms) is form_of("x.json")


def test_markdown_of_a_project_below_its_repository_names_files_from_the_root_of_the_repository() -> None:
    text = render_report(replace(a_run(), folder="services/shop"), "out/x.md")
    places = re.findall(rf"\S*{re.escape(FILE)}", text)
    assert len(places) > 5
    assert all(place.strip("`").startswith(f"services/shop/{FILE}") for place in places)
