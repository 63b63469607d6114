"""Eval cases as tests write them down, run against a program that the test plays."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from baselinekit.commands.context import RunContext, Stop
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.run import RunPolicy, run
from baselinekit.evals.selection import Choice
from baselinekit.graders.by_text import ExactMatch
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Expected, Suite, SuiteConfig
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import (
    Answer,
    ModelQuestion,
    ProcessResult,
    ProcessSpec,
    Recipe,
    Request,
    Response,
    Usage,
)
from baselinekit.model.results import Report, Result

CONFIG = "skills: {echo: {command: [echo]}}\nmodels: {judge: {command: [judge]}, default: {command: [m]}}\n"
EXACT = Grader("exact", "code", ExactMatch())
Says = Callable[[Any, int], str]


def case(id: str = "a", says: Any = "yes", *graders: Grader, **more: Any) -> Case:
    """A case whose program is given `says`, and has to answer yes."""
    standard: dict[str, Any] = {"expected": Expected("exact", "yes"), "source": Source(id)}
    recipe = Recipe(says, SkillExecution("skill", "echo"))
    return Case(id, recipe, graders or (EXACT,), **{**standard, **more})


def suite(*cases: Case, **config: Any) -> Suite:
    return Suite("s", cases, config=SuiteConfig(**config))


class World:
    """A program that answers what `says` makes of its input and of how often it was given it before."""

    def __init__(self, root: Path, says: Says = lambda given, turn: str(given)):
        self.root = root
        self.calls: list[Any] = []
        self.limits: list[float] = []
        self.slept: list[float] = []
        self.asked: list[ModelQuestion] = []
        self.reply = "no verdict"
        self.refusal: Exception | None = None
        self.stop = Stop()
        self.cancelled = threading.Event()
        self.ticks = 0.0
        self.answers = says
        if not (root / "baselinekit.yaml").exists():
            (root / "baselinekit.yaml").write_text(CONFIG)

    def execute(self, spec: ProcessSpec) -> ProcessResult:
        if not spec.stdin:  # git, which is asked where we are
            return ProcessResult(1, b"", b"", 0.001)
        given = json.loads(spec.stdin)["input"]
        self.limits.append(spec.timeout)
        self.calls.append(given)
        answer = self.answers(given, self.calls.count(given))
        return ProcessResult(0, answer.encode(), b"", 0.001)

    def ask(self, ask: ModelQuestion) -> Answer:
        self.asked.append(ask)
        if self.refusal is not None:
            raise self.refusal
        return Answer(self.reply, usage=Usage(10, 5))

    def check(self, name: str) -> None:
        pass

    def seconds(self) -> float:
        self.ticks += 0.001
        return self.ticks

    def run(
        self, suite: Suite, wanted: Choice | None = None, outside: EvalClients | None = None, **policy: Any
    ) -> Report:
        clock = (lambda: "2024-01-20T14:30:52Z", self.seconds)
        context = RunContext(self.clients(), self.cancelled.set, *clock, stop=self.stop)
        clients = outside or EvalClients()
        return run(
            self.project(), suite, wanted or Choice(), RunPolicy(**policy), context, lambda slip: clients
        )

    def project(self) -> Project:
        return open_project(Operator(cwd=str(self.root)))

    def clients(self) -> Clients:
        return Clients(self.send, self.execute, self.slept.append, models=self)

    def one(self, case: Case, **policy: Any) -> Result:
        (result,) = self.run(suite(case), **policy).results
        return result

    def send(self, request: Request) -> Response:
        raise AssertionError("no request is sent")


def passes_at(number: int) -> Says:
    return lambda given, turn: "yes" if turn >= number else "no"


def outcomes(report: Report) -> dict[str, str]:
    return {result.id: result.outcome for result in report.results}


def tried(result: Result) -> list[str]:
    assert result.case is not None
    return [attempt.outcome for attempt in result.case.attempts]


def metric(report: Report, name: str, view: str = "per case") -> float | None:
    assert report.suite is not None
    return next(found.value for found in report.suite.metrics if (found.name, found.view) == (name, view))
