"""Runs that leave tests out, in every way that pytest and its plugins have: none of them claims that a
baseline is unused, and none removes one."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from warmpytest import WarmPytest

pytestmark = pytest.mark.slow

TESTS = {
    "test_a": """
        import os
        import pytest

        @pytest.mark.parametrize("n", [1, 2])
        def test_one(baseline, n):
            assert n == baseline

        def test_two(baseline):
            if os.path.exists("fail"):
                raise ValueError("now")
            assert 2 == baseline
    """,
    "test_b": """
        import pytest

        class TestIt:
            @pytest.mark.late
            def test_three(self, baseline):
                assert 3 == baseline
    """,
}
INI = "[pytest]\nmarkers = late\nfilterwarnings = ignore::pytest.PytestWarning\n"


@dataclass(frozen=True)
class Project:
    """In a folder of its own, in which pytest is run."""

    pytester: pytest.Pytester
    pytests: WarmPytest

    @property
    def path(self) -> Path:
        return self.pytester.path


@pytest.fixture
def project(pytester: pytest.Pytester, pytests: WarmPytest) -> Project:
    """A project with a baseline of each test, and one of a test that is gone."""
    pytester.makeini(INI)
    gone = "def test_gone(baseline): assert 4 == baseline\n"
    pytester.makepyfile(**TESTS, test_c=gone)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=5)
    (pytester.path / "test_c.py").unlink()
    return Project(pytester, pytests)


def stored(project: Project) -> int:
    return len(list((project.path / "baselines").rglob("*.yaml")))


def run(project: Project, *words: str) -> str:
    """What it says."""
    if "-n" in words:
        return project.pytests.run(project.path, *words, env=os.environ)[1]
    return project.pytester.runpytest_inprocess(*words).stdout.str()


def test_a_run_of_everything_lists_it(project: Project) -> None:
    told = run(project, "-p", "no:cacheprovider")
    assert "1 baseline is used by no test" in told
    assert "test_c.py::test_gone is gone" in told
    assert stored(project) == 5


PARTIAL = [
    ["-k", "one"],
    ["-m", "late"],
    ["--deselect", "test_a.py::test_two"],
    ["test_a.py"],
    ["test_a.py", "test_b.py::TestIt"],
    ["--ignore", "test_b.py"],
    ["--ignore-glob", "*_b.py"],
    ["--setup-only"],
    ["--setup-plan"],
    ["--collect-only"],
    ["-o", "python_functions=check_*"],
    ["-o", "python_files=test_a.py"],
    ["-o", "python_classes=Check"],
    ["-p", "no:python"],
    ["-p", "no:cacheprovider", "-k", "one"],
]


def claims_nothing(project: Project, *words: str) -> None:
    told = run(project, *words, "--baseline-prune")
    assert "no test used" not in told
    assert "used by no test" not in told
    assert stored(project) == 5


@pytest.mark.parametrize("words", PARTIAL, ids=" ".join)
def test_a_run_of_a_part_claims_nothing(project: Project, words: list[str]) -> None:
    claims_nothing(project, *words)


@pytest.mark.parametrize("words", [["-k", "one"], ["--setup-only"], ["-x", "-k", "late"]], ids=" ".join)
def test_workers_that_run_a_part_claim_nothing(project: Project, words: list[str]) -> None:
    claims_nothing(project, *words, "-n", "2")


@pytest.mark.parametrize("words", [["--lf"], ["--lf", "--lfnf=none"], ["--sw"]], ids=" ".join)
def test_what_goes_on_from_an_earlier_run_claims_nothing(project: Project, words: list[str]) -> None:
    (project.path / "fail").touch()
    run(project, *words)
    for _ in range(2):
        claims_nothing(project, *words)
        (project.path / "fail").unlink(missing_ok=True)


@pytest.mark.parametrize("words", [["-x"], ["--maxfail=1"], ["-x", "-n", "2"]], ids=" ".join)
def test_a_run_that_stops_claims_nothing(project: Project, words: list[str]) -> None:
    (project.path / "fail").touch()
    claims_nothing(project, *words, "test_a.py", "test_b.py")


def test_a_test_that_is_run_again(project: Project) -> None:
    """What it used in any of its attempts is in use, and what it never came to is not unused."""
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed")
    (project.path / "fail").touch()
    told = run(project, "--reruns", "1", "--baseline-prune")
    assert "1 baseline that no test used was removed:" in told
    assert "test_c.py::test_gone is gone" in told
    assert stored(project) == 4
    project.pytester.makepyfile(
        test_b="""
        import pytest
        seen = []

        class TestIt:
            @pytest.mark.flaky(reruns=1)
            def test_three(self, baseline):
                seen.append(1)
                if len(seen) == 1:
                    raise ValueError("only now")
                assert 3 == baseline
        """
    )
    (project.path / "fail").unlink()
    told = run(project, "--reruns", "1", "--baseline-prune")
    assert "no baseline was removed: each is used by a test" in told


def test_a_doctest_of_another_run_is_not_gone(project: Project) -> None:
    source = project.path / "test_b.py"
    doctest = 'def helper():\n    """\n    >>> 5 == getfixture("baseline")\n    True\n    """\n'
    source.write_text(source.read_text("utf-8") + "\n\n" + doctest, "utf-8")
    assert "5 passed" in run(project, "--doctest-modules")
    (written,) = (project.path / "baselines").rglob("*helper*.yaml")
    assert "1 baseline that no test used was removed:" in run(project, "--baseline-prune")
    assert written.exists()
