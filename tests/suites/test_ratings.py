"""The queue of ratings: each person rates once, several rate at once, and no rating is lost."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.model.grades import Evaluators, HumanRating, RatingScale
from baselinekit.model.ratings import Rating, RatingItem, RatingView
from baselinekit.suites.ratings import FOLDER, Ratings

NOW = "2026-01-01T00:00:00Z"
FIRST, SECOND, THIRD = "1" * 16, "2" * 16, "3" * 16


def item(key: str = FIRST, most: int = 5, ratings: tuple[Rating, ...] = ()) -> RatingItem:
    how = HumanRating("cli", Evaluators(2, most), RatingScale(labels={"1": "Poor"}), slots={"a": "b"})
    output = {"a": [1, 1.5, "\ud800", None]}
    shown = RatingView("title", "input", "rubric", output, items=("one", 2), about={"model": "m"})
    return RatingItem(key, "greeting", "people", how, shown, NOW, ((1, 2),), ratings)


def rating(rater: str, value: Any = 4, note: str = "why") -> Rating:
    return Rating(rater, value, NOW, note, 1.5)


def test_enqueue_keeps_items_as_they_are_in_private_files(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    assert ratings.all() == []
    assert not (tmp_path / ".baselinekit").exists()  # reading leaves nothing behind
    assert ratings.enqueue(item()) == ratings.enqueue(item()) == item()
    ratings.rate(FIRST, rating("Ada"))
    assert ratings.all() == [ratings.find(FIRST)] == [item(ratings=(rating("Ada"),))]
    assert ratings.find(SECOND) is None
    assert (tmp_path / FOLDER).stat().st_mode & 0o777 == 0o700
    changed = ratings.enqueue(item(most=3))  # how many rate is as stated last
    assert (changed.method.evaluators.max_allowed, len(changed.ratings)) == (3, 1)


@pytest.mark.parametrize("again", ["ada", " ADA ", "\uff41da"])
def test_h42_rate_twice_or_more_than_allowed_is_refused(tmp_path: Path, again: str) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item())
    ratings.rate(FIRST, rating("ada"))
    with pytest.raises(InvalidInput, match="has already rated greeting"):
        ratings.rate(FIRST, rating(again, 5))
    assert [kept.value for kept in ratings.rate(FIRST, rating(again, 5), again=True).ratings] == [5]
    assert [ratings.withdraw(FIRST, again) for _ in range(2)] == [True, False]
    assert ratings.all() == [item()]
    ratings.enqueue(item(most=1))
    ratings.rate(FIRST, rating("ada"))
    with pytest.raises(InvalidInput, match=r"no more than 1 are allowed"):
        ratings.rate(FIRST, rating("carol"))
    with pytest.raises(InvalidInput, match="nothing with the key"):
        ratings.rate(SECOND, rating("carol"))


@pytest.mark.parametrize("bad", [*map(rating, ("", "  ", "a\x1b[31m")), rating("a", 9)])
def test_rate_with_a_wrong_name_or_value_is_refused(tmp_path: Path, bad: Rating) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item())
    with pytest.raises(InvalidInput):
        ratings.rate(FIRST, bad)
    assert ratings.all() == [item()]


def test_merge_is_all_or_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    ratings = Ratings(str(tmp_path))
    good = item(SECOND, ratings=(rating("ada"), rating("bob")))
    assert [ratings.merge({0: good}) for _ in range(2)] == [(1, 2), (0, 0)]
    bad = {0: item(THIRD, ratings=(rating("ada"),)), 3: item(SECOND, ratings=(rating("c"), rating("ADA", 1)))}
    with pytest.raises(InvalidInput) as error:
        ratings.merge(bad)
    assert [problem.at for problem in error.value.problems] == [("items", 3, "ratings", 1)]
    assert ratings.all() == [good]
    ratings.drop([SECOND, THIRD])
    assert ratings.all() == []


def link_folder_elsewhere(file: Path) -> None:
    project = file.parents[2]
    file.parent.symlink_to(file.parent.rename(f"{project}-elsewhere"))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b"no JSON"),
        lambda file: file.write_text(file.read_text().replace("ratings/1", "ratings/2")),
        lambda file: file.write_text(file.read_text().replace('"value":4', '"value":9')),
        lambda file: (file.unlink(), file.symlink_to("/etc/passwd")),
        link_folder_elsewhere,
    ],
)
def test_queue_that_cannot_be_read_is_an_error_and_stays(tmp_path: Path, spoil: Any) -> None:
    ratings = Ratings(str(tmp_path))
    ratings.enqueue(item(ratings=(rating("ada"),)))
    spoil(tmp_path / FOLDER / f"{FIRST}.json")
    for use in (lambda: ratings.find(FIRST) or ratings.all(), lambda: ratings.rate(FIRST, rating("bob"))):
        with pytest.raises(BaselinekitError):
            use()


ENTERS = """\
import sys
from baselinekit.errors import InvalidInput
from baselinekit.model.ratings import Rating
from baselinekit.suites.ratings import Ratings
ratings, name = Ratings(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(10_000):
    try:
        ratings.rate("1" * 16, Rating(f"{name}-{number}", 4, "2026-01-01T00:00:00Z"))
    except InvalidInput:
        break
    print(f"{name}-{number}", flush=True)
"""


@pytest.mark.slow
def test_rate_by_two_processes_of_which_one_is_killed_loses_nothing(tmp_path: Path) -> None:
    """Confirmed ratings are there after a kill -9, and the other process goes on, up to the limit."""
    ratings, pipe = Ratings(str(tmp_path)), subprocess.PIPE
    ratings.enqueue(item(most=30))
    command = [sys.executable, "-c", ENTERS, str(tmp_path)]
    names = ("ada", "bob")
    children = [subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True) for name in names]
    assert [child.stdout and child.stdout.readline() for child in children] == ["ready\n"] * 2
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    first = children[0].stdout.readline() if children[0].stdout else ""
    children[0].send_signal(signal.SIGKILL)
    confirmed = {line for child in children for line in child.communicate(timeout=60)[0].splitlines(True)}
    kept = [entry.rater for entry in ratings.all()[0].ratings]
    assert len(kept) == len({*kept}) == 30
    assert {line.strip() for line in (*confirmed, first) if line.endswith("\n")} <= {*kept}
