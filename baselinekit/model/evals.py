"""Eval cases, suites and gates. Every form of eval file is read into these classes."""

from typing import Literal

from baselinekit.errors import Problem
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.prompts import PromptFolder
from baselinekit.model.recipes import Recipe, Seconds
from baselinekit.model.results import Metric, Report
from baselinekit.model.traces import TraceMessage
from baselinekit.model.values import Json
from baselinekit.structs import Struct, field

# Case and suite: a recipe with graders instead of (or beside) a baseline.

Kind = Literal["capability", "regression"]
ReportForm = Literal["json", "markdown", "html", "junit", "sarif", "ctrf"]


class Expected(Struct):
    """What would be right: the value, or any of its alternatives. `of`: the part of the output that is meant,
    where a grader names none."""

    type: Literal["exact", "contains", "pattern", "semantic", "functional"] = "exact"
    value: Json = None
    alternatives: list[Json] = field(default_factory=list)
    of: str | None = None


class Scripts(Struct):
    """Programs around an attempt, as paths from the project's root. `before` may stop the attempt by its exit
    code, and lines NAME=VALUE that it prints are inputs; `after` tells whether the answer is right. Both get
    the variables in `environment`, and with the `prefix` the inputs and the file of the answer."""

    before: str | None = None
    after: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    prefix: str = ""


class GoodAnswer(Struct):
    """A good answer, in words and by example; an output need not be equal to it. `outcome`: what the answer
    should do; `messages`: a conversation that went well; `asked`: the messages that it answers; `sidecar`:
    further facts for a judge. `guideline_files`, `input_files`: the files that these messages name, as
    absolute paths."""

    outcome: str = ""
    messages: tuple[TraceMessage, ...] = ()
    asked: tuple[TraceMessage, ...] = ()
    sidecar: dict[str, Json] = field(default_factory=dict)
    conversation_id: str | None = None
    guideline_files: tuple[str, ...] = ()
    input_files: tuple[str, ...] = ()


class Case(Struct):
    """One case. Its `pass_rule` decides when it passes. `retries`: how often a failed attempt is repeated; a
    first attempt that failed stays on record. `judge_after_failure`: whether models are asked although a code
    grader has already failed. `folder`: the prompt folder that the case belongs to. `target_id`: the id that
    a program as its target receives, where it is not the case's own."""

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
    target_id: str = ""
    retries: int = 0
    parallel: bool = True
    weight: float = 1.0
    skip: str | None = None
    baseline: Baseline | None = None
    judge_after_failure: bool = True
    pass_rule: PassRule = field(default_factory=PassRule)
    wanted: GoodAnswer = field(default_factory=GoodAnswer)
    scripts: Scripts = Scripts()
    folder: PromptFolder | None = None
    source: Source = field(default_factory=lambda: Source(""))


class Reporting(Struct):
    """Which reports a run of the suite writes, and where. `notify_on_failure`: whether the recipients of the
    configuration hear of a run that failed; by default they do."""

    format: list[ReportForm] = field(default_factory=lambda: ["json"])
    output_dir: str | None = None
    include_details: bool = True
    notify_on_failure: bool | None = None


class SuiteConfig(Struct):
    parallel_execution: bool = True
    max_workers: int | None = None
    timeout_global: Seconds | None = None
    retry_failed: bool = False
    retry_count: int = 0
    attempts: int = 1


class Suite(Struct):
    """Cases that are run together. `thresholds`: the minimum value of a metric, by the metric's name;
    `notes`: the files that were skipped; `unread`: the problems of files that were left out."""

    name: str
    cases: tuple[Case, ...]
    version: str | None = None
    description: str | None = None
    config: SuiteConfig = field(default_factory=SuiteConfig)
    reporting: Reporting = field(default_factory=Reporting)
    thresholds: dict[str, float] = field(default_factory=dict)
    file: str | None = None
    notes: tuple[str, ...] = ()
    unread: tuple[Problem, ...] = ()


# A gate: what a run has to reach before work continues. A phase step, an eval trigger and the options of
# `gate` are three ways to write one.

State = Literal["met", "not met", "undecided"]

ALLOWABLE = ("medium", "low")
"""Of which criticality a gate may let regressions fail. One without criticality is medium."""


class Gate(Struct):
    """A gate. `least`: the minimum value of each metric; `shown`: metrics that are only reported. `suite`:
    the file to run, from the project's root. `categories` and `tags`: select the cases. `report`: where the
    phase report is written when the gate is not met; `{phase_id}` in it becomes the phase.
    `allow_regressions`: the criticality up to which regressions may fail, as far as the metrics allow."""

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
    allow_regressions: tuple[str, ...] = ()


class GateResult(Struct):
    """The result of a gate. `metrics` and `report` are about its own cases only. `why`: the reasons why it
    cannot be decided; `regressed`: why it is not met whatever the metrics are."""

    gate: Gate
    report: Report
    metrics: tuple[Metric, ...]
    why: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The state: a regression that failed, or a metric that is too low or not available, leaves it not
        met, whatever else is undecided."""
        if self.regressed or any(metric.met is False for metric in self.metrics):
            return "not met"
        return "undecided" if self.why else "met"

    @property
    def exit_code(self) -> int:
        """The exit code: the run's if it was interrupted or refused; otherwise, if the gate blocks, 1 if it
        is not met and 3 if it is undecided."""
        if self.report.exit_code in (130, 4):
            return self.report.exit_code
        return self.decision

    @property
    def decision(self) -> int:
        """The exit code of the gate alone, for a run that was made elsewhere, however that run ended."""
        return {"met": 0, "not met": 1, "undecided": 3}[self.state] if self.gate.blocking else 0


def worst_exit_code(codes: list[int]) -> int:
    """The exit code of several gates: the first that applies, in the order of a run's exit codes."""
    return next((code for code in (130, 2, 4, 1, 3, 5) if code in codes), 0)
