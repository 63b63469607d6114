"""A suite: `eval_suite: {name, version, description, config, evals: [{$ref: …}], reporting}`."""

from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from baselinekit.errors import Problem
from baselinekit.model.evals import Reporting, SuiteConfig
from baselinekit.model.recipes import Seconds
from baselinekit.model.values import ABSENT, STRICT, Json
from baselinekit.schema.places import below
from baselinekit.schema.validate import check
from baselinekit.suites.dialects import asking
from baselinekit.suites.dialects.capability import Defaults, limits

WRAPPER = "eval_suite"
REF = "$ref"


@dataclass(frozen=True, slots=True)
class SuiteFileConfig:
    """Its `config`: how it is run, and what holds for cases whose files do not say so."""

    __pydantic_config__: ClassVar[Any] = STRICT

    parallel_execution: bool = True
    max_workers: int | None = None
    timeout_global: Seconds | None = None
    retry_failed: bool = False
    retry_count: int | None = None
    attempts: int = 1
    timeout_seconds: Seconds | None = None
    execution: Json = ABSENT


@dataclass(frozen=True, slots=True)
class StatedSuite:
    __pydantic_config__: ClassVar[Any] = STRICT

    name: str
    evals: list[Json]
    version: str | int | float | None = None
    description: str | None = None
    config: Json = ABSENT
    reporting: Reporting = field(default_factory=Reporting)
    thresholds: Json = ABSENT


_SETTINGS = frozenset(one.name for one in fields(SuiteFileConfig))


def read(raw: Json, defaults: Defaults) -> tuple[StatedSuite | None, SuiteConfig, Defaults, list[Problem]]:
    """The suite as it stands there, its settings, what it says for its cases, and what is wrong with it."""
    stated, problems = check(StatedSuite, raw)
    problems = [_below_config(problem) for problem in problems]
    config = SuiteConfig()
    if isinstance(raw, dict) and raw.get("config") is not None:
        config, defaults, more = _configured(raw["config"], defaults)
        problems += below(more, ("config",))
    if stated is not None and not stated.evals:
        problems.append(Problem("BK710", "a suite without an eval", "add - $ref: ./FILE", at=("evals",)))
    return stated, config, defaults, problems


def _below_config(problem: Problem) -> Problem:
    """A setting that stands beside `config` is told where it belongs."""
    if problem.code != "BK103" or problem.at is None or problem.at[-1] not in _SETTINGS:
        return problem
    return replace(problem, hint="it belongs below `config:`")


def _configured(raw: Json, defaults: Defaults) -> tuple[SuiteConfig, Defaults, list[Problem]]:
    config, problems = check(SuiteFileConfig, raw)
    execution = defaults.execution
    if isinstance(raw, dict) and raw.get("execution") is not None:
        execution, more = asking.execution(raw["execution"])
        problems += below(more, ("execution",))
    if config is None:
        return SuiteConfig(), defaults, problems
    problems += [*_wrong(config), *limits(config.timeout_seconds, None)]
    count = config.retry_count if config.retry_count is not None else int(config.retry_failed)
    settings = SuiteConfig(
        parallel_execution=config.parallel_execution,
        max_workers=config.max_workers,
        timeout_global=config.timeout_global,
        retry_failed=config.retry_failed,
        retry_count=count,
        attempts=config.attempts,
    )
    retries = count if config.retry_failed else 0
    return (
        settings,
        replace(defaults, execution=execution, timeout=config.timeout_seconds, retries=retries),
        problems,
    )


def _wrong(config: SuiteFileConfig) -> list[Problem]:
    problems = []
    for name in ("max_workers", "attempts"):
        value = getattr(config, name)
        if value is not None and value < 1:
            problems.append(Problem("BK108", f"{name} is {value}", "1 or more", at=(name,)))
    return problems + limits(config.timeout_global, config.retry_count, ("timeout_global", "retry_count"))
