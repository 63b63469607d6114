"""JSON as the standard means it."""

import json
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.files.jsontext import NotJson, decode, encode

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_decode_of_encoded_value_is_the_same(value: Any) -> None:
    assert decode(encode(value)) == value
    assert decode(json.dumps(value, indent=1)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=30, min_value=-1, max_value=1))
def test_decode_keeps_every_digit(number: Decimal) -> None:
    found = decode(str(number))
    assert (Decimal(repr(found)) if isinstance(found, float) else found) == number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4.2", 4.2),
        ("-0.000000001", -0.000000001),
        ("0.30000000000000004", 0.30000000000000004),
        ("0.1000000000000000055511151231257827", Decimal("0.1000000000000000055511151231257827")),
        ("1e999", Decimal("1e999")),
        ("1e-400", Decimal("1e-400")),
        ("12345678901234567890123", 12345678901234567890123),
        ("1.0", 1.0),
        ("1E2", 100.0),
        ('"\\ud800"', "\ud800"),
        ("[" * 64 + "]" * 64, None),
        ("9" * 1000, int("9" * 1000)),
    ],
)
def test_decode_numbers_and_texts(text: str, value: Any) -> None:
    found = decode(text)
    if value is not None:
        assert (found, type(found)) == (value, type(value))


COMMA = 7 if sys.version_info >= (3, 13) else 8
"""Newer Pythons point at the comma itself, older ones at what should have followed it."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "Expecting value at byte 0", id="nothing"),
        pytest.param('{"a": 1,}', f"at byte {COMMA}", id="a comma too many"),
        pytest.param('{"ä": 1} x', "Extra data at byte 10", id="bytes, not characters"),
        pytest.param('{"a": 1, "b": {"a": 1, "a": 2}}', "the key 'a' occurs twice at byte 23", id="F27"),
        pytest.param('[{"a,{": "}"}, {"b": 1, "\\u0062": 2}]', "'b' occurs twice at byte 24", id="escaped"),
        pytest.param('{"x": [1, NaN]}', "NaN, which is not a JSON value at byte 10", id="F53 NaN"),
        pytest.param("-Infinity", "-Infinity, which is not a JSON value at byte 0", id="F53 Infinity"),
        pytest.param('["[", ' + "[" * 64 + "]" * 65, "deeper than 64 levels at byte 69", id="F53 65 levels"),
        pytest.param("[" * 100_000, "deeper than 64 levels at byte 64", id="F53 endless levels"),
        pytest.param('{"a":' * 70 + "1" + "}" * 70, "deeper than 64 levels at byte 320", id="65 objects"),
        pytest.param("[1, " + "9" * 1001 + "]", "more than 1,000 digits at byte 4", id="F52 digits"),
        pytest.param("-" + "9" * 5000, "more than 1,000 digits at byte 0", id="F52 more digits"),
        pytest.param("0." + "1" * 1001, "more than 1,000 digits at byte 0", id="F52 behind the point"),
        pytest.param("1e5000", "more than 1,000 digits at byte 0", id="F52 by its exponent"),
        pytest.param("1e99999999999999999999", "more than 1,000 digits at byte 0", id="F52 beyond Decimal"),
    ],
)
def test_decode_mistake_names_its_byte(text: str, message: str) -> None:
    with pytest.raises(NotJson) as raised:
        decode(text)
    assert message in str(raised.value)


def test_encode_decimal_keeps_digits() -> None:
    value = {"a": [Decimal("1.10"), None, "é"], 'b"': Decimal("1E+999"), "c": (True, {"d": Decimal(1)})}
    assert encode(value) == '{"a":[1.10,null,"é"],"b\\"":1E+999,"c":[true,{"d":1}]}'
