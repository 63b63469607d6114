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
ENVIRONMENT = {"NAMED": "yes", "OPENAI_API_KEY": "k"}
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


def cases() -> list[dict[str, Any]]:
    names = ("sleeps", "floods", "tells")
    found: list[dict[str, Any]] = [
        {"id": name, "expected": {"type": "exact", "value": ["PATH"]}} for name in names
    ]
    calls = {"method": "function_output", "function_name": "f", "test_cases": [{"args": [1], "expected": 2}]}
    found.append({"id": "writes", "grader": {"type": "code", "config": calls}})
    for one in found:
        one["input"] = {"type": "skill", "content": {}}
        one["execution"] = {
            "type": "skill",
            "skill_name": one["id"],
            "timeout": 2 if one["id"] == "sleeps" else 60,
        }
    return found


def lay(folder: Path, *ids: str) -> None:
    (folder / "evals").mkdir()
    (folder / "skills.py").write_text(SKILLS.replace("PIDS", str(folder / "pids")))
    skills = {one["id"]: {"python": f"skills:{one['id']}", "env": ["NAMED"]} for one in cases()}
    (folder / "baselinekit.yaml").write_text(json.dumps({"skills": skills}))
    (folder / "evals" / "a.yaml").write_text(json.dumps([one for one in cases() if one["id"] in ids]))


def run(folder: Path, *words: str, path: str = os.environ["PATH"]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-P", "-m", "baselinekit", "run", "evals", *words],
        cwd=folder,
        env={
            "PATH": path,
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "NAMED": "yes",
            "OPENAI_API_KEY": "k",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_f28_f29_f40_skills_of_evals_are_ended_bounded_and_told_no_secrets(tmp_path: Path) -> None:
    lay(tmp_path, "sleeps", "floods", "tells")
    ran = run(tmp_path, "--json")
    found = {one["id"]: one for one in json.loads(ran.stdout)["results"]}
    assert (found["sleeps"]["outcome"], found["sleeps"]["code"]) == ("error", "BK321"), ran.stderr
    assert (found["floods"]["outcome"], found["floods"]["code"]) == ("error", "BK322")
    assert found["tells"]["outcome"] == "failed"
    assert "NAMED" in json.dumps(found["tells"])
    assert "OPENAI_API_KEY" not in ran.stdout
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    regex_budget = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids):
        assert time.monotonic() < regex_budget
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        ([], 4, "BK406 evals/a.yaml:1:"),
        (["--allow-exec"], 0, "ran outside a sandbox and could reach: "),
    ],
)
def test_f39_where_there_is_no_sandbox_generated_code_is_refused_or_told(
    tmp_path: Path, words: list[str], exit_code: int, said: str
) -> None:
    lay(tmp_path, "writes")
    ran = run(tmp_path, *words, path="/nowhere")
    assert (ran.returncode, said in ran.stdout + ran.stderr) == (exit_code, True), ran
    assert "Traceback" not in ran.stdout + ran.stderr
