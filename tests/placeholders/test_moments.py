"""A moment in each form that services write, seen twice: what is learnt accepts it for years to come."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime, formatdate
from typing import Any

import pytest

from baselinekit.placeholders.formats import is_of_now, moment_of
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import compile_text


def written(form: str, zone: timezone = UTC) -> Callable[[float], str]:
    return lambda second: datetime.fromtimestamp(second, zone).strftime(form)


def in_javascript(second: float) -> str:
    day = datetime.fromtimestamp(second, UTC)
    noon = "PM" if day.hour >= 12 else "AM"
    return f"{day.month}/{day.day}/{day.year}, {day.hour % 12 or 12}:{day:%M:%S}\u202f{noon}"


FORMS: list[tuple[str, Callable[[float], Any]]] = [
    ("any_datetime(http)", lambda second: formatdate(second, usegmt=True)),
    (
        "any_datetime(rfc2822)",
        lambda second: format_datetime(datetime.fromtimestamp(second, timezone(timedelta(hours=1)))),
    ),
    ("any_iso_datetime", written("%Y-%m-%dT%H:%M:%SZ")),
    ("any_iso_datetime", written("%Y-%m-%dT%H:%M:%S.%f+01:00", timezone(timedelta(hours=1)))),
    ("any_iso_datetime", lambda second: datetime.fromtimestamp(second, UTC).isoformat()),
    ("any_iso_datetime", written("%Y-%m-%d %H:%M:%S,%f")),
    ("any_iso_datetime", written("%Y-%m-%d %H:%M")),
    ("any_datetime(apache)", written("%d/%b/%Y:%H:%M:%S +0000")),
    ("any_datetime(ctime)", lambda second: datetime.fromtimestamp(second, UTC).ctime()),
    ("any_datetime(date)", written("%a %b %e %H:%M:%S UTC %Y")),
    ("any_datetime(us)", written("%m/%d/%Y %I:%M:%S %p")),
    ("any_datetime(us)", in_javascript),
    ("any_datetime(european)", written("%d.%m.%Y %H:%M:%S")),
    ("any_datetime(european)", written("%d/%m/%Y %H:%M")),
    ("any_datetime(sql)", written("%Y-%m-%d %H:%M:%S.%f UTC")),
    ("any_datetime(sql)", written("%Y-%m-%d %H:%M:%S +0000")),
    ("any_datetime(javascript)", written("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)")),
    ("any_datetime(slashes)", written("%Y/%m/%d %H:%M:%S")),
    ("any_datetime(basic)", written("%Y%m%dT%H%M%SZ")),
    ("any_datetime(basic)", written("%Y%m%d%H%M%S")),
    ("any_datetime(day_first)", written("%a, %d-%b-%Y %H:%M:%S GMT")),
    ("any_datetime(words)", written("%B %d, %Y at %I:%M %p")),
    ("any_datetime(words)", written("%A, %B %e, %Y %H:%M:%S")),
    ("any_datetime(day_first)", written("%d %B %Y %H:%M:%S")),
    ("any_datetime(day_first)", written("%d-%b-%Y %H:%M")),
    ("any_datetime(syslog)", written("%b %e %H:%M:%S")),
    ("any_datetime(epoch)", lambda second: str(int(second))),
    ("any_datetime(epoch)", lambda second: str(int(second * 1000))),
    ("any_datetime(epoch)", lambda second: f"{second:.3f}"),
    ("any_iso_date", written("%Y-%m-%d")),
    ("any_date(us)", written("%m/%d/%Y")),
    ("any_date(european)", written("%d.%m.%Y")),
    ("any_date(words)", written("%b %d, %Y")),
    ("any_date(day_first)", written("%d %B %Y")),
    ("any_date(slashes)", written("%Y/%m/%d")),
    ("any_date(basic)", written("%Y%m%d")),
    ("any_time", written("%H:%M:%S")),
    ("any_time", lambda second: written("%I:%M:%S %p")(second).lstrip("0")),
    ("any_unix_timestamp", int),
    ("any_unix_timestamp", lambda second: round(second, 3)),
    ("any_unix_timestamp", lambda second: int(second * 10**3)),
    ("any_unix_timestamp", lambda second: int(second * 10**6)),
    ("any_unix_timestamp", lambda second: int(second * 10**9)),
]
AROUND = (
    "{}", "started at {} by worker 3", '[{}] "GET /a HTTP/1.1" 200', "https://h/x?at={}&n=1", "job-{}-done",
    '{{"at":"{}","n":3}}',
)  # fmt: skip
STARTS = [1_795_381_199.5, 1_795_381_140.25, 1_791_000_000.0, 1_801_612_345.678]
"""The last second before an hour, its middle, a whole second, the second day of a month."""

LATER = [1, 43_200, 77_777.77, 40 * 86_400, 200 * 86_400 + 46_800, 3 * 365 * 86_400]


def accepted(text: str, value: Any) -> bool:
    template = compile_text(text, PlaceholderContext())
    return template == value if isinstance(template, str) else template.accepts(value, {})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_narrowest_of_moments_accepts_later_moments(name: str, form: Callable[[float], Any]) -> None:
    """Measured: none of the places is lost, alone or in a longer text."""
    for start in STARTS:
        for around in AROUND if isinstance(form(start), str) else ("{}",):

            def answer(second: float, around: str = around) -> Any:
                value = form(second)
                return around.format(value) if isinstance(value, str) else value

            if " " in str(form(start)) and "?" in around:
                continue  # a URL has no blank
            learnt = narrowest([answer(start), answer(start + 1.13)], words=PlaceholderContext(now=start))[
                0
            ].text
            lost = [answer(start + span) for span in LATER if not accepted(learnt, answer(start + span))]
            assert not lost, (learnt, answer(start))
            if around == "{}" and start == STARTS[0]:
                assert learnt == f"<<{name}>>"


def test_narrowest_ambiguous_day_and_month_keeps_both_orders() -> None:
    learnt = narrowest(["05/06/2026 10:00:00", "05/06/2026 10:00:01"])[0].text
    assert learnt == "<<any_datetime>>"
    assert accepted(learnt, "22/06/2026 10:00:01")
    assert accepted(learnt, "06/22/2026 10:00:01")


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("Sonntag, 22. November 2026 um 21:00:01", "Sonntag, 22. November 2026 um 21:00:03"),
        ("22 нояб. 2026 21:00:01", "22 нояб. 2026 21:00:03"),
    ],
)
def test_narrowest_unknown_date_form_is_any_string(text: str, again: str) -> None:
    assert narrowest([text, again])[0].text == "<<any_nonempty_string>>"


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 30 Feb 2026 10:00:00 GMT", "31/Nov/2026:10:00:00 +0000", "13/32/2026 10:00",
        "Sun Nov 22 25:00:00 2026", "1795381199 s", "n/a", "",
    ],
)  # fmt: skip
def test_moment_of_refuses_invalid_text(text: str) -> None:
    assert moment_of(text) is None
    assert not accepted("<<any_datetime>>", text)


def test_is_of_now_recognises_current_moments() -> None:
    now = STARTS[0]
    for _, form in FORMS[:-7]:
        value = form(now - 60)
        if str(value)[:3] != "Nov" or "," in str(value):  # that has no year
            assert is_of_now(value, now), value
        assert not is_of_now(form(now - 90 * 86_400), now), value
    assert not is_of_now("2026", now)
    assert not is_of_now(form(now), 0.0)
