"""JSON text with every digit, and short forms of it."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from baselinekit.model.values import ABSENT
from baselinekit.report.differences import pair
from baselinekit.report.values import cut_line, encode

FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON, st.sampled_from([None, 0, 2]))
def test_encode_reads_back(value: object, indent: int | None) -> None:
    assert json.loads(encode(value, indent)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("4.20"), "4.20"),
        (Decimal("1E+400"), "1E+400"),
        (Decimal("0.1000000000000000055511151231257827"), "0.1000000000000000055511151231257827"),
        (12345678901234567890123, "12345678901234567890123"),
        (1.0, "1.0"),
        (True, "true"),
        ({}, "{}"),
        ([], "[]"),
        ([{"a": []}], '[{"a": []}]'),
        (float("inf"), '"inf"'),
        (Decimal("NaN"), '"NaN"'),
        ("\x1b\u202e\ud800\x7fä", '"\\u001b\\u202e\\ud800\\u007fä"'),
    ],
)
def test_encode_of_leaves(value: object, text: str) -> None:
    assert encode(value) == text


def test_encode_of_absent_is_an_error() -> None:
    with pytest.raises(TypeError):
        encode([ABSENT])


@pytest.mark.parametrize(
    ("expected", "actual", "types", "shown"),
    [
        ("a", "b", False, ('"a"', '"b"')),
        ("5", 5, True, ('"5" (string)', "5 (number)")),
        (None, True, True, ("null (null)", "true (boolean)")),
        ("<<any_email>>", "<<any_email>>", True, ("<<any_email>>", '"<<any_email>>" (string)')),
        ("{{any_uuid}}", [1], True, ("{{any_uuid}}", "[1] (array)")),
        ("a << b", "x", False, ('"a << b"', '"x"')),
        (ABSENT, {"a": 1}, False, ("", '{"a": 1}')),
    ],
)
def test_pair(expected: object, actual: object, types: bool, shown: tuple[str, str]) -> None:
    assert pair(expected, actual, types) == shown


def test_pair_cuts_long_values_with_a_count() -> None:
    left, right = pair("a" * 600, "b")
    assert left == '"' + "a" * 499 + " … and 102 more characters"
    assert right == '"b"'
    assert cut_line("x" * 501).endswith(" … and 1 more character")
