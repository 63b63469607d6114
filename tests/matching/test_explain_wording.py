"""The wording of what changed: it follows the verdict, never makes it, and is bounded."""

import time
from typing import Any

import pytest
import ruled

from baselinekit.matching.explain import explain
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json


def lines(expected: Json, actual: Json, rules: dict[str, Any] | None = None) -> list[str]:
    return explain(expected, ruled.matcher(expected, rules).compare(Observation(actual, 0.0)))


@pytest.mark.parametrize(
    ("expected", "actual", "explained"),
    [
        ({"a": 1}, {"a": "1"}, ['a: changed from 1 (number) to "1" (string)']),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, ["a.c: added 2"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, ["a.c: removed 2"]),
        ({"id": "<<any_integer>>", "n": 1}, {"id": 5, "n": 2}, ["n: changed from 1 to 2"]),
        ({"rows": [{"id": "<<any>>", "n": 1}]}, {"rows": [{"id": 5, "n": 1}, {"id": 6, "n": 2}]},
         ["rows[1].n: changed from 1 to 2"]),
    ],
)  # fmt: skip
def test_explain_lists_each_change(expected: Json, actual: Json, explained: list[str]) -> None:
    assert lines(expected, actual) == explained


def test_explain_omits_changes_that_rules_allow() -> None:
    rules = {"ignore_fields": ["at"], "tolerance": {"n": {"abs": 1}}}
    assert lines({"at": 1, "n": 5, "x": 1}, {"at": 2, "n": 6, "x": 2}, rules) == ["x: changed from 1 to 2"]


@pytest.mark.slow
def test_explain_many_changes_is_bounded_and_counts_the_rest() -> None:
    """F55."""
    began = time.process_time()
    many = {f"k{n}": n for n in range(2_000)}
    explained = lines(many, {key: value + 1 for key, value in many.items()})
    assert len(explained) == 41
    assert explained[-1] == "… and 1,960 more places not explained"
    explained = lines({"a": list(range(6_000)), "b": 1}, {"a": list(range(1, 6_001)), "b": 2})
    assert explained == ["a: too large to explain", "b: changed from 1 to 2"]
    worst = {f"k{n}": [n, *range(2_000)] for n in range(30)}
    lines(worst, {key: value[::-1] for key, value in worst.items()})
    assert time.process_time() - began < 10


def test_explain_quotes_long_texts_whole() -> None:
    """A report masks a text before it cuts it: half a secret would not be recognised."""
    before, after = "x" * 5_000, "y" * 5_000
    assert lines({"a": before}, {"a": after}) == [f'a: changed from "{before}" to "{after}"']
