"""The pictures and the two sides of a difference, as values."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.results import Appearance, KeptRun, Summary
from baselinekit.report.blocks import DiffLine, Interval
from baselinekit.report.html import page

RUN = KeptRun("", "", 0, Summary(0, 0, 0, 0, 0, True))
COUNT = st.integers(0, 50)
TEXTS = st.text("ab1 <&", max_size=12)


@given(st.lists(st.builds(Summary, COUNT, COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=80))
def test_outcomes_draws_a_column_for_each_run_within_the_picture(runs: list[Summary]) -> None:
    picture = page.outcomes(runs, "runs")
    columns = [shape.attributes for shape in picture.shapes]
    drawn_runs = [run for run in runs[-page.MOST_POINTS :] if run.total]
    assert len({column["x"] for column in columns}) == len(drawn_runs)
    for column in columns:
        assert 0 <= column["y"] <= column["y"] + column["height"] <= picture.height + 0.01
        assert column["x"] + column["width"] <= picture.width


@given(
    st.lists(
        st.builds(Appearance, st.just(RUN), st.sampled_from(["passed", "failed", "error"]), st.floats(0, 1e6))
    )
)
def test_spark_has_a_dot_for_each_run_that_did_not_pass(moments: list[Appearance]) -> None:
    picture = page.spark(moments)
    shown = moments[-page.MOST_POINTS :]
    assert bool(picture) == (len(shown) > 1)
    if picture:
        line, *dots = picture.shapes
        assert len(str(line.attributes["points"]).split()) == len(shown)
        assert len(dots) == sum(moment.outcome != "passed" for moment in shown)


@pytest.mark.parametrize(("value", "threshold"), [(0.0, None), (1.0, 1.0), (0.5, 0.0)])
def test_interval_stays_within_its_picture(value: float, threshold: float | None) -> None:
    low, high = max(0.0, value - 0.2), min(1.0, value + 0.2)
    picture = page.drawn(Interval(value, low, high, threshold), "it")
    assert picture is not None
    for shape in picture.shapes:
        left = float(shape.attributes.get("x") or shape.attributes.get("cx") or 0)
        assert 0 <= left <= left + float(shape.attributes.get("width") or 0) <= picture.width


@given(st.lists(st.tuples(st.sampled_from(["gone", "came", "dim"]), TEXTS), max_size=30))
def test_pairs_keeps_every_line_in_its_order(shown: list[tuple[str, str]]) -> None:
    signs = {"gone": "- ", "came": "+ ", "dim": "| "}
    lines = [DiffLine(tone, signs[tone] + text) for tone, text in shown]  # type: ignore[arg-type]
    paired = [*page.pairs(lines)]

    def texts(tone: str) -> list[str]:
        return [line.text for line in lines if line.tone == tone]

    sides = [(gone, came) for kind, gone, came in paired if kind == "pair"]
    assert ["".join(line) for gone, _ in sides for line in gone] == texts("gone")
    assert ["".join(line) for _, came in sides for line in came] == texts("came")
    assert [text for kind, text, _ in paired if kind == "both"] == texts("dim")


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("- faster starts", "+ quicker starts", ["faster", "quicker"]),
        ("- Grace B. Hopper", "+ Grace Hopper", ["B. ", ""]),
        ("- at 10.125 metres", "+ at 10.126 metres", ["125", "126"]),
        ("- the same line", "+ the same line", ["", ""]),
        ("- a", "+ b", ["", ""]),
        ("- <<any_email>>", '+ "nobody"', ["", ""]),
    ],
)
def test_pairs_marks_whole_words_where_most_of_a_line_is_alike(old: str, new: str, marked: list[str]) -> None:
    ((_, gone, came),) = page.pairs([DiffLine("gone", old), DiffLine("came", new)])
    assert [line[1] for line in (*gone, *came)] == marked
