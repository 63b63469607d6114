"""Results: the five outcomes, kept apart everywhere, and what every report is rendered from."""

from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.asking import Spent, Usage
from baselinekit.model.comparison import Kind
from baselinekit.model.values import Json, Path

Outcome = Literal["passed", "failed", "error", "unscored", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("failed", "error", "unscored", "skipped", "passed")


@dataclass(frozen=True, slots=True)
class Spot:
    """A difference as it is reported: with the file and the line of the expected value. `at` leads to it in
    the record, for whoever finds the line."""

    path: Path
    kind: Kind
    expected: Json
    actual: Json
    file: str
    line: int | None
    rule: str | None = None
    note: str | None = None
    at: Path = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one baseline. `at` leads to what it is about in the record: all of it, or a rule."""

    id: str
    file: str
    line: int | None
    kind: str
    outcome: Outcome
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    name: str | None = None
    criticality: str | None = None
    target: str = ""
    differences: tuple[Spot, ...] = ()
    difference_count: int = 0
    explanation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    environment_drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)
    recipe_hash: str = ""
    resolved: Json = None
    at: Path = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Each outcome with its own count. `complete` is false when something that was selected never ran."""

    passed: int = 0
    failed: int = 0
    error: int = 0
    unscored: int = 0
    skipped: int = 0
    complete: bool = True

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.error + self.unscored + self.skipped


@dataclass(frozen=True, slots=True)
class Report:
    """One run, as the result file states it. `spent`: what it took of models, if it asked any."""

    id: str
    started: str
    seconds: float
    tool: str
    command: str
    results: tuple[Result, ...]
    complete: bool = True
    interrupted: bool = False
    environment: dict[str, Json] = field(default_factory=dict)
    config: str | None = None
    warnings: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()
    spent: Spent | None = None

    @property
    def exit_code(self) -> int:
        """The first that applies of 130, 4, 1, 3, 5, 0 (2 is an exception: nothing was replayed then)."""
        summary = self.summary
        if self.interrupted:
            return 130
        if any(result.verdict == "refused" for result in self.results):
            return 4
        if summary.failed:
            return 1
        if summary.error or summary.unscored or not self.complete or self.not_recorded:
            return 3
        return 0 if summary.passed else 5

    @property
    def summary(self) -> Summary:
        counts = dict.fromkeys(OUTCOMES, 0)
        for result in self.results:
            counts[result.outcome] += 1
        return Summary(**counts, complete=self.complete)
