"""A result file read back: the same report, and whatever is not what we write is told with its place."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from report.evalruns import a_run as evals
from report.reports import report, result, spot

from baselinekit.errors import InvalidInput
from baselinekit.model.grades import Attempt, Classified, Grade, JudgeFacts, PassRule
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import CaseFacts, Coverage, Repeats, Report, Shard, SuiteFacts, Typed
from baselinekit.model.values import ABSENT
from baselinekit.report.forms import render_report
from baselinekit.report.resultfile import compact, path_of, read
from baselinekit.structs import replace
from baselinekit.values.paths import render as render_path

TEXT = st.text(max_size=12)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.just(Decimal("1e400"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
SIDES = VALUES | st.just(ABSENT)
PATHS = st.lists(TEXT | st.integers(0, 10**12), max_size=4).map(tuple)
USAGE = Usage(7, None, Decimal("0.0012"), 3)
PART = Grade("part", "code", "passed", 1, weight=2, required=False, usage=USAGE, line=9, failed_gates=("x",))


@given(TEXT, VALUES, SIDES, SIDES, PATHS, st.sampled_from(["failed", "passed"]))
def test_read_of_a_rendered_report_renders_to_the_same_bytes(
    text: str, value: Any, expected: Any, actual: Any, path: Any, outcome: str
) -> None:
    classified = Classified(text, None)
    grade = Grade(
        text, "model", "failed", 0.5, text, text, {text: value}, classified=classified, parts=(PART,)
    )
    attempt = Attempt(1, "failed", None, (grade,), text, output=value, usage=USAGE, environment={text: value})
    case = CaseFacts("capability", (attempt,), text, (text,), 2, 0.5, {text: text}, 1, PassRule("mean"))
    failed = result(
        *("a", outcome, spot(path, "value", expected, actual, note=text)),
        resolved=expected,
        environment_drift={text: (expected, actual)},
        usage=USAGE,
        scores={text: 4},
        repeats=Repeats(3, 1, 0),
        position=4,
        case=case,
        explanation=(text,),
    )
    run = report(failed, environment={text: value}, spent=ModelUsage(3, 9, Decimal("0.5"), 2, 38, Decimal(1)))
    run = replace(run, shard=Shard(2, 3, 99), coverage=Coverage({text: value}, 2), typed=Typed((text,)))
    assert_reads_back(run)


def assert_reads_back(run: Report) -> None:
    page = render_report(run, "x.json")
    again = read(page, "x.json")
    assert render_report(again, "x.json") == page
    assert (again.exit_code, compact(again)) == (run.exit_code, compact(run))


def test_read_of_a_run_of_evals_renders_to_the_same_bytes() -> None:
    assert_reads_back(replace(evals(), complete=False, interrupted=True))


@given(PATHS)
def test_path_of_a_rendered_path_is_the_path(path: tuple[str | int, ...]) -> None:
    assert path_of(render_path(path)) == path


@pytest.mark.parametrize("text", ["", "a..b", "a.*", "[x]", "a b", '"a', "a[-1]", ".a", '"\\q"', "a$"])
def test_path_of_other_texts_is_none(text: str) -> None:
    assert path_of(text) is None


def write_run(**more: Any) -> dict[str, Any]:
    run = report(
        result("a", "failed", spot(("k",), "value", 1, 2), resolved={"k": 2}),
        result("b", "passed", usage=Usage(cost_usd=Decimal("0.5")), scores={"tone": 4}),
        **more,
    )
    found: dict[str, Any] = json.loads(render_report(run, "x.json"))
    return found


def problems_of(raw: Any) -> str:
    with pytest.raises(InvalidInput) as error:
        read(json.dumps(raw, indent=1), "ci/results.json")
    assert error.value.exit_code == 2
    assert all(
        re.match(r"BK1\d\d ci/results\.json:\d+:\d+: .+: .+", line) for line in str(error.value).splitlines()
    )
    return str(error.value)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("format",), "baselinekit.results/2", "this version reads 'baselinekit.results/1'"),
        (("format",), 1, "is not a result file"),
        (("run", "started"), "yesterday", "a time such as 2024-01-20T14:00:00Z, found 'yesterday'"),
        (
            ("run", "colour"),
            "red",
            "unknown key 'colour': use the version that wrote it, or write it again: ",
        ),
        (("summary", "passed"), 2, "has 2 passed, and the results are 1"),
        (("results", 0, "id"), "../../etc", "letters, digits"),
        (("results", 0, "id"), "b", "'b' occurs twice: results[0] has it too"),
        (("results", 0, "differences", 0, "path"), "a.*", "expected a list, found 'a.*'"),
        (("results", 1, "observed", "cost_usd"), -1, "expected a number of 0 or more, found -1 (integer)"),
        (("results", 1, "observed", "scores"), {"tone": "good"}, "expected a number, found 'good'"),
    ],
)
def test_read_of_an_invalid_value_names_its_place(place: Any, value: Any, message: str) -> None:
    raw = write_run()
    inside = raw
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    assert message in problems_of(raw)


def test_report_of_a_calibrated_judge_without_its_agreement_shows_it_as_not_measured() -> None:
    raw = write_run(suite=SuiteFacts("s", judges=(JudgeFacts("m", "j.yaml", "calibrated"),)))
    page = render_report(read(json.dumps(raw), "ci/results.json"), "x.md")
    assert "judge m: not measured with this rubric and these labels (j.yaml): baselinekit calibrate" in page


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "BK101 x.json:1:1: not valid JSON"),
        ("[1", "BK101 x.json:1:"),
        ("null", "BK130 x.json:1:1: it is not a result file"),
        ("{}", "use the version that wrote it, or write it again: baselinekit compare -o results.json"),
        ('{"format": 1, "format": 2}', "BK102 x.json:1:15: the key 'format' occurs twice"),
        ("[" * 5_000, "BK1"),
        ('{"a": NaN}', "BK106"),
    ],
)
def test_read_of_another_file_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read(text, "x.json")
    assert message in str(error.value)
