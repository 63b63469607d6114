"""Ratings out to a file and back: for people who sit at another machine, and for a run in CI."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf

from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.evals.grading import Queue
from baselinekit.grade import dispatch as grading
from baselinekit.model.ratings import Item, Queued, Rating, Shown, Standing
from baselinekit.model.values import Path
from baselinekit.suites import ratingfile
from baselinekit.suites.ratingfile import StatedItem, StatedRating


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import. `empty`: forms that nobody has filled in."""

    items: int
    ratings: int
    known: int
    empty: int


def exported(standings: Sequence[Standing], name: str) -> str:
    """Everything that is known of these."""
    return ratingfile.dump([one.queued for one in standings], name)


def form_for(standings: Sequence[Standing], rater: str, name: str) -> str:
    """What one person is to fill in."""
    queued = [one.queued for one in standings]
    wanted = {
        one.item.key: grading.wanted(one.item.method.rating_scale, len(one.item.shown.items))
        for one in queued
    }
    return ratingfile.form(queued, rater, wanted, name)


def imported(queue: Queue, text: str, name: str) -> Imported:
    """Take in all ratings of a file, or, where anything is wrong, none; every fault has its line."""
    stated = ratingfile.load(text, name)
    reading = _Reading(queue)
    items = [reading.item(number, item) for number, item in enumerate(stated.items)]
    if reading.problems:
        raise ratingfile.refused(text, name, reading.problems)
    try:
        new_items, new_ratings = queue.ratings.merge([one for one in items if one is not None])
    except InvalidInput as error:
        raise ratingfile.refused(
            text, name, [reading.placed(problem) for problem in error.problems]
        ) from None
    return Imported(new_items, new_ratings, reading.filled - new_ratings, reading.empty)


class _Reading:
    def __init__(self, queue: Queue):
        self.queue = queue
        self.there = {one.item.key: one.item for one in queue.ratings.all()}
        self.problems: list[Problem] = []
        self.places: dict[tuple[int, int], Path] = {}
        self.empty = self.filled = 0

    def item(self, number: int, stated: StatedItem) -> Queued | None:
        at: Path = ("items", number)
        item = self.there.get(stated.item) or self._new(stated, at)
        if item is None:
            return None
        if item.case != stated.case:
            what = f"{stated.item} is of the case {item.case}"
            self.problems.append(Problem("BK746", what, "do not change `item` or `case`", at=(*at, "case")))
        ratings: list[Rating] = []
        for place, one in enumerate(stated.ratings):
            here: Path = (*at, "ratings", place)
            if one.value is None:
                self.empty += 1
                continue
            try:
                rating = self._rating(item, one)
            except BaselinekitError as error:
                self.problems += [replace(problem, at=(*here, "value")) for problem in error.problems]
            else:
                self.places[number, len(ratings)] = here
                ratings.append(rating)
        self.filled += len(ratings)
        return Queued(item, tuple(ratings))

    def placed(self, problem: Problem) -> Problem:
        number, place = problem.at or (0, 0)
        return replace(problem, at=self.places.get((int(number), int(place)), ()))

    def _rating(self, item: Item, stated: StatedRating) -> Rating:
        value = grading.checked(stated.value, item.method.rating_scale, len(item.shown.items))
        seconds = None if stated.seconds is None else float(stated.seconds)
        if seconds is not None and not 0 <= seconds < inf:
            raise InvalidInput(Problem("BK746", f"{seconds} seconds are no time", "leave `seconds` out"))
        if stated.at is not None and not _is_time(stated.at):
            mend = "such as 2026-01-31T14:00:00Z, or leave `at` out"
            raise InvalidInput(Problem("BK746", f"{stated.at!r} is no time", mend))
        rating = Rating(stated.rater, value, stated.at or self.queue.stamp(), stated.note, seconds)
        return self.queue.fit(rating)

    def _new(self, stated: StatedItem, at: Path) -> Item | None:
        if stated.grading is None or stated.shown is None:
            mend = "run the suite first, or export it there without --as"
            what = f"{stated.case} ({stated.item}) is not in the queue, and the file does not say what it is"
            self.problems.append(Problem("BK745", what, mend, at=(*at, "item")))
            return None
        told = stated.shown
        shown = Shown(
            told.title, told.input, told.rubric, told.output, told.expected, tuple(told.items), told.about
        )
        method, opened = stated.grading, stated.opened_at or self.queue.stamp()
        claims = [tuple(pair) for pair in stated.claims if len(pair) == 2]
        item = Item(
            stated.item, stated.case, stated.grader, method, shown, opened, tuple((a, b) for a, b in claims)
        )
        wrong = [
            replace(problem, at=(*at, "grading", *(problem.at or ())[1:]))
            for problem in grading.scale_problems(method)
        ]
        numbers = range(1, len(shown.items) + 1)
        if method.rating_scale.type == "ranking" and not (
            claims and all(one in numbers for pair in claims for one in pair)
        ):
            wrong.append(Problem("BK746", "a ranking without what it claims", "export it again", at=at))
        self.problems += wrong
        return None if wrong else item


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
