"""How far the judges of a run agree with people, in each form."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import one_line
from baselinekit.metrics import wilson
from baselinekit.model.grades import Agreement, JudgeFacts

_STATES = {
    "not calibrated": "it has not been measured",
    "another judge": "it was measured for another judge",
    "another rubric": "it was measured for another judge or rubric",
    "other labels": "its labels have changed since it was measured",
}


def describe_judge(judge: JudgeFacts) -> str:
    """`gpt: agrees with people on 22 of 24 (accuracy 0.917, kappa 0.833; passes 1 that they fail, …)`."""
    name = one_line(judge.model)
    if judge.agreement is None:
        return f"{name}: {_STATES[judge.state]} ({one_line(judge.file)}): baselinekit calibrate"
    return f"{name}: {describe_agreement(judge.agreement)}"


def describe_agreement(one: Agreement) -> str:
    kappa = "not available" if one.kappa is None else f"{one.kappa:.3f}"
    accuracy = "not available"
    if one.accuracy is not None:
        low, high = wilson(one.accuracy, one.decided)
        accuracy = f"{one.accuracy:.3f}, {low:.3f} to {high:.3f} with 95 %"
    agreed = one.both + one.neither
    told = f"agrees with people on {agreed:,} of {one.decided:,} (accuracy {accuracy}, kappa {kappa}; "
    told += f"passes {one.only_judge:,} that they fail, fails {one.only_human:,} that they pass"
    replies = "reply" if one.undecided == 1 else "replies"
    return told + (f"; {one.undecided:,} {replies} unusable)" if one.undecided else ")")


def describe_judges(judges: Sequence[JudgeFacts]) -> Iterator[str]:
    yield from (f"judge {describe_judge(judge)}" for judge in judges)
