"""A timeout, Ctrl-C and SIGTERM end all that a program started in its process group."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from baselinekit.sandbox.sandbox import bubblewrap_here

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descendants are found in /proc")
SKILLS = """\
import os, time
def sleep(asked):
    for _ in range(2):  # a child and a grandchild
        os.fork()
    time.sleep(600)
def write(asked):
    return "```python\\nimport time\\ndef f(n):\\n    time.sleep(600)\\n```"
"""
CALLS = {
    "method": "function_output",
    "function_name": "f",
    "timeout_per_case": 500,
    "test_cases": [{"args": [1], "expected": 1}],
}
CONFIG = {"skills": {"sleep": {"python": "skills:sleep"}, "write": {"python": "skills:write"}}}
MEMBERS = {"a skill": 4, "a sandbox": 3, "no sandbox": 2}
Start = Callable[..., "subprocess.Popen[bytes]"]


def case_of(how: str, **options: float) -> dict[str, object]:
    case = {"id": "a", "input": {"type": "skill", "content": {}}}
    if how == "a skill":
        execution = {"type": "skill", "skill_name": "sleep", **options}
        return {**case, "execution": execution, "expected": {"type": "exact", "value": 1}}
    execution = {"type": "skill", "skill_name": "write"}
    return {**case, "execution": execution, "grader": {"type": "code", "config": CALLS}}


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
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
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor]
    return found[1:]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def begin(case: object, path: str = os.environ["PATH"]) -> "subprocess.Popen[bytes]":
        (tmp_path / "evals").mkdir()
        (tmp_path / "skills.py").write_text(SKILLS)
        (tmp_path / "baselinekit.yaml").write_text(json.dumps(CONFIG))
        (tmp_path / "evals" / "a.yaml").write_text(json.dumps([case]))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "baselinekit", "run", "--allow-exec", "evals"],
            cwd=tmp_path,
            env={"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("how", MEMBERS)
def test_f28_an_interrupt_ends_the_whole_group(start: Start, how: str, number: signal.Signals) -> None:
    if how == "a sandbox" and bubblewrap_here() is None:
        pytest.skip("there is no bubblewrap here")
    process = start(case_of(how), **({"path": "/nowhere"} if how == "no sandbox" else {}))
    until(lambda: process.poll() is not None or len(below(process.pid)) >= MEMBERS[how])
    assert process.poll() is None, process.communicate()
    family = below(process.pid)
    process.send_signal(number)
    process.communicate(timeout=60)
    until(lambda: not any(map(is_alive, family)))


def test_f28_a_timeout_ends_the_whole_group(start: Start) -> None:
    process = start(case_of("a skill", timeout=8))
    family: set[int] = set()
    while process.poll() is None:
        family.update(below(process.pid))
        time.sleep(0.02)
    assert b"BK321" in process.communicate()[0]
    assert len(family) >= MEMBERS["a skill"]
    until(lambda: not any(map(is_alive, family)))
