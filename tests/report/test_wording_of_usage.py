"""What a run took of models, in every form of report."""

import json
from decimal import Decimal

import pytest
from report.reports import report, result

from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.results import Report
from baselinekit.report import terminal, wording
from baselinekit.report.forms import render_report
from baselinekit.report.wording import Style
from baselinekit.structs import replace


@pytest.mark.parametrize(
    ("usd", "text"), [("0", "$0.00"), ("12345.678", "$12,345.68"), ("0.00001", "$0.0000100")]
)
def test_format_dollars(usd: str, text: str) -> None:
    assert wording.format_dollars(Decimal(usd)) == text


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (Usage(), ""),
        (Usage(None, 30, Decimal("0.5")), "30 out, $0.50"),
        (Usage(0, 0, Decimal(0)), "0 tokens in, 0 out"),
    ],
)
def test_describe_usage_of_an_answer(usage: Usage, text: str) -> None:
    assert wording.describe_usage(usage) == text
    line = terminal.format_passed(report(replace(result("a", "passed"), usage=usage)), Style(verbose=True))
    assert line.endswith(f"   {text}\n") if text else not line.endswith(" \n")


def spending(spent: ModelUsage | None, usage: Usage = Usage()) -> Report:  # noqa: B008
    return replace(report(replace(result("a", "passed"), usage=usage)), spent=spent)


@pytest.mark.parametrize(
    ("spent", "text"),
    [
        (None, ""),
        (ModelUsage(), ""),
        (ModelUsage(1_000, 20_000, Decimal("1.25")), ", 1,000 calls of models (20,000 tokens, $1.25)"),
        (
            ModelUsage(5, 0, Decimal(0), 5, 5_135, Decimal("0.0101")),
            ", 5 calls of models (0 tokens; 5 without an answer may have taken 5,135 tokens, $0.0101)",
        ),
    ],
)
def test_headline_has_tokens_and_cost_of_models(spent: ModelUsage | None, text: str) -> None:
    assert wording.headline(spending(spent)).endswith(f"s{text}")
    assert text in render_report(spending(spent), "x.md").splitlines()[0]


def test_result_file_has_exact_sums() -> None:
    spent = ModelUsage(2, 9, Decimal("0.000000123456789012345678"), 1, 2_038, Decimal("0.0101"))
    run = spending(spent, Usage(1, None, Decimal("1E-7")))
    text = render_report(run, "x.json")
    assert '"cost_usd": 1.23456789012345678E-7' in text
    found = json.loads(text)
    assert found["run"]["spent"]["unanswered"] == {"calls": 1, "tokens": 2038, "cost_usd": 0.0101}
    observed = found["results"][0]["observed"]
    assert observed == {"seconds": 0.125, "tokens_in": 1, "cost_usd": 1e-7}
    assert "spent" not in json.loads(render_report(spending(None), "x.json"))["run"]


def test_collect_warnings_lists_a_limit_once() -> None:
    skipped = replace(result("a", "skipped"), code="BK620", reason="nobody is asked: raise it")
    limited = replace(report(skipped, replace(skipped, id="b")), complete=False)
    assert wording.collect_warnings(limited) == ["2 skipped: BK620 nobody is asked: raise it"]
    assert wording.collect_warnings(report(result("c", "skipped"))) == []
