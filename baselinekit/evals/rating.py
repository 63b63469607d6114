"""Outputs for people to rate: a run queues them, people rate them, and the next run uses their ratings.

A run never waits: its case is unscored until enough people have rated it, and its result file can be finished
later without asking a model again."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.evals.attempts import judged_scores, mean_score, outcome_of, reason_with_count
from baselinekit.evals.gating import measure
from baselinekit.graders import by_human
from baselinekit.graders.base import code_of, combine_grades
from baselinekit.graders.composite import grade_from_parts
from baselinekit.model.evals import Case
from baselinekit.model.grades import Attempt, Grade, Grader, HumanRating, PassRule
from baselinekit.model.ratings import ItemStatus, Rating, RatingItem, RatingView, Sheet
from baselinekit.model.recipes import Observation
from baselinekit.model.results import Report, Result
from baselinekit.schema import place_problems
from baselinekit.structs import Struct, convert, plain, replace
from baselinekit.suites.ratings import Ratings, load_ratings
from baselinekit.suites.ratingtables import load_table

_SHORTEST_KEY = 6


class Queue(Struct):
    """The queue of a project. Everything that shows or enters ratings goes through here."""

    project: Project
    now: Callable[[], float]

    @property
    def ratings(self) -> Ratings:
        return Ratings(self.project.root)

    def rated(self, case: Case, grader: Grader, observation: Observation) -> tuple[Grade, RatingItem]:
        """Return the grade of an output by the ratings that people have given so far, and the item that is to
        be in the queue."""
        redactor = self.project.redactor.knowing(observation.output)
        mask, output = redactor.mask_value, redactor.mask_value(observation.output)
        method = convert(mask(plain(grader.method)), HumanRating)
        grader = replace(grader, method=method)
        shown, claims = by_human.rating_material(case, grader, output, observation.environment)
        item = RatingItem(
            key=by_human.item_key(case, grader, output),
            case=case.id,
            grader=grader.name,
            method=method,
            shown=convert(mask(plain(shown)), RatingView),
            opened_at=self.stamp(),
            claims=claims,
        )
        queued = self.ratings.find(item.key)
        return by_human.human_grade(grader, replace(item, ratings=queued.ratings if queued else ())), item

    def standings(self, names: Sequence[str] = ()) -> list[ItemStatus]:
        """Everything in the queue, or the cases and keys that are named."""
        items = self.ratings.all()
        for word in names:
            if not any(_is_named(item, word) for item in items):
                hint = "baselinekit grade --list shows what does"
                raise NothingSelected(Problem("BK509", f"nothing called {word!r} waits for people", hint))
        return [
            status_of(item) for item in items if not names or any(_is_named(item, word) for word in names)
        ]

    def waiting(self, names: Sequence[str], rater: str) -> list[ItemStatus]:
        """The items that a person can rate now."""
        return [standing for standing in self.standings(names) if standing.wants(rater)]

    def rate(self, item: RatingItem, rating: Rating, again: bool = False) -> ItemStatus:
        """Enter a rating, and return the state of its item."""
        return status_of(self.ratings.rate(item.key, self.masked(rating), again))

    def masked(self, rating: Rating) -> Rating:
        """The rating without secrets in what was written with it."""
        mask = self.project.redactor.mask
        notes = {name: mask(text) for name, text in rating.notes.items() if text}
        marks = tuple(replace(mark, text=mask(mark.text), note=mask(mark.note)) for mark in rating.marks)
        return replace(rating, note=mask(rating.note), notes=notes, marks=marks)

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(item: RatingItem) -> ItemStatus:
    return ItemStatus(item, by_human.human_grade(Grader(item.grader, "human", item.method), item))


def _is_named(item: RatingItem, word: str) -> bool:
    return fnmatchcase(item.case, word) or (len(word) >= _SHORTEST_KEY and item.key.startswith(word))


def sheet(item: RatingItem) -> Sheet:
    """What a rater sees. A blind evaluation hides where the output comes from, and the ratings of others."""
    method, scale, is_blind = item.method, item.method.rating_scale, item.method.blind_evaluation
    if scale.type == "binary":
        options = enumerate(by_human.options_of(scale), 1)
        choices = [
            (str(number), ": ".join(filter(None, (option.label or str(option.value), option.description))))
            for number, option in options
        ]
    elif scale.type == "likert":
        low, high = scale.range
        values = sorted({low, high, *map(int, scale.labels)}) if high - low > 9 else range(low, high + 1)
        choices = [(str(value), scale.labels.get(str(value), "")) for value in values]
    else:
        choices = [(str(number), "") for number in range(1, len(item.shown.items) + 1)]
    words = [(one, by_human.words_for(one.value, scale)) for one in item.ratings]
    ratings = [f"{one.rater}: {word}" + (f" ({one.note})" if one.note else "") for one, word in words]
    return Sheet(
        item,
        tuple(scale.criteria) or (scale.description,),
        tuple(choices),
        () if is_blind else tuple(ratings),
        {} if is_blind else item.shown.about,
        None if method.time_limit_minutes is None else float(method.time_limit_minutes),
    )


class Imported(Struct):
    """The counts of an import. `empty`: forms that are not filled in."""

    items: int
    ratings: int
    known: int
    empty: int


def import_ratings(queue: Queue, text: str, name: str) -> Imported:
    """Import all ratings of a file, or none if anything is wrong; each problem is reported with its line."""
    is_table = name.lower().endswith(".csv")
    items, problems = (load_table if is_table else load_ratings)(text, name, queue.ratings.all())
    stamp = queue.stamp()
    for number, item in items.items():
        ratings = [replace(queue.masked(one), at=one.at or stamp) for one in item.ratings]
        items[number] = replace(item, ratings=tuple(ratings))
    try:
        new_items, new_ratings = queue.ratings.merge(items, problems)
    except InvalidInput as error:
        if is_table:  # a row is a line: the number of the item is the line of its first one
            places = [Place(name, int((one.at or (0, 1))[1])) for one in error.problems]
            placed = [one.placed(place) for one, place in zip(error.problems, places, strict=True)]
            raise InvalidInput(*placed) from None
        raise InvalidInput(*place_problems(text, name, {0: error.problems})) from None
    is_filled_in = [rating.value is not None for item in items.values() for rating in item.ratings]
    return Imported(new_items, new_ratings, sum(is_filled_in) - new_ratings, is_filled_in.count(False))


# A result file is finished with the ratings given since.

_CUT_SHORT = "BK613"
"""The attempt is an error whatever its graders say: the answer was cut short."""


class FinishedReport(Struct):
    """The report as it is now. `decided`: how many cases this decided; `left`: how many still wait."""

    report: Report
    decided: int
    left: int


def finish(report: Report, queue: Queue) -> FinishedReport:
    """Regrade each grade that waited for people by the ratings that there are now."""
    items = {item.key: item for item in queue.ratings.all()}

    def regrade(grade: Grade, rule: PassRule) -> Grade:
        """Regrade a grade that waited for people; a composite one by its regraded parts."""
        parts = tuple(regrade(part, rule) for part in grade.parts)
        if parts != grade.parts:
            return grade_from_parts(replace(grade, parts=parts), rule)
        item = items.get(str(grade.details.get("item", "")))
        if grade.kind != "human" or grade.outcome != "unscored" or item is None:
            return grade
        grader = Grader(grade.grader, "human", item.method, grade.weight, grade.required)
        return by_human.human_grade(grader, item)

    def regrade_attempt(attempt: Attempt, rule: PassRule) -> Attempt:
        grades = tuple(regrade(grade, rule) for grade in attempt.grades)
        if grades == attempt.grades or attempt.code == _CUT_SHORT:
            return replace(attempt, grades=grades)
        outcome, score, reason, verdict = combine_grades(grades, rule)
        decided = {"outcome": outcome, "score": score, "reason": reason, "verdict": verdict}
        return replace(attempt, grades=grades, code=code_of(grades, outcome), **decided)

    def regrade_result(result: Result) -> Result:
        if result.case is None or result.outcome == "skipped":
            return result
        facts = result.case
        attempts = tuple(regrade_attempt(attempt, facts.pass_rule) for attempt in facts.attempts)
        if attempts == facts.attempts:
            return result
        outcome, verdict, deciding = outcome_of(attempts, facts.retried)
        return replace(
            result,
            outcome=outcome,
            verdict=verdict,
            reason="" if outcome == "passed" else reason_with_count(deciding, attempts),
            code=deciding.code if outcome == deciding.outcome else None,
            scores=judged_scores(deciding),
            case=replace(facts, attempts=attempts, score=mean_score(attempts, facts.retried)),
        )

    results = tuple(map(regrade_result, report.results))
    finished = replace(report, results=results)
    if report.suite is not None:
        metrics = report.suite.metrics
        least = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
        finished = replace(finished, suite=replace(report.suite, metrics=measure(results, least)))
    changed = zip(report.results, results, strict=True)
    decided = sum(old.outcome == "unscored" != new.outcome for old, new in changed)
    return FinishedReport(finished, decided, sum(result.outcome == "unscored" for result in results))
