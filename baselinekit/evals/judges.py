"""Judges measured: calibrated against labels of people, and probed with texts whose verdict is known."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem
from baselinekit.evals import selection
from baselinekit.grade import calibration, graders
from baselinekit.grade.by_model import ModelJudge
from baselinekit.grade.task import GradeClients
from baselinekit.model.evals import Case
from baselinekit.model.grades import Agreement, Grade, Grader, JudgeFacts, Label, State
from baselinekit.model.recipes import Answer, Ask, Observation
from baselinekit.suites import ratingfile
from baselinekit.suites.settings import resolve_named
from baselinekit.workflow.project import Project

# calibrate: each judge that has a calibration file is asked about its labels. What comes of it is kept
# beside the labels, so that a run can say how far its judges are to be trusted without asking again.


@dataclass(frozen=True, slots=True)
class LabelledJudge:
    """A judge with its file of labels, from the project's root."""

    how: ModelJudge
    file: str


def judges_of(root: str, cases: Sequence[Case]) -> list[LabelledJudge]:
    """Each judge once, however many cases it judges."""
    found: dict[tuple[str, str, str], LabelledJudge] = {}
    for case in cases:
        for grader in case.graders:
            how = grader.method
            if isinstance(how, ModelJudge) and how.calibration is not None:
                file = resolve_named(root, case.source.file, how.calibration)
                found.setdefault((how.model, calibration.rubric_hash(how), file), LabelledJudge(how, file))
    return list(found.values())


def calibrate(
    root: str, judges: Sequence[LabelledJudge], ask: Callable[[Ask], Answer]
) -> list[tuple[LabelledJudge, Agreement]]:
    """Ask all of them. Every label of every file is checked before the first question."""
    if not judges:
        hint = "name its file in the grader: `config: {calibration: labels.yaml}`"
        raise NothingSelected(Problem("BK509", "no judge here has a calibration file", hint))
    labelled = [(judge, ratingfile.load_labels(root, judge.file)) for judge in judges]
    wrong = [
        replace(problem, message=f"{judge.file}: label {number}: {problem.message}", at=None)
        for judge, labels in labelled
        for number, label in enumerate(labels, 1)
        if (problem := calibration.label_problem(label, judge.how)) is not None
    ]
    if wrong:
        raise InvalidInput(*wrong)
    found = [(judge, _measured(judge.how, labels, ask)) for judge, labels in labelled]
    for file in dict.fromkeys(judge.file for judge, _ in found):
        ratingfile.keep_measured(root, file, [one for judge, one in found if judge.file == file])
    return found


def _measured(how: ModelJudge, labels: Sequence[Label], ask: Callable[[Ask], Answer]) -> Agreement:
    grader, clients = Grader("judge", "model", how), GradeClients(ask=ask)
    verdicts: list[bool | None] = []
    for number, label in enumerate(labels, 1):
        case = calibration.case_of_label(label, number)
        grade = graders.grade(grader, case, Observation(label.output, 0.0), clients)
        verdicts.append({"passed": True, "failed": False}.get(grade.outcome))
    return calibration.agreement(how, labels, verdicts)


def facts_of(root: str, cases: Sequence[Case]) -> tuple[JudgeFacts, ...]:
    """What is known of the judges of these cases. Nobody is asked."""
    return tuple(_facts(root, judge) for judge in judges_of(root, cases))


def _facts(root: str, judge: LabelledJudge) -> JudgeFacts:
    labels = calibration.labels_hash(ratingfile.load_labels(root, judge.file))
    known = ratingfile.load_measured(root, judge.file)
    rubric = calibration.rubric_hash(judge.how)
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


# doctor --probe-judges: every judge of a project is asked about texts whose verdict is known.


USUAL = "judge"


@dataclass(frozen=True, slots=True)
class Probed:
    """What a judge said to one probe, and whether that is as it should be."""

    judge: str
    probe: str
    wanted: str
    grade: Grade
    holds: bool


def judges_to_probe(project: Project, paths: Sequence[str]) -> list[str]:
    """The models that the eval cases name as judges, and the usual one."""
    named = {USUAL} & project.config.models.keys()
    with suppress(NothingSelected):
        for case in selection.load(project, paths, None).cases:
            named |= {asked[0] for asked in map(graders.asks, case.graders) if asked}
    if not named:
        hint = "declare one in baselinekit.yaml: models: {judge: {openai: MODEL}}"
        raise NothingSelected(Problem("BK509", "there is no judge to probe", hint))
    return sorted(named)


def probe(judges: Sequence[str], ask: Callable[[Ask], Answer]) -> list[Probed]:
    """Each judge with each probe, in their order."""
    clients = GradeClients(ask=ask)
    found = []
    for judge in judges:
        for one in calibration.PROBES:
            observation = Observation(one.output, 0.0)
            try:
                grade = graders.grade(
                    calibration.grader_of(judge), calibration.case_of(one), observation, clients
                )
            except BaselinekitError as error:  # the budget, which ends a run, ends this as well
                reason = error.problems[0].message
                grade = Grade(judge, "model", "error", None, reason, code=error.problems[0].code)
            found.append(Probed(judge, one.name, one.wanted, grade, _holds(one, grade)))
    return found


def _holds(one: calibration.Probe, grade: Grade) -> bool:
    """Who could not be asked has withstood nothing."""
    unread = grade.outcome == "error" and grade.code != "BK640"
    return not unread and one.holds(grade)
