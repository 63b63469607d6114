"""Runs that leave tests out, in every way that pytest and its plugins have: none of them claims that a
baseline is unused, and none removes one."""

import pytest

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
    return project.runpytest_inprocess(*words).stdout.str()


def test_unused_baseline_is_listed_by_a_run_of_everything(project: pytest.Pytester) -> None:
    printed = run(project, "-p", "no:cacheprovider")
    assert "1 baseline used by no test (to remove: " in printed
    assert "test_c.py::test_gone is gone" in printed
    assert stored(project) == 5


PARTIAL = [
    ["-k", "one"],
    ["--deselect", "test_a.py::test_two"],
    ["test_a.py", "test_b.py::TestIt"],
    ["--collect-only"],
    ["-o", "python_functions=check_*"],
]


def claims_nothing(project: pytest.Pytester, *words: str) -> None:
    printed = run(project, *words, "--baseline-prune")
    assert "used by no test" not in printed
    assert stored(project) == 5


@pytest.mark.parametrize("words", PARTIAL, ids=" ".join)
def test_prune_in_a_run_of_a_part_claims_nothing(project: pytest.Pytester, words: list[str]) -> None:
    claims_nothing(project, *words)


@pytest.mark.parametrize("words", [["--lf"], ["--sw"]], ids=" ".join)
def test_prune_with_last_failed_claims_nothing(project: pytest.Pytester, words: list[str]) -> None:
    (project.path / "fail").touch()
    run(project, *words)
    for _ in range(2):
        claims_nothing(project, *words)
        (project.path / "fail").unlink(missing_ok=True)


def test_prune_in_a_run_that_stops_claims_nothing(project: pytest.Pytester) -> None:
    (project.path / "fail").touch()
    claims_nothing(project, "-x", "test_a.py", "test_b.py")


def test_prune_with_reruns_counts_every_attempt(project: pytest.Pytester) -> None:
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is not installed")
    (project.path / "fail").touch()
    printed = run(project, "--reruns", "1", "--baseline-prune")
    assert "1 baseline used by no test (removed):" in printed
    assert "test_c.py::test_gone is gone" in printed
    assert stored(project) == 4
