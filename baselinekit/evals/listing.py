"""run --list: what a run would do. All that can be wrong is said as it would be; nobody is asked."""

from dataclasses import dataclass, field

from baselinekit.evals.attempts import Outside
from baselinekit.evals.casechecks import prepare_cases
from baselinekit.evals.casechoice import Choice, choose
from baselinekit.evals.evals import Policy
from baselinekit.evals.reachable import check_reachable
from baselinekit.grade import dispatch as grading
from baselinekit.model.evals import Case, Suite
from baselinekit.model.graders import Grader, ModelJudge
from baselinekit.model.recipes import SkillExecution
from baselinekit.replay.dispatch import Doors
from baselinekit.store.baselines import locate_each
from baselinekit.workflow.here import Here
from baselinekit.workflow.project import Project


@dataclass(frozen=True, slots=True)
class Planned:
    """One case: how many attempts are made of it, and how often models are asked for that, if none fails.
    `criteria`: of each judge by its name, those that it is asked by, as they were read."""

    case: Case
    place: str
    attempts: int
    calls: int
    criteria: dict[str, list[str]] = field(default_factory=dict)


def planned(
    project: Project, suite: Suite, wanted: Choice, policy: Policy, doors: Doors, outside: Outside
) -> list[Planned]:
    """What would be run, in its order."""
    check_reachable(suite, policy.thresholds, policy.attempts, project.root)
    chosen = choose(suite.cases, wanted)
    prepare_cases(Here(project, doors), chosen, outside.check)
    places = locate_each([(case.source, [()]) for case in chosen], project.root)
    attempts = policy.attempts or suite.config.attempts
    found = []
    for case, (place,) in zip(chosen, places, strict=True):
        made = 0 if case.skip is not None else attempts
        each = int(_is_asked_of_a_model(case, project)) + sum(map(_questions, case.graders))
        criteria = {
            grader.name: grading.in_words(grader.method)
            for grader in case.graders
            if isinstance(grader.method, ModelJudge)
        }
        found.append(Planned(case, f"{place.file}:{place.line}", made, made * each, criteria))
    return found


def _questions(grader: Grader) -> int:
    """How often a judge is asked about one output."""
    return max(1, grader.method.samples) if isinstance(grader.method, ModelJudge) else 0


def _is_asked_of_a_model(case: Case, project: Project) -> bool:
    execution = case.recipe.execution
    if not isinstance(execution, SkillExecution):
        return case.recipe.kind == "prompt"
    skill = project.config.skills.get(execution.skill_name)
    return skill is None or skill.folder is not None
