"""The limit of a case is for all that it asks: each request of a flow, its judges, its sandbox."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, EXACT, World, case, suite

from baselinekit.errors import Refused, cannot_replay
from baselinekit.evals.attempts import EvalClients, TimeLeft
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.kinds.http import HttpExecution, HttpFlow
from baselinekit.kinds.settings import Clients
from baselinekit.model.evals import Case
from baselinekit.model.grades import Call, FunctionOutput, Grader
from baselinekit.model.recipes import (
    Answer,
    HttpRequest,
    ModelQuestion,
    ProcessResult,
    ProcessSpec,
    Recipe,
    Request,
    Response,
    SandboxResult,
)
from baselinekit.structs import replace

JUDGE = Grader("judge", "model", ModelJudge("is it kind?", scoring=Scoring("boolean")))
CALLS = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))


class Slow(World):
    """A world in which each door takes as long as it is told to, or as it is allowed to."""

    def __init__(self, root: Path, takes: float):
        super().__init__(root)
        self.takes = takes
        self.limits: list[float] = []
        self.said = b"yes"

    def _through(self, timeout: float | None, late: str) -> None:
        assert timeout is not None
        self.limits.append(round(timeout, 1))
        self.ticks += min(self.takes, timeout)
        if self.takes >= timeout:
            raise cannot_replay(late, f"no answer within {timeout:g} s")

    def send(self, request: Request) -> Response:
        self._through(request.timeout, "BK303")
        return Response(200, (("content-type", "application/json"),), b'{"n": 1}', self.takes)

    def execute(self, asked: ProcessSpec) -> ProcessResult:
        self._through(asked.timeout, "BK321")
        return ProcessResult(0, self.said, b"", self.takes)

    def ask(self, ask: ModelQuestion) -> Answer:
        self._through(ask.timeout, "BK603")
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        return Answer(f'{{"nonce": "{nonce}", "passed": true, "justification": ""}}')


def flow(steps: int, **of_each: Any) -> Case:
    asked = HttpFlow([HttpRequest(endpoint=f"/{number}", **of_each) for number in range(steps)])
    return replace(case(), recipe=Recipe(asked, HttpExecution("http", "http://x")))


@pytest.mark.parametrize(
    ("known", "takes", "limits", "code"),
    [
        (flow(3), 4, [10, 6, 2], "BK722"),
        (flow(2), 4, [10, 6], None),
        (flow(3, timeout=3), 2.5, [3, 3, 3], None),
        (flow(3, timeout=3), 3.5, [3], "BK303"),
        (case("a", "yes", EXACT), 11, [10], "BK722"),
        (case("a", "yes", JUDGE, JUDGE), 4, [10, 6, 2], "BK722"),
        (case("a", "yes", CALLS), 6, [10, 4], "BK722"),
    ],
)
def test_h61_all_that_a_case_asks_shares_its_limit(
    tmp_path: Path, known: Case, takes: float, limits: list[float], code: str | None
) -> None:
    world = Slow(tmp_path, takes)

    def sandbox(
        method: FunctionOutput, code: str, execute: Callable[[ProcessSpec], ProcessResult]
    ) -> SandboxResult:
        execute(ProcessSpec(("python",), timeout=60))
        return SandboxResult(())

    if CALLS in known.graders:
        world.said = b"def f(n): return n + n"
    report = world.run(suite(replace(known, timeout=10)), outside=EvalClients(run=sandbox))
    (result,) = report.results
    assert world.limits == limits
    assert code is None or (result.outcome, result.code) == ("error", code)
    assert code != "BK722" or "its 10 s were used up" in result.reason


def test_h61_a_case_without_a_limit_has_the_limits_of_its_requests(tmp_path: Path) -> None:
    world = Slow(tmp_path, 20)
    world.run(suite(flow(3)))
    assert world.limits == [30, 30, 30]


@pytest.mark.parametrize(
    ("granted", "most"), [("", 3600), ("limits: {timeout: 50}\n", 50), ("limits: {timeout: 9000}\n", 9000)]
)
def test_h61_a_case_may_take_an_hour_or_what_the_configuration_grants(
    tmp_path: Path, granted: str, most: int
) -> None:
    (tmp_path / "baselinekit.yaml").write_text(CONFIG + granted)
    fine, slow = (case(timeout=seconds) for seconds in (most, most + 1))
    world = World(tmp_path)
    (result,) = world.run(suite(fine)).results
    assert (result.outcome, result.reason) == ("passed", "")
    with pytest.raises(Refused, match=f"BK408.*{most + 1} is more than a file may set, {most}"):
        world.run(suite(slow))


def test_h61_nobody_waits_longer_than_there_is_time(tmp_path: Path) -> None:
    world = World(tmp_path)
    ours = Clients(world.send, world.execute, world.slept.append, models=world)
    clients = TimeLeft(3, lambda: 1.0, 0.0).within(ours)
    for seconds in (1, 5):
        clients.sleep(seconds)
    assert world.slept == [1, 2]
    assert TimeLeft(None, lambda: 1e9, 0.0).left() == float("inf")
