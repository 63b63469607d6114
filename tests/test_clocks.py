"""Which times are of a run, and which are not: whatever day it is, and wherever."""

from pathlib import Path

import pytest
from clocks import Clock, Slept, told

MIDNIGHTS = ["2028-02-29T23:59:58Z", "2026-12-31T23:59:59Z", "2026-03-29T00:59:59Z", "1999-12-31T23:59:59Z"]


@pytest.mark.parametrize("begins", MIDNIGHTS)
def test_a_time_of_the_run_is_now_over_midnight_too(begins: str) -> None:
    machine = [1_700_000_000.25]
    clock = Clock(begins, lambda: machine[0])
    machine[0] += 3.5
    after = {
        "2028-02-29T23:59:58Z": "2028-03-01T00:00:01Z",
        "2026-12-31T23:59:59Z": "2027-01-01T00:00:02Z",
        "2026-03-29T00:59:59Z": "2026-03-29T01:00:02Z",
        "1999-12-31T23:59:59Z": "2000-01-01T00:00:02Z",
    }[begins]
    assert [clock.word_for(text) for text in (begins, after)] == ["{now}", "{now}"]


CASES = [
    ("2028-02-29T23:59:57Z", "{now}"),  # in whole seconds, read at the very beginning
    ("2028-02-29T23:59:56Z", "2028-02-29T23:59:56Z"),
    ("2028-03-01T00:00:08Z", "{now}"),
    ("2028-03-01T00:00:09Z", "2028-03-01T00:00:09Z"),
    ("2028-03-01T00:00:01.250000+00:00", "{now}"),
    ("2028-03-01T05:45:01+05:45", "{now}"),
    ("2028-03-01T05:45:01Z", "2028-03-01T05:45:01Z"),  # a local time that pretends to be UTC
    ("2028-03-01T14:00:01Z", "{now+14h}"),
    ("2028-02-29T12:00:00Z", "{now-12h}"),
    ("2028-03-04T00:00:00Z", "2028-03-04T00:00:00Z"),
    ("2023-11-14T22:13:20Z", "{now}"),  # the machine's own, by a program that knows nothing of our clock
    ("2023-11-14T21:13:20Z", "2023-11-14T21:13:20Z"),
    ("2028-02-30T00:00:00Z", "2028-02-30T00:00:00Z"),  # no such day
    ("20280301T000001Z", "{now}"),
    ("20280301-000001", "{now}"),
    ("20280230-000001", "20280230-000001"),
]


@pytest.mark.parametrize(("text", "word"), CASES)
def test_any_other_time_stands_as_it_is(text: str, word: str) -> None:
    machine = [1_700_000_000.0]
    clock = Clock("2028-02-29T23:59:58Z", lambda: machine[0])
    machine[0] += 10
    assert clock.word_for(text) == word


def test_what_was_written_before_days_went_by_is_told_from_what_is_written_now() -> None:
    machine = [1_700_000_000.0]
    clock = Clock("2028-02-28T12:00:00Z", lambda: machine[0])
    machine[0] += 5
    clock.later(1.5)
    machine[0] += 5
    times = "2028-02-28T12:00:03Z 2028-03-01T00:00:07Z 2028-03-01T01:00:07Z"
    assert told(times, clock.word_for) == "{before} {now} {now+1h}"


def test_times_are_found_in_names_and_in_texts() -> None:
    said = (
        "run compare-20260101T000000Z, eval-20260101-000000.json, '2026-01-01T00:00:00.5+01:00', 20260101T00"
    )
    assert told(said, lambda time: "*") == "run compare-*, eval-*.json, '*', 20260101T00"


def test_a_sleep_by_our_clock_moves_it_for_all_who_go_by_it(tmp_path: Path) -> None:
    mine, theirs = Slept(tmp_path / "slept"), Slept(tmp_path / "slept")
    clock = Clock("2028-02-29T23:59:58Z", lambda: 1_700_000_000.0, theirs.seconds)
    began = clock.now()
    mine.sleep(1.5)
    mine.sleep(2.0)
    assert clock.now() - began == 3.5
    assert told("2028-03-01T00:00:01Z 2028-03-01T00:00:02Z", clock.word_for) == "{now} 2028-03-01T00:00:02Z"
