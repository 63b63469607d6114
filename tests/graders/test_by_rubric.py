"""Rubrics: what their items are, what a judge is asked, what of its reply counts, and what it comes to."""

from fractions import Fraction
from typing import Any

import pytest
from cases import RECIPE, judge
from hypothesis import given, strategies as st

from baselinekit.graders.by_rubric import RubricJudge
from baselinekit.graders.graders import grade, problems_of
from baselinekit.graders.rubricitems import RubricItem, ScoreRange, criteria_of
from baselinekit.model.evals import Case, GoodAnswer
from baselinekit.model.grades import Grade, Grader, PassRule
from baselinekit.model.recipes import ModelQuestion, Observation
from baselinekit.schema import read_as

FOUR = {"0": "Critical bugs", "3": "Minor bugs", "6": "Correct with minor issues", "9": "Fully correct"}
FOUR_RANGES = ((0, 2), (3, 5), (6, 8), (9, 10))


def item(**stated: Any) -> RubricItem:
    found, problems = read_as(RubricItem, stated)
    assert found is not None, problems
    return found


def graded(
    items: list[Any], checks: Any, rule: PassRule | None = None, output: Any = "the answer", **more: Any
) -> Grade:
    how = RubricJudge(items)
    grader = Grader("rubric", "model", how)
    wanted = GoodAnswer(outcome="Explains quicksort")
    case = Case("c", RECIPE, (grader,), wanted=wanted, pass_rule=rule or PassRule("mean"))
    reply = {"checks": checks, "overall_reasoning": "so it is", **more}
    clients = judge(lambda nonce, ask: {"nonce": nonce, **reply})
    return grade(grader, case, Observation(output, 0.1), clients)


def met(own: str, value: Any = True) -> dict[str, Any]:
    return {"id": own, "satisfied": value, "reasoning": f"why {own}"}


def scored(own: str, value: Any) -> dict[str, Any]:
    return {"id": own, "score": value, "reasoning": f"why {own}"}


def wrong(items: Any) -> list[tuple[tuple[Any, ...], str]]:
    how, problems = read_as(RubricJudge, {"rubrics": items})
    if how is None:
        return [(problem.at or (), problem.message) for problem in problems]
    grader = Grader("rubric", "model", how)
    found = problems_of(grader, Case("c", RECIPE, (grader,)))
    return [((problem.at or ())[2:], problem.message) for problem in found]


def test_a40_a_text_is_a_criterion_that_has_to_be_met() -> None:
    (found,) = criteria_of(["Mentions divide-and-conquer"])
    assert (found.id, found.text, found.weight, found.required) == (
        "rubric-1",
        "Mentions divide-and-conquer",
        1.0,
        True,
    )


def test_a40_an_item_has_the_documented_defaults_and_the_old_name_of_its_text() -> None:
    first, second = criteria_of([item(id="a", description="Old"), item(expected_outcome="New", weight=2)])
    assert (first.id, first.text, first.weight, first.required) == ("a", "Old", 1.0, True)
    assert (second.id, second.text, second.weight, second.required) == ("rubric-2", "New", 2.0, True)


def test_a40_an_id_of_our_own_is_none_that_somebody_has_stated() -> None:
    ids = [one.id for one in criteria_of([item(id="rubric-2", expected_outcome="x"), "y"])]
    assert ids == ["rubric-2", "rubric-2-"]


@pytest.mark.parametrize(
    ("items", "at", "told"),
    [
        ([], (), "a rubric without items"),
        ([""], (0,), "an item without a text"),
        ([{"id": "a"}], (0,), "an item without a text"),
        ([{"expected_outcome": " "}], (0,), "an item without a text"),
        ([{"expected_outcome": "x", "description": "y"}], (0, "description"), "both"),
        ([{"id": "", "expected_outcome": "x"}], (0, "id"), "an id that nobody can repeat"),
        ([{"id": "a\nb", "expected_outcome": "x"}], (0, "id"), "an id that nobody can repeat"),
        (
            [{"id": "a", "expected_outcome": "x"}, {"id": "a ", "expected_outcome": "y"}],
            (1, "id"),
            "items 1 and 2 are both called 'a'",
        ),
        ([{"expected_outcome": "x", "weight": 0}], (), "no item of the rubric has any weight"),
        (
            [{"expected_outcome": "x", "required_min_score": 7}],
            (0, "required_min_score"),
            "`required_min_score` of an item that is not scored",
        ),
    ],
)
def test_a40_what_is_wrong_with_an_item_is_told_with_its_place(items: Any, at: Any, told: str) -> None:
    ((place, message),) = wrong(items)
    assert place == at
    assert message.startswith(told)


@pytest.mark.parametrize("as_list", [False, True])
def test_a42_ranges_are_a_map_or_a_list_and_mean_the_same(as_list: bool) -> None:
    listed = [
        ScoreRange([low, high], text) for (low, high), text in zip(FOUR_RANGES, FOUR.values(), strict=True)
    ]
    (found,) = criteria_of(
        [item(id="a", score_ranges=FOUR) if not as_list else RubricItem("a", score_ranges=listed)]
    )
    assert found.ranges == tuple(
        (low, high, text) for (low, high), text in zip(FOUR_RANGES, FOUR.values(), strict=True)
    )


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({"0": "all"}, ((0, 10),)),
        ({"0": "a", "10": "b"}, ((0, 9), (10, 10))),
        ({"6": "b", "0": "a"}, ((0, 5), (6, 10))),
    ],
)
def test_a42_each_range_of_a_map_ends_before_the_next(ranges: dict[str, str], expected: Any) -> None:
    (found,) = criteria_of([item(score_ranges=ranges)])
    assert tuple((low, high) for low, high, _ in found.ranges) == expected


@pytest.mark.parametrize(
    ("ranges", "at", "told"),
    [
        ({"1": "a", "5": "b"}, (), "nothing says what the scores below 1 mean"),
        ({"0": "a", "11": "b"}, ("11",), "a range that begins at '11'"),
        ({"0": "a", "-1": "b"}, ("-1",), "a range that begins at '-1'"),
        ({"0": "a", "2.5": "b"}, ("2.5",), "a range that begins at '2.5'"),
        ({"0": "a", "05": "b"}, ("05",), "a range that begins at '05'"),
        ({"0": "a", "good": "b"}, ("good",), "a range that begins at 'good'"),
        ({"0": "a", "5": " "}, ("5",), "a range without a text"),
        ({}, (), "no range of scores"),
        ([], (), "no range of scores"),
        ([((0, 4), "a"), ((6, 10), "b")], (), "scores in no range: 5"),
        ([((0, 3), "a"), ((6, 10), "b")], (), "scores in no range: 4, 5"),
        ([((0, 5), "a"), ((5, 10), "b")], (1, "score_range"), "scores in two ranges: 5"),
        ([((0, 10), "a"), ((4, 5), "b")], (1, "score_range"), "scores in two ranges: 4, 5"),
        ([((0, 11), "a")], (0, "score_range"), "[0, 11] is no range of scores"),
        ([((-1, 10), "a")], (0, "score_range"), "[-1, 10] is no range of scores"),
        ([((5, 0), "a"), ((6, 10), "b")], (0, "score_range"), "[5, 0] is no range of scores"),
        ([((0,), "a")], (0, "score_range"), "[0] is no range of scores"),
        ([((0, 10), " ")], (0, "expected_outcome"), "a range without a text"),
    ],
)
def test_a42_ranges_are_whole_numbers_that_cover_all_scores_once(ranges: Any, at: Any, told: str) -> None:
    if isinstance(ranges, list):
        ranges = [{"score_range": list(bounds), "expected_outcome": text} for bounds, text in ranges]
    ((place, message),) = wrong([{"id": "a", "score_ranges": ranges}])
    assert place == (0, "score_ranges", *at)
    assert message == told


@pytest.mark.parametrize("bounds", [[0, 2.5], ["0", "2"], [True, 2], "0-2"])
def test_a42_a_bound_that_is_no_whole_number_is_an_error(bounds: Any) -> None:
    problems = wrong([{"score_ranges": [{"score_range": bounds, "expected_outcome": "x"}]}])
    assert problems
    assert all(place[:4] == ("rubrics", 0, "score_ranges", 0) for place, _ in problems)


THREE: list[Any] = [
    "Mentions divide-and-conquer approach",
    item(id="complexity", expected_outcome="States time complexity", weight=2.0),
    item(id="examples", expected_outcome="Includes code", required=False),
]


@pytest.mark.parametrize(
    ("satisfied", "score", "verdict", "gates"),
    [
        ((True, True, True), 1.0, ("passed", None), ()),
        ((True, True, False), 0.75, ("failed", "borderline"), ()),
        ((True, False, True), 0.5, ("failed", None), ("complexity",)),
        ((False, True, True), 0.75, ("failed", None), ("Mentions divide-and-conquer approach",)),
        (
            (False, False, False),
            0.0,
            ("failed", None),
            ("Mentions divide-and-conquer approach", "complexity"),
        ),
    ],
)
def test_a41_the_score_is_the_share_of_the_weights_that_are_met(
    satisfied: tuple[bool, ...], score: float, verdict: Any, gates: tuple[str, ...]
) -> None:
    checks = [
        met(own, value) for own, value in zip(("rubric-1", "complexity", "examples"), satisfied, strict=True)
    ]
    found = graded(THREE, checks)
    assert (found.score, (found.outcome, found.verdict), found.failed_gates) == (score, verdict, gates)


def test_a41_an_item_that_the_judge_leaves_out_is_not_met_and_told() -> None:
    found = graded(THREE, [met("rubric-1"), met("complexity")])
    assert (found.score, found.outcome, found.verdict) == (0.75, "failed", "borderline")
    assert "examples: the judge said nothing of it" in found.reason
    (examples,) = [one for one in found.details["criteria"] if one["id"] == "examples"]
    assert examples == {
        "id": "examples",
        "weight": 1.0,
        "criterion": "Includes code",
        "satisfied": False,
        "omitted": True,
    }


def test_a41_omission_never_raises_a_score() -> None:
    items: list[Any] = [item(id=f"i{number}", expected_outcome="x", required=False) for number in range(5)]
    every = [met(f"i{number}", number < 2) for number in range(5)]
    assert graded(items, every).score == graded(items, every[:2]).score == 0.4


def test_a41_an_id_that_no_item_has_counts_for_nothing_and_is_told() -> None:
    found = graded(THREE, [met("rubric-1"), met("complexity"), met("examples"), met("style"), met("style")])
    assert (found.score, found.details["unknown_ids"]) == (1.0, ["style"])


@pytest.mark.parametrize(
    "checks",
    [
        [],
        [met("unknown")],
        [met("rubric-1"), met("complexity"), met("complexity", False)],
        [met("rubric-1"), met("complexity"), met("complexity")],
        [met("rubric-1", "yes"), met("complexity")],
        [met("rubric-1", 1), met("complexity")],
        [met("rubric-1", None)],
        [scored("rubric-1", 10)],
        [{"id": "complexity", "met": True}],
        [{"satisfied": True, "reasoning": "x"}],
        ["complexity"],
        {"complexity": True},
        None,
    ],
    ids=str,
)
def test_a41_a_reply_that_says_two_things_or_nothing_is_an_error(checks: Any) -> None:
    found = graded(THREE, checks)
    assert (found.outcome, found.score, found.code) == ("error", None, "BK640")
    assert len(found.details["replies_that_could_not_be_read"]) == 3
    assert found.usage.tokens_in == 30


def by_range(**more: Any) -> list[Any]:
    return [item(id=own, score_ranges=FOUR, **more) for own in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("raws", "score", "verdict"),
    [
        ((6, 9, 9), 0.8, ("passed", None)),
        ((8, 8, 8), 0.8, ("passed", None)),
        ((7, 8, 9), 0.8, ("passed", None)),
        ((7, 8, 8), 23 / 30, ("failed", "borderline")),
        ((6, 6, 6), 0.6, ("failed", "borderline")),
        ((5, 6, 7), 0.6, ("failed", "borderline")),
        ((5, 6, 6), 17 / 30, ("failed", None)),
        ((0, 0, 0), 0.0, ("failed", None)),
        ((10, 10, 10), 1.0, ("passed", None)),
    ],
)
def test_a44_scores_and_verdicts_are_exact(raws: tuple[int, ...], score: float, verdict: Any) -> None:
    found = graded(by_range(), [scored(own, raw) for own, raw in zip("abc", raws, strict=True)])
    assert (found.score, (found.outcome, found.verdict)) == (score, verdict)


def test_a44_a_gate_that_fails_is_never_made_good() -> None:
    items = [
        item(id="a", weight=100, score_ranges=FOUR),
        item(id="b", required_min_score=7, score_ranges=FOUR),
    ]
    assert graded(items, [scored("a", 10), scored("b", 7)]).outcome == "passed"
    found = graded(items, [scored("a", 10), scored("b", 6)])
    assert (found.outcome, found.verdict, found.failed_gates) == ("failed", None, ("b",))
    assert found.score == pytest.approx(100.6 / 101)
    assert found.reason == "b (6 of 10, 7 needed): why b"


def test_a44_a_gate_may_ask_for_more_than_a_hit() -> None:
    found = graded([item(id="a", required_min_score=9, score_ranges=FOUR)], [scored("a", 8)])
    assert (found.outcome, found.score, found.failed_gates) == ("failed", 0.8, ("a",))
    assert (found.reason, found.details["misses"]) == ("a (8 of 10, 9 needed): why a", ["a"])


def test_a43_required_says_nothing_of_an_item_that_is_scored() -> None:
    found = graded([item(id="a", required=True, score_ranges=FOUR)], [scored("a", 9)])
    assert (found.outcome, found.failed_gates) == ("passed", ())


def test_a43_items_of_both_kinds_are_one_mean() -> None:
    items = [item(id="a", expected_outcome="x", weight=1), item(id="b", weight=3, score_ranges=FOUR)]
    assert graded(items, [met("a"), scored("b", 8)]).score == 0.85
    assert graded(items, [met("a"), scored("b", 8)]).outcome == "passed"


@pytest.mark.parametrize("raw", [True, -1, 11, 7.5, "7 of 10", None, [7], 70, 1e9, "<0 to 10>"])
def test_a43_a_raw_score_is_a_whole_number_from_0_to_10(raw: Any) -> None:
    found = graded(by_range(), [scored("a", raw), scored("b", 9), scored("c", 9)])
    assert (found.outcome, found.score) == ("error", None)


def test_a43_the_report_shows_the_raw_score_and_what_it_means() -> None:
    found = graded(by_range(), [scored("a", 7), scored("b", 6), scored("c", 9)])
    assert found.details["criteria"][0] == {
        "id": "a",
        "weight": 1.0,
        "score": 7,
        "range": "Correct with minor issues",
        "reasoning": "why a",
    }
    assert (found.details["hits"], found.details["misses"]) == (["a", "c"], ["b"])


def test_a40_the_judge_is_asked_for_every_item_by_its_id() -> None:
    asked: list[ModelQuestion] = []
    grader = Grader("rubric", "model", RubricJudge([*THREE, *by_range()[:1]]))
    wanted = GoodAnswer(outcome="Explains quicksort")

    def reply(nonce: str, ask: ModelQuestion) -> Any:
        asked.append(ask)
        checks = [met("rubric-1"), met("complexity"), met("examples"), scored("a", 9)]
        return {"nonce": nonce, "checks": checks, "overall_reasoning": ""}

    case = Case("c", RECIPE, (grader,), wanted=wanted)
    assert grade(grader, case, Observation("It halves.", 0.1), judge(reply)).outcome == "passed"
    text = asked[0].messages[1].content
    for part in (
        "Explains quicksort",
        "- rubric-1: Mentions divide-and-conquer approach\n",
        "- complexity: States time complexity\n",
        "- a: (a whole number from 0 to 10)\n  - 0 to 2: Critical bugs\n",
        "  - 9 to 10: Fully correct\n",
        '{"id": "complexity", "satisfied": <true or false>, "reasoning": "…"}',
        '{"id": "a", "score": <0 to 10>, "reasoning": "…"}',
        ">>>\nIt halves.\n<<<end of candidate_answer ",
        ">>>\nReverse: hello\n<<<end of question ",
    ):
        assert part in text
    assert "reference_answer" not in text
    assert (asked[0].temperature, asked[0].json) == (0, True)


@given(st.sets(st.integers(1, 10)))
def test_a42_any_bounds_that_begin_at_0_cover_every_score_once(others: set[int]) -> None:
    ranges = {str(low): f"from {low}" for low in (0, *others)}
    assert wrong([{"score_ranges": ranges}]) == []
    (found,) = criteria_of([item(score_ranges=ranges)])
    scores = [score for low, high, _ in found.ranges for score in range(low, high + 1)]
    assert scores == list(range(11))
    assert all(text == f"from {low}" for low, _, text in found.ranges)


JUDGED_ITEMS = st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.booleans()), min_size=1, max_size=8)


@given(JUDGED_ITEMS)
def test_a41_the_score_is_exact_and_leaving_items_out_never_raises_it(
    judged: list[tuple[int, bool, bool]],
) -> None:
    """Each item: ten times its weight, whether it is met, and whether the judge leaves it out."""
    items = [item(id=f"i{n}", expected_outcome="x", weight=w / 10) for n, (w, _, _) in enumerate(judged)]
    every = [met(f"i{n}", is_met) for n, (_, is_met, _) in enumerate(judged)]
    some = [check for check, (_, _, is_left_out) in zip(every, judged, strict=True) if not is_left_out]
    total = sum(w for w, _, _ in judged)
    whole = graded(items, every)
    assert whole.score == float(Fraction(sum(w for w, is_met, _ in judged if is_met), total))
    if some:
        less = graded(items, some)
        assert less.score is not None
        assert less.score == float(Fraction(sum(w for w, is_met, out in judged if is_met and not out), total))
        assert less.score <= (whole.score or 0)


def test_a_rubric_may_be_of_a_part_of_the_output() -> None:
    asked: list[str] = []

    def reply(nonce: str, ask: ModelQuestion) -> Any:
        asked.append(ask.messages[1].content)
        return {"nonce": nonce, "checks": [met("rubric-1")], "overall_reasoning": ""}

    grader = Grader("rubric", "model", RubricJudge(["Is it short?"], of="title"))
    case = Case("c", RECIPE, (grader,))
    observation = Observation({"title": "Short", "body": "long"}, 0.1)
    assert grade(grader, case, observation, judge(reply)).outcome == "passed"
    assert ">>>\nShort\n<<<end of candidate_answer" in asked[0]
    assert grade(grader, case, Observation({"body": "long"}, 0.1), judge(reply)).outcome == "failed"
