"""A text graded by a rubric: one number for each criterion, all of them asked for and all of them checked."""

from collections.abc import Mapping

from baselinekit.grade.judging import nonce_of, question, reply, unusable
from baselinekit.model.questions import Ask
from baselinekit.model.recipes import Scores
from baselinekit.model.values import Json
from baselinekit.tree.equality import is_number


def rubric_question(text: str, rubric: Mapping[str, str], scores: Scores) -> Ask:
    low, high = scores.scale
    criteria = "\n".join(f"- {name}: {meaning}" for name, meaning in rubric.items())
    task = (
        f"Grade the text by each criterion, from {low} (worst) to {high} (best); "
        f"fractions are allowed.\n\n{criteria}"
    )
    form: dict[str, Json] = {"scores": dict.fromkeys(rubric, f"<{low} to {high}>"), "justification": "…"}
    return question(scores.model, task, {"text": text}, form)


def read_scores(answer: str, text: str, rubric: Mapping[str, str], scores: Scores) -> dict[str, Json]:
    """The scores in the order of the rubric. One that is missing or out of range is an error, never a 0."""
    given = reply(answer, ("scores", "justification"), nonce_of(text))["scores"]
    low, high = scores.scale
    if not isinstance(given, dict) or given.keys() != rubric.keys():
        raise unusable(f"does not score {', '.join(rubric)} and nothing else", answer)
    for name, value in given.items():
        if not is_number(value) or not low <= value <= high:
            raise unusable(f"scores {name} with {value!r}, which is not between {low} and {high}", answer)
    return {name: given[name] for name in rubric}
