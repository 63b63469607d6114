"""What nobody expected is the error of the one baseline that met it: the others are judged and recorded."""

from pathlib import Path

import pytest
from desk import Desk

from baselinekit.commands.compare import compare
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import Checker, ComparePolicy
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.selection import Selection
from baselinekit.kinds.settings import Clients
from baselinekit.model.recipes import Request, Response
from baselinekit.structs import replace


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(
        tmp_path, config="base_url: http://desk\nvariables: {key: {value: hush-hush-hush, secret: true}}\n"
    )
    for name in "abc":
        desk.put(name, "status: 200\nbody: {n: 1}\n")
        desk.says(name, {"n": 1})
    return desk


def context(desk: Desk, fault: BaseException) -> RunContext:
    """`b` cannot be asked, for a reason that nobody expected."""
    ordinary = desk.context()

    def send(request: Request) -> Response:
        if request.url.endswith("/b"):
            raise fault
        return ordinary.clients.send(request)

    clients = ordinary.clients
    return replace(ordinary, clients=Clients(send, clients.execute, clients.sleep))


@pytest.mark.parametrize(("fault", "times"), [(RuntimeError("hush-hush-hush"), 1), (RecursionError(), 3)])
def test_compare_reports_a_fault_of_ours_as_error(desk: Desk, fault: Exception, times: int) -> None:
    policy = ComparePolicy(jobs=1, times=times)
    report = compare(desk.project, [], Selection(), policy, context(desk, fault))
    assert [result.outcome for result in report.results] == ["passed", "error", "passed"]
    broken = report.results[1]
    assert (broken.code, broken.file, report.exit_code) == ("BK399", "baselines/b.yaml", 3)
    assert type(fault).__name__ in (broken.reason or "")
    assert "please report it" in (broken.reason or "")
    assert "hush-hush-hush" not in repr(report)
    passed = [(desk.folder / f"baselines/{name}.yaml").read_text() for name in "abc"]
    assert ["last_passed: null" in text for text in passed] == [False, True, False]


def test_compare_reports_a_fault_in_preparing_as_error(desk: Desk) -> None:
    def no_model(pairs: object) -> list[float]:
        raise RuntimeError("unexpected: hush-hush-hush")

    desk.put("b", "status: 200\nbody: {n: 1}\n", "fields: {$.body.x: {method: embedding}}\n")
    ways = desk.context()
    ways = replace(ways, clients=replace(ways.clients, similar=no_model))
    report = compare(desk.project, [], Selection(), ComparePolicy(), ways)
    assert [(result.id, result.outcome, result.code) for result in report.results] == [
        ("a", "passed", None),
        ("b", "error", "BK399"),
        ("c", "passed", None),
    ]
    assert "hush-hush-hush" not in repr(report.results)


def test_checker_keeps_the_verdict_where_keeping_the_answer_fails(desk: Desk) -> None:
    desk.says("a", {"n": 2})

    def no_time() -> str:
        raise RuntimeError("no time")

    ways = desk.context()
    environment = CaptureEnvironment(desk.project, ways.clients)
    ways = replace(ways, timestamp=no_time)
    checker = Checker(environment, ComparePolicy(), ways)
    (entry,) = checker.read(["baselines/a.yaml"], Selection()).entries
    judged = checker.judge(entry)
    assert (judged.result.outcome, judged.pending) == ("failed", None)
    assert judged.warning == "internal error: RuntimeError: no time"
