"""The items of a rubric: criteria that an answer meets or does not, and criteria that it is scored by.

A plain text is a criterion that has to be met. An item with `score_ranges` is scored from 0 to 10 by what
each range of scores means, and has to hold only where `required_min_score` says from which score on."""

from collections.abc import Iterator, Sequence
from typing import Annotated

from baselinekit.errors import Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Path
from baselinekit.structs import Meta, Struct
from baselinekit.values.texts import mask_and_clip, no_mask

HIGHEST = 10
"""The highest score of an item that is scored; the lowest is 0."""

_Score = Annotated[int, Meta(ge=0, le=HIGHEST, description="an integer from 0 to 10")]
_HEAVIEST = Meta(ge=0, le=1_000_000, description="a number from 0 to 1,000,000")
_Weight = Annotated[int, _HEAVIEST] | Annotated[float, _HEAVIEST]
_MOST_ITEMS = 100
_LONGEST_ID = 128
_LONGEST_NAME = 80
_BOUND = lazy_pattern(r"0|[1-9][0-9]?")
_MAP = "a map of the lowest score of each range: {0: Wrong, 6: Nearly right, 9: Right}"


class ScoreRange(Struct):
    """What the scores from one to another mean, both included."""

    score_range: list[int]
    expected_outcome: str


class RubricItem(Struct):
    """One item as a file states it. `description` is an older name of `expected_outcome`. `required`: whether
    the answer fails without it; of a scored item, `required_min_score` says so instead."""

    id: str | None = None
    expected_outcome: str | None = None
    description: str | None = None
    weight: _Weight = 1.0
    required: bool = True
    required_min_score: _Score | None = None
    score_ranges: dict[str, str] | list[ScoreRange] | None = None


class RubricCriterion(Struct):
    """One item as a judge is asked about it. `least`: the lowest score of a scored item that is a gate; an
    item that is met or not is a gate if it is `required`. `ranges`: (lowest, highest, what it means)."""

    id: str
    text: str
    weight: float = 1.0
    required: bool = False
    least: int | None = None
    ranges: tuple[tuple[int, int, str], ...] = ()
    id_stated: bool = True

    @property
    def is_scored(self) -> bool:
        return bool(self.ranges)

    @property
    def name(self) -> str:
        """The name that a reader sees."""
        if self.id_stated or not self.text:
            return self.id
        return mask_and_clip(self.text, _LONGEST_NAME, no_mask, counted=False)

    @property
    def line(self) -> str:
        """The criterion in one line, for those who look at the case."""
        gate = f", {self.least} or more needed" if self.least is not None else ""
        gate = ", required" if self.required else gate
        scale = f", 0 to {HIGHEST}" if self.is_scored else ""
        return f"{self.name}: weight {self.weight:g}{scale}{gate}"


def criteria_of(items: Sequence[str | RubricItem]) -> tuple[RubricCriterion, ...]:
    """The criteria that a judge is asked about. An item without an id gets one of its own by its place."""
    stated_items = [RubricItem(expected_outcome=item) if isinstance(item, str) else item for item in items]
    taken_ids = {item.id.strip() for item in stated_items if item.id is not None}
    criteria = []
    for number, item in enumerate(stated_items, 1):
        item_id = f"rubric-{number}"
        while item_id in taken_ids:
            item_id += "-"
        is_scored = item.score_ranges is not None
        criteria.append(
            RubricCriterion(
                item_id if item.id is None else item.id.strip(),
                (item.expected_outcome or item.description or "").strip(),
                float(item.weight),
                item.required and not is_scored,
                item.required_min_score,
                ranges_of(item.score_ranges),
                item.id is not None,
            )
        )
    return tuple(criteria)


def ranges_of(score_ranges: dict[str, str] | list[ScoreRange] | None) -> tuple[tuple[int, int, str], ...]:
    """The ranges in their order. In a map, each goes from its key to just below the next one."""
    if score_ranges is None:
        return ()
    if isinstance(score_ranges, list):
        ranges = [
            (score_range.score_range[0], score_range.score_range[1], score_range.expected_outcome.strip())
            for score_range in score_ranges
        ]
        return tuple(sorted(ranges))
    lows = sorted((int(key), text.strip()) for key, text in score_ranges.items())
    ends = [*(low - 1 for low, _ in lows[1:]), HIGHEST]
    return tuple((low, end, text) for (low, text), end in zip(lows, ends, strict=False))


def item_problems(items: Sequence[str | RubricItem]) -> Iterator[Problem]:
    """The problems of the items of a rubric, with paths below their list."""
    if not items:
        yield _item_problem("a rubric without items", "state one: - Names the capital of Australia")
        return
    if len(items) > _MOST_ITEMS:
        yield _item_problem(f"{len(items)} items, which no judge weighs at once", f"at most {_MOST_ITEMS}")
    ids: dict[str, int] = {}
    for number, item in enumerate(items):
        if isinstance(item, str):
            if not item.strip():
                yield _item_problem("an item without a text", "say what the answer has to do", number)
            continue
        yield from id_problems(item, number, ids)
        texts = [text for text in (item.expected_outcome, item.description) if text is not None]
        if len(texts) == 2 and texts[0] != texts[1]:
            hint = "keep `expected_outcome`: `description` is an older name of it"
            yield _item_problem("both `expected_outcome` and `description`", hint, number, "description")
        if any(not text.strip() for text in texts) or (not texts and item.score_ranges is None):
            hint = "`expected_outcome: what the answer has to do`, or `score_ranges`"
            yield _item_problem("an item without a text", hint, number)
        if item.score_ranges is not None:
            for problem_at, message, hint in range_problems(item.score_ranges):
                yield _item_problem(message, hint, number, "score_ranges", *problem_at)
        elif item.required_min_score is not None:
            message = "`required_min_score` of an item that is not scored"
            hint = "add `score_ranges`, or say `required: true` of what is met or not"
            yield _item_problem(message, hint, number, "required_min_score")
    weights = [1.0 if isinstance(item, str) else float(item.weight) for item in items]
    if not any(weights):
        yield _item_problem(
            "no item of the rubric has any weight", "leave `weight` out, or state one above 0"
        )


def id_problems(item: RubricItem, number: int, ids: dict[str, int]) -> Iterator[Problem]:
    """The problem of an id that no judge can repeat, or that two items have."""
    if item.id is None:
        return
    item_id = item.id.strip()
    if not item_id or len(item_id) > _LONGEST_ID or not item_id.isprintable():
        hint = f"one line of 1 to {_LONGEST_ID} characters, which a judge can repeat"
        yield _item_problem("an id that nobody can repeat", hint, number, "id")
    first = ids.setdefault(item_id, number)
    if first != number:
        message = f"items {first + 1} and {number + 1} are both called {item_id!r}"
        yield _item_problem(message, "give each item an id of its own, or none", number, "id")


def range_problems(score_ranges: dict[str, str] | list[ScoreRange]) -> Iterator[tuple[Path, str, str]]:
    """The problems of the ranges: the path, the message and the hint of each."""
    if not score_ranges:
        yield (), "no range of scores", _MAP
    elif isinstance(score_ranges, dict):
        yield from range_map_problems(score_ranges)
    else:
        yield from range_list_problems(score_ranges)


def range_map_problems(score_ranges: dict[str, str]) -> Iterator[tuple[Path, str, str]]:
    """The problems of ranges that are stated by their lowest scores."""
    lowest_scores = {key: int(key) for key in score_ranges if _BOUND.fullmatch(key) and int(key) <= HIGHEST}
    for key, text in score_ranges.items():
        if key not in lowest_scores:
            hint = f"a whole number from 0 to {HIGHEST}"
            yield (key,), f"a range that begins at {key!r}", hint
        if not text.strip():
            yield (key,), "a range without a text", "say what such a score means"
    if len(lowest_scores) == len(score_ranges) and 0 not in lowest_scores.values():
        lowest = min(lowest_scores.values())
        yield (), f"nothing says what the scores below {lowest} mean", "let the first range begin at 0"


def range_list_problems(score_ranges: list[ScoreRange]) -> Iterator[tuple[Path, str, str]]:
    """The problems of ranges that are stated by their bounds: each score has to be in one of them."""
    covered: set[int] = set()
    is_sound = True
    for place, score_range in enumerate(score_ranges):
        if not score_range.expected_outcome.strip():
            yield (place, "expected_outcome"), "a range without a text", "say what such a score means"
        bounds = score_range.score_range
        if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] <= HIGHEST:
            is_sound = False
            hint = f"the lowest and the highest of its scores, from 0 to {HIGHEST}: [0, 2]"
            yield (place, "score_range"), f"{bounds} is no range of scores", hint
            continue
        scores = {*range(bounds[0], bounds[1] + 1)}
        if repeated := scores & covered:
            hint = "let each range begin where the one before it has ended"
            yield (place, "score_range"), f"scores in two ranges: {_listed(repeated)}", hint
        covered |= scores
    missing = {*range(HIGHEST + 1)} - covered
    if is_sound and missing:
        yield (), f"scores in no range: {_listed(missing)}", f"cover all scores from 0 to {HIGHEST}"


def _listed(scores: set[int]) -> str:
    return ", ".join(map(str, sorted(scores)))


def _item_problem(message: str, hint: str, *at: str | int) -> Problem:
    return Problem("BK662", message, hint, at=at)
