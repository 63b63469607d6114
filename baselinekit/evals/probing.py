"""doctor --probe-judges: every judge of a project is asked about texts whose verdict is known."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from baselinekit.errors import BaselinekitError, NothingSelected, Problem
from baselinekit.evals import evalfiles
from baselinekit.grade import dispatch as grading
from baselinekit.model.asking import Answer, Ask
from baselinekit.model.graders import ModelJudge
from baselinekit.model.grades import Grade
from baselinekit.model.observation import Observation
from baselinekit.workflow.project import Project

USUAL = "judge"


@dataclass(frozen=True, slots=True)
class Probed:
    """What a judge said to one probe, and whether that is as it should be."""

    judge: str
    probe: str
    wanted: str
    grade: Grade
    holds: bool


def judges_of(project: Project, paths: Sequence[str]) -> list[str]:
    """The models that the eval cases name as judges, and the usual one."""
    named = {USUAL} & project.config.models.keys()
    with suppress(NothingSelected):
        for case in evalfiles.load(project, paths, None).cases:
            named |= {one.method.model for one in case.graders if isinstance(one.method, ModelJudge)}
    if not named:
        mend = "declare one in baselinekit.yaml: models: {judge: {openai: MODEL}}"
        raise NothingSelected(Problem("BK509", "there is no judge to probe", mend))
    return sorted(named)


def probe(judges: Sequence[str], ask: Callable[[Ask], Answer]) -> list[Probed]:
    """Each judge with each probe, in their order."""
    doors = grading.Doors(ask=ask)
    found = []
    for judge in judges:
        for one in grading.PROBES:
            observation = Observation(one.output, 0.0)
            try:
                grade = grading.grade(grading.grader_of(judge), grading.case_of(one), observation, doors)
            except BaselinekitError as error:  # the budget, which ends a run, ends this as well
                reason = error.problems[0].what
                grade = Grade(judge, "model", "error", None, reason, code=error.problems[0].code)
            found.append(Probed(judge, one.name, one.wanted, grade, _holds(one, grade)))
    return found


def _holds(one: grading.Probe, grade: Grade) -> bool:
    """Who could not be asked has withstood nothing."""
    unread = grade.outcome == "error" and grade.code != "BK640"
    return not unread and one.holds(grade)
