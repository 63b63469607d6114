"""What waits for people: put into the queue by a run, rated by anybody, picked up by the next run.

A run never waits: its case is unscored until enough people have rated it, and its result file can be finished
later without asking anybody else again."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from math import inf

from baselinekit import metrics
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, NotRecorded, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade import by_human
from baselinekit.model.evals import Case
from baselinekit.model.grades import (
    Grade,
    Grader,
    HumanRating,
    Queued,
    Rating,
    RatingItem,
    Sheet,
    Shown,
    Standing,
    by_role,
    same_person,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.suites import ratings
from baselinekit.suites.ratings import Ratings, StatedItem, StatedRating
from baselinekit.texts import already_masked, clipped
from baselinekit.variables import Redactor
from baselinekit.workflow.project import Project

_LONGEST_NAME = 100
_LONGEST_NOTE = 10_000
_SHORTEST_KEY = 6


@frozen
class Queue:
    """The queue of a project. Everything that shows or enters ratings goes through here. `left`: takes what
    somebody else is to put into it; without it that is done here."""

    project: Project
    now: Callable[[], float]
    left: Callable[[RatingItem], None] | None = None

    @property
    def ratings(self) -> Ratings:
        return Ratings(self.project.root)

    def rated(self, case: Case, grader: Grader, observation: Observation) -> Grade:
        """The client of a human grader: what people have said of this output so far."""
        redactor = self.project.redactor.knowing(observation.output)
        output = redactor.mask_value(observation.output)
        assert isinstance(grader.method, HumanRating)
        how = _without_secrets(grader.method, redactor)
        grader = replace(grader, method=how)
        shown, claims = by_human.briefing(case, grader, output, observation.environment)
        key = by_human.item_key(case, grader, output)
        masked = {name: redactor.mask_value(value) for name, value in asdict(shown).items()}
        shown = Shown(**{**masked, "items": tuple(masked["items"])})
        item = RatingItem(key, case.id, grader.name, how, shown, self.stamp(), claims)
        try:
            queued = self._enqueued(item)
        except NotRecorded as error:
            grade = by_human.human_grade(grader, item, ())
            return replace(
                grade, reason=f"{grade.reason} (it could not be queued: {error.problems[0].message})"
            )
        for rating in queued.ratings:  # an import could have brought anything
            by_human.checked_rating(rating.value, how.rating_scale, len(shown.items))
        return by_human.human_grade(grader, item, queued.ratings)

    def _enqueued(self, item: RatingItem) -> Queued:
        if self.left is None:
            return self.ratings.enqueue(item)
        self.left(item)
        there = self.ratings.find(item.key)
        return Queued(item) if there is None else replace(there, item=replace(there.item, method=item.method))

    def standings(self, wanted: Sequence[str] = ()) -> list[Standing]:
        """What is in the queue: all of it, or the cases and keys that are named."""
        everything = self.ratings.all()
        chosen = [queued for queued in everything if not wanted or _is_named(queued.item, wanted)]
        for word in wanted:
            if not any(_is_named(queued.item, [word]) for queued in everything):
                known = {queued.item.case for queued in everything}
                hint = nearest(word, known) or "baselinekit grade --list shows what does"
                raise NothingSelected(Problem("BK745", f"nothing called {word!r} waits for people", hint))
        return [self.standing(queued) for queued in chosen]

    def waiting(self, wanted: Sequence[str], rater: str) -> list[Standing]:
        """What a person can rate now."""
        return [one for one in self.standings(wanted) if one.wants(rater) and not rated_by(one, rater)]

    def standing(self, queued: Queued) -> Standing:
        return Standing(queued, by_human.human_grade(grader_of(queued.item), queued.item, queued.ratings))

    def rate(self, item: RatingItem, rating: Rating, again: bool = False) -> Standing:
        """Enter what somebody said, and tell what it comes to."""
        value = by_human.checked_rating(rating.value, item.method.rating_scale, len(item.shown.items))
        rating = replace(rating, value=value)
        return self.standing(self.ratings.rate(item.key, self.fit(rating), again))

    def fit(self, rating: Rating) -> Rating:
        """A rating as it can be kept: no secret in its note, and nothing endless."""
        rater, note = (
            text.encode("utf-8", "backslashreplace").decode() for text in (rating.rater, rating.note)
        )
        rater = check_rater(rater)
        if len(note) > _LONGEST_NOTE:
            what = f"the note has {len(note):,} characters"
            raise InvalidInput(Problem("BK744", what, f"at most {_LONGEST_NOTE:,}"))
        return replace(rating, rater=rater, note=self.project.redactor.mask(note))

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def agreements(self, standings: Sequence[Standing]) -> list[dict[str, Json]]:
        """How far raters agree beyond chance, by grader, over all that two or more of them have rated."""
        by_grader: dict[tuple[str, str], list[Queued]] = {}
        for one in standings:
            scale = one.queued.item.method.rating_scale.type
            raters, _ = by_role(one.queued.ratings, one.queued.item.method)  # who decides is none of them
            if scale != "ranking" and len(raters) > 1:
                queued = replace(one.queued, ratings=tuple(raters))
                by_grader.setdefault((one.queued.item.grader, scale), []).append(queued)
        return [_agreement(grader, scale, few) for (grader, scale), few in by_grader.items() if len(few) > 1]


def grader_of(item: RatingItem) -> Grader:
    """The grader that an item waits for, as far as the queue knows it."""
    return Grader(item.grader, "human", item.method)


def rated_by(standing: Standing, rater: str) -> bool:
    """Whether this person has said something already."""
    who = same_person(rater)
    return any(same_person(rating.rater) == who for rating in standing.queued.ratings)


def sheet(standing: Standing) -> Sheet:
    """What a person is shown. A blind evaluation hides where the output comes from, and what others said."""
    item, how = standing.queued.item, standing.queued.item.method
    scale, blind = how.rating_scale, how.blind_evaluation
    if scale.type == "binary":
        options = by_human.options_of(scale)
        about = [
            f"{one.label or one.value}" + (f": {one.description}" if one.description else "")
            for one in options
        ]
        choices = [(str(number), text) for number, text in enumerate(about, 1)]
    elif scale.type == "likert":
        low, high = scale.range
        named = sorted({low, high, *scale.labels}) if high - low > 9 else range(low, high + 1)
        choices = [(str(number), scale.labels.get(number, "")) for number in named]
    else:
        choices = [(str(number), "") for number in range(1, len(item.shown.items) + 1)]
    said = [
        f"{one.rater}: {by_human.words_for(one.value, scale)}" + (f" ({one.note})" if one.note else "")
        for one in standing.queued.ratings
    ]
    return Sheet(
        item,
        tuple(scale.criteria) or (scale.description,),
        tuple(choices),
        () if blind else tuple(said),
        {} if blind else item.shown.about,
        None if how.time_limit_minutes is None else float(how.time_limit_minutes),
    )


def parse_typed(item: RatingItem, text: str) -> Json:
    """A value as somebody typed it."""
    return by_human.value_of(text, item.method.rating_scale, len(item.shown.items))


def describe_rating(item: RatingItem, value: Json) -> str:
    """A value as people read it."""
    return by_human.words_for(value, item.method.rating_scale)


def describe_choices(item: RatingItem) -> str:
    """What can be said of an item, in words."""
    return by_human.describe_choices(item.method.rating_scale, len(item.shown.items))


def is_late(item: RatingItem, rating: Rating) -> bool:
    return by_human.is_late(rating, item.method)


def option_value(item: RatingItem, number: int) -> Json:
    """The value of the option with this number, from 1."""
    return by_human.options_of(item.method.rating_scale)[number - 1].value


def check_rater(name: str) -> str:
    """A name that can stand in a list; InvalidInput for any other."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        what = (
            f"{clipped(name, _LONGEST_NAME, already_masked, counted=False)!r} is not a name"
            if name
            else "it is not known who rates"
        )
        raise InvalidInput(Problem("BK744", what, "as in --as ada"))
    return name


def _is_named(item: RatingItem, wanted: Sequence[str]) -> bool:
    return any(
        fnmatchcase(item.case, word) or (len(word) >= _SHORTEST_KEY and item.key.startswith(word))
        for word in wanted
    )


def _without_secrets(how: HumanRating, redactor: Redactor) -> HumanRating:
    """The grader as it may be kept: whatever people are told in it."""
    mask, scale = redactor.mask_value, how.rating_scale
    told = replace(
        scale,
        labels={number: mask(label) for number, label in scale.labels.items()},
        criteria=mask(scale.criteria),
        description=mask(scale.description),
        options=[
            replace(one, label=mask(one.label), description=mask(one.description)) for one in scale.options
        ],
    )
    return replace(how, rubric=mask(how.rubric), slots=mask(how.slots), rating_scale=told)


def _agreement(grader: str, scale: str, queued: Sequence[Queued]) -> dict[str, Json]:
    """Krippendorff's alpha, and Cohen's kappa where the same two people rated everything. With several
    criteria each is a unit of its own."""
    raters = sorted({same_person(rating.rater) for one in queued for rating in one.ratings})
    units: list[list[Json]] = []
    for one in queued:
        said = {
            same_person(r.rater): r.value if isinstance(r.value, list) else [r.value] for r in one.ratings
        }
        width = max(map(len, said.values()))
        units += [[said[who][n] if who in said else None for who in raters] for n in range(width)]
    level = "nominal" if scale == "binary" else "ordinal"
    found: dict[str, Json] = {"grader": grader, "items": len(queued), "raters": len(raters)}
    alpha = metrics.krippendorff(units, "nominal" if scale == "binary" else "ordinal")
    found[f"Krippendorff's alpha ({level})"] = None if alpha is None else round(alpha, 4)
    if len(raters) == 2:
        kappa = metrics.cohen_kappa([unit[0] for unit in units], [unit[1] for unit in units])
        found["Cohen's kappa"] = None if kappa is None else round(kappa, 4)
    return found


# Ratings out to a file and back: for people who sit at another machine, and for a run in CI.


@frozen
class Imported:
    """What came of an import. `empty`: forms that nobody has filled in."""

    items: int
    ratings: int
    known: int
    empty: int


def export_ratings(standings: Sequence[Standing], name: str) -> str:
    """Everything that is known of these."""
    return ratings.dump_ratings([one.queued for one in standings], name)


def form_for(standings: Sequence[Standing], rater: str, name: str) -> str:
    """What one person is to fill in."""
    queued = [one.queued for one in standings]
    wanted = {
        one.item.key: by_human.describe_choices(one.item.method.rating_scale, len(one.item.shown.items))
        for one in queued
    }
    return ratings.rating_form(queued, rater, wanted, name)


def import_ratings(queue: Queue, text: str, name: str) -> Imported:
    """Take in all ratings of a file, or, where anything is wrong, none; every fault has its line."""
    stated = ratings.load_ratings(text, name)
    reading = _RatingReader(queue)
    items = [reading.item(number, item) for number, item in enumerate(stated.items)]
    if reading.problems:
        raise ratings.refused_ratings(text, name, reading.problems)
    try:
        new_items, new_ratings = queue.ratings.merge([one for one in items if one is not None])
    except InvalidInput as error:
        raise ratings.refused_ratings(
            text, name, [reading.placed(problem) for problem in error.problems]
        ) from None
    return Imported(new_items, new_ratings, reading.filled - new_ratings, reading.empty)


class _RatingReader:
    def __init__(self, queue: Queue):
        self.queue = queue
        self.there = {one.item.key: one.item for one in queue.ratings.all()}
        self.problems: list[Problem] = []
        self.places: dict[tuple[int, int], Path] = {}
        self.empty = self.filled = 0

    def item(self, number: int, stated: StatedItem) -> Queued | None:
        at: Path = ("items", number)
        item = self.there.get(stated.item) or self.new(stated, at)
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
                rating = self.rating(item, one)
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

    def rating(self, item: RatingItem, stated: StatedRating) -> Rating:
        value = by_human.checked_rating(stated.value, item.method.rating_scale, len(item.shown.items))
        seconds = None if stated.seconds is None else float(stated.seconds)
        if seconds is not None and not 0 <= seconds < inf:
            raise InvalidInput(
                Problem("BK746", f"{seconds} seconds are not a valid time", "leave `seconds` out")
            )
        try:
            is_time = stated.at is None or datetime.fromisoformat(stated.at).tzinfo is not None
        except ValueError:
            is_time = False
        if not is_time:
            hint = "such as 2026-01-31T14:00:00Z, or leave `at` out"
            raise InvalidInput(Problem("BK746", f"{stated.at!r} is not a time", hint))
        rating = Rating(stated.rater, value, stated.at or self.queue.stamp(), stated.note, seconds)
        return self.queue.fit(rating)

    def new(self, stated: StatedItem, at: Path) -> RatingItem | None:
        if stated.grading is None or stated.shown is None:
            hint = "run the suite first, or export it there without --as"
            what = f"{stated.case} ({stated.item}) is not in the queue, and the file does not say what it is"
            self.problems.append(Problem("BK745", what, hint, at=(*at, "item")))
            return None
        told = stated.shown
        shown = Shown(
            told.title, told.input, told.rubric, told.output, told.expected, tuple(told.items), told.about
        )
        method, opened = stated.grading, stated.opened_at or self.queue.stamp()
        claims = [tuple(pair) for pair in stated.claims if len(pair) == 2]
        item = RatingItem(
            stated.item, stated.case, stated.grader, method, shown, opened, tuple((a, b) for a, b in claims)
        )
        wrong = [
            replace(problem, at=(*at, "grading", *(problem.at or ())[1:]))
            for problem in by_human.scale_problems(method)
        ]
        numbers = range(1, len(shown.items) + 1)
        if method.rating_scale.type == "ranking" and not (
            claims and all(one in numbers for pair in claims for one in pair)
        ):
            wrong.append(Problem("BK746", "a ranking without its claim", "export it again", at=at))
        self.problems += wrong
        return None if wrong else item
