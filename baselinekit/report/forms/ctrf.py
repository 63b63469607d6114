"""CTRF JSON, which many pages and bots for test results read: one test for each result.

CTRF knows passed, failed, skipped, pending and other. A result that could not be replayed or judged is not a
failure, so it is `other` there, and the raw status keeps all five outcomes apart. A weakened baseline that
fails the run is a test as well: a page of green tests only would be misleading."""

from contextlib import suppress
from datetime import UTC, datetime

from baselinekit.escape import escape_controls
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import BaselineChange, Report, Result
from baselinekit.model.values import Json
from baselinekit.report import sections
from baselinekit.report.differences import describe_differences
from baselinekit.report.evals.evalreport import line_of
from baselinekit.report.values import page
from baselinekit.report.wording import count_borderline, count_differences, describe_reason, in_repository
from baselinekit.values.texts import count_noun

_STATUSES = {"passed": "passed", "failed": "failed", "skipped": "skipped"}


def render(report: Report) -> str:
    return page(document(report))


def document(report: Report) -> dict[str, Json]:
    """Return the run as CTRF; times are milliseconds since 1970, and a time without a zone is UTC."""
    summary, weakened = report.summary, sections.select_failing(report)
    verdicts = sections.verdicts_by_id(report)
    start = 0
    with suppress(ValueError):
        moment = datetime.fromisoformat(report.started)
        start = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    name, _, version = report.tool.partition(" ")
    counts: dict[str, Json] = {
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
        "summary": counts,
        "tests": [
            *(_test(report.folder, result, verdicts.get(result.id)) for result in report.results),
            *(_weakened(report, revised) for revised in weakened),
        ],
    }
    if extra := sections.beside_document(report):
        results["extra"] = extra
    if report.environment:
        results["environment"] = {"extra": report.environment}
    return {
        "reportFormat": "CTRF",
        "specVersion": "0.0.0",
        "generatedBy": report.tool,
        "timestamp": report.started,
        "results": results,
    }


def _weakened(report: Report, revised: BaselineChange) -> dict[str, Json]:
    """Return the failed test of a weakened baseline that fails the run."""
    change = sections.describe_revised(report, revised)
    test: dict[str, Json] = {
        "name": f"{revised.id} ({change})",
        "status": "failed",
        "duration": 0,
        "rawStatus": "weakened",
        "suite": [revised.file],
        "filePath": in_repository(report.folder, revised.file),
        "message": escape_controls(f"{change}: --fail-on-weakened"),
        "trace": escape_controls("\n".join(revised.how)),
    }
    return test if revised.line is None else {**test, "line": revised.line}


def _test(folder: str, result: Result, since: str | None) -> dict[str, Json]:
    number = count_differences(result)
    is_counted = result.outcome == "failed" and number
    message = count_noun(number, "difference") if is_counted else describe_reason(result)
    extra = {
        "code": result.code,
        "verdict": result.verdict,
        "criticality": result.criticality,
        "since": since,
    }
    optional = {
        "message": escape_controls(message),
        "trace": "\n".join(map(escape_controls, describe_differences(result))),
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
        **{key: value for key, value in optional.items() if value},
    }
