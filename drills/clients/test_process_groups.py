"""Ctrl-C and SIGTERM end all that a program started in its process group."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from commandline import descendants, is_alive, start, until

from baselinekit.sandbox.sandbox import bubblewrap_here

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc names parents")
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
PROCESSES = {"a skill": 4, "a sandbox": 3, "no sandbox": 2}


@pytest.mark.parametrize(
    ("how", "number"),
    [
        ("a skill", signal.SIGINT),
        ("a skill", signal.SIGTERM),
        ("a sandbox", signal.SIGINT),
        ("no sandbox", signal.SIGTERM),
    ],
)
def test_f28_an_interrupt_ends_the_whole_group(tmp_path: Path, how: str, number: signal.Signals) -> None:
    if how == "a sandbox" and bubblewrap_here() is None:
        pytest.skip("bubblewrap is not installed")
    name = "sleep" if how == "a skill" else "write"
    grader = {} if how == "a skill" else {"grader": {"type": "code", "config": CALLS}}
    execution = {"type": "skill", "skill_name": name}
    case = {"id": "a", "input": {"type": "skill", "content": {}}, "execution": execution, **grader}
    case |= {"expected": {"type": "exact", "value": 1}} if how == "a skill" else {}
    (tmp_path / "evals").mkdir()
    (tmp_path / "skills.py").write_text(SKILLS)
    (tmp_path / "baselinekit.yaml").write_text(json.dumps(CONFIG))
    (tmp_path / "evals/a.yaml").write_text(json.dumps([case]))
    path = "/nowhere" if how == "no sandbox" else os.environ["PATH"]
    process = start(tmp_path, "run", "--allow-exec", "evals", PATH=path)
    try:
        until(lambda: process.poll() is not None or len(descendants(process.pid)) >= PROCESSES[how])
        assert process.poll() is None, process.communicate()
        family = descendants(process.pid)
        process.send_signal(number)
        process.communicate(timeout=60)
        until(lambda: not any(map(is_alive, family)))
    finally:
        process.kill()
        process.wait()
