"""Calibration: how far a judge agrees with people about the same outputs."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from baselinekit.model.values import STRICT, Json

State = Literal["calibrated", "not calibrated", "another judge", "another rubric", "other labels"]


@dataclass(frozen=True, slots=True)
class Label:
    """What a person says of one output: passed or failed, a score on the judge's scale, or a category."""

    __pydantic_config__: ClassVar[Any] = STRICT

    output: Json
    human: bool | int | float | str
    input: Json = None
    expected: Json = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge beside people, counted. It holds for this model and this rubric, and for these labels. `both`:
    outputs that both let pass; `undecided`: those of which the judge gave no usable verdict."""

    model: str
    rubric: str
    labels: str
    both: int
    only_judge: int
    only_human: int
    neither: int
    undecided: int = 0
    kappa: float | None = None

    @property
    def decided(self) -> int:
        return self.both + self.only_judge + self.only_human + self.neither

    @property
    def accuracy(self) -> float | None:
        """The share of the same verdicts."""
        return (self.both + self.neither) / self.decided if self.decided else None


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """What a report says of a judge that has a calibration file."""

    model: str
    file: str
    state: State
    agreement: Agreement | None = None
