"""Several grades of one output: what they amount to together."""

from collections.abc import Sequence

from baselinekit.model.grades import OUTCOMES, Grade, Outcome


def combined(grades: Sequence[Grade]) -> tuple[Outcome, float | None, str, str | None]:
    """The outcome, the score, the reason and the verdict: passed when every required grader passes. A grader
    that could not judge makes it an error, unless another one has found it wrong already. The score is the
    mean by weight, and there is none while a grader that counts has not decided."""
    required = [grade for grade in grades if grade.required]
    counting = required or list(grades)
    outcomes = {grade.outcome for grade in counting}
    outcome: Outcome = next((one for one in OUTCOMES if one in outcomes), "unscored")
    telling = [grade for grade in counting if grade.outcome == outcome]
    reason = "; ".join(
        f"{grade.grader}: {grade.reason}" if len(grades) > 1 else grade.reason
        for grade in telling
        if grade.reason and outcome != "passed"
    )
    verdict = next((grade.verdict for grade in telling if grade.verdict), None)
    return outcome, _score(grades), reason, verdict


def _score(grades: Sequence[Grade]) -> float | None:
    weight = sum(grade.weight for grade in grades)
    if not weight or any(grade.score is None for grade in grades):
        return None
    return sum((grade.score or 0.0) * grade.weight for grade in grades) / weight
