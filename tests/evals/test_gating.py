"""The metrics of a run in both views, gates that are judged by them, and what no gate lets through."""

from itertools import combinations, product
from math import fsum
from typing import Any

import pytest
from evalreports import report, result
from hypothesis import given, settings, strategies as st

from baselinekit.errors import InvalidInput, NothingSelected
from baselinekit.evals import gating
from baselinekit.evals.gating import judge, measure
from baselinekit.metrics import RATE, pass_at_k
from baselinekit.model.evals import Gate, Suite
from baselinekit.model.results import Coverage, Metric, Result
from baselinekit.report.gates import format_gates_markdown
from baselinekit.structs import replace

POOLED = "pooled attempts"


def metrics(*signs: str, retried: int = 0, **thresholds: float) -> dict[tuple[str, str], Metric]:
    """Of cases with these attempts: `++-` are three, and the last failed."""
    results = [result(f"c{number}", attempts, retried=retried) for number, attempts in enumerate(signs)]
    return {(m.name, m.view): m for m in measure(results, thresholds)}


def value(found: dict[tuple[str, str], Metric], name: str, view: str = "per case") -> float | None:
    return found[(name, view)].value


def test_h50_h53_measure_gives_both_views() -> None:
    found = metrics("+++-------", **{"pass@5": 0.9})
    assert value(found, "pass@5") == pytest.approx(0.9166667)
    assert found[("pass@5", "per case")].met is True
    found = metrics("++", "+-", "--", "++")
    assert (value(found, "pass@1"), value(found, "pass@1", POOLED)) == (0.625, 5 / 8)
    assert value(found, "pass@2") == pytest.approx(sum(pass_at_k(2, c, 2) or 0 for c in (2, 1, 0, 2)) / 4)
    assert value(found, "pass^2", POOLED) == pytest.approx((5 / 8) ** 2)
    assert value(found, "pass^2 unbiased") == 0.5


def test_h51_h66_measure_of_too_few_attempts_is_not_available() -> None:
    found = metrics("--", "----", **{"pass@3": 0.5})[("pass@3", "per case")]
    assert (found.value, found.met, found.why) == (None, False, "fewer than 3 attempts in 1 of 2 cases")
    for signs in ([], ["!"], [""]):
        assert {m.value for m in metrics(*signs).values()} == {None}
    for undecided in "!?":
        found = metrics("+", undecided)[("pass@1", "per case")]
        assert (found.value, found.count) == (1.0, 1)


ONE_CASE = [  # attempts, retried, pass@1, pass@3, estimator
    ("+---------", 0, 0.1, 0.3, "all attempts"),
    ("-+++++++++", 0, 0.9, 1.0, "all attempts"),
    ("-------+++", 0, 0.3, 0.7083333, "all attempts"),
    ("!+-", 0, 0.5, None, "all attempts"),
    ("+", 0, 1.0, None, ""),
    ("-+", 1, 0.0, None, "first attempts"),
    ("!+", 1, None, None, ""),
]


@pytest.mark.parametrize(("attempts", "retried", "at_1", "at_3", "estimator"), ONE_CASE)
def test_h50_h62_pass_at_1_of_independent_attempts_is_their_share_and_of_retries_the_first(
    attempts: str, retried: int, at_1: float | None, at_3: float | None, estimator: str
) -> None:
    found = metrics(attempts, retried=retried)
    assert value(found, "pass@1") == (at_1 if at_1 is None else pytest.approx(at_1))
    assert value(found, "pass@3") == (at_3 if at_3 is None else pytest.approx(at_3))
    assert found[("pass@1", "per case")].estimator == estimator


def test_h62_retried_cases_beside_repeated_ones_count_without_the_retries() -> None:
    found = {(m.name, m.view): m for m in measure([result("a", "-+", retried=1), result("b", "++-")], {})}
    assert value(found, "pass@1") == pytest.approx(1 / 3)
    for key in (("pass@1", "per case"), ("pass^3", POOLED)):
        assert found[key].estimator == "all attempts but retries"
    found = {(m.name, m.view): m for m in measure([result("a", "-+", retried=1, outcome="passed")], {})}
    assert (value(found, "pass@1"), ("pass@1", POOLED) in found) == (0.0, False)


CASES = st.lists(st.tuples(st.text("+-", min_size=1, max_size=6), st.integers(0, 3)), min_size=1, max_size=4)


@settings(deadline=None)
@given(CASES, st.integers(1, 6))
def test_h50_h52_metrics_with_any_attempts_equal_the_enumeration_of_all_draws(
    cases: list[tuple[str, int]], k: int
) -> None:
    """Every way to draw k of the attempts of a case, and every way to draw k times of all attempts. The
    retries at the end of a case take part in neither."""
    results = [result(f"c{n}", signs + "+" * again, retried=again) for n, (signs, again) in enumerate(cases)]
    measured = measure(results, {f"pass@{k}": 0.5, f"pass^{k}": 0.5})
    found = {(m.name, m.view): m for m in measured}
    draws = [list(combinations(signs, k)) for signs, _ in cases]
    at, hat = value(found, f"pass@{k}"), value(found, f"pass^{k} unbiased") if k > 1 else None
    if not all(draws):
        assert (at, hat) == (None, None)
    else:
        any_passed = [fsum("+" in draw for draw in of_case) / len(of_case) for of_case in draws]
        all_passed = [fsum("-" not in draw for draw in of_case) / len(of_case) for of_case in draws]
        assert at == pytest.approx(fsum(any_passed) / len(cases))
        assert k == 1 or hat == pytest.approx(fsum(all_passed) / len(cases))
    pooled = "".join(signs for signs, _ in cases)
    if k > 1 and len(pooled) ** k <= 20_000:
        repeated = list(product(pooled, repeat=k))
        share = fsum("-" not in draw for draw in repeated) / len(repeated)
        assert value(found, f"pass^{k}", POOLED) == pytest.approx(share)


def test_measure_with_weights_counts_case_by_case() -> None:
    measured = measure([result("a", "+", weight=3.0), result("b", "-")], {})
    found = {(m.name, m.view): m for m in measured}
    assert (value(found, "pass@1"), value(found, RATE)) == (0.75, 0.5)
    low, high = found[("pass@1", "per case")].low, found[("pass@1", "per case")].high
    assert (low or 1) < 0.75 < (high or 0)


def test_h53_threshold_is_for_pass_at_k_per_case_and_for_pass_hat_k_pooled() -> None:
    found = measure([result("a", "++"), result("b", "+-")], {"pass^2": 0.5, "pass@1": 0.5})
    stated = [(m.name, m.view) for m in found if m.threshold is not None]
    assert stated == [("pass@1", "per case"), ("pass^2", POOLED)]


# Gates.


@pytest.mark.slow
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_h72_gate_whose_value_equals_its_threshold_is_met(counts: tuple[int, int]) -> None:
    passed, total = counts
    run = report(*(result(f"c{n}", "+" if n < passed else "-") for n in range(total)))
    for name in ("pass@1", RATE):
        assert judge(Gate("g", {name: passed / total}), run).state == "met"
        least = min(1.0, passed / total + 1e-6)
        assert judge(Gate("g", {name: least}), run).state == ("met" if passed == total else "not met")


def test_h71_gate_with_a_filter_is_judged_by_its_cases() -> None:
    """12 of 13 capability evals, as in the example of the document, and not 20 of 21."""
    capability = [result(f"cap-{n}", "-" if n == 3 else "+") for n in range(13)]
    regression = [result(f"reg-{n}", "+", eval_type="regression") for n in range(8)]
    gate = Gate("g", {"pass@1": 0.85, "pass^3": 0.70}, categories=("capability",))
    judged = judge(gate, report(*capability, *regression))
    values = [(m.name, round(m.value or 0, 3)) for m in judged.metrics]
    assert (values, judged.state) == ([("pass@1", 0.923), ("pass^3", 0.787)], "met")
    assert len(judged.report.results) == 13
    run = report(result("a", "+", category="auth", tags=("x",)), result("b", "-", tags=("y", "z")))
    assert judge(Gate("g", {RATE: 1}, categories=("auth",)), run).state == "met"
    assert judge(Gate("g", {RATE: 0.5}, tags=("x", "z")), run).state == "met"
    with pytest.raises(
        NothingSelected, match="none of the 2 cases is one of atuh: there are auth, capability, x, y, z"
    ):
        judge(Gate("g", {RATE: 1}, categories=("atuh",)), run)


SKIPPED = replace(result("b", ""), reason="later")


@pytest.mark.parametrize(
    ("second", "least", "state", "why"),
    [
        (result("b", "!"), {RATE: 0.5}, "undecided", "1 of 2 undecided (b: error)"),
        (result("b", "?"), {RATE: 0.5}, "undecided", "1 of 2 undecided (b: unscored)"),
        (replace(SKIPPED, verdict="limit"), {RATE: 1}, "undecided", "1 of 2 undecided (b: never run)"),
        (SKIPPED, {RATE: 1}, "met", ""),
        (result("b", "+"), {"pass@3": 0.1}, "not met", ""),
    ],
)
def test_judge_with_case_without_verdict_is_neither_a_pass_nor_a_failure(
    second: Result, least: dict[str, float], state: str, why: str
) -> None:
    judged = judge(Gate("g", least), report(result("a", "+"), second))
    assert (judged.state, "".join(judged.why)) == (state, why)
    assert judged.exit_code == {"met": 0, "not met": 1, "undecided": 3}[state]


def test_judge_of_a_run_that_did_not_finish_is_undecided() -> None:
    gate = Gate("g", {RATE: 0.5})
    judged = judge(gate, report(result("a", "+"), complete=False))
    assert (judged.state, judged.exit_code) == ("undecided", 3)
    stopped = judge(gate, report(result("a", "+"), interrupted=True))
    assert (stopped.exit_code, stopped.decision) == (130, 3)  # the second for a result file
    nothing = judge(gate, report(SKIPPED, replace(SKIPPED, case=None)))
    assert (nothing.state, nothing.why) == ("not met", ("nothing ran",))


def test_with_thresholds_replaces_those_of_the_gate_and_attempts_for_counts_pass_at_k_only() -> None:
    gate = gating.with_thresholds(Gate("g", {RATE: 0.5, "pass@3": 0.9, "pass^9": 0.1}), {RATE: 1})
    assert gate.least == {RATE: 1, "pass@3": 0.9, "pass^9": 0.1}
    assert gating.attempts_for(gate, Suite("s", ())) == 3


REGRESSIONS = [  # criticality, allowed, kept from going on
    ("critical", ("low", "medium"), True),
    ("medium", ("low",), True),
    (None, ("low",), True),
    ("low", (), True),
    ("no word of ours", ("low", "medium"), True),
    ("medium", ("medium",), False),
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
    gate = Gate("g", {RATE: 0.5, "pass@1": 0.5}, allow_regressions=allowed)
    judged = judge(gate, run)
    assert (judged.state, judged.exit_code) == (("not met", 1) if kept else ("met", 0))
    assert [reason.rpartition(": ")[2] for reason in judged.regressed] == ["b"] * kept
    assert ("no rate covers a failing regression" in format_gates_markdown([judged])) == kept
    warned = judge(replace(gate, blocking=False), run)
    assert (warned.state, warned.exit_code) == (judged.state, 0)
    assert judge(replace(gate, categories=("capability",)), run).state == "met", "not one of its cases"


@pytest.mark.parametrize("signs", ["+", "!", "?", "+-+"])
def test_h70_gate_with_regression_is_kept_from_going_on_only_by_one_that_failed(signs: str) -> None:
    retried = 1 if signs == "+-+" else 0
    run = report(result("a", "+"), result("b", signs, eval_type="regression", retried=retried))
    assert bool(judge(Gate("g", {RATE: 0.5}), run).regressed) == (signs == "+-+")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pass@1>=0.85", ("pass@1", 0.85)),
        ("pass_hat_3 >= 70%", ("pass^3", 0.7)),
        ("pass_rate >= .5", ("pass rate", 0.5)),
        *((text, None) for text in ("pass@1", "pass@1>0.5", "pass@1<=1", "pass@1>=much", ">=1", "")),
        *((text, None) for text in ("pas@1>=1", "pass@0>=1", "pass@1>=1.5", "pass@1>=-1", "pass@1>=90")),
    ],
)
def test_h54_requirement_is_read_or_refused(text: str, wanted: tuple[str, float] | None) -> None:
    if wanted is None:
        with pytest.raises(InvalidInput, match="BK723"):
            gating.requirement(text)
    else:
        assert gating.requirement(text) == (wanted[0], pytest.approx(wanted[1]))


@pytest.mark.parametrize(
    ("chosen", "left_out", "gate", "reason"),
    [
        ({"expression": "a"}, 4, {}, "(expression: a), which left 4 out"),
        ({"tags": ["x"]}, 4, {}, "(tags: x), which left 4 out"),
        ({"tags": ["x"]}, 4, {"tags": ("x", "y")}, "(tags: x), which left 4 out"),
        ({"tags": ["x", "y"]}, 4, {"tags": ("x",)}, ""),
        ({"categories": ["regression"]}, 4, {"categories": ("regression",)}, ""),
        ({"expression": "a"}, 0, {}, ""),
        ({"changed_since": "main"}, 4, {}, ""),
    ],
)
def test_judge_of_a_narrowed_run_is_undecided_unless_the_gate_is_about_the_same(
    chosen: dict[str, Any], left_out: int, gate: dict[str, Any], reason: str
) -> None:
    passed = report(result("a", "+", eval_type="regression", tags=("x",)))
    narrowed, wanted = replace(passed, coverage=Coverage(chosen, left_out)), Gate("g", {RATE: 1}, **gate)
    judged = judge(wanted, narrowed)
    assert (judged.state, judged.exit_code) == (("undecided", 3) if reason else ("met", 0))
    assert reason in "".join(judged.why)
    assert judge(wanted, narrowed, partly=True).state == "met"


@pytest.mark.parametrize(
    ("phase", "name"),
    [("auth/2", "phase-auth-2.md"), ("../../x", "phase-..-x.md"), (None, "phase-20260120-143052.md")],
)
def test_h71_report_path_of_a_phase_stays_in_its_folder(phase: str | None, name: str) -> None:
    gate = Gate("g", report="./eval-results/phase-{phase_id}.md")
    assert gating.report_path(gate, phase, report(), "/p") == f"/p/eval-results/{name}"


def test_h72_report_of_many_cases_lists_failures_and_keeps_digits() -> None:
    run = report(*(result(f"c{n}", "-" if n > 990 else "+") for n in range(1000)))
    page = format_gates_markdown([judge(Gate("g", {"pass@1": 0.9}), run)])
    assert (page.count("- [ ] "), "… and 991 more; 991 passed" in page) == (9, True)
    run = report(*(result(f"c{n}", "+" if n else "-") for n in range(1001)))
    for least, row in (
        (0.9991, "| `pass@1` | 0.999 | 0.9991 | FAIL |"),
        (0.999, "| `pass@1` | 0.999 | 0.999 | PASS |"),
        (0.9990005, "| `pass@1` | 0.999001 | 0.9990005 | PASS |"),
    ):
        assert row in format_gates_markdown([judge(Gate("g", {"pass@1": least}), run)])
