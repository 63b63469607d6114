"""Whether a placeholder asks for at least as much as the one before it, against what both accept.

A pair is wider for certain if the new one accepts a value that the old one refuses: such a pair may never be
called narrower. There are many values: from the standards of the formats, and around each bound of a form."""

from decimal import Decimal
from itertools import product

import pytest
from test_formats import FORMATS

from baselinekit.commands.since import is_narrower
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import Inline, Placeholder, compile_text
from baselinekit.secrets.variables import Scope

NOW = 1_700_000_000.0
WORDS = PlaceholderContext(
    own={"order_no": r"ORD-\d+"}, scope=Scope({"base": "https://a.example", "size": 5}), now=NOW
)


WRITTEN = r"""
    any; any_string; any_string(1, 90); any_string(1, 80); any_string(36, 36); any_string(0, 5);
    any_nonempty_string; any_nonempty_string(2); length(3); length(1, 10); length(0); any_number;
    any_number(0, 100); any_number(0); any_integer; any_integer(1, 5); any_float; any_float(0.5, 99.5);
    number(10 ± 2); number(10 ± 0.5); number(5); number(3 ± 1); any_boolean; any_null; any_object;
    any_array; any_array(any_uuid); any_array(any_string, 1, 3); any_array(any_uuid, 1, 2);
    any_array(any_integer); any_array(any_number); any_array(any, 0, 0); any_uuid; any_uuid(4);
    any_uuid(7); any_email; any_url; any_hostname; any_ip; any_ip(4); any_ip(6); any_iso_datetime;
    any_iso_datetime(5m); any_iso_datetime(1h); any_iso_date; any_time; any_unix_timestamp;
    any_unix_timestamp(5m); any_unix_timestamp(1h); any_duration; any_hex; any_hex(8); any_hex(40);
    any_hex(5); any_base64; any_jwt; any_semver; any_ulid; one_of(a, b); one_of(a, b, c); one_of(1, 2, 3);
    one_of(1, a); one_of(true, false, null); one_of(2.5, 3.5); one_of('ORD-1', 'ORD-22');
    regex('ORD-[0-9]+'); regex('^ORD-\d+$'); order_no; contains('-'); contains('RD-'); starts_with('ORD-');
    starts_with('OR'); ends_with('.com'); ends_with('m'); var(base); var(size); any_uuid?; any_uuid|null;
    any_string|null; any|null; any_integer as k; any_number as k; any_null?
    """
ALONE = [form.strip() for form in WRITTEN.split(";")]
FORMS = tuple(f"<<{name}>>" for name in ALONE)


def words(text: str) -> list[str]:
    return text.split()


UUIDS = words(
    """
    0ae23f2d-220e-4029-88fc-cb6cf50424d2 C232AB00-9414-11EC-B3C8-9F6BDECED846
    017F22E2-79B0-7CC3-98C4-DC0C0C07398F 00000000-0000-0000-0000-000000000000
    """
)
TEXTS = (
    *UUIDS,
    *(text for accepted, refused in FORMATS.values() for text in [*accepted, *refused]),
    *("x" * length for length in [*range(12), 35, 36, 37, 79, 80, 81, 89, 90, 91, 254, 300]),
    *words("a b c 1 5 - a-b m .com x.com https://a.example null true 2.5 ORD-1 ORD-22 ORD- ORD-\u0663 ORD-x"),
    *("deadbeef", "abcde", "2" * 64, "0" * 40, "5" * 8, "127.0.0.1", "::1", "1" * 300),
    *words("2023-11-14T22:13:20Z 2023-11-14T22:15:20Z 2023-11-14T22:43:20Z 2023-11-14T22:13Z 2023-11-15"),
)
MIDDLES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 99, 100, 101, -1, -5]
MOMENTS = [10**9 - 1, 10**9, int(NOW), int(NOW) + 200, int(NOW) + 2_000, int(NOW) * 1_000, 10**12, 10**19]
NUMBERS = [
    number
    for middle in [*MIDDLES, *MOMENTS]
    for number in (middle, float(middle), middle + 0.25, middle + 0.5)
]
NUMBERS += [Decimal("9.5"), 9.4, 2.5, 3.5, 10.5, 1e300]
OTHERS: list[Json] = [
    True,
    False,
    None,
    {},
    {"a": 1},
    {"a": 1, "b": 2, "c": 3},
    [],
    [1],
    [1, 2, 3],
    [1.5],
    [1, "x"],
]
OTHERS += [[None], [{}], ["x"], ["x", "y", "z"], ["x"] * 4, UUIDS[:1], UUIDS[:2], UUIDS[:3], [True]]
VALUES: list[Json] = [*dict.fromkeys(TEXTS), *NUMBERS, *OTHERS]
BOUND: list[dict[str, Json]] = [{}, {"k": 5}, {"k": "x"}]
"""What other places have given the binding."""


def accepted(form: str) -> list[bool]:
    template = template_of(form)
    found = [template.accepts(value, dict(known)) for known in BOUND for value in VALUES]
    return [*found, isinstance(template, Placeholder) and template.token.optional]


def template_of(form: str) -> Placeholder | Inline:
    template = compile_text(form, WORDS)
    assert isinstance(template, Placeholder | Inline)
    return template


@pytest.fixture(scope="module")
def table() -> dict[str, int]:
    """For each form what it accepts, a bit for each value."""
    return {form: sum(1 << place for place, yes in enumerate(accepted(form)) if yes) for form in FORMS}


def test_forms_accept_some_values_and_refuse_some(table: dict[str, int]) -> None:
    everything = (1 << len(VALUES) * len(BOUND) + 1) - 1
    assert all(found for found in table.values())
    assert [form for form, found in table.items() if found == everything] == []
    assert table["<<any>>"] == everything >> 1


def test_is_narrower_never_misses_wider_placeholder(table: dict[str, int]) -> None:
    templates = {form: template_of(form) for form in FORMS}
    narrower = [pair for pair in product(FORMS, FORMS) if is_narrower(*(templates[form] for form in pair))]
    assert [(wide, narrow) for wide, narrow in narrower if table[narrow] & ~table[wide]] == []
    assert len(narrower) > 150


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("<<any_string>>", "<<any_string(1, 80)>>"),
        ("<<any_uuid>>", "<<any_uuid(4)>>"),
        ("<<any_iso_datetime>>", "<<any_iso_datetime(5m)>>"),
        ("<<any_string>>", "<<any_uuid>>"),
        ("<<any_integer as k>>", "<<any_integer(1, 5) as k>>"),
    ],
)
def test_is_narrower_holds_in_one_direction(wide: str, narrow: str) -> None:
    assert is_narrower(template_of(wide), template_of(narrow))
    assert not is_narrower(template_of(narrow), template_of(wide))
