"""Ratings: what people think of an output, and what they are shown before they rate it."""

import unicodedata
from typing import Annotated

from baselinekit.model.grades import Grade, HumanRating
from baselinekit.model.values import Json
from baselinekit.structs import Count, Meta, Struct, field


def same_person(rater: str) -> str:
    """The key that identifies a rater: Ada and ada are the same person."""
    return " ".join(unicodedata.normalize("NFKC", rater).casefold().split())


_Moment = Annotated[
    str,
    Meta(
        pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?\Z",
        description="a time, such as 2026-01-31T14:00:00Z",
    ),
]
_TAKEN = Meta(ge=0, le=1_000_000_000, description="a number of seconds")
Seconds = Annotated[int, _TAKEN] | Annotated[float, _TAKEN]
_ItemKey = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z", description="the key of an item, 16 hex digits")]


class Mark(Struct):
    """A stretch of a text that a rater has marked. `part`: what it is in: `output`, `input`, `expected`."""

    part: str
    start: Count
    end: Count
    text: str
    note: str = ""


class Rating(Struct):
    """The rating of one person. `value`: one of the options, a number of the scale, a list of these if there
    are several criteria, or a ranking: the numbers of the items, the best first, tied ones in a list; None in
    a form that is not filled in. `seconds`: how long it took, if measured; `notes`: a note on a criterion, by
    its name; `again`: it was entered when this person had seen those of others."""

    rater: str
    value: Json = None
    at: _Moment = ""
    note: str = ""
    seconds: Seconds | None = None
    notes: dict[str, str] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    again: bool = False


class Skip(Struct):
    """That a person could not rate an item, and why."""

    rater: str
    reason: str
    at: _Moment = ""


class Gold(Struct):
    """The right rating of an item, which shows how well people rate. With `practice` it comes first, and the
    right rating is shown afterwards."""

    value: Json
    why: str = ""
    practice: bool = False


class RatingView(Struct):
    """What a rater sees. `items`: the items to rank, in the order in which they are shown. `about`: the
    origin of the output, which a blind evaluation hides."""

    title: str
    input: str = ""
    rubric: str = ""
    output: Json = None
    expected: str = ""
    items: tuple[Json, ...] = ()
    about: dict[str, Json] = field(default_factory=dict)


class RatingItem(Struct):
    """One output that people rate, with its case, its grader and its ratings so far, the earliest first: in
    the queue, and in a file of ratings. `claims`: for a ranking, which item is expected before which, by
    their numbers as shown; `seen_by`: who has seen the ratings of others, or the right one, and took the own
    one back."""

    key: _ItemKey = field(name="item")
    case: str
    grader: str
    method: HumanRating = field(name="grading")
    shown: RatingView
    opened_at: _Moment
    claims: tuple[tuple[int, int], ...] = ()
    ratings: tuple[Rating, ...] = ()
    skips: tuple[Skip, ...] = ()
    gold: Gold | None = None
    seen_by: tuple[str, ...] = ()

    @property
    def raters(self) -> list[Rating]:
        """The ratings of all but the adjudicator, who is not one of the raters."""
        return [rating for rating in self.ratings if not is_adjudicator(rating.rater, self.method)]

    @property
    def decision(self) -> Rating | None:
        """The rating of the adjudicator."""
        return next((rating for rating in self.ratings if is_adjudicator(rating.rater, self.method)), None)

    def rated_by(self, rater: str) -> bool:
        return any(same_person(rating.rater) == same_person(rater) for rating in self.ratings)


def is_adjudicator(rater: str, method: HumanRating) -> bool:
    adjudicator = method.evaluators.adjudicator
    return adjudicator is not None and same_person(rater) == same_person(adjudicator)


class ItemStatus(Struct):
    """An item, and the grade that its ratings give so far."""

    item: RatingItem
    grade: Grade

    @property
    def takes_raters(self) -> bool:
        return len(self.item.raters) < self.item.method.evaluators.max_allowed

    @property
    def is_open(self) -> bool:
        """Whether another rating is needed and allowed."""
        awaits_decision = self.item.method.evaluators.adjudicator is not None and self.item.decision is None
        if self.grade.verdict == "disputed" and awaits_decision:
            return True
        return self.grade.outcome == "unscored" and self.takes_raters

    def wants(self, rater: str) -> bool:
        """Whether a rating of this person would count. The adjudicator is asked only about disputes."""
        if is_adjudicator(rater, self.item.method):
            return self.grade.verdict == "disputed" and not self.item.rated_by(rater)
        return self.is_open and self.takes_raters and not self.item.rated_by(rater)


class Sheet(Struct):
    """An item as it is shown to one person. `questions`: the criteria, or the question of the scale;
    `choices`: the possible answers with their meaning; `said`: what others said, if that is not hidden;
    `about`: the origin of the output."""

    item: RatingItem
    questions: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]
    said: tuple[str, ...] = ()
    about: dict[str, Json] = field(default_factory=dict)
    minutes: float | None = None
