"""Gates: what they are judged by, and what is never let through."""

from typing import Any

import pytest
from evalreports import report, result
from hypothesis import given, strategies as st
from report.reports import metric

from baselinekit.errors import InvalidInput, NothingSelected
from baselinekit.evals import gating
from baselinekit.model.evals import Gate, Suite, worst_exit_code
from baselinekit.model.results import Coverage, Result, SuiteFacts
from baselinekit.report.evals.gates import format_gates_markdown
from baselinekit.report.sections import describe_uncovered
from baselinekit.structs import replace


def test_h72_a_value_that_equals_its_threshold_passes() -> None:
    nine_of_ten = report(*(result(f"c{n}", "+" if n else "-") for n in range(10)))
    assert gating.judge(Gate("g", {"pass rate": 0.9}), nine_of_ten).state == "met"
    assert gating.judge(Gate("g", {"pass@1": 0.9000001}), nine_of_ten).state == "not met"


@pytest.mark.slow
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_however_the_float_falls_a_share_reaches_itself(counts: tuple[int, int]) -> None:
    passed, total = counts
    run = report(*(result(f"c{n}", "+" if n < passed else "-") for n in range(total)))
    assert gating.judge(Gate("g", {"pass@1": passed / total}), run).state == "met"
    more = passed / total + 1e-6
    assert gating.judge(Gate("g", {"pass@1": min(1.0, more)}), run).state == (
        "met" if passed == total else "not met"
    )


def test_h70_a_gate_that_blocks_exits_1_and_one_that_does_not_exits_0() -> None:
    run = report(result("a", "+"), result("b", "-"))
    gate = Gate("g", {"pass rate": 0.9})
    assert gating.judge(gate, run).exit_code == 1
    assert gating.judge(replace(gate, blocking=False), run).exit_code == 0


def test_h71_metrics_are_those_of_the_filtered_set() -> None:
    """12 of 13 capability evals, as in the example of the document, and not 20 of 21."""
    capability = [result(f"cap-{n}", "-" if n == 3 else "+") for n in range(13)]
    regression = [result(f"reg-{n}", "+", eval_type="regression") for n in range(8)]
    gate = Gate("g", {"pass_at_1": 0.85, "pass_hat_3": 0.70}, categories=("capability",))
    judged = gating.judge(gate, report(*capability, *regression))
    assert [(one.name, round(one.value or 0, 3)) for one in judged.metrics] == [
        ("pass@1", 0.923),
        ("pass^3", 0.787),
    ]
    assert judged.state == "met"
    assert len(judged.report.results) == 13


def test_a_category_may_be_a_kind_or_a_category_and_any_of_the_tags_is_enough() -> None:
    run = report(result("a", "+", category="auth", tags=("x",)), result("b", "-", tags=("y", "z")))
    assert gating.judge(Gate("g", {"pass rate": 1}, categories=("auth",)), run).state == "met"
    assert gating.judge(Gate("g", {"pass rate": 0.5}, tags=("x", "z")), run).state == "met"
    with pytest.raises(NothingSelected, match="none of the 2 cases is one of atuh: did you mean 'auth'"):
        gating.judge(Gate("g", {"pass rate": 1}, categories=("atuh",)), run)


def test_a_metric_that_is_not_available_is_not_met_and_says_why() -> None:
    judged = gating.judge(Gate("g", {"pass@3": 0.1}), report(result("a", "+")))
    assert judged.state == "not met"
    assert judged.metrics[0].why == "the case has fewer than 3 attempts"


@pytest.mark.parametrize(
    ("attempts", "why"),
    [("!", "1 of 2 undecided (b: error)"), ("?", "1 of 2 undecided (b: unscored)")],
)
def test_what_nobody_decided_is_neither_a_pass_nor_a_failure(attempts: str, why: str) -> None:
    judged = gating.judge(Gate("g", {"pass rate": 0.5}), report(result("a", "+"), result("b", attempts)))
    assert (judged.state, judged.why, judged.exit_code) == ("undecided", (why,), 3)


def test_a_run_that_did_not_come_to_its_end_is_no_pass() -> None:
    judged = gating.judge(Gate("g", {"pass rate": 0.5}), report(result("a", "+"), complete=False))
    assert (judged.state, judged.exit_code) == ("undecided", 3)
    stopped = gating.judge(Gate("g", {"pass rate": 0.5}), report(result("a", "+"), interrupted=True))
    assert (stopped.exit_code, stopped.decision) == (130, 3), "and of a file that tells of it: undecided"


def test_a_case_that_its_author_skips_counts_neither_way_but_all_skipped_is_no_pass() -> None:
    skipped = replace(result("b", ""), reason="later")
    assert gating.judge(Gate("g", {"pass rate": 1}), report(result("a", "+"), skipped)).state == "met"
    assert gating.judge(Gate("g", {"pass rate": 1}), report(skipped)).state == "not met"
    cut = replace(skipped, verdict="limit")
    assert gating.judge(Gate("g", {"pass rate": 1}), report(result("a", "+"), cut)).state == "undecided"


def test_baselines_are_cases_with_one_attempt() -> None:
    plain = [Result(f"b{n}", "b.yaml", 1, "http", "passed" if n else "failed") for n in range(4)]
    gate = Gate("g", {"pass@1": 0.75, "pass rate": 0.75}, allow_regressions=("medium",))
    judged = gating.judge(gate, report(*plain, suite=None))
    assert judged.state == "met"
    assert "#### Regression Evals (3/4 passed)" in format_gates_markdown([judged])


REGRESSIONS = [  # criticality, allowed, kept from going on
    ("critical", ("low", "medium"), True),
    ("high", ("low", "medium"), True),
    ("medium", ("low",), True),
    (None, ("low",), True),
    ("low", (), True),
    ("low", ("medium",), True),
    ("no word of ours", ("low", "medium"), True),
    ("medium", ("medium",), False),
    (None, ("medium",), False),
    ("low", ("low",), False),
]


@pytest.mark.parametrize("is_eval", [True, False], ids=["eval", "baseline"])
@pytest.mark.parametrize(("criticality", "allowed", "kept"), REGRESSIONS)
def test_h70_gate_with_failing_regression_is_not_met_unless_its_criticality_is_allowed(
    criticality: str | None, allowed: tuple[str, ...], kept: bool, is_eval: bool
) -> None:
    failing = result("b", "-", eval_type="regression", criticality=criticality)
    failing = failing if is_eval else replace(failing, case=None)
    run = report(*(result(f"c{n}", "+") for n in range(99)), failing)
    gate = Gate("g", {"pass rate": 0.5, "pass@1": 0.5}, allow_regressions=allowed)
    judged = gating.judge(gate, run)
    assert (judged.state, judged.exit_code) == (("not met", 1) if kept else ("met", 0))
    assert [reason.rpartition(": ")[2] for reason in judged.regressed] == ["b"] * kept
    assert ("no rate covers a failing regression" in format_gates_markdown([judged])) == kept
    warned = gating.judge(replace(gate, blocking=False), run)
    assert (warned.state, warned.exit_code) == (judged.state, 0)
    assert gating.judge(replace(gate, categories=("capability",)), run).state == "met", "not one of its cases"


@pytest.mark.parametrize("signs", ["+", "!", "?", "+-+"])
def test_gate_with_regression_is_kept_from_going_on_only_by_one_that_failed(signs: str) -> None:
    retried = 1 if signs == "+-+" else 0
    run = report(result("a", "+"), result("b", signs, eval_type="regression", retried=retried))
    assert bool(gating.judge(Gate("g", {"pass rate": 0.5}), run).regressed) == (signs == "+-+")


def test_run_with_met_threshold_and_failing_regression_states_why_it_fails() -> None:
    rate = metric("pass rate", 0.99, threshold=0.5)
    capability = result("a", "-")
    regression = result("b", "-", eval_type="regression", criticality="low")
    covered = report(capability, suite=SuiteFacts("s", metrics=(rate,)))
    assert (covered.exit_code, describe_uncovered(covered)) == (5, [])
    run = report(capability, result("c", "+"), regression, suite=SuiteFacts("s", metrics=(rate,)))
    assert run.exit_code == 1
    assert describe_uncovered(run) == ["b failed: no threshold covers a failing regression (low)"]
    others = replace(run, suite=SuiteFacts("s", metrics=(replace(rate, name="pass^3"),)))
    assert (others.exit_code, len(describe_uncovered(others))) == (1, 2)
    assert describe_uncovered(replace(run, suite=None)) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pass@1>=0.85", ("pass@1", 0.85)),
        ("pass_hat_3 >= 70%", ("pass^3", 0.7)),
        ("pass rate>=1", ("pass rate", 1.0)),
        ("pass_rate >= .5", ("pass rate", 0.5)),
    ],
)
def test_h54_requirements_as_people_write_them(text: str, wanted: tuple[str, float]) -> None:
    assert gating.requirement(text) == (wanted[0], pytest.approx(wanted[1]))


@pytest.mark.parametrize("text", ["pass@1", "pass@1>0.5", "pass@1<=1", "pass@1>=much", ">=1", ""])
def test_what_is_no_requirement_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="BK732"):
        gating.requirement(text)


def test_an_option_counts_before_a_preset_and_unknown_metrics_are_refused() -> None:
    assert gating.thresholds_of_options("staging", ["pass_at_1>=0.5"], 0.9) == {
        "pass@1": 0.5,
        "pass@3": 0.95,
        "pass^3": 0.65,
        "pass rate": 0.9,
    }
    with pytest.raises(InvalidInput, match="no metric is called 'acuracy'"):
        gating.thresholds_of_options(None, ["acuracy>=0.5"], None)
    with pytest.raises(InvalidInput, match="a share from 0 to 1"):
        gating.thresholds_of_options(None, ["pass@1>=85"], None)


def test_a_run_for_a_gate_makes_as_many_attempts_as_its_metrics_need() -> None:
    suite = Suite("s", ())
    assert gating.attempts_for(Gate("g", {"pass@1": 1}), suite) is None
    assert gating.attempts_for(Gate("g", {"pass_hat_3": 1}), suite) is None  # of what one attempt tells
    assert gating.attempts_for(Gate("g", {"pass@1": 1}, ("pass@5",)), suite) == 5


@pytest.mark.parametrize(
    ("chosen", "left_out", "gate", "said"),
    [
        ({"expression": "a"}, 4, Gate("g", {"pass rate": 1}), "(expression: a), which left 4 out"),
        ({"last_failed": True}, 4, Gate("g", {"pass rate": 1}), "(last_failed: yes), which left 4 out"),
        ({"tags": ["x"]}, 4, Gate("g", {"pass rate": 1}), "(tags: x), which left 4 out"),
        (
            {"tags": ["x"], "ids": ["a"]},
            4,
            Gate("g", {"pass rate": 1}, tags=("x",)),
            "(ids: a), which left 4 out",
        ),
        ({"tags": ["x"]}, 4, Gate("g", {"pass rate": 1}, tags=("x", "y")), "(tags: x), which left 4 out"),
        ({"tags": ["x", "y"]}, 4, Gate("g", {"pass rate": 1}, tags=("x",)), ""),
        ({"categories": ["regression"]}, 4, Gate("g", {"pass rate": 1}, categories=("regression",)), ""),
        ({"expression": "a"}, 0, Gate("g", {"pass rate": 1}), ""),
        ({"changed_since": "main"}, 4, Gate("g", {"pass rate": 1}), ""),
        ({}, 0, Gate("g", {"pass rate": 1}), ""),
    ],
)
def test_of_what_was_left_out_by_hand_nobody_knows_whether_it_passes(
    chosen: dict[str, Any], left_out: int, gate: Gate, said: str
) -> None:
    passed = result("a", "+", eval_type="regression", tags=("x",))
    narrowed = replace(report(passed), coverage=Coverage(chosen, left_out))
    judged = gating.judge(gate, narrowed)
    assert (judged.state, judged.exit_code) == (("undecided", 3) if said else ("met", 0))
    assert said in "".join(judged.why)
    assert gating.judge(gate, narrowed, partly=True).state == "met"


@pytest.mark.parametrize(("codes", "code"), [([0, 1, 3], 1), ([3, 4], 4), ([0, 0], 0), ([130, 1], 130)])
def test_several_gates_exit_by_the_worst(codes: list[int], code: int) -> None:
    assert worst_exit_code(codes) == code


@pytest.mark.parametrize(
    ("phase", "name"),
    [("auth/2", "phase-auth-2.md"), ("../../x", "phase-x.md"), (None, "phase-20260120-143052.md")],
)
def test_h71_the_phase_names_its_report_and_never_leads_anywhere_else(phase: str | None, name: str) -> None:
    gate = Gate("g", report="./eval-results/phase-{phase_id}.md")
    path = gating.report_path(gate, phase, report(), "/p")
    assert path is not None
    assert path.startswith("/p/eval-results/phase-")
    assert path.count("/") == 3
    if phase != "../../x":
        assert path == f"/p/eval-results/{name}"


def test_h72_the_phase_report_is_that_of_the_document() -> None:
    failing = result("cap-auth-003", "-", name="Session timeout")
    run = report(
        result("cap-auth-001", "+", name="Login flow"),
        failing,
        result("reg-auth-001", "+", eval_type="regression", name="Hashing | <b>"),
    )
    page = format_gates_markdown([gating.judge(Gate("auth", {"pass@1": 0.6}, ("pass^3",)), run)])
    for line in (
        "| Metric | Value | Threshold | Status |",
        "| `pass@1` | 0.667 | 0.60 | PASS |",
        "#### Capability Evals (1/2 passed)",
        "- [x] cap-auth-001: Login flow",
        "- [ ] cap-auth-003: Session timeout (FAILED)",
        "  - Expected: `yes`",
        "  - Actual: `no`",
        "#### Regression Evals (1/1 passed)",
        "### Recommendations",
    ):
        assert line in page.splitlines(), page
    assert any(line.startswith("1. ") and "cap-auth-003" in line for line in page.splitlines())
    assert "<b>" not in page


def test_in_a_long_report_what_did_not_pass_is_listed_all_the_same() -> None:
    run = report(*(result(f"c{n}", "-" if n > 990 else "+") for n in range(1000)))
    page = format_gates_markdown([gating.judge(Gate("g", {"pass@1": 0.9}), run)])
    assert page.count("- [ ] ") == 9
    assert "… and 991 more; 991 passed" in page


def test_a_threshold_that_is_missed_by_little_is_not_rounded_to_it() -> None:
    run = report(*(result(f"c{n}", "+" if n else "-") for n in range(1001)))
    for least, row in (
        (0.9991, "| `pass@1` | 0.999 | 0.9991 | FAIL |"),
        (0.999, "| `pass@1` | 0.999 | 0.999 | PASS |"),
        (0.9990005, "| `pass@1` | 0.999001 | 0.9990005 | PASS |"),
    ):
        assert row in format_gates_markdown([gating.judge(Gate("g", {"pass@1": least}), run)])
