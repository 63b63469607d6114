"""The pictures and the two sides of a difference, as values."""

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.results import Summary
from baselinekit.report.blocks import DiffLine
from baselinekit.report.html import page

COUNT = st.integers(0, 50)
SUMMARIES = st.builds(Summary, COUNT, COUNT, COUNT, COUNT, COUNT, st.just(True))
TEXTS = st.text("ab1 <&", max_size=12)


@given(
    st.lists(st.builds(Summary, COUNT, COUNT, COUNT, COUNT, COUNT, st.just(True)), min_size=1, max_size=80)
)
def test_draw_runs_has_a_column_for_each_run_within_the_picture(runs: list[Summary]) -> None:
    picture = page.draw_runs(runs)
    drawn_runs = [run for run in runs[-page.MOST_RUNS :] if run.total]
    assert len({bar.x for bar in picture.bars}) == len(drawn_runs)
    for bar in picture.bars:
        assert 0 <= bar.y <= bar.y + bar.height <= 40.01
        assert bar.x < picture.width


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
