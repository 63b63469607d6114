"""What people said of an output -> a grade. While too few have, or they do not agree, there is none."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from baselinekit.grade.agreement import concordance, nearness, share_of_most
from baselinekit.grade.scales import passing_value, places_in, words_for
from baselinekit.model.graders import Grader, HumanRating
from baselinekit.model.grades import Grade, Outcome
from baselinekit.model.ratings import Rating, RatingItem, by_role
from baselinekit.model.values import Json
from baselinekit.tree.equality import canonical

_PASSING_SHARE = 0.75
"""Of the range of a scale, where nobody says otherwise: 4 of 1 to 5, as with a model that judges."""

_SLACK = 1e-9

STATISTICS = {
    "binary": "per-cent agreement (share of raters who say what most say)",
    "likert": "weighted per-cent agreement (squared distance, over all pairs of raters)",
    "ranking": "concordance (pairs of items ordered alike, over all pairs of raters)",
}


@dataclass(frozen=True, slots=True)
class _Said:
    """What the ratings come to: the share of what could be, how far they agree, and both in words."""

    share: float
    agreement: float
    passed: bool
    reason: str


def human_grade(grader: Grader, item: RatingItem, ratings: Sequence[Rating]) -> Grade:
    """The grade of an item. `grader` says how much it counts; how it was rated stands in the item."""
    how = item.method
    people = how.evaluators
    everybody = ratings
    ratings, decided = by_role(ratings, how)
    details: dict[str, Json] = {"item": item.key, "rated": len(ratings), "required": people.min_required}
    if len(ratings) < people.min_required:
        had = f"{len(ratings)} of {people.min_required} people have rated it" if ratings else _nobody(how)
        return grader.graded("unscored", None, f"{had}: {command(item)}", verdict="pending", details=details)
    said = _READ[how.rating_scale.type](item, ratings)
    details["agreement"] = {
        "statistic": STATISTICS[how.rating_scale.type],
        "value": round(said.agreement, 6),
        "threshold": people.agreement_threshold,
    }
    details["ratings"] = [_shown(rating, how) for rating in everybody]
    if said.agreement + _SLACK < people.agreement_threshold:
        measured = f"their agreement is {said.agreement:.2g}, and {people.agreement_threshold:g} is wanted"
        if decided is not None:
            return _adjudicated(grader, item, decided, measured, details)
        why = f"the raters disagree: {measured}; "
        if people.adjudicator is not None:
            why += f"{people.adjudicator} decides: {command(item)} --as {shlex.quote(people.adjudicator)}"
            return grader.graded("unscored", None, why, verdict="disputed", details=details)
        room = len(ratings) < people.max_allowed
        why += (
            f"another may settle it: {command(item)}"
            if room
            else "name who decides (evaluators.adjudicator): no further rating is allowed"
        )
        return grader.graded("unscored", None, why, verdict="disputed", details=details)
    outcome: Outcome = "passed" if said.passed else "failed"
    reason = "" if said.passed else said.reason
    return grader.graded(outcome, round(said.share, 6), reason, details=details)


def _adjudicated(
    grader: Grader, item: RatingItem, decided: Rating, measured: str, details: dict[str, Json]
) -> Grade:
    """What the adjudicator says, alone. That people disagreed stays to be seen, whatever it comes to."""
    said = _READ[item.method.rating_scale.type](item, [decided])
    details["adjudicated_by"] = decided.rater
    outcome: Outcome = "passed" if said.passed else "failed"
    words = words_for(decided.value, item.method.rating_scale)
    reason = f"the raters disagreed ({measured}), and {decided.rater} decided: {words}"
    return grader.graded(outcome, round(said.share, 6), reason, verdict="adjudicated", details=details)


def command(item: RatingItem) -> str:
    """What to type in order to rate it."""
    return f"baselinekit grade {shlex.quote(item.case)}"


def _nobody(how: HumanRating) -> str:
    least = how.evaluators.min_required
    return f"nobody has rated it yet, and {least} {'is' if least == 1 else 'are'} required"


def _shown(rating: Rating, how: HumanRating) -> dict[str, Json]:
    shown: dict[str, Json] = {"rater": rating.rater, "value": rating.value}
    if rating.note:
        shown["note"] = rating.note
    if is_late(rating, how):
        shown["late"] = True
    return shown


def is_late(rating: Rating, how: HumanRating) -> bool:
    """Whether it took longer than it should have. It counts all the same, and is marked."""
    limit = how.time_limit_minutes
    return limit is not None and rating.seconds is not None and rating.seconds > limit * 60


def _binary(item: RatingItem, ratings: Sequence[Rating]) -> _Said:
    scale = item.method.rating_scale
    wanted = passing_value(scale)
    votes = [canonical(rating.value) == canonical(wanted) for rating in ratings]
    share = sum(votes) / len(votes)
    label = words_for(wanted, scale)
    reason = f"{sum(votes)} of {len(votes)} say {label}"
    return _Said(share, share_of_most(votes), _is_enough(share, scale.threshold), reason)


def _is_enough(share: float, threshold: float | int | None) -> bool:
    """More than half, where no other share is stated."""
    return share > 0.5 if threshold is None else share + _SLACK >= threshold


def _likert(item: RatingItem, ratings: Sequence[Rating]) -> _Said:
    scale = item.method.rating_scale
    low, high = scale.range
    rows = [rating.value if isinstance(rating.value, list) else [rating.value] for rating in ratings]
    mean = fsum(fsum(row) / len(row) for row in rows) / len(rows)
    columns = list(zip(*rows, strict=True))
    agreement = fsum(nearness(column, low, high) for column in columns) / len(columns)
    least = low + _PASSING_SHARE * (high - low) if scale.threshold is None else float(scale.threshold)
    reason = f"{mean:.3g} on average on {low} to {high}, and {least:g} is wanted"
    if scale.criteria:
        worst = min(range(len(columns)), key=lambda number: sum(columns[number]))
        reason += f"; lowest: {scale.criteria[worst]} ({fsum(columns[worst]) / len(rows):.3g})"
    return _Said((mean - low) / (high - low), agreement, mean + _SLACK >= least, reason)


def _ranking(item: RatingItem, ratings: Sequence[Rating]) -> _Said:
    """How many of the pairs that are claimed come in that order, a tie being half."""
    rankings = [places_in(rating.value) for rating in ratings]
    held = [
        1.0 if ranking[first] < ranking[second] else 0.5 * (ranking[first] == ranking[second])
        for ranking in rankings
        for first, second in item.claims
    ]
    share = fsum(held) / len(held)
    reason = f"it is preferred in {share:.0%} of the pairs that were ranked"
    passed = _is_enough(share, item.method.rating_scale.threshold)
    return _Said(share, concordance(rankings), passed, reason)


_READ = {"binary": _binary, "likert": _likert, "ranking": _ranking}
