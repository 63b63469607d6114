"""Graders as a case names them. The configs that other packages than grade/ act on stand here too: what the
sandbox runs, and what people are asked. They are also the schema of a grader's `config:`."""

from dataclasses import dataclass, field
from typing import Any, Literal

from baselinekit.model.baselines import Number
from baselinekit.model.grades import Grade, GraderKind, Outcome
from baselinekit.model.recipes import Seconds
from baselinekit.model.values import Json, Path


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a generated function, and what it must give."""

    expected: Json
    args: list[Json] = field(default_factory=list)
    kwargs: dict[str, Json] = field(default_factory=dict)
    comparator: str = "equals"
    tolerance: Number | None = None


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """The output is a program; a function in it gives what is expected. It runs in a sandbox where there is
    one. `sandbox: true`: nowhere else, whatever is allowed."""

    function_name: str
    test_cases: list[Call] = field(default_factory=list)
    executor: Literal["python"] = "python"
    timeout_per_case: Seconds = 5
    sandbox: bool | None = None
    max_memory_mb: int = 512
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluators:
    """Who rates. `adjudicator`: whose rating decides where the others do not agree, and counts only then."""

    min_required: int = 2
    max_allowed: int = 5
    agreement_threshold: Number = 0.8
    adjudicator: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    value: Json
    label: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RatingScale:
    type: Literal["likert", "binary", "ranking"] = "likert"
    range: list[int] = field(default_factory=lambda: [1, 5])
    labels: dict[int, str] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    description: str = ""
    tie_allowed: bool = False
    min_items: int = 2
    max_items: int = 5
    threshold: Number | None = None


@dataclass(frozen=True, slots=True)
class HumanRating:
    """People who rate: the case waits in a queue until enough of them have, and they agree. `slots`: what
    stands in the rubric for `{special_instructions}` and its like."""

    interface: Literal["web", "cli", "api"] = "cli"
    evaluators: Evaluators = field(default_factory=Evaluators)
    rating_scale: RatingScale = field(default_factory=RatingScale)
    rubric: str = ""
    time_limit_minutes: Number | None = None
    blind_evaluation: bool = False
    slots: dict[str, str] = field(default_factory=dict)


Method = Any
"""The config of a grader: of one of the classes that `grade.graders` lists."""


@dataclass(frozen=True, slots=True)
class Grader:
    """A grader as a case names it, ready to be used. `at` leads to it in the record."""

    name: str
    kind: GraderKind
    method: Method
    weight: float = 1.0
    required: bool = True
    at: Path = ()

    def graded(self, outcome: Outcome, score: float | None, reason: str = "", **more: Any) -> Grade:
        """What it says: in its name, and with its weight."""
        weight, required = self.weight, self.required
        return Grade(self.name, self.kind, outcome, score, reason, weight=weight, required=required, **more)
