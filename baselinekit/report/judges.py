"""How far the judges of a run agree with people, in each form."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import one_line
from baselinekit.metrics import wilson
from baselinekit.model.ratings import Agreement, JudgeFacts
from baselinekit.model.values import Json, Path
from baselinekit.report.fields import Field, Reader, one_of

_STATES = {
    "not calibrated": "nobody has measured it",
    "another judge": "it was measured for another judge",
    "another rubric": "it was measured for another judge or rubric",
    "other labels": "its labels have changed since it was measured",
}
_COUNT = Field(int, least=0)
JUDGE = {
    "model": Field(str),
    "file": Field(str),
    "state": Field(str, test=one_of(("calibrated", *_STATES))),
    "agreement": Field(dict, type(None)),
}
AGREEMENT = {
    "rubric": Field(str),
    "labels": Field(str),
    "both_passed": _COUNT,
    "only_judge_passed": _COUNT,
    "only_people_passed": _COUNT,
    "both_failed": _COUNT,
    "undecided": _COUNT,
    "accuracy": Field(int, float, type(None)),
    "kappa": Field(int, float, type(None)),
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


def document(judges: Sequence[JudgeFacts]) -> list[Json]:
    return [
        {
            "model": judge.model,
            "file": judge.file,
            "state": judge.state,
            "agreement": None if judge.agreement is None else _agreement(judge.agreement),
        }
        for judge in judges
    ]


def _agreement(one: Agreement) -> dict[str, Json]:
    return {
        "rubric": one.rubric,
        "labels": one.labels,
        "both_passed": one.both,
        "only_judge_passed": one.only_judge,
        "only_people_passed": one.only_human,
        "both_failed": one.neither,
        "undecided": one.undecided,
        "accuracy": one.accuracy,
        "kappa": one.kappa,
    }


def read(raw: Json, at: Path, wants: Reader) -> tuple[JudgeFacts, ...]:
    found = []
    for number, one in enumerate(raw or ()):
        here = (*at, number)
        if not wants.mapping(one, JUDGE, here):
            continue
        known, agreement = one["agreement"], None
        if known is not None and wants.mapping(known, AGREEMENT, (*here, "agreement")):
            keys = ("both_passed", "only_judge_passed", "only_people_passed", "both_failed", "undecided")
            both, judge, people, neither, undecided = (known[key] for key in keys)
            named = one["model"], known["rubric"], known["labels"]
            agreement = Agreement(*named, both, judge, people, neither, undecided, known["kappa"])
        found.append(JudgeFacts(one["model"], one["file"], one["state"], agreement))
    return tuple(found)
