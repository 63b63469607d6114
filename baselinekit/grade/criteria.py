"""The criteria of a rubric: stated one by one, or read from a numbered text."""

import re
from collections.abc import Iterator

from baselinekit.errors import Problem
from baselinekit.model.graders import (
    Criterion,
    ModelJudge,
)

_ITEM = re.compile(r"^[ \t]*(?:#+[ \t]*)?\d+[.)][ \t]+(?P<line>\S.*)$", re.MULTILINE)
_NAME = re.compile(r"\*\*(?P<bold>[^*]+)\*\*|(?P<plain>[^:(]+?)[ \t]*(?=[:(]|$)")
_WEIGHT = re.compile(r"\([ \t]*weight:?[ \t]*(?P<weight>\d+(?:\.\d+)?)[ \t]*\)", re.IGNORECASE)
_SAID = re.compile(r"\([ \t]*weight[ \t]*:[^)\n]*\)", re.IGNORECASE)
_RANGE = re.compile(r"\([ \t]*(?P<low>-?\d+(?:\.\d+)?)[ \t]*(?:-|–|to)[ \t]*(?P<high>\d+(?:\.\d+)?)[ \t]*\)")
_LONGEST_NAME = 60

OVERALL = "overall"
"""The one criterion of a rubric that names none."""


def criteria_of(how: ModelJudge) -> list[Criterion]:
    """What a judge is asked to score. Weights and ranges that a text states in brackets count."""
    if not isinstance(how.rubric, str):
        return list(how.rubric)
    found = list(_items(how.rubric))
    if len({criterion.name for criterion in found}) != len(found):
        found = []  # numbered lines that are no criteria
    return found or [Criterion(OVERALL)]


def _items(rubric: str) -> Iterator[Criterion]:
    for item in _ITEM.finditer(rubric):
        line = item["line"]
        named = _NAME.match(line)
        name = (named["bold"] or named["plain"] or "").strip().rstrip(":") if named else ""
        if not name or len(name) > _LONGEST_NAME:
            return
        weight, scale = _WEIGHT.search(line), _RANGE.search(line)
        yield Criterion(
            _key(name),
            weight=float(weight["weight"]) if weight else 1,
            range=[float(scale["low"]), float(scale["high"])] if scale else None,
        )


def _key(name: str) -> str:
    """A name that a judge can repeat as a key of JSON."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def scale_of(criterion: Criterion, how: ModelJudge) -> tuple[float, float]:
    low, high = criterion.range or how.scoring.range
    return float(low), float(high)


def problems_of(how: ModelJudge) -> Iterator[Problem]:
    """What is wrong with a judge before anybody is asked."""
    scoring = how.scoring
    if not (how.rubric.strip() if isinstance(how.rubric, str) else how.rubric):
        yield Problem("BK702", "a model grader without a rubric", "say by what it is to judge: `rubric: |`")
    if scoring.type == "categorical":
        if len(scoring.categories) < 2 or not scoring.passing:
            mend = "state `categories: [good, poor]` and which of them pass: `passing: [good]`"
            yield Problem("BK702", "categorical scoring says too little", mend)
        for unknown in sorted({*scoring.passing} - {*scoring.categories}):
            mend = f"one of {', '.join(scoring.categories)}"
            yield Problem("BK702", f"`passing` names {unknown!r}, which is no category", mend)
    for criterion in criteria_of(how):
        bounds = criterion.range or scoring.range
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            yield Problem("BK702", f"{bounds} is no range", "the least and the greatest score: [1, 5]")
        if criterion.weight < 0:
            yield Problem("BK702", f"{criterion.name} has a negative weight", "0 or more")
    lines = _ITEM.finditer(how.rubric) if isinstance(how.rubric, str) else ()
    for said in (one for line in lines for one in _SAID.findall(line["line"])):
        if not _WEIGHT.fullmatch(said):
            yield Problem("BK702", f"{said} says no weight", "a number of 0 or more: (weight: 0.6)")
    if not any(criterion.weight for criterion in criteria_of(how)):
        yield Problem("BK702", "no criterion has any weight", "leave `weight` out, or state one above 0")
    if how.samples < 1:
        yield Problem("BK702", f"{how.samples} samples of a judgement", "1 or more; an odd number decides")
