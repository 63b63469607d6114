"""The rubric by which a text is scored: in the recipe, or in a file of its own."""

from dataclasses import replace

from baselinekit.errors import BaselinekitError
from baselinekit.model.recipes import Scores
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.kinds import is_number
from baselinekit.replay.files import load
from baselinekit.replay.setting import Setting, invalid

_SCORES = ("current", "execution", "scores")


def rubric_of(scores: Scores, setting: Setting) -> dict[str, str]:
    """Each criterion with what is meant by it."""
    low_high = scores.scale
    if len(low_high) != 2 or not all(map(is_number, low_high)) or not low_high[0] < low_high[1]:
        raise invalid("BK355", "a scale is two numbers, the worst and the best", "such as [1, 5]", _SCORES)
    value: Json = scores.rubric
    if isinstance(scores.rubric, str):
        value = load(setting.surroundings, scores.rubric)
    if not isinstance(value, dict) or not value or not all(isinstance(text, str) for text in value.values()):
        mend = "such as {clarity: can a newcomer follow it?}"
        raise invalid("BK355", "a rubric is a mapping of criteria to what they mean", mend, _SCORES)
    return value


def check_scores(scores: Scores | None, setting: Setting) -> None:
    """What would be wrong before anybody is asked."""
    if scores is not None:
        rubric_of(scores, setting)
        check_model(scores.model, (*_SCORES, "model"), setting)


def check_model(name: str, at: Path, setting: Setting) -> None:
    """What is wrong with a model, told where the recipe names it."""
    try:
        setting.doors.models.check(name)
    except BaselinekitError as error:
        raise type(error)(*(replace(problem, at=at) for problem in error.problems)) from None
