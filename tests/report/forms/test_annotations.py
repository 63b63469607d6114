"""GitHub annotations: at the line of the expected value, ten of a kind, no command of anybody else (F31)."""

import re

import pytest
from hypothesis import example, given, strategies as st
from report.reports import FILE, NASTY, report, result, spot

from baselinekit.errors import Place, Problem
from baselinekit.model.results import BaselineChange, BaselineChanges, Report, Result
from baselinekit.report.forms import render_report
from baselinekit.report.forms.annotations import format_problems as complaints

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^:,\r\n]*)(?:,\w+=[^:,\r\n]*)*)::([^\r\n]*)")


def commands_of(run: Report) -> list[tuple[str, dict[str, str], str]]:
    """Every line as a runner reads it: what kind, its properties, its text."""
    found = []
    for line in render_report(run, "github").splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        pairs = dict(pair.split("=", 1) for pair in match[2].split(","))
        found.append((match[1], {key: read(value) for key, value in pairs.items()}, read(match[3])))
    return found


def read(escaped: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        escaped = escaped.replace(code, character)
    return escaped


def failed(id: str, *lines: int) -> Result:
    spots = [spot(("body", f"k{line}"), "value", line, -1, line=line) for line in lines]
    return result(id, "failed", *spots)


@pytest.mark.parametrize(
    ("results", "shown", "left"),
    [
        ([failed("a", *range(1, 12))], {"a": 10}, 1),
        ([failed("a", *range(1, 30)), failed("b", 1)], {"a": 9, "b": 1}, 20),
        ([failed(f"r{n}", 1, 2) for n in range(30)], {f"r{n}": 1 for n in range(10)}, 50),
    ],
)
def test_annotations_are_ten_of_a_kind_and_count_the_rest(
    results: list[Result], shown: dict[str, int], left: int
) -> None:
    *errors, last = commands_of(report(*results, result("z", "unscored")))
    assert last[0] == "notice"
    assert last[2].startswith(f"{left} more are not annotated: ")
    counted: dict[str, int] = {}
    for level, properties, _ in errors:
        if level == "error":
            id = properties["title"].split(":")[0]
            counted[id] = counted.get(id, 0) + 1
    assert counted == shown
    assert list(counted) == list(shown)  # those of one baseline stand together
    assert [level for level, *_ in errors].count("warning") == 1


@given(ANY_TEXT, ANY_TEXT)
@example(NASTY, "\n::error::x")
@example("a,b:c%0Ad\r\n", "::set-output name=x::y")
@example("##[error]x", "##vso[task.complete result=Failed]")
def test_f31_annotations_of_any_text_hold_no_other_command(text: str, other: str) -> None:
    run = report(
        result(text, "failed", spot((other,), "value", text, other, note=text, rule=other), name=other),
        result(other, "error", reason=text, code="BK301"),
        folder=text.replace("\x00", ""),
    )
    found = commands_of(run)
    assert [level for level, *_ in found] == ["error", "error"]
    assert all(list(properties) == ["file", "line", "title"] for _, properties, _ in found)
    page = render_report(run, "github")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)
    assert not re.search(r"##(vso|teamcity)?\[", page)


@pytest.mark.parametrize(("strict", "level"), [(False, "warning"), (True, "error")])
def test_f31_annotations_list_weakened_baselines_at_their_lines(strict: bool, level: str) -> None:
    revised = (
        BaselineChange("users", "loosened", FILE, 7, ("ignore_fields: **.id\n::error::x",)),
        BaselineChange("gone", "removed", FILE, None),
        BaselineChange("new", "added", FILE, 1),
    )
    run = report(
        result("users", "passed"),
        against=BaselineChanges(ref="main", commit="96e676b1a2b3", strict=strict, changes=revised),
    )
    shown = [
        (kind, properties["line"], properties["title"], text) for kind, properties, text in commands_of(run)
    ]
    word = "failed" if strict else "unscored, weakened"
    assert shown == [
        (level, "7", f"users (loosened since main): {word}", "ignore_fields: **.id\n\\::error::x"),
        (level, "1", f"gone (removed since main): {word}", "the baseline is removed"),
    ]


def test_f31_format_problems_annotates_files_at_their_places() -> None:
    problems = [
        Problem("BK102", "the key a\n::error::is occurs twice", "remove, one", Place("a:b,c.yaml", 7, 3))
    ]
    problems += [Problem("BK509", "without a place")]
    assert complaints(problems, "sub") == (
        "::error file=sub/a%3Ab%2Cc.yaml,line=7,title=BK102"
        "::the key a%0A\\::error::is occurs twice: remove, one\n"
    )
    many = [Problem("BK102", "what", "mend", Place("a.yaml", line)) for line in range(1, 15)]
    *ten, notice = complaints(many, "").splitlines()
    assert len(ten) == 10
    assert notice == "::notice title=baselinekit::4 more problems are in the log of this step"
