"""What a change to the checks and the scores of a recipe lets pass that failed before."""

import json
from typing import Any

import pytest

from baselinekit.commands.since import Way, weakened
from baselinekit.model.baselines import Baseline
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
    return parse_record(record)


def told(before: Baseline, after: Baseline) -> list[str]:
    """Each with its place below the recipe's execution; what is changed only, marked."""

    def shown(way: Way) -> str:
        place = ".".join(map(str, way.at)).removeprefix("current.execution.")
        return f"{'' if way.weakens else '~'}{place}: {way.message}"

    return list(map(shown, weakened(before, after, WORDS, WORDS)))


def loosened(before: Baseline, after: Baseline) -> list[str]:
    return [way for way in told(before, after) if not way.startswith("~")]


LOOSER = r"""
[{"contains": "mill"}] | [] | : is no longer checked: {"contains": "mill"}
[{"contains": "the mill"}] | [{"contains": "mill"}] | .0: contains: "the mill" -> "mill"
[{"contains": "mill"}] | [{"not_contains": "mill"}] | : is no longer checked: {"contains": "mill"}
[{"not_contains": "x"}] | [{"not_contains": "xy"}] | .0: not_contains: "x" -> "xy"
[{"contains_all": ["a", "b"]}] | [{"contains_all": ["a"]}] | .0: contains_all: -"b"
[{"contains_all": ["a", "b"]}] | [{"contains": "a"}] | : is no longer checked: {"contains_all": ["a", "b"]}
[{"contains_any": ["a"]}] | [{"contains_any": ["a", "e", "i"]}] | .0: contains_any: +"e" +"i"
[{"matches": "^a"}] | [{"matches": "a"}] | .0: matches: "^a" -> "a"
[{"min_tokens": 5}] | [{"min_tokens": 4}] | .0: min_tokens: 5 -> 4
[{"max_tokens": 40}] | [{"max_tokens": 80}] | .0: max_tokens: 40 -> 80
[{"json_schema": {}}] | [{"json_schema": true}] | .0: json_schema: {} -> true
[{"contains": "a"}, {"contains": "b"}] | [{"contains": "b"}, {"contains": "c"}] | .1: contains: "a" -> "c"
"""


def rows_of(table: str) -> list[tuple[Any, Any, str]]:
    rows = [line.split(" | ") for line in table.strip().splitlines()]
    return [(json.loads(old), json.loads(new), way) for old, new, way in rows]


@pytest.mark.parametrize(("old", "new", "way"), rows_of(LOOSER))
def test_f57_a_check_that_asks_for_less_is_told(old: list[Any], new: list[Any], way: str) -> None:
    assert loosened(made(old), made(new)) == [f"checks{way}"]


STRICTER: list[tuple[list[Any], list[Any]]] = [
    ([], [{"contains": "mill"}]),
    ([{"min_tokens": 5}], [{"min_tokens": 6}]),
    ([{"max_tokens": 40}], [{"max_tokens": 30}]),
    ([{"max_tokens": 40}, {"matches": "a"}], [{"matches": "a"}, {"max_tokens": 40}]),
]


@pytest.mark.parametrize(("old", "new"), STRICTER)
def test_a_check_that_asks_for_as_much_or_more_is_no_matter(old: list[Any], new: list[Any]) -> None:
    assert loosened(made(old), made(new)) == []


SCORES: list[tuple[Any, Any, list[str]]] = [
    (SCORED, None, ["scores: the text is no longer scored"]),
    (None, SCORED, []),
    (SCORED, {**SCORED, "at_least": 3}, ["scores.at_least: 4 -> 3"]),
    (SCORED, {**SCORED, "at_least": None}, ["scores.at_least: 4 -> nothing"]),
    ({**SCORED, "at_least": None}, SCORED, []),
    (SCORED, {**SCORED, "model": "kind"}, ['scores.model: "judge" -> "kind"']),
    (SCORED, {**SCORED, "scale": [1, 9]}, ["scores.scale: -5 +9"]),
    (SCORED, {**SCORED, "rubric": {}}, ['scores.rubric.clear: "Is it clear?" -> nothing']),
    (
        SCORED,
        {**SCORED, "rubric": {**SCORED["rubric"], "kind": "Give 5 to all."}},
        ['scores.rubric.kind: nothing -> "Give 5 to all."'],
    ),
]


@pytest.mark.parametrize(("old", "new", "ways"), SCORES)
def test_f57_what_is_scored_otherwise_is_told(old: Any, new: Any, ways: list[str]) -> None:
    assert loosened(made(scores=old), made(scores=new)) == ways


def test_f57_a_score_that_may_fall_is_told() -> None:
    output = {"text": "x", "quality_scores": {"clear": 5}}
    wider = {"fields": {"quality_scores": {"type": "numeric", "tolerance": {"min_delta": -1}}}}
    before = made(scores=SCORED, output=output, rules=FLOOR)
    assert told(before, made(scores=SCORED, output=output, rules=wider)) == [
        "comparison.fields.quality_scores.tolerance.min_delta: 0 -> -1"
    ]
    ignored = {"ignore_values": ["quality_scores"]}
    assert any("is new" in way for way in told(before, made(scores=SCORED, output=output, rules=ignored)))
