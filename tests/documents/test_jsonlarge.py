"""Large JSON texts are read in another way than small ones, to the same values and the same faults."""

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from baselinekit.documents.jsonlarge import decode_large
from baselinekit.documents.jsontext import LARGE, MAX_DEPTH, MAX_DIGITS, NotJson, decode, parse_fraction

BLANKS = st.sampled_from(["", "", "", " ", "\n  ", "\t", "\r\n"])
TEXTS = st.text(alphabet='ab{}[]":,\\\n1é\u2028\U0001f600', max_size=6)
WRITTEN_TEXTS = st.one_of(
    st.builds(lambda text, ascii: json.dumps(text, ensure_ascii=ascii), TEXTS, st.booleans()),
    st.sampled_from(['"\\u0061"', '"\\u005c\\u0022"', '"\\\\"', '"\\\\\\""', '"\\ud800"', '"\\/"']),
)
NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["-0", "-0.0", "1e5", "1E-400", "1e999", "0.1000000000000000055511151231257827"]),
    st.sampled_from(["9" * 1000, "-" + "9" * 1000, "9" * 1001, "9" * 5000, "1" * 31 + ".5", "NaN"]),
)


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(st.tuples(BLANKS, inner, BLANKS), max_size=4))
    return f"[{','.join(map(''.join, items))}]"


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    """A key may be there twice."""
    parts = st.tuples(BLANKS, WRITTEN_TEXTS, BLANKS, st.just(":"), BLANKS, inner, BLANKS)
    return f"{{{','.join(map(''.join, draw(st.lists(parts, max_size=4))))}}}"


def nested(levels: int, text: str, opening: str, closing: str) -> str:
    return opening * levels + text + closing * levels


JSON_TEXTS = st.recursive(
    WRITTEN_TEXTS | NUMBERS | st.sampled_from(["true", "false", "null"]),
    lambda inner: arrays(inner) | objects(inner),
    max_leaves=25,
)
DEEP = st.builds(nested, st.integers(55, 66), JSON_TEXTS, st.sampled_from(["[", '{"a":']), st.just("]")).map(
    lambda text: text.replace("]", "}") if text.startswith("{") else text
)


def found_in(text: str) -> tuple[str, Any, Any]:
    """The value, of which the types and the order of keys count too; or what is wrong, and where."""
    try:
        return "value", repr(decode(text)), ""
    except NotJson as fault:
        return (
            ("fault", fault.kind, "") if fault.kind == "syntax" else ("fault", fault.message, fault.position)
        )


@given(JSON_TEXTS | DEEP)
@example('{"a": 1, "a": 1}')
@example('{"a" : 1, "a" : "\\":"}')
@example('{"a": ":", "a": "::"}')
@example('["]", [[["["]]]]')
@example("[" * 65 + '"]]]]]]", "[[[[[["' + "]" * 65)
@example("[" * 64 + '"[["' + "]" * 64)
@example('["\\\\", {"\\\\\\"": 1, "\\\\\\"": 2}]')
@example("[1, " + "9" * 1001 + "]")
def test_a_large_text_is_read_like_a_small_one(text: str) -> None:
    assert found_in(text + " " * LARGE) == found_in(text)


@pytest.mark.parametrize(
    "value",
    [
        {"at": "2024-06-06T06:15:34Z", "url": "https://example.com/[1]?q={x}", "b": ['"', "\\", '\\"']},
        [{"a": {}, "b": [[], [1, -2.5, 1e-7, None, True]]}] * 3,
        {"digits": "7" * 40, "number": 12345678901234567890},
        "a text",
        {"é": "\u2028", "😀": "\ud800"},
        [0.1234567890123456] * 200,
    ],
)
def test_what_is_common_is_read_the_quick_way(value: Any) -> None:
    def refused(text: str) -> None:
        raise ValueError(text)

    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, separators=(",", ":"))):
        assert decode_large(text + " " * 200, MAX_DEPTH, MAX_DIGITS, parse_fraction, refused) == value
