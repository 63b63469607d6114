"""The fixture `baseline` in whatever pytest runs as a test, and in projects of several layouts."""

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def files(pytester: pytest.Pytester) -> list[str]:
    found = (pytester.path / "baselines").rglob("*.yaml")
    return sorted(path.relative_to(pytester.path / "baselines").as_posix() for path in found)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def passes_then_fails(pytester: pytest.Pytester, source: Path, old: str, new: str, *options: str) -> str:
    """What a run says after the first one has written a baseline, a second one has passed, and the value has
    become another one."""
    for _ in range(2):
        result = pytester.runpytest_inprocess(*options)
        result.assert_outcomes(passed=1)
    assert "written" not in result.stdout.str()
    edit(source, old, new)
    result = pytester.runpytest_inprocess(*options)
    result.assert_outcomes(failed=1)
    return result.stdout.str()


@pytest.mark.parametrize(
    "how", ["assert {'n': 1} == self.baseline", "self.assertEqual({'n': 1}, self.baseline)"]
)
def test_baseline_in_unittest(pytester: pytest.Pytester, how: str) -> None:
    source = pytester.makepyfile(
        test_it=f"""
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def with_baseline(self, baseline):
                self.baseline = baseline

            def test_it(self):
                {how}
        """
    )
    assert "+ 2" in passes_then_fails(pytester, source, "'n': 1", "'n': 2")
    assert files(pytester) == ["test_it/TestIt.test_it.yaml"]


def test_baseline_in_doctest(pytester: pytest.Pytester) -> None:
    source = pytester.makepyfile(
        price='''
        def total(n):
            """
            >>> {"total": total(2)} == getfixture("baseline")
            True
            """
            return n * 2
        '''
    )
    printed = passes_then_fails(pytester, source, "n * 2", "n * 3", "--doctest-modules")
    assert "    - 4\n    + 6\n" in printed
    assert "pytest --doctest-modules price.py::price.total --baseline-update=changed" in printed
    assert files(pytester) == ["price/price.total.yaml"]


def test_baseline_with_skip_skips_its_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_it(baseline):\n    assert 1 == baseline\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    edit(pytester.path / "baselines/test_it/test_it.yaml", "metadata:", "metadata:\n  skip: see issue 7")
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*test_it.yaml: see issue 7"])


def test_baseline_of_a_large_value_has_an_output_file(pytester: pytest.Pytester) -> None:
    source = pytester.makepyfile(test_it="def test_it(baseline):\n    assert ['x' * 70_000] == baseline\n")
    printed = passes_then_fails(pytester, source, "70_000", "70_001")
    assert "test_it.output.json:" in printed
    names = sorted(path.name for path in (pytester.path / "baselines/test_it").iterdir())
    assert names == ["test_it.output.json", "test_it.yaml"]
    pytester.runpytest_inprocess("--baseline-update=all").assert_outcomes(passed=1)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
