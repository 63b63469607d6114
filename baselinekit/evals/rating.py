"""Outputs for people to rate: a run queues them, people rate them, and the next run uses their ratings.

A run never waits: its case is unscored until enough people have rated it, and its result file can be finished
later without asking a model again."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from math import inf

from baselinekit import metrics
from baselinekit.commands.project import Project
from baselinekit.errors import (
    BaselinekitError,
    InvalidInput,
    NothingSelected,
    NotRecorded,
    Problem,
    suggest,
)
from baselinekit.graders import by_human
from baselinekit.model.evals import Case
from baselinekit.model.grades import (
    Grade,
    Grader,
    HumanRating,
    ItemStatus,
    Queued,
    Rating,
    RatingItem,
    RatingView,
    Sheet,
    same_person,
    split_by_role,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.secrets.variables import Redactor
from baselinekit.structs import Struct, asdict, replace
from baselinekit.suites import ratings
from baselinekit.suites.ratings import Ratings, StatedItem, StatedRating
from baselinekit.values.texts import mask_and_clip, no_mask

_LONGEST_NAME = 100
_LONGEST_NOTE = 10_000
_SHORTEST_KEY = 6


class Queue(Struct):
    """The queue of a project. Everything that shows or enters ratings goes through here. `put_aside`: takes
    the items that another process puts into the queue; without it they are put into it here."""

    project: Project
    now: Callable[[], float]
    put_aside: Callable[[RatingItem], None] | None = None

    @property
    def ratings(self) -> Ratings:
        return Ratings(self.project.root)

    def rated(self, case: Case, grader: Grader, observation: Observation) -> Grade:
        """Grade an output by the ratings that people have given so far: the client of a human grader."""
        redactor = self.project.redactor.knowing(observation.output)
        output = redactor.mask_value(observation.output)
        assert isinstance(grader.method, HumanRating)
        method = _without_secrets(grader.method, redactor)
        grader = replace(grader, method=method)
        shown, claims = by_human.rating_material(case, grader, output, observation.environment)
        key = by_human.item_key(case, grader, output)
        masked = {name: redactor.mask_value(value) for name, value in asdict(shown).items()}
        shown = RatingView(**{**masked, "items": tuple(masked["items"])})
        item = RatingItem(key, case.id, grader.name, method, shown, self.stamp(), claims)
        try:
            entry = self._enqueued(item)
        except NotRecorded as error:
            grade = by_human.human_grade(grader, item, ())
            return replace(
                grade, reason=f"{grade.reason} (it could not be queued: {error.problems[0].message})"
            )
        for rating in entry.ratings:  # an import could have brought anything
            by_human.checked_rating(rating.value, method.rating_scale, len(shown.items))
        return by_human.human_grade(grader, item, entry.ratings)

    def _enqueued(self, item: RatingItem) -> Queued:
        if self.put_aside is None:
            return self.ratings.enqueue(item)
        self.put_aside(item)
        entry = self.ratings.find(item.key)
        return Queued(item) if entry is None else replace(entry, item=replace(entry.item, method=item.method))

    def standings(self, names: Sequence[str] = ()) -> list[ItemStatus]:
        """Everything in the queue, or the cases and keys that are named."""
        entries = self.ratings.all()
        chosen = [entry for entry in entries if not names or _is_named(entry.item, names)]
        for word in names:
            if not any(_is_named(entry.item, [word]) for entry in entries):
                case_ids = {entry.item.case for entry in entries}
                hint = suggest(word, case_ids) or "baselinekit grade --list shows what does"
                raise NothingSelected(Problem("BK745", f"nothing called {word!r} waits for people", hint))
        return [self.standing(entry) for entry in chosen]

    def waiting(self, names: Sequence[str], rater: str) -> list[ItemStatus]:
        """The items that a person can rate now."""
        return [
            standing
            for standing in self.standings(names)
            if standing.wants(rater) and not rated_by(standing, rater)
        ]

    def standing(self, queued: Queued) -> ItemStatus:
        return ItemStatus(queued, by_human.human_grade(grader_of(queued.item), queued.item, queued.ratings))

    def rate(self, item: RatingItem, rating: Rating, again: bool = False) -> ItemStatus:
        """Enter a rating, and return where its item stands now."""
        value = by_human.checked_rating(rating.value, item.method.rating_scale, len(item.shown.items))
        rating = replace(rating, value=value)
        return self.standing(self.ratings.rate(item.key, self.fit(rating), again))

    def fit(self, rating: Rating) -> Rating:
        """The rating as it is stored: no secrets in its note, and no name or note that is too long."""
        rater, note = (
            text.encode("utf-8", "backslashreplace").decode() for text in (rating.rater, rating.note)
        )
        rater = check_rater(rater)
        if len(note) > _LONGEST_NOTE:
            message = f"the note has {len(note):,} characters"
            raise InvalidInput(Problem("BK744", message, f"at most {_LONGEST_NOTE:,}"))
        return replace(rating, rater=rater, note=self.project.redactor.mask(note))

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def agreements(self, standings: Sequence[ItemStatus]) -> list[dict[str, Json]]:
        """How far raters agree beyond chance, by grader, over all items with two or more raters."""
        by_grader: dict[tuple[str, str], list[Queued]] = {}
        for standing in standings:
            scale = standing.queued.item.method.rating_scale.type
            # without the person who decides
            raters, _ = split_by_role(standing.queued.ratings, standing.queued.item.method)
            if scale != "ranking" and len(raters) > 1:
                queued = replace(standing.queued, ratings=tuple(raters))
                by_grader.setdefault((standing.queued.item.grader, scale), []).append(queued)
        return [
            _agreement(grader, scale, entries)
            for (grader, scale), entries in by_grader.items()
            if len(entries) > 1
        ]


def grader_of(item: RatingItem) -> Grader:
    """The grader of an item, as far as the queue knows it."""
    return Grader(item.grader, "human", item.method)


def rated_by(standing: ItemStatus, rater: str) -> bool:
    """Whether this person has rated the item already."""
    person = same_person(rater)
    return any(same_person(rating.rater) == person for rating in standing.queued.ratings)


def sheet(standing: ItemStatus) -> Sheet:
    """What a rater sees. A blind evaluation hides where the output comes from, and the ratings of others."""
    item, method = standing.queued.item, standing.queued.item.method
    scale, blind = method.rating_scale, method.blind_evaluation
    if scale.type == "binary":
        options = by_human.options_of(scale)
        texts = [
            f"{option.label or option.value}" + (f": {option.description}" if option.description else "")
            for option in options
        ]
        choices = [(str(number), text) for number, text in enumerate(texts, 1)]
    elif scale.type == "likert":
        low, high = scale.range
        values = sorted({low, high, *scale.labels}) if high - low > 9 else range(low, high + 1)
        choices = [(str(value), scale.labels.get(value, "")) for value in values]
    else:
        choices = [(str(number), "") for number in range(1, len(item.shown.items) + 1)]
    ratings = [
        f"{rating.rater}: {by_human.words_for(rating.value, scale)}"
        + (f" ({rating.note})" if rating.note else "")
        for rating in standing.queued.ratings
    ]
    return Sheet(
        item,
        tuple(scale.criteria) or (scale.description,),
        tuple(choices),
        () if blind else tuple(ratings),
        {} if blind else item.shown.about,
        None if method.time_limit_minutes is None else float(method.time_limit_minutes),
    )


def parse_typed(item: RatingItem, text: str) -> Json:
    """Parse the value of a rating as it was typed."""
    return by_human.value_of(text, item.method.rating_scale, len(item.shown.items))


def describe_rating(item: RatingItem, value: Json) -> str:
    """The value of a rating in words."""
    return by_human.words_for(value, item.method.rating_scale)


def describe_choices(item: RatingItem) -> str:
    """The possible ratings of an item, in words."""
    return by_human.describe_choices(item.method.rating_scale, len(item.shown.items))


def is_late(item: RatingItem, rating: Rating) -> bool:
    return by_human.is_late(rating, item.method)


def option_value(item: RatingItem, number: int) -> Json:
    """The value of the option with this number, from 1."""
    return by_human.options_of(item.method.rating_scale)[number - 1].value


def check_rater(name: str) -> str:
    """The name of a rater, with single blanks; InvalidInput for one that cannot be shown in a list."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        message = (
            f"{mask_and_clip(name, _LONGEST_NAME, no_mask, counted=False)!r} is not a name"
            if name
            else "it is not known who rates"
        )
        raise InvalidInput(Problem("BK744", message, "as in --as ada"))
    return name


def _is_named(item: RatingItem, names: Sequence[str]) -> bool:
    return any(
        fnmatchcase(item.case, word) or (len(word) >= _SHORTEST_KEY and item.key.startswith(word))
        for word in names
    )


def _without_secrets(method: HumanRating, redactor: Redactor) -> HumanRating:
    """The grader without secrets in any of the texts that people see."""
    mask, scale = redactor.mask_value, method.rating_scale
    masked_scale = replace(
        scale,
        labels={number: mask(label) for number, label in scale.labels.items()},
        criteria=mask(scale.criteria),
        description=mask(scale.description),
        options=[
            replace(option, label=mask(option.label), description=mask(option.description))
            for option in scale.options
        ],
    )
    return replace(method, rubric=mask(method.rubric), slots=mask(method.slots), rating_scale=masked_scale)


def _agreement(grader: str, scale: str, entries: Sequence[Queued]) -> dict[str, Json]:
    """Krippendorff's alpha, and Cohen's kappa where only two people rated. Of several criteria each one is a
    unit of its own."""
    raters = sorted({same_person(rating.rater) for entry in entries for rating in entry.ratings})
    units: list[list[Json]] = []
    for entry in entries:
        values_by_rater = {
            same_person(rating.rater): rating.value if isinstance(rating.value, list) else [rating.value]
            for rating in entry.ratings
        }
        width = max(map(len, values_by_rater.values()))
        units += [
            [values_by_rater[rater][n] if rater in values_by_rater else None for rater in raters]
            for n in range(width)
        ]
    level = "nominal" if scale == "binary" else "ordinal"
    row: dict[str, Json] = {"grader": grader, "items": len(entries), "raters": len(raters)}
    alpha = metrics.krippendorff(units, "nominal" if scale == "binary" else "ordinal")
    row[f"Krippendorff's alpha ({level})"] = None if alpha is None else round(alpha, 4)
    if len(raters) == 2:
        kappa = metrics.cohen_kappa([unit[0] for unit in units], [unit[1] for unit in units])
        row["Cohen's kappa"] = None if kappa is None else round(kappa, 4)
    return row


# Ratings exported to a file and imported again: for people at another machine, and for a run in CI.


class Imported(Struct):
    """The counts of an import. `empty`: forms that nobody has filled in."""

    items: int
    ratings: int
    known: int
    empty: int


def export_ratings(standings: Sequence[ItemStatus], name: str) -> str:
    """Everything that the queue holds about these items, as the text of a file."""
    return ratings.dump_ratings([standing.queued for standing in standings], name)


def form_for(standings: Sequence[ItemStatus], rater: str, name: str) -> str:
    """The form that one person fills in."""
    entries = [standing.queued for standing in standings]
    choices = {
        entry.item.key: by_human.describe_choices(entry.item.method.rating_scale, len(entry.item.shown.items))
        for entry in entries
    }
    return ratings.rating_form(entries, rater, choices, name)


def import_ratings(queue: Queue, text: str, name: str) -> Imported:
    """Import all ratings of a file, or none if anything is wrong; each problem is reported with its line."""
    import_file = ratings.load_ratings(text, name)
    reader = _RatingReader(queue)
    items = [reader.item(number, item) for number, item in enumerate(import_file.items)]
    if reader.problems:
        raise ratings.refused_ratings(text, name, reader.problems)
    try:
        new_items, new_ratings = queue.ratings.merge([item for item in items if item is not None])
    except InvalidInput as error:
        raise ratings.refused_ratings(
            text, name, [reader.placed(problem) for problem in error.problems]
        ) from None
    return Imported(new_items, new_ratings, reader.filled - new_ratings, reader.empty)


class _RatingReader:
    def __init__(self, queue: Queue):
        self.queue = queue
        self.known_items = {entry.item.key: entry.item for entry in queue.ratings.all()}
        self.problems: list[Problem] = []
        self.places: dict[tuple[int, int], Path] = {}
        self.empty = self.filled = 0

    def item(self, number: int, stated: StatedItem) -> Queued | None:
        at: Path = ("items", number)
        item = self.known_items.get(stated.item) or self.new(stated, at)
        if item is None:
            return None
        if item.case != stated.case:
            message = f"{stated.item} is of the case {item.case}"
            self.problems.append(
                Problem("BK746", message, "do not change `item` or `case`", at=(*at, "case"))
            )
        ratings: list[Rating] = []
        for index, stated_rating in enumerate(stated.ratings):
            rating_at: Path = (*at, "ratings", index)
            if stated_rating.value is None:
                self.empty += 1
                continue
            try:
                rating = self.rating(item, stated_rating)
            except BaselinekitError as error:
                self.problems += [replace(problem, at=(*rating_at, "value")) for problem in error.problems]
            else:
                self.places[number, len(ratings)] = rating_at
                ratings.append(rating)
        self.filled += len(ratings)
        return Queued(item, tuple(ratings))

    def placed(self, problem: Problem) -> Problem:
        number, index = problem.at or (0, 0)
        return replace(problem, at=self.places.get((int(number), int(index)), ()))

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
            message = (
                f"{stated.case} ({stated.item}) is not in the queue, and the file does not say what it is"
            )
            self.problems.append(Problem("BK745", message, hint, at=(*at, "item")))
            return None
        shown_in_file = stated.shown
        shown = RatingView(
            shown_in_file.title,
            shown_in_file.input,
            shown_in_file.rubric,
            shown_in_file.output,
            shown_in_file.expected,
            tuple(shown_in_file.items),
            shown_in_file.about,
        )
        method, opened = stated.grading, stated.opened_at or self.queue.stamp()
        claims = [tuple(pair) for pair in stated.claims if len(pair) == 2]
        item = RatingItem(
            stated.item, stated.case, stated.grader, method, shown, opened, tuple((a, b) for a, b in claims)
        )
        problems = [
            replace(problem, at=(*at, "grading", *(problem.at or ())[1:]))
            for problem in by_human.scale_problems(method)
        ]
        numbers = range(1, len(shown.items) + 1)
        if method.rating_scale.type == "ranking" and not (
            claims and all(item_number in numbers for pair in claims for item_number in pair)
        ):
            problems.append(Problem("BK746", "a ranking without its claim", "export it again", at=at))
        self.problems += problems
        return None if problems else item
