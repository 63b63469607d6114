"""A result file in which cases wait for people, finished with what they have said since. Nothing is run."""

from dataclasses import dataclass, replace

from baselinekit.evals.caseresults import outcome_of
from baselinekit.evals.grading import Queue
from baselinekit.evals.measuring import measured
from baselinekit.grade import dispatch as grading
from baselinekit.model.graders import Grader
from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import Report, Result

_CUT_SHORT = "BK613"
"""The attempt is an error whatever its graders say: the answer was cut short."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The report as it is now. `decided`: how many cases are, that were not before; `left`: still waiting."""

    report: Report
    decided: int
    left: int


def finish(report: Report, queue: Queue) -> Finished:
    """Each grade that waited for people, given anew by the ratings that there are now."""
    known = {one.item.key: one for one in queue.ratings.all()}

    def regraded(grade: Grade) -> Grade:
        queued = known.get(str(grade.details.get("item", "")))
        if grade.kind != "human" or grade.outcome != "unscored" or queued is None:
            return grade
        grader = Grader(grade.grader, "human", queued.item.method, grade.weight, grade.required)
        return grading.human_grade(grader, queued.item, queued.ratings)

    def again(attempt: Attempt) -> Attempt:
        grades = tuple(map(regraded, attempt.grades))
        if grades == attempt.grades or attempt.code == _CUT_SHORT:
            return replace(attempt, grades=grades)
        outcome, score, reason, verdict = grading.combined(grades)
        code = next((grade.code for grade in grades if grade.required and grade.outcome == outcome), None)
        return replace(
            attempt, grades=grades, outcome=outcome, score=score, reason=reason, verdict=verdict, code=code
        )

    def told(result: Result) -> Result:
        if result.case is None or result.outcome == "skipped":
            return result
        attempts = tuple(map(again, result.case.attempts))
        return result if attempts == result.case.attempts else _retold(result, attempts)

    results = tuple(map(told, report.results))
    finished = replace(report, results=results)
    if report.suite is not None:
        least = {one.name: one.threshold for one in report.suite.metrics if one.threshold is not None}
        suite = replace(report.suite, metrics=measured(results, least))
        finished = replace(finished, suite=suite)
    changed = zip(report.results, results, strict=True)
    decided = sum(old.outcome == "unscored" != new.outcome for old, new in changed)
    left = sum(result.outcome == "unscored" for result in results)
    return Finished(finished, decided, left)


def _retold(result: Result, attempts: tuple[Attempt, ...]) -> Result:
    facts = result.case
    assert facts is not None
    outcome, verdict, telling = outcome_of(attempts, facts.retried)
    scores = [attempt.score for attempt in attempts[: len(attempts) - facts.retried]]
    known = [score for score in scores if score is not None]
    mean = round(sum(known) / len(known), 6) if known and len(known) == len(scores) else None
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    often = f"{passed} of {len(attempts)} attempts passed" if len(attempts) > 1 else ""
    judged = {
        grade.grader: round(grade.score, 6)
        for grade in telling.grades
        if grade.kind != "code" and grade.score is not None
    }
    return replace(
        result,
        outcome=outcome,
        verdict=verdict,
        reason="" if outcome == "passed" else "; ".join(filter(None, (often, telling.reason))),
        code=telling.code if outcome == telling.outcome else None,
        scores=judged,
        case=replace(facts, attempts=attempts, score=mean),
    )
