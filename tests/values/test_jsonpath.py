"""JSONPath as RFC 9535 means it: where each selector leads, after the cases of the published compliance
suite, and what is refused rather than read in another sense."""

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.values.paths import find, parse

pytestmark = pytest.mark.slow

ABC: Json = ["a", "b", "c", "d", "e"]
ROWS: Json = [
    {"a": 1, "d": "x"},
    {"a": 1.0, "b": None},
    {"a": "1"},
    {"a": True},
    {"a": None},
    {"b": 1},
    {"a": [1], "b": [1.0]},
    {"a": {"x": 1}, "b": {"x": 1}},
    {"a": "b"},
    {},
    7,
    "text",
    None,
]
NUMBERS: Json = [{"a": n} for n in (-1, 0, 1, 2, 0.1, 1e2, Decimal("0.1000000000000000055"))]
FLAGS: Json = [{"a": 1, "b": 1}, {"a": 1}, {"b": 1}, {}, {"c": 1}]
ODD: Json = {
    "a b": 1,
    "a.b": 2,
    "'": 3,
    '"': 4,
    "\\": 5,
    "\n": 6,
    "\t": 7,
    "☺": 8,
    "😀": 9,
    "1": 10,
    "é": 11,
    "": 12,
    "*": 13,
    "$": 14,
    "null": 15,
    "true": 16,
    "x-y": 17,
    "/": 18,
    "\b\f\r": 19,
}

LEADS: list[tuple[str, Json, list[Json]]] = [
    ("$", 1, [1]),
    ("$.a", {"a": 1}, [1]),
    ("$.a", [1], []),
    ("$['a']", {"a": 1}, [1]),
    ('$["a"]', {"a": 1}, [1]),
    ("$[ 'a' ]", {"a": 1}, [1]),
    ("$ .a ['b']", {"a": {"b": 1}}, [1]),
    ("$['a','b']", {"a": 1, "b": 2, "c": 3}, [1, 2]),
    ("$['a',0]", {"a": 1, "0": 2}, [1]),
    ("$.*", {"a": 1, "b": [2]}, [1, [2]]),
    ("$[*]", {"a": 1}, [1]),
    ("$[0,2]", ABC, ["a", "c"]),
    ("$[0,*]", ABC, ABC),
    ("$[0, 3:]", ABC, ["a", "d", "e"]),
    ("$[?@.a==1, 9]", ROWS, [*ROWS[:2], {}]),
    ("$[-1]", ABC, ["e"]),
    ("$[9]", ABC, []),
    ("$[-9]", ABC, []),
    ("$[0]", {"0": 1}, []),
    ("$['0']", ["a"], []),
    ("$['0']", {"0": 1}, [1]),
    ("$['0','a']", [["x"]], []),
    ("$[1:3]", ABC, ["b", "c"]),
    ("$[:]", ABC, ABC),
    ("$[::]", {"a": 1}, []),
    ("$[1:]", {"a": 1}, []),
    ("$[::2]", ABC, ["a", "c", "e"]),
    ("$[::-1]", ABC, ABC),
    ("$[3:1:-1]", ABC, ["c", "d"]),
    ("$[:-1]", ABC, ABC[:-1]),
    ("$[-2:]", ABC, ["d", "e"]),
    ("$[3:1]", ABC, []),
    ("$[9:]", ABC, []),
    ("$[0:9007199254740991]", ABC, ABC),
    ("$[ 1 : 3 : 1 ]", ABC, ["b", "c"]),
    ("$..a", {"a": {"a": 1}, "b": [{"a": 2}]}, [{"a": 1}, 1, 2]),
    ("$..[0]", [[1], 2], [[1], 1]),
    ("$..['a']", {"b": {"a": 1}}, [1]),
    ("$..*", {"a": [1]}, [[1], 1]),
    ("$..[?@.a]", {"b": [{"a": 1}]}, [{"a": 1}]),
    # names
    ("$['a b']", ODD, [1]),
    ("$['a.b']", ODD, [2]),
    (r"$['\'']", ODD, [3]),
    ("""$["'"]""", ODD, [3]),
    ("""$['"']""", ODD, [4]),
    (r'$["\""]', ODD, [4]),
    (r"$['\\']", ODD, [5]),
    (r"$['\n']", ODD, [6]),
    (r'$["\n"]', ODD, [6]),
    (r"$['\t']", ODD, [7]),
    (r"$['\u263a']", ODD, [8]),
    (r"$['\u263A']", ODD, [8]),
    ("$['☺']", ODD, [8]),
    (r"$['\ud83d\ude00']", ODD, [9]),
    ("$['1']", ODD, [10]),
    ("$.é", ODD, [11]),
    ("$.☺", ODD, [8]),
    ("$.😀", ODD, [9]),
    (r"$['a\u00a0b']", {"a\u00a0b": 1}, [1]),
    ("$['']", ODD, [12]),
    ("$['*']", ODD, [13]),
    ("$['$']", ODD, [14]),
    ("$.null", ODD, [15]),
    ("$.true", ODD, [16]),
    ("$.x-y", ODD, [17]),
    (r"$['\/']", ODD, [18]),
    (r"$['\b\f\r']", ODD, [19]),
    # filters: there, or not; of what type; null is a value
    ("$[?@.a]", ROWS, [*ROWS[:5], *ROWS[6:9]]),
    ("$[?(@.a)]", ROWS, [*ROWS[:5], *ROWS[6:9]]),
    ("$[?!@.a]", ROWS, [ROWS[5], *ROWS[9:]]),
    ("$[?@.a==1]", ROWS, ROWS[:2]),
    ("$[?@.a==1.0]", ROWS, ROWS[:2]),
    ("$[?1==@.a]", ROWS, ROWS[:2]),
    ("$[?@.a=='1']", ROWS, [ROWS[2]]),
    ('$[?@.a=="1"]', ROWS, [ROWS[2]]),
    ("$[?@.a==true]", ROWS, [ROWS[3]]),
    ("$[?@.a==null]", ROWS, [ROWS[4]]),
    ("$[?@.a!=null]", ROWS, [*ROWS[:4], *ROWS[5:]]),
    ("$[?@.a!=1]", ROWS, ROWS[2:]),
    ("$[?!(@.a==1)]", ROWS, ROWS[2:]),
    ("$[?@.a==@.b]", ROWS, [ROWS[6], ROWS[7], *ROWS[9:]]),
    ("$[?@.a!=@.b]", ROWS, [*ROWS[:6], ROWS[8]]),
    ("$[?@.a<'b']", ROWS, [ROWS[2]]),
    ("$[?@.a<=null]", ROWS, [ROWS[4]]),
    ("$[?@.a<true]", ROWS, []),
    ("$[?@.a>=true]", ROWS, [ROWS[3]]),
    ("$[?@.a<=@.b]", ROWS, [ROWS[6], ROWS[7], *ROWS[9:]]),
    ("$[?@.a>0]", ROWS, ROWS[:2]),
    ("$[?@==7]", ROWS, [7]),
    ("$[?@=='text']", ROWS, ["text"]),
    ("$[?@.a[0]==1]", ROWS, [ROWS[6]]),
    ("$[?@['a']['x']==1]", ROWS, [ROWS[7]]),
    ("$[?@.a.x]", ROWS, [ROWS[7]]),
    ("$[?@.*]", ROWS, ROWS[:9]),
    ("$[?@..x]", ROWS, [ROWS[7]]),
    ("$[?@.a[?@>0]]", ROWS, ROWS[6:8]),
    ("$[?@.a>=-1]", NUMBERS, NUMBERS),
    ("$[?@.a==0.1]", NUMBERS, [NUMBERS[4]]),
    ("$[?@.a==1e2]", NUMBERS, [NUMBERS[5]]),
    ("$[?@.a==1E-1]", NUMBERS, [NUMBERS[4]]),
    ("$[?@.a==-0]", NUMBERS, [NUMBERS[1]]),
    ("$[?@.a>1]", NUMBERS, [NUMBERS[3], NUMBERS[5]]),
    ("$[?@.a && @.b]", FLAGS, FLAGS[:1]),
    ("$[?@.a || @.b]", FLAGS, FLAGS[:3]),
    ("$[?@.a & @.b]", FLAGS, FLAGS[:1]),
    ("$[?@.a | @.b]", FLAGS, FLAGS[:3]),
    ("$[?@.a && @.b || @.c]", FLAGS, [FLAGS[0], FLAGS[4]]),
    ("$[?@.c || @.a && @.b]", FLAGS, [FLAGS[0], FLAGS[4]]),
    ("$[?@.a && (@.b || @.c)]", FLAGS, FLAGS[:1]),
    ("$[?!@.a && !@.b]", FLAGS, FLAGS[3:]),
    ("$[?!(@.a || @.b)]", FLAGS, FLAGS[3:]),
    ("$[?(@.a == 1) & (@.b == 1)]", FLAGS, FLAGS[:1]),
    ("$[?@.a]", {"x": {"a": 1}, "y": {"b": 1}}, [{"a": 1}]),
    ("$[?@>1]", {"x": 1, "y": 2}, [2]),
    ("$[?@.a == ']']", [{"a": "]"}], [{"a": "]"}]),
    (r"$[?@.a == '\u263a\n']", [{"a": "☺\n"}], [{"a": "☺\n"}]),
]


@pytest.mark.parametrize(("path", "document", "values"), LEADS, ids=[path for path, _, _ in LEADS])
def test_where_a_path_leads(path: str, document: Json, values: list[Json]) -> None:
    assert repr([value for _, value in find(parse(path), document)]) == repr(values)


REFUSED: list[tuple[str, str]] = [
    ("$[0:2:0]", "step of 0"),
    ("$[9007199254740992]", "out of range"),
    ("$[-9007199254740992]", "out of range"),
    ("$[0:" + "9" * 400 + "]", "out of range"),
    ("$[?@.a==1e999999999]", "out of range"),
    ("$[01]", "missing"),
    ("$[-0]", "brackets take"),
    ("$[1.0]", "missing"),
    ("$[a]", "brackets take"),
    ("$[]", "brackets take"),
    ("$[0,]", "brackets take"),
    ("$['a'", "missing"),
    ("$['a]", "not closed"),
    (r"$['\x']", "wrong escape"),
    (r"$['\u12']", "wrong escape"),
    (r"$['\ud800']", "surrogate"),
    # between single quotes a double quote needs no escape; it used to be read as an exclamation mark
    (r"$['\"']", "wrong escape"),
    (r"$[?(@.say != 'a \"word\"')]", "wrong escape"),
    (r"$['\!']", "wrong escape"),
    # a name that looks like another one
    ("$.a\u00a0", "an invisible character"),
    ("$[?(@.role\u00a0!= 'admin')]", "an invisible character"),
    ("$.a\u200bb", "an invisible character"),
    ("$.\ud800", "name is missing"),
    ("$['a\nb']", "control character"),
    (r'$["\'"]', "wrong escape"),
    ("$.'a'", "in brackets"),
    ("$.1", "name is missing"),
    ("$.", "name is missing"),
    ("$ a", "what follows"),
    ("$.a | $.b", "what follows"),
    ("$.a + $.b", "what follows"),
    ("$.a where b", "what follows"),
    ("$.`this`", "cannot contain functions"),
    ("$.a.`sorted`", "cannot contain functions"),
    (r"$.a[\b]", "cannot sort"),
    ("$.a[/b]", "cannot sort"),
    ("$[(@.length-1)]", "cannot calculate"),
    ("$[?@.a = 1]", "single ="),
    ("$[?@.a == b]", "'b' without quotes"),
    ("$[?@.a == admin]", "'admin' without quotes"),
    ("$[?@.a == True]", "'True' without quotes"),
    ("$[?@.a =~ 'x']", "regular expression"),
    ("$[?@.a+1 == 2]", "cannot calculate"),
    ("$[?length(@.a) == 2]", "cannot contain functions"),
    ("$[?match(@.a, 'x')]", "cannot contain functions"),
    ("$[?@.a == $.b]", "whole document"),
    ("$[?@.* == 1]", "several values"),
    ("$[?@..a == 1]", "several values"),
    ("$[?@[0:1] == 1]", "several values"),
    ("$[?1]", "compared with nothing"),
    ("$[?true]", "compared with nothing"),
    ("$[?@.a == ]", "needs @"),
    ("$[?@.a &&]", "needs @"),
    ("$[?@.a == 01]", "needs @"),
    ("$[?@.a == 1.]", "needs @"),
    ("$[?@.a == [1]]", "needs @"),
    ("$[?!1]", "`!` must be followed by"),
    ("$[?(@.a]", "missing"),
    ("$[?" + "(" * 300 + "@.a" + ")" * 300 + "]", "nested too deeply"),
    ("$" + "[?@" * 100 + "]" * 100, "nested too deeply"),
]


@pytest.mark.parametrize(("path", "why"), REFUSED, ids=[path[:40] for path, _ in REFUSED])
def test_what_is_refused(path: str, why: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(path)
    (problem,) = caught.value.problems
    assert problem.code == "BK201"
    assert why in problem.message


PIECES = [
    "$",
    ".a",
    "..",
    "[",
    "]",
    "?",
    "@",
    ".b",
    "==",
    "!=",
    "<",
    "'x'",
    '"',
    "1",
    "0",
    "-1",
    ":",
    ",",
    "*",
]
PIECES += [
    "(",
    ")",
    "!",
    "&&",
    "||",
    "&",
    " ",
    "null",
    "true",
    "\\",
    "'",
    "e9",
    ".5",
    "`len`",
    "=~",
    "\ud800",
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from([ROWS, ODD, ABC, FLAGS, 1])
)
@settings(max_examples=3_000)
def test_whatever_can_be_read_can_be_followed(text: str, document: Json) -> None:
    with suppress(InvalidInput):
        assert len(find(parse("$" + text), document)) < 1_000
