"""Graders, and the grades that they give to an output."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from baselinekit.model.baselines import Number
from baselinekit.model.recipes import Usage
from baselinekit.model.values import Json, Path
from baselinekit.structs import (
    AboveZero,
    AtLeastOne,
    Count,
    Name,
    NotNegative,
    Struct,
    Threshold,
    TimeLimit,
    ZeroToOne,
    field,
    replace,
)

# Grades: the result of a grader for one output, and of a case over its attempts.

Outcome = Literal["passed", "failed", "error", "unscored", "skipped"]
"""Kept apart everywhere: an error is neither a failure nor a pass, an undecided result not a failure."""

BORDERLINE = "borderline"
"""The verdict of a score that is neither good enough nor clearly too low."""

FAULTS: tuple[Outcome, ...] = ("failed", "error", "unscored")
"""The outcomes of what ran and did not pass."""

OUTCOMES: tuple[Outcome, ...] = (*FAULTS, "skipped", "passed")

GraderKind = Literal["code", "model", "human"]


class Classified(Struct):
    """The class that a grader gave to something whose right class is known: an entry of a confusion table.
    `given` is None if it decided nothing."""

    wanted: str
    given: str | None


class Grade(Struct):
    """The grade of one grader. `score` is from 0 to 1, or None if nothing was decided. `verdict` is a word
    that refines the outcome: pending, disputed, borderline, not judged, unparseable. `details` are for the
    report. `line`: the line of the grader in the file of its case, if the user has to look there. `parts`:
    the grades that it is composed of; `failed_gates`: the gates that do not hold, which fail the case
    whatever its mean is."""

    grader: str
    kind: GraderKind
    outcome: Outcome
    score: Number | None
    reason: str = ""
    verdict: str | None = None
    details: dict[str, Json] = field(default_factory=dict)
    code: str | None = None
    weight: Number = 1.0
    required: bool = True
    usage: Usage = field(default_factory=Usage)
    classified: Classified | None = None
    line: AtLeastOne | None = None
    parts: "tuple[Grade, ...]" = ()
    failed_gates: tuple[str, ...] = ()


def iterate_grades(grades: "Iterable[Grade]", within: str = "") -> "Iterator[Grade]":
    """All grades, each followed by its parts, which are named by their path: `gate/facts`."""
    for grade in grades:
        yield replace(grade, grader=within + grade.grader) if within else grade
        yield from iterate_grades(grade.parts, f"{within}{grade.grader}/")


def map_grades(grade: Grade, change: Callable[[Grade], Grade]) -> Grade:
    """Change a grade and all of its parts."""
    parts = tuple(map_grades(part, change) for part in grade.parts)
    return change(replace(grade, parts=parts) if parts else grade)


class PassRule(Struct):
    """When a case passes. By `all`: every required grader passes. By `mean`: the weighted mean of all scores
    is `pass_at` or more and no gate fails (gates are the required graders and those that a grade names); from
    `borderline_at` on the case is borderline, which passes only with `borderline_passes`."""

    by: Literal["all", "mean"] = "all"
    pass_at: Threshold = 0.8
    borderline_at: Threshold = 0.6
    borderline_passes: bool = False


class Exchange(Struct):
    """A question and its answer. `grader`: the grader that asked, empty for what is tested; `model`: who was
    asked."""

    question: str
    reply: str
    model: str = ""
    grader: str = ""


class Attempt(Struct):
    """One attempt at a case: one observation and all its grades. `again` counts replays that were repeated
    because of failures around it (no connection, too many requests): these are not attempts. `output` is kept
    masked, and only if a report needs it. `sent`: a prompt of a prompt folder was sent and answered;
    `verified`: the result of the script that checks an answer, None if there is none; `notes`: remarks that
    came up meanwhile; `judged_seconds`: how much of the time the graders took; `transcript`: what was asked
    and answered, if that is kept."""

    number: AtLeastOne
    outcome: Outcome
    score: Number | None
    grades: tuple[Grade, ...] = ()
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    again: Count = 0
    seconds: NotNegative = 0.0
    usage: Usage = field(default_factory=Usage)
    output: Json = None
    environment: dict[str, Json] = field(default_factory=dict)
    sent: bool = False
    verified: bool | None = None
    notes: tuple[str, ...] = ()
    judged_seconds: NotNegative = 0.0
    transcript: tuple[Exchange, ...] = ()


# Graders as a case names them. The configs that packages other than grade/ use are here too: what the sandbox
# runs, and what people are asked. They are also the schema of a grader's `config:`.


class Call(Struct):
    """One call of a generated function, and what it must give."""

    expected: Json
    args: list[Json] = field(default_factory=list)
    kwargs: dict[str, Json] = field(default_factory=dict)
    comparator: Literal["equals", "approx", "unordered", "set", "regex"] = "equals"
    tolerance: Number | None = None


class FunctionOutput(Struct):
    """The output is a program; a function in it gives what is expected: the function and the calls are stated
    here or by a functional expectation. It runs in a sandbox where there is one. `sandbox: true`: nowhere
    else, whatever is allowed."""

    function_name: str = ""
    test_cases: list[Call] = field(default_factory=list)
    executor: Literal["python"] = "python"
    timeout_per_case: TimeLimit = 5
    sandbox: bool | None = None
    max_memory_mb: int = 512
    of: str | None = None


class Evaluators(Struct):
    """Who rates. `adjudicator`: whose rating decides where the others do not agree, and counts only then."""

    min_required: AtLeastOne = 2
    max_allowed: int = 5
    agreement_threshold: ZeroToOne = 0.8
    adjudicator: Name | None = None


class Option(Struct):
    value: Json
    label: str = ""
    description: str = ""


class RatingScale(Struct):
    type: Literal["likert", "binary", "ranking"] = "likert"
    range: list[int] = field(default_factory=lambda: [1, 5])
    labels: dict[str, str] = field(default_factory=dict)
    criteria: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    description: str = ""
    tie_allowed: bool = False
    min_items: int = 2
    max_items: int = 5
    threshold: Number | None = None


class HumanRating(Struct):
    """People who rate: the case waits in a queue until enough of them have, and they agree. `slots`: what
    the rubric has for `{special_instructions}` and its like."""

    interface: Literal["web", "cli", "api"] = "cli"
    evaluators: Evaluators = field(default_factory=Evaluators)
    rating_scale: RatingScale = field(default_factory=RatingScale)
    rubric: str = ""
    time_limit_minutes: AboveZero | None = None
    blind_evaluation: bool = False
    slots: dict[str, str] = field(default_factory=dict)


Method = Any
"""The config of a grader: an object of one of the classes that `graders.graders` lists."""


class Grader(Struct):
    """A grader as a case names it, ready to be used. `at` leads to it in the record, and `config_at` from
    there to its config. The case's pass rule defines what `required` means; `says_required`: whether the file
    states it."""

    name: str
    kind: GraderKind
    method: Method
    weight: float = 1.0
    required: bool = True
    at: Path = ()
    config_at: Path = ("config",)
    says_required: bool = False

    def place_of(self, at: Path) -> Path:
        """The path in the record of a part of this grader: `("config", key)` for a key of its config."""
        return (*self.at, *self.config_at, *at[1:]) if at[:1] == ("config",) else (*self.at, *at)

    def graded(self, outcome: Outcome, score: float | None, reason: str = "", **further: Any) -> Grade:
        """Make a grade with the name and the weight of this grader."""
        weight, required = self.weight, self.required
        return Grade(
            self.name, self.kind, outcome, score, reason, weight=weight, required=required, **further
        )


# Calibration: how well a judge agrees with people about the same outputs.

State = Literal["calibrated", "not calibrated", "another judge", "another rubric", "other labels"]


class Label(Struct):
    """The label that a person gave to one output: passed or failed, a score on the judge's scale, or a
    category. `expected_outcome`: what a good answer does, if the judge uses that."""

    output: Json
    human: bool | int | float | str
    input: Json = None
    expected: Json = None
    note: str | None = None
    expected_outcome: str = ""


class Agreement(Struct):
    """How often a judge agreed with people. It is valid for this model, this rubric and these labels. `both`:
    outputs that both let pass; `undecided`: outputs for which the judge gave no usable verdict."""

    model: str
    rubric: str
    labels: str
    both: Count = field(name="both_passed")
    only_judge: Count = field(name="only_judge_passed")
    only_human: Count = field(name="only_people_passed")
    neither: Count = field(name="both_failed")
    undecided: Count = 0
    kappa: Number | None = None

    @property
    def decided(self) -> int:
        return self.both + self.only_judge + self.only_human + self.neither

    @property
    def accuracy(self) -> float | None:
        """The share of equal verdicts."""
        return (self.both + self.neither) / self.decided if self.decided else None


class JudgeFacts(Struct):
    """What a report shows about a judge that has a calibration file."""

    model: str
    file: str
    state: State
    agreement: Agreement | None = None
