"""kill -9 at any moment of a run, and --resume: the same report, and no finished attempt is made twice."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
CASES = 24 if THOROUGH else 10
AFTER = range(1, CASES, 2) if THOROUGH else (1, CASES - 3)
CONFIG = 'skills: {work: {python: "work:work"}}\n'
WORK = """\
import os, time
def work(input):
    with open("log", "a") as file:
        file.write(f"{os.getppid()}:{input['content']}\\n")
    time.sleep(0.02)
    while os.path.exists("hold"):
        time.sleep(0.01)
    return "wrong" if input["content"].endswith("3") else "right"
"""
SUITE = """\
eval_suite:
  name: killed
  config:
    max_workers: 2
    retry_failed: true
    retry_count: 1
    execution: {type: skill, skill_name: work}
  evals:
  - $ref: cases.yaml
  - $ref: known.yaml
  reporting: {format: [json], output_dir: out}
"""
REGRESSION = """\
id: known
baseline: {output: {n: 1, text: right}}
current: {input: {content: known-3}, execution: {type: skill, skill_name: work}}
metadata: {failure_count: 0}
"""


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "baselinekit.yaml").write_text(CONFIG)
    (folder / "work.py").write_text(WORK)
    (folder / "suite.yaml").write_text(SUITE)
    graded = {"expected": {"type": "exact", "value": "right"}}
    graded["grader"] = {"type": "code", "config": {"method": "exact_match"}}
    names = [f"c{number}" for number in range(CASES)]
    cases = [
        {"id": name, "input": {"type": "skill", "content": {"content": name}}, **graded} for name in names
    ]
    (folder / "cases.yaml").write_text(json.dumps(cases))
    (folder / "known.yaml").write_text(REGRESSION)
    return folder


def start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    words = ("run", "--suite", "suite.yaml", "-o", "result.json", *words)
    argv = [sys.executable, "-P", "-m", "baselinekit", *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.Popen(
        argv, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def finish(process: "subprocess.Popen[bytes]") -> None:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, (out + err).decode()


def report(folder: Path) -> Any:
    """The result file without what tells one time from another."""
    raw = json.loads((folder / "result.json").read_text())
    for key in ("id", "started", "seconds", "command"):
        del raw["run"][key]
    for one in raw["results"]:
        del one["observed"]["seconds"]
        for attempt in one["case"]["attempts"]:
            del attempt["seconds"]
    return raw


def calls(folder: Path, run: "subprocess.Popen[bytes]") -> Counter[str]:
    """What this run has asked: what a killed one has begun may still come to its end."""
    words = (line.split(":") for line in (folder / "log").read_text().split())
    return Counter(name for parent, name in words if int(parent) == run.pid)


def journalled(folder: Path) -> Counter[str]:
    files = list((folder / ".baselinekit" / "journal").glob("*.jsonl"))
    lines = files[0].read_bytes().splitlines(keepends=True) if files else []
    return Counter(json.loads(line)["id"] for line in lines if line.endswith(b"\n"))


def killed_after(folder: Path, attempts: int) -> Counter[str]:
    """Start a run, kill it once it has finished this number of attempts, and return those that it had."""
    started = start(folder)
    while sum(journalled(folder).values()) < attempts:
        time.sleep(0.005)
        assert started.poll() is None, started.communicate()
    os.killpg(started.pid, signal.SIGKILL)
    started.communicate()
    return journalled(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = project(tmp_path_factory.mktemp("whole") / "p")
    finish(start(folder))
    assert not list((folder / ".baselinekit" / "journal").glob("*")), "nothing is left to go on with"
    assert "failure_count: 1" in (folder / "known.yaml").read_text()
    return report(folder)


@pytest.mark.parametrize("after", AFTER)
def test_kill_9_and_resume_give_the_same_report(tmp_path: Path, whole: Any, after: int) -> None:
    folder = project(tmp_path / "p")
    known = killed_after(folder, after)
    assert sum(known.values()) >= after
    resumed = start(folder, "--resume")
    finish(resumed)
    assert report(folder) == whole
    again = calls(folder, resumed)
    assert again, "it asked for what was left"
    for id, attempts in known.items():
        done = 2 if id == "known" or id.endswith("3") else 1
        name = "known-3" if id == "known" else id
        assert again[name] == done - attempts, f"{id} was attempted again"
    assert "failure_count: 1" in (folder / "known.yaml").read_text()


def test_a_second_run_that_would_resume_is_kept_out(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    hold = folder / "hold"
    hold.touch()
    first = start(folder)
    while not (folder / "log").exists():
        time.sleep(0.005)
        assert first.poll() is None, first.communicate()
    second = start(folder, "--resume")
    _, err = second.communicate(timeout=60)
    assert (second.returncode, b"BK720" in err) == (3, True)
    hold.unlink()
    finish(first)


def test_another_suite_is_not_resumed(tmp_path: Path) -> None:
    folder = project(tmp_path / "p")
    killed_after(folder, 1)
    changed = (folder / "cases.yaml").read_text().replace('"c7"', '"c7b"')
    (folder / "cases.yaml").write_text(changed)
    resumed = start(folder, "--resume")
    finish(resumed)
    assert len(calls(folder, resumed)) == CASES + 1, "all of them are run"
