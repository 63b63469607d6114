"""The pictures and the two sides of a difference, as values."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.results import Appearance, KeptRun, Summary
from baselinekit.report.differences import DiffLine
from baselinekit.report.html import markup, results

RUN = KeptRun("", "", 0, Summary(0, 0, 0, 0, 0, True))
COUNT = st.integers(0, 50)
SECONDS = st.floats()
TEXTS = st.text("ab1 <&", max_size=12)


@given(st.lists(st.builds(Summary, COUNT, COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=80))
def test_each_run_is_a_column_within_the_picture(runs: list[Summary]) -> None:
    picture = ElementTree.fromstring(markup.outcome_picture(runs, "runs"))
    columns = [
        {key: float(value) for key, value in rect.attrib.items() if key != "class"} for rect in picture
    ]
    assert len({column["x"] for column in columns}) == sum(
        run.total > 0 for run in runs[-markup.MOST_POINTS :]
    )
    for column in columns:
        assert 0 <= column["y"] <= column["y"] + column["height"] <= 40.01
        assert column["x"] + column["width"] <= float(picture.attrib["width"])


def test_a_single_failure_among_thousands_can_be_seen() -> None:
    picture = ElementTree.fromstring(markup.outcome_picture([Summary(9_999, 1, 0, 0, 0, True)], "runs"))
    assert float(picture[0].attrib["height"]) == 1.5


@given(st.lists(SECONDS, max_size=200))
def test_times_of_any_size_make_a_small_picture_or_none(seconds: list[float]) -> None:
    picture = markup.spread_picture(seconds, "times")
    if picture:
        drawn = ElementTree.fromstring(picture)
        counted = sum(int(re.sub(r"\D", "", (rect[0].text or "").split(" took")[0])) for rect in drawn)
        assert counted == sum(1e-7 <= value < 1e6 for value in seconds)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (
            [0.001, 0.0015, 0.002, 0.003, 0.05],
            ["2 took 1 ms to 2 ms", "2 took 2 ms to 5 ms", "1 took 50 ms to 100 ms"],
        ),
        (
            [0.9, 1, 1, 2, 7],
            ["1 took 500 ms to 1 s", "2 took 1 s to 2 s", "1 took 2 s to 5 s", "1 took 5 s to 10 s"],
        ),
        ([1, 1, 1, 1, 1], []),
        ([1, 20, 300], []),
    ],
)
def test_steps_of_times(seconds: list[float], said: list[str]) -> None:
    assert re.findall("<title>(.*?)</title>", markup.spread_picture(seconds, "times")) == said


@given(
    st.lists(
        st.builds(Appearance, st.just(RUN), st.sampled_from(["passed", "failed", "error"]), st.floats(0, 1e6))
    )
)
def test_a_line_of_times_has_a_dot_where_it_did_not_pass(moments: list[Appearance]) -> None:
    picture = markup.spark_picture(moments)
    shown = moments[-markup.MOST_POINTS :]
    assert bool(picture) == (len(shown) > 1)
    if picture:
        drawn = ElementTree.fromstring(picture)
        assert len(drawn[0].attrib["points"].split()) == len(shown)
        assert len(drawn) - 1 == sum(moment.outcome != "passed" for moment in shown)


@given(st.lists(st.tuples(st.sampled_from(["gone", "came", "dim"]), TEXTS), max_size=30))
def test_no_line_is_lost_and_none_changes_its_place_among_its_own(shown: list[tuple[str, str]]) -> None:
    signs = {"gone": "- ", "came": "+ ", "dim": "| "}
    lines = [DiffLine(tone, signs[tone] + text) for tone, text in shown]  # type: ignore[arg-type]
    written = ElementTree.fromstring(results.difference_lines(lines))

    def texts(kind: str) -> list[str]:
        found = [part for part in written.iter("div") if part.attrib.get("class") == kind]
        return ["".join(line.itertext()) for part in found for line in part]

    assert texts("gone") == [line.text for line in lines if line.tone == "gone"]
    assert texts("came") == [line.text for line in lines if line.tone == "came"]
    assert texts("pair both")[::2] == [line.text for line in lines if line.tone == "dim"]


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("- faster starts", "+ quicker starts", ["faster", "quicker"]),
        ("- Grace B. Hopper", "+ Grace Hopper", ["B. "]),
        ("- at 10.125 metres", "+ at 10.126 metres", ["125", "126"]),
        ("- the same line", "+ the same line", []),
        ("- a", "+ b", []),
        ("- <<any_email>>", '+ "nobody"', []),
    ],
)
def test_whole_words_are_marked_where_most_of_a_line_is_alike(old: str, new: str, marked: list[str]) -> None:
    written = results.difference_lines([DiffLine("gone", old), DiffLine("came", new)])
    assert re.findall("<mark>(.*?)</mark>", written) == marked
