"""Grader by people: what they are shown of an output, and the grade that their ratings make. While too few
have rated it, or they do not agree, there is none."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import fsum

from baselinekit.errors import Problem, cannot
from baselinekit.grade.agreement import concordance, nearness, share_of_most
from baselinekit.grade.scales import passing_value, places_in, scale_problems, words_for
from baselinekit.grade.task import (
    GradeClients,
    GraderType,
    Task,
    input_of,
    text_of,
    threshold_problems,
    values_of,
)
from baselinekit.model.evals import Case
from baselinekit.model.grades import (
    Grade,
    Grader,
    HumanRating,
    Outcome,
    Rating,
    RatingItem,
    RatingScale,
    Shown,
    by_role,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.texts import already_masked, clipped
from baselinekit.tree.equality import canonical

_LONGEST_SUMMARY = 300
_PARTS = ("json", "text", "output", "body", "stdout")
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*|conservative/generous)\}")
_OUR_SLOTS = re.compile(
    r"task_description|input_summary|requirements|special_instructions|conservative/generous"
    r"|criterion_\d+_(?:name|description|indicators|issues)"
)
_PASSING_SHARE = 0.75
"""Of the range of a scale, where nobody says otherwise: 4 of 1 to 5, as with a model that judges."""

_SLACK = 1e-9

STATISTICS = {
    "binary": "percentage agreement (share of raters who agree with the majority)",
    "likert": "weighted percentage agreement (squared distance, over all pairs of raters)",
    "ranking": "concordance (pairs of items ordered alike, over all pairs of raters)",
}


def human_rating(task: Task, observation: Observation, clients: GradeClients) -> Grade:
    return clients.rated(task.case, task.grader, observation)


def problems(task: Task) -> Iterator[Problem]:
    scale = task.method.rating_scale
    bounds = scale.range if scale.type == "likert" else [0, 1]
    if len(bounds) == 2 and scale.threshold == bounds[0]:
        yield from threshold_problems(scale.threshold, bounds, ("config", "rating_scale", "threshold"))
    yield from scale_problems(task.method)


HUMAN_RATING = GraderType(HumanRating, human_rating, kind="human", problems=problems)


# What a rater is shown: the rubric with its slots filled, and what is to be ranked.


def item_key(case: Case, grader: Grader, output: Json) -> str:
    """By what ratings are found again: another output, scale or rubric needs new ones."""
    how: HumanRating = grader.method
    scale = how.rating_scale
    options = [[option.value, option.label] for option in scale.options]
    labels = sorted(scale.labels.items())
    by = [scale.type, list(scale.range), labels, list(scale.criteria), options, scale.tie_allowed, how.rubric]
    choices: list[Json] = values_of(case.expected) if scale.type == "ranking" else []
    return _digest(canonical([case.id, grader.name, by, choices, output]))


def briefing(
    case: Case, grader: Grader, output: Json, about: Mapping[str, Json]
) -> tuple[Shown, tuple[tuple[int, int], ...]]:
    """What is shown, and of a ranking what is claimed of the items."""
    how: HumanRating = grader.method
    is_ranking = how.rating_scale.type == "ranking"
    items, claims = _items_to_rank(case, output, how.rating_scale) if is_ranking else ((), ())
    shown = Shown(
        case.name or case.description or case.id,
        _describe_input(case),
        filled_rubric(case, how),
        None if items else output,
        "" if items else "\n\nor\n\n".join(map(text_of, values_of(case.expected))),
        items,
        dict(about),
    )
    return shown, claims


def _items_to_rank(
    case: Case, output: Json, scale: RatingScale
) -> tuple[tuple[Json, ...], tuple[tuple[int, int], ...]]:
    """The output beside what is expected, of which it claims to be the better one; or, where nothing is
    expected, the entries of an output that is a list, of which it claims that they are in order. They are
    shown in an order that tells nothing."""
    expected = values_of(case.expected)
    if expected:
        items = [output, *expected]
        pairs = [(0, number) for number in range(1, len(items))]
    else:
        if isinstance(output, dict):  # the part of it that says something
            output = next((output[part] for part in _PARTS if part in output), output)
        items = list(output) if isinstance(output, list) else [output]
        pairs = [(before, after) for after in range(len(items)) for before in range(after)]
    if not scale.min_items <= len(items) <= scale.max_items:
        hint = "let the output be a list of them, or state `expected` with `alternatives`"
        what = f"there are {len(items)} items to rank, and {scale.min_items} to {scale.max_items} are allowed"
        raise cannot("BK742", what, hint)
    digests = [_digest(f"{case.id}\0{canonical(item)}") for item in items]
    order = sorted(range(len(items)), key=lambda number: (digests[number], number))
    number_of = {place: number for number, place in enumerate(order, 1)}
    claims = tuple((number_of[before], number_of[after]) for before, after in pairs)
    return tuple(items[place] for place in order), claims


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _describe_input(case: Case) -> str:
    asked = case.recipe.input
    method, place = getattr(asked, "method", None), None
    for name in ("endpoint", "path", "url"):
        place = place or getattr(asked, name, None)
    argv = getattr(asked, "argv", None)
    text = shlex.join(argv) if argv else text_of(input_of(case))
    text = f"{method} {place}" if method and place else text
    return text if case.context is None else f"{text}\n\nContext:\n{text_of(case.context)}"


def filled_rubric(case: Case, how: HumanRating) -> str:
    """The rubric with its slots filled, in one pass: nothing that was filled in is looked at again. A line
    with a slot that nobody has anything for is left out, and braces that are no slot stay."""
    slots = _slots(case, how)
    lines = []
    for line in how.rubric.splitlines():
        empty = [name for name in _SLOT.findall(line) if name not in slots and _OUR_SLOTS.fullmatch(name)]
        if not empty:
            lines.append(_SLOT.sub(lambda match: slots.get(match[1], match[0]), line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _slots(case: Case, how: HumanRating) -> dict[str, str]:
    slots = {
        "task_description": case.description or case.name or case.id,
        "input_summary": _summary(_describe_input(case)),
        "conservative/generous": "conservative",
    }
    if expected := values_of(case.expected):
        slots["requirements"] = _summary("; or ".join(map(text_of, expected)))
    for number, criterion in enumerate(how.rating_scale.criteria, 1):
        name, _, about = criterion.partition(": ")
        slots |= {f"criterion_{number}_name": name, f"criterion_{number}_description": about}
    return {name: text for name, text in (slots | how.slots).items() if text}


def _summary(text: str) -> str:
    """A text in passing: on one line, and not all of a long one."""
    return clipped(" ".join(text.split()), _LONGEST_SUMMARY, already_masked, counted=False)


# What the ratings come to.


@dataclass(frozen=True, slots=True)
class RatingTally:
    """The share of what could be, how far the raters agree, and both in words."""

    share: float
    agreement: float
    passed: bool
    reason: str


def human_grade(grader: Grader, item: RatingItem, ratings: Sequence[Rating]) -> Grade:
    """The grade of an item. `grader` says how much it counts; how it was rated stands in the item."""
    how, scale, people = item.method, item.method.rating_scale, item.method.evaluators
    counted, decision = by_role(ratings, how)
    details: dict[str, Json] = {"item": item.key, "rated": len(counted), "required": people.min_required}
    if len(counted) < people.min_required:
        least = people.min_required
        had = f"it has no rating yet, and {least} {'is' if least == 1 else 'are'} required"
        had = f"{len(counted)} of {least} people have rated it" if counted else had
        return grader.graded("unscored", None, f"{had}: {command(item)}", verdict="pending", details=details)
    tally = _TALLIES[scale.type](item, counted)
    details["agreement"] = {
        "statistic": STATISTICS[scale.type],
        "value": round(tally.agreement, 6),
        "threshold": people.agreement_threshold,
    }
    details["ratings"] = [
        {
            "rater": rating.rater,
            "value": rating.value,
            **({"note": rating.note} if rating.note else {}),
            **({"late": True} if is_late(rating, how) else {}),
        }
        for rating in ratings
    ]
    if tally.agreement + _SLACK >= people.agreement_threshold:
        return _graded(grader, tally, "" if tally.passed else tally.reason, None, details)
    measured = f"their agreement is {tally.agreement:.2g}, and {people.agreement_threshold:g} is required"
    if decision is not None:  # the adjudicator decides alone, and that people disagreed stays to be seen
        details["adjudicated_by"] = decision.rater
        words = words_for(decision.value, scale)
        reason = f"the raters disagreed ({measured}), and {decision.rater} decided: {words}"
        return _graded(grader, _TALLIES[scale.type](item, [decision]), reason, "adjudicated", details)
    if people.adjudicator is not None:
        next_step = f"{people.adjudicator} decides: {command(item)} --as {shlex.quote(people.adjudicator)}"
    elif len(counted) < people.max_allowed:
        next_step = f"another rater may settle it: {command(item)}"
    else:
        next_step = "name who decides (evaluators.adjudicator): no further rating is allowed"
    reason = f"the raters disagree: {measured}; {next_step}"
    return grader.graded("unscored", None, reason, verdict="disputed", details=details)


def _graded(
    grader: Grader, tally: RatingTally, reason: str, verdict: str | None, details: dict[str, Json]
) -> Grade:
    outcome: Outcome = "passed" if tally.passed else "failed"
    return grader.graded(outcome, round(tally.share, 6), reason, verdict=verdict, details=details)


def command(item: RatingItem) -> str:
    """What to type in order to rate it."""
    return f"baselinekit grade {shlex.quote(item.case)}"


def is_late(rating: Rating, how: HumanRating) -> bool:
    """Whether it took longer than it should have. It counts all the same, and is marked."""
    limit = how.time_limit_minutes
    return limit is not None and rating.seconds is not None and rating.seconds > limit * 60


def tally_binary(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    scale = item.method.rating_scale
    wanted = passing_value(scale)
    votes = [canonical(rating.value) == canonical(wanted) for rating in ratings]
    share = sum(votes) / len(votes)
    reason = f"{sum(votes)} of {len(votes)} say {words_for(wanted, scale)}"
    return RatingTally(share, share_of_most(votes), _is_enough(share, scale.threshold), reason)


def _is_enough(share: float, threshold: float | int | None) -> bool:
    """More than half, where no other share is stated."""
    return share > 0.5 if threshold is None else share + _SLACK >= threshold


def tally_likert(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    scale = item.method.rating_scale
    low, high = scale.range
    rows = [rating.value if isinstance(rating.value, list) else [rating.value] for rating in ratings]
    mean = fsum(fsum(row) / len(row) for row in rows) / len(rows)
    columns = list(zip(*rows, strict=True))
    agreement = fsum(nearness(column, low, high) for column in columns) / len(columns)
    least = low + _PASSING_SHARE * (high - low) if scale.threshold is None else float(scale.threshold)
    reason = f"{mean:.3g} on average on {low} to {high}, and {least:g} is required"
    if scale.criteria:
        worst = min(range(len(columns)), key=lambda number: sum(columns[number]))
        reason += f"; lowest: {scale.criteria[worst]} ({fsum(columns[worst]) / len(rows):.3g})"
    return RatingTally((mean - low) / (high - low), agreement, mean + _SLACK >= least, reason)


def tally_ranking(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
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
    return RatingTally(share, concordance(rankings), passed, reason)


_TALLIES = {"binary": tally_binary, "likert": tally_likert, "ranking": tally_ranking}
