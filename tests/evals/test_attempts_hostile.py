"""What an eval runs is bounded as what a comparison runs: by the real command."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SKILLS = """\
import os, time
def sleeps(asked):
    os.fork()
    open("PIDS", "a").write(f"{os.getpid()}\\n")
    time.sleep(600)
def floods(asked):
    os.write(1, b"y" * 20_000_000)
    return "y" * 20_000_000
def tells(asked):
    return sorted(os.environ)
def writes(asked):
    return "def f(n): return n + 1"
"""


def run(folder: Path, ids: list[str], *words: str, path: str) -> "subprocess.CompletedProcess[str]":
    calls = {"method": "function_output", "function_name": "f", "test_cases": [{"args": [1], "expected": 2}]}
    cases: list[dict[str, Any]] = []
    for id in ids:
        timeout = 2 if id == "sleeps" else 60
        execution = {"type": "skill", "skill_name": id, "timeout": timeout}
        cases.append({"id": id, "input": {"type": "skill", "content": {}}, "execution": execution})
        is_code = id == "writes"
        expected = (
            {"grader": {"type": "code", "config": calls}} if is_code else {"expected": {"value": ["PATH"]}}
        )
        cases[-1] |= expected
    (folder / "evals").mkdir()
    (folder / "skills.py").write_text(SKILLS.replace("PIDS", str(folder / "pids")))
    skills = {id: {"python": f"skills:{id}", "env": ["NAMED"]} for id in ids}
    (folder / "baselinekit.yaml").write_text(json.dumps({"skills": skills}))
    (folder / "evals" / "a.yaml").write_text(json.dumps(cases))
    secret = {"NAMED": "yes", "OPENAI_API_KEY": "k"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "baselinekit", "run", "evals", *words],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "PYTHONPATH": str(ROOT), **secret},
        capture_output=True,
        text=True,
        check=False,
    )


def test_f28_f29_f40_skills_of_evals_are_ended_bounded_and_get_no_secrets(tmp_path: Path) -> None:
    ran = run(tmp_path, ["sleeps", "floods", "tells"], "--json", path=os.environ["PATH"])
    found = {one["id"]: one for one in json.loads(ran.stdout)["results"]}
    assert (found["sleeps"]["outcome"], found["sleeps"]["code"]) == ("error", "BK321"), ran.stderr
    assert (found["floods"]["outcome"], found["floods"]["code"]) == ("error", "BK322")
    assert (found["tells"]["outcome"], "NAMED" in json.dumps(found["tells"])) == ("failed", True)
    assert "OPENAI_API_KEY" not in ran.stdout
    pids, limit = (tmp_path / "pids").read_text().split(), time.monotonic() + 30
    assert len(pids) == 2
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids):
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [([], 4, "BK406 evals/a.yaml:1:"), (["--allow-exec"], 0, "ran outside a sandbox and could reach: ")],
)
def test_f39_without_a_sandbox_generated_code_is_refused_or_reported(
    tmp_path: Path, words: list[str], exit_code: int, message: str
) -> None:
    ran = run(tmp_path, ["writes"], *words, path="/nowhere")
    assert (ran.returncode, message in ran.stdout + ran.stderr) == (exit_code, True), ran
    assert "Traceback" not in ran.stdout + ran.stderr
