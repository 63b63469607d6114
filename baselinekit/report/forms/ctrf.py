"""CTRF JSON, which many pages and bots for test results read: one test for each result.

CTRF knows passed, failed, skipped, pending and other. A result that could not be replayed or judged is not a
failure, so it is `other` there, and the raw status keeps all five outcomes apart."""

from contextlib import suppress
from datetime import UTC, datetime

from baselinekit.escape import escape_controls
from baselinekit.model.grades import OUTCOMES
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.details import line_of, plain_text
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.sections import beside_document, verdicts_by_id, weakened_results
from baselinekit.report.values import page
from baselinekit.report.wording import count_borderline, from_repository
from baselinekit.structs import replace

_STATUSES = {"passed": "passed", "failed": "failed", "skipped": "skipped"}


def render(report: Report) -> str:
    return page(_document(from_repository(report)))


def _document(report: Report) -> dict[str, Json]:
    """Return the run as CTRF; times are milliseconds since 1970, and a time without a zone is UTC."""
    verdicts, beside = verdicts_by_id(report), beside_document(report)
    weakened = [result for result in weakened_results(report) if result.outcome == "failed"]
    report = replace(report, results=(*report.results, *weakened))
    start = 0
    with suppress(ValueError):
        moment = datetime.fromisoformat(report.started)
        start = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    name, _, version = report.tool.partition(" ")
    summary, borderline = report.summary, count_borderline(report.results)
    extra: dict[str, Json] = {outcome: getattr(summary, outcome) for outcome in OUTCOMES}
    extra["complete"] = summary.complete
    counts = {
        "tests": summary.total,
        "passed": summary.passed,
        "failed": summary.failed,
        "pending": 0,
        "skipped": summary.skipped,
        "other": summary.error + summary.unscored,
        "start": start,
        "stop": start + round(report.seconds * 1000),
        "extra": extra | ({"borderline": borderline} if borderline else {}),
    }
    results: dict[str, Json] = {
        "tool": {"name": name, "version": version},
        "summary": counts,
        "tests": [_test(result, verdicts.get(result.id)) for result in report.results],
        **({"extra": beside} if beside else {}),
        **({"environment": {"extra": report.environment}} if report.environment else {}),
    }
    head: dict[str, Json] = {"reportFormat": "CTRF", "specVersion": "0.0.0", "generatedBy": report.tool}
    return {**head, "timestamp": report.started, "results": results}


def _test(result: Result, since: str | None) -> dict[str, Json]:
    has_passed = result.outcome == "passed"
    extra = {name: getattr(result, name) for name in ("code", "verdict", "criticality")} | {"since": since}
    optional = {
        "line": line_of(result),
        "retries": max(0, result.attempts - 1),
        "message": "" if has_passed else escape_controls(describe_in_brief(result)),
        "trace": "" if has_passed else escape_controls(plain_text(result)),
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
        "filePath": result.file,
        "type": result.kind,
        **{key: value for key, value in optional.items() if value},
    }
