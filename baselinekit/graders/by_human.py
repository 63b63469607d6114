"""Grader by people: the scales that they rate on, what they are shown, and the grade that their ratings make.

There is no grade while too few people have rated an output, or while they disagree."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from baselinekit.errors import InvalidInput, Problem, cannot_replay
from baselinekit.graders.base import (
    PASSING_SHARE,
    ROUNDING_ERROR,
    GraderType,
    Task,
    text_of,
    threshold_problems,
    values_of,
)
from baselinekit.graders.judging import nonce_of
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import ranking_agreement, scale_agreement, share_of_most
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grade, Grader, HumanRating, Option, Outcome, RatingScale
from baselinekit.model.ratings import Rating, RatingItem, RatingView
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import whole as is_whole
from baselinekit.structs import Struct, plain, replace
from baselinekit.values.equality import canonical
from baselinekit.values.texts import mask_and_clip, no_mask

# Ratings: which of them a scale allows, and how they are typed and shown.

_PASS_FAIL = [Option(True, "Pass"), Option(False, "Fail")]
_SYNONYMS = {True: ("yes", "y", "pass", "p"), False: ("no", "n", "fail", "f")}
_GAPS = lazy_pattern(r"[\s,;>]+")


def options_of(scale: RatingScale) -> list[Option]:
    """The two answers of a binary scale."""
    return list(scale.options) or _PASS_FAIL


def passing_value(scale: RatingScale) -> Json:
    """The answer that is a pass: `true`, or else the first."""
    values = [option.value for option in options_of(scale)]
    return True if any(value is True for value in values) else values[0]


def value_of(text: str, scale: RatingScale, items: int = 0) -> Json:
    """The rating that a rater typed; InvalidInput if it is none."""
    text = text.strip()
    if scale.type == "binary":
        for option in options_of(scale):
            value = option.value
            names = [option.label, value if isinstance(value, str) else json.dumps(value)]
            names += _SYNONYMS[value] if isinstance(value, bool) else ()
            if text and text.casefold() in map(str.casefold, names):
                return value
        raise not_a_rating(repr(text), scale)
    try:
        words = _GAPS.split(re.sub(r"\s*=\s*", "=", text))
        places = [[int(number) for number in word.split("=")] for word in words]
    except ValueError:
        raise not_a_rating(repr(text), scale, items) from None
    values: list[Json] = [place[0] if len(place) == 1 else place for place in places]
    is_single = scale.type == "likert" and not scale.criteria and len(values) == 1
    return checked_rating(values[0] if is_single else values, scale, items)


def checked_rating(value: Json, scale: RatingScale, items: int = 0) -> Json:
    """The value, if it is a rating on the scale. Ratings by the names of criteria are put in order."""
    if scale.type == "binary":
        fits = any(canonical(option.value) == canonical(value) for option in options_of(scale))
    elif scale.type == "ranking":
        listed = value if isinstance(value, list) else []
        places = [place if isinstance(place, list) else [place] for place in listed]
        numbers = [number for place in places for number in place]
        fits = bool(numbers) and all(map(is_whole, numbers)) and sorted(numbers) == [*range(1, items + 1)]
        fits = fits and all(places) and (scale.tie_allowed or len(places) == items)
    else:
        if isinstance(value, dict) and scale.criteria and value.keys() == {*scale.criteria}:
            value = [value[name] for name in scale.criteria]
        numbers = value if scale.criteria else [value]
        fits = isinstance(numbers, list) and len(numbers) == (len(scale.criteria) or 1)
        low, high = scale.range
        fits = fits and all(is_whole(number) and low <= number <= high for number in numbers)
    if not fits:
        raise not_a_rating(json.dumps(value, default=str), scale, items)
    return value


def not_a_rating(typed: str, scale: RatingScale, items: int = 0) -> InvalidInput:
    return InvalidInput(Problem("BK741", f"{typed} is not a rating here", describe_choices(scale, items)))


def describe_choices(scale: RatingScale, items: int = 0) -> str:
    """The allowed ratings in words."""
    if scale.type == "binary":
        return " or ".join(dict.fromkeys(words_for(option.value, scale) for option in options_of(scale)))
    if scale.type == "ranking":
        ties = "tied ones with =" if scale.tie_allowed else "without ties"
        return f"all {items} numbers, the best first, {ties}: {' > '.join(map(str, range(items, 0, -1)))}"
    number = f"a whole number from {scale.range[0]} to {scale.range[1]}"
    return f"{number} for each of the {len(scale.criteria)} criteria" if scale.criteria else number


def words_for(value: Json, scale: RatingScale) -> str:
    """A rating as people read it: with its label."""
    if scale.type == "ranking" and isinstance(value, list):
        places = (place if isinstance(place, list) else [place] for place in value)
        return " > ".join("=".join(map(str, place)) for place in places)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if scale.type == "binary":
        labels = [option.label for option in options_of(scale) if canonical(option.value) == canonical(value)]
        return labels[0] if labels and labels[0] else json.dumps(value, ensure_ascii=False)
    return f"{value} {scale.labels.get(str(value), '')}".rstrip()


def scale_problems(config: HumanRating) -> Iterator[Problem]:
    """The problems of a human grader that are known before anyone is asked."""
    people, scale, kind = config.evaluators, config.rating_scale, config.rating_scale.type
    required, allowed = people.min_required, people.max_allowed
    least, most = scale.min_items, scale.max_items
    different_values = {canonical(option.value) for option in scale.options}
    is_range = len(scale.range) == 2 and scale.range[0] < scale.range[1]
    are_two = len(scale.options) == len(different_values) == 2
    checks = {
        f"max_allowed is {allowed}, and {required} are required": allowed < required,
        f"{scale.range} is not a range such as [1, 5]": kind == "likert" and not is_range,
        "a binary scale has two different options": kind == "binary" and bool(scale.options) and not are_two,
        f"{least} to {most} items cannot be ranked": kind == "ranking" and not 2 <= least <= most,
        f"a {kind} scale has no criteria": kind != "likert" and bool(scale.criteria),
        f"a {kind} scale has no options": kind != "binary" and bool(scale.options),
    }
    for message, is_wrong in checks.items():
        if is_wrong:
            yield Problem("BK702", message, "`baselinekit explain BK702` shows an example", at=("config",))


def problems(task: Task) -> Iterator[Problem]:
    scale, scale_faults = task.method.rating_scale, [*scale_problems(task.method)]
    yield from scale_faults
    if not scale_faults:
        bounds = scale.range if scale.type == "likert" else [0, 1]
        yield from threshold_problems(scale.threshold, bounds, ("config", "rating_scale", "threshold"))


HUMAN_RATING = GraderType(
    HumanRating,
    lambda task, observation, clients: clients.rated(task.case, task.grader, observation),
    kind="human",
    problems=problems,
)


# What a rater is shown: the rubric with its slots filled, and what is to be ranked.

_LONGEST_SUMMARY = 300
_PARTS = ("json", "text", "output", "body", "stdout")
_SLOT = lazy_pattern(r"\{([a-z][a-z0-9_]*|conservative/generous)\}")
_BUILTIN_SLOTS = lazy_pattern(
    r"task_description|input_summary|requirements|special_instructions|conservative/generous"
    r"|criterion_\d+_(?:name|description|indicators|issues)"
)


def item_key(case: Case, grader: Grader, output: Json) -> str:
    """The key of an item's ratings: another output, scale or rubric needs new ratings."""
    config: HumanRating = grader.method
    form = plain(replace(config.rating_scale, threshold=None))
    choices: list[Json] = values_of(case.expected) if config.rating_scale.type == "ranking" else []
    return nonce_of(canonical([case.id, grader.name, form, config.rubric, choices, output]))


def rating_material(
    case: Case, grader: Grader, output: Json, about: Mapping[str, Json]
) -> tuple[RatingView, tuple[tuple[int, int], ...]]:
    """What a rater is shown; and for a ranking the pairs of items that are claimed to be in order."""
    config: HumanRating = grader.method
    is_ranking = config.rating_scale.type == "ranking"
    items, claims = items_to_rank(case, output, config.rating_scale) if is_ranking else ((), ())
    expected = "" if items else "\n\nor\n\n".join(map(text_of, values_of(case.expected)))
    view = RatingView(
        title=case.name or case.description or case.id,
        input=describe_input(case),
        rubric=filled_rubric(case, config),
        output=None if items else output,
        expected=expected,
        items=items,
        about=dict(about),
    )
    return view, claims


def items_to_rank(
    case: Case, output: Json, scale: RatingScale
) -> tuple[tuple[Json, ...], tuple[tuple[int, int], ...]]:
    """The items in an order that gives nothing away, and the pairs (better, worse) that are claimed. The
    items are the output, which claims to be the best, and the expected values; or, if nothing is
    expected, the entries of an output that is a list, which claims to be in order."""
    if expected := values_of(case.expected):
        items = [output, *expected]
        pairs = [(0, number) for number in range(1, len(items))]
    else:
        if isinstance(output, dict):  # the part of it that holds the answer
            output = next((output[part] for part in _PARTS if part in output), output)
        items = list(output) if isinstance(output, list) else [output]
        pairs = [(before, after) for after in range(len(items)) for before in range(after)]
    if not scale.min_items <= len(items) <= scale.max_items:
        hint = "let the output be a list of them, or state `expected` with `alternatives`"
        allowed = f"{scale.min_items} to {scale.max_items} are allowed"
        raise cannot_replay("BK741", f"there are {len(items)} items to rank, and {allowed}", hint)
    digests = [nonce_of(f"{case.id}\0{canonical(item)}") for item in items]
    order = sorted(range(len(items)), key=lambda number: (digests[number], number))
    number_of = {place: number for number, place in enumerate(order, 1)}
    claims = tuple((number_of[before], number_of[after]) for before, after in pairs)
    return tuple(items[place] for place in order), claims


def describe_input(case: Case) -> str:
    kind = kind_of(case.recipe)
    text = text_of(kind.asked(case.recipe) or kind.target(case.recipe, no_mask))
    return text if case.context is None else f"{text}\n\nContext:\n{text_of(case.context)}"


def filled_rubric(case: Case, config: HumanRating) -> str:
    """The rubric with its slots filled, in one pass: slots in what was filled in stay. A line with a built-in
    slot that has no text is left out, and braces that are not a slot stay."""

    def summary(text: str) -> str:
        return mask_and_clip(" ".join(text.split()), _LONGEST_SUMMARY, no_mask, counted=False)

    slots = {
        "task_description": case.description or case.name or case.id,
        "input_summary": summary(describe_input(case)),
        "conservative/generous": "conservative",
        "requirements": summary("; or ".join(map(text_of, values_of(case.expected)))),
    }
    for number, criterion in enumerate(config.rating_scale.criteria, 1):
        name, _, about = criterion.partition(": ")
        slots |= {f"criterion_{number}_name": name, f"criterion_{number}_description": about}
    slots = {name: text for name, text in (slots | config.slots).items() if text}
    lines = []
    for line in config.rubric.splitlines():
        if all(name in slots or not _BUILTIN_SLOTS.fullmatch(name) for name in _SLOT.findall(line)):
            lines.append(_SLOT.sub(lambda match: slots.get(match[1], match[0]), line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


# The grade that ratings make.

STATISTICS = {
    "binary": "percentage agreement (share of raters who agree with the majority)",
    "likert": "weighted percentage agreement (squared distance, over all pairs of raters)",
    "ranking": "concordance (pairs of items ordered alike, over all pairs of raters)",
}


class RatingTally(Struct):
    """The score as a share, the agreement of the raters, and the reason in words."""

    share: float
    agreement: float
    passed: bool
    reason: str


def human_grade(grader: Grader, item: RatingItem) -> Grade:
    """The grade of an item. Its weight is from `grader`, and how it was rated is in the item."""
    outcome: Outcome
    config, people, raters = item.method, item.method.evaluators, item.raters
    if item.gold is not None:  # its right rating is known, and practice is not a rating
        tally = tally_of(item, [Rating("gold", item.gold.value)])
        outcome = "passed" if tally.passed else "failed"
        reason = "" if tally.passed else tally.reason
        return grader.graded(
            outcome, round(tally.share, 6), reason, verdict="gold", details={"item": item.key}
        )
    command = f"baselinekit grade {shlex.quote(item.case)}"
    details: dict[str, Json] = {"item": item.key, "rated": len(raters), "required": people.min_required}
    if len(raters) < people.min_required:
        state = f"{len(raters)} of {people.min_required} people have rated it"
        return grader.graded("unscored", None, f"{state}: {command}", verdict="pending", details=details)
    tally = tally_of(item, raters)
    statistic = {"statistic": STATISTICS[config.rating_scale.type], "value": round(tally.agreement, 6)}
    details["agreement"] = {**statistic, "threshold": people.agreement_threshold}
    details["ratings"] = [
        {
            "rater": rating.rater,
            "value": rating.value,
            **({"note": rating.note} if rating.note else {}),
            **({"late": True} if is_late(rating, config) else {}),
        }
        for rating in item.ratings
    ]
    reason = "" if tally.passed else tally.reason
    verdict = None
    if tally.agreement + ROUNDING_ERROR < people.agreement_threshold:
        measured = f"their agreement is {tally.agreement:.2g}, and {people.agreement_threshold:g} is required"
        if item.decision is None:
            next_step = "name who decides (evaluators.adjudicator): no further rating is allowed"
            if people.adjudicator is not None:
                next_step = f"{people.adjudicator} decides: {command} --as {shlex.quote(people.adjudicator)}"
            elif len(raters) < people.max_allowed:
                next_step = f"another rater may settle it: {command}"
            reason = f"the raters disagree: {measured}; {next_step}"
            return grader.graded("unscored", None, reason, verdict="disputed", details=details)
        # the adjudicator decides alone, and the disagreement stays visible
        tally = tally_of(item, [item.decision])
        verdict = "adjudicated"
        details["adjudicated_by"] = item.decision.rater
        words = words_for(item.decision.value, config.rating_scale)
        reason = f"the raters disagreed ({measured}), and {item.decision.rater} decided: {words}"
    outcome = "passed" if tally.passed else "failed"
    return grader.graded(outcome, round(tally.share, 6), reason, verdict=verdict, details=details)


def is_late(rating: Rating, config: HumanRating) -> bool:
    """Whether a rating took longer than the limit. It counts all the same, and is marked."""
    limit = config.time_limit_minutes
    return limit is not None and rating.seconds is not None and rating.seconds > limit * 60


def tally_of(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    scale = item.method.rating_scale
    if scale.type == "likert":
        low, high = scale.range
        rows = [rating.value if isinstance(rating.value, list) else [rating.value] for rating in ratings]
        mean = fsum(fsum(row) / len(row) for row in rows) / len(rows)
        columns = list(zip(*rows, strict=True))
        agreement = fsum(scale_agreement(column, low, high) for column in columns) / len(columns)
        threshold = (
            low + float(PASSING_SHARE) * (high - low) if scale.threshold is None else float(scale.threshold)
        )
        reason = f"{mean:.3g} on average on {low} to {high}, and {threshold:g} is required"
        return RatingTally((mean - low) / (high - low), agreement, mean + ROUNDING_ERROR >= threshold, reason)
    if scale.type == "binary":
        passing = passing_value(scale)
        votes = [canonical(rating.value) == canonical(passing) for rating in ratings]
        share = sum(votes) / len(votes)
        agreement = share_of_most(votes)
        reason = f"{sum(votes)} of {len(votes)} say {words_for(passing, scale)}"
    else:  # the share of the claimed pairs that raters put in that order; a tie counts as half
        rankings = [places_in(rating.value) for rating in ratings]
        pairs = [(ranking[a], ranking[b]) for ranking in rankings for a, b in item.claims]
        share = fsum(1.0 if a < b else 0.5 * (a == b) for a, b in pairs) / len(pairs)
        agreement = ranking_agreement(rankings)
        reason = f"it is preferred in {share:.0%} of the pairs that were ranked"
    passed = share > 0.5 if scale.threshold is None else share + ROUNDING_ERROR >= scale.threshold
    return RatingTally(share, agreement, passed, reason)


def places_in(value: Sequence[Json]) -> dict[int, float]:
    """The place that a ranking gives each item; tied items share the mean of theirs."""
    place_of: dict[int, float] = {}
    for place in value:
        tied = place if isinstance(place, list) else [place]
        place_of |= dict.fromkeys(tied, len(place_of) + (len(tied) + 1) / 2)
    return place_of
