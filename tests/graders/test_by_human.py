"""Human graders: H40 to H43, from what people said to a grade."""

from typing import Any

import pytest
from cases import RECIPE, case
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
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import (
    Evaluators,
    Grade,
    Grader,
    HumanRating,
    Option,
    Rating,
    RatingItem,
    RatingScale,
)

LABELS = {1: "Poor", 2: "Below Average", 3: "Average", 4: "Good", 5: "Excellent"}
LIKERT = RatingScale(labels=LABELS)
BINARY = RatingScale("binary")
RANKING = RatingScale("ranking")


def graded(how: HumanRating, *values: Any, output: Any = "Hello", expected: Any = None, **more: Any) -> Grade:
    grader = Grader("people", "human", how)
    of = case(grader, expected=expected)
    shown, claims = rating_material(of, grader, output, {})
    item = RatingItem("k", of.id, "people", how, shown, "2026-01-01T00:00:00Z", claims)
    ratings = [Rating(f"rater {n}", value, "2026-01-01T00:00:00Z", **more) for n, value in enumerate(values)]
    return human_grade(grader, item, ratings)


def scale(scale: RatingScale, *, least: int = 2, agreement: float = 0.8) -> HumanRating:
    return HumanRating(evaluators=Evaluators(least, 5, agreement), rating_scale=scale)


@pytest.mark.parametrize(
    ("scale_", "values", "outcome", "verdict", "score"),
    [
        (LIKERT, [], "unscored", "pending", None),
        (LIKERT, [5], "unscored", "pending", None),
        (LIKERT, [4, 4], "passed", None, 0.75),
        (LIKERT, [4, 5], "passed", None, 0.875),
        (LIKERT, [3, 4], "failed", None, 0.625),
        (LIKERT, [1, 1], "failed", None, 0.0),
        (LIKERT, [3, 5], "unscored", "disputed", None),
        (LIKERT, [1, 5], "unscored", "disputed", None),
        (RatingScale(threshold=3), [3, 3], "passed", None, 0.5),
        (RatingScale(range=[0, 10]), [8, 8], "passed", None, 0.8),
        (RatingScale(range=[-2, 2]), [1, 1], "passed", None, 0.75),
        (RatingScale(criteria=["accurate", "complete"]), [[4, 5], [4, 4]], "passed", None, 0.8125),
        (RatingScale(criteria=["accurate", "complete"]), [[5, 1], [5, 1]], "failed", None, 0.5),
        (RatingScale(criteria=["accurate", "complete"]), [[5, 1], [5, 5]], "unscored", "disputed", None),
        (BINARY, [True, True], "passed", None, 1.0),
        (BINARY, [False, False], "failed", None, 0.0),
        (BINARY, [True, False], "unscored", "disputed", None),
        (BINARY, [True, True, True, True, False], "passed", None, 0.8),
        (BINARY, [True, True, False], "unscored", "disputed", None),
        (RatingScale("binary", options=[Option("ship"), Option("hold")]), ["ship"] * 2, "passed", None, 1.0),
        (RatingScale("binary", threshold=0.9), [True] * 4 + [False], "failed", None, 0.8),
    ],
)
def test_h42_ratings_become_a_grade(
    scale_: RatingScale, values: list[Any], outcome: str, verdict: str | None, score: float | None
) -> None:
    grade = graded(scale(scale_), *values)
    assert (grade.outcome, grade.verdict, grade.score) == (outcome, verdict, score)
    assert bool(grade.reason) == (outcome != "passed")


def test_h42_what_waits_names_the_next_command_and_the_statistic_is_named() -> None:
    waiting = graded(scale(LIKERT), 4)
    assert waiting.reason == "1 of 2 people have rated it: baselinekit grade c"
    assert "ratings" not in waiting.details  # whoever rates next is not to know
    disputed = graded(scale(BINARY), True, False)
    assert disputed.details["agreement"] == {
        "statistic": "percentage agreement (share of raters who agree with the majority)",
        "value": 0.5,
        "threshold": 0.8,
    }
    assert "another rater may settle it: baselinekit grade c" in disputed.reason
    assert graded(scale(BINARY), *[True, False] * 2, True).reason.endswith("no further rating is allowed")


def test_one_rater_is_enough_where_one_is_required() -> None:
    assert graded(scale(BINARY, least=1), True).outcome == "passed"
    assert "it has no rating yet, and 1 is required" in graded(scale(BINARY, least=1)).reason


def test_a_rating_that_took_too_long_counts_and_is_marked() -> None:
    how = HumanRating(evaluators=Evaluators(1), rating_scale=BINARY, time_limit_minutes=1)
    assert graded(how, True, seconds=59.0).details["ratings"] == [{"rater": "rater 0", "value": True}]
    late = graded(how, True, seconds=61.0, note="long")
    assert late.outcome == "passed"
    assert late.details["ratings"] == [{"rater": "rater 0", "value": True, "note": "long", "late": True}]


def test_h41_the_output_is_ranked_against_what_is_expected() -> None:
    expected = Expected(value="Good morning", alternatives=["Hi"])
    grader = Grader("people", "human", scale(RANKING))
    shown, claims = rating_material(case(grader, expected=expected), grader, "Hello", {})
    assert sorted(shown.items) == ["Good morning", "Hello", "Hi"]
    ours = shown.items.index("Hello") + 1
    others = [number for number in (1, 2, 3) if number != ours]
    assert {first for first, _ in claims} == {ours}
    best, middle = [ours, *others], [others[0], ours, others[1]]
    for ranking, outcome, score in ((best, "passed", 1.0), (middle, "failed", 0.5)):
        grade = graded(scale(RANKING), ranking, ranking, output="Hello", expected=expected)
        assert (grade.outcome, grade.score) == (outcome, score)
    assert graded(scale(RANKING), best, best[::-1], output="Hello", expected=expected).verdict == "disputed"


def test_h41_the_entries_of_a_list_are_ranked_where_nothing_is_expected() -> None:
    grader = Grader("people", "human", scale(RANKING))
    shown, claims = rating_material(case(grader), grader, {"stdout": ["a", "b", "c"], "exit_code": 0}, {})
    number = {item: place for place, item in enumerate(shown.items, 1)}
    stated = [number["a"], number["b"], number["c"]]
    assert len(claims) == 3
    grade = graded(scale(RANKING), stated, stated, output=["a", "b", "c"])
    assert (grade.outcome, grade.score) == ("passed", 1.0)


@pytest.mark.parametrize("output", ["alone", ["one"], list("abcdef"), {}])
def test_h41_too_few_and_too_many_items_cannot_be_ranked(output: Any) -> None:
    with pytest.raises(BaselinekitError, match="2 to 5 are allowed"):
        graded(scale(RANKING), output=output)


TIES = RatingScale("ranking", tie_allowed=True)


@pytest.mark.parametrize(
    ("scale_", "text", "value"),
    [
        (LIKERT, " 4 ", 4),
        (RatingScale(range=[-2, 2]), "-1", -1),
        (RatingScale(criteria=["a", "b"]), "4, 5", [4, 5]),
        (RatingScale(criteria=["a", "b"]), "4 5", [4, 5]),
        (BINARY, "pass", True),
        (BINARY, "No", False),
        (BINARY, "true", True),
        (RatingScale("binary", options=[Option("s", "Ship it"), Option("h")]), "ship it", "s"),
        (RatingScale("binary", options=[Option("s", "Ship it"), Option("h")]), "h", "h"),
        (RANKING, "2 > 1 > 3", [2, 1, 3]),
        (RANKING, "2,1,3", [2, 1, 3]),
        (TIES, "2 > 1 = 3", [2, [1, 3]]),
    ],
)
def test_h40_a_value_is_read_as_it_is_typed(scale_: RatingScale, text: str, value: Any) -> None:
    read = value_of(text, scale_, 3)
    assert read == value
    assert type(read) is type(value)
    assert checked_rating(value, scale_, 3) == value


@pytest.mark.parametrize(
    ("scale_", "text"),
    [
        *((LIKERT, text) for text in ("", "0", "6", "4.5", "good", "4 5", "4 x")),
        *((RatingScale(criteria=["a", "b"]), text) for text in ("4", "4 5 3", "4 9")),
        *((BINARY, text) for text in ("", "maybe", "1")),
        *((RANKING, text) for text in ("", "1 > 2", "1 2 3 4", "1 1 2", "2 > 1 = 3", "0 1 2", "a b c")),
        *((TIES, text) for text in ("2 = 2 > 1", "1 = 2", "1==2=3")),
    ],
)
def test_h41_what_the_scale_does_not_have_is_refused(scale_: RatingScale, text: str) -> None:
    with pytest.raises(InvalidInput) as error:
        value_of(text, scale_, 3)
    assert error.value.problems[0].code == "BK741"
    assert error.value.problems[0].hint


@pytest.mark.parametrize("value", [True, 4.0, "4", None, [4], {"a": 4}])
def test_a_value_of_another_type_is_no_rating(value: Any) -> None:
    with pytest.raises(InvalidInput):
        checked_rating(value, LIKERT)


def test_criteria_may_be_named() -> None:
    both = RatingScale(criteria=["accurate", "complete"])
    assert checked_rating({"complete": 2, "accurate": 5}, both) == [5, 2]
    with pytest.raises(InvalidInput):
        checked_rating({"accurate": 5}, both)


def test_ratings_in_words() -> None:
    assert words_for(4, LIKERT) == "4 Good"
    assert words_for(False, BINARY) == "Fail"
    assert words_for([2, [1, 3]], TIES) == "2 > 1=3"


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (HumanRating(evaluators=Evaluators(3, 2)), "max_allowed is 2, and 3 are required"),
        (HumanRating(rubric="{a}", slots={"b": "x"}), "the rubric has no {b}"),
        (scale(RatingScale(range=[5, 1])), "[5, 1] is not a range"),
        (scale(RatingScale(range=[1])), "[1] is not a range"),
        (scale(RatingScale(labels={9: "Best"})), "the label of 9 is outside the scale"),
        (scale(RatingScale(threshold=0.8)), "the threshold is 0.8"),
        (scale(RatingScale(criteria=["a", "a"])), "a criterion is stated twice"),
        (scale(RatingScale("binary", criteria=["a"])), "a binary scale has no criteria"),
        (scale(RatingScale("binary", options=[Option(True)])), "a binary scale has two options"),
        (scale(RatingScale("binary", threshold=4)), "the threshold is 4"),
        (scale(RatingScale("likert", options=[Option(1)])), "a likert scale has no options"),
        (scale(RatingScale("ranking", min_items=1)), "1 to 5 items cannot be ranked"),
    ],
)
def test_h40_what_cannot_be_graded_by_is_said_beforehand(how: HumanRating, what: str) -> None:
    grader = Grader("people", "human", how)
    problems = list(problems_of(grader, case(grader)))
    assert [problem.message for problem in problems] == [what]
    assert problems[0].code == "BK740"
    assert list(problems_of(Grader("p", "human", scale(LIKERT)), case())) == []


RUBRIC = """\
You are evaluating {task_description}.
- Input provided: {input_summary}
- Task requirements: {requirements}
### 1. {criterion_1_name}
{criterion_1_description}
- What to look for: {criterion_1_indicators}
### 2. {criterion_2_name}
- {special_instructions}
- If unsure, err on the side of {conservative/generous}
{"json": {}} {unknown}"""


def test_h43_the_slots_of_a_rubric_are_filled_in_one_pass() -> None:
    how = HumanRating(
        rubric=RUBRIC,
        rating_scale=RatingScale(criteria=["accuracy: is it {requirements}?"]),
        slots={"special_instructions": "mind {input_summary}"},
    )
    of = Case(
        "c", RECIPE, (), description="a reversal", expected=Expected(value="olleh {special_instructions}")
    )
    assert filled_rubric(of, how) == (
        "You are evaluating a reversal.\n"
        "- Input provided: Reverse: hello\n"
        "- Task requirements: olleh {special_instructions}\n"
        "### 1. accuracy\n"
        "is it {requirements}?\n"
        "- mind {input_summary}\n"
        "- If unsure, err on the side of conservative\n"
        '{"json": {}} {unknown}'
    )


def test_h43_another_output_scale_or_rubric_needs_new_ratings() -> None:
    def key(how: HumanRating, output: Any = "Hello", id: str = "c") -> str:
        grader = Grader("people", "human", how)
        return item_key(Case(id, RECIPE, (grader,)), grader, output)

    first = key(scale(LIKERT))
    assert first == key(scale(LIKERT))
    assert first == key(scale(LIKERT, least=3, agreement=0.5))
    others = [
        key(scale(LIKERT), "Hello!"),
        key(scale(LIKERT), id="d"),
        key(scale(RatingScale(range=[1, 7]))),
        key(HumanRating(rating_scale=LIKERT, rubric="by tone")),
        key(scale(LIKERT), 1),
        key(scale(LIKERT), True),
    ]
    assert len({first, *others}) == len(others) + 1


@given(st.lists(st.integers(1, 5), max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_ratings_changes_nothing(values: list[int], random: Any) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    one, other = graded(scale(LIKERT), *values), graded(scale(LIKERT), *mixed)
    assert (one.outcome, one.verdict, one.score) == (other.outcome, other.verdict, other.score)
    assert one.score is None or 0 <= one.score <= 1
    assert (one.score is None) == (one.outcome == "unscored")


@given(st.lists(st.booleans(), max_size=5))
def test_h42_too_few_ratings_never_pass_and_never_fail(values: list[bool]) -> None:
    grade = graded(scale(BINARY, least=len(values) + 1), *values)
    assert (grade.outcome, grade.score) == ("unscored", None)


def decided(how: HumanRating, by: str, value: Any, *values: Any) -> Grade:
    grader = Grader("people", "human", how)
    of = case(grader)
    shown, claims = rating_material(of, grader, "Hello", {})
    item = RatingItem("k", of.id, "people", how, shown, "2026-01-01T00:00:00Z", claims)
    names = [*(f"rater {n}" for n in range(len(values))), by]
    pairs = zip(names, [*values, value], strict=True)
    said = [Rating(name, one, "2026-01-01T00:00:00Z") for name, one in pairs]
    return human_grade(grader, item, said)


@pytest.mark.parametrize(
    ("by", "value", "values", "outcome", "verdict"),
    [
        ("eve", 5, [1, 5], "passed", "adjudicated"),
        ("eve", 1, [1, 5], "failed", "adjudicated"),
        (" EVE ", 4, [1, 5, 1, 5, 1], "passed", "adjudicated"),
        ("eve", 1, [5, 5], "passed", None),  # who agree need nobody to decide
        ("eve", 5, [1, 1], "failed", None),
        ("eve", 5, [5], "unscored", "pending"),  # and no rater is replaced
        ("bob", 5, [1, 5], "unscored", "disputed"),
    ],
)
def test_a_dispute_is_settled_by_the_adjudicator_and_by_nobody_else(
    by: str, value: int, values: list[int], outcome: str, verdict: str | None
) -> None:
    how = HumanRating(evaluators=Evaluators(2, 5, 0.8, "Eve"), rating_scale=LIKERT)
    grade = decided(how, by, value, *values)
    assert (grade.outcome, grade.verdict) == (outcome, verdict)
    if verdict == "adjudicated":
        assert grade.details["adjudicated_by"] == by
        assert len(grade.details["ratings"]) == len(values) + 1
        assert grade.reason.startswith("the raters disagreed (their agreement is ")
        assert f"{by} decided" in grade.reason
    if verdict == "disputed":
        assert "Eve decides: baselinekit grade c --as Eve" in grade.reason


def test_a_dispute_without_end_says_how_it_could_have_one() -> None:
    grade = graded(HumanRating(evaluators=Evaluators(2, 2, 0.8), rating_scale=LIKERT), 1, 5)
    assert "name who decides (evaluators.adjudicator)" in grade.reason
