"""Whether two texts mean the same, asked of a model."""

from baselinekit.grade.judging import nonce_of, question, reply, unusable
from baselinekit.model.asking import Ask
from baselinekit.placeholders.kinds import is_number

_TASK = (
    "Do both texts tell a reader the same? 1: everything that matters is in both, whatever the words. "
    "0: they say different things. In between: something that matters is missing or added. A changed number, "
    "name or negation is a different thing."
)


def meaning_question(expected: str, actual: str, model: str) -> Ask:
    texts = {"first text": expected, "second text": actual}
    return question(model, _TASK, texts, {"similarity": "<0 to 1>", "reason": "…"})


def read_similarity(answer: str, expected: str, actual: str) -> tuple[float, str]:
    """How alike the judge found them, from 0 to 1, and why."""
    given = reply(answer, ("similarity", "reason"), nonce_of(expected, actual))
    score = given["similarity"]
    if not is_number(score) or not 0 <= score <= 1:
        raise unusable(f"gives a similarity of {score!r}, which is not between 0 and 1", answer)
    return float(score), str(given["reason"])
