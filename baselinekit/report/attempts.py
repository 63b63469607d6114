"""Attempts, grades and usage as plain values, and back: for the result file, and for the journal of a run."""

from decimal import Decimal

from baselinekit.model.grades import OUTCOMES, Attempt, Grade
from baselinekit.model.questions import Usage
from baselinekit.model.results import CaseFacts, Metric, SuiteFacts
from baselinekit.model.values import Json, Path
from baselinekit.report import judges
from baselinekit.report.fields import USAGE, Field, Reader, one_of

# What was taken of models, as plain values, and back.


def document(usage: Usage) -> dict[str, Json]:
    """What is known of it; what nobody said has no key."""
    cost = None if usage.cost_usd is None else exact(usage.cost_usd)
    said = {"tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out, "cost_usd": cost}
    return {name: value for name, value in said.items() if value is not None}


def read(raw: dict[str, Json]) -> Usage:
    cost = raw.get("cost_usd")
    dollars = None if cost is None else Decimal(str(cost))
    return Usage(raw.get("tokens_in"), raw.get("tokens_out"), dollars)


def exact(usd: Decimal) -> Decimal:
    """With no zero at its end, so that the same sum is always the same text."""
    return Decimal(f"{usd.normalize():f}")


# Attempts and grades as plain values, and back: for the result file, and for the journal of a run.


_TEXT = Field(str)
_WORDS = Field(str, optional=True)
_COUNT = Field(int, least=0)
_MAYBE = Field(int, float, type(None))
_OUTCOME = Field(str, test=one_of(OUTCOMES))

GRADE = {
    "grader": _TEXT,
    "kind": Field(str, test=one_of(("code", "model", "human"))),
    "outcome": _OUTCOME,
    "score": _MAYBE,
    "reason": _WORDS,
    "verdict": _WORDS,
    "code": _WORDS,
    "details": Field(dict, optional=True),
    "weight": Field(int, float, optional=True),
    "required": Field(bool, optional=True),
    **USAGE,
}
ATTEMPT = {
    "number": Field(int, least=1),
    "outcome": _OUTCOME,
    "score": _MAYBE,
    "grades": Field(list),
    "seconds": Field(int, float, least=0),
    "reason": _WORDS,
    "verdict": _WORDS,
    "code": _WORDS,
    "again": Field(int, least=0, optional=True),
    "output": Field(optional=True),
    "environment": Field(dict, optional=True),
    **USAGE,
}
CASE = {
    "eval_type": _TEXT,
    "score": _MAYBE,
    "attempts": Field(list),
    "category": _WORDS,
    "tags": Field(list, optional=True),
    "weight": Field(int, float, optional=True),
    "retried": Field(int, least=0, optional=True),
    "fingerprint": Field(dict),
}
SUITE = {
    "name": _TEXT,
    "version": Field(str, type(None)),
    "metrics": Field(list),
    "gate": Field(str, optional=True),
    "judges": Field(list, optional=True),
}
METRIC = {
    "name": _TEXT,
    "value": _MAYBE,
    "view": _TEXT,
    "low": _MAYBE,
    "high": _MAYBE,
    "count": _COUNT,
    "threshold": _MAYBE,
    "why": _WORDS,
}


def case_document(facts: CaseFacts) -> dict[str, Json]:
    written: dict[str, Json] = {
        "eval_type": facts.eval_type,
        "score": facts.score,
        "attempts": [attempt_document(attempt) for attempt in facts.attempts],
        "fingerprint": dict(facts.fingerprint),
    }
    further = {"category": facts.category, "tags": list(facts.tags), "retried": facts.retried}
    written |= {key: value for key, value in further.items() if value}
    return written | ({"weight": facts.weight} if facts.weight != 1 else {})


def attempt_document(attempt: Attempt) -> dict[str, Json]:
    written: dict[str, Json] = {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "score": attempt.score,
        "grades": [_grade(grade) for grade in attempt.grades],
        "seconds": round(attempt.seconds, 6),
    }
    further = {
        "reason": attempt.reason,
        "verdict": attempt.verdict,
        "code": attempt.code,
        "again": attempt.again,
        "environment": dict(attempt.environment),
    }
    written |= {key: value for key, value in further.items() if value}
    if attempt.output is not None:
        written["output"] = attempt.output
    return written | document(attempt.usage)


def suite_document(suite: SuiteFacts) -> dict[str, Json]:
    written: dict[str, Json] = {
        "name": suite.name,
        "version": suite.version,
        "metrics": [_metric(metric) for metric in suite.metrics],
    }
    written |= {"judges": judges.document(suite.judges)} if suite.judges else {}
    return written | ({"gate": suite.gate} if suite.gate else {})


def _grade(grade: Grade) -> dict[str, Json]:
    written: dict[str, Json] = {
        "grader": grade.grader,
        "kind": grade.kind,
        "outcome": grade.outcome,
        "score": grade.score,
    }
    further = {"reason": grade.reason, "verdict": grade.verdict, "code": grade.code, "details": grade.details}
    written |= {key: value for key, value in further.items() if value}
    if grade.weight != 1:
        written["weight"] = grade.weight
    if not grade.required:
        written["required"] = False
    return written | document(grade.usage)


def _metric(metric: Metric) -> dict[str, Json]:
    written: dict[str, Json] = {
        "name": metric.name,
        "value": metric.value,
        "view": metric.view,
        "low": metric.low,
        "high": metric.high,
        "count": metric.count,
        "threshold": metric.threshold,
    }
    return written | ({"why": metric.why} if metric.why else {})


def read_case(raw: Json, at: Path, wants: Reader) -> CaseFacts | None:
    """What stands under `case` in a result."""
    if raw is None or not wants.mapping(raw, CASE, at):
        return None
    found = [
        read_attempt(one, (*at, "attempts", number), wants) for number, one in enumerate(raw["attempts"])
    ]
    return CaseFacts(
        raw["eval_type"],
        tuple(attempt for attempt in found if attempt is not None),
        raw.get("category"),
        wants.texts(raw, "tags", at),
        raw.get("weight", 1.0),
        raw["score"],
        _texts(raw["fingerprint"], (*at, "fingerprint"), wants),
        raw.get("retried", 0),
    )


def read_attempt(raw: Json, at: Path, wants: Reader) -> Attempt | None:
    if not wants.mapping(raw, ATTEMPT, at):
        return None
    grades = [_read_grade(one, (*at, "grades", number), wants) for number, one in enumerate(raw["grades"])]
    return Attempt(
        raw["number"],
        raw["outcome"],
        raw["score"],
        tuple(grade for grade in grades if grade is not None),
        raw.get("reason", ""),
        raw.get("code"),
        raw.get("verdict"),
        raw.get("again", 0),
        raw["seconds"],
        read(raw),
        raw.get("output"),
        raw.get("environment", {}),
    )


def read_suite(raw: Json, at: Path, wants: Reader) -> SuiteFacts | None:
    """What stands under `suite` in a run."""
    if raw is None or not wants.mapping(raw, SUITE, at):
        return None
    metrics = tuple(
        Metric(
            one["name"],
            one["value"],
            one["view"],
            one["low"],
            one["high"],
            one["count"],
            one["threshold"],
            one.get("why", ""),
        )
        for number, one in enumerate(raw["metrics"])
        if wants.mapping(one, METRIC, (*at, "metrics", number))
    )
    known = judges.read(raw.get("judges"), (*at, "judges"), wants)
    return SuiteFacts(raw["name"], raw["version"], metrics, raw.get("gate"), known)


def _read_grade(raw: Json, at: Path, wants: Reader) -> Grade | None:
    if not wants.mapping(raw, GRADE, at):
        return None
    return Grade(
        raw["grader"],
        raw["kind"],
        raw["outcome"],
        raw["score"],
        raw.get("reason", ""),
        raw.get("verdict"),
        raw.get("details", {}),
        raw.get("code"),
        raw.get("weight", 1.0),
        raw.get("required", True),
        read(raw),
    )


def _texts(raw: dict[str, Json], at: Path, wants: Reader) -> dict[str, str]:
    for name, value in raw.items():
        if not isinstance(value, str):
            wants.complain((*at, name), "should be a string")
    return {name: value for name, value in raw.items() if isinstance(value, str)}
