"""calibrate: each judge that has a calibration file is asked about its labels. What comes of it is kept
beside the labels, so that a run can say how far its judges are to be trusted without asking again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.grade import dispatch as grading
from baselinekit.model.asking import Answer, Ask
from baselinekit.model.calibration import Agreement, JudgeFacts, Label, State
from baselinekit.model.evals import Case
from baselinekit.model.graders import Grader, ModelJudge
from baselinekit.model.observation import Observation
from baselinekit.suites import calibrations
from baselinekit.suites.evalpaths import named


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge with its file of labels, from the project's root."""

    how: ModelJudge
    file: str


def judges_of(root: str, cases: Sequence[Case]) -> list[Judge]:
    """Each judge once, however many cases it judges."""
    found: dict[tuple[str, str, str], Judge] = {}
    for case in cases:
        for grader in case.graders:
            how = grader.method
            if isinstance(how, ModelJudge) and how.calibration is not None:
                file = named(root, case.source.file, how.calibration)
                found.setdefault((how.model, grading.rubric_hash(how), file), Judge(how, file))
    return list(found.values())


def calibrate(
    root: str, judges: Sequence[Judge], ask: Callable[[Ask], Answer]
) -> list[tuple[Judge, Agreement]]:
    """Ask all of them. Every label of every file is checked before the first question."""
    if not judges:
        mend = "name its file in the grader: `config: {calibration: labels.yaml}`"
        raise NothingSelected(Problem("BK509", "no judge here has a calibration file", mend))
    labelled = [(judge, calibrations.load_labels(root, judge.file)) for judge in judges]
    wrong = [
        replace(problem, what=f"{judge.file}: label {number}: {problem.what}", at=None)
        for judge, labels in labelled
        for number, label in enumerate(labels, 1)
        if (problem := grading.label_problem(label, judge.how)) is not None
    ]
    if wrong:
        raise InvalidInput(*wrong)
    found = [(judge, _measured(judge.how, labels, ask)) for judge, labels in labelled]
    for file in dict.fromkeys(judge.file for judge, _ in found):
        calibrations.keep_measured(root, file, [one for judge, one in found if judge.file == file])
    return found


def _measured(how: ModelJudge, labels: Sequence[Label], ask: Callable[[Ask], Answer]) -> Agreement:
    grader, doors = Grader("judge", "model", how), grading.Doors(ask=ask)
    verdicts: list[bool | None] = []
    for number, label in enumerate(labels, 1):
        case = grading.case_of_label(label, number)
        grade = grading.grade(grader, case, Observation(label.output, 0.0), doors)
        verdicts.append({"passed": True, "failed": False}.get(grade.outcome))
    return grading.agreement(how, labels, verdicts)


def facts_of(root: str, cases: Sequence[Case]) -> tuple[JudgeFacts, ...]:
    """What is known of the judges of these cases. Nobody is asked."""
    return tuple(_facts(root, judge) for judge in judges_of(root, cases))


def _facts(root: str, judge: Judge) -> JudgeFacts:
    labels = grading.labels_hash(calibrations.load_labels(root, judge.file))
    known = calibrations.load_measured(root, judge.file)
    rubric = grading.rubric_hash(judge.how)
    fitting = [one for one in known if (one.model, one.rubric) == (judge.how.model, rubric)]
    for one in fitting:
        if one.labels == labels:
            return JudgeFacts(judge.how.model, judge.file, "calibrated", one)
    state: State = "not calibrated"
    if fitting:
        state = "other labels"
    elif any(one.rubric == rubric for one in known):
        state = "another judge"
    elif known:
        state = "another rubric"
    return JudgeFacts(judge.how.model, judge.file, state)
