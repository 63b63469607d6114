"""Grades: what a grader made of one output, and what became of a case over its attempts."""

from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.questions import Usage
from baselinekit.model.values import Json

Outcome = Literal["passed", "failed", "error", "unscored", "skipped"]
"""Kept apart everywhere: an error is neither a failure nor a pass, and what nobody decided is no failure."""

OUTCOMES: tuple[Outcome, ...] = ("failed", "error", "unscored", "skipped", "passed")

GraderKind = Literal["code", "model", "human"]


@dataclass(frozen=True, slots=True)
class Grade:
    """What one grader says. `score` is from 0 to 1, and None where nothing was decided. `verdict` is a word
    beside the outcome: pending, disputed, borderline, not judged. `details` is what the report shows."""

    grader: str
    kind: GraderKind
    outcome: Outcome
    score: float | None
    reason: str = ""
    verdict: str | None = None
    details: dict[str, Json] = field(default_factory=dict)
    code: str | None = None
    weight: float = 1.0
    required: bool = True
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a case: one observation and all its grades. `again` counts replays that were repeated
    because the surroundings failed (no connection, too many requests): they are no attempts. `output` is kept
    as it may be shown, and only as far as a report needs it."""

    number: int
    outcome: Outcome
    score: float | None
    grades: tuple[Grade, ...] = ()
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    again: int = 0
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    output: Json = None
    environment: dict[str, Json] = field(default_factory=dict)
