"""The items of a rubric: criteria that an answer meets or does not, and criteria that it is scored by.

A plain text is a criterion that has to be met. An item with `score_ranges` is scored from 0 to 10 by what
each range of scores means, and has to hold only where `required_min_score` says from which score on."""

from collections.abc import Iterator, Sequence
from math import isfinite

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Number
from baselinekit.model.values import Path
from baselinekit.texts import already_masked, clipped

HIGHEST = 10
"""Of an item that is scored; the lowest score is 0."""

_HEAVIEST = 1_000_000
_MOST_ITEMS = 100
_LONGEST_ID = 128
_LONGEST_NAME = 80
_BOUND = lazy_pattern(r"0|[1-9][0-9]?")
_MAP = "a map of the lowest score of each range: {0: Wrong, 6: Nearly right, 9: Right}"


@frozen
class ScoreRange:
    """What the scores from one to another mean, both included."""

    score_range: list[int]
    expected_outcome: str


@frozen
class RubricItem:
    """One item as a file states it. `description` is an older name of `expected_outcome`. `required`: whether
    the answer fails without it, where it is no item that is scored; there `required_min_score` says so."""

    id: str | None = None
    expected_outcome: str | None = None
    description: str | None = None
    weight: Number = 1.0
    required: bool = True
    required_min_score: int | None = None
    score_ranges: dict[str, str] | list[ScoreRange] | None = None


@frozen
class RubricCriterion:
    """One item as a judge is asked about it. `least`: the score from which on a gate holds; for an item that
    is met or not, `required` says whether it is one. `ranges`: (lowest, highest, what it means)."""

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
        """What a reader knows it by."""
        if self.id_stated or not self.text:
            return self.id
        return clipped(self.text, _LONGEST_NAME, already_masked, counted=False)

    @property
    def line(self) -> str:
        """All of it in one line, for whoever looks at the case."""
        gate = f", {self.least} or more needed" if self.least is not None else ""
        gate = ", required" if self.required else gate
        scale = f", 0 to {HIGHEST}" if self.is_scored else ""
        return f"{self.name}: weight {self.weight:g}{scale}{gate}"


def criteria_of(items: Sequence[str | RubricItem]) -> tuple[RubricCriterion, ...]:
    """What a judge is asked about. An item without an id gets one of its own by its place."""
    stated = [RubricItem(expected_outcome=item) if isinstance(item, str) else item for item in items]
    taken = {item.id.strip() for item in stated if item.id is not None}
    found = []
    for number, item in enumerate(stated, 1):
        own = f"rubric-{number}"
        while own in taken:
            own += "-"
        scored = item.score_ranges is not None
        found.append(
            RubricCriterion(
                own if item.id is None else item.id.strip(),
                (item.expected_outcome or item.description or "").strip(),
                float(item.weight),
                item.required and not scored,
                item.required_min_score,
                ranges_of(item.score_ranges),
                item.id is not None,
            )
        )
    return tuple(found)


def ranges_of(stated: dict[str, str] | list[ScoreRange] | None) -> tuple[tuple[int, int, str], ...]:
    """The ranges in their order: of a map, each from its key to below the next one."""
    if stated is None:
        return ()
    if isinstance(stated, list):
        found = [(one.score_range[0], one.score_range[1], one.expected_outcome.strip()) for one in stated]
        return tuple(sorted(found))
    lows = sorted((int(key), text.strip()) for key, text in stated.items())
    ends = [*(low - 1 for low, _ in lows[1:]), HIGHEST]
    return tuple((low, end, text) for (low, text), end in zip(lows, ends, strict=False))


def item_problems(items: Sequence[str | RubricItem]) -> Iterator[Problem]:
    """What is wrong with the items of a rubric, with paths below their list."""
    if not items:
        yield _wrong("a rubric without items", "state one: - Names the capital of Australia")
        return
    if len(items) > _MOST_ITEMS:
        yield _wrong(f"{len(items)} items, which no judge weighs at once", f"at most {_MOST_ITEMS}")
    ids: dict[str, int] = {}
    for number, item in enumerate(items):
        if isinstance(item, str):
            if not item.strip():
                yield _wrong("an item without a text", "say what the answer has to do", number)
            continue
        yield from id_problems(item, number, ids)
        yield from text_problems(item, number)
        if not (isfinite(float(item.weight)) and 0 <= item.weight <= _HEAVIEST):
            hint = f"a number from 0 to {_HEAVIEST:,}"
            yield _wrong(f"the weight of an item is {item.weight}", hint, number, "weight")
        yield from least_score_problems(item, number)
        for problem_at, what, hint in range_problems(item.score_ranges):
            yield _wrong(what, hint, number, "score_ranges", *problem_at)
    weights = [1.0 if isinstance(item, str) else float(item.weight) for item in items]
    if not any(weights):
        yield _wrong("no item of the rubric has any weight", "leave `weight` out, or state one above 0")


def id_problems(item: RubricItem, number: int, ids: dict[str, int]) -> Iterator[Problem]:
    """An id that no judge can repeat, or that two items have."""
    if item.id is None:
        return
    own = item.id.strip()
    if not own or len(own) > _LONGEST_ID or not own.isprintable():
        hint = f"one line of 1 to {_LONGEST_ID} characters, which a judge can repeat"
        yield _wrong("an id that nobody can repeat", hint, number, "id")
    first = ids.setdefault(own, number)
    if first != number:
        hint = "give each item an id of its own, or none"
        yield _wrong(f"items {first + 1} and {number + 1} are both called {own!r}", hint, number, "id")


def text_problems(item: RubricItem, number: int) -> Iterator[Problem]:
    """An item that does not say what the answer has to do, or says it twice."""
    texts = [text for text in (item.expected_outcome, item.description) if text is not None]
    if len(texts) == 2 and texts[0] != texts[1]:
        hint = "keep `expected_outcome`: `description` is an older name of it"
        yield _wrong("both `expected_outcome` and `description`", hint, number, "description")
    if any(not text.strip() for text in texts) or (not texts and item.score_ranges is None):
        hint = "`expected_outcome: what the answer has to do`, or `score_ranges`"
        yield _wrong("an item without a text", hint, number)


def least_score_problems(item: RubricItem, number: int) -> Iterator[Problem]:
    """A `required_min_score` that is none, or of an item that is not scored."""
    least = item.required_min_score
    if least is None:
        return
    if not 0 <= least <= HIGHEST:
        hint = f"a whole number from 0 to {HIGHEST}"
        yield _wrong(f"`required_min_score` is {least}", hint, number, "required_min_score")
    if item.score_ranges is None:
        what = "`required_min_score` of an item that is not scored"
        hint = "add `score_ranges`, or say `required: true` of what is met or not"
        yield _wrong(what, hint, number, "required_min_score")


def range_problems(stated: dict[str, str] | list[ScoreRange] | None) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with the ranges: where, what, and what to do about it."""
    if stated is None:
        return
    if not stated:
        yield (), "no range of scores", _MAP
    elif isinstance(stated, dict):
        yield from range_map_problems(stated)
    else:
        yield from range_list_problems(stated)


def range_map_problems(stated: dict[str, str]) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with ranges that are stated by their lowest scores."""
    whole = {key: int(key) for key in stated if _BOUND.fullmatch(key) and int(key) <= HIGHEST}
    for key, text in stated.items():
        if key not in whole:
            hint = f"a whole number from 0 to {HIGHEST}"
            yield (key,), f"a range that begins at {key!r}", hint
        if not text.strip():
            yield (key,), "a range without a text", "say what such a score means"
    if len(whole) == len(stated) and 0 not in whole.values():
        lowest = min(whole.values())
        yield (), f"nothing says what the scores below {lowest} mean", "let the first range begin at 0"


def range_list_problems(stated: list[ScoreRange]) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with ranges that are stated by their bounds: each score is in one of them."""
    owner: dict[int, int] = {}
    is_sound = True
    for place, one in enumerate(stated):
        if not one.expected_outcome.strip():
            yield (place, "expected_outcome"), "a range without a text", "say what such a score means"
        bounds = one.score_range
        if len(bounds) != 2 or not 0 <= bounds[0] <= bounds[1] <= HIGHEST:
            is_sound = False
            hint = f"the lowest and the highest of its scores, from 0 to {HIGHEST}: [0, 2]"
            yield (place, "score_range"), f"{bounds} is no range of scores", hint
            continue
        twice = [
            score for score in range(bounds[0], bounds[1] + 1) if owner.setdefault(score, place) != place
        ]
        if twice:
            hint = "let each range begin where the one before it has ended"
            yield (place, "score_range"), f"{_scores(twice)} in two ranges", hint
    missing = [score for score in range(HIGHEST + 1) if score not in owner]
    if is_sound and missing:
        yield (), f"{_scores(missing)} in no range", f"cover all scores from 0 to {HIGHEST}"


def _scores(scores: Sequence[int]) -> str:
    return (
        f"the score {scores[0]} is" if len(scores) == 1 else f"the scores {', '.join(map(str, scores))} are"
    )


def _wrong(what: str, hint: str, *at: str | int) -> Problem:
    return Problem("BK662", what, hint, at=at)
