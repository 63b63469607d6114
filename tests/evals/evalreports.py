"""Reports of eval runs, written down by what each case came to."""

from typing import Any

from baselinekit.model.grades import Attempt, Grade, Outcome
from baselinekit.model.results import CaseFacts, Report, Result, SuiteFacts

WORDS: dict[str, Outcome] = {"+": "passed", "-": "failed", "!": "error", "?": "unscored"}


def result(id: str, attempts: str, **more: Any) -> Result:
    """`++-`: three attempts, of which the last one failed. `kind` and what CaseFacts has may be said."""
    kind, grader = more.pop("kind", "prompt"), more.pop("grader", "code")
    facts = {"fingerprint": {"case": "c", "grader": "g", "model": "m"}, "eval_type": "capability"}
    own = {key: more.pop(key) for key in list(more) if key in CaseFacts.__struct_fields__}
    made = tuple(
        Attempt(
            number,
            WORDS[sign],
            float(sign == "+"),
            (Grade("exact", grader, WORDS[sign], float(sign == "+"), details=_details(sign)),),
            "" if sign == "+" else "it is not the expected output",
        )
        for number, sign in enumerate(attempts, 1)
    )
    outcome = more.pop("outcome", None) or next(
        (WORDS[sign] for sign in "-!?+" if sign in attempts), "skipped"
    )
    case = CaseFacts(attempts=made, **{**facts, **own})
    standard = {
        "attempts": len(made),
        "reason": "" if outcome == "passed" else "it is not the expected output",
    }
    return Result(id, "e.yaml", 1, kind, outcome, case=case, **{**standard, **more})


def _details(sign: str) -> dict[str, Any]:
    return {"expected": "yes", "actual": "no"} if sign == "-" else {}


def report(*results: Result, **more: Any) -> Report:
    standard: dict[str, Any] = {"suite": SuiteFacts("s"), "command": "baselinekit run"}
    given = {**standard, **more}
    started = given.pop("started", "2026-01-20T14:30:52Z")
    return Report("eval-20260120-143052", started, 1.0, "baselinekit 0", results=results, **given)
