"""Graders: what an output may be graded by. These classes are also the schema of a grader's `config:`."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from baselinekit.model.baselines import Number, Options, Type
from baselinekit.model.grades import Grade, GraderKind, Outcome
from baselinekit.model.recipes import Seconds
from baselinekit.model.values import STRICT, Json, Path


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """The output is the expected text, or the expected JSON. `of`, here and below: the part of the output
    that is looked at, `stderr` or `body.users[0]`; `$` is all of it."""

    __pydantic_config__: ClassVar[Any] = STRICT

    case_sensitive: bool = True
    trim_whitespace: bool = True
    normalize_newlines: bool = True
    of: str | None = None


@dataclass(frozen=True, slots=True)
class RegexMatch:
    """A pattern is found in the output, or (`must_match: false`) is not. Named groups, else groups by their
    number, are kept under the names of `capture_groups`. Without a pattern the expected value is one."""

    __pydantic_config__: ClassVar[Any] = STRICT

    pattern: str | None = None
    flags: list[Literal["multiline", "ignorecase", "dotall"]] = field(default_factory=list)
    must_match: bool = True
    capture_groups: list[str] = field(default_factory=list)
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Contains:
    """Texts that stand in the output, or do not. Without any, the expected value must."""

    __pydantic_config__: ClassVar[Any] = STRICT

    all: list[str] = field(default_factory=list)
    any: list[str] = field(default_factory=list)
    none: list[str] = field(default_factory=list)
    case_sensitive: bool = True
    of: str | None = None


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The output is JSON that a schema allows: the schema in place, or the path of its file."""

    __pydantic_config__: ClassVar[Any] = STRICT

    schema: Json = None
    schema_file: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class StructuralMatch:
    """The matcher of compare: the expected value with its placeholders, or the record's baseline.
    `strict: false` allows further keys."""

    __pydantic_config__: ClassVar[Any] = STRICT

    strict: bool | None = None
    type: Type = "structural"
    options: Options | None = None
    ignore_fields: list[str] = field(default_factory=list)
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a generated function, and what it must give."""

    __pydantic_config__: ClassVar[Any] = STRICT

    expected: Json
    args: list[Json] = field(default_factory=list)
    kwargs: dict[str, Json] = field(default_factory=dict)
    comparator: str = "equals"
    tolerance: Number | None = None


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """The output is a program; a function in it gives what is expected. It runs in a sandbox where there is
    one. `sandbox: true`: nowhere else, whatever is allowed."""

    __pydantic_config__: ClassVar[Any] = STRICT

    function_name: str
    test_cases: list[Call] = field(default_factory=list)
    executor: Literal["python"] = "python"
    timeout_per_case: Seconds = 5
    sandbox: bool | None = None
    max_memory_mb: int = 512
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a judge scores: on a range, by a word of several, or yes and no. `threshold`: from which overall
    score, category or share of the range on it is a pass."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["numeric", "categorical", "boolean"] = "numeric"
    range: list[Number] = field(default_factory=lambda: [1, 5])
    categories: list[str] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    threshold: Number | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A judgement that was right: the judge sees it beforehand."""

    __pydantic_config__: ClassVar[Any] = STRICT

    output: Json
    score: Json
    input: Json = None
    justification: str = ""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One line of a rubric. Weights count among those that are stated; a `required` one must be met."""

    __pydantic_config__: ClassVar[Any] = STRICT

    name: str
    description: str = ""
    weight: Number = 1
    range: list[Number] | None = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """A model that judges by a rubric: a text with numbered criteria, or the criteria themselves.
    `samples` of its judgement are taken, and the middle one counts."""

    __pydantic_config__: ClassVar[Any] = STRICT

    rubric: str | list[Criterion] = ""
    model: str = "judge"
    temperature: Number = 0.0
    max_tokens: int = 1000
    scoring: Scoring = field(default_factory=Scoring)
    examples: list[Sample] = field(default_factory=list)
    samples: int = 1
    prompt: str | None = None
    calibration: str | None = None
    retries_on_unreadable: int = 1


@dataclass(frozen=True, slots=True)
class Evaluators:
    """Who rates. `adjudicator`: whose rating decides where the others do not agree, and counts only then."""

    __pydantic_config__: ClassVar[Any] = STRICT

    min_required: int = 2
    max_allowed: int = 5
    agreement_threshold: Number = 0.8
    adjudicator: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    __pydantic_config__: ClassVar[Any] = STRICT

    value: Json
    label: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RatingScale:
    __pydantic_config__: ClassVar[Any] = STRICT

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

    __pydantic_config__: ClassVar[Any] = STRICT

    interface: Literal["web", "cli", "api"] = "cli"
    evaluators: Evaluators = field(default_factory=Evaluators)
    rating_scale: RatingScale = field(default_factory=RatingScale)
    rubric: str = ""
    time_limit_minutes: Number | None = None
    blind_evaluation: bool = False
    slots: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MustInclude:
    """What a `semantic` expectation lists: told apart by name, without a model. `alternatives`: other lists,
    any of which is enough."""

    must_include: tuple[str, ...] = ()
    must_not_include: tuple[str, ...] = ()
    alternatives: "tuple[MustInclude, ...]" = ()


@dataclass(frozen=True, slots=True)
class BaselineMatch:
    """A regression record: the output is compared with its baseline, as `compare` does."""


Method = (
    ExactMatch
    | RegexMatch
    | Contains
    | JsonSchema
    | StructuralMatch
    | FunctionOutput
    | MustInclude
    | BaselineMatch
    | ModelJudge
    | HumanRating
)


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
