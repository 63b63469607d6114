"""The queue of ratings: nothing is lost, nobody rates twice, and several enter at once."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from baselinekit.errors import BaselinekitError, InvalidInput, NotRecorded
from baselinekit.model.grades import (
    Evaluators,
    HumanRating,
    Option,
    Queued,
    Rating,
    RatingItem,
    RatingScale,
    RatingView,
    same_person,
)
from baselinekit.suites.ratings import FILE, Ratings

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
NOW = "2026-01-01T00:00:00Z"
SCALE = RatingScale(
    labels={1: "Poor", 5: "Excellent"}, options=[Option("a", "A", "the first")], criteria=["x"]
)
SHOWN = RatingView(
    "title", "input", "rubric", {"a": [1, 1.5, "\ud800", None]}, items=("one", 2), about={"model": "m"}
)


def item(key: str = "k1", most: int = 5) -> RatingItem:
    how = HumanRating(evaluators=Evaluators(2, most), rating_scale=SCALE, slots={"a": "b"})
    return RatingItem(key, "greeting", "people", how, SHOWN, NOW, ((1, 2),))


def rating(rater: str, value: int = 4) -> Rating:
    return Rating(rater, value, NOW, "why", 1.5)


def test_an_item_comes_back_as_it_was_put_there(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    assert ratings.all() == []
    assert not (tmp_path / ".baselinekit").exists()  # looking leaves nothing behind
    assert ratings.enqueue(item()) == Queued(item())
    assert ratings.enqueue(item()) == Queued(item())
    ratings.rate("k1", rating("Ada"))
    assert ratings.all() == [Queued(item(), (rating("Ada"),))]
    assert ratings.find("k1") == ratings.all()[0]
    assert ratings.find("k2") is None
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_how_many_have_to_rate_is_as_stated_last(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item())
    ratings.rate("k1", rating("ada"))
    assert ratings.enqueue(item(most=3)).item.method.evaluators.max_allowed == 3
    assert len(ratings.all()[0].ratings) == 1


@pytest.mark.parametrize("again", ["ada", "Ada", " ADA ", "\uff41da"])
def test_h42_nobody_rates_twice(tmp_path: Path, again: str) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item())
    ratings.rate("k1", rating("ada"))
    with pytest.raises(InvalidInput, match="has already rated greeting"):
        ratings.rate("k1", rating(again, 5))
    assert ratings.rate("k1", rating(again, 5), again=True).ratings[0].value == 5
    assert len(ratings.all()[0].ratings) == 1
    assert ratings.withdraw("k1", again)
    assert not ratings.withdraw("k1", again)
    assert ratings.all()[0].ratings == ()


def test_h42_no_more_rate_than_are_allowed(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item(most=2))
    for name in ("ada", "bob"):
        ratings.rate("k1", rating(name))
    with pytest.raises(InvalidInput, match=r"no more than 2 are allowed"):
        ratings.rate("k1", rating("carol"))
    ratings.rate("k1", rating("bob", 1), again=True)
    with pytest.raises(InvalidInput, match="nothing with the key"):
        ratings.rate("nothing", rating("carol"))


def test_an_import_is_all_or_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    good = Queued(item("k2"), (rating("ada"), rating("bob")))
    assert ratings.merge([good]) == (1, 2)
    assert ratings.merge([good]) == (0, 0)
    bad = [Queued(item("k3"), (rating("ada"),)), Queued(item("k2"), (rating("carol"), rating("ADA", 1)))]
    with pytest.raises(InvalidInput) as error:
        ratings.merge(bad)
    assert [problem.at for problem in error.value.problems] == [(1, 1)]
    assert ratings.all() == [good]
    assert ratings.drop(["k2", "k3"]) == 1
    assert ratings.all() == []


def test_a_person_is_the_same_however_they_are_written() -> None:
    assert len({same_person(name) for name in ("Ada Lovelace", "ada  lovelace", "ADA LOVELACE ")}) == 1


@pytest.mark.parametrize(
    ("spoil", "kind", "what"),
    [
        (
            lambda file: file.write_bytes(b"no database at all, but long enough" * 100),
            InvalidInput,
            "cannot be read",
        ),
        (lambda file: (file.unlink(), file.symlink_to("/etc/passwd")), NotRecorded, "is a link"),
        (lambda file: _sql(file, "PRAGMA user_version = 9"), BaselinekitError, "a newer version"),
        (lambda file: _sql(file, "DROP TABLE ratings"), NotRecorded, "cannot be used"),
        (lambda file: _sql(file, "UPDATE items SET shown = '{}'"), InvalidInput, "cannot be read"),
        (lambda file: _sql(file, "UPDATE items SET method = '{'"), InvalidInput, "cannot be read"),
    ],
)
def test_a_queue_that_cannot_be_used_is_said(tmp_path: Path, spoil, kind, what: str) -> None:  # type: ignore[no-untyped-def]
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item())
    spoil(tmp_path / FILE)
    with pytest.raises(kind, match=what) as error:
        ratings.all()
    assert error.value.problems[0].code in ("BK743", "BK120")
    with pytest.raises(BaselinekitError):
        ratings.rate("k1", rating("ada"))


def _sql(file: Path, statement: str) -> None:
    db = sqlite3.connect(file)
    db.execute(statement)
    db.commit()
    db.close()


ENTERS = """\
import sys
from baselinekit.errors import InvalidInput
from baselinekit.model.grades import Rating
from baselinekit.suites.ratings import Ratings
ratings, name, count = Ratings(sys.argv[1]), sys.argv[2], int(sys.argv[3])
entered = 0
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    try:
        ratings.rate("k1", Rating(f"{name}-{number}", 4, "2026-01-01T00:00:00Z"))
        entered += 1
        print(f"{name}-{number}", flush=True)
    except InvalidInput:
        pass
"""


def _entering(root: Path, name: str, count: int) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        [sys.executable, "-c", ENTERS, str(root), name, str(count)], stdin=pipe, stdout=pipe, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.slow
def test_two_who_enter_at_once_lose_nothing_and_stay_within_what_is_allowed(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item(most=25))
    children = [_entering(tmp_path, name, 20) for name in ("ada", "bob")]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    entered = {name for child in children for name in child.communicate(timeout=60)[0].split()}
    kept = [one.rater for one in ratings.all()[0].ratings]
    assert len(kept) == len({*kept}) == 25
    assert {*kept} == entered


@pytest.mark.slow
def test_whoever_is_killed_has_entered_all_that_was_said_to_be(tmp_path: Path) -> None:
    """kill -9 at any moment: what was confirmed is there, the file is whole, and the next one goes on."""
    rounds = 25 if THOROUGH else 4
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item(most=1_000_000))
    for number in range(rounds):
        child = _entering(tmp_path, f"r{number}", 100_000)
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("go\n")
        child.stdin.flush()
        time.sleep(0.02 + 0.013 * number)
        child.send_signal(signal.SIGKILL)
        confirmed = {line for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")}
        child.wait()
        child.stdin.close()
        child.stdout.close()
        kept = {one.rater for one in ratings.all()[0].ratings}
        assert {line.strip() for line in confirmed} <= kept
        ratings.rate("k1", rating(f"after {number}"))
    db = sqlite3.connect(tmp_path / FILE)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
