"""The pictures as values."""

from hypothesis import given, strategies as st

from baselinekit.model.results import Summary
from baselinekit.report.html import page

COUNT = st.integers(0, 50)


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
