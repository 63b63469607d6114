"""`run --processes`: what one says that is made in threads, whoever is killed, and whatever it may take."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from console import Console, console
from storehelp import write

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
CONFIG = """\
models:
  default: {python: "models:answer", concurrency: 8}
skills: {work: {python: "models:work"}}
"""
MODELS = """\
import os, time
def noted(who, text):
    with open(os.path.join(os.path.dirname(__file__), "asked"), "a") as file:
        file.write(f"{who} {text}\\n")
def answer(input):
    noted("model", input.split()[-1])
    return f"the total of {input}"
def work(input):
    noted("work", f"{os.getppid()}:{input}")
    time.sleep(0.02)
    return "wrong" if str(input).endswith("3") else "right"
"""
PROMPT = """\
- id: p{n}
  input: {{type: prompt, content: "say {n}"}}
  expected: {{type: exact, value: "the total of say {said}"}}
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
_OF_THE_RUN = {"seconds", "started", "id", "command", "captured_at"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        project(terminal.folder)
        yield terminal


def project(folder: Path, prompts: int = 8, works: int = 8) -> Path:
    folder.mkdir(exist_ok=True)
    write(folder, "baselinekit.yaml", CONFIG)
    write(folder, "models.py", MODELS)
    cases = [PROMPT.format(n=n, said=n if n != 5 else "otherwise") for n in range(prompts)]
    cases += [WORK.format(n=n, parallel="false" if n == 2 else "true") for n in range(works)]
    write(folder, "evals/cases.yaml", "".join([*cases, PEOPLE]))
    write(folder, "evals/known.yaml", KNOWN)
    write(folder, "evals/suite.yaml", SUITE)
    return folder


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit run --suite evals/suite.yaml {words}".strip())
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def read(file: Path) -> Any:
    """A result file without what tells one time from another."""
    found = json.loads(file.read_text())
    found["run"] = {name: value for name, value in found["run"].items() if name not in _OF_THE_RUN}
    for one in found["results"]:
        del one["observed"]["seconds"]
        for attempt in one["case"]["attempts"]:
            del attempt["seconds"]
    return found


def asked(folder: Path) -> Counter[str]:
    lines = (folder / "asked").read_text().splitlines()
    return Counter(line.split(":")[-1] for line in lines)


def test_the_report_is_that_of_threads_and_so_are_all_files(tmp_path: Path) -> None:
    found = []
    for processes in (1, 3):
        with console(tmp_path / f"of-{processes}") as here:
            project(here.folder)
            words = f"--processes {processes} --record --record-calls calls --save-answers answers.jsonl"
            run(here, f"{words} -o out.json", 1)
            answers = (here.folder / "answers.jsonl").read_text().splitlines()
            told = [{**json.loads(line), "duration_ms": 0, "attempt": 0} for line in answers]
            kept = {
                str(file.relative_to(here.folder)): json.loads(file.read_text())["answer"]["text"]
                for file in sorted((here.folder / "calls").rglob("*.json"))
            }
            known = (here.folder / "evals/known.yaml").read_text().split("metadata")[1]
            waiting = here.run("baselinekit grade --list").stdout.splitlines()[-1]
            pending = sorted(path.name for path in (here.folder / ".baselinekit/pending").iterdir())
            found.append(
                (read(here.folder / "out.json"), sorted(map(str, told)), kept, known, pending, waiting)
            )
            assert not list((here.folder / ".baselinekit/journal").iterdir()), "nothing to go on with"
            run(here, f"--processes {processes} --offline calls --id 'p*' -o again.json", 1)
    assert found[1] == found[0]
    assert found[0][2]


def start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-P", "-m", "baselinekit", "run", "--suite", "evals/suite.yaml", *words]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.Popen(
        argv, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


def lanes_of(process: "subprocess.Popen[bytes]") -> list[int]:
    """The processes in which a run works, which are those of its children that wait for work."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if parent == process.pid and b"spawn_main" in line:
                found.append(int(entry.name))
    return found


def begun(folder: Path) -> int:
    return len((folder / "asked").read_text().splitlines()) if (folder / "asked").exists() else 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = project(tmp_path_factory.mktemp("whole") / "p", prompts=2, works=30)
    process = start(folder, "-o", "out.json")
    process.communicate(timeout=60)
    return read(folder / "out.json")


@pytest.mark.parametrize("after", range(1, 31) if THOROUGH else (7,))
def test_a_worker_that_is_killed_takes_nothing_along(tmp_path: Path, whole: Any, after: int) -> None:
    """Its chunk is made again, and each attempt is counted once."""
    folder = project(tmp_path / "p", prompts=2, works=30)
    process = start(folder, "--processes", "2", "-o", "out.json")
    while begun(folder) < after:
        time.sleep(0.005)
        assert process.poll() is None, process.communicate()
    os.kill(lanes_of(process)[after % 2], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, (out + err).decode()
    assert read(folder / "out.json")["results"] == whole["results"]
    assert "failure_count: 1" in (folder / "evals/known.yaml").read_text()


def test_ctrl_c_keeps_what_is_finished_and_resume_does_the_rest(tmp_path: Path, whole: Any) -> None:
    folder = project(tmp_path / "p", prompts=2, works=30)
    process = start(folder, "--processes", "2", "-o", "out.json")
    while begun(folder) < 12:
        time.sleep(0.005)
        assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out + err).decode()
    told = read(folder / "out.json")
    assert told["run"]["interrupted"]
    made = {one["id"] for one in told["results"] if one["outcome"] in ("passed", "failed")}
    assert made
    before = asked(folder)
    again = start(folder, "--processes", "2", "--resume", "-o", "out.json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 1, (out + err).decode()
    assert read(folder / "out.json")["results"] == whole["results"]
    now = asked(folder)
    assert all(now[id[1:]] == before[id[1:]] for id in made if id.startswith("w") and not id.endswith("3"))
