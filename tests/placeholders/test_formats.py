"""Each format against cases of the standard that defines it: what it accepts, and what it refuses."""

import base64
import json

import pytest

from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text

MOST_LOCAL = "a" * 64
LABEL = "b" * 63


def encoded(value: Json) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def token(header: Json, payload: Json, signature: str = "c2ln") -> str:
    return f"{encoded(header)}.{encoded(payload)}.{signature}"


FORMATS: dict[str, tuple[list[str], list[str]]] = {
    # RFC 5321 and 5322: a dot-atom of at most 64 octets, a host of at least two labels, 254 in all
    "any_email": (
        [
            "simple@example.com",
            "very.common@example.com",
            "disposable.style.email.with+symbol@example.com",
            "other.email-with-hyphen@example.com",
            "x@example.com",
            "user%example.com@example.org",
            "mailhost!username@example.org",
            "user-@example.org",
            "!#$%&'*+/=?^_`{|}~-@example.org",
            "1234567890@example.com",
            "a@b-c.example",
            "a@xn--bcher-kva.example",
            f"{MOST_LOCAL}@example.com",
            f"a@{LABEL}.{LABEL}.com",
            "a@1.2.3.4.5.6.7.8.9.10.11.example",
        ],
        [
            "Abc.example.com",
            "A@b@c@example.com",
            ".a@example.com",
            "a.@example.com",
            "a..b@example.com",
            ".@example.com",
            "@example.com",
            "a@",
            "a@example",
            "a@.example.com",
            "a@example..com",
            "a@example.com.",
            "a@-example.com",
            "a@example-.com",
            "a@exam_ple.com",
            "a b@example.com",
            "a@exam ple.com",
            'a"b(c)d,e:f;g<h>i[j\\k]l@example.com',
            "a@example.com\n",
            " a@example.com",
            f"{MOST_LOCAL}a@example.com",
            f"a@{LABEL}b.com",
            f"a@{LABEL}.{LABEL}.{LABEL}.{LABEL}.com",
            "j\u00f6rg@example.com",
        ],
    ),
    # RFC 9562: without a version any text of the form; nil and max have none
    "any_uuid": (
        [
            "00000000-0000-0000-0000-000000000000",
            "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
            "C232AB00-9414-11EC-B3C8-9F6BDECED846",
            "11111111-1111-1111-1111-111111111111",
        ],
        [
            "c232ab00941411ecb3c89f6bdeced846",
            "{c232ab00-9414-11ec-b3c8-9f6bdeced846}",
            "urn:uuid:c232ab00-9414-11ec-b3c8-9f6bdeced846",
            "c232ab00-9414-11ec-b3c8-9f6bdeced84",
            "c232ab00-9414-11ec-b3c8-9f6bdeced8466",
            "c232ab00-9414-11ec-b3c8-9f6bdeced84g",
            "c232ab00-9414-11ec-b3c8-9f6bdeced846\n",
        ],
    ),
    "any_uuid(1)": (
        ["C232AB00-9414-11EC-B3C8-9F6BDECED846"],
        ["C232AB00-9414-41EC-B3C8-9F6BDECED846", "C232AB00-9414-11EC-33C8-9F6BDECED846"],
    ),
    "any_uuid(3)": (["5df41881-3aed-3515-88a7-2f4a814cf09e"], ["5df41881-3aed-3515-c8a7-2f4a814cf09e"]),
    "any_uuid(4)": (
        ["919108f7-52d1-4320-9bac-f847db4148a8", "919108F7-52D1-4320-ABAC-F847DB4148A8"],
        [
            "919108f7-52d1-4320-1bac-f847db4148a8",
            "919108f7-52d1-4320-7bac-f847db4148a8",
            "919108f7-52d1-4320-cbac-f847db4148a8",
            "919108f7-52d1-5320-9bac-f847db4148a8",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
    ),
    "any_uuid(5)": (["2ed6657d-e927-568b-95e1-2665a8aea6a2"], ["2ed6657d-e927-468b-95e1-2665a8aea6a2"]),
    "any_uuid(6)": (["1EC9414C-232A-6B00-B3C8-9F6BDECED846"], ["1EC9414C-232A-1B00-B3C8-9F6BDECED846"]),
    "any_uuid(7)": (["017F22E2-79B0-7CC3-98C4-DC0C0C07398F"], ["017F22E2-79B0-7CC3-08C4-DC0C0C07398F"]),
    "any_uuid(8)": (["2489E9AD-2EE2-8E00-8EC9-32D5F69181C0"], ["2489E9AD-2EE2-9E00-8EC9-32D5F69181C0"]),
    # RFC 3339, and of ISO 8601 a blank for the T, no zone, no seconds, a comma, +hh and +hhmm
    "any_iso_datetime": (
        [
            "1985-04-12T23:20:50.52Z",
            "1996-12-19T16:39:57-08:00",
            "1937-01-01T12:00:27.87+00:20",
            "2024-01-15t10:30:00z",
            "2024-01-15 10:30:00",
            "2024-01-15T10:30",
            "2024-01-15T10:30:00,5Z",
            "2024-01-15 10:30:00+00",
            "2024-01-15T10:30:00+0530",
            "2024-01-15T10:30:00-00:00",
            "2024-01-15T10:30:00.123456789Z",
            "2024-02-29T00:00:00Z",
            "2000-02-29T00:00:00Z",
            "0001-01-01T00:00:00Z",
        ],
        [
            "1990-12-31T23:59:60Z",
            "2024-01-15T24:00:00Z",
            "2024-01-15T10:60:00Z",
            "2024-13-15T10:30:00Z",
            "2024-00-15T10:30:00Z",
            "2024-01-32T10:30:00Z",
            "2023-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2024-04-31T00:00:00Z",
            "2024-01-15T10:30:00.Z",
            "2024-01-15T10:30:00.1234567890Z",
            "2024-01-15T10:30:00+24:00",
            "2024-01-15T10:30:00+05:60",
            "2024-01-15T10:30:00 Z",
            "2024-01-15_10:30:00Z",
            "2024-1-15T10:30:00Z",
            "24-01-15T10:30:00Z",
            "20240115T103000Z",
            "2024-01-15",
            "2024-01-15T10:30:00Z\n",
            "\u0662\u0660\u0662\u0664-01-15T10:30:00Z",
        ],
    ),
    "any_iso_date": (
        ["2024-02-29", "2000-02-29", "1999-12-31", "0001-01-01"],
        [
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-04-31",
            "2024-1-05",
            "20240105",
            "2024-W01-1",
            "2024-001",
            "2024-01-05\n",
            "0000-01-01",
            "2024-01-0٥",
        ],
    ),
    "any_time": (
        ["00:00", "23:59:59", "10:30:00.5", "10:30:00,123456789", "10:30Z", "10:30:00+05:30", "10:30-08"],
        [
            "24:00",
            "9:30",
            "10:60",
            "10:30:60",
            "10:30:00.",
            "10:30:00.1234567890",
            "103000",
            "10:30 Z",
            "10:30:00\n",
            "1٠:30",
        ],
    ),
    # RFC 4291 and RFC 5952 for version 6, four decimal octets without leading zeros for version 4
    "any_ip": (
        [
            "0.0.0.0",
            "255.255.255.255",
            "192.0.2.1",
            "::",
            "::1",
            "2001:db8::8:800:200c:417a",
            "2001:DB8:0:0:8:800:200C:417A",
            "::ffff:129.144.52.38",
            "ff02::1",
            "1:2:3:4:5:6:7::",
        ],
        [
            "256.0.0.1",
            "1.2.3",
            "1.2.3.4.5",
            "01.2.3.4",
            "1.2.3.04",
            "0x7f.0.0.1",
            "2130706433",
            "1.2.3.4/24",
            ":::",
            "1::2::3",
            "12345::",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "::g",
            "[::1]",
            "fe80::1%eth0",
            "::1\n",
            "1.2.3.٤",
        ],
    ),
    "any_ip(4)": (["192.0.2.1"], ["::ffff:192.0.2.1", "::1"]),
    "any_ip(6)": (["::ffff:192.0.2.1", "::1"], ["192.0.2.1"]),
    # RFC 1123
    "any_hostname": (
        [
            "localhost",
            "example.com",
            "a.b-c.example",
            "3com.com",
            "xn--bcher-kva.example",
            "A.EXAMPLE",
            LABEL,
            ".".join([LABEL] * 3),
            ".".join("a" * 126),
            "1.2.3.4.example",
        ],
        [
            "",
            "-a.example",
            "a-.example",
            "a_b.example",
            "a..b",
            ".a",
            "a.",
            "a b",
            LABEL + "b",
            ".".join([LABEL] * 4),
            "192.0.2.1",
            "123",
            "a.1",
            "bücher.example",
            "a.example\n",
        ],
    ),
    # RFC 3986, unescaped letters of other scripts as in RFC 3987, and [ ] in a query
    "any_url": (
        [
            "http://example.com",
            "HTTPS://EXAMPLE.COM/",
            "ftp://ftp.is.co.za/rfc/rfc1808.txt",
            "http://www.ietf.org/rfc/rfc2396.txt",
            "http://a/b/c/d;p?q",
            "http://a/b/../c",
            "http://user:pass@host.example:8042/over/there?name=ferret#nose",
            "http://[2001:db8::7]/c=GB?objectClass",
            "http://[::ffff:192.0.2.1]:80",
            "http://192.0.2.16:80/",
            "http://my_service:8080/health",
            "http://example.com./",
            "http://example.com:/",
            "http://a/%7Efoo?a=%20b",
            "http://a?b/c?d#e/f?g",
            "http://a/?filter[name]=x",
            "http://de.example/K\u00f6ln",
            "http://b\u00fccher.example/",
            "wss://a.example/socket",
            "http://a/(b),'c'!*;$&+=@:~",
        ],
        [
            "http://",
            "http:///path",
            "//example.com",
            "example.com",
            "http:/example.com",
            "http://a b",
            "http://a/b c",
            "http://a/<b>",
            'http://a/"b"',
            "http://a/b\\c",
            "http://a/{id}",
            "http://a/b|c",
            "http://a/`b`",
            "http://a/^",
            "http://a/%zz",
            "http://a/%2",
            "http://a#b#c",
            "http://a:99999/",
            "http://a:80b/",
            "http://256.1.1.1/",
            "http://1.2.3/",
            "http://[::1",
            "http://[1.2.3.4]/",
            "http://[:::1]/",
            "http://a..b/",
            "http://-a/",
            "http://u@v@a/",
            "mailto:a@example.com",
            "javascript:alert(1)",
            "http://a\n",
            "http://a/\u200bb\u0000",
        ],
    ),
    # the list of semver.org, and a leading v as tags have it
    "any_semver": (
        [
            "0.0.4",
            "1.2.3",
            "10.20.30",
            "1.1.2-prerelease+meta",
            "1.1.2+meta",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha0.valid",
            "1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay",
            "1.0.0-rc.1+build.1",
            "2.0.0-rc.1+build.123",
            "1.2.3-beta",
            "10.2.3-DEV-SNAPSHOT",
            "1.2.3-SNAPSHOT-123",
            "2.0.1-alpha.1227",
            "1.2.3----RC-SNAPSHOT.12.9.1--.12+788",
            "1.2.3----R-S.12.9.1--.12+meta",
            "1.0.0+0.build.1-rc.10000",
            "99999999999999999999999.999999999999999999.99999999999999999",
            "1.0.0-0A.is.legal",
            "v1.2.3",
        ],
        [
            "1",
            "1.2",
            "1.2.3-0123",
            "1.2.3-0123.0123",
            "1.1.2+.123",
            "+invalid",
            "-invalid",
            "alpha.beta.1",
            "1.0.0-alpha_beta",
            "1.0.0-alpha..",
            "1.0.0-alpha..1",
            "1.0.0-",
            "1.0.0+",
            "01.1.1",
            "1.01.1",
            "1.1.01",
            "1.2.3.DEV",
            "1.2-SNAPSHOT",
            "1.2.31.2.3----RC-SNAPSHOT.12.09.1--..12+788",
            "-1.0.3-gamma+b7718",
            "+justmeta",
            "9.8.7+meta+meta",
            "9.8.7-whatever+meta+meta",
            "V1.2.3",
            "1.2.3\n",
            "1.2.3-00",
            "1.2.3-a.01",
            "1.2.٣",
        ],
    ),
    # the ULID specification: Crockford's base32, 26 digits, at most 7ZZZ...
    "any_ulid": (
        ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "0" * 26],
        ["8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVV"]
        + ["01ARZ3NDEKTSV4RRFFQ69G5FA" + c for c in "ILOUiu-"],
    ),
    # ISO 8601, a fraction in the smallest unit alone; and the short form of Go and of many configurations
    "any_duration": (
        [
            "P1Y",
            "P1M",
            "P1D",
            "PT1H",
            "PT1M",
            "PT1S",
            "P3Y6M4DT12H30M5S",
            "P2W",
            "PT36H",
            "P1DT12H",
            "PT0S",
            "PT0.5S",
            "PT1,5S",
            "P0.5Y",
            "PT1H0.5M",
            "P1.5W",
            "1h30m",
            "250ms",
            "1.5s",
            "7d",
            "3µs",
            "1m0.5s",
        ],
        [
            "P",
            "PT",
            "P1DT",
            "1Y",
            "P1",
            "PT1",
            "P1H",
            "PT1D",
            "P1M1Y",
            "PT1S1M",
            "P1W1D",
            "P0.5Y1M",
            "PT0.5H30M",
            "P0.5DT1H",
            "PT.5S",
            "PT1.S",
            "P-1D",
            "p1d",
            "1h 30m",
            "1.h",
            "h",
            "5",
            "P1D\n",
            "P١D",
        ],
    ),
    "any_hex": (["0", "00ff", "DEADbeef"], ["", "0x1f", "fg", "-1", "ff\n", "f f"]),
    "any_hex(8)": (["deadbeef"], ["deadbee", "deadbeef0"]),
    # RFC 4648, sections 4, 5 and 10: either alphabet, all of the padding or none
    "any_base64": (
        ["Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy", "Zg", "Zm8", "+/+/", "-_-_"],
        [
            "",
            "Z",
            "Zg=",
            "Zm8==",
            "Zm9v=",
            "Zm9v====",
            "====",
            "Zm 9v",
            "Zm9v\n",
            "Zm9v!",
            "+-+-",
            "Zm9vY",
            "=Zg=",
        ],
    ),
    # RFC 7519, sections 3.1 and 6.1; RFC 7516 for five parts
    "any_jwt": (
        [
            token({"typ": "JWT", "alg": "HS256"}, {"iss": "joe", "exp": 1300819380}),
            token({"alg": "none"}, {"iss": "joe"}, ""),
            token({"alg": "HS256", "cty": "JWT"}, "eyJ.eyJ.x"),
            f"{encoded({'alg': 'dir', 'enc': 'A128GCM'})}..48V1_ALb6US04U3b.5eym8TW.XFBoMYUZodetZdvT",
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
            ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        ],
        [
            "a.b.c",
            token({"typ": "JWT"}, {}),
            token({"alg": 5}, {}),
            token({"alg": "HS256"}, {}, ""),
            token({"alg": "none"}, {}),
            token({"alg": "HS256"}, [1]),
            token({"alg": "HS256"}, "text"),
            token([], {}),
            f"{encoded({'alg': 'HS256'})}.{encoded({})}",
            f"{encoded({'alg': 'HS256'})}.{encoded({})}.a",
            f"{encoded({'alg': 'HS256'})}.{encoded({})}.c2ln=",
            f"{encoded({'alg': 'HS256'})}.{encoded({})}.c2l+",
            f"{encoded({'alg': 'dir'})}..aaaa.aaaa.aaaa",
            f"{encoded({'alg': 'HS256'})}.{encoded({})}.c2ln.c2ln",
        ],
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_that_of_its_standard(name: str) -> None:
    """Measured: no error among these cases."""
    accepted, refused = FORMATS[name]
    alone, inside = (
        compile_text(f"<<{name}>>", PlaceholderContext()),
        compile_text(f"[<<{name}>>]", PlaceholderContext()),
    )
    assert not isinstance(alone, str)
    assert not isinstance(inside, str)
    assert [text for text in accepted if not alone.accepts(text, {})] == []
    assert [text for text in refused if alone.accepts(text, {})] == []
    assert [text for text in accepted if not inside.accepts(f"[{text}]", {})] == []
    assert [text for text in refused if inside.accepts(f"[{text}]", {})] == []


def test_the_table_is_large_enough_to_say_something() -> None:
    assert sum(len(accepted) + len(refused) for accepted, refused in FORMATS.values()) > 400


@pytest.mark.parametrize(
    "value", [1_000_000_000, 9_999_999_999, 10**12, 10**13 - 1, 10**15, 10**18, 10**19 - 1]
)
def test_moments_in_every_unit(value: int) -> None:
    template = compile_text("<<any_unix_timestamp>>", PlaceholderContext())
    assert not isinstance(template, str)
    assert template.accepts(value, {})


@pytest.mark.parametrize(
    "value", [999_999_999, 10**10, 10**12 - 1, 10**13, 10**19, -(10**9), "1705314600", True]
)
def test_what_is_no_moment(value: Json) -> None:
    template = compile_text("<<any_unix_timestamp>>", PlaceholderContext())
    assert not isinstance(template, str)
    assert not template.accepts(value, {})


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
def test_an_expression_takes_the_whole_value_and_a_dot_ends_with_the_line(
    text: str, own: dict[str, str], value: str, accepted: bool
) -> None:
    template = compile_text(text, PlaceholderContext(own))
    assert not isinstance(template, str)
    assert template.accepts(value, {}) is accepted
