"""The laws of equality: each notion is an equivalence, each key is as fine as the notion it stands for, and
values that differ do so at any depth."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from baselinekit.files.jsontext import MAX_DEPTH
from baselinekit.model.values import Json
from baselinekit.values.equality import bytes_of, canonical, freeze, identical, same_json

LONG = Decimal("0.1000000000000000000001")
SCALARS = [None, True, False, 0, 1, 0.0, -0.0, 1.0, 1e23, 10**23, LONG, "", "1", "true", "é", repr(LONG)]
VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


def alike(left: Json, right: Json) -> bool:
    return identical(left, right, ordered=False)


def reordered(value: Json) -> Json:
    """The same with the keys of every object the other way round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [*map(reordered, value)] if isinstance(value, list) else value


@given(VALUES, VALUES, VALUES)
def test_each_equality_is_an_equivalence(a: Json, b: Json, c: Json) -> None:
    for equal in (identical, alike, same_json):
        assert equal(a, a)
        assert equal(a, b) == equal(b, a)
        assert not (equal(a, b) and equal(b, c)) or equal(a, c)


@given(VALUES, VALUES)
def test_equalities_from_finest_to_coarsest(a: Json, b: Json) -> None:
    assert alike(a, b) or not identical(a, b)
    assert same_json(a, b) or not alike(a, b)


@given(VALUES, VALUES)
def test_equality_keys_agree_with_equalities(a: Json, b: Json) -> None:
    assert (bytes_of(a) == bytes_of(b)) == identical(a, b)
    assert (canonical(a) == canonical(b)) == alike(a, b)
    assert (freeze(a) == freeze(b)) == same_json(a, b)


@given(VALUES)
def test_identical_depends_on_key_order_only_if_ordered(value: Json) -> None:
    other = reordered(value)
    assert alike(value, other)
    assert freeze(value) == freeze(other)
    assert canonical(value) == canonical(other)
    assert same_json(value, other)
    assert identical(value, other) == (json.dumps(value, default=str) == json.dumps(other, default=str))


@pytest.mark.parametrize("around", [lambda value: value, lambda value: {"a": [1, value]}])
@pytest.mark.parametrize(
    ("first", "other", "as_json"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        (0.0, -0.0, True),
        (10**23, 1e23, True),
        (LONG, 0.1, False),
        (LONG, repr(LONG), False),
        (Decimal("1.50"), Decimal("1.5"), True),
        ("1", 1, False),
        (2**53, float(2**53), True),
        ("é", "e\u0301", False),
        ("\ud800", "\udfff", False),
        (None, "", False),
        ([], {}, False),
        ({"a": None}, {}, False),
        ({"a": 1}, {"b": 1}, False),
    ],
)
def test_equality_of_similar_values(around: object, first: Json, other: Json, as_json: bool) -> None:
    assert callable(around)
    left, right = around(first), around(other)
    assert not identical(left, right)
    assert not alike(left, right)
    assert canonical(left) != canonical(right)
    assert same_json(left, right) is as_json


@pytest.mark.parametrize("depth", [50, MAX_DEPTH, MAX_DEPTH + 9])
def test_bytes_of_deep_value(depth: int) -> None:
    shared: list[Json] = ["shared", {"key": 1}]

    def nested(value: Json) -> Json:
        for n in range(depth):
            value = [value, value] if n < 3 else {"key": value, "twin": shared}
        return value

    assert bytes_of(nested(1)) == bytes_of(json.loads(json.dumps(nested(1))))
    assert bytes_of(nested(1)) != bytes_of(nested(True))
