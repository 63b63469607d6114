"""Whole runs of pytest, in one process and under pytest-xdist: what they write is whole, and what is unused
is claimed by those that covered everything."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from startedpytest import run_pytest

from baselinekit.store.reading import load

A = """\
import pytest

@pytest.mark.parametrize("n", range(8))
def test_many(baseline, n):
    assert {"n": n} == baseline

def test_two(baseline):
    assert 1 == baseline
    assert [2] == baseline("second")
"""
B = """\
import pytest

class TestIt:
    @pytest.mark.xdist_group("one")
    def test_one(self, baseline):
        assert "x" == baseline

def test_other():
    pass
"""
_PLUGINS = (
    *("anyio", "hypothesispytest", "randomly"),
    *("syrupy", "inline_snapshot", "regressions", "pytest-datadir"),
)
_ALONE = tuple(word for plugin in _PLUGINS for word in ("-p", f"no:{plugin}"))


def environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "PYTEST_ADDOPTS": "", "CI": "", **more}


class Project:
    """A project in a folder of its own, in which pytest is run."""

    def __init__(self, root: Path, after: Path | None = None):
        """New, or as another one is."""
        self.root = root
        if after:
            shutil.copytree(after, root, ignore=shutil.ignore_patterns("__pycache__"))
            return
        root.mkdir()
        self.write("pytest.ini", "[pytest]\nmarkers =\n    xdist_group\n")
        self.write("test_a.py", A)
        self.write("test_b.py", B)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text("utf-8")
        assert old in text
        self.write(name, text.replace(old, new))
        # within a second, and of the same size, pytest takes what it has compiled for current
        shutil.rmtree((self.root / name).parent / "__pycache__", ignore_errors=True)

    def run(self, *words: str, code: int = 0, **env: str) -> str:
        """What a run says, which ends so."""
        ended, said = run_pytest(self.root, *_ALONE, *words, env=environment(env))
        assert ended == code, said
        return said

    def start(self, *words: str, before: Any = None, **env: str) -> "subprocess.Popen[str]":
        """A run that begins from nothing."""
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *_ALONE, *words],
            cwd=self.root,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=before,
        )

    def paths(self) -> list[Path]:
        return sorted((self.root / "baselines").rglob("*.yaml"))

    def files(self) -> list[str]:
        """The baselines, long enough on file to be of an earlier run."""
        for path in self.paths():
            os.utime(path, (1, 1))
        return [path.relative_to(self.root / "baselines").as_posix() for path in self.paths()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project(tmp_path_factory.mktemp("recorded") / "project")
    assert unused(project.run()) == []
    assert len(project.files()) == 11
    return project.root


@pytest.fixture
def recorded(first_run: Path, tmp_path: Path) -> Project:
    """Everything has its baseline."""
    return Project(tmp_path / "project", first_run)


def unused(said: str) -> list[str]:
    """The files that a run says nobody uses."""
    return re.findall(r"^  baselines/(\S+): .* (?:is gone|passed without it)$", said, re.MULTILINE)


GONE = ["test_b/TestIt.test_one.yaml"]
WAYS = [
    (),
    ("-n", "2"),
    ("-n", "3", "--dist", "loadfile"),
    ("-n", "2", "--dist", "loadgroup"),
    ("--tx", "2*popen", "--dist", "each"),
]
NONE_REMOVED = "no baseline was removed: each is used by a test"


def rename(project: Project) -> None:
    """One baseline is of a test that has another name now; one is of a parameter that is gone, which a run
    cannot tell from one that an option left out."""
    project.edit("test_a.py", "range(8)", "range(7)")
    project.edit("test_b.py", "test_one", "test_new")


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_unused_baselines_are_known_to_a_run_of_everything(recorded: Project, words: tuple[str, ...]) -> None:
    """syrupy's issue 535: each worker knows what it ran, and only all of them together what nobody uses."""
    assert NONE_REMOVED in recorded.run(*words, "--baseline-prune")
    before = recorded.files()
    rename(recorded)
    said = recorded.run(*words, "--baseline-prune")
    assert "1 baseline that no test used was removed:" in said
    assert unused(said) == GONE
    assert recorded.files() == sorted({*before, "test_b/TestIt.test_new.yaml"} - {*GONE})


HOOK = """\
def pytest_collection_modifyitems(items):
    items[:] = items[1:]
"""
CRASH = "import os\n\ndef test_crash():\n    os.kill(os.getpid(), 9)\n"
STOPPED = "def test_stop():\n    raise KeyboardInterrupt\n"
FAILING = "def test_first():\n    assert False\n"
ENDINGS = {
    "a hook": ({"conftest.py": HOOK}, (), 0, "of 11 tests 10 were run"),
    "an error": ({"test_0.py": "1 / 0\n"}, ("--continue-on-collection-errors",), 1, "test_0.py could not be"),
    "interrupted": ({"test_0.py": STOPPED}, (), 2, "the run was stopped"),
    "last failed": ({"test_0.py": FAILING}, ("--lf",), 1, "of 1 tests 1 were run|--lf may leave tests out"),
    "crashed and replaced": ({"test_0.py": CRASH}, ("-n", "2"), 1, "1 test did not finish"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_run_that_did_not_come_to_its_end_claims_nothing(recorded: Project, name: str) -> None:
    files, words, code, why = ENDINGS[name]
    if name == "last failed":
        recorded.write("test_0.py", FAILING)
        recorded.run(code=1)
    recorded.edit("test_b.py", "baseline", "tmp_path")
    recorded.edit("test_b.py", "tmp_path\n", "tmp_path or True\n")
    for file, text in files.items():
        recorded.write(file, text)
    before = recorded.files()
    said = recorded.run(*words, "--baseline-prune", code=code)
    assert re.search(rf"no baseline was removed: .*({why})", said), said
    assert unused(said) == []
    assert recorded.files() == before


# Updates of many at once, and what is killed meanwhile.

KILLS, WORKERS, COUNT = (30, 4, 200) if os.environ.get("BASELINEKIT_THOROUGH") else (3, 2, 80)
MANY = (
    f"COUNT = {COUNT}"
    + """
import os
import pytest

STATE = os.environ["STATE"]

@pytest.mark.parametrize("n", range(COUNT))
def test_it(baseline, n):
    rows = [{"id": i, "name": f"{STATE} {i}"} for i in range(20)]
    assert {"n": n, "state": STATE, "rows": rows} == baseline
"""
)


def states(root: Path) -> dict[str, str]:
    """What each file holds: read as a whole, and of one state."""
    found = {}
    for path in sorted((root / "baselines").rglob("*.yaml")):
        (one,) = load([path.relative_to(root).as_posix()], str(root))
        assert one.baseline is not None, path
        output = one.baseline.output
        assert {row["name"] for row in output["rows"]} == {f"{output['state']} {i}" for i in range(20)}
        assert path.name == f"test_it-{output['n']}.yaml"
        found[path.name] = output["state"]
    return found


def workers(controller: int) -> list[int]:
    """The processes that a process has started."""
    tasks = Path(f"/proc/{controller}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def kill(run: "subprocess.Popen[str]", began: int, root: Path, source: random.Random) -> str:
    """Kill the run, or one or more of its workers, when it has written some files; what it said till then."""
    some = source.randrange(COUNT)
    while run.poll() is None and written(root, began) < some:
        time.sleep(0.001)
    if source.random() < 0.5:
        victims = [run.pid]
    else:
        found = workers(run.pid)
        victims = source.sample(found, source.randint(1, len(found))) if found else []
    for pid in victims:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    said, _ = run.communicate(timeout=120)
    return said


def written(root: Path, began: int) -> int:
    """How many files are of this run."""
    with suppress(OSError), os.scandir(root / "baselines/test_a") as found:
        return sum(one.stat().st_mtime_ns >= began for one in found)
    return 0


@pytest.mark.parametrize("before", ["", "old"], ids=["new", "changed"])
def test_an_update_that_is_killed_tears_and_loses_nothing(project: Project, before: str) -> None:
    """What a test has written is whole and stays; the next run goes on, and removes what was left behind."""
    source = random.Random(7)
    project.write("test_a.py", MANY)
    (project.root / "test_b.py").unlink()
    baselines, kept = project.root / "baselines", project.root.parent / "kept"
    if before:
        project.run("-q", STATE=before)
        baselines.rename(kept)
    counts = []
    for number in range(KILLS):
        shutil.rmtree(baselines, ignore_errors=True)
        if before:
            shutil.copytree(kept, baselines)
        began = max((path.stat().st_mtime_ns for path in project.paths()), default=0) + 1
        run = project.start("-q", "-n", str(WORKERS), "--baseline-update", STATE="new")
        kill(run, began, project.root, source)
        then = states(project.root)
        assert set(then.values()) <= {"new", before}
        assert len(then) == COUNT or not before
        counts.append(sum(state == "new" for state in then.values()))
        stamps = {path: path.stat().st_mtime_ns for path in project.paths() if then[path.name] == "new"}
        project.run("-q", "--baseline-update", STATE="new")
        assert states(project.root) == {f"test_it-{n}.yaml": "new" for n in range(COUNT)}, number
        assert {path: path.stat().st_mtime_ns for path in stamps} == stamps, "written twice"
        assert list(project.root.rglob("*.tmp")) == []
    assert any(0 < count < COUNT for count in counts), counts


def test_two_runs_at_once_write_each_baseline_once(project: Project) -> None:
    project.write("test_a.py", MANY)
    (project.root / "test_b.py").unlink()
    for words in (["-q"], ["-q", "--baseline-update"]):
        runs = [project.start(*words, STATE=words[-1]) for _ in range(2)]
        for run in runs:
            said, _ = run.communicate(timeout=120)
            assert run.returncode == 0, said
        assert states(project.root) == {f"test_it-{n}.yaml": words[-1] for n in range(COUNT)}


def small_files() -> None:
    """A limit of the shell (ulimit -f), which is what a quota and a full disk look like."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def test_what_cannot_be_written_is_told_and_the_old_file_is_whole(project: Project) -> None:
    project.write("test_a.py", MANY.replace("range(COUNT)", "range(2)"))
    project.run(STATE="old")
    before = {path: path.read_bytes() for path in project.paths()}
    project.write("test_b.py", "def test_new(baseline):\n    assert list(range(100)) == baseline\n")
    words = ("-p", "no:cacheprovider", "--baseline-update")
    full = {"PYTHONDONTWRITEBYTECODE": "1", "STATE": "new"}
    run = project.start(*words, before=small_files, **full)
    said, _ = run.communicate(timeout=120)
    assert (run.returncode, said.count("3 failed")) == (1, 1), said
    for name in ("test_a/test_it-0", "test_a/test_it-1", "test_b/test_new"):
        assert f"BK120 baselines/{name}.yaml cannot be written: file too large" in said
    assert "Traceback" not in said
    assert {path: path.read_bytes() for path in project.paths()} == before
    assert "3 passed" in project.run(*words, **full)
