"""What each placeholder of the catalogue accepts and refuses, alone and inside a text."""

from decimal import Decimal

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.placeholders.table import TABLE, PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.secrets.variables import Scope
from baselinekit.values.equality import same_json

NOW = 1_705_314_600.0  # 2024-01-15T10:30:00Z
WORDS = PlaceholderContext(
    own={"order_no": r"^ORD-\d{8}$", "shout": "[A-Z]+!"},
    scope=Scope({"base_url": "http://127.0.0.1:8080", "n": 7, "on": True, "ids": [1, True]}),
    now=NOW,
)
UUID = "0190163d-8694-739b-aea5-966c26f8ad91"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"

ALONE: list[tuple[str, list[Json], list[Json]]] = [
    ("any", [None, 0, "", [], {}, True, "x\ny"], []),
    ("any_string", ["", "x", "12"], [12, None, True, ["x"], {}]),
    ("any_string(2)", ["ab", "abc"], ["a", ""]),
    ("any_string(2, 3)", ["ab", "abc"], ["a", "abcd"]),
    ("any_string(null, 3)", ["", "abc"], ["abcd"]),
    ("any_nonempty_string", ["x", " "], ["", None]),
    ("any_nonempty_string(0, 3)", ["x"], ["", "xxxx"]),
    ("any_number", [0, -1.5, Decimal("1e400"), 10**400], ["1", True, None, float("nan"), float("inf")]),
    ("any_number(0, 100)", [0, 100, 50.5], [-0.001, 100.001, "50"]),
    ("any_number(null, 5)", [-(10**30), 5], [6]),
    ("any_number(0.1)", [0.1, Decimal("0.1")], [0.09999]),
    ("any_integer", [0, -7, 10**40], [1.0, True, "1", Decimal("1.5")]),
    ("any_integer(1, 5)", [1, 5], [0, 6, 3.0]),
    ("any_float", [1.0, -0.5, Decimal("1e400")], [1, True, "1.0"]),
    ("any_boolean", [True, False], [0, 1, "true", None]),
    ("any_null", [None], [0, False, "", "null"]),
    ("any_object", [{}, {"a": 1}], [[], None, "{}"]),
    ("any_array", [[], [1, "x"]], [{}, "[]", None]),
    ("any_array(any_integer)", [[], [1, 2]], [[1, "x"], [True]]),
    ("any_array(any_uuid, 1, 2)", [[UUID], [UUID, UUID]], [[], [UUID] * 3, ["x"]]),
    ("any_array(null, 1)", [[None]], [[]]),
    ("any_uuid", [UUID, UUID.upper(), "0" * 8 + UUID[8:]], [UUID[:-1], UUID + "0", f"{{{UUID}}}", 5]),
    ("any_uuid(7)", [UUID], [UUID.replace("-7", "-4")]),
    ("any_email", ["a.b+c@example.co.uk", "x@y.z"], ["nobody", "a@b", "@x.com", "a b@x.com", "a@x..com"]),
    (
        "any_url",
        ["http://localhost:8080/x?y#z", "https://u:p@a.b.c", "ws://[::1]:9/", "https://example.com"],
        ["example.com", "/x", "http://", "http://a b", "mailto:a@b.c", "javascript:alert(1)"],
    ),
    ("any_hostname", ["localhost", "a.b-c.example"], ["-a", "a_b", "a..b", ""]),
    ("any_ip", ["127.0.0.1", "::1", "2001:db8::1"], ["256.1.1.1", "1.2.3", "localhost", "1:2"]),
    ("any_ip(4)", ["10.0.0.1"], ["::1"]),
    ("any_ip(6)", ["::1"], ["10.0.0.1"]),
    (
        "any_iso_datetime",
        ["2024-01-15T10:30:00Z", "2024-01-15 10:30", "2024-01-15t10:30:00.123456789+0530"],
        ["2024-01-15", "2024-02-30T10:30:00Z", "2024-01-15T25:00:00Z", "9999-12-31T23:59:60Z", 1, "now"],
    ),
    (
        "any_iso_datetime(5m)",
        ["2024-01-15T10:30:00Z", "2024-01-15T10:35:00", "2024-01-15T11:30:00+01:00"],
        ["2024-01-15T10:35:01Z", "2024-01-15T10:30:00+01:00"],
    ),
    ("any_iso_date", ["2024-02-29"], ["2023-02-29", "2024-1-5", "20240115", "2024-01-15T00:00:00Z"]),
    ("any_time", ["10:30", "10:30:00.5", "10:30+02:00"], ["24:00", "9:30", "10:60"]),
    (
        "any_unix_timestamp",
        [1_705_314_600, 1_705_314_600.5, 1_705_314_600_000, 1_705_314_600_000_000_000],
        [0, 999_999_999, "1705314600", True, 10**400, 10**11, Decimal("1e400")],
    ),
    ("any_unix_timestamp(1h)", [NOW + 3600, (NOW - 3600) * 1000], [NOW + 3601]),
    (
        "any_duration",
        ["PT5M", "P1DT2H", "P2W", "P1Y2M3D", "1h30m", "250ms", "1.5s"],
        ["P", "PT", "5", "1h 30m", 5, "P1DT"],
    ),
    (
        "any_datetime",
        ["Mon, 15 Jan 2024 10:30:00 GMT", "2024-01-15T10:30:00Z", "1705314600"],
        ["now", 1705314600],
    ),
    ("any_datetime(http)", ["Mon, 15 Jan 2024 10:30:00 GMT"], ["2024-01-15T10:30:00Z"]),
    ("any_date", ["Jan 15, 2024", "15.01.2024", "2024-01-15"], ["Feb 30, 2024", "15.01."]),
    ("any_date(us)", ["1/15/2024"], ["15/1/2024"]),
    ("any_timespan", ["1 day, 2:03:04.5", "26:03:04", "3 days", "1h 30m"], ["soon", "2:03", 5]),
    ("any_size", ["12 kB", "1.5 GiB", "512 bytes"], ["big", "7", 12]),
    ("any_digits", ["0", "007", "17" * 20], ["", "-1", "1.5", 7]),
    ("any_numeric", ["0", "-1.5", "2.5e-05", "1e+06"], ["", "1.5 s", "NaN", 1.5]),
    ("any_token", ["V1StGXR8_Z5jdHi6B-myT", "YQ=="], ["", "two words", "a,b", 5]),
    ("any_token(10)", ["V1StGXR8_Z5jdHi6B-myT"], ["V1StGXR8_"]),
    ("any_hex", ["00ff", "DEADBEEF"], ["", "0x1f", "xyz", 10]),
    ("any_hex(4)", ["00ff"], ["00f", "00ff0"]),
    ("any_base64", ["aGVsbG8=", "aGVsbG8", "YQ==", "-_8"], ["a", "a b", "====", "YQ===", ""]),
    ("any_jwt", [JWT], ["a.b.c", "eyJ.eyJ", JWT.split(".")[0]]),
    ("any_semver", ["1.2.3", "v1.0.0-rc.1+build.5", "0.0.0"], ["1.2", "01.2.3", "1.2.3.4", "1.2.3-"]),
    (
        "any_ulid",
        ["01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        ["81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3", "01ARZ3NDEKTSV4RRFFQ69G5FAU"],
    ),
    (
        "one_of(active, 'on hold', 3, 1.50, true, null)",
        ["active", "on hold", 3, 3.0, 1.5, True, None],
        ["", 1, "3"],
    ),
    ("one_of(1)", [1, 1.0], [True, "1"]),
    ("one_of(0, false)", [0, False, 0.0], [None, ""]),
    ("one_of(nan, Infinity, 007, 1_000)", ["nan", "Infinity", "007", "1_000"], [7, 1000, float("nan")]),
    ("one_of('it''s', \"a\\u0041\\\"\")", ["it's", 'aA"'], ["its"]),
    ("regex('^ORD-\\d{8}$')", ["ORD-12345678"], ["xORD-12345678", "ORD-1234567", "ORD-12345678\n", 12]),
    ("regex('a|bc')", ["a", "bc"], ["ab", "abc", "ac"]),
    ("regex('(.)\\1')", ["aa"], ["ab"]),
    ("contains('x, (y)')", ["a x, (y) b"], ["a", None]),
    ("contains(5)", ["a5"], [5, "a"]),
    ("starts_with(ab)", ["ab", "abc"], ["xab"]),
    ("ends_with('b''c')", ["ab'c"], ["b'cd"]),
    ("number(9.99 ± 0.05)", [9.94, 10.04, 9.99], [9.93, 10.05, "9.99", True, float("nan")]),
    ("number(10 +/- 1)", [9, 11.0], [8.999]),
    ("number(-1 +- 0.5)", [-1.5, -0.5], [-1.6, 1]),
    ("number(0.3 ± 0.1)", [0.2, 0.4], [0.19999999999999998]),
    ("number(5)", [5, 5.0], [5.1]),
    (
        "number(10000000000000000000000000000000000000000 ± 1)",
        [10**40 + 1, 10**40 - 1],
        [10**40 + 2, Decimal("1e999999999")],
    ),
    ("length(3)", ["abc", [1, 2, 3], {"a": 1, "b": 2, "c": 3}], ["ab", [], 123, None]),
    ("length(1, 2)", ["a", [1, 2]], ["", [1, 2, 3]]),
    ("length(2, null)", ["ab", "abcd"], ["a"]),
    ("var(base_url)", ["http://127.0.0.1:8080"], ["http://127.0.0.1:8081", None]),
    ("var(n)", [7, 7.0], ["7", 8]),
    ("var(on)", [True], [1, "true"]),
    ("var(ids)", [[1, True], [1.0, True]], [[1, 1], [True, True], [1]]),
    ("order_no", ["ORD-12345678"], ["ORD-1", 5]),
    ("any_array(order_no)", [["ORD-12345678"]], [["ORD-1"]]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "accepted", "refused"), ALONE, ids=[row[0] for row in ALONE])
def test_alone(name: str, accepted: list[Json], refused: list[Json]) -> None:
    placeholder = compile_text(f"<<{name}>>", WORDS)
    assert not isinstance(placeholder, str)
    assert [value for value in accepted if not placeholder.accepts(value, {})] == []
    assert [value for value in refused if placeholder.accepts(value, {})] == []


def test_every_placeholder_is_in_the_table_above() -> None:
    assert set(TABLE) <= {row[0].split("(")[0] for row in ALONE}


INSIDE: list[tuple[str, list[str], list[Json]]] = [
    ("/users/<<any_uuid>>/posts", [f"/users/{UUID}/posts"], ["/users/5/posts", f"/users/{UUID}", 5]),
    (
        "id=<<any_integer>>",
        ["id=5", "id=-5", "id=" + "9" * 900],
        ["id=" + "9" * 5000, "id=x", "id=5.5", "id="],
    ),
    ("v<<any_float>>", ["v1.5"], ["v1", "v"]),
    ("<<any_number(1, 5)>> of <<any_number>>", ["5 of 10.5"], ["6 of 10", "5 of"]),
    ("ok: <<any_boolean>>", ["ok: true", "ok: false"], ["ok: True", "ok: 1"]),
    ("is <<any_null>>", ["is null"], ["is ", "is 0"]),
    ("a<<any>>z", ["az", "abcz", "a\nz"], ["a", "bz"]),
    ("<<any_string(2,3)>>!", ["ab!", "abc!"], ["a!", "abcd!"]),
    ("[<<any_iso_datetime(5m)>>]", ["[2024-01-15T10:31:00Z]"], ["[2024-01-15T10:41:00Z]"]),
    ("at <<any_unix_timestamp>>.", ["at 1705314600."], ["at 5."]),
    ("<<one_of(a, ab, 1.50, null)>>c", ["ac", "abc", "1.50c", "nullc"], ["bc", "1.5c"]),
    ("<<regex('^[a-z]+$')>>-<<regex('\\d+')>>", ["abc-12"], ["abc-", "ABC-12"]),
    ("<<shout>> <<shout>>", ["HEY! YOU!"], ["hey! YOU!"]),
    ("x<<contains(b)>>y", ["xabcy", "xby"], ["xacy"]),
    ("x<<starts_with(b)>>y", ["xbcy"], ["xcy"]),
    ("x<<ends_with(b)>>y", ["xcby"], ["xbcy"]),
    ("<<length(3)>>.", ["abc."], ["ab."]),
    ("~<<number(5 ± 1)>>~", ["~5.5~"], ["~7~"]),
    ("<<var(base_url)>>/x", ["http://127.0.0.1:8080/x"], ["http://127.0.0.1:80/x"]),
    ("n=<<var(n)>>", ["n=7"], ["n=8"]),
    ("sha <<any_hex(4)>>", ["sha 00ff"], ["sha 00f"]),
    ("by <<any_email>>, <<any_url>>", ["by a@b.cd, http://x/y"], ["by a@b.cd, x"]),
    ("x<<any_uuid?>>y", ["xy", f"x{UUID}y"], ["xzy"]),
    ("x<<any_integer|null>>y", ["xnully", "x5y"], ["xy", "xNoney"]),
    ("<<any_semver>> <<any_jwt>> <<any_base64>>", [f"1.2.3 {JWT} YQ=="], ["1.2 x y"]),
    ("a.b <<any_integer>> (c)*", ["a.b 5 (c)*"], ["axb 5 (c)*"]),
    ("{{any_integer}} and \\<<any>>", ["5 and <<any>>"], ["5 and x"]),
]


@pytest.mark.parametrize(("text", "accepted", "refused"), INSIDE, ids=[row[0] for row in INSIDE])
def test_inside_a_text(text: str, accepted: list[str], refused: list[Json]) -> None:
    template = compile_text(text, WORDS)
    assert not isinstance(template, str)
    assert [value for value in accepted if not template.accepts(value, {})] == []
    assert [value for value in refused if template.accepts(value, {})] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<<any_uid>>", "BK212"),
        ("{{any_uid}}", "BK212"),
        ("x <<nothing_like_it>>", "BK212"),
        ("<<any_array(any_uid)>>", "BK212"),
        ("<<any(1)>>", "BK213"),
        ("<<any_null(1)>>", "BK213"),
        ("<<any_duration(1)>>", "BK213"),
        ("<<any_string(x)>>", "BK213"),
        ("<<any_string(-1)>>", "BK213"),
        ("<<any_string(1.5)>>", "BK213"),
        ("<<any_string(true)>>", "BK213"),
        ("<<any_string(5, 2)>>", "BK213"),
        ("<<any_string(1, 2, 3)>>", "BK213"),
        ("<<any_string(0, 99999999999)>>!", "BK213"),
        ("<<any_number(x)>>", "BK213"),
        ("<<any_number(2, 1)>>", "BK213"),
        ("<<any_array(1)>>", "BK213"),
        ("<<any_array(any, 3, 1)>>", "BK213"),
        ("<<any_uuid(9)>>", "BK213"),
        ("<<any_uuid(x)>>", "BK213"),
        ("<<any_ip(5)>>", "BK213"),
        ("<<any_hex(0)>>", "BK213"),
        ("<<any_iso_datetime(soon)>>", "BK213"),
        ("<<any_iso_datetime(nans)>>", "BK213"),
        ("<<any_iso_datetime(-5)>>", "BK213"),
        ("<<any_unix_timestamp(5 parsecs)>>", "BK213"),
        ("<<one_of()>>", "BK213"),
        ("<<regex()>>", "BK213"),
        ("<<regex(null)>>", "BK213"),
        ("<<contains>>", "BK213"),
        ("<<contains(a, b)>>", "BK213"),
        ("<<number(x)>>", "BK213"),
        ("<<number(nan)>>", "BK213"),
        ("<<number(5 ± -1)>>", "BK213"),
        ("<<number(5, 1)>>", "BK213"),
        ("<<length>>", "BK213"),
        ("<<length(x)>>", "BK213"),
        ("<<length(3, 1)>>", "BK213"),
        ("<<var>>", "BK213"),
        ("<<var(1)>>", "BK213"),
        ("<<order_no(1)>>", "BK213"),
        ("<<regex('(')>>", "BK214"),
        ("<<regex('[')>>", "BK214"),
        ("<<broken>>", "BK214"),
        ("x <<any_object>>", "BK216"),
        ("x <<any_array>>", "BK216"),
        ("<<any_email>>", "BK217"),
        ("<<var(nowhere)>>", "BK501"),
    ],
)
def test_what_cannot_be_one_says_why(text: str, code: str) -> None:
    own = {"broken": "*"} | ({"any_email": ".*"} if code == "BK217" else WORDS.own)
    with pytest.raises(InvalidInput) as caught:
        compile_text(text, PlaceholderContext(own, WORDS.scope))
    (problem,) = caught.value.problems
    assert problem.code == code
    assert problem.hint or code == "BK214"


def test_the_nearest_name_is_suggested() -> None:
    for written, near in [("any_uid", "any_uuid"), ("order_nr", "order_no"), ("any_emal", "any_email")]:
        with pytest.raises(InvalidInput, match=f"did you mean '{near}'"):
            compile_text(f"<<{written}>>", WORDS)
    with pytest.raises(InvalidInput, match=r"write \\<<"):
        compile_text("<<qqq>>", WORDS)


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (None, False, False),
        ([1], [True], False),
        ({"a": [1, {"b": 0}]}, {"a": [1.0, {"b": 0.0}]}, True),
        ({"a": [1, {"b": 0}]}, {"a": [1, {"b": False}]}, False),
        ({"a": 1}, {"b": 1}, False),
        ([1, 2], [1], False),
        ([], {}, False),
        (0.1, Decimal("0.1"), True),
        (2**53, 2**53 + 1, False),
        (float(2**53), 2**53 + 1, False),
        ("1", 1, False),
        ("a", "a", True),
    ],
)
def test_same(left: Json, right: Json, equal: bool) -> None:
    assert same_json(left, right) is equal
    assert same_json(right, left) is equal
