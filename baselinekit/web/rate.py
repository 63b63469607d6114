"""The part of the page where people rate outputs: each person's queue, one item, and what was rated.

Each rating is written at once, by the functions of `grade`. A person sees what others have given to an
item when their own rating of it is kept."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Problem
from baselinekit.escape import escape_controls
from baselinekit.evals import agreement
from baselinekit.evals.rating import Queue, import_ratings, sheet, status_of
from baselinekit.files.languages import dump_yaml
from baselinekit.graders.by_human import checked_rating, options_of, words_for
from baselinekit.model.ratings import (
    Gold,
    ItemStatus,
    Mark,
    Rating,
    RatingItem,
    Seconds,
    Skip,
    is_adjudicator,
    same_person,
)
from baselinekit.model.values import Json
from baselinekit.schema import read_as
from baselinekit.structs import Struct, asdict, field, replace
from baselinekit.suites.ratingtables import dump_table
from baselinekit.values.equality import canonical
from baselinekit.web.markdown import part_of


class GivenRating(Struct):
    """A rating as the page sends it. `again`: it replaces the earlier one of this person."""

    key: str
    value: Json
    note: str = ""
    notes: dict[str, str] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    seconds: Seconds | None = None
    again: bool = False


class Skipped(Struct):
    key: str
    reason: str


class MadeGold(Struct):
    key: str
    value: Json = None
    why: str = ""
    practice: bool = False


class GivenFile(Struct):
    name: str
    text: str


T = TypeVar("T", bound=Struct)


def _digest(*words: str) -> bytes:
    return blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class RateDesk:
    """The queue of a project for each person. `raters`: those with a link, of whom `overlap` get each
    item."""

    def __init__(self, project: Project, queue: Queue, raters: Sequence[str], overlap: int | None):
        self._project, self._queue = project, queue
        self._raters, self._overlap = [*dict.fromkeys(map(same_person, raters))], overlap

    def _concerns(self, rater: str, item: RatingItem) -> bool:
        """Whether a person is to rate an item: who gets it depends on its key and the names alone."""
        person = same_person(rater)
        if self._overlap is None or person not in self._raters or item.gold is not None:
            return True
        others = (name for name in self._raters if not is_adjudicator(name, item.method))
        order = sorted(others, key=lambda name: _digest(name, item.key), reverse=True)
        return person in order[: self._overlap]

    def waiting(self, rater: str) -> int:
        return sum(row["state"] == "open" for row in self.queue(rater)["items"])

    def queue(self, rater: str) -> dict[str, Json]:
        """Return the items of a person in an order of their own, which stays: practice first, what they have
        skipped last."""
        rows = []
        for status in self._queue.standings():
            item = status.item
            is_judge = is_adjudicator(rater, item.method)
            if not (is_judge or self._concerns(rater, item)):
                continue
            is_practice = item.gold is not None and item.gold.practice
            has_skipped = any(same_person(skip.rater) == same_person(rater) for skip in item.skips)
            state = "rated" if item.rated_by(rater) else "closed"
            if state == "closed" and (status.wants(rater) or (item.gold is not None and not is_judge)):
                state = "skipped" if has_skipped else "open"
            if is_judge and state == "closed":
                continue  # only disputes are for an adjudicator
            order = (not is_practice, state == "skipped", _digest(same_person(rater), item.key))
            dispute = self._is_dispute(status, rater)
            rows.append((order, {"key": item.key, "case": item.case, "state": state, "dispute": dispute}))
        return {"items": [row for _, row in sorted(rows, key=lambda pair: pair[0])]}

    @staticmethod
    def _is_dispute(status: ItemStatus, rater: str) -> bool:
        return status.grade.verdict == "disputed" and is_adjudicator(rater, status.item.method)

    def item(self, rater: str, given: Mapping[str, Json], is_operator: bool = False) -> dict[str, Json]:
        """Return one item as this person may see it."""
        status = self._status(str(given.get("key", "")), rater)
        item, scale = status.item, status.item.method.rating_scale
        shown, seen = item.shown, sheet(item)
        own = next((one for one in item.ratings if same_person(one.rater) == same_person(rater)), None)
        options = [option.value for option in options_of(scale)] if scale.type == "binary" else []
        document: dict[str, Json] = {
            "key": item.key,
            "case": item.case,
            "grader": item.grader,
            "title": escape_controls(shown.title),
            "rubric": self._part(shown.rubric) if shown.rubric else None,
            "input": self._part(shown.input) if shown.input else None,
            "outputs": [{"name": name, **part} for name, part in self._outputs(item)],
            "expected": self._part(shown.expected) if shown.expected else None,
            "about": [[name, escape_controls(str(value))] for name, value in seen.about.items()],
            "scale": {"type": scale.type, "range": scale.range, "tie": scale.tie_allowed, "options": options},
            "questions": list(seen.questions),
            "choices": [list(choice) for choice in seen.choices],
            "minutes": seen.minutes,
            "practice": item.gold is not None and item.gold.practice,
            "own": asdict_rating(own) if own else None,
            "others": [],
        }
        if is_operator and own:
            document["is_gold"] = item.gold is not None
        if own or self._is_dispute(status, rater):
            others = [one for one in item.ratings if one is not own]
            document["others"] = [self._shown_rating(one, item) for one in others]
            document["verdict"] = status.grade.verdict or status.grade.outcome
        if own and item.gold is not None and item.gold.practice:
            is_right = canonical(own.value) == canonical(item.gold.value)
            words = words_for(item.gold.value, scale)
            document["gold"] = {"right": is_right, "words": words, "why": escape_controls(item.gold.why)}
        return document

    @staticmethod
    def _shown_rating(rating: Rating, item: RatingItem) -> dict[str, Json]:
        is_blind = item.method.blind_evaluation
        words = words_for(rating.value, item.method.rating_scale)
        return {
            "rater": "" if is_blind else rating.rater,
            "words": words,
            "note": escape_controls(rating.note),
        }

    def _status(self, key: str, rater: str) -> ItemStatus:
        item = self._queue.ratings.find(key)
        if item is None or not (is_adjudicator(rater, item.method) or self._concerns(rater, item)):
            raise InvalidInput(Problem("BK509", f"nothing with the key {key!r} waits", "load the page again"))
        return status_of(item)

    # What a person does.

    def rate(self, rater: str, given: Mapping[str, Json], is_operator: bool = False) -> dict[str, Json]:
        """Keep a rating. One that was kept already, as its answer did not arrive, is kept once."""
        wanted = _read(GivenRating, given)
        item = self._status(wanted.key, rater).item
        own = next((one for one in item.ratings if same_person(one.rater) == same_person(rater)), None)
        texts = dict(self._texts(item))
        for mark in wanted.marks:
            if texts.get(mark.part, "")[mark.start : mark.end] != mark.text:
                raise InvalidInput(Problem("BK741", f"{mark.text!r} is not at that place", "mark it again"))
        words = wanted.note, wanted.seconds, wanted.notes, wanted.marks
        is_again = wanted.again or same_person(rater) in item.seen_by
        rating = self._queue.masked(Rating(rater, wanted.value, self._queue.stamp(), *words, is_again))
        is_new = own is None or _words_of(own) != _words_of(rating)
        if own is not None and is_new and not wanted.again:
            message = f"{rater} has already rated {item.case}"
            raise InvalidInput(Problem("BK741", message, "look at that rating, and change it there"))
        if is_new:
            self._queue.rate(item, rating, wanted.again)
        return self.item(rater, {"key": wanted.key}, is_operator)

    def _part(self, value: Json) -> dict[str, Json]:
        """A text of an item as it is shown, without what is a secret today."""
        return part_of(self._project.redactor.mask_value(value))

    def _outputs(self, item: RatingItem) -> list[tuple[str, dict[str, Json]]]:
        outputs = item.shown.items or (item.shown.output,)
        return [
            (f"output {n}" if item.shown.items else "output", self._part(one))
            for n, one in enumerate(outputs, 1)
        ]

    def _texts(self, item: RatingItem) -> list[tuple[str, str]]:
        others = [("input", self._part(item.shown.input)), ("expected", self._part(item.shown.expected))]
        return [(name, part["raw"]) for name, part in [*self._outputs(item), *others]]

    def skip(self, rater: str, given: Mapping[str, Json]) -> dict[str, Json]:
        wanted = _read(Skipped, given)
        if not wanted.reason.strip():
            raise InvalidInput(Problem("BK741", "a skip without a reason", "say why it cannot be rated"))
        skip = Skip(rater, self._project.redactor.mask(wanted.reason), self._queue.stamp())

        def with_skip(item: RatingItem) -> RatingItem:
            others = (one for one in item.skips if same_person(one.rater) != same_person(rater))
            return replace(item, skips=(*others, skip))

        self._queue.ratings.change(self._status(wanted.key, rater).item.key, with_skip)
        return {}

    def undo(self, rater: str, given: Mapping[str, Json]) -> dict[str, Json]:
        """Take back a rating or, with `skip`, that an item was skipped."""
        key, is_skip = str(given.get("key", "")), bool(given.get("skip"))

        def without(item: RatingItem) -> RatingItem:
            person = same_person(rater)
            if is_skip:
                return replace(
                    item, skips=tuple(one for one in item.skips if same_person(one.rater) != person)
                )
            others = tuple(one for one in item.ratings if same_person(one.rater) != person)
            has_seen = len(others) < len(item.ratings) and (others or item.gold)
            seen_by = (*item.seen_by, person) if has_seen else item.seen_by
            return replace(item, ratings=others, seen_by=tuple(dict.fromkeys(seen_by)))

        self._queue.ratings.change(self._status(key, rater).item.key, without)
        return {}

    def make_gold(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Make an item one whose right rating is known, or with no value an ordinary one again."""
        wanted = _read(MadeGold, given)

        def with_gold(item: RatingItem) -> RatingItem:
            if wanted.value is None:
                return replace(item, gold=None)
            value = checked_rating(wanted.value, item.method.rating_scale, len(item.shown.items))
            return replace(item, gold=Gold(value, wanted.why, wanted.practice))

        self._queue.ratings.change(wanted.key, with_gold)
        return {}

    # What was rated.

    def agreement(self, rater: str, is_operator: bool) -> dict[str, Json]:
        """Return how far raters agree: of all items for an operator, else of those that this person has
        rated. What others gave to an item is hidden from those who can still rate it."""
        statuses = [one for one in self._queue.standings() if one.item.gold is None or is_operator]
        items = [one.item for one in statuses if is_operator or self._may_see(one, rater)]
        is_named = is_operator or not any(item.method.blind_evaluation for item in items)
        raters = [
            one
            for one in agreement.by_rater(items)
            if is_named or same_person(one.rater) == same_person(rater)
        ]
        visible = {one.item.key for one in statuses if self._may_see(one, rater) or not one.wants(rater)}
        ordinary = [item for item in items if item.gold is None]
        return {
            "criteria": [asdict(one) for one in agreement.by_criterion(ordinary)],
            "raters": [asdict(one if is_operator else replace(one, right=0, gold=0)) for one in raters],
            "disagreements": [
                {
                    "key": one.item.key,
                    "case": one.item.case,
                    "grader": one.item.grader,
                    "agreement": one.agreement,
                    "settled": one.item.decision is not None,
                    "ratings": [
                        self._shown_rating(rating, one.item)
                        for rating in one.item.ratings
                        if one.item.key in visible
                    ],
                }
                for one in agreement.disagreements(ordinary)
            ],
            "items": len(items),
        }

    def _may_see(self, status: ItemStatus, rater: str) -> bool:
        return status.item.rated_by(rater) or self._is_dispute(status, rater)

    def table(self) -> str:
        return dump_table(status.item for status in self._queue.standings())

    def labels(self) -> str:
        return dump_yaml(agreement.labels_of([status.item for status in self._queue.standings()]))

    def take(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Import a file of ratings, or none of it if anything is wrong."""
        wanted = _read(GivenFile, given)
        return asdict(import_ratings(self._queue, wanted.text, wanted.name))


def asdict_rating(rating: Rating) -> dict[str, Json]:
    marks = [asdict(mark) for mark in rating.marks]
    return {"value": rating.value, "note": rating.note, "notes": dict(rating.notes), "marks": marks}


def _words_of(rating: Rating) -> Rating:
    return replace(rating, at="", seconds=None, again=False)


def _read(kind: type[T], given: Mapping[str, Json]) -> T:
    found, problems = read_as(kind, dict(given))
    if found is None:
        raise InvalidInput(*problems)
    return found
