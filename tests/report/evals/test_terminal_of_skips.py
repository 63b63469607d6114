"""Why cases were not run, on the terminal and in the reports."""

import json

from report.reports import report, result

from baselinekit.model.results import CaseFacts, Report, Result, SuiteFacts
from baselinekit.report.evals.terminal import format_skipped as eval_skipped
from baselinekit.report.forms.table import render_report
from baselinekit.report.wording import Style
from baselinekit.structs import replace

PLAIN = Style(colour=False, width=80)


def left_out(id: str, reason: str) -> Result:
    return replace(result(id, "skipped"), reason=reason, code=None, case=CaseFacts("capability"))


def of(*results: Result) -> Report:
    return replace(report(*results), suite=SuiteFacts("s"))


def test_each_reason_is_a_line_and_with_v_each_case() -> None:
    run = of(*(left_out(f"c{n}", "later") for n in range(5)), left_out("x", "no \x1b[2Jkey"))
    assert eval_skipped(run, PLAIN).splitlines() == [
        "skipped 5: later (c0, c1, c2, and 2 more)",
        "skipped 1: no \\x1b[2Jkey (x)",
    ]
    assert eval_skipped(run, replace(PLAIN, verbose=True)).splitlines()[-1] == "skipped   x: no \\x1b[2Jkey"
    assert len(eval_skipped(run, replace(PLAIN, verbose=True)).splitlines()) == 6


def test_of_many_reasons_some_are_told_and_the_others_counted() -> None:
    run = of(*(left_out(f"c{n}", f"reason {n}") for n in range(9)))
    assert eval_skipped(run, PLAIN).splitlines()[-1] == "skipped … for 4 more reasons: -v"
    assert eval_skipped(of(), PLAIN) == ""


def test_every_report_has_the_reason() -> None:
    run = of(left_out("a", "until the key is here"))
    for form in (".md", ".html", ".xml", ".eval.json", ".json"):
        assert "until the key is here" in render_report(run, f"x{form}"), form
    told = json.loads(render_report(run, "x.eval.json"))["eval_report"]
    assert told["skipped"] == [{"eval_id": "a", "reason": "until the key is here"}]


def test_h66_the_two_pass_rates_say_of_what_they_are() -> None:
    states = [*["passed"] * 13, "failed", "error"]
    cases = [replace(result(f"c{n}", one), case=CaseFacts("capability")) for n, one in enumerate(states)]
    summary = json.loads(render_report(of(*cases), "x.eval.json"))["eval_report"]["summary"]
    assert (summary["pass_rate"], summary["pass_rate_of_decided"]) == (0.867, 0.929)
