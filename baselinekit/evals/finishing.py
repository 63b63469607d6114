"""A result file finished with the ratings given since, and reports in the folder of a suite."""

import os
from dataclasses import replace

from baselinekit.errors import BaselinekitError
from baselinekit.evals.cases import judged_scores, mean_score, outcome_of, reason_with_count
from baselinekit.evals.gating import measure
from baselinekit.evals.rating import Queue
from baselinekit.frozen import frozen
from baselinekit.grade import by_human
from baselinekit.grade.composite import concluded
from baselinekit.grade.verdict import code_of, combined
from baselinekit.model.evals import Suite
from baselinekit.model.grades import Attempt, Grade, Grader, PassRule
from baselinekit.model.results import Report, Result
from baselinekit.report.evals.evalreport import without_details
from baselinekit.report.forms.table import render_report
from baselinekit.suites import settings
from baselinekit.workflow.history import with_trends
from baselinekit.workflow.project import Project

_CUT_SHORT = "BK613"
"""The attempt is an error whatever its graders say: the answer was cut short."""


@frozen
class FinishedReport:
    """The report as it is now. `decided`: how many cases are, that were not before; `left`: still waiting."""

    report: Report
    decided: int
    left: int


def finish(report: Report, queue: Queue) -> FinishedReport:
    """Each grade that waited for people, given anew by the ratings that there are now."""
    known = {one.item.key: one for one in queue.ratings.all()}

    def regraded(grade: Grade) -> Grade:
        queued = known.get(str(grade.details.get("item", "")))
        if grade.kind != "human" or grade.outcome != "unscored" or queued is None:
            return grade
        grader = Grader(grade.grader, "human", queued.item.method, grade.weight, grade.required)
        return by_human.human_grade(grader, queued.item, queued.ratings)

    def whole(grade: Grade, rule: PassRule) -> Grade:
        """The grade anew, and one that is made of others by what they are now."""
        parts = tuple(whole(part, rule) for part in grade.parts)
        if parts != grade.parts:
            return concluded(replace(grade, parts=parts), rule)
        return regraded(grade)

    def again(attempt: Attempt, rule: PassRule) -> Attempt:
        grades = tuple(whole(grade, rule) for grade in attempt.grades)
        if grades == attempt.grades or attempt.code == _CUT_SHORT:
            return replace(attempt, grades=grades)
        outcome, score, reason, verdict = combined(grades, rule)
        code = code_of(grades, outcome)
        return replace(
            attempt, grades=grades, outcome=outcome, score=score, reason=reason, verdict=verdict, code=code
        )

    def told(result: Result) -> Result:
        if result.case is None or result.outcome == "skipped":
            return result
        rule = result.case.pass_rule
        attempts = tuple(again(attempt, rule) for attempt in result.case.attempts)
        return result if attempts == result.case.attempts else result_again(result, attempts)

    results = tuple(map(told, report.results))
    finished = replace(report, results=results)
    if report.suite is not None:
        least = {one.name: one.threshold for one in report.suite.metrics if one.threshold is not None}
        suite = replace(report.suite, metrics=measure(results, least))
        finished = replace(finished, suite=suite)
    changed = zip(report.results, results, strict=True)
    decided = sum(old.outcome == "unscored" != new.outcome for old, new in changed)
    left = sum(result.outcome == "unscored" for result in results)
    return FinishedReport(finished, decided, left)


def result_again(result: Result, attempts: tuple[Attempt, ...]) -> Result:
    facts = result.case
    assert facts is not None
    outcome, verdict, telling = outcome_of(attempts, facts.retried)
    return replace(
        result,
        outcome=outcome,
        verdict=verdict,
        reason="" if outcome == "passed" else reason_with_count(telling, attempts),
        code=telling.code if outcome == telling.outcome else None,
        scores=judged_scores(telling),
        case=replace(facts, attempts=attempts, score=mean_score(attempts, facts.retried)),
    )


# The reports of a run, where its suite wants them.


_ENDINGS = {
    "json": (".json", ".eval.json"),
    "markdown": (".md",),
    "html": (".html",),
    "junit": (".junit.xml",),
    "sarif": (".sarif",),
    "ctrf": (".ctrf.json",),
}
_FORMS = {".md": ".eval.md"}


def keep_reports(project: Project, suite: Suite, report: Report) -> tuple[list[str], str]:
    """The files that were written, or why there are none: a checkout that cannot be written fails nothing.
    `x.json` is the result file, `x.eval.json` what people pass on."""
    if suite.file is None:
        return [], ""
    shown = report if suite.reporting.include_details else without_details(report)
    if "html" in suite.reporting.format:
        shown = with_trends(shown, project.root)
    wanted = dict.fromkeys(ending for form in suite.reporting.format for ending in _ENDINGS[form])
    texts = {ending: render_report(shown, f"x{_FORMS.get(ending, ending)}") for ending in wanted}
    try:
        folder = settings.results_of(project.root, suite.file, suite.reporting.output_dir)
        root = settings.root_of(project.root, suite.file)
        written, why = settings.keep_run(folder, report.started, texts, root)
    except BaselinekitError as error:
        return [], f"the reports could not be kept: {error.problems[0].message}"
    return [os.path.relpath(path, project.cwd) for path in written], why
