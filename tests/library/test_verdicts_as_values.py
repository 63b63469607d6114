"""compare(expected, actual) from Python: a verdict that is true or false, and what it shows."""

import dataclasses
import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit import BaselinekitError, Rules, any_integer, any_uuid, check, compare, number, replay
from baselinekit.errors import InvalidInput
from baselinekit.placeholders.grammar import escape_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    total: Decimal
    day: datetime.date


ORDER = Order(uuid.UUID(int=1), Decimal("4.25"), datetime.date(2024, 1, 15))


@pytest.mark.parametrize(
    ("expected", "actual", "rules", "differing"),
    [
        ({"n": 1}, {"n": 2}, None, ["n"]),
        ({"n": 1}, {"n": True}, None, ["n"]),
        ({"id": any_uuid, "total": number(4.2, abs=0.1), "day": "2024-01-15"}, ORDER, None, []),
        ([1, 2], [2, 1], Rules(arrays={"$": "unordered"}), []),
        ({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 2}}, Rules(ignore=["a.b"]), ["a.c"]),
        ({"a": 1.0}, {"a": 1.05}, Rules(tolerance={"a": {"abs": 0.1}}), []),
        ([{"id": 1}], [{"id": 8}, {"id": 9}], Rules(placeholders={"*.id": any_integer}), ["[1]"]),
        ([{"id": 1}], [{"id": 8}] * 2, Rules(placeholders={"*.id": any_integer}, arrays={"$": "each"}), []),
        ({"a": 1}, {"a": 1, "b": 2}, Rules(type="exact"), ["b"]),
        ({"a": 1}, {"a": 1}, Rules(require=["b"]), ["b"]),
    ],
)
def test_compare_names_differences_by_path(
    expected: object, actual: object, rules: Rules | None, differing: list[str]
) -> None:
    verdict = compare(expected, actual, rules)
    assert [one.path for one in verdict.differences] == differing
    assert verdict.passed is bool(verdict) is (not differing)


def test_verdict_str_is_the_report_of_the_terminal() -> None:
    verdict = compare({"users": [{"name": "Ada"}], "total": 2}, {"users": [{"name": "Bob"}], "total": "2"})
    assert str(verdict).splitlines() == [
        "2 differences",
        "",
        "  users[0].name",
        '    - "Ada"',
        '    + "Bob"',
        "  total  another type",
        "    - 2 (number)",
        '    + "2" (string)',
    ]
    assert repr(verdict) == "<Verdict 2 differences>"
    assert str(compare(1, 1)) == "passed"


@pytest.mark.parametrize(
    ("rules", "code"),
    [(Rules(placeholders={"b.c": any_uuid}), "BK204"), (Rules(tolerance={"a": {"absx": 1}}), "BK103")],
)
def test_compare_refuses_a_wrong_rule(rules: Rules, code: str) -> None:
    with pytest.raises(BaselinekitError) as caught:
        compare({"a": [1]}, {"a": [1]}, rules)
    assert caught.value.problems[0].code == code


@given(JSON)
def test_compare_exact_of_a_value_with_itself_passes(value: Any) -> None:
    verdict = compare(escape_value(value), value, Rules(type="exact"))
    assert verdict.passed
    assert verdict.resolved == escape_value(value)


@pytest.mark.parametrize(
    ("rules", "what", "hint"),
    [
        ({"ignore_fields": ["x"]}, "rules: expected Rules, found a dict", "Rules(ignore=[…]), of type,"),
        (Rules(ignore="users"), "Rules(ignore): expected a list, found 'users' (string)", ""),
    ],
)
def test_compare_refuses_invalid_rules(rules: Any, what: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        compare({"x": 1}, {"x": 2}, rules)
    (problem,) = caught.value.problems
    assert problem.message == what
    assert hint in problem.hint


@pytest.mark.parametrize("ask", [check, replay])
def test_check_and_replay_refuse_a_path(ask: Any) -> None:
    with pytest.raises(InvalidInput, match=r"expected a baseline, found a str: what load\(…\) gives"):
        ask("baselines/users.yaml")
