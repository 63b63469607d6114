"""The grammar of placeholders: what begins one, what is literal, and that nothing is lost in escaping."""

import time
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import (
    Token,
    escape,
    escape_value,
    has_marker,
    holds_marker,
    split,
    tokens_in,
)
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text

pytestmark = pytest.mark.slow


def token(text: str) -> Token:
    (only,) = split(text)
    assert isinstance(only, Token)
    return only


@pytest.mark.parametrize(
    ("text", "name", "args", "optional", "nullable", "key"),
    [
        ("<<any>>", "any", (), False, False, None),
        ("{{any_uuid}}", "any_uuid", (), False, False, None),
        ("<<any_uuid?>>", "any_uuid", (), True, False, None),
        ("<<any_uuid|null>>", "any_uuid", (), False, True, None),
        ("<<any_uuid?|null>>", "any_uuid", (), True, True, None),
        ("<<any_uuid as id>>", "any_uuid", (), False, False, "id"),
        ("<<any_uuid(4)?|null as the-id_2>>", "any_uuid", (4,), True, True, "the-id_2"),
        ("{{any_uuid?|null as id}}", "any_uuid", (), True, True, "id"),
        ("{{any_string(1,5)}}", "any_string", (1, 5), False, False, None),
        ("<<any_string()>>", "any_string", (), False, False, None),
        ("<<x1(1, -2.50, 1e3, true, false, null, word, two words)>>", "x1",
         (1, Decimal("-2.50"), Decimal("1e3"), True, False, None, "word", "two words"), False, False, None),
        ("<<x('a,b)', 'it''s', '', '\\d>>')>>", "x", ("a,b)", "it's", "", r"\d>>"), False, False, None),
        ('<<x("a\\"b", "\\u0041")>>', "x", ('a"b', "A"), False, False, None),
        ("<<x(  1 ,2  )>>", "x", (1, 2), False, False, None),
        ("<<x(nan, Infinity, 007, 1_0, --1, +1, .5, 5., 1e99999)>>", "x",
         ("nan", "Infinity", "007", "1_0", "--1", "+1", ".5", "5.", "1e99999"), False, False, None),
        ("<<x(9007199254740993)>>", "x", (9007199254740993,), False, False, None),
    ],
)  # fmt: skip
def test_split_reads_placeholder(
    text: str, name: str, args: tuple[Json, ...], optional: bool, nullable: bool, key: str | None
) -> None:
    found = token(text)
    read = (found.name, found.args, found.optional, found.nullable, found.key)
    assert read == (name, args, optional, nullable, key)
    assert [type(arg) for arg in found.args] == [type(arg) for arg in args]
    assert found.text == text


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("a << b", "a << b"),
        ("<<<<<<<", "<<<<<<<"),
        ("<<<<<<< HEAD", "<<<<<<< HEAD"),
        ("<<", "<<"),
        ("<<>>", "<<>>"),
        ("<<EOF", "<<EOF"),
        ("cat <<eof\nx\neof", "cat <<eof\nx\neof"),
        ("<<Any>>", "<<Any>>"),
        ("<< any >>", "<< any >>"),
        ("<<any", "<<any"),
        ("{{name}}", "{{name}}"),
        ("{{any_", "{{any_"),
        ("{{anything}}", "{{anything}}"),
        ("1<<2", "1<<2"),
        (r"\<<any>>", "<<any>>"),
        (r"\{{any_uuid}}", "{{any_uuid}}"),
        (r"\\\<<any>>", r"\\<<any>>"),
        (r"\<< b", "<< b"),
        (r"\\<< b", r"\\<< b"),
        ("\\", "\\"),
        (r"a\b", r"a\b"),
        ("", ""),
    ],
)
def test_split_literal_text(text: str, literal: str) -> None:
    assert split(text) == [literal]
    assert compile_text(text, PlaceholderContext()) == literal


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (r"\\<<any>>", ["\\\\", "<<any>>"]),
        ("<<<any>>>", ["<", "<<any>>", ">"]),
        ("a<<any>>b<<any>>", ["a", "<<any>>", "b", "<<any>>"]),
        ("<<any>><<any>>", ["<<any>>", "<<any>>"]),
        ("x << {{any_uuid}}", ["x << ", "{{any_uuid}}"]),
        (r"\<<any>> <<any>>", ["<<any>> ", "<<any>>"]),
    ],
)
def test_split_parts_of_text(text: str, parts: list[str]) -> None:
    assert [part if isinstance(part, str) else part.text for part in split(text)] == parts


@pytest.mark.parametrize(
    "text",
    [
        "<<any}}", "{{any_uuid>>", "<<any?", "<<any|none>>", "<<any as >>", "<<any as 1x>>", "<<any as a b>>",
        "<<any(>>", "<<any(1>>", "<<any(,)>>", "<<any(1,)>>", "<<any(1 2')>>", "<<any('x)>>",
        "<<any('x' y)>>", '<<any("\\q")>>', "<<any(1)", "<<any(1)?|null x>>",
    ],
)  # fmt: skip
def test_split_malformed_placeholder_is_an_error_with_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        split("some text " + text)
    (problem,) = caught.value.problems
    assert problem.code == "BK211"
    assert "<<name(args)?|null as key>>" in problem.hint


def test_holds_marker_and_tokens_in_nested_value() -> None:
    value = {"a": ["x", {"b": "y<<any as k>>"}], "c": "a << b", "<<any>>": 1, "d": "{{any_uuid}}"}
    assert holds_marker(value)
    assert not holds_marker({"<<any>>": [1, None, True, "{{name}}"]})
    assert [found.text for found in tokens_in(value)] == ["<<any as k>>", "{{any_uuid}}"]
    assert list(tokens_in(["<<any}}", "a << b", r"\<<any>>"])) == []


_PIECES = [
    "<", "<<", "\\", "\\\\", "{", "{{", "any_", "any", ">>", "}}", "(", ")", "'", "?", "|", " as ", "x", "\n",
]  # fmt: skip
MARKERS = st.lists(st.sampled_from(_PIECES), max_size=10).map("".join)
TEXTS = st.one_of(MARKERS, st.text(max_size=10))


@given(TEXTS)
def test_escape_text_accepts_only_itself(text: str) -> None:
    written = escape(text)
    compiled = compile_text(written, PlaceholderContext())
    if isinstance(compiled, str):
        assert compiled == text
    else:  # an odd run of backslashes before a marker has to be quoted
        assert isinstance(compiled, Placeholder | Inline)
        assert compiled.accepts(text, {})
        for other in (
            text + "x",
            "x" + text,
            text[:-1],
            text.replace("\\", "", 1),
            text.replace("\\", "\\\\"),
        ):
            assert other == text or not compiled.accepts(other, {})


@given(TEXTS, TEXTS)
def test_escape_text_before_placeholder_accepts_only_itself(text: str, value: str) -> None:
    compiled = compile_text(escape(text, followed=True) + "<<one_of('!')>>", PlaceholderContext())
    assert not isinstance(compiled, str)
    assert compiled.accepts(text + "!", {})
    assert compiled.accepts(value + "!", {}) is (value == text)


@given(TEXTS)
def test_split_any_text_is_read_or_an_error(text: str) -> None:
    with suppress(InvalidInput):
        parts = split(text)
        assert not any(isinstance(a, str) and isinstance(b, str) for a, b in pairwise(parts))
        assert has_marker(text) or parts == [text]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(TEXTS, below, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_escape_value_changes_only_texts(value: Json) -> None:
    before = repr(value)
    escaped = escape_value(value)
    assert repr(value) == before
    assert repr(escaped) == before or holds_marker(value)
    if isinstance(value, dict):
        assert list(escaped) == list(value)


def test_split_long_hostile_text_is_linear() -> None:
    began = time.process_time()
    for piece in ("<", "\\<<", "<<any(", "{{any_", "<<a ", "\\", "<<any as ", "<<x('"):
        text = piece * (200_000 // len(piece))
        escape(text)
        with suppress(InvalidInput):
            split(text)
    assert time.process_time() - began < 10
