"""A run of eval cases to render, with a case of every kind."""

from typing import Any

from report.reports import FILE, metric, report, spot

from baselinekit.model.grades import Agreement, Attempt, Grade, JudgeFacts
from baselinekit.model.results import (
    CaseChange,
    CaseFacts,
    EarlierComparison,
    Metric,
    MetricChange,
    Report,
    Result,
    Share,
    SuiteFacts,
)


def grade(name: str, outcome: Any, score: float | None, reason: str = "", **details: Any) -> Grade:
    kind: Any = {"rubric": "model", "people": "human"}.get(name, "code")
    return Grade(name, kind, outcome, score, reason, details=details)


def case(id: str, outcome: Any, *grades: Grade, kind: str = "capability", **more: Any) -> Result:
    attempt = Attempt(1, outcome, None, grades, more.get("reason", ""), output=more.pop("output", None))
    attempts = more.pop("attempts", (attempt,))
    facts = CaseFacts(kind, attempts, more.pop("category", None), more.pop("tags", ()), score=0.25)
    return Result(id, FILE, 3, "prompt", outcome, case=facts, attempts=len(attempts), **more)


def results() -> tuple[Result, ...]:
    tried = (
        Attempt(1, "passed", 1.0),
        Attempt(2, "failed", 0.0, (grade("exact_match", "failed", 0.0, "no", expected="ab", actual="ba"),)),
        Attempt(3, "passed", 1.0, again=2),
    )
    judged = grade("rubric", "failed", 0.45, "2.8 of 5: it is curt", justification="say sorry", unmet=[])
    shape = [{"path": "users[0].name", "expected": "Ada", "actual": "Grace"}]
    return (
        case("fine", "passed", grade("exact_match", "passed", 1.0)),
        case("odd", "failed", attempts=tried, verdict="flaky", reason="2 of 3 attempts passed; no"),
        case("curt", "failed", judged, output="The parcel\ncame late.", reason="2.8 of 5: it is curt"),
        case("shape", "failed", grade("structural_match", "failed", 0.0, "1 difference", differences=shape)),
        case("waits", "unscored", grade("people", "unscored", None), verdict="pending", category="tone"),
        case("broken", "error", code="BK640", reason="no form that can be read", output={"a": 1}),
        case(
            "users",
            "failed",
            kind="regression",
            differences=(spot(("body", "name"), "value", "Ada", "Grace"),),
            environment_drift={"git.commit": ("a1" * 20, "b2" * 20), "model": ("demo-1", "demo-2")},
        ),
    )


METRICS = (
    Metric("pass@1", 0.5, "per case", 0.2, 0.8, 8, 0.5),
    metric("pass@1", 0.52, "pooled attempts", low=0.3, high=0.7, count=14),
    metric("pass@3", None, threshold=0.9, why="7 of 8 cases have fewer than 3 attempts"),
)
JUDGES = (
    JudgeFacts("judge", "labels.yaml", "calibrated", Agreement("judge", "r", "l", 12, 1, 1, 9, 1, 0.83)),
    JudgeFacts("other", "x.yaml", "not calibrated"),
)
EARLIER = EarlierComparison(
    "eval-20240119-143052",
    "2024-01-19T14:30:52Z",
    False,
    (),
    (
        CaseChange("curt", "regressed", Share(4, 4), Share(0, 4), 0.0286),
        CaseChange("fine", "improved", Share(0, 4), Share(4, 4), 0.0286),
        CaseChange("odd", "insufficient evidence", Share(3, 3), Share(2, 3), 1.0),
        CaseChange("waits", "not comparable", Share(0, 0), Share(0, 0), None, "the model differs"),
    ),
    (MetricChange("pass@1", "insufficient evidence", 0.8, 0.5, 4, 2, 1, 1.0, 1.0),),
    ("brand-new",),
    ("long-gone",),
)


def a_run(**more: Any) -> Report:
    suite = SuiteFacts("Support assistant", "1.2.0", METRICS, judges=JUDGES)
    standard = {"id": "eval-20240120-143052", "environment": {"model": "demo-2"}, "earlier": EARLIER}
    return report(*results(), **{**standard, "suite": suite, **more})
