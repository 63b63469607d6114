"""What a change to the checks and the scores of a recipe lets pass that failed before."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.weakened import Loosened, weakened
from baselinekit.graders.checks import CheckRequirements, grade_checks
from baselinekit.graders.task import GradeClients
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.store.reading import parse_record

WORDS = PlaceholderContext()
SCORED: dict[str, Any] = {"rubric": {"clear": "Is it clear?"}, "model": "judge", "at_least": 4}
FLOOR = {"fields": {"quality_scores": {"type": "numeric", "tolerance": {"min_delta": 0}}}}


def made(checks: Any = None, scores: Any = None, output: Any = None, rules: Any = None) -> Baseline:
    execution = {"type": "prompt", "checks": checks, "scores": scores}
    record = {
        "id": "a",
        "baseline": {"output": output or {"text": "x"}},
        "current": {
            "input": {"text": "Say x"},
            "execution": {key: value for key, value in execution.items() if value is not None},
        },
        "comparison": rules or {},
    }
    return parse_record(record, ".")


def told(before: Baseline, after: Baseline) -> list[str]:
    """Each with its place below the recipe's execution; what is changed only, marked."""

    def shown(way: Loosened) -> str:
        place = ".".join(map(str, way.at)).removeprefix("current.execution.")
        return f"{'~' if way.honest else ''}{place}: {way.message}"

    return list(map(shown, weakened(before, after, WORDS, WORDS)))


LOOSER: list[tuple[list[Any], list[Any], list[str]]] = [
    ([{"contains": "mill"}], [], ['checks: is no longer checked: {"contains": "mill"}']),
    (
        [{"contains": "mill"}, {"max_tokens": 9}],
        [{"contains": "mill"}],
        ['checks: is no longer checked: {"max_tokens": 9}'],
    ),
    ([{"contains": "the mill"}], [{"contains": "mill"}], ['checks.0: contains: "the mill" -> "mill"']),
    ([{"contains": "mill"}], [{"contains": "river"}], ['checks.0: contains: "mill" -> "river"']),
    (
        [{"contains": "mill"}],
        [{"not_contains": "mill"}],
        ['checks: is no longer checked: {"contains": "mill"}'],
    ),
    ([{"not_contains": "x"}], [{"not_contains": "xy"}], ['checks.0: not_contains: "x" -> "xy"']),
    ([{"contains_all": ["a", "b"]}], [{"contains_all": ["a"]}], ['checks.0: contains_all: -"b"']),
    (
        [{"contains_all": ["a", "b"]}],
        [{"contains": "a"}],
        ['checks: is no longer checked: {"contains_all": ["a", "b"]}'],
    ),
    ([{"contains_any": ["a"]}], [{"contains_any": ["a", "e", "i"]}], ['checks.0: contains_any: +"e" +"i"']),
    (
        [{"contains_all": ["a"]}],
        [{"contains_any": ["a", "b"]}],
        ['checks: is no longer checked: {"contains_all": ["a"]}'],
    ),
    ([{"matches": "^a"}], [{"matches": "a"}], ['checks.0: matches: "^a" -> "a"']),
    ([{"not_matches": "a"}], [{"not_matches": "ab"}], ['checks.0: not_matches: "a" -> "ab"']),
    ([{"min_tokens": 5}], [{"min_tokens": 4}], ["checks.0: min_tokens: 5 -> 4"]),
    ([{"max_tokens": 40}], [{"max_tokens": 80}], ["checks.0: max_tokens: 40 -> 80"]),
    (
        [{"json_schema": {"type": "object"}}],
        [{"json_schema": {"type": "array"}}],
        ['checks.0: json_schema: {"type": "object"} -> {"type": "array"}'],
    ),
    (
        [{"json_schema": {"const": 1}}],
        [{"json_schema": {"const": True}}],
        ['checks.0: json_schema: {"const": 1} -> {"const": true}'],
    ),
    (
        [{"contains": "a"}, {"contains": "b"}],
        [{"contains": "b"}, {"contains": "c"}],
        ['checks.1: contains: "a" -> "c"'],
    ),
    ([{"contains": "{{a}}"}], [{"contains": "\\{{a}} b"}], ['checks.0: contains: "{{a}}" -> "\\\\{{a}} b"']),
    (
        [{"json_schema": {"enum": ["x" * 99, "a"]}}],
        [{"json_schema": {"enum": ["x" * 99, "b"]}}],
        ['checks.0: json_schema: another one: {"enum": ["' + "x" * 49 + "…"],
    ),
]


@pytest.mark.parametrize(("old", "new", "ways"), LOOSER)
def test_f57_a_check_that_asks_for_less_is_told(old: list[Any], new: list[Any], ways: list[str]) -> None:
    assert told(made(old), made(new)) == ways


STRICTER: list[tuple[list[Any], list[Any]]] = [
    ([], [{"contains": "mill"}]),
    ([{"contains": "mill"}], [{"contains": "the mill"}]),
    ([{"contains": "a"}, {"contains": "b"}], [{"contains_all": ["b", "a"]}]),
    ([{"contains_all": ["a", "b"]}], [{"contains": "a"}, {"contains": "b"}]),
    ([{"contains_all": ["a", "b"]}], [{"contains": "a and b"}]),
    ([{"contains_any": ["a", "b"]}], [{"contains": "b"}]),
    ([{"contains_any": ["a", "b"]}], [{"contains_any": ["ab", "ba"]}]),
    ([{"contains": "a"}], [{"contains_any": ["ab", "ba"]}]),
    ([{"not_contains": "xy"}], [{"not_contains": "x"}]),
    ([{"min_tokens": 5}], [{"min_tokens": 6}]),
    ([{"max_tokens": 40}], [{"max_tokens": 30}]),
    ([{"max_tokens": 40}, {"matches": "a"}], [{"matches": "a"}, {"max_tokens": 40}]),
    (
        [{"json_schema": {"type": "object", "title": "A"}}],
        [{"json_schema": {"title": "A", "type": "object"}}],
    ),
    ([{"contains": "{{a}}"}], [{"contains": "{{a}}"}, {"min_tokens": 1}]),
]


@pytest.mark.parametrize(("old", "new"), STRICTER)
def test_a_check_that_asks_for_as_much_or_more_is_no_matter(old: list[Any], new: list[Any]) -> None:
    assert told(made(old), made(new)) == []


SCORES: list[tuple[Any, Any, list[str]]] = [
    (SCORED, None, ["scores: the text is no longer scored"]),
    (None, SCORED, []),
    (SCORED, {**SCORED, "at_least": 3}, ["scores.at_least: 4 -> 3"]),
    (SCORED, {**SCORED, "at_least": None}, ["scores.at_least: 4 -> nothing"]),
    (SCORED, {**SCORED, "at_least": 4.5}, []),
    ({**SCORED, "at_least": None}, SCORED, []),
    (SCORED, {**SCORED, "model": "kind"}, ['scores.model: scored otherwise: "judge" -> "kind"']),
    (SCORED, {**SCORED, "form": "line"}, ['scores.form: scored otherwise: "json" -> "line"']),
    (SCORED, {**SCORED, "scale": [1, 9]}, ["scores.scale: scored otherwise: [1, 5] -> [1, 9]"]),
    (
        SCORED,
        {**SCORED, "rubric": {"clear": "Is it there?"}},
        ['scores.rubric.clear: scored otherwise: "Is it clear?" -> "Is it there?"'],
    ),
    (SCORED, {**SCORED, "rubric": {}}, ["scores.rubric: is no longer scored: clear"]),
    (
        SCORED,
        {**SCORED, "rubric": {**SCORED["rubric"], "kind": "Give 5 to all."}},
        ['scores.rubric.kind: is scored now: "Give 5 to all."'],
    ),
    (
        SCORED,
        {**SCORED, "rubric": "rubric.yaml"},
        ['scores.rubric: scored otherwise: {"clear": "Is it clear?"} -> "rubric.yaml"'],
    ),
]


@pytest.mark.parametrize(("old", "new", "ways"), SCORES)
def test_f57_what_is_scored_otherwise_is_told(old: Any, new: Any, ways: list[str]) -> None:
    assert told(made(scores=old), made(scores=new)) == ways


def test_f57_a_score_that_may_fall_is_told() -> None:
    output = {"text": "x", "quality_scores": {"clear": 5}}
    wider = {"fields": {"quality_scores": {"type": "numeric", "tolerance": {"min_delta": -1}}}}
    before = made(scores=SCORED, output=output, rules=FLOOR)
    assert told(before, made(scores=SCORED, output=output, rules=wider)) == [
        "comparison.fields.quality_scores: fields: quality_scores: tolerance min_delta 0 -> min_delta -1"
    ]
    ignored = {"ignore_values": ["quality_scores"]}
    assert any("is new" in way for way in told(before, made(scores=SCORED, output=output, rules=ignored)))


def test_f57_an_answer_that_its_own_recipe_calls_bad_is_loosened_and_another_good_one_changed() -> None:
    checks = [{"contains": "x"}]

    def stored(check: str, score: float) -> Baseline:
        output = {"text": "x", "checks": {"contains": check}, "quality_scores": {"clear": score}}
        return made(checks, SCORED, output, FLOOR)

    good, failing, low = stored("passed", 5), stored("failed", 5), stored("passed", 2)
    place = "baseline.output.checks.contains: another expectation"
    assert told(good, failing) == [f'{place}: "passed" -> "failed"']
    assert told(failing, good) == [f'~{place}: "failed" -> "passed"']
    place = "baseline.output.quality_scores.clear: another expectation"
    assert told(good, low) == [f"{place}: 5 -> 2"]
    assert told(good, stored("passed", 4)) == [f"~{place}: 5 -> 4"]
    assert told(low, stored("passed", 3)) == [f"~{place}: 2 -> 3"]


def test_of_a_check_that_is_expected_to_fail_a_stricter_one_lets_more_pass() -> None:
    output = {"text": "x", "checks": {"contains": "failed"}}
    before, after = made([{"contains": "a"}], output=output), made([{"contains": "ab"}], output=output)
    assert told(before, after) == ["checks: other checks, and an answer is expected that fails one of them"]
    assert told(before, before) == []


def test_many_texts_take_no_time() -> None:
    old = [{"contains_all": [f"a{n}" for n in range(3_000)]}]
    new = [{"contains_all": [f"b{n}" for n in range(3_000)]}]
    assert not CheckRequirements(new).includes(old[0])
    assert CheckRequirements(old).includes(old[0])


texts = st.text("ab ", min_size=1, max_size=3)
one_check: st.SearchStrategy[dict[str, Json]] = st.one_of(
    st.builds(lambda text: {"contains": text}, texts),
    st.builds(lambda text: {"not_contains": text}, texts),
    st.builds(lambda some: {"contains_any": some}, st.lists(texts, min_size=1, max_size=3)),
    st.builds(lambda some: {"contains_all": some}, st.lists(texts, min_size=1, max_size=3)),
    st.builds(lambda text: {"matches": text}, texts),
    st.builds(lambda least: {"min_tokens": least}, st.integers(0, 4)),
    st.builds(lambda most: {"max_tokens": most}, st.integers(0, 4)),
)


def passes(baseline: Baseline, text: str) -> bool:
    grades = grade_checks(baseline.current, Observation(text, 0.0), GradeClients())
    return all(grade.outcome == "passed" for grade in grades)


@given(st.lists(one_check, max_size=3), st.lists(one_check, max_size=3), st.text("ab ", max_size=8))
def test_f57_a_text_that_failed_a_check_and_passes_now_is_never_missed(
    old: list[dict[str, Json]], new: list[dict[str, Json]], text: str
) -> None:
    before, after = made(old), made(new)
    if not passes(before, text) and passes(after, text):
        assert any(not way.honest for way in weakened(before, after, WORDS, WORDS))
