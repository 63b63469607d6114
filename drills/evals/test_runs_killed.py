"""Runs of evals in threads and processes, killed or interrupted: the same report, and no finished attempt is
made twice."""

import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from commandline import finish, start, timeless, until, workers_of
from console import console
from storehelp import write

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
CONFIG = """\
models: {default: {python: "models:answer", concurrency: 8}}
skills: {work: {python: "models:work"}}
"""
MODELS = """\
import os, time
def answer(input):
    return f"the total of {input}"
def work(input):
    with open(os.path.join(os.path.dirname(__file__), "log"), "a") as file:
        file.write(f"{os.getppid()}:{input}\\n")
    time.sleep(0.02)
    while os.path.exists(os.path.join(os.path.dirname(__file__), "hold")):
        time.sleep(0.01)
    return "wrong" if str(input).endswith("3") else "right"
"""
PROMPT = """\
- id: p{n}
  input: {{type: prompt, content: "say {n}"}}
  expected: {{type: exact, value: "the total of say {expected}"}}
"""
WORK = """\
- id: w{n}
  input: {{type: skill, content: "{n}"}}
  execution: {{type: skill, skill_name: work}}
  expected: {{type: exact, value: right}}
  metadata: {{parallel: {parallel}}}
"""
PEOPLE = """\
- id: people
  input: {type: prompt, content: "say something kind"}
  grader: {type: human, config: {rubric: "is it kind?"}}
"""
KNOWN = """\
id: known
baseline: {output: right}
current: {input: known-3, execution: {type: skill, skill_name: work}}
metadata: {failure_count: 0}
"""
SUITE = """\
eval_suite:
  name: s
  config: {max_workers: 4, retry_failed: true, retry_count: 1}
  evals: [{$ref: cases.yaml}, {$ref: known.yaml}]
"""
RUN = ("run", "--suite", "evals/suite.yaml", "-o", "out.json")
Process = subprocess.Popen[bytes]


def lay(folder: Path, prompts: int = 2, works: int = 30) -> Path:
    cases = [PROMPT.format(n=n, expected=n if n != 5 else "otherwise") for n in range(prompts)]
    cases += [WORK.format(n=n, parallel="false" if n == 2 else "true") for n in range(works)]
    files = {"baselinekit.yaml": CONFIG, "models.py": MODELS, "evals/cases.yaml": "".join([*cases, PEOPLE])}
    for name, text in (files | {"evals/known.yaml": KNOWN, "evals/suite.yaml": SUITE}).items():
        write(folder, name, text)
    return folder


def calls(folder: Path, parent: Process | None = None) -> Counter[str]:
    """How often each input was worked on, by a run or by all."""
    text = (folder / "log").read_text() if (folder / "log").exists() else ""
    words = (line.split(":") for line in text.split())
    return Counter(name for pid, name in words if parent is None or int(pid) == parent.pid)


def journal(folder: Path) -> Counter[str]:
    """The finished attempts of each case."""
    files = list((folder / ".baselinekit/journal").glob("*.jsonl"))
    lines = files[0].read_bytes().splitlines(keepends=True) if files else []
    return Counter(json.loads(line)["id"] for line in lines if line.endswith(b"\n"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The results of a run that is left alone."""
    folder = lay(tmp_path_factory.mktemp("whole") / "p")
    finish(start(folder, *RUN), 1)
    assert not list((folder / ".baselinekit/journal").glob("*")), "nothing to go on with"
    assert "failure_count: 1" in (folder / "evals/known.yaml").read_text()
    return timeless(folder / "out.json")["results"]


def test_run_in_processes_writes_what_threads_write(tmp_path: Path) -> None:
    found = []
    for processes in (1, 3):
        with console(tmp_path / f"of-{processes}") as terminal:
            folder = lay(terminal.folder, 8, 8)
            command = f"baselinekit run --suite evals/suite.yaml --processes {processes}"
            words = f"{command} --record --record-calls calls --save-answers answers.jsonl -o out.json"
            assert terminal.run(words).exit_code == 1
            lines = map(json.loads, (folder / "answers.jsonl").read_text().splitlines())
            answers = sorted(str({**line, "duration_ms": 0, "attempt": 0}) for line in lines)
            recorded = {
                file.name: json.loads(file.read_text())["answer"]["text"]
                for file in (folder / "calls").rglob("*.json")
            }
            assert recorded
            known = (folder / "evals/known.yaml").read_text().split("metadata")[1]
            pending = sorted(path.name for path in (folder / ".baselinekit/pending").iterdir())
            found.append((timeless(folder / "out.json"), answers, recorded, known, pending))
            assert terminal.run(f"{command} --offline calls --id 'p*'").exit_code == 1
    assert found[1] == found[0]


@pytest.mark.parametrize("after", range(1, 31) if THOROUGH else (7,))
def test_run_with_a_killed_worker_counts_each_attempt_once(tmp_path: Path, whole: Any, after: int) -> None:
    folder = lay(tmp_path / "p")
    process = start(folder, *RUN, "--processes", "2")
    until(lambda: calls(folder).total() >= after or process.poll() is not None)
    os.kill(workers_of(process)[after % 2], signal.SIGKILL)
    finish(process, 1)
    assert timeless(folder / "out.json")["results"] == whole
    assert "failure_count: 1" in (folder / "evals/known.yaml").read_text()


def test_run_resume_after_ctrl_c_makes_only_the_rest(tmp_path: Path, whole: Any) -> None:
    folder = lay(tmp_path / "p")
    process = start(folder, *RUN, "--processes", "2")
    until(lambda: calls(folder).total() >= 12 or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    finish(process, 130)
    stopped = timeless(folder / "out.json")
    assert stopped["run"]["interrupted"]
    passed = {result["id"] for result in stopped["results"] if result["outcome"] == "passed"}
    before = calls(folder)
    finish(start(folder, *RUN, "--processes", "2", "--resume"), 1)
    assert timeless(folder / "out.json")["results"] == whole
    now = calls(folder)
    assert [id for id in passed if id.startswith("w") and now[id[1:]] != before[id[1:]]] == []


def killed(folder: Path, attempts: int) -> Counter[str]:
    """The finished attempts of a run that is killed once it has this number of them."""
    process = start(folder, *RUN)
    until(lambda: journal(folder).total() >= attempts or process.poll() is not None)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return journal(folder)


@pytest.mark.parametrize("after", range(1, 32, 2) if THOROUGH else (1, 27))
def test_run_resume_after_kill_9_gives_the_same_report(tmp_path: Path, whole: Any, after: int) -> None:
    folder = lay(tmp_path / "p")
    finished = killed(folder, after)
    assert finished.total() >= after
    resumed = start(folder, *RUN, "--resume")
    finish(resumed, 1)
    assert timeless(folder / "out.json")["results"] == whole
    again = calls(folder, resumed)
    assert again, "it asked for what was left"
    for n in range(30):
        assert again[f"{n}"] == (2 if f"{n}".endswith("3") else 1) - finished[f"w{n}"], n
    assert again["known-3"] == 2 - finished["known"]


def test_run_resume_beside_a_running_one_is_refused(tmp_path: Path) -> None:
    folder = lay(tmp_path / "p")
    (folder / "hold").touch()
    first = start(folder, *RUN)
    until(lambda: calls(folder) or first.poll() is not None)
    assert "BK121" in finish(start(folder, *RUN, "--resume"), 3)[1]
    (folder / "hold").unlink()
    finish(first, 1)
