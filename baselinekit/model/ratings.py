"""Ratings: what people said of an output, and how far a judge agrees with them."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.graders import HumanRating
from baselinekit.model.grades import Grade
from baselinekit.model.values import Json

# Ratings: what people said of an output, and what they are shown before they say it.


def same_person(rater: str) -> str:
    """By what a rater is known: Ada and ada are one."""
    return " ".join(unicodedata.normalize("NFKC", rater).casefold().split())


@dataclass(frozen=True, slots=True)
class Rating:
    """What one person said. `value`: one of the options, a number of the scale, a list of them where there
    are several criteria, or a ranking: the numbers of the items, the best first, tied ones in a list.
    `seconds`: how long it took, where somebody measured it."""

    rater: str
    value: Json
    at: str
    note: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a rater sees. `items`: what is to be ranked, in the order in which it is shown. `about`: where the
    output comes from, which a blind evaluation hides."""

    title: str
    input: str
    rubric: str
    output: Json
    expected: str = ""
    items: tuple[Json, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RatingItem:
    """One output that waits for people: of this case, for this grader. `claims`: of a ranking, which item is
    meant to come before which, by their numbers as shown."""

    key: str
    case: str
    grader: str
    method: HumanRating
    shown: Shown
    opened_at: str
    claims: tuple[tuple[int, int], ...] = ()


def is_adjudicator(rater: str, how: HumanRating) -> bool:
    named = how.evaluators.adjudicator
    return named is not None and same_person(rater) == same_person(named)


def by_role(ratings: Sequence[Rating], how: HumanRating) -> tuple[list[Rating], Rating | None]:
    """What the raters said, and what the adjudicator did, who is none of them."""
    raters = [rating for rating in ratings if not is_adjudicator(rating.rater, how)]
    return raters, next((rating for rating in ratings if is_adjudicator(rating.rater, how)), None)


@dataclass(frozen=True, slots=True)
class Queued:
    """An item with what was said of it so far, the earliest first."""

    item: RatingItem
    ratings: tuple[Rating, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """An item, and what its ratings come to by now."""

    queued: Queued
    grade: Grade

    @property
    def is_open(self) -> bool:
        """Whether another rating is wanted and allowed."""
        how = self.queued.item.method
        raters, decided = by_role(self.queued.ratings, how)
        if self.grade.verdict == "disputed" and how.evaluators.adjudicator is not None and decided is None:
            return True
        return self.grade.outcome == "unscored" and len(raters) < how.evaluators.max_allowed

    def wants(self, rater: str) -> bool:
        """Whether this person can say something that counts. The adjudicator is asked about disputes only."""
        how = self.queued.item.method
        if is_adjudicator(rater, how):
            return self.grade.verdict == "disputed"
        return self.is_open and len(by_role(self.queued.ratings, how)[0]) < how.evaluators.max_allowed


@dataclass(frozen=True, slots=True)
class Sheet:
    """An item as one person is shown it. `questions`: each criterion, or that of the scale; `choices`: what
    can be said, with what it means; `said`: what others said, where that is not hidden, and `about` where the
    output comes from."""

    item: RatingItem
    questions: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]
    said: tuple[str, ...] = ()
    about: Mapping[str, Json] = field(default_factory=dict)
    minutes: float | None = None


# Calibration: how far a judge agrees with people about the same outputs.


State = Literal["calibrated", "not calibrated", "another judge", "another rubric", "other labels"]


@dataclass(frozen=True, slots=True)
class Label:
    """What a person says of one output: passed or failed, a score on the judge's scale, or a category."""

    output: Json
    human: bool | int | float | str
    input: Json = None
    expected: Json = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge beside people, counted. It holds for this model and this rubric, and for these labels. `both`:
    outputs that both let pass; `undecided`: those of which the judge gave no usable verdict."""

    model: str
    rubric: str
    labels: str
    both: int
    only_judge: int
    only_human: int
    neither: int
    undecided: int = 0
    kappa: float | None = None

    @property
    def decided(self) -> int:
        return self.both + self.only_judge + self.only_human + self.neither

    @property
    def accuracy(self) -> float | None:
        """The share of the same verdicts."""
        return (self.both + self.neither) / self.decided if self.decided else None


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """What a report says of a judge that has a calibration file."""

    model: str
    file: str
    state: State
    agreement: Agreement | None = None
