"""The results of an eval run or a gate as JSON (`-o x.eval.json`): counts, metrics, failures with expected
and actual values; and recommendations, for every form."""

from collections.abc import Iterator, Sequence

from baselinekit.metrics import metric_name
from baselinekit.model.grades import FAULTS, OUTCOMES, Grade, iterate_grades, map_grades
from baselinekit.model.results import Metric, Report, Result
from baselinekit.model.values import Json
from baselinekit.report import wording
from baselinekit.report.blocks import Cell, Heading, Table, table
from baselinekit.report.details import deciding_grades, explaining_attempt, grades_of
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.next_commands import review_command, select_renewable, typed_of
from baselinekit.report.resultfile import written
from baselinekit.report.sections import beside_document
from baselinekit.report.values import page
from baselinekit.structs import replace

_MOST_SHOWN = 20
KINDS = ("capability", "regression")


def render(report: Report) -> str:
    return page({"eval_report": document(report)})


def document(report: Report) -> dict[str, Json]:
    cases = [result for result in report.results if result.case is not None]
    metrics = report.suite.metrics if report.suite else ()
    beside, warnings = beside_document(report), wording.collect_warnings(report)
    left_out = [case for case in cases if case.outcome == "skipped"]
    skipped = [{"eval_id": case.id, "reason": case.reason} for case in left_out]
    return {
        "metadata": {
            "suite_name": beside.pop("suite", None),
            "run_id": report.id,
            "timestamp": report.started,
            "duration_seconds": round(report.seconds, 3),
            "environment": {
                "model": report.environment.get("model"),
                "version": report.suite.version if report.suite else None,
                "commit": report.commit,
            },
        },
        "summary": summary(report),
        # each in the view that its name usually means: pass@k case by case, pass^k pooled
        "metrics": {
            key_of(metric): metric.value
            for metric in metrics
            if metric_name(metric.name) and (metric.view == "per case") == ("@" in metric.name)
        },
        "metrics_in_full": beside.pop("metrics", []),
        **beside,
        "failures": [_failure(result) for result in cases if result.outcome in FAULTS],
        **({"warnings": warnings} if warnings else {}),
        **({"skipped": skipped} if skipped else {}),
        "recommendations": recommendations(report),
    }


def summary(report: Report) -> dict[str, Json]:
    """Return the counts of all cases, and of each kind of case and of grader."""
    cases = [result for result in report.results if result.case is not None]
    counts = count_results(cases)
    of_kind = {kind: [one for one in cases if one.case and one.case.eval_type == kind] for kind in KINDS}
    by_grader = {}
    for kind in ("code", "model", "human"):  # a case counts once for each kind, and passes if all of it do
        grades_of_kind = ([grade for grade in grades_of(case) if grade.kind == kind] for case in cases)
        graded = [grades for grades in grades_of_kind if grades]
        passed = sum(all(grade.outcome == "passed" for grade in deciding_grades(grades)) for grades in graded)
        if graded:
            by_grader[kind] = {"total": len(graded), "passed": passed}
    return {
        "total_evals": counts.pop("total"),
        **counts,
        "by_category": {kind: count_results(of_kind[kind]) for kind in KINDS if of_kind[kind]},
        "by_grader": by_grader,
        "complete": report.complete,
    }


def count_results(results: Sequence[Result]) -> dict[str, Json]:
    """Return how many results have each outcome, and the pass rates: of those that ran, and of those that
    were decided, which thresholds and gates use."""
    counts: dict[str, Json] = {"total": len(results)}
    order = ("passed", *OUTCOMES[:-1])
    counts |= {outcome: sum(result.outcome == outcome for result in results) for outcome in order}
    ran = len(results) - counts["skipped"]
    decided = counts["passed"] + counts["failed"]
    if borderline := wording.count_borderline(results):
        counts["borderline"] = borderline
    counts["pass_rate"] = round(counts["passed"] / ran, 3) if ran else None
    counts["pass_rate_of_decided"] = round(counts["passed"] / decided, 3) if decided else None
    return counts


def key_of(metric: Metric) -> str:
    return metric.name.replace("@", "_at_").replace("^", "_hat_").replace(" ", "_")


def _failure(result: Result) -> dict[str, Json]:
    """Return one case that did not pass: the reason, what was expected, and what came."""
    attempt, grades = explaining_attempt(result), grades_of(result)
    details: dict[str, Json] = {
        "outcome": result.outcome,
        "verdict": result.verdict,
        "file": result.file,
        "line": result.line,
        "attempts": [attempt.outcome for attempt in result.case.attempts] if result.case else [],
        "graders": written(grades),
    }
    if result.differences:
        details["differences"] = written(result.differences[:_MOST_SHOWN])
    states_output = any("actual" in grade.details for grade in iterate_grades(grades))
    if attempt and attempt.output is not None and not states_output:
        details["output"] = attempt.output
    return {"eval_id": result.id, "name": result.name, "reason": result.reason, "details": details}


def recommendations(report: Report) -> list[str]:
    return [": ".join(filter(None, advice)) for advice in _advise(report)]


def recommendation_blocks(report: Report) -> Iterator[Heading | Table]:
    rows = [(words, Cell(command, is_code=True)) for words, command in _advise(report)]
    if rows:
        yield Heading("Recommendations")
        yield table(("", ""), rows)


def _advise(report: Report) -> Iterator[tuple[str, str]]:
    """Yield recommendations that follow from the results alone, with the ids of the cases, each with its
    command if there is one."""
    for case in report.results:
        words = command = ""
        if case.case is None:
            continue
        if case.verdict == "flaky":
            words = "it passes sometimes: find out how often, with --attempts 10"
        elif case.outcome == "error":
            words = f"could not be judged ({case.code}): fix that first, it has no result yet"
        elif select_renewable([case]):
            words = f"{describe_in_brief(case)}: check it, or accept it"
            command = review_command([case], typed_of(report))
        elif case.outcome in FAULTS:
            words = describe_in_brief(case)
        if words:
            yield f"{case.id}: {words}", command
    for metric in report.suite.metrics if report.suite else ():
        if metric.met is False and metric.value is None:
            yield f"{metric.name} is not available ({metric.why}): raise --attempts", ""


def without_details(report: Report) -> Report:
    """Return the report without details of graders and outputs: for a suite that keeps both private."""

    def strip(grade: Grade) -> Grade:
        return map_grades(grade, lambda grade: replace(grade, details={}))

    results = []
    for result in report.results:
        if result.case is not None:
            attempts = tuple(
                replace(attempt, output=None, transcript=(), grades=tuple(map(strip, attempt.grades)))
                for attempt in result.case.attempts
            )
            case = replace(result.case, attempts=attempts)
            result = replace(result, case=case, differences=(), resolved=None, explanation=())
        results.append(result)
    return replace(report, results=tuple(results))
