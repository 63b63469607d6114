"""JSONPath that jsonpath-ng does not read as RFC 9535 does is refused, with what is wrong. Where selectors
lead is tested with the published cases (tests/matching)."""

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.values.paths import find, parse

REFUSED = [
    ("$[0:2:0]", "has a slice with a step of 0, which selects nothing"),
    ("$[9007199254740992]", "has an index that is out of range: 9007199254740992"),
    ("$[?@.a==1e999999999]", "has a number that cannot be read"),
    ("$[1.0]", "cannot be read as JSONPath"),
    ("$[a]", "has a word without quotes"),
    ("$['a]", "has a quote or an escape that cannot be read"),
    ("$[?(@.say != 'a \\\"word\\\"')]", "has a quote or an escape that cannot be read"),
    ("$['a\nb']", "has a quote or an escape that cannot be read"),
    ("$.a\xa0", "ends with a blank"),
    ("$.", "lacks a name after a dot"),
    ("$.a | $.b", "refers to the whole document"),
    ("$[?@.a == $.b]", "refers to the whole document"),
    ("$.a where b", "cannot calculate, sort or join paths"),
    ("$[?length(@.a) == 2]", "cannot contain functions"),
    ("$[?@.a = 1]", "compares with a single ="),
    ("$[?@.a =~ 'x']", "has a regular expression"),
    ("$[?@.a+1 == 2]", "cannot calculate or sort"),
    ("$[?@.* == 1]", "compares a path that may lead to several values"),
    ("$[?1]", "has a filter that does not begin with @"),
    ("$[?!(@.a==1)]", "cannot be read as JSONPath"),
    ("$[?" + "(" * 300 + "@.a" + ")" * 300 + "]", "nested too deeply"),
    ("$" + "[?@" * 100 + "]" * 100, "nested too deeply"),
]


@pytest.mark.parametrize(("path", "why"), REFUSED, ids=[path[:40] for path, _ in REFUSED])
def test_parse_unsupported_jsonpath_is_refused(path: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(path)
    (problem,) = caught.value.problems
    assert problem.code == "BK201"
    assert why in problem.message


PIECES = [
    *"[]?@<*()!:,'\\ 10",
    "$",
    ".a",
    "..",
    ".b",
    "==",
    "!=",
    "'x'",
    '"',
    "-1",
    "&&",
    "||",
    "&",
    "null",
    "true",
]
PIECES += ["e9", ".5", "`len`", "=~", "\ud800"]
DOCUMENTS: list[Json] = [
    [{"a": 1, "d": "x"}, {"a": [1]}, {}, 7, None],
    {"a b": 1, "": 2, "*": [3]},
    ["a", "b"],
    1,
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from(DOCUMENTS))
def test_find_follows_every_parsed_path(text: str, document: Json) -> None:
    with suppress(InvalidInput):
        assert len(find(parse("$" + text), document)) < 1_000
