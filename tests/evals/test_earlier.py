"""--compare-to: what one run says of another, and what it does not say."""

import json
from pathlib import Path

import pytest
from evalreports import report, result
from hypothesis import given, strategies as st
from report.reports import metric

from baselinekit.commands.project import Operator, open_project
from baselinekit.commands.recording import keep_report
from baselinekit.errors import InvalidInput
from baselinekit.evals.earlier import check_parts, compare_runs, load_earlier
from baselinekit.model.recipes import Usage
from baselinekit.model.results import Coverage, EarlierComparison, Report, Share, SuiteFacts
from baselinekit.report import resultfile
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.forms.table import render_report
from baselinekit.report.sections import earlier_blocks
from baselinekit.report.wording import Style, headline
from baselinekit.structs import replace

ONE = [  # before, now, verdict, what is said
    ("+", "+", "unchanged", ""),
    ("-", "-", "unchanged", ""),
    ("+", "-", "insufficient evidence", "worse, but with too few attempts to distinguish it from chance"),
    ("+++", "---", "insufficient evidence", "worse, but with too few attempts to distinguish it from chance"),
    ("++++", "----", "regressed", ""),
    ("-----", "+++++", "improved", ""),
    ("++++++++--", "++--------", "regressed", ""),
    (
        "+++++",
        "++++-",
        "insufficient evidence",
        "worse, but with too few attempts to distinguish it from chance",
    ),
    ("+", "!", "insufficient evidence", "error now"),
    ("?", "+", "insufficient evidence", "unscored then"),
    ("?", "?", "not comparable", "unscored in both"),
    ("!", "?", "not comparable", "error then, unscored now"),
]


@pytest.mark.parametrize(("before", "now", "verdict", "why"), ONE)
def test_a_case_that_a_model_answers_needs_more_than_chance(
    before: str, now: str, verdict: str, why: str
) -> None:
    (case,) = compare_runs(report(result("a", now)), report(result("a", before))).cases
    assert (case.verdict, case.why) == (verdict, why)


def test_where_no_model_takes_part_one_attempt_tells() -> None:
    before, now = result("a", "+", kind="http"), result("a", "-", kind="http")
    assert compare_runs(report(now), report(before)).cases[0].verdict == "regressed"
    assert compare_runs(report(before), report(now)).cases[0].verdict == "improved"
    program = {"kind": "skill", "fingerprint": {"case": "c", "grader": "g"}}
    (case,) = compare_runs(report(result("a", "-", **program)), report(result("a", "+", **program))).cases
    assert (case.verdict, case.why) == ("regressed", "no model takes part: one attempt is enough")
    told = result("a", "-", **program, usage=Usage(3, 4))
    assert (
        compare_runs(report(told), report(result("a", "+", **program))).cases[0].verdict
        == "insufficient evidence"
    )
    asked = result("a", "-", kind="skill")  # of which its fingerprint names a model
    assert compare_runs(report(asked), report(before)).cases[0].verdict == "insufficient evidence"
    judged = result("a", "-", kind="http", grader="model")
    assert compare_runs(report(judged), report(before)).cases[0].verdict == "insufficient evidence"


def test_a_critical_case_that_never_passes_now_regressed() -> None:
    now = result("a", "-", criticality="critical")
    assert compare_runs(report(now), report(result("a", "+"))).cases[0].verdict == "regressed"


def test_an_attempt_that_was_made_because_one_failed_tells_nothing() -> None:
    now = result("a", "-+", retried=1)
    assert compare_runs(report(now), report(result("a", "+"))).cases[0].now == Share(0, 1)


ATTEMPTS = st.text("+-", min_size=1, max_size=9)
TURNED = {"regressed": "improved", "improved": "regressed"}


@given(st.lists(st.tuples(ATTEMPTS, ATTEMPTS), min_size=1, max_size=6))
def test_what_regressed_one_way_improved_the_other(pairs: list[tuple[str, str]]) -> None:
    before = report(*(result(f"c{n}", one) for n, (one, _) in enumerate(pairs)))
    now = report(*(result(f"c{n}", one) for n, (_, one) in enumerate(pairs)))
    there, back = compare_runs(now, before), compare_runs(before, now)
    assert [case.verdict for case in back.cases] == [TURNED.get(c.verdict, c.verdict) for c in there.cases]
    assert [one.verdict for one in back.metrics] == [TURNED.get(m.verdict, m.verdict) for m in there.metrics]
    assert {case.verdict for case in compare_runs(now, now).cases} == {"unchanged"}


@pytest.mark.parametrize("part", ["case", "files", "grader", "model"])
def test_what_hangs_on_something_else_is_not_comparable_unless_one_says_so(part: str) -> None:
    print_of = {"case": "c", "files": "f", "grader": "g", "model": "m"}
    before = report(result("a", "+", fingerprint=print_of))
    now = report(result("a", "-", fingerprint={**print_of, part: "another"}))
    found = compare_runs(now, before)
    assert (found.cases[0].verdict, found.cases[0].why) == (
        "not comparable",
        f"the {part} differ{'' if part == 'files' else 's'}",
    )
    assert found.metrics == ()
    assert compare_runs(now, before, [part]).cases[0].verdict == "insufficient evidence"
    assert f"--across {part}" in "\n".join(terminal_lines(earlier_blocks(found), Style()))


def test_a_case_that_could_not_be_run_is_not_called_another_one() -> None:
    before = result("a", "+", fingerprint={"case": "c", "files": "f", "model": "m"})
    now = result("a", "!", fingerprint={"case": "c"})
    case = compare_runs(report(now), report(before)).cases[0]
    assert (case.verdict, case.why) == ("insufficient evidence", "error now")


def test_several_parts_are_all_named() -> None:
    before = result("a", "+", fingerprint={"case": "c", "grader": "g"})
    now = result("a", "+", fingerprint={"case": "d", "grader": "h"})
    assert compare_runs(report(now), report(before)).cases[0].why == "the case and the grader differ"


def test_a_part_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'model'"):
        check_parts(["modle"])


@pytest.mark.parametrize(("lost", "verdict"), [(5, "insufficient evidence"), (6, "regressed")])
def test_five_pairs_that_differ_are_never_enough(lost: int, verdict: str) -> None:
    before = report(*(result(f"c{n}", "+") for n in range(20)))
    now = report(*(result(f"c{n}", "-" if n < lost else "+") for n in range(20)))
    (metric,) = compare_runs(now, before).metrics
    assert (metric.name, metric.verdict, metric.lost, metric.won) == ("pass@1", verdict, lost, 0)


def test_with_several_attempts_three_metrics_are_looked_at_together() -> None:
    before = report(*(result(f"c{n}", "+++") for n in range(8)))
    now = report(*(result(f"c{n}", "++-") for n in range(8)))
    found = {one.name: one for one in compare_runs(now, before).metrics}
    assert list(found) == ["pass@1", "pass@3", "pass^3"]
    assert found["pass@3"].verdict == "unchanged"
    assert found["pass^3"].chance == pytest.approx(0.0078125)
    assert found["pass^3"].adjusted == pytest.approx(0.0234375)
    assert found["pass^3"].verdict == "regressed"


ORDERS = [  # before, now, pass@1 before and now, lost, won
    ("+++++++++-", "-+++++++++", (0.9, 0.9), (0, 0)),
    ("-+++++++++", "+---------", (0.9, 0.1), (1, 0)),
    ("+", "-+++", (1.0, 0.75), (1, 0)),  # judged by one attempt each
    ("+", "+---", (1.0, 0.25), (0, 0)),
]


@pytest.mark.parametrize(("before", "now", "shares", "counts"), ORDERS)
def test_pass_at_1_of_two_runs_is_the_share_of_attempts_whichever_came_first(
    before: str, now: str, shares: tuple[float, float], counts: tuple[int, int]
) -> None:
    metric = compare_runs(report(result("a", now)), report(result("a", before))).metrics[0]
    assert (metric.before, metric.now) == pytest.approx(shares)
    assert (metric.lost, metric.won) == counts


def test_cases_that_only_one_of_them_has_are_told_and_not_counted() -> None:
    found = compare_runs(
        report(result("a", "+"), result("new", "-")), report(result("a", "+"), result("old", "+"))
    )
    assert (found.added, found.gone) == (("new",), ("old",))
    assert found.metrics[0].pairs == 1
    narrowed = replace(report(result("a", "+")), coverage=Coverage({"expression": "a"}, 1))
    assert compare_runs(narrowed, report(result("a", "+"), result("old", "+"))).gone == ()


def strict(now: Report, before: Report, is_strict: bool = True) -> Report:
    return replace(now, earlier=compare_runs(now, before, (), is_strict))


def test_only_a_strict_comparison_fails_the_run() -> None:
    """A suite whose thresholds allow for failures passes, though a case regressed."""
    many = [result(f"c{n}", "+" * 4) for n in range(9)]
    before = report(result("a", "++++"), *many)
    suite = SuiteFacts("s", metrics=(metric("pass rate", 0.9, threshold=0.8),))
    now = report(result("a", "----"), *many, suite=suite)
    assert strict(now, before, False).exit_code == 0
    assert strict(now, before).exit_code == 1
    assert "regressed: --fail-on-regressed" in headline(strict(now, before))


def test_nothing_that_could_be_compared_is_no_pass() -> None:
    other = report(result("b", "+"))
    assert strict(report(result("a", "+")), other).exit_code == 3
    assert strict(report(result("a", "+")), other, False).exit_code == 0


def test_what_was_compared_is_in_the_result_file_and_comes_back_from_it() -> None:
    before = report(result("a", "++++"), result("b", "+", fingerprint={"case": "x"}), result("old", "+"))
    now = strict(report(result("a", "----"), result("b", "+"), result("new", "+")), before)
    text = render_report(now, "x.json")
    again = resultfile.read(text, "x.json")
    assert again.earlier == now.earlier
    assert render_report(again, "x.json") == text
    raw = json.loads(text)
    raw["run"]["earlier"]["cases"][0]["verdict"] = "worse"
    with pytest.raises(InvalidInput, match="one of regressed, improved"):
        resultfile.read(json.dumps(raw), "x.json")
    page = render_report(now, "x.md")
    assert "| regressed | `a` | 4/4 -\\> 0/4 | p=0.0286 |" in page


def test_the_last_run_is_the_last_of_the_same_suite(tmp_path: Path) -> None:
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(str(tmp_path)))
    with pytest.raises(InvalidInput, match="no earlier run of 's' is kept here"):
        load_earlier(project, "last", "s")
    for number, sign in enumerate("+-"):
        keep_report(project.root, report(result("a", sign), started=f"2026-01-0{number + 1}T00:00:00Z"))
    other = report(result("a", "+"), suite=SuiteFacts("other"), started="2026-01-09T00:00:00Z")
    keep_report(project.root, other)
    found = load_earlier(project, "last", "s")
    assert (found.started, found.results[0].outcome) == ("2026-01-02T00:00:00Z", "failed")
    narrowed = report(result("b", "+"), started="2026-01-03T00:00:00Z")
    keep_report(project.root, replace(narrowed, coverage=Coverage({"ids": ["b"]}, 1)))
    keep_report(project.root, replace(narrowed, started="2026-01-04T00:00:00Z", interrupted=True))
    assert load_earlier(project, "last", "s").started == "2026-01-02T00:00:00Z"


def test_a_file_without_cases_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(render_report(report(replace(result("a", "+"), case=None), suite=None), "x.json"))
    project = open_project(Operator(str(tmp_path)))
    with pytest.raises(InvalidInput, match="holds no eval cases"):
        load_earlier(project, str(path), "s")


def test_nothing_is_said_where_nobody_asked() -> None:
    assert [*earlier_blocks(report(result("a", "+")).earlier)] == []
    assert EarlierComparison("r", "s", False, (), (), (), (), ()).tells_nothing
