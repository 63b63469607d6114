"""A compare in several processes says what one in threads says, whoever of them is killed."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from counted_model import CountedModel
from storehelp import write

from baselinekit.cli.clients import LazyModels, open_clients
from baselinekit.cli.elsewhere import Job, compare_elsewhere
from baselinekit.cli.options import RecordingOptions, WhereOptions
from baselinekit.commands.compare import compare
from baselinekit.commands.context import Stop
from baselinekit.commands.judging import ComparePolicy
from baselinekit.commands.project import Operator, open_project
from baselinekit.commands.selection import Selection
from baselinekit.model.results import Report
from baselinekit.structs import replace

ECHO = """\
id: e{n}
baseline: {{output: [{stored}, "{token}"]}}
current: {{input: [{n}, "{{{{token}}}}"], execution: {{type: echo}}}}
metadata: {{tags: [t{tag}]}}
"""
SHELL = """\
id: s{n}
baseline: {{output: {{exit_code: 0, stdout: "{stored}\\n"}}}}
current: {{input: {{argv: [sh, -c, "{program}"]}}, execution: {{type: command{more}}}}}
"""
CONFIG = "variables: {token: {value: this-is-a-secret, secret: true}}\n"

NOW = 1_705_314_600.0


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write(terminal.folder, "baselinekit.yaml", CONFIG)
        yield terminal


def echoes(here: Console, count: int) -> None:
    """Of which every seventh fails."""
    for n in range(count):
        text = ECHO.format(n=n, stored=n if n % 7 else -1, token="this-is-a-secret", tag=n % 3)
        write(here.folder, f"baselines/e{n:03}.yaml", text)


def shells(here: Console, **programs: str) -> None:
    for n, program in programs.items():
        more = ", serial: true" if n.startswith("w") else ""
        text = SHELL.format(n=n, stored=n, program=program, more=more)
        write(here.folder, f"baselines/s{n}.yaml", text)


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


_OF_THE_RUN = {"seconds", "started", "id", "command", "captured_at"}


def report(here: Console, words: str, exit_code: int) -> dict[str, Any]:
    """The result file, without its times and what was typed."""
    run(here, f"compare {words} -o out.json", exit_code)
    found: dict[str, Any] = json.loads((here.folder / "out.json").read_text())
    found["run"] = {name: value for name, value in found["run"].items() if name not in _OF_THE_RUN}
    for one in found["results"]:
        del one["observed"]["seconds"]
    return found


def test_the_report_is_that_of_threads(here: Console) -> None:
    echoes(here, 30)
    shells(here, a="echo a", b="exit 3", c="echo x", w1="echo w1", w2="echo other", missing="no-such-x")
    write(here.folder, "baselines/none.yaml", "id: none\ncurrent: {input: 1, execution: {type: echo}}\n")
    alone = report(here, "--allow-exec --no-record", 1)
    assert [one["id"] for one in alone["results"] if one["outcome"] == "unscored"] == ["none"]
    for more in ("--processes 2", "--processes 3 -j 3", "--processes 8"):
        there = report(here, f"--allow-exec --no-record {more}", 1)
        assert there["results"] == alone["results"]
        assert there == alone


@pytest.mark.parametrize("words", ["-k 'e1 and not t0'", "--ff", "--shard 2/3"])
def test_a_selection_is_that_of_threads(here: Console, words: str) -> None:
    echoes(here, 30)
    run(here, "compare -q", 1)
    alone = report(here, f"--no-record {words}", 1)
    assert report(here, f"--no-record {words} --processes 2", 1) == alone


def test_who_ends_its_process_is_an_error_and_takes_no_other_along(here: Console) -> None:
    echoes(here, 12)
    shells(here, a="echo a", deadly="kill -9 $PPID", z="echo z")
    found = report(here, "--allow-exec --processes 2", 1)
    outcomes = {one["id"]: one["outcome"] for one in found["results"]}
    assert outcomes.pop("sdeadly") == "error"
    assert {id for id, outcome in outcomes.items() if outcome != "passed"} == {"e0", "e7"}
    (error,) = [one for one in found["results"] if one["id"] == "sdeadly"]
    assert error["code"] == "BK360"
    assert "--id sdeadly" in error["reason"]


def compared(root: Path, processes: int, told: Callable[[Any], None] = lambda outcome: None) -> Report:
    """In this process, which starts the others."""
    project = open_project(Operator(str(root), allow_exec=True))
    policy = ComparePolicy(jobs=4)
    with open_clients(lambda: NOW, None, Stop()) as context:
        context = replace(context, advance=lambda total: told)
        models = LazyModels(project, context.clients, RecordingOptions(), about="compare")
        job = Job(context, models, policy.jobs)
        elsewhere = compare_elsewhere(job, WhereOptions(processes), (), policy)
        with elsewhere or nullcontext():
            return compare(project, [], Selection(), policy, context, elsewhere=elsewhere)


def without_times(report: Report) -> list[Any]:
    return [replace(result, seconds=0.0, line=None) for result in report.results]


BETWEEN = [0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7]


@pytest.mark.parametrize("between", BETWEEN if os.environ.get("BASELINEKIT_THOROUGH") else BETWEEN[::3])
def test_a_killed_worker_changes_nothing_at_whatever_moment(here: Console, between: float) -> None:
    """Three moments in each run: while workers start, read, judge, and begin again. Thirty in a thorough one,
    twelve of these in an ordinary one."""
    for n in range(36):
        text = SHELL.format(n=n, stored=n if n % 5 else "x", program=f"sleep 0.1; echo {n}", more="")
        write(here.folder, f"baselines/s{n:02}.yaml", text)
    alone = compared(here.folder, 1)
    before = {path: path.read_text() for path in (here.folder / "baselines").iterdir()}
    outcomes: list[Any] = []
    is_over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        while len(killed) < 3 and not is_over.wait(between):
            workers = [it.pid for it in multiprocessing.active_children() if it.pid and it.pid not in killed]
            if workers:
                killed.append(max(workers))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        there = compared(here.folder, 2, outcomes.append)
    finally:
        is_over.set()
        killer.join()
    assert killed
    assert without_times(there) == without_times(alone)
    assert Counter(outcomes) == {"passed": 28, "failed": 8}
    for path, text in before.items():
        counts = [int(re.search(r"failure_count: (\d+)", one)[1]) if "failure_c" in one else 0  # type: ignore[index]
                  for one in (text, path.read_text())]  # fmt: skip
        assert counts in ([0, 0], [1, 2])


def environ_of(here: Console) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(here.folder), "LANG": "C.UTF-8"}


def start(here: Console, *words: str) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-P", "-m", "baselinekit", "compare", "--allow-exec", "--processes", "2", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(argv, cwd=here.folder, env=environ_of(here), start_new_session=True, **pipes)  # type: ignore[call-overload, no-any-return]


SCRIPT = """\
import sys
print("begun", flush=True)
from baselinekit.cli.main import main
main([*sys.argv[1:]])
"""


@pytest.mark.parametrize("way", [["script.py"], ["-"]])
def test_a_script_that_calls_it_is_run_once(here: Console, way: list[str]) -> None:
    """Also one without `if __name__ == "__main__"`, and one that stands in no file."""
    echoes(here, 8)
    write(here.folder, "script.py", SCRIPT)
    ran = subprocess.run(
        [sys.executable, "-P", *way, "compare", "--no-record", "--processes", "2"],
        cwd=here.folder,
        env=environ_of(here),
        input=SCRIPT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert (ran.stdout.count("begun"), ran.stderr.count("Traceback")) == (1, 0)
    assert re.search(r"^2 failed, 6 passed", ran.stdout, re.MULTILINE), ran.stdout + ran.stderr


def below(pid: int) -> set[int]:
    """Those that were started by a process, and by these."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = {pid}
    while more := {child for child, parent in parents if parent in found} - found:
        found |= more
    return found - {pid}


def are_running(pids: set[int]) -> set[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listed.stdout.splitlines()]
    return {int(pid) for pid, state in lines if int(pid) in pids and not state.startswith("Z")}


def until(happens: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := happens()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def sleepers(here: Console, quick: int) -> None:
    """The first ones are judged at once, and say so in a file; the others take a minute."""
    for n in range(quick + 8):
        program = "echo done >> ../done; echo s" if n < quick else "echo begun >> ../begun; sleep 60"
        text = SHELL.format(n=f"{n:02}", stored="s", program=program, more="")
        text = text.replace("type: command", "type: command, timeout: 90")
        write(here.folder, f"baselines/s{n:02}.yaml", text)


def lines(here: Console, name: str) -> int:
    return sum(len(file.read_text().splitlines()) for file in here.folder.rglob(name))


def test_an_interrupted_run_ends_soon_and_says_so(here: Console) -> None:
    sleepers(here, 4)
    running = start(here, "--json", "-j", "4")
    until(lambda: lines(here, "begun") >= 4)
    workers = below(running.pid)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: everybody gets it
    told = time.monotonic()
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert time.monotonic() - told < 15
    report = json.loads(out)
    assert report["run"]["interrupted"]
    assert Counter(one["outcome"] for one in report["results"])["passed"] == 4
    assert b"Traceback" not in err
    until(lambda: not are_running(workers))


PROMPT = """\
id: p{n}
baseline: {{output: The number is {n}.}}
current: {{input: {{text: "Summarise:\\n\\nThe number is {n}."}}, execution: {{type: prompt}}}}
"""
MODEL = """\
models: {{default: {{openai: demo, base_url: "{url}", prices: {{input: 1, output: 2}}{more}}}}}
"""


def prompts(here: Console, model: CountedModel, count: int, more: str = "") -> None:
    write(here.folder, "baselinekit.yaml", MODEL.format(url=model.url, more=more))
    for n in range(count):
        write(here.folder, f"baselines/p{n:02}.yaml", PROMPT.format(n=n))


def test_limits_hold_over_all_processes_and_are_used_up(here: Console) -> None:
    with CountedModel() as model:
        prompts(here, model, 24)
        for words, asked in (("--max-calls 7", 7), ("--max-calls 1", 1), ("", 24)):
            model.asked.clear()
            found = report(here, f"--no-record --processes 2 {words}", 0 if asked == 24 else 3)
            outcomes = Counter(one["outcome"] for one in found["results"])
            assert outcomes == Counter(passed=asked, skipped=24 - asked) - Counter()
            assert len(model.asked) == found["run"]["spent"]["calls"] == asked
            told = {one["reason"].partition(": raise")[0] for one in found["results"] if one["reason"]}
            assert all(f"{asked} of {asked} calls are used" in one for one in told)


def test_answers_are_kept_by_the_caller_and_a_run_goes_on(here: Console) -> None:
    with CountedModel() as model:
        prompts(here, model, 10)
        alone = report(here, "--no-record --record-calls one", 0)
        there = report(here, "--no-record --record-calls two --processes 2", 0)
        assert there == alone
        assert tapes(here, "two") == tapes(here, "one")
        model.asked.clear()
        report(here, "--no-record --processes 2 --max-calls 4", 3)
        report(here, "--no-record --processes 2 --resume", 0)
        assert len(model.asked) == 10, "what the first has asked is not asked again"
        model.asked.clear()
        run(here, "compare -q --no-record --processes 2 --offline two", 0)
        assert model.asked == []


def tapes(here: Console, folder: str) -> dict[str, Any]:
    found = {}
    for file in (here.folder / folder).rglob("*.json"):
        record = json.loads(file.read_text())
        del record["answer"]["seconds"]
        found[file.name] = record
    return found


@pytest.mark.parametrize(("words", "most"), [("--maxfail 3 -j 2", 4)])
def test_a_run_that_stops_at_failures_stops_in_all_processes(here: Console, words: str, most: int) -> None:
    for n in range(60):
        write(here.folder, f"baselines/e{n:02}.yaml", ECHO.format(n=n, stored=-1, token="{{token}}", tag=0))
    found = report(here, f"--no-record --processes 2 -j 2 {words}", 1)
    outcomes = Counter(one["outcome"] for one in found["results"])
    assert 1 <= outcomes["failed"] <= most
    assert outcomes["skipped"] == 60 - outcomes["failed"]
    assert not found["results"][-1]["reason"].startswith("interrupted")
