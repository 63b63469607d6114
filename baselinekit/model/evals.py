"""Case and suite: a recipe with graders instead of (or beside) a baseline. Every form of eval file is read
into these."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.graders import Grader
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.values import STRICT, Json, Path

Kind = Literal["capability", "regression"]
Form = Literal["json", "markdown", "html", "junit", "sarif", "ctrf"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What would be right: the value, or any of its alternatives. `of`: the part of the output that is meant,
    where a grader names none."""

    __pydantic_config__: ClassVar[Any] = STRICT

    type: Literal["exact", "contains", "pattern", "semantic", "functional"] = "exact"
    value: Json = None
    alternatives: list[Json] = field(default_factory=list)
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One case. It passes when all its required graders pass. `retries`: how often a failed attempt is tried
    again; a first attempt that failed stays on record."""

    id: str
    recipe: Recipe
    graders: tuple[Grader, ...]
    kind: Kind = "capability"
    name: str | None = None
    description: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    difficulty: str | None = None
    criticality: str | None = None
    expected: Expected | None = None
    context: Json = None
    timeout: Seconds | None = None
    retries: int = 0
    parallel: bool = True
    weight: float = 1.0
    skip: str | None = None
    baseline: Baseline | None = None
    source: Source = field(default_factory=lambda: Source(""))


@dataclass(frozen=True, slots=True)
class Reporting:
    """Which reports a run of the suite writes, and where. `notify_on_failure`: whether whoever the
    configuration names is told of a run that failed; where the suite does not say so, they are."""

    __pydantic_config__: ClassVar[Any] = STRICT

    format: list[Form] = field(default_factory=lambda: ["json"])
    output_dir: str | None = None
    include_details: bool = True
    notify_on_failure: bool | None = None


@dataclass(frozen=True, slots=True)
class SuiteConfig:
    __pydantic_config__: ClassVar[Any] = STRICT

    parallel_execution: bool = True
    max_workers: int | None = None
    timeout_global: Seconds | None = None
    retry_failed: bool = False
    retry_count: int = 0
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Suite:
    """Cases that are run together. `thresholds`: the least value of a metric, by the metric's name."""

    name: str
    cases: tuple[Case, ...]
    version: str | None = None
    description: str | None = None
    config: SuiteConfig = field(default_factory=SuiteConfig)
    reporting: Reporting = field(default_factory=Reporting)
    thresholds: dict[str, float] = field(default_factory=dict)
    file: str | None = None
    at: Path = ()
