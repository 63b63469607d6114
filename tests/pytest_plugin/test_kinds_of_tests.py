"""The fixture `baseline` in whatever pytest runs as a test, and in projects of several layouts."""

from pathlib import Path

import pytest

from baselinekit.pytest_plugin.fixture import BaselineFixture

pytestmark = pytest.mark.slow


def files(pytester: pytest.Pytester) -> list[str]:
    found = (pytester.path / "baselines").rglob("*.yaml")
    return sorted(one.relative_to(pytester.path / "baselines").as_posix() for one in found)


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
def test_unittest(pytester: pytest.Pytester, how: str) -> None:
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


def test_doctest_of_a_module(pytester: pytest.Pytester) -> None:
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
    said = passes_then_fails(pytester, source, "n * 2", "n * 3", "--doctest-modules")
    assert "    - 4\n    + 6\n" in said
    assert "pytest --doctest-modules price.py::price.total --baseline-update=changed" in said
    assert files(pytester) == ["price/price.total.yaml"]


def test_nothing_is_broadcast() -> None:
    """numpy and pandas ask whoever says that it goes before them."""
    assert BaselineFixture.__array_ufunc__ is None
    assert BaselineFixture.__pandas_priority__ > 5_000


def test_a_baseline_that_is_to_be_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_it(baseline):\n    assert 1 == baseline\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    edit(pytester.path / "baselines/test_it/test_it.yaml", "metadata:", "metadata:\n  skip: see issue 7")
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*test_it.yaml: see issue 7"])


def test_rules_that_were_written_before_there_is_a_value(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it="def test_it(baseline):\n    assert {'a': 1, 'at': 2} == baseline\n")
    file = pytester.path / "baselines/test_it/test_it.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "id: test_it.test_it\n"
        "current:\n  input:\n    test: test_it.py::test_it\n  execution:\n    type: pytest\n"
        "comparison:\n  ignore_fields: [at]  # changes\n",
        encoding="utf-8",
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    text = file.read_text(encoding="utf-8")
    assert "  ignore_fields: [at]  # changes\n" in text
    assert "    a: 1\n" in text
    edit(pytester.path / "test_it.py", "'at': 2", "'at': 3")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_large_value_stands_beside_its_file(pytester: pytest.Pytester) -> None:
    source = pytester.makepyfile(test_it="def test_it(baseline):\n    assert ['x' * 70_000] == baseline\n")
    said = passes_then_fails(pytester, source, "70_000", "70_001")
    assert "test_it.output.json:" in said
    names = sorted(one.name for one in (pytester.path / "baselines/test_it").iterdir())
    assert names == ["test_it.output.json", "test_it.yaml"]
    pytester.runpytest_inprocess("--baseline-update").assert_outcomes(passed=1)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
