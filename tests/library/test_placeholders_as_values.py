"""Placeholders as Python values: equal to what they accept, written as their texts."""

import uuid
from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

import baselinekit
from baselinekit import (
    Placeholder,
    any_array,
    any_integer,
    any_string,
    any_uuid,
    compare,
    contains,
    length,
    number,
    one_of,
    placeholder,
    regex,
    starts_with,
)
from baselinekit.errors import InvalidInput

NEW = str(uuid.UUID(int=7))


@pytest.mark.parametrize(
    ("held", "value", "is_one"),
    [
        (any_uuid, NEW, True),
        (any_uuid, "x", False),
        (any_integer, 3, True),
        (any_integer, True, False),
        (any_integer | None, None, True),
        (number(4.2, abs=0.1), 4.3, True),
        (number(4.2, abs=0.1), Decimal("4.31"), False),
        (one_of("a", "it's", 3, None), "it's", True),
        (regex(r"ORD-\d{4}"), "ORD-0042", True),
        (contains("b"), "abc", True),
        (starts_with("b"), "abc", False),
        (length(1, 2), [1, 2, 3], False),
        (any_array(of="any_integer", max=2), (1, 2), True),
        (any_string(1, 3), "", False),
        (placeholder("any_hex(8)"), "00ff00ff", True),
    ],
)
def test_placeholder_equals_values_that_it_accepts(held: Placeholder, value: object, is_one: bool) -> None:
    assert (held == value) is is_one
    assert (value == held) is is_one
    assert (value != held) is not is_one
    assert ([value] == [held]) is is_one


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (any_uuid, "<<any_uuid>>"),
        (any_uuid(version=4), "<<any_uuid(4)>>"),
        (any_uuid.optional, "<<any_uuid?>>"),
        (any_uuid.optional | None, "<<any_uuid?|null>>"),
        (any_string(max=5), "<<any_string(null, 5)>>"),
        (one_of("it's", 2.5, True), "<<one_of('it''s', 2.5, true)>>"),
        (number(9.99, abs=0.05), "<<number(9.99 ± 0.05)>>"),
        (placeholder("any_uuid as first"), "<<any_uuid as first>>"),
    ],
)
def test_placeholder_str_is_its_text(held: Placeholder, text: str) -> None:
    assert (str(held), repr(held)) == (text, text)
    assert held == placeholder(text)
    assert hash(held) == hash(placeholder(text))


@pytest.mark.parametrize("text", ["", "any_uuid >> x", "<<any_uuid>> <<any_uuid>>", "plain text", "any_uid"])
def test_placeholder_refuses_other_texts(text: str) -> None:
    with pytest.raises(InvalidInput):
        placeholder(text)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (lambda: any_uuid(versoin=4), "any_uuid takes version, each of them once"),
        (lambda: any_string(1, 2, 3), "any_string takes min, max, each of them once"),
        (lambda: baselinekit.any_email("x"), "any_email takes no arguments, each of them once"),
    ],
)
def test_placeholder_with_a_wrong_argument(wrong: Callable[[], object], what: str) -> None:
    with pytest.raises(TypeError, match=what):
        wrong()


@given(st.text())
def test_placeholder_takes_any_text_as_argument(text: str) -> None:
    assert text == one_of(text)
    assert compare({"x": one_of(text)}, {"x": text}).passed
    assert contains(text) == f"a{text}b"
