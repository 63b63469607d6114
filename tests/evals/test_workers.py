"""Attempts that are made elsewhere: what is sent and what comes back is data, and the run is the same."""

import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from evalcases import EXACT, World, case, suite
from storehelp import write

from baselinekit.commands.chunks import Chunk, ChunkDone
from baselinekit.commands.context import Clock, RunContext, Stop
from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.attempts import EvalClients, PendingWrites
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import RunPolicy, run
from baselinekit.evals.selection import Choice, load
from baselinekit.evals.workers import (
    CaseEngine,
    CaseOrder,
    CasesElsewhere,
    CaseTurn,
    JudgedAttempt,
    chunks_of,
    turns_of,
)
from baselinekit.model.evals import Suite
from baselinekit.model.grades import Grader, HumanRating
from baselinekit.model.results import Report
from baselinekit.report.resultfile import document

CLOCK = Clock(lambda: "2024-01-20T14:30:52Z", lambda: 0.0)
PEOPLE = Grader("people", "human", HumanRating())
RECORD = """\
id: known
baseline: {output: yes}
current: {input: INPUT, execution: {type: skill, skill_name: echo}}
metadata: {failure_count: 0}
"""


class Afar:
    """An engine whose worker has a project and clients of its own, and to which only bytes go. `per`: about
    how many attempts are in a chunk."""

    slots = 2

    def __init__(self, world: World, order: CaseOrder, per: int = 3):
        world.stop.wake = lambda: None
        context = RunContext(world.clients(), lambda: None, CLOCK, stop=Stop())
        project = open_project(Operator(cwd=str(world.root)))

        def outside(slip: PendingWrites) -> EvalClients:
            def answered(case: Any, number: int, observation: Any) -> None:
                slip.answered.append(f"{case.id} {number} {observation.output}")

            queue = Queue(project, lambda: 0.0, slip.queued.append)
            return EvalClients(rated=queue.rated, answered=answered)

        self._order, self._per = order, per
        self._worker = CasesElsewhere(project, context, sent(order), outside)
        self.cancel = context.stop.ask

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *how: object) -> None:
        return None

    def chunks(self, turns: Any) -> list[Chunk[CaseTurn]]:
        return chunks_of(turns, self._order, self._per)

    def judge(self, chunk: Chunk[CaseTurn]) -> ChunkDone[JudgedAttempt]:
        return sent(self._worker.run(sent(chunk), 2, 1 if self._order.first else None))


def sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def said(given: Any, turn: int) -> str:
    """What a program answers that is given `given` for this time."""
    if given == "slow":
        time.sleep(0.05)
        return "yes"
    if given == "later":
        return "yes" if turn > 1 else "no"
    return str(given)


def ran(root: Path, given: Suite, afar: bool, **policy: Any) -> tuple[Report, list[str], World]:
    """The report, what was answered, and the world that was asked."""
    world = World(root, said)
    project = open_project(Operator(cwd=str(root)))
    queue, answered = Queue(project, lambda: 0.0), list[str]()

    def take(slip: PendingWrites) -> None:
        answered.extend(slip.answered)
        for item in slip.queued:
            queue.ratings.enqueue(item)

    def hear(case: Any, number: int, observation: Any) -> None:
        answered.append(f"{case.id} {number} {observation.output}")

    outside = EvalClients(rated=queue.rated, answered=hear, take=take)
    context = RunContext(world.clients(), world.cancelled.set, CLOCK, stop=world.stop)

    def elsewhere(order: CaseOrder) -> CaseEngine:
        return Afar(world, order)

    begin: Callable[[CaseOrder], CaseEngine] | None = elsewhere if afar else None
    report = run(project, given, Choice(), RunPolicy(**policy), context, outside, "", begin)
    return report, sorted(answered), world


def files_of(root: Path) -> dict[str, bytes]:
    """What a run has written, the queue of people by what stands in it."""
    found = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix not in (".db", ".sqlite", ".lock")
    }
    queued = Queue(open_project(Operator(cwd=str(root))), lambda: 0.0).ratings.all()
    return {**found, "queue": repr(queued).encode()}


def of_files(root: Path, *inputs: str) -> Suite:
    for number, said in enumerate(inputs):
        text = RECORD.replace("INPUT", said).replace("known", f"known-{number}")
        write(root, f"evals/known-{number}.yaml", text)
    write(root, "baselinekit.yaml", "skills: {echo: {command: [echo]}}\n")
    return load(open_project(Operator(cwd=str(root))), [], None)


SUITES: dict[str, Callable[[Path], Suite]] = {
    "all pass": lambda root: suite(*(case(f"c{n}") for n in range(10))),
    "some fail": lambda root: suite(*(case(f"c{n}", "yes" if n % 3 else "no") for n in range(10))),
    "tried again": lambda root: suite(
        case("a", "later"), case("b", "no"), case("c"), retry_failed=True, retry_count=2
    ),
    "several attempts": lambda root: suite(case("a"), case("b", "no"), case("c"), attempts=3),
    "skipped and alone": lambda root: suite(
        case("a", skip="not now"), case("b", parallel=False), case("c", "no", parallel=False), case("d")
    ),
    "people": lambda root: suite(case("a", "yes", PEOPLE), case("b", "yes", EXACT, PEOPLE), case("c")),
    "records": lambda root: of_files(root, "yes", "no", "yes", "no"),
}


@pytest.mark.parametrize("name", SUITES)
def test_a_run_is_the_same_wherever_its_attempts_are_made(name: str, tmp_path: Path) -> None:
    found = []
    for afar in (False, True):
        root = tmp_path / str(afar)
        root.mkdir()
        report, answered, world = ran(root, SUITES[name](root), afar, record="always")
        found.append((json.dumps(document(report), default=str), answered, len(world.calls), files_of(root)))
    assert found[1] == found[0]
    assert found[0][2]


def test_who_goes_on_with_a_run_makes_only_what_is_left_of_it(tmp_path: Path) -> None:
    """The journal is written by the caller: attempts that were made elsewhere are known to the next run."""
    given, world = suite(*(case(f"c{n}") for n in range(9))), World(tmp_path)
    project = open_project(Operator(cwd=str(tmp_path)))
    context = RunContext(world.clients(), world.cancelled.set, CLOCK, stop=world.stop)

    class Breaks(Afar):
        slots = 1

        def judge(self, chunk: Chunk[CaseTurn]) -> ChunkDone[JudgedAttempt]:
            if chunk.entries[0].case.id == "c6":
                raise RuntimeError("the line went dead")
            return super().judge(chunk)

    with pytest.raises(RuntimeError):
        run(
            project,
            given,
            Choice(),
            RunPolicy(),
            context,
            elsewhere=lambda order: Breaks(world, order),
        )
    before = len(world.calls)
    report, _, again = ran(tmp_path, given, True, resume=True)
    assert (before, len(again.calls), report.summary.passed) == (6, 3, 9)


def test_a_stop_keeps_what_was_finished_of_a_chunk(tmp_path: Path) -> None:
    """Whatever else was in its chunk: what the worker has finished is in the report."""
    given = suite(*(case(f"c{n}") for n in range(9)))
    world = World(tmp_path)
    project = open_project(Operator(cwd=str(tmp_path)))
    context = RunContext(world.clients(), lambda: None, CLOCK, stop=world.stop)

    class Stopped(Afar):
        slots = 1

        def judge(self, chunk: Chunk[CaseTurn]) -> ChunkDone[JudgedAttempt]:
            done = super().judge(chunk)
            if chunk.entries[0].case.id != "c4":
                return done
            world.stop.ask()
            return ChunkDone((*done.judged[:2], None, None))

    report = run(
        project,
        given,
        Choice(),
        RunPolicy(),
        context,
        elsewhere=lambda order: Stopped(world, order, per=4),
    )
    assert report.interrupted
    assert {one.id for one in report.results if one.outcome == "passed"} == {f"c{n}" for n in range(6)}
    assert {one.reason for one in report.results if one.outcome == "skipped"} == {"interrupted"}


def test_one_that_does_not_pass_ends_the_run(tmp_path: Path) -> None:
    given = suite(*(case(f"c{n}", "no" if n == 1 else "yes" if n == 0 else "slow") for n in range(30)))
    report, _, world = ran(tmp_path, given, True, first=True)
    assert report.summary.failed == 1
    assert len(world.calls) < 15


@pytest.mark.parametrize(
    ("claims", "most", "sizes"),
    [
        ({}, 4, [4, 4, 4]),
        ({}, 100, [12]),
        ({}, 1, [2] * 6),
        ({"c1": "db", "c2": "db"}, 4, [4, 2, 2, 4]),
        ({"c0": "alone", "c5": "alone"}, 100, [2, 8, 2]),
    ],
)
def test_all_attempts_at_a_case_are_in_one_chunk(
    claims: dict[str, str], most: int, sizes: list[int], tmp_path: Path
) -> None:
    World(tmp_path)
    project = open_project(Operator(cwd=str(tmp_path)))
    turns = [
        CaseTurn(turn.case, turn.number, claims.get(turn.case.id))
        for n in range(6)
        for turn in turns_of(project, case(f"c{n}"), 2, 0)
    ]
    chunks = chunks_of(turns, CaseOrder(8), most)
    assert sorted(len(chunk.entries) for chunk in chunks) == sorted(sizes)
    assert sorted(map(repr, turns)) == sorted(repr(turn) for chunk in chunks for turn in chunk.entries)
    ids = [{turn.case.id for turn in chunk.entries} for chunk in chunks]
    assert sum(map(len, ids)) == 6
    for chunk in chunks:
        assert {claims.get(turn.case.id) for turn in chunk.entries} == {chunk.claim}


def test_cases_that_one_start_answers_are_in_one_chunk(tmp_path: Path) -> None:
    World(tmp_path)
    project = open_project(Operator(cwd=str(tmp_path)))
    turns = [turn for n in range(6) for turn in turns_of(project, case(f"c{n}"), 1, 0)]
    together = {"p": [(f"c{n}", "x") for n in (0, 2, 4)]}
    chunks = chunks_of(turns, CaseOrder(8, together), 1)
    assert [[turn.case.id for turn in chunk.entries] for chunk in chunks] == [
        ["c0", "c2", "c4"],
        ["c1"],
        ["c3"],
        ["c5"],
    ]
