"""Grader by people: scales, what raters are shown, and the grade that their ratings make."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from baselinekit.errors import InvalidInput, Problem, cannot_replay, suggest
from baselinekit.graders.judging import nonce_of
from baselinekit.graders.task import (
    GradeClients,
    GraderType,
    ReadConfig,
    Task,
    text_of,
    threshold_problems,
    values_of,
)
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import ranking_agreement, scale_agreement, share_of_most
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import (
    Grade,
    Grader,
    HumanRating,
    Option,
    Outcome,
    Rating,
    RatingItem,
    RatingScale,
    RatingView,
    split_by_role,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.placeholders.grammar import whole as is_whole
from baselinekit.schema import read_as
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import canonical, is_number
from baselinekit.values.texts import mask_and_clip, no_mask

# Rating scales: the ratings that they allow, how these are typed, and what they are worth.


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
            if isinstance(value, bool):
                names += _SYNONYMS[value]
            if text and text.casefold() in (name.casefold() for name in names):
                return value
        raise not_a_rating(
            repr(text), scale, 0, suggest(text, [option.label for option in options_of(scale)])
        )
    try:
        if scale.type == "likert":
            numbers: list[Json] = [int(word) for word in _GAPS.split(text)]
            return checked_rating(
                numbers if scale.criteria else numbers[0] if len(numbers) == 1 else numbers, scale
            )
        places = [
            [int(word) for word in part.split("=")] for part in _GAPS.split(re.sub(r"\s*=\s*", "=", text))
        ]
    except ValueError:
        raise not_a_rating(repr(text), scale, items) from None
    return checked_rating([place[0] if len(place) == 1 else place for place in places], scale, items)


def checked_rating(value: Json, scale: RatingScale, items: int = 0) -> Json:
    """The value, if it is a rating on the scale. Ratings by the names of criteria are put in order."""
    if scale.type == "binary":
        fits = any(canonical(option.value) == canonical(value) for option in options_of(scale))
    elif scale.type == "ranking":
        fits = _is_ranking(value, scale, items)
    else:
        if isinstance(value, dict) and scale.criteria and value.keys() == {*scale.criteria}:
            value = [value[name] for name in scale.criteria]
        numbers = value if scale.criteria else [value]
        fits = (
            isinstance(numbers, list)
            and len(numbers) == (len(scale.criteria) or 1)
            and all(is_whole(number) and scale.range[0] <= number <= scale.range[1] for number in numbers)
        )
    if not fits:
        raise not_a_rating(json.dumps(value, default=str), scale, items)
    return value


def _is_ranking(value: Json, scale: RatingScale, items: int) -> bool:
    if not isinstance(value, list):
        return False
    places = [place if isinstance(place, list) else [place] for place in value]
    numbers = [number for place in places for number in place]
    if not all(map(is_whole, numbers)):
        return False
    tied = any(len(place) != 1 for place in places)
    return sorted(numbers) == list(range(1, items + 1)) and (scale.tie_allowed or not tied) and all(places)


def not_a_rating(typed: str, scale: RatingScale, items: int, hint: str = "") -> InvalidInput:
    return InvalidInput(
        Problem("BK741", f"{typed} is not a rating here", hint or describe_choices(scale, items))
    )


def describe_choices(scale: RatingScale, items: int = 0) -> str:
    """The allowed ratings in words."""
    if scale.type == "binary":
        return " or ".join(dict.fromkeys(words_for(option.value, scale) for option in options_of(scale)))
    if scale.type == "ranking":
        listed = " > ".join(map(str, range(items, 0, -1))) or "2 > 1"
        ties = "tied ones with =" if scale.tie_allowed else "without ties"
        return f"all {items} numbers, the best first, {ties}: {listed}"
    low, high = scale.range
    number = f"a whole number from {low} to {high}"
    return f"{number} for each of the {len(scale.criteria)} criteria" if scale.criteria else number


def words_for(value: Json, scale: RatingScale) -> str:
    """A rating as people read it: with its label."""
    if scale.type == "ranking" and isinstance(value, list):
        return " > ".join(
            "=".join(map(str, place if isinstance(place, list) else [place])) for place in value
        )
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if scale.type == "binary":
        labels = [option.label for option in options_of(scale) if canonical(option.value) == canonical(value)]
        return labels[0] if labels and labels[0] else json.dumps(value, ensure_ascii=False)
    label = scale.labels.get(value, "") if isinstance(value, int) else ""
    return f"{value} {label}".rstrip()


def places_in(value: Sequence[Json]) -> dict[int, float]:
    """The place that a ranking gives each item; tied items share the mean of theirs."""
    place_of: dict[int, float] = {}
    for place in value:
        tied = place if isinstance(place, list) else [place]
        place_of |= dict.fromkeys(tied, len(place_of) + (len(tied) + 1) / 2)
    return place_of


def scale_problems(config: HumanRating) -> Iterator[Problem]:
    """The problems of a human grader that are known before anybody is asked."""
    people, scale = config.evaluators, config.rating_scale
    if people.max_allowed < people.min_required:
        message = f"max_allowed is {people.max_allowed}, and {people.min_required} are required"
        yield scale_problem(message, "at most as many can be required as are allowed", "evaluators")
    if people.adjudicator is not None and not people.adjudicator.strip():
        yield scale_problem("the adjudicator has no name", "adjudicator: ada, or leave it out", "evaluators")
    for name in config.slots:
        if f"{{{name}}}" not in config.rubric:
            yield scale_problem(f"the rubric has no {{{name}}}", "put it there, or remove it here", "slots")
    for message, hint in _SCALE_PROBLEMS[scale.type](scale):
        yield scale_problem(message, hint, "rating_scale")
    threshold = scale.threshold
    is_share = threshold is None or (is_number(threshold) and 0 <= threshold <= 1)
    if scale.type != "likert" and not is_share:
        yield scale_problem(f"the threshold is {threshold}", "a share from 0 to 1", "rating_scale")
    if scale.criteria and scale.type != "likert":
        yield scale_problem(f"a {scale.type} scale has no criteria", "use `type: likert`", "rating_scale")
    if scale.options and scale.type != "binary":
        yield scale_problem(f"a {scale.type} scale has no options", "use `type: binary`", "rating_scale")


def scale_problem(message: str, hint: str, *at: str) -> Problem:
    return Problem("BK740", message, hint, at=("config", *at))


def likert_problems(scale: RatingScale) -> Iterator[tuple[str, str]]:
    if len(scale.range) != 2 or scale.range[0] >= scale.range[1]:
        yield f"{scale.range} is not a range", "the lowest and the highest rating: [1, 5]"
        return
    low, high = scale.range
    for number in scale.labels:
        if not low <= number <= high:
            yield f"the label of {number} is outside the scale", f"labels are for {low} to {high}"
    if len({*scale.criteria}) != len(scale.criteria):
        yield "a criterion is stated twice", "state each once"
    if scale.threshold is not None and not low <= scale.threshold <= high:
        yield f"the threshold is {scale.threshold}", f"a rating from {low} to {high}"


def binary_problems(scale: RatingScale) -> Iterator[tuple[str, str]]:
    if scale.options and len({canonical(option.value) for option in scale.options}) != 2:
        yield "a binary scale has two options", "state two with different values, the passing one first"
    elif len(scale.options) > 2:
        yield f"a binary scale has two options, and here are {len(scale.options)}", "remove one"


def ranking_problems(scale: RatingScale) -> Iterator[tuple[str, str]]:
    if scale.min_items < 2 or scale.max_items < scale.min_items:
        yield f"{scale.min_items} to {scale.max_items} items cannot be ranked", "min_items 2, max_items 5"


_SCALE_PROBLEMS = {"likert": likert_problems, "binary": binary_problems, "ranking": ranking_problems}


# Grader by people: what they are shown of an output, and the grade that their ratings make. There is no
# grade while too few people have rated it, or while they disagree.


_LONGEST_SUMMARY = 300
_PARTS = ("json", "text", "output", "body", "stdout")
_SLOT = lazy_pattern(r"\{([a-z][a-z0-9_]*|conservative/generous)\}")
_BUILTIN_SLOTS = lazy_pattern(
    r"task_description|input_summary|requirements|special_instructions|conservative/generous"
    r"|criterion_\d+_(?:name|description|indicators|issues)"
)
_PASSING_SHARE = 0.75
"""The default threshold, as a share of the range of a scale: 4 of 1 to 5, as for a model that judges."""

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


def read_human_rating(config: dict[str, Json], expected: Expected | None) -> ReadConfig:
    """The keys of labels are numbers, which a file may also write as texts."""
    scale = config.get("rating_scale")
    labels = scale.get("labels") if isinstance(scale, dict) else None
    if not isinstance(scale, dict) or not isinstance(labels, dict):
        return read_as(HumanRating, config)
    invalid_keys = [key for key in labels if not re.fullmatch("-?[0-9]{1,9}", key)]
    numbered = {int(key): label for key, label in labels.items() if not invalid_keys}
    method, problems = read_as(HumanRating, {**config, "rating_scale": {**scale, "labels": numbered}})
    for number, problem in enumerate(problems):
        at = problem.at or ()
        if at[:2] == ("rating_scale", "labels") and len(at) > 2:  # in the file every key is a text
            problems[number] = replace(problem, at=(*at[:2], str(at[2]), *at[3:]))
    for key in reversed(invalid_keys):
        message, at = f"the label {key!r} does not belong to a number", ("rating_scale", "labels", key)
        problems.insert(0, Problem("BK105", message, "such as 1: Poor", at=at))
    return None if invalid_keys else method, problems


HUMAN_RATING = GraderType(HumanRating, human_rating, kind="human", read=read_human_rating, problems=problems)


# What a rater is shown: the rubric with its slots filled, and what is to be ranked.


def item_key(case: Case, grader: Grader, output: Json) -> str:
    """The key of an item's ratings: another output, scale or rubric needs new ratings."""
    config: HumanRating = grader.method
    scale, rubric = config.rating_scale, config.rubric
    options = [[option.value, option.label] for option in scale.options]
    labels = sorted(scale.labels.items())
    form = [scale.type, list(scale.range), labels, list(scale.criteria), options, scale.tie_allowed, rubric]
    choices: list[Json] = values_of(case.expected) if scale.type == "ranking" else []
    return nonce_of(canonical([case.id, grader.name, form, choices, output]))


def rating_material(
    case: Case, grader: Grader, output: Json, about: Mapping[str, Json]
) -> tuple[RatingView, tuple[tuple[int, int], ...]]:
    """What a rater is shown; and for a ranking the pairs of items whose order is claimed."""
    config: HumanRating = grader.method
    is_ranking = config.rating_scale.type == "ranking"
    items, claims = items_to_rank(case, output, config.rating_scale) if is_ranking else ((), ())
    material = RatingView(
        case.name or case.description or case.id,
        describe_input(case),
        filled_rubric(case, config),
        None if items else output,
        "" if items else "\n\nor\n\n".join(map(text_of, values_of(case.expected))),
        items,
        dict(about),
    )
    return material, claims


def items_to_rank(
    case: Case, output: Json, scale: RatingScale
) -> tuple[tuple[Json, ...], tuple[tuple[int, int], ...]]:
    """The items in an order that gives nothing away, and the pairs (better, worse) that are claimed. The
    items are the output and the expected values, of which the output claims to be the best; or, if nothing is
    expected, the entries of an output that is a list, which claims to be in order."""
    expected = values_of(case.expected)
    if expected:
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
        raise cannot_replay("BK742", f"there are {len(items)} items to rank, and {allowed}", hint)
    digests = [nonce_of(f"{case.id}\0{canonical(item)}") for item in items]
    order = sorted(range(len(items)), key=lambda number: (digests[number], number))
    number_of = {place: number for number, place in enumerate(order, 1)}
    claims = tuple((number_of[before], number_of[after]) for before, after in pairs)
    return tuple(items[place] for place in order), claims


def describe_input(case: Case) -> str:
    text = text_of(kind_of(case.recipe).describe_input(case.recipe))
    return text if case.context is None else f"{text}\n\nContext:\n{text_of(case.context)}"


def filled_rubric(case: Case, config: HumanRating) -> str:
    """The rubric with its slots filled, in one pass: slots in what was filled in stay. A line with a built-in
    slot that has no text is left out, and braces that are no slot stay."""
    slots = {
        "task_description": case.description or case.name or case.id,
        "input_summary": _summary(describe_input(case)),
        "conservative/generous": "conservative",
    }
    if expected := values_of(case.expected):
        slots["requirements"] = _summary("; or ".join(map(text_of, expected)))
    for number, criterion in enumerate(config.rating_scale.criteria, 1):
        name, _, about = criterion.partition(": ")
        slots |= {f"criterion_{number}_name": name, f"criterion_{number}_description": about}
    slots = {name: text for name, text in (slots | config.slots).items() if text}
    lines = []
    for line in config.rubric.splitlines():
        empty = [name for name in _SLOT.findall(line) if name not in slots and _BUILTIN_SLOTS.fullmatch(name)]
        if not empty:
            lines.append(_SLOT.sub(lambda match: slots.get(match[1], match[0]), line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _summary(text: str) -> str:
    """A text on one line, clipped if it is long."""
    return mask_and_clip(" ".join(text.split()), _LONGEST_SUMMARY, no_mask, counted=False)


# The grade that ratings make.


class RatingTally(Struct):
    """The score as a share, the agreement of the raters, and the reason in words."""

    share: float
    agreement: float
    passed: bool
    reason: str


def human_grade(grader: Grader, item: RatingItem, ratings: Sequence[Rating]) -> Grade:
    """The grade of an item. `grader` says how much it counts; the item says how it was rated."""
    config, scale, people = item.method, item.method.rating_scale, item.method.evaluators
    counted, decision = split_by_role(ratings, config)
    details: dict[str, Json] = {"item": item.key, "rated": len(counted), "required": people.min_required}
    if len(counted) < people.min_required:
        required = people.min_required
        state = f"it has no rating yet, and {required} {'is' if required == 1 else 'are'} required"
        state = f"{len(counted)} of {required} people have rated it" if counted else state
        reason = f"{state}: {command(item)}"
        return grader.graded("unscored", None, reason, verdict="pending", details=details)
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
            **({"late": True} if is_late(rating, config) else {}),
        }
        for rating in ratings
    ]
    outcome: Outcome = "passed" if tally.passed else "failed"
    if tally.agreement + _SLACK >= people.agreement_threshold:
        reason = "" if tally.passed else tally.reason
        return grader.graded(outcome, round(tally.share, 6), reason, details=details)
    measured = f"their agreement is {tally.agreement:.2g}, and {people.agreement_threshold:g} is required"
    if decision is not None:  # the adjudicator decides alone, and the disagreement stays visible
        details["adjudicated_by"] = decision.rater
        words = words_for(decision.value, scale)
        reason = f"the raters disagreed ({measured}), and {decision.rater} decided: {words}"
        tally, verdict = _TALLIES[scale.type](item, [decision]), "adjudicated"
        outcome = "passed" if tally.passed else "failed"
        return grader.graded(outcome, round(tally.share, 6), reason, verdict=verdict, details=details)
    if people.adjudicator is not None:
        next_step = f"{people.adjudicator} decides: {command(item)} --as {shlex.quote(people.adjudicator)}"
    elif len(counted) < people.max_allowed:
        next_step = f"another rater may settle it: {command(item)}"
    else:
        next_step = "name who decides (evaluators.adjudicator): no further rating is allowed"
    reason = f"the raters disagree: {measured}; {next_step}"
    return grader.graded("unscored", None, reason, verdict="disputed", details=details)


def command(item: RatingItem) -> str:
    """The command that rates an item."""
    return f"baselinekit grade {shlex.quote(item.case)}"


def is_late(rating: Rating, config: HumanRating) -> bool:
    """Whether a rating took longer than the limit. It counts all the same, and is marked."""
    limit = config.time_limit_minutes
    return limit is not None and rating.seconds is not None and rating.seconds > limit * 60


def tally_binary(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    scale = item.method.rating_scale
    passing = passing_value(scale)
    votes = [canonical(rating.value) == canonical(passing) for rating in ratings]
    share = sum(votes) / len(votes)
    reason = f"{sum(votes)} of {len(votes)} say {words_for(passing, scale)}"
    return RatingTally(share, share_of_most(votes), is_enough(share, scale.threshold), reason)


def is_enough(share: float, threshold: float | int | None) -> bool:
    """Whether a share reaches the threshold; without one, whether it is more than half."""
    return share > 0.5 if threshold is None else share + _SLACK >= threshold


def tally_likert(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    scale = item.method.rating_scale
    low, high = scale.range
    rows = [rating.value if isinstance(rating.value, list) else [rating.value] for rating in ratings]
    mean = fsum(fsum(row) / len(row) for row in rows) / len(rows)
    columns = list(zip(*rows, strict=True))
    agreement = fsum(scale_agreement(column, low, high) for column in columns) / len(columns)
    threshold = low + _PASSING_SHARE * (high - low) if scale.threshold is None else float(scale.threshold)
    reason = f"{mean:.3g} on average on {low} to {high}, and {threshold:g} is required"
    if scale.criteria:
        worst = min(range(len(columns)), key=lambda number: sum(columns[number]))
        reason += f"; lowest: {scale.criteria[worst]} ({fsum(columns[worst]) / len(rows):.3g})"
    return RatingTally((mean - low) / (high - low), agreement, mean + _SLACK >= threshold, reason)


def tally_ranking(item: RatingItem, ratings: Sequence[Rating]) -> RatingTally:
    """The share of the claimed pairs that raters put in that order; a tie counts as half."""
    rankings = [places_in(rating.value) for rating in ratings]
    pair_scores = [
        1.0 if ranking[first] < ranking[second] else 0.5 * (ranking[first] == ranking[second])
        for ranking in rankings
        for first, second in item.claims
    ]
    share = fsum(pair_scores) / len(pair_scores)
    reason = f"it is preferred in {share:.0%} of the pairs that were ranked"
    passed = is_enough(share, item.method.rating_scale.threshold)
    return RatingTally(share, ranking_agreement(rankings), passed, reason)


_TALLIES = {"binary": tally_binary, "likert": tally_likert, "ranking": tally_ranking}
