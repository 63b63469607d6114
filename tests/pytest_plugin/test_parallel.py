"""Whole runs of pytest, in one process and under pytest-xdist: what they write is whole, and what is unused
is claimed by those that covered everything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

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
class TestIt:
    def test_one(self, baseline):
        assert "x" == baseline

def test_other():
    pass
"""
_ALONE = ("-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:randomly")


class Project:
    """A project in a folder of its own, in which pytest is run."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir()
        self.write("pytest.ini", "[pytest]\n")
        self.write("test_a.py", A)
        self.write("test_b.py", B)

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text("utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, *words: str, code: int = 0, **env: str) -> str:
        """What a run says, which ends so."""
        ended = self.start(*words, **env)
        said, _ = ended.communicate(timeout=120)
        assert ended.returncode == code, said
        return said

    def start(self, *words: str, **env: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *_ALONE, *words],
            cwd=self.root,
            env={**os.environ, "PYTEST_ADDOPTS": "", "CI": "", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def files(self) -> list[str]:
        """The baselines, long enough on file to be of an earlier run."""
        found = sorted((self.root / "baselines").rglob("*.yaml"))
        for path in found:
            os.utime(path, (1, 1))
        return [path.relative_to(self.root / "baselines").as_posix() for path in found]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture
def recorded(project: Project) -> Project:
    """Everything has its baseline."""
    project.run()
    assert len(project.files()) == 11
    return project


def unused(said: str) -> list[str]:
    """The files that a run says nobody uses."""
    return re.findall(r"^  baselines/(\S+): .* (?:is gone|passed without it)$", said, re.MULTILINE)


GONE = ["test_a/test_many-7.yaml", "test_b/TestIt.test_one.yaml"]
WAYS = [
    (),
    ("-n", "0"),
    ("-n", "2"),
    ("-n", "3", "--dist", "loadfile"),
    ("-n", "2", "--dist", "loadscope"),
    ("-n", "2", "--dist", "loadgroup"),
    ("-n", "2", "--dist", "worksteal"),
]


@pytest.mark.parametrize("words", WAYS, ids=" ".join)
def test_unused_baselines_are_told_by_a_run_of_everything(recorded: Project, words: tuple[str, ...]) -> None:
    """syrupy's issue 535: each worker knows what it ran, and only all of them together what nobody uses."""
    assert unused(recorded.run(*words)) == []
    recorded.edit("test_a.py", "range(8)", "range(7)")
    recorded.edit("test_b.py", "test_one", "test_new")
    said = recorded.run(*words)
    assert unused(said) == GONE
    assert "2 baselines are used by no test (to remove: pytest --baseline-prune):" in said
    assert "was it renamed? baselines/test_b/TestIt.test_new.yaml is new and looks like it" in said
    before = recorded.files()
    said = recorded.run(*words, "--baseline-prune")
    assert "2 baselines that no test used were removed:" in said
    assert unused(said) == GONE
    assert recorded.files() == [file for file in before if file not in GONE]
    assert "no baseline was removed: each is used by a test" in recorded.run(*words, "--baseline-prune")


PARTS = [
    (("-k", "two"), "of 11 tests 1 were run"),
    (("-m", "not slow", "-k", "not two"), "of 11 tests 10 were run"),
    (("--deselect", "test_a.py::test_two"), "of 11 tests 10 were run"),
    (("test_a.py",), "test_b.py was not collected"),
    (("test_a.py", "test_b.py::test_other"), "of its file only test_b.py::test_other was run"),
    (("--ignore", "test_b.py"), "test_b.py was not collected"),
]


@pytest.mark.parametrize("xdist", [(), ("-n", "2")], ids=["", "xdist"])
@pytest.mark.parametrize(("words", "why"), PARTS, ids=lambda part: " ".join(part) if part[0] == "-" else None)
def test_a_part_claims_nothing(
    recorded: Project, words: tuple[str, ...], why: str, xdist: tuple[str, ...]
) -> None:
    """What came of syrupy's 1132: a shard, a selection or a file alone called the others unused."""
    recorded.edit("test_a.py", "range(8)", "range(7, 15)")
    recorded.edit("test_b.py", "test_one", "test_new")
    before = recorded.files()
    assert unused(recorded.run(*words, *xdist, CI="true", code=1 if "two" not in words else 0)) == []
    said = recorded.run(*words, *xdist, "--baseline-prune", CI="true", code=1 if "two" not in words else 0)
    assert f"no baseline was removed: {why}; only a run of everything tells what is unused" in said
    assert recorded.files() == before
