"""Values that were seen -> the placeholders that are offered for them."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text
from baselinekit.secrets.variables import Scope

U1, U2 = "38842815-1a35-4e56-acfa-98b31dcc849e", "358a5f95-d42d-46ae-ba5e-b00ed50222b4"
U7 = "01935a7e-8a2e-7c3a-9f10-0242ac120002"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0"
JWT2 = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIyIn0.YW5vdGhlci1zaWduYXR1cmU"

CASES: list[tuple[list[Any], str]] = [
    ([U1, U2], "<<any_uuid(4)>>"),
    ([U1, U7], "<<any_uuid>>"),
    (["01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"], "<<any_ulid>>"),
    ([JWT, JWT2], "<<any_jwt>>"),
    (["2026-11-21T10:00:00Z", "2026-11-21T10:00:01+01:00"], "<<any_iso_datetime>>"),
    (["2026-11-21", "2026-11-22"], "<<any_iso_date>>"),
    (["10:00:01", "23:59"], "<<any_time>>"),
    (["1.2.3", "2.0.0-rc.1"], "<<any_semver>>"),
    (["127.0.0.1", "10.0.0.1"], "<<any_ip(4)>>"),
    (["127.0.0.1", "::1"], "<<any_ip>>"),
    (["ada@example.org", "bob@example.com"], "<<any_email>>"),
    (["https://a.org/x?y=1", "http://b.net/"], "<<any_url>>"),
    (["a1.example.org", "b2.example.net"], "<<any_hostname>>"),
    (["12ms", "1.5s"], "<<any_duration>>"),
    (["deadbeef01", "12345678ab"], "<<any_hex>>"),
    (["0" * 31 + "a", "b" * 32], "<<any_hex(32)>>"),
    (["QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "cGFzc3dvcmQ6MTIzNDU2Nzg="], "<<any_base64>>"),
    (["0012", "9913"], "<<any_digits>>"),
    ([True, False], "<<any_boolean>>"),
    ([1763719200, 1763719201], "<<any_unix_timestamp>>"),
    ([4521893321, 4521893329], "<<any_integer(0)>>"),
    ([0.132, 0.145, 0.14], "<<any_number>>"),
    ([1, 2.5], "<<any_number>>"),
    ([-3, 5], "<<any_integer>>"),
    ([7, 12, 18, 33, 40], "<<any_integer(0)>>"),
    ([42], "<<any_integer>>"),
    ([200, 404, 200, 404], "<<any_integer(0)>>"),
    (["active", "on hold", "active", "on hold"], "<<one_of(active, 'on hold')>>"),
    (["it's", "true", "it's", "true"], "<<one_of('it''s', 'true')>>"),
    (["V1StGXR8_Z5jdHi6B-myT", "Uakgb_J5m9g-0JDMbcJqL"], "<<any_token(10)>>"),
    (["Ada", "Bartholomew"], "<<any_nonempty_string>>"),
    (["", "abc"], "<<any_string>>"),
    (["abc"], "<<any_nonempty_string>>"),
    ([""], "<<any_string>>"),
    ([None, U1, U2], "<<any_uuid(4)|null>>"),
    ([None, 3, 5], "<<any_integer(0)|null>>"),
    ([None, None], "<<any_null>>"),
    ([{"a": 1}, {}], "<<any_object>>"),
    ([[1], []], "<<any_array>>"),
    ([1, "1"], "<<any>>"),
    ([True, 1], "<<any>>"),
    # only a part of the text varies
    ([f"/users/{U1}/posts", f"/users/{U2}/posts"], "/users/<<any_uuid(4)>>/posts"),
    ([f"/users/{U1}/posts"], "/users/<<any_uuid(4)>>/posts"),
    (["http://h/users/17", "http://h/users/18"], "http://h/users/<<any_integer>>"),
    (["user41", "user42"], "user<<any_integer>>"),
    (
        ["Order 17 created at 2026-11-21T10:00:00Z", "Order 1234 created at 2026-11-22T10:00:01Z"],
        "Order <<any_integer>> created at <<any_iso_datetime>>",
    ),
    (["took 3.25 s", "took 14.5 s"], "took <<any_number>> s"),
    (["Tom said hi", "Bill said hi"], "<<any_nonempty_string>> said hi"),
    (["req a1b2c3d4 done", "req ffee0011 done"], "req <<any_hex>> done"),
    (["<<any>> 1", "<<any>> 2"], r"\<<any>> <<any_integer>>"),
    (["a\\1", "a\\2"], r"<<one_of('a\')>><<any_integer>>"),
    (["Total: 3 items", "Total: 3 items, 1 new"], "Total: 3 items<<any_string>>"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("values", "first"), CASES, ids=[first[:40] for _, first in CASES])
def test_narrowest_first_proposal(values: list[Any], first: str) -> None:
    assert narrowest(values)[0].text == first


def test_narrowest_of_no_values_is_empty() -> None:
    assert narrowest([]) == []


def test_narrowest_wider_proposals_follow_with_reasons() -> None:
    found = narrowest([U1, U2])
    texts = ["<<any_uuid(4)>>", "<<any_uuid>>", "<<any_nonempty_string>>", "<<any_string>>"]
    assert [item.text for item in found] == texts
    assert found[0].reason == "UUIDs"
    assert [item.says_little for item in found] == [False, False, True, True]


def test_narrowest_writes_literal_part_with_writer() -> None:
    def write(text: str, followed: bool) -> str:
        return text.replace("http://host", "<<var(base_url)>>")

    words = PlaceholderContext(scope=Scope({"base_url": "http://host"}, {}))
    found = narrowest(["http://host/1", "http://host/2"], write, words)
    assert found[0].text == "<<var(base_url)>>/<<any_integer>>"


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
    st.sampled_from(["<<any>>", "\\<<any_uuid>>", "{{any_uuid}}", "a\\", "<", "<<", "it's", "}}"]),
    st.uuids().map(str),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.dates().map(str),
    st.ip_addresses().map(str),
    st.emails(),
    st.binary(max_size=20).map(bytes.hex),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9),
)
PARTS = st.one_of(
    st.sampled_from(["/users/", " at ", "<<any_x>>", "\\", " ", "-", ": ", "é"]),
    st.integers(0, 10**6).map(str),
    st.uuids().map(str),
    st.text(alphabet="abc \\<", max_size=5),
)
TEXTS = st.lists(PARTS, min_size=1, max_size=5).map("".join)


@st.composite
def alike(draw: st.DrawFn) -> list[Any]:
    """Texts of one frame in which some parts vary."""
    frame = draw(st.lists(st.one_of(PARTS, st.none()), min_size=1, max_size=5))
    filled = st.tuples(*(PARTS if part is None else st.just(part) for part in frame)).map("".join)
    return draw(st.lists(filled, min_size=1, max_size=4))


VALUES = st.one_of(
    st.lists(PLAIN, min_size=1, max_size=5),
    st.sampled_from([st.integers(), st.floats(-1e6, 1e6), st.text(max_size=9), st.uuids().map(str)]).flatmap(
        lambda item: st.lists(item, min_size=1, max_size=5)
    ),
    alike(),
    st.lists(TEXTS, min_size=1, max_size=4),
)


def accepts(text: str, value: Any) -> bool:
    template = compile_text(text, PlaceholderContext())
    return template == value if isinstance(template, str) else template.accepts(value, {})


@pytest.mark.slow
@given(VALUES)
def test_narrowest_every_proposal_accepts_every_value(values: list[Any]) -> None:
    found = narrowest(values)
    assert found
    for proposal in found:
        assert all(accepts(proposal.text, value) for value in values), proposal


def test_narrowest_long_text_is_not_taken_apart() -> None:
    """Texts without end are not taken apart."""
    found = narrowest(["x " * 120_000 + "1", "x " * 120_000 + "2"])
    assert found[0].text == "<<any_nonempty_string>>"
