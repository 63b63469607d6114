"""Human graders: the ratings that a scale allows, what raters are shown, and the grade that they make."""

from typing import Any

import pytest
from cases import RECIPE, case, exactly
from hypothesis import given, strategies as st

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.graders.by_human import (
    checked_rating,
    filled_rubric,
    human_grade,
    item_key,
    rating_material,
    value_of,
    words_for,
)
from baselinekit.graders.graders import problems_of
from baselinekit.model.evals import Case
from baselinekit.model.grades import Evaluators, Grade, Grader, HumanRating, Option, RatingScale
from baselinekit.model.ratings import Rating, RatingItem

LIKERT = RatingScale(labels={"1": "Poor", "4": "Good", "5": "Excellent"})
BINARY, RANKING = RatingScale("binary"), RatingScale("ranking")
TIES = RatingScale("ranking", tie_allowed=True)
TWO = RatingScale(criteria=["accurate", "complete"])
CHOICE = RatingScale("binary", options=[Option("s", "Ship it"), Option("h")])


def scaled(scale: RatingScale, least: int = 2, most: int = 5, adjudicator: str | None = None) -> HumanRating:
    return HumanRating(evaluators=Evaluators(least, most, 0.8, adjudicator), rating_scale=scale)


def graded(
    how: HumanRating | RatingScale, *values: Any, output: Any = "Hello", expected: Any = None, **more: Any
) -> Grade:
    """The grade of ratings, in order by `rater 0`, `rater 1` …; of a pair, the first is the rater."""
    how = how if isinstance(how, HumanRating) else scaled(how)
    grader = Grader("people", "human", how)
    shown, claims = rating_material(case(grader, expected=expected), grader, output, {})
    pairs = [value if isinstance(value, tuple) else (f"rater {n}", value) for n, value in enumerate(values)]
    ratings = tuple(Rating(rater, value, "2026-01-01T00:00:00Z", **more) for rater, value in pairs)
    item = RatingItem("0" * 16, "c", "people", how, shown, "2026-01-01T00:00:00Z", claims, ratings)
    return human_grade(grader, item)


@pytest.mark.parametrize(
    ("scale", "values", "outcome", "verdict", "score"),
    [
        (LIKERT, [4, 4], "passed", None, 0.75),
        (LIKERT, [3, 5], "unscored", "disputed", None),
        (TWO, [[4, 5], [4, 4]], "passed", None, 0.8125),
        (BINARY, [True, True, True, True, False], "passed", None, 0.8),
        (RatingScale("binary", threshold=0.9), [True] * 4 + [False], "failed", None, 0.8),
    ],
)
def test_h42_human_grade_of_ratings(
    scale: RatingScale, values: list[Any], outcome: str, verdict: str | None, score: float | None
) -> None:
    grade = graded(scale, *values)
    assert (grade.outcome, grade.verdict, grade.score) == (outcome, verdict, score)
    assert bool(grade.reason) == (outcome != "passed")


def test_h42_human_grade_names_the_next_command_and_the_statistic() -> None:
    waiting = graded(LIKERT, 4)
    assert waiting.reason == "1 of 2 people have rated it: baselinekit grade c"
    assert "ratings" not in waiting.details  # the next rater is not to know
    disputed = graded(BINARY, True, False)
    assert disputed.details["agreement"]["statistic"].startswith("percentage agreement")
    how = HumanRating(evaluators=Evaluators(1), rating_scale=BINARY, time_limit_minutes=1)
    late = {"rater": "rater 0", "value": True, "note": "long", "late": True}
    assert graded(how, True, seconds=61.0, note="long").details["ratings"] == [late]
    assert graded(how, True, seconds=59.0).details["ratings"] == [{"rater": "rater 0", "value": True}]
    last = graded(scaled(LIKERT, 2, 2), 1, 5)
    assert last.reason.endswith("name who decides (evaluators.adjudicator): no further rating is allowed")


def test_h41_ranking_of_the_output_and_of_the_entries_of_a_list() -> None:
    expected = exactly("Good morning", "Hi")
    grader = Grader("people", "human", scaled(RANKING))
    shown, _ = rating_material(case(grader, expected=expected), grader, "Hello", {})
    ours = shown.items.index("Hello") + 1
    others = [number for number in (1, 2, 3) if number != ours]
    best, middle = [ours, *others], [others[0], ours, others[1]]
    for ranking, outcome, score in ((best, "passed", 1.0), (middle, "failed", 0.5)):
        grade = graded(RANKING, ranking, ranking, expected=expected)
        assert (grade.outcome, grade.score) == (outcome, score)
    assert graded(RANKING, best, best[::-1], expected=expected).verdict == "disputed"
    shown, claims = rating_material(case(grader), grader, {"stdout": ["a", "b", "c"], "exit_code": 0}, {})
    stated = [shown.items.index(entry) + 1 for entry in "abc"]
    assert len(claims) == 3  # where nothing is expected, the entries of a list are ranked
    assert graded(RANKING, stated, stated, output=["a", "b", "c"]).score == 1.0
    for output in (["one"], list("abcdef"), {}):
        with pytest.raises(BaselinekitError, match="2 to 5 are allowed"):
            graded(RANKING, output=output)


@pytest.mark.parametrize(
    ("scale", "text", "value"),
    [
        (LIKERT, " 4 ", 4),
        (TWO, "4, 5", [4, 5]),
        (BINARY, "pass", True),
        (CHOICE, "ship it", "s"),
        (RANKING, "2 > 1 > 3", [2, 1, 3]),
    ],
)
def test_h40_value_of_reads_a_typed_rating(scale: RatingScale, text: str, value: Any) -> None:
    read = value_of(text, scale, 3)
    assert (read, type(read)) == (value, type(value))
    assert checked_rating(value, scale, 3) == value
    assert checked_rating({"complete": 2, "accurate": 5}, TWO) == [5, 2]
    ratings = [(4, LIKERT), (False, BINARY), ([2, [1, 3]], TIES)]
    assert [words_for(value, scale) for value, scale in ratings] == ["4 Good", "Fail", "2 > 1=3"]


@pytest.mark.parametrize(
    ("scale", "texts"),
    [
        (LIKERT, ["", "0", "6", "4.5", "good", "4 5", "4=5"]),
        (TWO, ["4", "4 5 3", "4 9"]),
        (BINARY, ["", "maybe", "1"]),
        (RANKING, ["", "1 > 2", "1 2 3 4", "1 1 2", "2 > 1 = 3", "0 1 2", "a b c"]),
        (TIES, ["2 = 2 > 1", "1 = 2", "1==2=3"]),
    ],
)
def test_h41_value_of_refuses_a_rating_outside_the_scale(scale: RatingScale, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(InvalidInput) as error:
            value_of(text, scale, 3)
        assert (error.value.problems[0].code, bool(error.value.problems[0].hint)) == ("BK741", True)
    for value in (True, 4.0, "4", None, [4], {"accurate": 4}, []):
        with pytest.raises(InvalidInput):
            checked_rating(value, RANKING if scale in (BINARY, TIES) else scale)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (scaled(LIKERT, 3, 2), "max_allowed is 2, and 3 are required"),
        (scaled(RatingScale(range=[5, 1])), "[5, 1] is not a range such as [1, 5]"),
        (scaled(RatingScale("binary", criteria=["a"])), "a binary scale has no criteria"),
        (scaled(RatingScale("ranking", min_items=1)), "1 to 5 items cannot be ranked"),
    ],
)
def test_h40_rating_scale_problems(how: HumanRating, message: str) -> None:
    grader = Grader("people", "human", how)
    found = [(problem.code, problem.message) for problem in problems_of(grader, case(grader))]
    assert found == [("BK702", message)]


def test_h43_filled_rubric_fills_each_slot_once() -> None:
    rubric = "{task_description}: {input_summary}. {requirements}. {criterion_1_name}\n- {criterion_2_name}\n"
    rubric += '- {special_instructions}, {conservative/generous} {"json": {}} {unknown}'
    slots = {"special_instructions": "mind {input_summary}"}
    how = HumanRating(rubric=rubric, rating_scale=RatingScale(criteria=["accuracy"]), slots=slots)
    made = case(description="a reversal", expected=exactly("olleh {special_instructions}"))
    assert filled_rubric(made, how) == (
        "a reversal: Reverse: hello. olleh {special_instructions}. accuracy\n"
        '- mind {input_summary}, conservative {"json": {}} {unknown}'
    )


def test_h43_item_key_depends_on_output_scale_and_rubric() -> None:
    def key(how: HumanRating, output: Any = "Hello", id: str = "c") -> str:
        grader = Grader("people", "human", how)
        return item_key(Case(id, RECIPE, (grader,)), grader, output)

    first = key(scaled(LIKERT))
    assert first == key(scaled(LIKERT, least=3))
    others = [
        *(key(scaled(LIKERT), "Hello!"), key(scaled(LIKERT), id="d"), key(scaled(LIKERT), 1)),
        *(key(scaled(LIKERT), True), key(scaled(RatingScale(range=[1, 7]))), key(HumanRating(rubric="tone"))),
    ]
    assert len({first, *others}) == len(others) + 1


@given(st.lists(st.integers(1, 5), max_size=5), st.randoms(use_true_random=False), st.integers(1, 6))
def test_h42_human_grade_without_enough_ratings_is_unscored(
    values: list[int], random: Any, least: int
) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    how = scaled(LIKERT, least, 6)
    grade, shuffled = graded(how, *values), graded(how, *mixed)
    assert (grade.outcome, grade.verdict, grade.score) == (shuffled.outcome, shuffled.verdict, shuffled.score)
    assert (grade.score is None) == (grade.outcome == "unscored")
    assert grade.outcome == "unscored" or (len(values) >= least and 0 <= (grade.score or 0) <= 1)


@pytest.mark.parametrize(
    ("by", "value", "values", "outcome", "verdict"),
    [
        (" EVE ", 1, [1, 5, 1, 5, 1], "failed", "adjudicated"),
        ("eve", 1, [5, 5], "passed", None),  # those who agree need no decision
        ("eve", 5, [5], "unscored", "pending"),  # and no rater is replaced
    ],
)
def test_human_grade_of_a_dispute_is_decided_by_the_adjudicator_only(
    by: str, value: int, values: list[int], outcome: str, verdict: str | None
) -> None:
    grade = graded(scaled(LIKERT, adjudicator="Eve"), *values, (by, value))
    assert (grade.outcome, grade.verdict) == (outcome, verdict)
    if verdict == "adjudicated":
        assert (grade.details["adjudicated_by"], len(grade.details["ratings"])) == (by, len(values) + 1)
        assert f"{by} decided" in grade.reason
    disputed = graded(scaled(LIKERT, adjudicator="Eve"), 1, 5, ("bob", 5))
    assert (disputed.outcome, disputed.verdict) == ("unscored", "disputed")
    assert "Eve decides: baselinekit grade c --as Eve" in disputed.reason
