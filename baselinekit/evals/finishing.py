"""Finish a result file with the ratings given since, and write reports into the folder of a suite."""

import os

from baselinekit.commands.history import with_trends
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError
from baselinekit.evals.cases import judged_scores, mean_score, outcome_of, reason_with_count
from baselinekit.evals.gating import measure
from baselinekit.evals.rating import Queue
from baselinekit.graders import by_human
from baselinekit.graders.composite import grade_from_parts
from baselinekit.graders.verdict import code_of, combine_grades
from baselinekit.model.evals import Suite
from baselinekit.model.grades import Attempt, Grade, Grader, PassRule
from baselinekit.model.results import Report, Result
from baselinekit.report.evals.evalreport import without_details
from baselinekit.report.forms.table import render_report
from baselinekit.structs import Struct, replace
from baselinekit.suites import settings

_CUT_SHORT = "BK613"
"""The attempt is an error whatever its graders say: the answer was cut short."""


class FinishedReport(Struct):
    """The report as it is now. `decided`: how many cases this decided; `left`: how many still wait."""

    report: Report
    decided: int
    left: int


def finish(report: Report, queue: Queue) -> FinishedReport:
    """Regrade each grade that waited for people by the ratings that there are now."""
    items = {item.key: item for item in queue.ratings.all()}

    def regrade(grade: Grade) -> Grade:
        item = items.get(str(grade.details.get("item", "")))
        if grade.kind != "human" or grade.outcome != "unscored" or item is None:
            return grade
        grader = Grader(grade.grader, "human", item.method, grade.weight, grade.required)
        return by_human.human_grade(grader, item)

    def regrade_with_parts(grade: Grade, rule: PassRule) -> Grade:
        """Regrade a grade; a composite grade by its regraded parts."""
        parts = tuple(regrade_with_parts(part, rule) for part in grade.parts)
        if parts != grade.parts:
            return grade_from_parts(replace(grade, parts=parts), rule)
        return regrade(grade)

    def regrade_attempt(attempt: Attempt, rule: PassRule) -> Attempt:
        grades = tuple(regrade_with_parts(grade, rule) for grade in attempt.grades)
        if grades == attempt.grades or attempt.code == _CUT_SHORT:
            return replace(attempt, grades=grades)
        outcome, score, reason, verdict = combine_grades(grades, rule)
        decided = {"outcome": outcome, "score": score, "reason": reason, "verdict": verdict}
        return replace(attempt, grades=grades, code=code_of(grades, outcome), **decided)

    def regrade_result(result: Result) -> Result:
        if result.case is None or result.outcome == "skipped":
            return result
        facts = result.case
        attempts = tuple(regrade_attempt(attempt, facts.pass_rule) for attempt in facts.attempts)
        if attempts == facts.attempts:
            return result
        outcome, verdict, deciding = outcome_of(attempts, facts.retried)
        return replace(
            result,
            outcome=outcome,
            verdict=verdict,
            reason="" if outcome == "passed" else reason_with_count(deciding, attempts),
            code=deciding.code if outcome == deciding.outcome else None,
            scores=judged_scores(deciding),
            case=replace(facts, attempts=attempts, score=mean_score(attempts, facts.retried)),
        )

    results = tuple(map(regrade_result, report.results))
    finished = replace(report, results=results)
    if report.suite is not None:
        metrics = report.suite.metrics
        least = {metric.name: metric.threshold for metric in metrics if metric.threshold is not None}
        finished = replace(finished, suite=replace(report.suite, metrics=measure(results, least)))
    changed = zip(report.results, results, strict=True)
    decided = sum(old.outcome == "unscored" != new.outcome for old, new in changed)
    waiting = sum(result.outcome == "unscored" for result in results)
    return FinishedReport(finished, decided, waiting)


# The reports of a run, if its suite asks for them.


_ENDINGS = {
    "json": (".json", ".eval.json"),
    "markdown": (".md",),
    "html": (".html",),
    "junit": (".junit.xml",),
    "sarif": (".sarif",),
    "ctrf": (".ctrf.json",),
}


def keep_reports(project: Project, suite: Suite, report: Report) -> tuple[list[str], str]:
    """Write the reports. Return the files, or why there are none: a checkout that is read-only is no failure.
    `x.json` is the result file, `x.eval.json` the report to pass on."""
    if suite.file is None:
        return [], ""
    shown_report = report if suite.reporting.include_details else without_details(report)
    if "html" in suite.reporting.format:
        shown_report = with_trends(shown_report, project.root)
    endings = (ending for form in suite.reporting.format for ending in _ENDINGS[form])
    texts = {ending: render_report(shown_report, f"x{ending}") for ending in endings}
    try:
        folder = settings.results_of(project.root, suite.file, suite.reporting.output_dir)
        root = settings.root_of(project.root, suite.file)
        written, reason = settings.write_reports(folder, report.started, texts, root)
    except BaselinekitError as error:
        return [], f"the reports could not be kept: {error.problems[0].message}"
    return [os.path.relpath(path, project.cwd) for path in written], reason
