"""A document is literal where no text of it holds a placeholder and no rule reaches it."""

import re
from decimal import Decimal

import ruled
from hypothesis import example, given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import has_marker, split, texts_in

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


@given(VALUES, VALUES)
def test_a_document_with_such_values_is_compared_as_its_values_one_by_one(before: Json, after: Json) -> None:
    if not any(map(has_marker, texts_in(before))):
        found = ruled.compare({"k": before}, {"k": after})
        alone = ruled.compare({"k": before, "z": "<<any>>"}, {"k": after, "z": 1})
        assert ruled.shown(found) == ruled.shown(alone)
