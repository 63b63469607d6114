"""What an eval run comes to, as plain values: the report that people pass on. Counts, metrics, what failed
with what was expected and what came, and what to look at next."""

from collections.abc import Iterator, Sequence

from baselinekit.metrics import metric_name
from baselinekit.model.grades import Attempt, Grade
from baselinekit.model.results import Metric, Report, Result
from baselinekit.model.values import Json
from baselinekit.report.attempts import JUDGE
from baselinekit.report.next_commands import refresh_command, select_renewable
from baselinekit.report.resultfile import EARLIER
from baselinekit.report.values import page, present
from baselinekit.report.wording import collect_warnings
from baselinekit.tree.paths import render as render_path

RATE = "pass rate"
_MOST_SHOWN = 20
_KINDS = ("capability", "regression")
_GRADERS = ("code", "model", "human")
_FAULTS = ("failed", "error", "unscored")


def document(report: Report) -> dict[str, Json]:
    cases = [result for result in report.results if result.case is not None]
    suite = report.suite
    skipped = [{"eval_id": one.id, "reason": one.reason} for one in cases if one.outcome == "skipped"]
    return {
        "eval_report": {
            "metadata": {
                "suite_name": suite.name if suite else None,
                "run_id": report.id,
                "timestamp": report.started,
                "duration_seconds": round(report.seconds, 3),
                "environment": {
                    "model": report.environment.get("model"),
                    "version": suite.version if suite else None,
                    "commit": report.commit,
                },
            },
            "summary": summary(report),
            "metrics": {key_of(metric): metric.value for metric in named_metrics(report)},
            "metrics_in_full": [metric_document(metric) for metric in suite.metrics] if suite else [],
            **({"judges": [JUDGE.write(judge) for judge in suite.judges]} if suite and suite.judges else {}),
            **({"compared_to": EARLIER.write(report.earlier)} if report.earlier else {}),
            "failures": [failure(result) for result in cases if result.outcome in _FAULTS],
            **({"warnings": list(said)} if (said := collect_warnings(report)) else {}),
            **({"skipped": skipped} if skipped else {}),
            "recommendations": recommendations(report),
        }
    }


def summary(report: Report) -> dict[str, Json]:
    """The counts of all cases, and of each kind of case and of grader."""
    cases = [result for result in report.results if result.case is not None]
    document = counted(cases)
    document["by_category"] = {
        kind: counted(of)
        for kind in _KINDS
        if (of := [one for one in cases if one.case and one.case.eval_type == kind])
    }
    document["by_grader"] = {}
    for kind in _GRADERS:  # a case counts once for each kind that it has, and passes if all of that kind do
        own = ([grade for grade in grades_of(case) if grade.kind == kind] for case in cases)
        graded = [grades for grades in own if grades]
        passed = sum(all(g.outcome == "passed" for g in grades if g.required) for grades in graded)
        if graded:
            document["by_grader"][kind] = {"total": len(graded), "passed": passed}
    return {"total_evals": document.pop("total"), **document, "complete": report.complete}


def counted(results: Sequence[Result]) -> dict[str, Json]:
    """How many there are of each outcome, and which share passed: of those that ran, and of those that were
    decided, which is what thresholds and gates go by."""
    found: dict[str, Json] = {"total": len(results)}
    for outcome in ("passed", "failed", "error", "unscored", "skipped"):
        found[outcome] = sum(one.outcome == outcome for one in results)
    ran = len(results) - found["skipped"]
    decided = found["passed"] + found["failed"]
    found["pass_rate"] = round(found["passed"] / ran, 3) if ran else None
    found["pass_rate_of_decided"] = round(found["passed"] / decided, 3) if decided else None
    return found


def telling(result: Result) -> Attempt | None:
    """The attempt that says why the result is what it is."""
    attempts = result.case.attempts if result.case else ()
    fitting = [attempt for attempt in attempts if attempt.outcome == result.outcome]
    return next(iter(fitting or attempts), None)


def grades_of(result: Result) -> tuple[Grade, ...]:
    attempt = telling(result)
    return attempt.grades if attempt else ()


def named_metrics(report: Report) -> list[Metric]:
    """Each metric once, in the view that its name usually means: pass@k case by case, pass^k pooled."""
    metrics = report.suite.metrics if report.suite else ()
    return [
        metric
        for metric in metrics
        if metric_name(metric.name) and (metric.view == "per case") == ("@" in metric.name)
    ]


def key_of(metric: Metric) -> str:
    return metric.name.replace("@", "_at_").replace("^", "_hat_").replace(" ", "_")


def metric_document(metric: Metric) -> dict[str, Json]:
    return {
        "name": f"{RATE} of decided" if metric.name == RATE else metric.name,
        "view": metric.view,
        "value": metric.value,
        "low": metric.low,
        "high": metric.high,
        "count": metric.count,
        "threshold": metric.threshold,
        "met": metric.met,
        **({"why": metric.why} if metric.why else {}),
    }


def failure(result: Result) -> dict[str, Json]:
    """One case that did not pass: why, what was expected, what came."""
    attempt = telling(result)
    details: dict[str, Json] = {
        "outcome": result.outcome,
        "verdict": result.verdict,
        "file": result.file,
        "line": result.line,
        "attempts": [one.outcome for one in result.case.attempts] if result.case else [],
        "graders": [
            {
                "grader": grade.grader,
                "kind": grade.kind,
                "outcome": grade.outcome,
                "score": grade.score,
                **({"reason": grade.reason} if grade.reason else {}),
                **({"details": grade.details} if grade.details else {}),
            }
            for grade in grades_of(result)
        ],
    }
    if result.differences:
        details["differences"] = [
            {"path": render_path(spot.path), **present({"expected": spot.expected, "actual": spot.actual})}
            for spot in result.differences[:_MOST_SHOWN]
        ]
    if attempt and attempt.output is not None and all("actual" not in one.details for one in attempt.grades):
        details["output"] = attempt.output
    return {"eval_id": result.id, "name": result.name, "reason": result.reason, "details": details}


def recommendations(report: Report) -> list[str]:
    """What follows from what happened, and nothing more, with the ids of the cases."""
    return list(dict.fromkeys(_recommended(report)))


def _recommended(report: Report) -> Iterator[str]:
    for result in report.results:
        if result.case is None:
            continue
        if result.outcome == "failed":
            yield _after_failure(result)
        elif result.outcome == "error":
            yield f"{result.id}: could not be judged ({result.code}): fix that first, it has no result yet"
        elif result.outcome == "unscored":
            yield f"{result.id}: {result.reason or 'undecided'}: it counts as neither until then"
        elif result.verdict == "flaky":
            yield f"{result.id}: passed only when it was retried: find out how often, with --attempts 10"
    for metric in report.suite.metrics if report.suite else ():
        if metric.met is False and metric.value is None:
            yield f"{metric.name} is not available ({metric.why}): raise --attempts"


def _after_failure(result: Result) -> str:
    """By what the graders saw."""
    if result.verdict == "flaky":
        passed = sum(one.outcome == "passed" for one in result.case.attempts) if result.case else 0
        return f"{result.id}: passes sometimes ({passed} of {result.attempts}): it is unstable, not broken"
    if result.differences:
        places = ", ".join(dict.fromkeys(render_path(spot.path) for spot in result.differences[:3]))
        if not select_renewable([result]):
            return f"{result.id}: the answer is not as expected at {places}"
        take = refresh_command([result])
        return f"{result.id}: the answer changed at {places}: check it, or accept it: {take}"
    failing = [grade for grade in grades_of(result) if grade.outcome == "failed" and grade.required]
    if failing and len({grade.kind for grade in grades_of(result)}) > 1:
        passing = [grade.grader for grade in grades_of(result) if grade.outcome == "passed"]
        if passing:
            told = f"{failing[0].grader} failed it, but {', '.join(passing)} did not"
            return f"{result.id}: {told}: {failing[0].reason or 'look at both'}"
    attempt = telling(result)
    return f"{result.id}: {(attempt.reason if attempt else '') or 'failed'}"


def render(report: Report) -> str:
    return page(document(report))
