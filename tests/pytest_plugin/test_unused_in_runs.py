"""Runs that leave tests out, in every way that pytest and its plugins have: none of them claims that a
baseline is unused, and none removes one."""

import os

import pytest
from startedpytest import run_pytest

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


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a baseline of each test, and one of a test that is gone."""
    pytester.makeini(INI)
    gone = "def test_gone(baseline): assert 4 == baseline\n"
    pytester.makepyfile(**TESTS, test_c=gone)
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=5)
    (pytester.path / "test_c.py").unlink()
    return pytester


def stored(project: pytest.Pytester) -> int:
    return len(list((project.path / "baselines").rglob("*.yaml")))


def run(project: pytest.Pytester, *words: str) -> str:
    """What it says."""
    if "-n" in words:
        return run_pytest(project.path, *words, env=os.environ)[1]
    return project.runpytest_inprocess(*words).stdout.str()


def test_a_run_of_everything_lists_it(project: pytest.Pytester) -> None:
    told = run(project, "-p", "no:cacheprovider")
    assert "1 baseline is used by no test" in told
    assert "test_c.py::test_gone is gone" in told
    assert stored(project) == 5


PARTIAL = [
    ["-k", "one"],
    ["-k", "one", "-n", "2"],
    ["--deselect", "test_a.py::test_two"],
    ["test_a.py", "test_b.py::TestIt"],
    ["--ignore", "test_b.py"],
    ["--setup-plan"],
    ["--collect-only"],
    ["-o", "python_functions=check_*"],
    ["-p", "no:python"],
]


def claims_nothing(project: pytest.Pytester, *words: str) -> None:
    told = run(project, *words, "--baseline-prune")
    assert "no test used" not in told
    assert "used by no test" not in told
    assert stored(project) == 5


@pytest.mark.parametrize("words", PARTIAL, ids=" ".join)
def test_a_run_of_a_part_claims_nothing(project: pytest.Pytester, words: list[str]) -> None:
    claims_nothing(project, *words)


@pytest.mark.parametrize("words", [["--lf"], ["--sw"]], ids=" ".join)
def test_what_goes_on_from_an_earlier_run_claims_nothing(project: pytest.Pytester, words: list[str]) -> None:
    (project.path / "fail").touch()
    run(project, *words)
    for _ in range(2):
        claims_nothing(project, *words)
        (project.path / "fail").unlink(missing_ok=True)


@pytest.mark.parametrize("words", [["-x"], ["-x", "-n", "2"]], ids=" ".join)
def test_a_run_that_stops_claims_nothing(project: pytest.Pytester, words: list[str]) -> None:
    (project.path / "fail").touch()
    claims_nothing(project, *words, "test_a.py", "test_b.py")


def test_a_test_that_is_run_again(project: pytest.Pytester) -> None:
    """What it used in any of its attempts is in use, and what it never came to is not unused."""
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed")
    (project.path / "fail").touch()
    told = run(project, "--reruns", "1", "--baseline-prune")
    assert "1 baseline that no test used was removed:" in told
    assert "test_c.py::test_gone is gone" in told
    assert stored(project) == 4
    project.makepyfile(
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
