"""CTRF JSON, which many pages and bots that show test results read: one test a result.

CTRF knows passed, failed, skipped, pending and other. What could not be replayed or judged is no failure, so
it is `other` there, and the raw status keeps all five apart. Where a baseline that was weakened fails the run
it is a test as well: a page of tests that are all green would not be true."""

from contextlib import suppress
from datetime import UTC, datetime

from baselinekit.escape import visible
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result, Revised
from baselinekit.model.values import Json
from baselinekit.report import beside
from baselinekit.report.differences import describe_differences
from baselinekit.report.evals.evalreport import line_of
from baselinekit.report.values import page
from baselinekit.report.wording import count_borderline, count_differences, describe_reason, in_repository
from baselinekit.texts import many

_STATUSES = {"passed": "passed", "failed": "failed", "skipped": "skipped"}


def render(report: Report) -> str:
    return page(document(report))


def document(report: Report) -> dict[str, Json]:
    """The run as CTRF states it; times are milliseconds since 1970, of a time without a zone as UTC."""
    summary, weakened = report.summary, beside.select_failing(report)
    verdicts = beside.verdicts_by_id(report)
    start = 0
    with suppress(ValueError):
        moment = datetime.fromisoformat(report.started)
        start = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    name, _, version = report.tool.partition(" ")
    counted: dict[str, Json] = {
        "tests": summary.total + len(weakened),
        "passed": summary.passed,
        "failed": summary.failed + len(weakened),
        "pending": 0,
        "skipped": summary.skipped,
        "other": summary.error + summary.unscored,
        "start": start,
        "stop": start + round(report.seconds * 1000),
        "extra": {
            **{outcome: getattr(summary, outcome) for outcome in OUTCOMES},
            "complete": summary.complete,
            **({"borderline": number} if (number := count_borderline(report.results)) else {}),
        },
    }
    results: dict[str, Json] = {
        "tool": {"name": name, "version": version},
        "summary": counted,
        "tests": [
            *(_test(report.folder, result, verdicts.get(result.id)) for result in report.results),
            *(_weakened(report, revised) for revised in weakened),
        ],
    }
    if further := beside.beside_document(report):
        results["extra"] = further
    if report.environment:
        results["environment"] = {"extra": report.environment}
    return {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "generatedBy": report.tool,
        "timestamp": report.started,
        "results": results,
    }


def _weakened(report: Report, revised: Revised) -> dict[str, Json]:
    """A baseline that lets more pass than before, where that fails the run: it is a test that failed."""
    what = beside.describe_revised(report, revised)
    test: dict[str, Json] = {
        "name": f"{revised.id} ({what})",
        "status": "failed",
        "duration": 0,
        "rawStatus": "weakened",
        "suite": [revised.file],
        "filePath": in_repository(report.folder, revised.file),
        "message": visible(f"{what}: --fail-on-weakened"),
        "trace": visible("\n".join(revised.how)),
    }
    return test if revised.line is None else {**test, "line": revised.line}


def _test(folder: str, result: Result, since: str | None) -> dict[str, Json]:
    number = count_differences(result)
    is_counted = result.outcome == "failed" and number
    message = many(number, "difference") if is_counted else describe_reason(result)
    extra = {
        "code": result.code,
        "verdict": result.verdict,
        "criticality": result.criticality,
        "since": since,
    }
    stated = {
        "message": visible(message),
        "trace": "\n".join(map(visible, describe_differences(result))),
        "flaky": result.verdict == "flaky",
        "tags": list(result.case.tags) if result.case else [],
        "extra": {key: value for key, value in extra.items() if value},
    }
    return {
        "name": result.id,
        "status": _STATUSES.get(result.outcome, "other"),
        "duration": round(result.seconds * 1000),
        "rawStatus": result.outcome,
        "suite": [result.file],
        "filePath": in_repository(folder, result.file),
        "type": result.kind,
        **({"line": line} if (line := line_of(result)) is not None else {}),
        **({"retries": result.attempts - 1} if result.attempts > 1 else {}),
        **{key: value for key, value in stated.items() if value},
    }
