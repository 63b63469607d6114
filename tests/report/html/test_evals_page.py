"""The page of an eval run: everything that the report of one states, in a form that nothing breaks out of."""

import re

from hypothesis import example, given, strategies as st
from report.evalruns import a_run, case
from report.pages import BREAKING, SCRIPT, STYLE, Page
from report.reports import NASTY, metric, report

from baselinekit.model.grades import Agreement, Attempt, Grade, JudgeFacts
from baselinekit.model.results import (
    CaseChange,
    EarlierComparison,
    Metric,
    MetricChange,
    Report,
    Share,
    SuiteFacts,
)
from baselinekit.report.forms import render_report

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=30)


def page_of(run: Report) -> Page:
    return Page(render_report(run, "x.html"))


def rows_of(run: Report) -> list[list[str]]:
    """The cells of each row of each table, without markup."""
    rows = re.findall(r"<tr>(.*?)</tr>", render_report(run, "x.html"))
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)]
        for row in rows
    ]


STATED = """\
baselinekit · Support assistant 1.2.0
6 of 7 did not pass
eval-20240120-143052
demo-2
7 of 8 cases have fewer than 3 attempts
compared to eval-20240119-143052: 1 regressed, 1 improved, 1 insufficient evidence
1 not comparable: the model differs
new: brand-new
gone: long-gone
--across model
judge judge: agrees with people on 21 of 23 (accuracy 0.913
judge other: not measured with this rubric and these labels (x.yaml): baselinekit calibrate
broken: could not be judged (BK640): fix that first, it has no result yet
2 of 3 attempts passed
replayed 2 more times
flaky · capability
say sorry
git.commit a1a1a1a1a1a1 -> b2b2b2b2b2b2
"""


def test_h66_h67_page_shows_what_the_report_states() -> None:
    text = page_of(a_run()).text
    assert [line for line in STATED.splitlines() if line not in text] == []


def test_h66_page_shows_metrics_in_both_views_with_intervals() -> None:
    rows = rows_of(a_run())
    why = "7 of 8 cases have fewer than 3 attempts"
    assert ["pass@1", "0.500", "0.5", "PASS", "0.200 to 0.800", "8", "per case"] in rows
    assert ["pass@1", "0.520", "", "", "0.300 to 0.700", "14", "pooled attempts"] in rows
    assert ["pass@3", "not available", "0.9", "FAIL", "", "", why] in rows


@given(ANY_TEXT, ANY_TEXT)
@example(BREAKING, NASTY)
@example(NASTY, BREAKING)
def test_f32_h67_page_of_any_words_of_models_is_text(text: str, other: str) -> None:
    differing = [{"path": text, "expected": other, "actual": {text: other}}, text]
    graded = Grade(text, "code", "failed", 0.5, other, text, {other: text, "differences": differing}, text)
    sides = Grade(other, "code", "failed", 0.5, text, details={"expected": text, "actual": f"a\n{other}"})
    tried = (Attempt(1, "failed", 0.5, (graded, sides), text), Attempt(2, "failed", 0.5, (), other, again=1))
    wrong = case(text, "failed", attempts=tried, name=other, category=text, tags=(other,), reason=text)
    silent = case(other, "error", code=text, reason=other, output={text: other})
    metrics = (Metric(text, 0.5, other, 0.1, 0.9, 3, 0.4), metric(other, None, text, why=other))
    measured = JudgeFacts(text, other, "calibrated", Agreement(text, other, text, 1, 1, 1, 1))
    judges = (measured, JudgeFacts(other, text, "not calibrated"))
    cases = (
        CaseChange(text, "regressed", Share(1, 1), Share(0, 1), 0.5, other),
        CaseChange(other, "not comparable", Share(0, 0), Share(0, 0), None, text),
    )
    changes = (MetricChange(text, "regressed", 1, 0, 1, 1, 0, 1, 1),)
    earlier = EarlierComparison(text, other, False, (), cases, changes, (text,), (other,))
    suite = SuiteFacts(text, other, metrics, judges=judges)
    parsed = page_of(report(wrong, silent, suite=suite, earlier=earlier))
    assert parsed.verbatim == {"script": [SCRIPT], "style": [STYLE]}
    assert not {tag for tag, _ in parsed.elements} & {"img", "iframe", "a", "link", "form", "object"}
    assert not [name for _, known in parsed.elements for name in known if name.startswith("on")]
