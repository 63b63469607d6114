"""Runs over time and over machines, as a user has them: real commands, a real service, real git."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from storehelp import write

pytestmark = pytest.mark.slow


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Console]:
    """Some baselines of the demo service, in files of their own."""
    with console(tmp_path / "project", "demo") as terminal:
        folder = terminal.folder / "baselines"
        folder.mkdir()
        (terminal.folder / "baselinekit.yaml").write_text(f"base_url: {terminal.service.url}\n")
        for number in range(9):
            write_baseline(folder / f"{'ab'[number % 2]}{number}.yaml", f"case-{number}", "/health", 200)
        yield terminal


def write_baseline(file: Path, id: str, endpoint: str, status: int) -> None:
    file.write_text(
        f"id: {id}\nbaseline: {{output: {{status: {status}}}}}\n"
        f"current: {{input: {{method: GET, endpoint: {endpoint}}}, execution: {{type: http}}}}\n"
    )


def test_report_shows_when_a_baseline_broke_and_imports_results_once(project: Console) -> None:
    git = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false"
    assert project.run(f"git init -q . && git add -A && {git} commit -qm one").exit_code == 0
    project.run("baselinekit compare -q")
    write_baseline(project.folder / "baselines/b3.yaml", "case-3", "/health", 404)
    assert project.run(f"{git} commit -qam two").exit_code == 0
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project.folder, capture_output=True, text=True, check=True
    ).stdout.strip()
    for _ in range(2):
        assert project.run("baselinekit compare -q").exit_code == 1
    listed = project.run("baselinekit report")
    assert listed.exit_code == 0
    assert re.search(
        r"^  case-3 +\.FF +33 % +1 +\{seconds\}s +\{seconds\}s +\{now\} at " + commit[:12],
        listed.stdout,
        re.M,
    )
    assert "8 baselines always passed" in listed.stdout
    shown = project.run("baselinekit report --id case-3 --json > one.json && cat one.json")
    assert shown.exit_code == 0
    case = json.loads((project.folder / "one.json").read_text())["baselines"][0]
    assert (case["runs"], case["passed"], case["failed"], case["flips"]) == (3, 1, 2, 1)
    assert case["last_regression"]["commit"] == commit
    assert project.run("baselinekit report -o h.html").stdout == "wrote h.html\n"
    assert "case-3" in (project.folder / "h.html").read_text()
    project.run("baselinekit compare -q --no-record -o ci.json; rm -r .baselinekit/results")
    assert project.run("baselinekit report").exit_code == 5
    for _ in range(2):
        assert project.run("baselinekit report --import ci.json").exit_code == 0
    assert project.run("baselinekit report").stdout.startswith("1 run  ")
    (project.folder / "ci.json").write_text("{}")
    assert "BK130 ci.json:1:1: it is not" in project.run("baselinekit report --import ci.json").stderr


def test_doctor_finds_unused_files_and_prunes_them_on_request(project: Console) -> None:
    folder = project.folder
    prompt = "current: {input: {prompt: gone.md}, execution: {type: prompt, model: m}}\n"
    skill = "current: {input: {}, execution: {type: skill, skill_name: nobody}}\n"
    http = "current: {input: {method: GET, endpoint: /health}, execution: {type: http}}\n"
    files = {
        "baselinekit.yaml": f"base_url: {project.service.url}\nmodels: {{m: {{command: [cat]}}}}\n",
        "baselines/skill.yaml": "id: skill\nbaseline: {output: {text: x}}\n" + skill,
        "baselines/prompt.yaml": "id: prompt\nbaseline: {output: x}\n" + prompt,
        "baselines/own.yaml": "id: own\nbaseline: {output_file: own.output.json}\n" + http,
        "baselines/own.output.json": '{"status": 200}',
        "baselines/old.output.json": "{}",
        ".baselinekit/pending/ghost.json": "{}",
    }
    for name, text in files.items():
        write(folder, name, text)
    unused = project.run("baselinekit doctor --fail-on-unused")
    assert unused.exit_code == 2, "what is gone stops a compare"
    kinds = ("source gone", "output file without a baseline", "pending without a baseline")
    listed = [kind for line in unused.stdout.splitlines() if (kind := line.split(":")[0]) in kinds]
    assert listed == [*kinds[1:]], "a baseline whose source is gone is a problem already"
    pruned = project.run("baselinekit doctor --prune")
    listed = [line.split(":")[0] for line in pruned.stdout.splitlines()]
    assert listed == ["source gone", *kinds]
    assert pruned.exit_code == 2
    assert "there is no terminal to ask in: add --yes" in pruned.stderr
    assert (folder / "baselines/old.output.json").exists()
    assert project.run("baselinekit doctor --prune --yes").exit_code == 0
    assert not (folder / "baselines/skill.yaml").exists()
    assert (folder / "baselines/own.output.json").exists()
    assert project.run("baselinekit doctor --fail-on-unused").stdout == "10 baselines are in order\n"


def test_doctor_from_results_reports_a_baseline_that_every_run_skips_as_never_run(project: Console) -> None:
    file = project.folder / "baselines/b3.yaml"
    file.write_text(file.read_text() + "metadata: {skip: broken since May}\n")
    for n in (1, 2):
        project.run(f"baselinekit compare --shard {n}/2 -o {n}.json --no-record")
    both = project.run("baselinekit doctor --from 1.json --from 2.json").stdout
    assert "never run: case-3   baselines/b3.yaml   every run skips it: broken since May" in both
    file.write_text(file.read_text().replace("metadata: {skip: broken since May}\n", ""))
    project.run("baselinekit compare -q -o 3.json --no-record")
    assert (
        "never run" not in project.run("baselinekit doctor --from 1.json --from 2.json --from 3.json").stdout
    )


def wait_for(text: str, file: Path, seconds: float = 20) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        output = file.read_text()
        if text in output:
            return output
        time.sleep(0.05)
    raise AssertionError(f"{text!r} never came: {file.read_text()}")


def test_watch_runs_changed_baselines_and_not_its_own_records(project: Console) -> None:
    output = project.folder.parent / "output.txt"
    environment = {key: value for key, value in os.environ.items() if key != "CI"}
    with output.open("w") as stream:
        watch = subprocess.Popen(
            [sys.executable, "-m", "baselinekit", "compare", "-w"],
            cwd=project.folder,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=environment,
        )
    try:
        wait_for("watching 9 baselines", output)
        time.sleep(1)
        assert output.read_text().count(" in ") == 1  # its own last_passed is no change
        write_baseline(project.folder / "baselines/b3.yaml", "case-3", "/health", 404)
        wait_for("-- changed: case-3", output)
        wait_for("1 failed in", output)
        write_baseline(project.folder / "baselines/new.yaml", "new", "/health", 200)
        wait_for("1 failed, 1 passed in", output)
        (project.folder / "baselines/b3.yaml").write_text("id: [")
        wait_for("BK101 baselines/b3.yaml:1:", output)
        write_baseline(project.folder / "baselines/b3.yaml", "case-3", "/health", 200)
        changed = wait_for("-- changed: case-3\n1 passed in", output)
        assert changed.count("watching 10 baselines") >= 2
    finally:
        watch.send_signal(signal.SIGINT)
        code = watch.wait(20)
    assert code == 0
    for words in ("compare --watch --json", "compare --watch"):
        ran = project.run(f"CI=1 baselinekit {words}")
        assert (ran.exit_code, "BK508" in ran.stderr) == (2, True)
    assert "Traceback" not in output.read_text()
