"""A gate: what a run has to reach before the work goes on. A phase step, an eval trigger and the options of
`gate` are three ways to write one."""

from dataclasses import dataclass, field
from typing import Literal

from baselinekit.model.results import Metric, Report

State = Literal["met", "not met", "undecided"]


@dataclass(frozen=True, slots=True)
class Gate:
    """`least`: the least value of each metric; `shown`: metrics that are only to be told. `suite`: the file
    to run, from the project's root. `categories` and `tags`: of which cases. `report`: where the phase report
    goes when it is not met; `{phase_id}` in it stands for the phase."""

    name: str
    least: dict[str, float] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    suite: str | None = None
    blocking: bool = True
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    report: str | None = None
    notification: bool = True
    archive: bool = False
    file: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of a gate. `metrics` are of its own cases alone, and so is the report. `why`: what keeps
    anybody from saying that it is met."""

    gate: Gate
    report: Report
    metrics: tuple[Metric, ...]
    why: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """A metric that is too low, or that is not available, is not met, whatever else could not be told."""
        if any(metric.met is False for metric in self.metrics):
            return "not met"
        return "undecided" if self.why else "met"

    @property
    def exit_code(self) -> int:
        """That of the run where it was interrupted or refused; else 1 for a gate that is not met, and 3 for
        one of which nobody can tell, if it blocks."""
        if self.report.exit_code in (130, 4):
            return self.report.exit_code
        return self.decision

    @property
    def decision(self) -> int:
        """What it says of a run that somebody else has made, whatever ended that."""
        return {"met": 0, "not met": 1, "undecided": 3}[self.state] if self.gate.blocking else 0


def worst(codes: list[int]) -> int:
    """The exit code of several gates: the first that applies of those of a run."""
    return next((code for code in (130, 2, 4, 1, 3, 5) if code in codes), 0)
