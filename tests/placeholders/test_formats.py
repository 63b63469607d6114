"""Each placeholder against known values: the formats against cases of the standards that define them, and
every row of the catalogue alone and inside a text."""

import base64
import json
from decimal import Decimal

import pytest

from baselinekit.errors import InvalidInput
from baselinekit.model.values import Json
from baselinekit.placeholders.table import TABLE, PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.secrets.variables import Scope

LOCAL, LABEL = "a" * 64, "b" * 63
"""As long as a mailbox and a label of a host may be."""


def encoded(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def token(header: Json, payload: Json, signature: str = "c2ln") -> str:
    return f"{encoded(header)}.{encoded(payload)}.{signature}"


HS256 = f"{encoded({'alg': 'HS256'})}.{encoded({})}"
JWE = f"{encoded({'alg': 'dir', 'enc': 'A128GCM'})}..48V1_ALb6US04U3b.5eym8TW.XFBoMYUZodetZdvT"
RFC_7519 = """
eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt
cGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk""".replace("\n", "")


def formats(text: str) -> dict[str, tuple[list[str], list[str]]]:
    """What each accepts (+) and refuses (-), and what has blanks in it or is made."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("any_"):
            name = line
            found[name] = tuple(map(list, BESIDE.get(name, ([], []))))
        elif line[2:3] in ("+", "-"):
            found[name][line[2] == "-"].extend(line[3:].split())
    return found


BESIDE: dict[str, tuple[list[str], list[str]]] = {
    "any_email": (
        [f"{LOCAL}@example.com", f"a@{LABEL}.{LABEL}.com"],
        ["a b@example.com", "a@exam ple.com", 'a"b(c)d,e:f;g<h>i[j\\k]l@example.com', " a@example.com",
         f"{LOCAL}a@example.com", f"a@{LABEL}b.com", f"a@{LABEL}.{LABEL}.{LABEL}.{LABEL}.com"],
    ),
    "any_iso_datetime": (["2024-01-15 10:30:00", "2024-01-15 10:30:00+00"], ["2024-01-15T10:30:00 Z"]),
    "any_time": ([], ["10:30 Z"]),
    "any_hostname": (
        [LABEL, ".".join([LABEL] * 3), ".".join("a" * 126)], ["", "a b", LABEL + "b", ".".join([LABEL] * 4)]
    ),
    "any_url": ([], ["http://a b", "http://a/b c", 'http://a/"b"', "http://a/b\\c", "http://a/\u200bb\u0000"]),
    "any_ulid": (["0" * 26], ["01ARZ3NDEKTSV4RRFFQ69G5FA" + sign for sign in "ILOUiu-"]),
    "any_duration": ([], ["1h 30m"]),
    "any_hex": ([], ["", "f f"]),
    "any_base64": ([], ["", "Zm 9v"]),
    "any_jwt": (
        [token({"typ": "JWT", "alg": "HS256"}, {"iss": "joe"}), token({"alg": "none"}, {"iss": "joe"}, ""),
         RFC_7519],
        [token({"typ": "JWT"}, {}), token({"alg": 5}, {}), token({"alg": "HS256"}, {}, ""), token([], {}),
         token({"alg": "none"}, {}), token({"alg": "HS256"}, [1]), token({"alg": "HS256"}, "text"),
         HS256, f"{HS256}.a", f"{HS256}.c2ln=", f"{HS256}.c2l+", f"{HS256}.c2ln.c2ln",
         f"{encoded({'alg': 'dir'})}..aaaa.aaaa.aaaa", JWE,
         token({"alg": "HS256", "cty": "JWT"}, "eyJ.eyJ.x")],
    ),
}  # fmt: skip
FORMATS = formats("""
# RFC 5321 and 5322: a dot-atom of at most 64 octets, a host of at least two labels, 254 in all
any_email
  + simple@example.com very.common@example.com disposable.style.email.with+symbol@example.com
  + other.email-with-hyphen@example.com x@example.com user%example.com@example.org
  + mailhost!username@example.org user-@example.org !#$%&'*+/=?^_`{|}~-@example.org 1234567890@example.com
  + a@b-c.example a@xn--bcher-kva.example a@1.2.3.4.5.6.7.8.9.10.11.example
  - Abc.example.com A@b@c@example.com .a@example.com a.@example.com a..b@example.com .@example.com
  - @example.com a@ a@example a@.example.com a@example..com a@example.com. a@-example.com a@example-.com
  - a@exam_ple.com jörg@example.com
# RFC 9562: without a version any text of the form; nil and max have none
any_uuid
  + 00000000-0000-0000-0000-000000000000 FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF
  + C232AB00-9414-11EC-B3C8-9F6BDECED846 11111111-1111-1111-1111-111111111111
  - c232ab00941411ecb3c89f6bdeced846 {c232ab00-9414-11ec-b3c8-9f6bdeced846}
  - urn:uuid:c232ab00-9414-11ec-b3c8-9f6bdeced846 c232ab00-9414-11ec-b3c8-9f6bdeced84
  - c232ab00-9414-11ec-b3c8-9f6bdeced8466 c232ab00-9414-11ec-b3c8-9f6bdeced84g
any_uuid(1)
  + C232AB00-9414-11EC-B3C8-9F6BDECED846
  - C232AB00-9414-41EC-B3C8-9F6BDECED846 C232AB00-9414-11EC-33C8-9F6BDECED846
any_uuid(3)
  + 5df41881-3aed-3515-88a7-2f4a814cf09e
  - 5df41881-3aed-3515-c8a7-2f4a814cf09e
any_uuid(4)
  + 919108f7-52d1-4320-9bac-f847db4148a8 919108F7-52D1-4320-ABAC-F847DB4148A8
  - 919108f7-52d1-4320-1bac-f847db4148a8 919108f7-52d1-4320-7bac-f847db4148a8
  - 919108f7-52d1-4320-cbac-f847db4148a8 919108f7-52d1-5320-9bac-f847db4148a8
  - 00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff
any_uuid(5)
  + 2ed6657d-e927-568b-95e1-2665a8aea6a2
  - 2ed6657d-e927-468b-95e1-2665a8aea6a2
any_uuid(6)
  + 1EC9414C-232A-6B00-B3C8-9F6BDECED846
  - 1EC9414C-232A-1B00-B3C8-9F6BDECED846
any_uuid(7)
  + 017F22E2-79B0-7CC3-98C4-DC0C0C07398F
  - 017F22E2-79B0-7CC3-08C4-DC0C0C07398F
any_uuid(8)
  + 2489E9AD-2EE2-8E00-8EC9-32D5F69181C0
  - 2489E9AD-2EE2-9E00-8EC9-32D5F69181C0
# RFC 3339, and of ISO 8601 a blank for the T, no zone, no seconds, a comma, +hh and +hhmm
any_iso_datetime
  + 1985-04-12T23:20:50.52Z 1996-12-19T16:39:57-08:00 1937-01-01T12:00:27.87+00:20 2024-01-15t10:30:00z
  + 2024-01-15T10:30 2024-01-15T10:30:00,5Z 2024-01-15T10:30:00+0530 2024-01-15T10:30:00-00:00
  + 2024-01-15T10:30:00.123456789Z 2024-02-29T00:00:00Z 2000-02-29T00:00:00Z 0001-01-01T00:00:00Z
  - 1990-12-31T23:59:60Z 2024-01-15T24:00:00Z 2024-01-15T10:60:00Z 2024-13-15T10:30:00Z 2024-00-15T10:30:00Z
  - 2024-01-32T10:30:00Z 2023-02-29T00:00:00Z 1900-02-29T00:00:00Z 2024-04-31T00:00:00Z
  - 2024-01-15T10:30:00.Z 2024-01-15T10:30:00.1234567890Z 2024-01-15T10:30:00+24:00
  - 2024-01-15T10:30:00+05:60 2024-01-15_10:30:00Z 2024-1-15T10:30:00Z 24-01-15T10:30:00Z 20240115T103000Z
  - 2024-01-15 ٢٠٢٤-01-15T10:30:00Z
any_iso_date
  + 2024-02-29 2000-02-29 1999-12-31 0001-01-01
  - 2023-02-29 1900-02-29 2024-13-01 2024-00-10 2024-04-31 2024-1-05 20240105 2024-W01-1 2024-001 0000-01-01
  - 2024-01-0٥
any_time
  + 00:00 23:59:59 10:30:00.5 10:30:00,123456789 10:30Z 10:30:00+05:30 10:30-08
  - 24:00 9:30 10:60 10:30:60 10:30:00. 10:30:00.1234567890 103000 1٠:30
# RFC 4291 and RFC 5952 for version 6, four decimal octets without leading zeros for version 4
any_ip
  + 0.0.0.0 255.255.255.255 192.0.2.1 :: ::1 2001:db8::8:800:200c:417a 2001:DB8:0:0:8:800:200C:417A
  + ::ffff:129.144.52.38 ff02::1 1:2:3:4:5:6:7::
  - 256.0.0.1 1.2.3 1.2.3.4.5 01.2.3.4 1.2.3.04 0x7f.0.0.1 2130706433 1.2.3.4/24 ::: 1::2::3 12345::
  - 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 ::g [::1] fe80::1%eth0 1.2.3.٤
any_ip(4)
  + 192.0.2.1
  - ::ffff:192.0.2.1 ::1
any_ip(6)
  + ::ffff:192.0.2.1 ::1
  - 192.0.2.1
# RFC 1123
any_hostname
  + localhost example.com a.b-c.example 3com.com xn--bcher-kva.example A.EXAMPLE 1.2.3.4.example
  - -a.example a-.example a_b.example a..b .a a. 192.0.2.1 123 a.1 bücher.example
# RFC 3986, unescaped letters of other scripts as in RFC 3987, and [ ] in a query
any_url
  + http://example.com HTTPS://EXAMPLE.COM/ ftp://ftp.is.co.za/rfc/rfc1808.txt
  + http://www.ietf.org/rfc/rfc2396.txt http://a/b/c/d;p?q http://a/b/../c
  + http://user:pass@host.example:8042/over/there?name=ferret#nose http://[2001:db8::7]/c=GB?objectClass
  + http://[::ffff:192.0.2.1]:80 http://192.0.2.16:80/ http://my_service:8080/health http://example.com./
  + http://example.com:/ http://a/%7Efoo?a=%20b http://a?b/c?d#e/f?g http://a/?filter[name]=x
  + http://de.example/Köln http://bücher.example/ wss://a.example/socket http://a/(b),'c'!*;$&+=@:~
  - http:// http:///path //example.com example.com http:/example.com http://a/<b> http://a/{id} http://a/b|c
  - http://a/`b` http://a/^ http://a/%zz http://a/%2 http://a#b#c http://a:99999/ http://a:80b/
  - http://256.1.1.1/ http://1.2.3/ http://[::1 http://[1.2.3.4]/ http://[:::1]/ http://a..b/ http://-a/
  - http://u@v@a/ mailto:a@example.com javascript:alert(1)
# the list of semver.org, and a leading v as tags have it
any_semver
  + 0.0.4 1.2.3 10.20.30 1.1.2-prerelease+meta 1.1.2+meta 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha0.valid
  + 1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay 1.0.0-rc.1+build.1 2.0.0-rc.1+build.123
  + 1.2.3-beta 10.2.3-DEV-SNAPSHOT 1.2.3-SNAPSHOT-123 2.0.1-alpha.1227 1.2.3----RC-SNAPSHOT.12.9.1--.12+788
  + 1.2.3----R-S.12.9.1--.12+meta 1.0.0+0.build.1-rc.10000
  + 99999999999999999999999.999999999999999999.99999999999999999 1.0.0-0A.is.legal v1.2.3
  - 1 1.2 1.2.3-0123 1.2.3-0123.0123 1.1.2+.123 +invalid -invalid alpha.beta.1 1.0.0-alpha_beta
  - 1.0.0-alpha.. 1.0.0-alpha..1 1.0.0- 1.0.0+ 01.1.1 1.01.1 1.1.01 1.2.3.DEV 1.2-SNAPSHOT
  - 1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788 -1.0.3-gamma+b7718 +justmeta 9.8.7+meta+meta
  - 9.8.7-whatever+meta+meta V1.2.3 1.2.3-00 1.2.3-a.01 1.2.٣
# the ULID specification: Crockford's base32, 26 digits, at most 7ZZZ...
any_ulid
  + 01ARZ3NDEKTSV4RRFFQ69G5FAV 01arz3ndektsv4rrffq69g5fav 7ZZZZZZZZZZZZZZZZZZZZZZZZZ
  - 8ZZZZZZZZZZZZZZZZZZZZZZZZZ 01ARZ3NDEKTSV4RRFFQ69G5FA 01ARZ3NDEKTSV4RRFFQ69G5FAVV
# ISO 8601, a fraction in the smallest unit alone; and the short form of Go and of many configurations
any_duration
  + P1Y P1M P1D PT1H PT1M PT1S P3Y6M4DT12H30M5S P2W PT36H P1DT12H PT0S PT0.5S PT1,5S P0.5Y PT1H0.5M P1.5W
  + 1h30m 250ms 1.5s 7d 3µs 1m0.5s
  - P PT P1DT 1Y P1 PT1 P1H PT1D P1M1Y PT1S1M P1W1D P0.5Y1M PT0.5H30M P0.5DT1H PT.5S PT1.S P-1D p1d 1.h h 5
  - P١D
any_hex
  + 0 00ff DEADbeef
  - 0x1f fg -1
any_hex(8)
  + deadbeef
  - deadbee deadbeef0
# RFC 4648, sections 4, 5 and 10: either alphabet, all of the padding or none
any_base64
  + Zg== Zm8= Zm9v Zm9vYg== Zm9vYmE= Zm9vYmFy Zg Zm8 +/+/ -_-_
  - Z Zg= Zm8== Zm9v= Zm9v==== ==== Zm9v! +-+- Zm9vY =Zg=
# RFC 7519, sections 3.1 and 6.1; RFC 7516 for five parts
any_jwt
  - a.b.c
""")


def template_of(text: str, words: PlaceholderContext | None = None) -> Placeholder | Inline:
    template = compile_text(text, words or PlaceholderContext())
    assert isinstance(template, Placeholder | Inline)
    return template


@pytest.mark.parametrize("name", FORMATS)
def test_format_accepts_and_refuses_cases_of_its_standard(name: str) -> None:
    """Measured: no error among these cases."""
    accepted, refused = FORMATS[name]
    alone, inside = template_of(f"<<{name}>>"), template_of(f"[<<{name}>>]")
    refused = [*refused, *(f"{text}\n" for text in accepted)]
    assert [text for text in accepted if not alone.accepts(text, {})] == []
    assert [text for text in refused if alone.accepts(text, {})] == []
    assert [text for text in accepted if not inside.accepts(f"[{text}]", {})] == []
    assert [text for text in refused if inside.accepts(f"[{text}]", {})] == []


def test_any_unix_timestamp_accepts_every_unit() -> None:
    template = template_of("<<any_unix_timestamp>>")
    accepted: list[Json] = [10**9, 10**10 - 1, 10**12, 10**13 - 1, 10**15, 10**18, 10**19 - 1]
    refused: list[Json] = [10**9 - 1, 10**10, 10**12 - 1, 10**13, 10**19, -(10**9), "1705314600", True]
    assert [value for value in accepted + refused if template.accepts(value, {})] == accepted


LINES: list[tuple[str, dict[str, str], str, bool]] = [
    ("<<regex('OK .*')>>", {}, "OK fine", True),
    ("<<regex('OK .*')>>", {}, "OK fine\nERROR", False),
    ("<<regex('OK .*')>>", {}, "OK fine\n", False),
    ("<<regex('^OK .*$')>>", {}, "OK fine\n", False),
    ("<<regex('(?s)OK .*')>>", {}, "OK fine\nfurther", True),
    ("<<regex('(?s:OK .*)')>>", {}, "OK fine\nfurther", True),
    ("<<regex('(?m)OK$')>>", {}, "OK\n", False),
    ("<<ok>>", {"ok": "^OK .*$"}, "OK fine", True),
    ("<<ok>>", {"ok": "^OK .*$"}, "OK fine\nERROR", False),
    ("<<ok>>", {"ok": "^OK .*$"}, "OK fine\n", False),
    ("<<ok>>", {"ok": "(?s)OK .*"}, "OK fine\nfurther", True),
    ("[<<regex('OK .*')>>]", {}, "[OK fine\nERROR]", False),
    ("[<<regex('(?s)OK .*')>>]", {}, "[OK fine\nfurther]", True),
    ("a.b <<regex('(?s)OK.*')>> <<regex('c.*')>>", {}, "a.b OK\nx c\ny", False),
    ("x<<regex('(?i)ok')>>", {}, "xOK", True),
    ("x<<regex('(?i)ok')>>", {}, "XOK", False),
    ("<<regex('a$|b')>>c", {}, "ac", True),
    ("<<regex('a(?!b)')>>b", {}, "ab", True),
    ("<<regex('a*+')>>a<<any>>", {}, "aaa", True),
    ("<<regex('\\ba\\b')>>b", {}, "ab", True),
    ("<<regex('[^/]+')>>/<<regex('[^/]+')>>", {}, "a/b", True),
    ("<<regex('[^/]+')>>/<<regex('[^/]+')>>", {}, "a/b/c", False),
]


@pytest.mark.parametrize(("text", "own", "value", "accepted"), LINES)
def test_regex_matches_whole_value_and_dot_stops_at_line_end(
    text: str, own: dict[str, str], value: str, accepted: bool
) -> None:
    assert template_of(text, PlaceholderContext(own)).accepts(value, {}) is accepted


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
    ("any_iso_datetime(5m)", ["2024-01-15T10:30:00Z", "2024-01-15T10:35:00", "2024-01-15T11:30:00+01:00"],
     ["2024-01-15T10:35:01Z", "2024-01-15T10:30:00+01:00"]),
    ("any_unix_timestamp", [1_705_314_600, 1_705_314_600.5, 1_705_314_600_000, 1_705_314_600_000_000_000],
     [0, 999_999_999, "1705314600", True, 10**400, 10**11, Decimal("1e400")]),
    ("any_unix_timestamp(1h)", [NOW + 3600, (NOW - 3600) * 1000], [NOW + 3601]),
    ("any_datetime", ["Mon, 15 Jan 2024 10:30:00 GMT", "2024-01-15T10:30:00Z", "1705314600"],
     ["now", 1705314600]),
    ("any_datetime(http)", ["Mon, 15 Jan 2024 10:30:00 GMT"], ["2024-01-15T10:30:00Z"]),
    ("any_date", ["Jan 15, 2024", "15.01.2024", "2024-01-15"], ["Feb 30, 2024", "15.01."]),
    ("any_date(us)", ["1/15/2024"], ["15/1/2024"]),
    ("any_timespan", ["1 day, 2:03:04.5", "26:03:04", "3 days", "1h 30m"], ["soon", "2:03", 5]),
    ("any_size", ["12 kB", "1.5 GiB", "512 bytes"], ["big", "7", 12]),
    ("any_digits", ["0", "007", "17" * 20], ["", "-1", "1.5", 7]),
    ("any_numeric", ["0", "-1.5", "2.5e-05", "1e+06"], ["", "1.5 s", "NaN", 1.5]),
    ("any_token", ["V1StGXR8_Z5jdHi6B-myT", "YQ=="], ["", "two words", "a,b", 5]),
    ("any_token(10)", ["V1StGXR8_Z5jdHi6B-myT"], ["V1StGXR8_"]),
    ("any_hex(4)", ["00ff"], ["00f", "00ff0"]),
    ("one_of(active, 'on hold', 3, 1.50, true, null)", ["active", "on hold", 3, 3.0, 1.5, True, None],
     ["", 1, "3"]),
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
    ("number(10000000000000000000000000000000000000000 ± 1)", [10**40 + 1, 10**40 - 1],
     [10**40 + 2, Decimal("1e999999999")]),
    ("length(3)", ["abc", [1, 2, 3], {"a": 1, "b": 2, "c": 3}], ["ab", [], 123, None]),
    ("length(1, 2)", ["a", [1, 2]], ["", [1, 2, 3]]),
    ("length(2, null)", ["ab", "abcd"], ["a"]),
    ("var(base_url)", ["http://127.0.0.1:8080"], ["http://127.0.0.1:8081", None]),
    ("var(n)", [7, 7.0], ["7", 8]),
    ("var(on)", [True], [1, "true"]),
    ("var(ids)", [[1, True], [1.0, True]], [[1, 1], [True, True], [1]]),
    ("order_no", ["ORD-12345678"], ["ORD-1", 5]),
    ("any_array(order_no)", [["ORD-12345678"]], [["ORD-1"]]),
]  # fmt: skip
INSIDE: list[tuple[str, list[str], list[Json]]] = [
    ("/users/<<any_uuid>>/posts", [f"/users/{UUID}/posts"], ["/users/5/posts", f"/users/{UUID}", 5]),
    ("id=<<any_integer>>", ["id=5", "id=-5", "id=" + "9" * 900], ["id=" + "9" * 5000, "id=x", "id=5.5"]),
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

BOTH = [*((f"<<{name}>>", *values) for name, *values in ALONE), *INSIDE]


@pytest.mark.parametrize(("text", "accepted", "refused"), BOTH, ids=[row[0] for row in BOTH])
def test_placeholder_accepts_and_refuses_values(text: str, accepted: list[Json], refused: list[Json]) -> None:
    template = template_of(text, WORDS)
    assert [value for value in accepted if not template.accepts(value, {})] == []
    assert [value for value in refused if template.accepts(value, {})] == []


def test_every_placeholder_has_a_case() -> None:
    cases = [text for accepted, refused in FORMATS.values() for text in (*accepted, *refused)]
    assert len(cases) == 400, "as benchmarks/README.md shows"
    assert set(TABLE) <= {name.split("(")[0] for name in (*FORMATS, *(row[0] for row in ALONE))}


WRONG = {
    "BK212": ["<<any_uid>>", "{{any_uid}}", "x <<nothing_like_it>>", "<<any_array(any_uid)>>"],
    "BK211 by its arguments": """
        any(1); any_null(1); any_duration(1); any_string(x); any_string(-1); any_string(1.5); any_string(true)
        any_string(5, 2); any_string(1, 2, 3); any_number(x); any_number(2, 1); any_array(1)
        any_array(any, 3, 1); any_uuid(9); any_uuid(x); any_ip(5); any_hex(0); any_iso_datetime(soon)
        any_iso_datetime(nans); any_iso_datetime(-5); any_unix_timestamp(5 parsecs); one_of(); regex()
        regex(null); contains; contains(a, b); number(x); number(nan); number(5 ± -1); number(5, 1); length
        length(x); length(3, 1); var; var(1); order_no(1)
    """,
    "BK214": ["<<regex('(')>>", "<<regex('[')>>", "<<broken>>"],
    "BK211": ["x <<any_object>>", "x <<any_array>>"],
    "BK108": ["<<any_email>>"],
    "BK501": ["<<var(nowhere)>>"],
}


@pytest.mark.parametrize("name", WRONG)
def test_invalid_placeholder_is_an_error_with_reason(name: str) -> None:
    listed, code = WRONG[name], name[:5]
    texts = (
        [f"<<{text.strip()}>>" for text in listed.replace(";", "\n").split("\n") if text.strip()]
        if isinstance(listed, str)
        else listed
    )
    own = {"broken": "*"} | ({"any_email": ".*"} if code == "BK108" else WORDS.own)
    for text in texts:
        with pytest.raises(InvalidInput) as caught:
            compile_text(text, PlaceholderContext(own, WORDS.scope))
        (problem,) = caught.value.problems
        assert (problem.code, bool(problem.hint) or code == "BK214") == (code, True), text
    with pytest.raises(InvalidInput, match="BK211"):
        compile_text("<<any_string(0, 99999999999)>>!", WORDS)


def test_unknown_placeholder_suggests_nearest_name() -> None:
    for written, near in [("any_uid", "any_uuid"), ("order_nr", "order_no"), ("any_emal", "any_email")]:
        with pytest.raises(InvalidInput, match=f"did you mean '{near}'"):
            compile_text(f"<<{written}>>", WORDS)
    with pytest.raises(InvalidInput, match=r"write \\<<"):
        compile_text("<<qqq>>", WORDS)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_table_learnt_placeholder_needs_no_arguments(name: str) -> None:
    """Whatever is learnt can be written without arguments, so that it can be proposed."""
    learnt, types = TABLE[name].learnt, TABLE[name].types
    assert learnt is None or not isinstance(compile_text(f"<<{name}>>", WORDS), str)
    assert learnt is None or types is None or learnt.of in types
