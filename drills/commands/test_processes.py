"""A compare in several processes reports what one in threads reports, whoever of them is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commandline import descendants, finish, is_alive, run, start, timeless, until, workers_of
from console import ROOT, Console, console
from little_api import CountedModel
from storehelp import write

ECHO = """\
id: e{n}
baseline: {{output: [{stored}, "this-is-a-secret"]}}
current: {{input: [{n}, "{{{{token}}}}"], execution: {{type: echo}}}}
metadata: {{tags: [t{tag}]}}
"""
SHELL = """\
id: s{n}
baseline: {{output: {{exit_code: 0, stdout: "{stored}\\n"}}}}
current: {{input: {{argv: [sh, -c, "{program}"]}}, execution: {{type: command, timeout: 90{more}}}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write(
            terminal.folder,
            "baselinekit.yaml",
            "variables: {token: {value: this-is-a-secret, secret: true}}\n",
        )
        yield terminal


def echoes(project: Console, count: int, every: int = 7) -> None:
    """Baselines of which some fail: every seventh."""
    for n in range(count):
        text = ECHO.format(n=n, stored=n if n % every else -1, tag=n % 3)
        write(project.folder, f"baselines/e{n:03}.yaml", text)


def shell(project: Console, n: str, program: str, stored: str, more: str = "") -> Path:
    text = SHELL.format(n=n, stored=stored, program=program, more=more)
    return project.folder / write(project.folder, f"baselines/s{n}.yaml", text)


def report(project: Console, words: str, exit_code: int) -> Any:
    run(project, f"compare --no-record {words} -o out.json", exit_code)
    return timeless(project.folder / "out.json")


def outcomes(report: Any) -> Counter[str]:
    return Counter(result["outcome"] for result in report["results"])


def test_compare_in_processes_reports_what_threads_report(project: Console) -> None:
    echoes(project, 30)
    programs = {"a": "echo a", "b": "exit 3", "c": "echo x", "missing": "no-such-x"}
    for n, program in programs.items():
        shell(project, n, program, n)
    shell(project, "w", "echo w", "w", ", serial: true")
    write(project.folder, "baselines/none.yaml", "id: none\ncurrent: {input: 1, execution: {type: echo}}\n")
    run(project, "compare -q --allow-exec", 1)
    for words in ("", "-k 'e1 and not t0'", "--ff", "--shard 2/3"):
        alone = report(project, f"--allow-exec {words}", 1)
        assert report(project, f"--allow-exec {words} --processes 3 -j 3", 1) == alone


def test_compare_whose_program_kills_its_worker_is_an_error_of_one_baseline(project: Console) -> None:
    echoes(project, 12)
    shell(project, "a", "echo a", "a")
    shell(project, "deadly", "kill -9 $PPID", "a")
    found = {result["id"]: result for result in report(project, "--allow-exec --processes 2", 1)["results"]}
    assert (found["sdeadly"]["outcome"], found["sdeadly"]["code"]) == ("error", "BK362")
    assert "--id sdeadly" in found.pop("sdeadly")["reason"]
    assert {id for id, result in found.items() if result["outcome"] != "passed"} == {"e0", "e7"}


BETWEEN = [0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7]


@pytest.mark.parametrize("between", BETWEEN if os.environ.get("BASELINEKIT_THOROUGH") else BETWEEN[1::5])
def test_compare_with_killed_workers_counts_each_failure_once(project: Console, between: float) -> None:
    """Two are killed, while workers start, judge or begin again: a third loss would be an error."""
    stored = (f"{n}" if n % 5 else "x" for n in range(36))
    files = [shell(project, f"{n:02}", f"sleep 0.1; echo {n}", text) for n, text in enumerate(stored)]
    alone = report(project, "--allow-exec", 1)
    words = ("compare", "--allow-exec", "--record", "-j", "4", "--processes", "2", "-o", "there.json")
    process, killed = start(project.folder, *words), set[int]()
    while process.poll() is None and len(killed) < 2:
        time.sleep(between)
        for pid in sorted({*workers_of(process)} - killed)[-1:]:
            killed.add(pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    finish(process, 1)
    assert killed
    there = timeless(project.folder / "there.json")
    keys = ("id", "outcome", "differences")
    assert [[result.get(key) for key in keys] for result in there["results"]] == [
        [result.get(key) for key in keys] for result in alone["results"]
    ]
    assert Counter("failure_count: 1" in file.read_text() for file in files) == {False: 28, True: 8}


SCRIPT = """\
import sys
print("begun", flush=True)
from baselinekit.cli.main import main
main([*sys.argv[1:]])
"""


@pytest.mark.parametrize("way", ["script.py", "-"])
def test_script_that_calls_main_is_run_once(project: Console, way: str) -> None:
    """Also without `if __name__ == "__main__"`, and from standard input."""
    echoes(project, 8)
    write(project.folder, "script.py", SCRIPT)
    argv = [sys.executable, "-P", way, "compare", "--no-record", "--processes", "2"]
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        argv, cwd=project.folder, env=environ, input=SCRIPT, text=True, capture_output=True, check=False
    )
    assert (done.stdout.count("begun"), done.stderr.count("Traceback")) == (1, 0)
    assert re.search(r"^2 failed, 6 passed", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_compare_in_processes_ends_soon_after_ctrl_c(project: Console) -> None:
    begun = project.folder / "baselines/../begun"
    for n in range(12):
        shell(project, f"{n:02}", "echo s" if n < 4 else "echo begun >> ../begun; sleep 60", "s")
    words = ("compare", "--allow-exec", "--processes", "2", "--json", "-j", "4")
    process = start(project.folder, *words)
    until(lambda: begun.exists() and len(begun.read_text().splitlines()) >= 4)
    workers = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of them get it
    began = time.monotonic()
    found = json.loads(finish(process, 130)[0])
    assert time.monotonic() - began < 15
    assert (found["run"]["interrupted"], outcomes(found)["passed"]) == (True, 4)
    until(lambda: not any(map(is_alive, workers)))


PROMPT = """\
id: p{n}
baseline: {{output: The number is {n}.}}
current: {{input: {{text: "Summarise:\\n\\nThe number is {n}."}}, execution: {{type: prompt}}}}
"""
MODEL = 'models: {{default: {{openai: demo, base_url: "{url}", prices: {{input: 1, output: 2}}}}}}\n'


def prompts(project: Console, model: CountedModel, count: int) -> None:
    write(project.folder, "baselinekit.yaml", MODEL.format(url=model.url))
    for n in range(count):
        write(project.folder, f"baselines/p{n:02}.yaml", PROMPT.format(n=n))


def test_limits_hold_over_all_processes(project: Console) -> None:
    with CountedModel() as model:
        prompts(project, model, 24)
        for words, calls in (("--max-calls 7", 7), ("--max-calls 1", 1), ("", 24)):
            model.questions.clear()
            found = report(project, f"--processes 2 {words}", 0 if calls == 24 else 3)
            assert outcomes(found) == Counter(passed=calls, skipped=24 - calls) - Counter()
            assert len(model.questions) == found["run"]["spent"]["calls"] == calls
            reasons = {result["reason"] for result in found["results"] if result["reason"]}
            assert all(f"{calls} of {calls} calls are used" in reason for reason in reasons)


def test_answers_of_processes_are_recorded_and_resumed(project: Console) -> None:
    with CountedModel() as model:
        prompts(project, model, 10)
        alone = report(project, "--record-calls one", 0)
        assert report(project, "--record-calls two --processes 2", 0) == alone
        names = [{file.name for file in (project.folder / one).rglob("*.json")} for one in ("one", "two")]
        assert names[0] == names[1]
        model.questions.clear()
        report(project, "--processes 2 --max-calls 4", 3)
        report(project, "--processes 2 --resume", 0)
        assert len(model.questions) == 10, "what the first has asked is not asked again"
        run(project, "compare -q --no-record --processes 2 --offline two")
        assert len(model.questions) == 10
