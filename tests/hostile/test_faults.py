"""Every write, sync, rename and the like of a command fails in turn, or is the last thing that it does."""

import errno
import re
from collections.abc import Callable

import pytest
from drill import DRAFT, FAILING, PASSING, THOROUGH, Drill, Standing
from faults import AVAILABLE, ERRORS, Fault
from warm import Ended, Warm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="processes are followed on Linux, x86_64 and aarch64"),
]

ENOUGH = 400
"""No command of these makes so many calls: who gets here is caught in a loop."""


def turns(run: Callable[[int], Ended | None], step: int = 1) -> int:
    """Do it with the fault at call 1, 2, 3 … until there is no such call; or at every so many of them."""
    for number in range(1, ENOUGH, 1 if THOROUGH else step):
        ended = run(number)
        if ended is not None and len(ended.seen) < number:
            return number - 1
    raise AssertionError("the command never ends to change files")


def assert_no_traceback(ended: Ended) -> None:
    """Whatever happened, the user is spoken to in sentences."""
    assert "Traceback" not in ended.said, ended.said
    assert "BK399" not in ended.said, ended.said


def assert_counted_once(before: dict[str, Standing], after: dict[str, Standing]) -> None:
    """One more run, counted exactly once."""
    for id in PASSING:
        assert after[id] == (True, 0)
    for id in FAILING:
        assert after[id] == (False, before[id].count + 1)


def test_f01_compare_killed_at_any_call_leaves_whole_files_and_the_next_run_is_right(
    project: Drill, runs: Warm
) -> None:
    def die(number: int) -> Ended | None:
        ended = None
        for kind in ("before", "after") if THOROUGH else (("before", "after")[number // 3 % 2],):
            project.lay()
            ended = runs.run(project.folder, "compare", "-j1", fault=Fault(number, kind))
            if len(ended.seen) < number:
                assert ended.exit_code == 1, ended.said
                return ended
            assert ended.exit_code == -9
            if kind == "after":
                assert runs.run(project.folder, "compare", "baselines/a.yaml").exit_code == 0
            before = project.standing()
            for id, standing in before.items():
                assert standing in ((False, 0), (id in PASSING, int(id in FAILING))), id
            again = runs.run(project.folder, "compare")
            assert again.exit_code == 1, again.said
            assert "BK" not in again.said
            assert_counted_once(before, project.standing())
            assert (project.litter(), project.is_hidden()) == ([], True)
        return ended

    assert turns(die, step=3) > 20


def assert_recorded_or_reported(project: Drill, ended: Ended) -> None:
    """Every verdict is in the files, or the user is told which file or state folder would not take it."""
    names = {"a": "baselines/a.yaml", "b": "baselines/b.yaml", "c": "baselines/deeper/two.yaml"}
    names["d"] = names["c"]
    for id, standing in project.standing().items():
        done = standing == (id in PASSING, int(id in FAILING))
        assert done or standing == (False, 0), (id, standing)
        assert done or re.search(rf"BK120 ({names[id]}|\.baselinekit)", ended.said), (id, ended.said)


def errors_at(number: int) -> tuple[int, ...]:
    """Which errors a call ends with; one after the other, if not all are wanted."""
    return ERRORS if THOROUGH else (ERRORS[number // 3 % len(ERRORS)],)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from-then-on"])
def test_f05_compare_with_any_call_failing_keeps_files_whole_and_warns(
    project: Drill, runs: Warm, lasting: bool
) -> None:
    def fail(number: int) -> Ended | None:
        ended = None
        for error in errors_at(number):
            project.lay()
            ended = runs.run(project.folder, "compare", fault=Fault(number, error, lasting))
            assert_no_traceback(ended)
            assert ended.exit_code == 1, ended.said
            assert "2 failed, 2 passed" in ended.out, ended.said
            assert_recorded_or_reported(project, ended)
            if not lasting and error == errno.ENOSPC:
                assert project.litter() == []
        return ended

    assert turns(fail, step=5 if lasting else 3) > 20


def test_compare_continues_a_write_that_took_only_a_part(project: Drill, runs: Warm) -> None:
    def cut(number: int) -> Ended:
        project.lay()
        ended = runs.run(project.folder, "compare", fault=Fault(number, "short"))
        assert_no_traceback(ended)
        assert ended.exit_code == 1, ended.said
        assert project.standing() == {
            id: (id in PASSING, int(id in FAILING)) for id in (*PASSING, *FAILING)
        }, ended.said
        return ended

    def only_writes(number: int) -> Ended | None:
        return cut(number) if number > len(order) or order[number - 1].name in ("write", "pwrite") else None

    project.lay()
    order = runs.run(project.folder, "compare", follow=True).seen
    if THOROUGH:
        assert turns(cut) > 20
    else:
        assert turns(only_writes) > 20


CAPTURES: dict[str, tuple[tuple[str, ...], dict[str, str], str]] = {
    "large": (("capture", "http", "GET", "/n", "--id", "new"), {}, "baselines/127.0.0.1/new.yaml"),
    "from": (("capture", "baselines/draft.yaml"), DRAFT, "baselines/draft.yaml"),
}


def lay_for_capture(project: Drill, kind: str) -> bytes | None:
    """The file as it is before, if there is one."""
    _, files, file = CAPTURES[kind]
    project.lay(files)
    if kind == "large":  # every output is over the limit, and goes into a file beside
        with (project.folder / "baselinekit.yaml").open("a") as config:
            config.write("inline_limit: 1\n")
    return (project.folder / file).read_bytes() if files else None


def is_captured(project: Drill, kind: str, old: bytes | None) -> bool:
    """Whether the capture is in its file; in part is torn."""
    path = project.folder / CAPTURES[kind][2]
    now = path.read_bytes() if path.exists() else None
    if now == old:
        return False
    assert now is not None
    kept = b"output_file: new.output.json" if kind == "large" else b'"n": 1'
    assert now.endswith(b"failure_count: 0, last_passed: null}\n" if old else b"failure_count: 0\n"), now
    assert kept in now, now
    if kind == "large":
        assert path.with_name("new.output.json").read_text() == (
            '{\n  "status": 200,\n  "headers": {\n    "content-type": "application/json"\n  },\n'
            '  "body": {\n    "n": 1\n  }\n}\n'
        )
    return True


@pytest.mark.parametrize("kind", CAPTURES)
def test_f01_capture_killed_at_any_call_is_whole_or_not_there(project: Drill, runs: Warm, kind: str) -> None:
    words = CAPTURES[kind][0]

    def die(number: int) -> Ended | None:
        ended = None
        for how in ("before", "after") if THOROUGH else (("before", "after")[number // 3 % 2],):
            old = lay_for_capture(project, kind)
            ended = runs.run(project.folder, *words, fault=Fault(number, how), slept=project.slept)
            if len(ended.seen) < number:
                assert ended.exit_code == 0, ended.said
                return ended
            there = is_captured(project, kind, old)
            again = runs.run(project.folder, *words, slept=project.slept)
            assert again.exit_code == (2 if there else 0), again.said
            assert is_captured(project, kind, old)
            compared = runs.run(project.folder, "compare")
            assert compared.exit_code == 0, compared.said
            assert (project.litter(), project.is_hidden()) == ([], True)
        return ended

    assert turns(die, step=4) > 5


@pytest.mark.parametrize("kind", CAPTURES)
def test_f05_capture_with_any_call_failing_changes_nothing(project: Drill, runs: Warm, kind: str) -> None:
    def fail(number: int) -> Ended | None:
        ended = None
        for lasting in (False, True) if THOROUGH else (number % 2 == 1,):
            for error in errors_at(number):
                old = lay_for_capture(project, kind)
                fault = Fault(number, error, lasting)
                ended = runs.run(project.folder, *CAPTURES[kind][0], fault=fault, slept=project.slept)
                assert_no_traceback(ended)
                there = is_captured(project, kind, old)
                assert ended.exit_code in ((0, 3) if there else (3,)), (ended.exit_code, ended.said)
                assert ended.exit_code == 0 or "BK120 " in ended.err, ended.said
        return ended

    assert turns(fail, step=4) > 5
