"""Runs of pytest under pytest-xdist, and runs that are killed: files are whole, what is unused is known."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from commandline import descendants

from baselinekit.store.reading import load

TESTS = """\
import pytest

@pytest.mark.parametrize("n", range(8))
def test_many(baseline, n):
    assert {"n": n} == baseline

def test_two(baseline):
    assert 1 == baseline
    assert [2] == baseline("second")

class TestIt:
    @pytest.mark.xdist_group("one")
    def test_one(self, baseline):
        assert "x" == baseline
"""
PLUGINS = [
    "anyio",
    "hypothesispytest",
    "randomly",
    "syrupy",
    "inline_snapshot",
    "regressions",
    "pytest-datadir",
]
ALONE = [word for plugin in PLUGINS for word in ("-p", f"no:{plugin}")]
NONE_REMOVED = "no baseline was removed: each is used by a test"


class Project:
    """A project in which pytest is run."""

    def __init__(self, root: Path, tests: str = TESTS):
        self.root = root
        root.mkdir()
        self.write("pytest.ini", "[pytest]\nmarkers =\n    xdist_group\n")
        self.write("test_a.py", tests)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")
        # within a second, and of the same size, pytest takes what it has compiled for current
        shutil.rmtree(self.root / "__pycache__", ignore_errors=True)

    def start(self, *words: str, before: Any = None, **env: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *ALONE, *words],
            cwd=self.root,
            env={**os.environ, "PYTEST_ADDOPTS": "", "CI": "", "PYTHONDONTWRITEBYTECODE": "1", **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=before,
        )

    def run(self, *words: str, exit_code: int = 0, before: Any = None, **env: str) -> str:
        run = self.start(*words, before=before, **env)
        printed, _ = run.communicate(timeout=120)
        assert run.returncode == exit_code, printed
        return printed

    def files(self) -> list[Path]:
        return sorted((self.root / "baselines").rglob("*.yaml"))


@pytest.mark.parametrize("words", ["", "-n 2", "-n 2 --dist loadgroup", "--tx 2*popen --dist each"])
def test_prune_in_a_run_of_everything_removes_what_no_worker_used(tmp_path: Path, words: str) -> None:
    """Each worker knows what it ran, and only all of them together what is unused."""
    project = Project(tmp_path / "project")
    project.run()
    assert len(project.files()) == 11
    for path in project.files():
        os.utime(path, (1, 1))  # of an earlier run
    assert NONE_REMOVED in project.run(*words.split(), "--baseline-prune")
    project.write("test_a.py", TESTS.replace("range(8)", "range(7)").replace("test_one", "test_new"))
    printed = project.run(*words.split(), "--baseline-prune")
    assert "1 baseline used by no test (removed):" in printed
    assert re.search(r"^  baselines/test_a/TestIt.test_one.yaml: .* is gone$", printed, re.MULTILINE)
    assert len(project.files()) == 11


def test_prune_with_a_crashed_worker_claims_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    project.run()
    project.write("test_a.py", TESTS.replace("test_one", "test_new"))
    project.write("test_0.py", "import os\n\ndef test_crash():\n    os.kill(os.getpid(), 9)\n")
    printed = project.run("-n", "2", "--baseline-prune", exit_code=1)
    assert re.search(r"no baseline was removed: .*1 test did not finish", printed), printed
    assert len(project.files()) == 12


KILLS, WORKERS, COUNT = (30, 4, 200) if os.environ.get("BASELINEKIT_THOROUGH") else (3, 2, 80)
MANY = """\
import os
import pytest

@pytest.mark.parametrize("n", range(COUNT))
def test_it(baseline, n):
    state = os.environ["STATE"]
    rows = [{"id": i, "name": f"{state} {i}"} for i in range(20)]
    assert {"n": n, "state": state, "rows": rows} == baseline
"""


def states(project: Project) -> dict[str, str]:
    """What each file holds: read as a whole, and of one state."""
    found = {}
    for path in project.files():
        (baseline,) = load([path.relative_to(project.root).as_posix()], str(project.root))
        assert baseline.baseline is not None, path
        output = baseline.baseline.output
        assert {row["name"] for row in output["rows"]} == {f"{output['state']} {i}" for i in range(20)}
        assert path.name == f"test_it-{output['n']}.yaml"
        found[path.name] = output["state"]
    return found


def kill(run: "subprocess.Popen[str]", project: Project, began: int, source: random.Random) -> None:
    """Kill the run, or some of its workers, once it has written some files."""
    least = source.randrange(COUNT)
    while run.poll() is None and sum(path.stat().st_mtime_ns >= began for path in project.files()) < least:
        time.sleep(0.001)
    workers = descendants(run.pid) if source.random() < 0.5 else []
    for pid in source.sample(workers, source.randint(1, len(workers))) if workers else [run.pid]:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    run.communicate(timeout=120)


@pytest.mark.parametrize("before", ["", "old"], ids=["new", "changed"])
def test_update_that_is_killed_tears_and_loses_nothing(tmp_path: Path, before: str) -> None:
    """What a test has written is whole and stays; the next run goes on, and removes what was left behind."""
    source, kept = random.Random(7), tmp_path / "kept"
    project = Project(tmp_path / "project", MANY.replace("COUNT", str(COUNT)))
    if before:
        project.run("-q", STATE=before)
        (project.root / "baselines").rename(kept)
    counts = []
    for _ in range(KILLS):
        shutil.rmtree(project.root / "baselines", ignore_errors=True)
        if before:
            shutil.copytree(kept, project.root / "baselines")
        began = max((path.stat().st_mtime_ns for path in project.files()), default=0) + 1
        run = project.start("-q", "-n", str(WORKERS), "--baseline-update", STATE="new")
        kill(run, project, began, source)
        found = states(project)
        assert set(found.values()) <= {"new", before}
        assert len(found) == COUNT or not before
        counts.append([*found.values()].count("new"))
        stamps = {path: path.stat().st_mtime_ns for path in project.files() if found[path.name] == "new"}
        project.run("-q", "--baseline-update", STATE="new")
        assert states(project) == {f"test_it-{n}.yaml": "new" for n in range(COUNT)}
        assert {path: path.stat().st_mtime_ns for path in stamps} == stamps, "written twice"
        assert list(project.root.rglob("*.tmp")) == []
    assert any(0 < count < COUNT for count in counts), counts


def test_runs_at_once_write_each_baseline_whole(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", MANY.replace("COUNT", "20"))
    runs = [project.start("-q", "--baseline-update", STATE="new") for _ in range(2)]
    assert [run.communicate(timeout=120) and run.returncode for run in runs] == [0, 0]
    assert states(project) == {f"test_it-{n}.yaml": "new" for n in range(20)}


def small_files() -> None:
    """A limit of the shell (ulimit -f), which is what a quota and a full disk look like."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def test_update_that_cannot_write_keeps_the_old_file(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", MANY.replace("COUNT", "2"))
    project.run(STATE="old")
    before = {path: path.read_bytes() for path in project.files()}
    project.write("test_b.py", "def test_new(baseline):\n    assert list(range(100)) == baseline\n")
    words = ("-p", "no:cacheprovider", "--baseline-update")
    printed = project.run(*words, exit_code=1, before=small_files, STATE="new")
    for name in ("test_a/test_it-0", "test_a/test_it-1", "test_b/test_new"):
        assert f"BK120 baselines/{name}.yaml cannot be written: file too large" in printed
    assert "Traceback" not in printed
    assert {path: path.read_bytes() for path in project.files()} == before
    assert "3 passed" in project.run(*words, STATE="new")
