"""Whatever a `comparison:` can state, before and after: whether it lets an answer pass that failed before.

The tables have known answers."""

from typing import Any

import pytest

from baselinekit.commands.weakened import weakened
from baselinekit.model.baselines import Baseline
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.store.reading import parse_record

WORDS = PlaceholderContext()
OUTPUT: Json = {"rows": [{"id": 1, "n": 2.5}, {"id": 2, "n": 3}], "name": "Ada", "price": 9.5, "at": "now"}


def made(output: Json, comparison: dict[str, Any]) -> Baseline:
    current = {"input": "x", "execution": {"type": "skill", "skill_name": "x"}}
    return parse_record(
        {"id": "a", "baseline": {"output": output}, "current": current, "comparison": comparison}
    )


def told(then: dict[str, Any], now: dict[str, Any], old: Json = OUTPUT, new: Json = OUTPUT) -> list[str]:
    return [way.message for way in weakened(made(old, then), made(new, now), WORDS, WORDS) if way.weakens]


BOUND = "<<any_integer as k>>"
ALIKE = {"type": "semantic", "method": "words"}
BY = {"arrays": {"rows": {"by": "id"}}}
Change = tuple[dict[str, Any], dict[str, Any]]
STRICTER: list[Change] = [
    ({"tolerance": {"price": {"abs": 1}}}, {"tolerance": {"price": {"abs": 0.5}}}),
    ({"tolerance": {"price": {"rel": 0.1}}}, {"tolerance": {"price": {"rel": 0.05}}}),
    ({"tolerance": {"n": {"min_delta": -1}}}, {"tolerance": {"n": {"min_delta": -1, "max_delta": 2}}}),
    ({"tolerance": {"price": {"max_delta": 2}}}, {"tolerance": {"price": {"max_delta": 1}}}),
    ({"tolerance": {"price": {"abs": 1}}}, {"tolerance": {"price": {"abs": 1, "max_delta": 0.5}}}),
    ({"tolerance": {"price": {"abs": 1}}}, {}),
    ({"arrays": {"rows": "unordered"}}, {"arrays": {"rows": "ordered"}}),
    ({"arrays": {"rows": "unordered"}}, {}),
    ({"arrays": {"rows": "subset"}}, {"arrays": {"rows": "unordered"}}),
    ({"arrays": {"rows": "unordered"}}, BY),
    ({"arrays": {"rows": "subset"}}, BY),
    ({"options": {"allow_additional_fields": True}}, {}),
    ({"options": {"allow_missing_fields": True}}, {"options": {"allow_missing_fields": False}}),
    ({"options": {"case_sensitive": False}}, {"options": {"case_sensitive": True}}),
    ({}, {"options": {"allow_field_reordering": False}}),
    ({"options": {"allow_empty_arrays": True}}, {}),
    ({"options": {"trim_whitespace": True}}, {}),
    ({"ignore_fields": ["at", "name"]}, {"ignore_fields": ["at"]}),
    ({"ignore_fields": ["at"]}, {"ignore_values": ["at"]}),
    ({}, {"require_keys": ["name"]}),
    ({}, {"type": "exact"}),
    ({**ALIKE}, {"type": "structural"}),
    ({**ALIKE}, {"type": "exact"}),
    ({"type": "numeric"}, {"type": "structural"}),
    ({**ALIKE, "min_similarity": 0.7}, {**ALIKE, "min_similarity": 0.9}),
    ({"latency": {"max_seconds": 3}}, {"latency": {"max_seconds": 2}}),
    ({}, {"latency": {"max_seconds": 3}, "cost": {"max_usd": 1}}),
    ({"cost": {"max_usd": 2}}, {"cost": {"max_usd": 1}}),
    ({"fields": {"name": ALIKE}}, {"fields": {"name": {"type": "exact"}}}),
    ({}, {"fields": {"name": {"type": "exact"}}}),
    ({"fields": {"price": {"type": "numeric", "tolerance": {"abs": 1}}}},
     {"fields": {"price": {"type": "numeric", "tolerance": {"abs": 0.5}}}}),
    ({}, {"max_age": "30d"}),
]  # fmt: skip
OTHERWISE: list[Change] = [
    ({"tolerance": {"*": {"abs": 1}}}, {"tolerance": {"*": {"abs": 1}, "price": {"abs": 0.1}}}),
    ({"tolerance": {"*": {"abs": 1}, "price": {"abs": 0.1}}}, {"tolerance": {"*": {"abs": 1}}}),
    ({"fields": {"name": ALIKE}}, {}),
    ({}, {"fields": {"name": ALIKE}}),
    (BY, {"arrays": {"rows": "unordered"}}),
    ({"tolerance": {"price": {"abs": 1}}}, {"tolerance": {"price": {"rel": 0.1}}}),
    ({"tolerance": {"price": {"min_delta": -1}}}, {"tolerance": {"price": {"max_delta": 1}}}),
    ({}, BY),
    ({"arrays": {"rows": {"by": "id"}}}, {"arrays": {"rows": {"by": "n"}}}),
    ({**ALIKE}, {"type": "numeric"}),
    ({"type": "numeric"}, {**ALIKE}),
    ({"ignore_fields": ["at"]}, {"ignore_fields": ["name"]}),
    ({"ignore_values": ["at"]}, {"ignore_fields": ["at"]}),
    ({"require_keys": ["name"]}, {"require_keys": ["price"]}),
    ({"max_age": "30d"}, {"max_age": "90d"}),
    ({"ignore_values": ["**.n"], "tolerance": {"rows.*.n": {"abs": 1}}}, {"ignore_values": ["**.n"]}),
    ({"ignore_values": ["**.n"], "fields": {"rows.*.n": {"type": "exact"}}}, {"ignore_values": ["**.n"]}),
    (
        {"ignore_values": ["**.n"], "tolerance": {"rows.*.n": {"abs": 1}}},
        {"ignore_values": ["rows[0].n"], "tolerance": {"rows.*.n": {"abs": 1}}},
    ),
    ({"latency": {"max_seconds": 3}}, {"latency": {"max_ratio": 2}}),
]
"""What takes something more, or what the table does not know."""


@pytest.mark.parametrize(("then", "now"), STRICTER)
def test_what_only_asks_for_more_is_not_told(then: dict[str, Any], now: dict[str, Any]) -> None:
    assert told(then, now) == []


@pytest.mark.parametrize(("now", "then"), STRICTER)
def test_and_the_other_way_round_it_is(now: dict[str, Any], then: dict[str, Any]) -> None:
    assert told(then, now)


@pytest.mark.parametrize(("then", "now"), OTHERWISE)
def test_what_asks_for_something_else_is_told(then: dict[str, Any], now: dict[str, Any]) -> None:
    assert told(then, now)
