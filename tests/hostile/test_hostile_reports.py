"""Reports of hostile values can be read by whoever reads such reports, and stay within their bounds
(F31-F34, F55)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from attacked import Attacked, attacked
from junitschemas import SCHEMAS, invalid

from baselinekit.model.values import Json

NASTY = (
    "\x00\x0b\x1b[31m\ufffe\uffff\ud800\u202e ]]></failure><b> & ```\n````\n</details>"
    "<img src=x onerror=alert()> ![i](http://e.example/i.png) [x](javascript:alert()) @everyone @team/all #1"
    " GH-2 | \\| <!-- \n---\n# Yes\n"
)
UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]"
REPORTS = ("r.json", "r.junit.xml", "r.md", "r.html", "r.sarif", "r.ctrf.json")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """A project whose reports are written, of every kind of hostile value there is."""
    with attacked(tmp_path_factory.mktemp("reports") / "project") as project:
        project.pair("value", {"a": "x", "b": [1]}, {"a": NASTY, "b": [NASTY, {NASTY: None}]})
        project.pair("name", {NASTY: 1}, {NASTY: 2}, name=NASTY, metadata={"tags": [NASTY]})
        project.pair("skipped", 1, 1, metadata={"skip": NASTY})
        project.pair("error", 1, b"{" + json.dumps(NASTY).encode() + b": }")
        project.pair("rule", {"a": 1}, {"a": 2}, {"ignore_fields": [json.dumps(NASTY)]})
        text = (project.folder / "baselines/value.yaml").read_text()
        project.file("baselines/odd ]]>\n```@team|.yaml", text.replace("id: value", "id: odd"))
        ran = project.run("compare", *(word for report in REPORTS for word in ("-o", report)))
        assert ran.exit_code == 1, ran.output
        yield project


@pytest.mark.slow
def test_f34_reports_of_hostile_values_parse(hostile: Attacked) -> None:
    results = json.loads((hostile.folder / "r.json").read_bytes().decode("utf-8"))["results"]
    assert {result["id"] for result in results} == {"value", "name", "skipped", "error", "rule", "odd"}
    sides = [found.get("actual") for result in results for found in result["differences"]]
    assert sides.count(NASTY) == 4
    page = (hostile.folder / "r.junit.xml").read_bytes()
    names = [case.attrib["name"] for case in ElementTree.fromstring(page).iter("testcase")]
    assert names == [result["id"] for result in results]
    decoded = page.decode("utf-8")
    assert not re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", decoded)
    assert not re.search(UNSEEN, decoded)
    assert "\\x00" in decoded


def test_f34_junit_report_has_the_shape_that_ci_systems_read(hostile: Attacked) -> None:
    suites = ElementTree.parse(hostile.folder / "r.junit.xml").getroot()
    suite = suites[0]
    cases = suite.findall("testcase")
    counted = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": 6, "failures": 4, "errors": 1, "skipped": 1}
    assert {element.tag for element in suites.iter()} == {
        *("testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped"),
        *("system-out", "system-err"),
    }
    for schema in SCHEMAS.values():
        assert [*invalid(suites, schema)] == []
    for case in cases:
        assert case.attrib.keys() >= {"classname", "name", "time"}
        assert float(case.attrib["time"]) >= 0
        assert sum(element.tag in ("failure", "error", "skipped") for element in case) == 1


def test_f33_markdown_report_shows_foreign_text_as_text(hostile: Attacked) -> None:
    page = (hostile.folder / "r.md").read_text("utf-8")
    assert len(page) < 60_000
    assert not re.search(UNSEEN, page)
    outside, inside = [], []
    fence = ""
    for line in page.split("\n"):
        opened = re.match("`{3,}", line)
        if not fence and opened:
            fence = opened[0]
        elif line == fence:
            fence = ""
        else:
            (inside if fence else outside).append(line)
    assert fence == ""
    assert any("onerror" in line for line in inside)
    words = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", "\n".join(outside))
    plain = re.sub(r"</?(details( open)?|summary|b|code)>|&#\d+;", "", words)
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|(?<!\\)<[\w/!]|[@#]\w", plain)
    assert [line[:3] for line in outside if line.startswith("#")] == ["## "]
    assert [line[:8] for line in outside if line.startswith("<")] == ["<details", "</detail"] * 5
    rows = [line for line in outside if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


def test_f32_html_report_holds_foreign_text_as_text(hostile: Attacked) -> None:
    page = (hostile.folder / "r.html").read_text("utf-8")
    tags = re.findall(r"<(/?[a-zA-Z!][a-zA-Z0-9]*)", page)
    assert not {"img", "/failure"} & set(tags)
    assert tags.count("!doctype") == sum(tag.startswith("!") for tag in tags) == 1
    assert page.count("<script>") == page.count("</script>") == 1
    assert "&lt;img src=x onerror=alert()&gt;" in page
    assert not re.search(rf"{UNSEEN}|[\ufffe\uffff]", page)


@pytest.mark.slow
def test_f31_annotations_hold_no_command_of_foreign_text(hostile: Attacked) -> None:
    ran = hostile.run("compare", "-q", env={"GITHUB_ACTIONS": "true"})
    lines = ran.out.splitlines()
    commands = [line for line in lines if re.match(r"\s*::|.*##\[", line)]
    assert 5 < len(commands) <= 10 + 1
    assert all(re.match(r"::(error|notice) [^:]*::", line) for line in commands)
    assert ran.err == ""


def values(name: str) -> tuple[Json, Json]:
    rows = [{"id": n, "name": f"name {n}", "price": n / 4, "tags": ["a", "b"]} for n in range(10_500)]
    return {
        "every value": (list(range(30_000)), [-n - 1 for n in range(30_000)]),
        "every row": (rows, [{**row, "price": 0.5} for row in rows]),
    }[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("every value", 30_000), ("every row", 10_499)])
def test_f55_large_difference_is_counted_completely_in_time(tmp_path: Path, name: str, least: int) -> None:
    with attacked(tmp_path / "project") as project:
        project.pair("big", *values(name))
        output = [word for report in REPORTS for word in ("-o", report)]
        ran = project.run("compare", "-v", *output)
        assert ran.exit_code == 1
        assert ran.cpu < 12
        result = json.loads((project.folder / "r.json").read_bytes())["results"][0]
        assert result["difference_count"] >= least
        assert len(result["differences"]) == min(10_000, result["difference_count"])
        shown = [ran.out, *((project.folder / report).read_text("utf-8") for report in REPORTS[1:3])]
        sizes = {report: (project.folder / report).stat().st_size for report in REPORTS[3:]}
    assert sizes["r.html"] < 200_000
    assert sizes["r.sarif"] < 10_000_000
    assert sizes["r.ctrf.json"] < 60_000
    for page in shown:
        assert len(page) < 60_000
        assert f"{result['difference_count']:,} differences" in page
        assert re.search(r"and (over )?[\d,]+ more", page)
