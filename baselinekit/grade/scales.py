"""Rating scales: what a rater may say, how it is typed, and what it is worth."""

import json
import re
from collections.abc import Iterator, Sequence

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.model.grades import HumanRating, Option, RatingScale
from baselinekit.model.values import Json
from baselinekit.placeholders.accepts import whole as is_whole
from baselinekit.tree.equality import canonical, is_number

_PASS_FAIL = [Option(True, "Pass"), Option(False, "Fail")]
_ALSO = {True: ("yes", "y", "pass", "p"), False: ("no", "n", "fail", "f")}
_GAPS = re.compile(r"[\s,;>]+")


def options_of(scale: RatingScale) -> list[Option]:
    """The two answers of a binary scale."""
    return list(scale.options) or _PASS_FAIL


def passing_value(scale: RatingScale) -> Json:
    """The answer that is a pass: `true`, or else the first."""
    values = [option.value for option in options_of(scale)]
    return True if any(value is True for value in values) else values[0]


def value_of(text: str, scale: RatingScale, items: int = 0) -> Json:
    """What a rater typed, as a value; InvalidInput for what is none."""
    text = text.strip()
    if scale.type == "binary":
        return _chosen(text, scale)
    try:
        if scale.type == "likert":
            numbers: list[Json] = [int(word) for word in _GAPS.split(text)]
            return checked(numbers if scale.criteria else numbers[0] if len(numbers) == 1 else numbers, scale)
        places = [
            [int(word) for word in part.split("=")] for part in _GAPS.split(re.sub(r"\s*=\s*", "=", text))
        ]
    except ValueError:
        raise _refused(repr(text), scale, items) from None
    return checked([place[0] if len(place) == 1 else place for place in places], scale, items)


def _chosen(text: str, scale: RatingScale) -> Json:
    word = text.casefold()
    for option in options_of(scale):
        names = [option.label, option.value if isinstance(option.value, str) else json.dumps(option.value)]
        if isinstance(option.value, bool):
            names += _ALSO[option.value]
        if word and word in (name.casefold() for name in names):
            return option.value
    raise _refused(repr(text), scale, 0, nearest(text, [option.label for option in options_of(scale)]))


def checked(value: Json, scale: RatingScale, items: int = 0) -> Json:
    """The value, if the scale has it; criteria by their names are put in order."""
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
        raise _refused(json.dumps(value, default=str), scale, items)
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


def _refused(typed: str, scale: RatingScale, items: int, hint: str = "") -> InvalidInput:
    return InvalidInput(Problem("BK741", f"{typed} is not a rating here", hint or wanted(scale, items)))


def wanted(scale: RatingScale, items: int = 0) -> str:
    """What a rating looks like, in words."""
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
    """Which place a ranking gives to each item; tied ones share theirs."""
    found: dict[int, float] = {}
    for place in value:
        tied = place if isinstance(place, list) else [place]
        found |= dict.fromkeys(tied, len(found) + (len(tied) + 1) / 2)
    return found


def scale_problems(how: HumanRating) -> Iterator[Problem]:
    """What is wrong with a human grader before anybody is asked."""
    people, scale = how.evaluators, how.rating_scale
    if people.min_required < 1:
        yield _wrong(f"min_required is {people.min_required}", "1 or more people rate", "evaluators")
    if people.max_allowed < people.min_required:
        what = f"max_allowed is {people.max_allowed}, and {people.min_required} are required"
        yield _wrong(what, "at most as many can be required as are allowed", "evaluators")
    if people.adjudicator is not None and not people.adjudicator.strip():
        yield _wrong("the adjudicator has no name", "adjudicator: ada, or leave it out", "evaluators")
    if not 0 <= people.agreement_threshold <= 1:
        yield _wrong(
            f"agreement_threshold is {people.agreement_threshold}", "a share from 0 to 1", "evaluators"
        )
    if how.time_limit_minutes is not None and how.time_limit_minutes <= 0:
        yield _wrong(f"time_limit_minutes is {how.time_limit_minutes}", "more than 0, or leave it out")
    for name in how.slots:
        if f"{{{name}}}" not in how.rubric:
            yield _wrong(f"the rubric has no {{{name}}}", "put it there, or remove it here", "slots")
    for what, hint in _OF_SCALES[scale.type](scale):
        yield _wrong(what, hint, "rating_scale")
    if scale.criteria and scale.type != "likert":
        yield _wrong(f"a {scale.type} scale has no criteria", "use `type: likert`", "rating_scale")
    if scale.options and scale.type != "binary":
        yield _wrong(f"a {scale.type} scale has no options", "use `type: binary`", "rating_scale")


def _wrong(what: str, hint: str, *at: str) -> Problem:
    return Problem("BK740", what, hint, at=("config", *at))


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
    yield from _share(scale)


def ranking_problems(scale: RatingScale) -> Iterator[tuple[str, str]]:
    if scale.min_items < 2 or scale.max_items < scale.min_items:
        yield f"{scale.min_items} to {scale.max_items} items cannot be ranked", "min_items 2, max_items 5"
    yield from _share(scale)


def _share(scale: RatingScale) -> Iterator[tuple[str, str]]:
    if scale.threshold is not None and not (is_number(scale.threshold) and 0 <= scale.threshold <= 1):
        yield f"the threshold is {scale.threshold}", "a share from 0 to 1"


_OF_SCALES = {"likert": likert_problems, "binary": binary_problems, "ranking": ranking_problems}
