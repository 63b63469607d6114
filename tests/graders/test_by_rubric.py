"""The grader `rubric`: its items, the question, the reply, and the score."""

from fractions import Fraction
from typing import Any

import cases
import pytest
from cases import judge
from hypothesis import given, strategies as st

from baselinekit.graders.by_template import RubricItem, RubricJudge, ScoreRange, read_rubric
from baselinekit.model.evals import GoodAnswer
from baselinekit.model.grades import Grade, PassRule
from baselinekit.model.recipes import ModelQuestion
from baselinekit.schema import read_as

FOUR = {"0": "Critical bugs", "3": "Minor bugs", "6": "Correct with minor issues", "9": "Fully correct"}
TEXT = {"expected_outcome": "x"}
WANTED = GoodAnswer(outcome="Explains quicksort")


def item(**stated: Any) -> RubricItem:
    found, problems = read_as(RubricItem, stated)
    assert found is not None, problems
    return found


def graded(items: list[Any], checks: Any, output: Any = "the answer", of: str | None = None) -> Grade:
    clients = judge(lambda nonce, _: {"nonce": nonce, "checks": checks, "overall_reasoning": "so it is"})
    judged, rule = RubricJudge(items, of=of), PassRule("mean")
    return cases.graded(output, judged, None, clients, "model", wanted=WANTED, pass_rule=rule)


def met(item_id: str, value: Any = True) -> dict[str, Any]:
    return {"id": item_id, "satisfied": value, "reasoning": f"why {item_id}"}


def scored(item_id: str, value: Any) -> dict[str, Any]:
    return {"id": item_id, "score": value, "reasoning": f"why {item_id}"}


def problems_in(items: Any) -> list[tuple[tuple[Any, ...], str]]:
    _, problems = read_rubric({"rubrics": items})
    return [((problem.at or ())[1:], problem.message) for problem in problems]


def test_a40_rubric_items_have_the_documented_defaults() -> None:
    judge = RubricJudge(["Text ", item(id="a", description="Old"), item(expected_outcome="New", weight=2)])
    assert [(name, entry.text, entry.weight, entry.required) for name, entry in judge.items.items()] == [
        ("rubric-1", "Text", 1.0, True),
        ("a", "Old", 1.0, True),
        ("rubric-3", "New", 2, True),
    ]


@pytest.mark.parametrize(
    ("items", "at", "message"),
    [
        ([], (), "no item of the rubric has any weight"),
        ([{"expected_outcome": " "}], (0,), "an item without a text"),
        ([{"id": "rubric-2", **TEXT}, "x"], (), "two items are called 'rubric-2'"),
        ([{**TEXT, "required_min_score": 7}], (0, "required_min_score"), "`required_min_score` of an item "),
    ],
)
def test_a40_rubric_item_problems(items: Any, at: Any, message: str) -> None:
    ((place, words),) = problems_in(items)
    assert (place, words.startswith(message)) == (at, True)


@pytest.mark.parametrize(
    "ranges",
    [
        {"1": "a", "5": "b"},
        {"0": "a", "1.5": "b"},
        {"0": "a", "5": " "},
        [],
        [((0, 3), "a"), ((6, 10), "b")],
        [((0, 10), "a"), ((4, 5), "b")],
        [((6, 10), "a"), ((5, 0), "b")],
    ],
)
def test_a42_score_ranges_that_do_not_explain_each_score_once_are_a_problem(ranges: Any) -> None:
    if isinstance(ranges, list):
        ranges = [{"score_range": list(bounds), "expected_outcome": text} for bounds, text in ranges]
    message = "`score_ranges` has to explain each score from 0 to 10 once"
    assert problems_in([{"id": "a", "score_ranges": ranges}]) == [((0, "score_ranges"), message)]
    outside = [{"score_range": [0, 11], "expected_outcome": "x"}]
    assert problems_in([{"score_ranges": outside}])[0][0] == (0, "score_ranges", 0, "score_range", 1)


@given(st.sets(st.integers(1, 10)))
def test_a42_score_ranges_that_begin_at_0_cover_every_score_once(others: set[int]) -> None:
    lows = [0, *sorted(others)]
    by_map = item(score_ranges={str(low): f"from {low}" for low in reversed(lows)})
    ends = [*(low - 1 for low in lows[1:]), 10]
    listed = [ScoreRange([low, end], f"from {low}") for low, end in zip(lows, ends, strict=True)]
    assert by_map.ranges == RubricItem(score_ranges=listed).ranges
    assert [score for low, high, _ in by_map.ranges for score in range(low, high + 1)] == [*range(11)]


THREE: list[Any] = [
    "Mentions divide-and-conquer approach",
    item(id="complexity", expected_outcome="States time complexity", weight=2.0),
    item(id="examples", expected_outcome="Includes code", required=False),
]
THREE_IDS = ("rubric-1", "complexity", "examples")


@pytest.mark.parametrize(
    ("satisfied", "score", "verdict", "gates"),
    [
        ((True, True, True), 1.0, ("passed", None), ()),
        ((True, True), 0.75, ("failed", "borderline"), ()),
        ((True, False, True), 0.5, ("failed", None), ("complexity",)),
        ((False, True, True), 0.75, ("failed", None), ("Mentions divide-and-conquer approach",)),
    ],
)
def test_a41_rubric_score_is_the_share_of_the_satisfied_weights(
    satisfied: tuple[bool, ...], score: float, verdict: Any, gates: tuple[str, ...]
) -> None:
    found = graded(THREE, [met(*pair) for pair in zip(THREE_IDS, satisfied, strict=False)])
    assert (found.score, (found.outcome, found.verdict), found.failed_gates) == (score, verdict, gates)
    if len(satisfied) == 2:
        assert "examples: the judge left it out" in found.reason
        assert found.details["criteria"][2]["satisfied"] is False


@pytest.mark.parametrize(
    "checks",
    [
        [],
        [met("rubric-1"), met("complexity"), met("complexity", False)],
        [met("rubric-1", 1), met("complexity")],
        [scored("rubric-1", 10)],
        None,
    ],
    ids=str,
)
def test_a41_rubric_reply_of_another_form_is_an_error(checks: Any) -> None:
    found = graded(THREE, checks)
    assert (found.outcome, found.score, found.code) == ("error", None, "BK640")
    assert len(found.details["replies_that_could_not_be_read"]) == 3
    assert found.usage.tokens_in == 30


BY_RANGE = [item(id=item_id, score_ranges=FOUR) for item_id in "abc"]


@pytest.mark.parametrize(
    ("raws", "score", "verdict"),
    [((6, 9, 9), 0.8, ("passed", None)), ((7, 8, 8), 23 / 30, ("failed", "borderline"))],
)
def test_a44_rubric_scores_and_verdicts_are_exact(raws: tuple[int, ...], score: float, verdict: Any) -> None:
    found = graded(BY_RANGE, [scored(item_id, raw) for item_id, raw in zip("abc", raws, strict=True)])
    assert (found.score, (found.outcome, found.verdict)) == (score, verdict)


@pytest.mark.parametrize(
    ("least", "raw", "outcome", "reason"),
    [
        (7, 6, "failed", "b (6 of 10, 7 needed): why b"),
        (None, 0, "passed", ""),  # `required` says nothing of an item that is scored
    ],
)
def test_a43_a44_rubric_with_a_failed_gate_fails(
    least: int | None, raw: int, outcome: str, reason: str
) -> None:
    gate = {"required_min_score": least} if least else {"required": True}
    items = [item(id="a", weight=100, score_ranges=FOUR), item(id="b", score_ranges=FOUR, **gate)]
    found = graded(items, [scored("a", 10), scored("b", raw)])
    assert (found.outcome, found.reason) == (outcome, reason)
    assert found.failed_gates == (("b",) if outcome == "failed" else ())
    assert found.score == pytest.approx((100 + raw / 10) / 101)


def test_a43_rubric_score_other_than_a_whole_number_from_0_to_10_is_an_error() -> None:
    for raw in (True, -1, 11, 7.5, "7 of 10", None, [7], 1e9, "<0 to 10>"):
        found = graded(BY_RANGE, [scored("a", raw), scored("b", 9), scored("c", 9)])
        assert (found.outcome, found.score) == ("error", None)


def test_a41_a43_rubric_with_items_of_both_kinds_and_unknown_ids() -> None:
    both = [item(id="a", **TEXT), item(id="b", weight=3, score_ranges=FOUR)]
    found = graded(both, [met("a"), scored("b", 8)])
    assert (found.score, found.outcome) == (0.85, "passed")
    found = graded(THREE, [*map(met, THREE_IDS), met("style"), met("style")])
    assert (found.score, found.details["unknown_ids"]) == (1.0, ["style"])
    found = graded(BY_RANGE, [scored("a", 7), scored("b", 6), scored("c", 9)])
    meaning = {"score": 7, "range": "Correct with minor issues", "reasoning": "why a"}
    assert found.details["criteria"][0] == {"id": "a", "weight": 1.0, **meaning}
    assert (found.details["hits"], found.details["misses"]) == (["a", "c"], ["b"])


def test_a40_rubric_question_names_every_item_by_its_id() -> None:
    questions: list[ModelQuestion] = []

    def reply(nonce: str, question: ModelQuestion) -> Any:
        questions.append(question)
        return {"nonce": nonce, "checks": [*map(met, THREE_IDS), scored("a", 9)], "overall_reasoning": ""}

    how, output = RubricJudge([*THREE, BY_RANGE[0]], of="title"), {"title": "It halves.", "body": "long"}
    found = cases.graded(output, how, None, judge(reply), "model", wanted=WANTED)
    assert found.outcome == "passed"
    text = questions[0].messages[1].content
    for part in (
        "- rubric-1: Mentions divide-and-conquer approach\n",
        "- a: (a whole number from 0 to 10)\n  - 0 to 2: Critical bugs\n",
        '{"id": "complexity", "satisfied": <true or false>, "reasoning": "…"}',
        '{"id": "a", "score": <0 to 10>, "reasoning": "…"}',
        ">>>\nIt halves.\n<<<end of candidate_answer ",
        ">>>\nReverse: hello\n<<<end of question ",
    ):
        assert part in text
    assert "reference_answer" not in text
    assert (questions[0].temperature, questions[0].json) == (0, True)
    assert graded(["Is it short?"], [met("rubric-1")], {"body": "long"}, of="title").outcome == "failed"


JUDGED_ITEMS = st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.booleans()), min_size=1, max_size=8)


@given(JUDGED_ITEMS)
def test_a41_rubric_score_is_exact_and_falls_with_omissions(judged: list[tuple[int, bool, bool]]) -> None:
    """Each item: ten times its weight, whether it is met, and whether the judge leaves it out."""
    items = [item(id=f"i{n}", weight=w / 10, **TEXT) for n, (w, _, _) in enumerate(judged)]
    every = [met(f"i{n}", is_met) for n, (_, is_met, _) in enumerate(judged)]
    some = [check for check, (_, _, is_left_out) in zip(every, judged, strict=True) if not is_left_out]
    total = sum(w for w, _, _ in judged)
    whole = graded(items, every)
    assert whole.score == float(Fraction(sum(w for w, is_met, _ in judged if is_met), total))
    if some:
        met_and_said = sum(w for w, is_met, is_left_out in judged if is_met and not is_left_out)
        assert graded(items, some).score == float(Fraction(met_and_said, total))
