"""What is literal is found out from bytes; what a number or a length looks like there does not matter."""

import re
from decimal import Decimal

import pytest
import ruled
from hypothesis import example, given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.matching.values import Literal, literal_bytes
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker, split, texts_in
from baselinekit.tree.equality import as_key, as_written, bytes_of, json_text

_WORDS = '<< < >> > {{ }} any a _ ( ) ? | \\ " k 0 é <<any>> {{any_x}}'
_SIGNS = [*re.findall(r"\S+", _WORDS), " as ", *" \n\x1c\x85\u3000\0"]
SIGNS = st.lists(st.sampled_from(_SIGNS), max_size=12).map("".join)
LOOKS = SIGNS.map(lambda text: text.encode("utf-8"))
"""Bytes that look like a placeholder."""

HIDDEN: list[Json] = [
    15420,
    -15420,
    int.from_bytes(b"<<a?", "little"),
    int.from_bytes(b"<<any_uuid>>", "little"),
    int.from_bytes(b"\x8c\x08<<any>>" * 40, "little"),
    '<a href="x">' + "x" * 48,
    "<<a",
    "x << 2",
    "{{any_thing",
    Decimal("1e400"),
]
NUMBERS = (
    st.sampled_from([number for number in HIDDEN if isinstance(number, int)])
    | LOOKS.map(lambda data: int.from_bytes(data, "little", signed=True))
    | st.integers()
    | st.floats(allow_nan=False)
)
TEXTS = SIGNS | st.integers(0, 300).map("<a ".ljust) | st.text(max_size=4)
VALUES = st.recursive(
    NUMBERS | TEXTS | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("kMGJX", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def is_itself(text: str) -> bool:
    try:
        return split(text) == [text]
    except InvalidInput:
        return False


@given(SIGNS)
@example("\\ <<a")
@example("<<<any>>")
@example("1 << any | 2")
def test_a_text_has_a_marker_exactly_when_it_does_not_stand_for_itself(text: str) -> None:
    if is_itself(text):
        assert not has_marker(text) or "\\" in text
    else:
        assert has_marker(text)


@given(VALUES)
def test_a_value_is_literal_by_its_bytes_exactly_when_no_text_of_it_has_a_marker(value: Json) -> None:
    literal = not any(map(has_marker, texts_in(value)))
    assert literal_bytes(value) == (bytes_of(value) if literal else None)


@given(VALUES, VALUES)
def test_a_document_with_such_values_is_compared_as_its_values_one_by_one(before: Json, after: Json) -> None:
    if not any(map(has_marker, texts_in(before))):
        found = ruled.compare({"k": before}, {"k": after})
        alone = ruled.compare({"k": before, "z": "<<any>>"}, {"k": after, "z": 1})
        assert ruled.shown(found) == ruled.shown(alone)


@given(st.text(min_size=0, max_size=5) | st.sampled_from(["é" * 127, "é" * 128, "k" * 255, "k" * 256]))
def test_a_key_stands_in_the_bytes_as_it_is_written(key: str) -> None:
    assert as_written(key) in (bytes_of({"a": [{key: 1}]}) or b"")


@pytest.mark.parametrize("value", HIDDEN, ids=lambda value: repr(value)[:20])
def test_no_value_makes_a_literal_document_slow_to_compile(value: Json) -> None:
    """Before, the integer 15420 made it 80 times slower. Literal is one node, however large the document."""
    inner = {"x": [1, {"e": value}], "v": {}}
    stored: Json = {"m": {str(n): {"a": value, "b": {}, "c": inner} for n in range(50)}}
    assert isinstance(ruled.matcher(stored).root, Literal)
    assert ruled.compare(stored, stored).passed


NAMES = st.sampled_from(['"id"', "id", 'x"id', 'id": ', "é", "\\", "i", 'id": 1, "id'])


def keys_of(value: Json) -> set[str]:
    if isinstance(value, dict):
        return {*value}.union(*map(keys_of, value.values()))
    return set[str]().union(*map(keys_of, value)) if isinstance(value, list) else set()


@given(st.recursive(NAMES | st.integers(), lambda v: st.lists(v) | st.dictionaries(NAMES, v)), NAMES)
def test_a_key_is_told_from_a_text(value: Json, name: str) -> None:
    found = as_key(name) in json_text(value)
    assert found or name not in keys_of(value)
    assert not found or any(key.endswith(name) for key in keys_of(value))


def test_a_text_that_is_a_name_in_a_rule_leaves_a_document_literal() -> None:
    """Before, such a text made it a hundred times slower to compile, for each value got a node."""
    rules = {"ignore_fields": ["**.id"], "tolerance": {'**."a b"': {"abs": 1}}}
    stored: Json = {"m": [{"key": "id", "notes": ["a b", {"sort": 'the "id": x'}]} for _ in range(50)]}
    assert isinstance(ruled.matcher(stored, rules).root, Literal)
    assert ruled.compare(stored, stored, rules).passed
    assert not isinstance(ruled.matcher([stored, {"e": {"id": 1}}], rules).root, Literal)
