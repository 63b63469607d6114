"""kill -9 of the command itself: what it had started ends with it, children, grandchildren and daemons."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from baselinekit.clients.programs.process import Watchdog
from baselinekit.sandbox.sandbox import bubblewrap_here

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="who descends from whom is told by /proc")
FAMILY = """\
import os, sys, time
def note():
    with open(sys.argv[1], "a") as file:
        file.write(f"{os.getpid()}\\n")
if not os.fork():  # a child
    note(); time.sleep(600)
if not os.fork():  # one in a session of its own, under a name that misleads
    import ctypes
    ctypes.CDLL(None).prctl(15, b"a ) S 1 1\\nb", 0, 0, 0)
    os.setsid()
    if not os.fork():  # and its child
        note(); time.sleep(600)
    note(); time.sleep(600)
if not os.fork():
    os.setsid()
    if not os.fork():  # a daemon
        note(); time.sleep(600)
    os._exit(0)
note()
time.sleep(600)
"""
MEMBERS = 5
Start = Callable[..., "subprocess.Popen[bytes]"]
DRIVER = """\
import sys, threading, time
from baselinekit.model.recipes import ProcessSpec
from baselinekit.clients.programs.process import Processes

processes = Processes()
run = ProcessSpec((sys.executable, "-S", "-c", sys.argv[1], sys.argv[2]), env={}, timeout=600)
threading.Thread(target=processes.execute, args=(run,), daemon=True).start()
while not processes._orphans._reported:  # the daemon, which has come to us
    time.sleep(0.01)
print("told", flush=True)
time.sleep(600)
"""
SKILLS = """\
import time
def sleep(asked):
    time.sleep(600)
def write(asked):
    return "```python\\nimport time\\ndef f(n):\\n    time.sleep(600)\\n```"
"""
CASE = {"id": "a", "input": {"type": "skill", "content": {}}}
SLEEPS = {"execution": {"type": "skill", "skill_name": "sleep"}, "expected": {"type": "exact", "value": 1}}
CALLS = {
    "method": "function_output",
    "function_name": "f",
    "timeout_per_case": 500,
    "test_cases": [{"args": [1], "expected": 1}],
}
WRITES = {"execution": {"type": "skill", "skill_name": "write"}, "grader": {"type": "code", "config": CALLS}}
CONFIG = {"skills": {"sleep": {"python": "skills:sleep"}, "write": {"python": "skills:write"}}}


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def below(pid: int) -> list[int]:
    """Every descendant of a process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_bytes().rpartition(b")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def asleep(pid: int) -> bool:
    """Whether it is a skill, or what runs generated code and has begun with it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return b"skills:sleep" in words or (words[1:4] == [b"-I", b"-S", b"-B"] and below(pid) != [])


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(folder: Path, *words: str, path: str = os.environ["PATH"]) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-P", *words],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@LINUX
def test_f28_kill_9_ends_all_that_a_program_started(tmp_path: Path, start: Start) -> None:
    note = tmp_path / "note"
    process = start(tmp_path, "-c", DRIVER, FAMILY, str(note))
    assert process.stdout is not None
    assert process.stdout.readline() == b"told\n"
    until(lambda: len(note.read_text().splitlines()) == MEMBERS)
    family = {int(pid) for pid in note.read_text().split()}
    assert all(map(alive, family))
    process.kill()
    until(lambda: not any(map(alive, family)))


@LINUX
@pytest.mark.parametrize("how", ["a skill", "a sandbox", "no sandbox"])
def test_f28_kill_9_of_a_run_ends_its_skills_and_its_generated_code(
    tmp_path: Path, start: Start, how: str
) -> None:
    if how == "a sandbox" and bubblewrap_here() is None:
        pytest.skip("there is no bubblewrap here")
    (tmp_path / "evals").mkdir()
    (tmp_path / "skills.py").write_text(SKILLS)
    (tmp_path / "baselinekit.yaml").write_text(json.dumps(CONFIG))
    (tmp_path / "evals" / "a.yaml").write_text(json.dumps([CASE | (SLEEPS if how == "a skill" else WRITES)]))
    path = {"path": "/nowhere"} if how == "no sandbox" else {}
    process = start(tmp_path, "-m", "baselinekit", "run", "--allow-exec", "evals", **path)
    until(lambda: process.poll() is not None or any(map(asleep, below(process.pid))))
    assert process.poll() is None, process.communicate()
    family = below(process.pid)
    process.kill()
    until(lambda: not any(map(alive, family)))


@LINUX
def test_the_keeper_ends_by_itself_when_nothing_is_left() -> None:
    before = set(below(os.getpid()))
    watchdog = Watchdog()
    (pid,) = set(below(os.getpid())) - before
    watchdog.keep(2**22 + 1)
    watchdog.forget(2**22 + 1)
    assert watchdog._pipe is not None
    os.close(watchdog._pipe)
    assert os.waitpid(pid, 0)[1] == 0
