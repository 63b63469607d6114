"""The result file (`baselinekit.results/1`): what every other form could be made from again.

Keys beyond those that every result has (`name`, `criticality`, `target`, `notes`, `explanation`) are written
only when they say something. A side of a difference that is not there has no key: null is a value.
Whatever is written here has a row in keys.py or beside its reader. What few runs have is imported when one
has it."""

from dataclasses import replace

from baselinekit.documents import jsontext
from baselinekit.model.questions import Spent
from baselinekit.model.results import Report, Result, Spot
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import attempts as usage
from baselinekit.report.differences import count
from baselinekit.report.values import page, pieces, present
from baselinekit.tree.paths import render as render_path

FORMAT = "baselinekit.results/1"
MOST_RESOLVED = 1_000_000
"""Bytes of an output that a failed result carries along."""


def render(report: Report) -> str:
    return page(document(report))


def compact(report: Report) -> bytes:
    """The same on one line and without the outputs: made in a tenth of the time, for what only we read."""
    short = [
        replace(result, resolved=ABSENT) if result.outcome == "failed" else result
        for result in report.results
    ]
    return jsontext.to_bytes(document(replace(report, results=tuple(short))))


def document(report: Report) -> dict[str, Json]:
    """The result file as plain values, its keys in their order."""
    run: dict[str, Json] = {
        "id": report.id,
        "started": report.started,
        "seconds": round(report.seconds, 6),
        "tool": report.tool,
        "command": report.command,
        "config": report.config,
        "environment": report.environment,
        "shard": None,
    }
    if report.shard is not None:
        shard = report.shard
        same = {"target": shard.target, "configuration": shard.configuration, "content": shard.content}
        stated = {name: value for name, value in same.items() if value}
        run["shard"] = {"number": shard.number, "of": shard.of, "total": shard.total, **stated}
    if report.commit is not None:
        run["commit"] = report.commit
    if report.coverage.chosen:
        run["coverage"] = {"chosen": report.coverage.chosen, "left_out": report.coverage.left_out}
    if report.against is not None:
        from baselinekit.report import weakened

        run["against"] = weakened.document(report.against)
    if report.interrupted:
        run["interrupted"] = True
    if report.spent is not None:
        run["spent"] = _spent(report.spent)
    if report.suite is not None:
        from baselinekit.report import attempts

        run["suite"] = attempts.suite_document(report.suite)
    if report.earlier is not None:
        from baselinekit.report import earlier

        run["earlier"] = earlier.document(report.earlier)
    if report.warnings:
        run["warnings"] = list(report.warnings)
    if report.not_recorded:
        run["not_recorded"] = list(report.not_recorded)
    return {
        "format": FORMAT,
        "run": run,
        "summary": counted(report),
        "results": [_result(result) for result in report.results],
    }


def counted(report: Report) -> dict[str, Json]:
    """How many came out how, and whether that is all of them."""
    summary = report.summary
    return {
        "passed": summary.passed,
        "failed": summary.failed,
        "error": summary.error,
        "unscored": summary.unscored,
        "skipped": summary.skipped,
        "complete": summary.complete,
    }


def _result(result: Result) -> dict[str, Json]:
    written: dict[str, Json] = {
        "id": result.id,
        "file": result.file,
        "line": result.line,
        "kind": result.kind,
        "outcome": result.outcome,
        "verdict": result.verdict,
        "reason": result.reason,
        "code": result.code,
        "difference_count": count(result),
        "differences": [_difference(spot) for spot in result.differences],
        "attempts": result.attempts,
        "observed": _observed(result),
        "environment_drift": _drift(result),
        "recipe_hash": result.recipe_hash,
    }
    further = {
        "name": result.name,
        "criticality": result.criticality,
        "target": result.target,
        "notes": list(result.notes),
        "explanation": list(result.explanation),
    }
    written |= {key: value for key, value in further.items() if value}
    if result.repeats is not None:
        told = result.repeats
        written["repeats"] = {"replays": told.replays, "passed": told.passed, "errors": told.errors}
    if result.case is not None:
        from baselinekit.report import attempts

        written["case"] = attempts.case_document(result.case)
    if result.position is not None:
        written["position"] = result.position
    if result.outcome == "failed" and _fits(result.resolved):
        written["resolved"] = result.resolved
    return written


def _observed(result: Result) -> dict[str, Json]:
    observed = {"seconds": round(result.seconds, 6), **usage.document(result.usage)}
    return observed | ({"scores": result.scores} if result.scores else {})


def _spent(spent: Spent) -> dict[str, Json]:
    written: dict[str, Json] = {
        "calls": spent.calls,
        "tokens": spent.tokens,
        "cost_usd": usage.exact(spent.usd),
    }
    if spent.unanswered:
        may = {
            "calls": spent.unanswered,
            "tokens": spent.may_tokens,
            "cost_usd": usage.exact(spent.may_usd),
        }
        written["unanswered"] = may
    return written


def _difference(spot: Spot) -> dict[str, Json]:
    written: dict[str, Json] = {"path": render_path(spot.path), "kind": spot.kind}
    written |= present({"expected": spot.expected, "actual": spot.actual})
    written |= {"file": spot.file, "line": spot.line, "rule": spot.rule}
    if spot.note:
        written["note"] = spot.note
    return written


def _drift(result: Result) -> dict[str, Json]:
    return {
        name: present({"captured": captured, "now": now})
        for name, (captured, now) in sorted(result.environment_drift.items())
    }


def _fits(resolved: Json) -> bool:
    """Whether it is short enough to be kept, looked at no further than that takes."""
    size = 0
    for piece in pieces(resolved) if resolved is not ABSENT else ():
        size += len(piece.encode())
        if size > MOST_RESOLVED:
            return False
    return resolved is not ABSENT
