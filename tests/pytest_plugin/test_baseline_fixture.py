"""The fixture `baseline` in projects of its own: what is written, what passes, what fails, how it is told."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from baselinekit.pytest_plugin.session import BaselineWarning

pytestmark = pytest.mark.slow

USERS = """\
def test_users(baseline):
    assert {"users": [{"name": "Ada", "id": 1}], "total": 1.5} == baseline
"""
FILE = "baselines/test_users/test_users.yaml"
WRITTEN = """\
# yaml-language-server: $schema=../../.baselinekit/baseline.schema.json
id: test_users.test_users
baseline:
  output:
    users:
      - name: Ada
        id: 1
    total: 1.5
current:
  input:
    test: test_users.py::test_users
  execution:
    type: pytest
metadata:
  last_passed: null
  failure_count: 0"""


@contextmanager
def in_ci() -> Iterator[None]:
    os.environ["CI"] = "true"
    try:
        yield
    finally:
        del os.environ["CI"]


def stored(pytester: pytest.Pytester, file: str = FILE) -> str:
    return (pytester.path / file).read_text(encoding="utf-8")


def edit(pytester: pytest.Pytester, old: str, new: str, file: str = FILE) -> None:
    text = stored(pytester, file)
    assert old in text
    (pytester.path / file).write_text(text.replace(old, new), encoding="utf-8")


def files(pytester: pytest.Pytester) -> list[str]:
    found = (pytester.path / "baselines").rglob("*.yaml")
    return sorted(path.relative_to(pytester.path).as_posix() for path in found)


def test_baseline_of_the_first_run_passes_in_the_second(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_users=USERS)
    first = pytester.runpytest_inprocess()
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines([f"1 baseline written: {FILE}"])
    lines = stored(pytester).splitlines()
    assert "\n".join(line for line in lines if "captured_at" not in line) == WRITTEN
    second = pytester.runpytest_inprocess()
    second.assert_outcomes(passed=1)
    assert "written" not in second.stdout.str()
    assert stored(pytester).splitlines() == lines


def test_baseline_that_differs_reports_difference_place_and_commands(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_users=USERS)
    pytester.runpytest_inprocess()
    pytester.makepyfile(test_users=USERS.replace("Ada", "Bob"))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"E * assert value == {FILE} (1 difference)",
            f"E *users[[]0].name   {FILE}:6",
            'E *- "Ada"',
            'E *+ "Bob"',
            "E *captured 20*Z",
            "E *pytest test_users.py::test_users --baseline-update=changed",
            "E *baselinekit review test_users.test_users",
        ]
    )


def test_baseline_of_ids_and_times_proposes_placeholders(pytester: pytest.Pytester) -> None:
    test = """
        def test_it(baseline):
            rows = [{"id": "%s", "at": "%s"} for n in range(2)]
            assert {"rows": rows} == baseline
    """
    pytester.makepyfile(test_it=test % ("1b4e28ba-2fa1-41d2-883f-0016d3cca427", "2026-11-23T10:44:03Z"))
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    new = ("2b4e28ba-2fa1-41d2-883f-0016d3cca427", "2026-11-23T10:44:09Z")
    file = pytester.path / "baselines/test_it/test_it.yaml"
    text = file.read_text(encoding="utf-8").splitlines(keepends=True)
    captured = [line for line in text if "captured_at" in line]
    file.write_text("".join(text).replace(captured[0], '  captured_at: "2026-11-23T10:44:03Z"\n'), "utf-8")
    source = pytester.makepyfile(test_it=test % new)
    result = pytester.runpytest_inprocess()
    message = 'baseline(placeholders={"rows.*.id": "<<any_uuid(4)>>", "rows.*.at": "<<any_iso_datetime>>"})'
    assert message in result.stdout.str()
    assert "to accept it" not in result.stdout.str()  # the next run would have others again
    pytester.runpytest_inprocess("--baseline-update").assert_outcomes(passed=1)
    code = source.read_text(encoding="utf-8").replace("== baseline", f"== {message}")
    source.write_text(code, encoding="utf-8")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert "vary" not in pytester.runpytest_inprocess("--baseline-update").stdout.str()


def test_baseline_in_ci_is_not_written(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_users=USERS)
    with in_ci():
        result = pytester.runpytest_inprocess()
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["E *BK560*", "E *pytest test_users.py::* --baseline-update=new"])
        assert files(pytester) == []
        pytester.runpytest_inprocess("--baseline-update=new").assert_outcomes(passed=1)
    assert files(pytester) == [FILE]


def test_baseline_of_a_failing_test_is_not_written(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        def test_fails(baseline):
            assert [1] == baseline
            assert False

        @pytest.mark.xfail
        def test_is_expected_to_fail(baseline):
            assert [1] == baseline
            assert False

        def test_is_skipped(baseline):
            assert [1] == baseline
            pytest.skip("later")
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(failed=1, xfailed=1, skipped=1)
    assert files(pytester) == []


def test_baseline_with_names_writes_a_file_each(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_names="""
        import pytest

        class TestUsers:
            @pytest.mark.parametrize("n", [1, "a b"])
            def test_list(self, baseline, n):
                assert baseline("first") == n
                assert baseline("output") == [n]
                assert baseline("first") == n
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
    names = [path.removeprefix("baselines/test_names/TestUsers.test_list-") for path in files(pytester)]
    assert len(names) == 4
    assert names[0] == "1.first.yaml"
    assert names[1].startswith("1.output-")
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_baseline_of_two_values_without_names_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(baseline):
            assert 1 == baseline
            assert 2 == baseline
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *- 1", "E *+ 2", "E *BK560*", 'E *baseline("name")'])
    assert files(pytester) == []


def test_baseline_update_keeps_comments_and_placeholders(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_users=USERS)
    pytester.runpytest_inprocess()
    by_hand = "      - id: <<any_integer>>  # by hand\n        name: Ada\n"
    edit(pytester, "      - name: Ada\n        id: 1\n", by_hand)
    pytester.makepyfile(test_users=USERS.replace("Ada", "Bob").replace('"id": 1', '"id": 7'))
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    pytester.runpytest_inprocess("--baseline-update=new").assert_outcomes(failed=1)
    result = pytester.runpytest_inprocess("--baseline-update=changed")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"1 baseline updated: {FILE}"])
    assert "      - id: <<any_integer>>  # by hand\n        name: Bob\n" in stored(pytester)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_baseline_of_a_value_that_is_no_json_fails_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(baseline):\n    assert {'a': [object()]} == baseline")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*== baseline", "E *NoJsonError: *"])
    assert "fixture.py" not in result.stdout.str()
    assert files(pytester) == []


def test_baseline_that_is_not_compared_is_a_type_error(pytester: pytest.Pytester) -> None:
    slips = ("assert baseline", "baseline({'a': 1})", "assert baseline((1,))")
    tests = (f"def test_{n}(baseline):\n    {slip}\n" for n, slip in enumerate(slips))
    pytester.makepyfile("".join(tests))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=3)
    for slip in slips:
        result.stdout.fnmatch_lines([f">*{slip}", "E *TypeError: *assert value == baseline"])


def test_baseline_that_its_own_rules_do_not_accept_fails_masked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(baseline):
            token = "ghp_" + "a1B2" * 9
            assert {"id": token} == baseline(placeholders={"id": "<<any_uuid>>"})
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *BK524 id: '<<any_uuid>>' does not accept what was seen: '[*][*][*] (*"])
    assert files(pytester) == []


def test_baseline_rules_of_the_file_precede_those_of_the_test(pytester: pytest.Pytester) -> None:
    test = """
        from baselinekit import any_uuid

        def test_it(baseline):
            value = {{"id": "{id}", "at": {at}, "n": {n}, "tags": {tags}}}
            assert value == baseline(
                ignore=["at"], tolerance={{"n": {{"abs": 0.5}}}}, arrays={{"tags": "unordered"}},
                placeholders={{"id": any_uuid}},
            )
        """
    first = test.format(id="1b4e28ba-2fa1-11d2-883f-0016d3cca427", at=1, n=1.0, tags=["a", "b"])
    pytester.makepyfile(test_it=first)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    file = "baselines/test_it/test_it.yaml"
    assert "id: <<any_uuid>>" in stored(pytester, file)
    assert "comparison" not in stored(pytester, file)
    second = test.format(id="2b4e28ba-2fa1-11d2-883f-0016d3cca427", at=2, n=1.4, tags=["b", "a"])
    pytester.makepyfile(test_it=second)
    pytester.runpytest_inprocess("-Werror").assert_outcomes(passed=1)
    edit(pytester, "metadata:", "comparison:\n  tolerance:\n    n: {abs: 0.1}\nmetadata:", file)
    message = f"*{file}: tolerance: n is {{'abs': 0.1}} in the file*{{'abs': 0.5}} in the test"
    result = pytester.runpytest_inprocess("-Wdefault")
    result.assert_outcomes(failed=1, warnings=1)
    result.stdout.fnmatch_lines([f"*{BaselineWarning.__name__}: {message}"])
    result = pytester.runpytest_inprocess("-Werror")
    result.stdout.fnmatch_lines([">*assert value == baseline(", f"E {message}"])
    assert "fixture.py" not in result.stdout.str()


def test_baseline_with_a_secret_writes_a_placeholder(pytester: pytest.Pytester) -> None:
    token = "ghp_" + "a1B2" * 9
    pytester.makepyfile(test_it=f"def test_it(baseline):\n    assert {{'token': '{token}'}} == baseline")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*what looks like a secret is stored as a placeholder: token"])
    assert token not in stored(pytester, "baselines/test_it/test_it.yaml")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_baseline_written_by_another_process_meanwhile_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pathlib

        def test_it(baseline):
            assert 1 == baseline
            file = pathlib.Path("baselines/test_it/test_it.yaml")
            file.parent.mkdir(parents=True, exist_ok=True)
            current = "{input: {test: 'test_it.py::test_it'}, execution: {type: pytest}}"
            file.write_text(f"id: test_it.test_it\\nbaseline: {{output: 2}}\\ncurrent: {current}\\n")
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*baselinekit: BK113*test_it.yaml: *another process*"])
    assert "output: 2" in stored(pytester, "baselines/test_it/test_it.yaml")


def test_baseline_that_is_never_compared_warns(pytester: pytest.Pytester) -> None:
    """As where the other side says of everything that it is equal."""
    pytester.makepyfile(
        """
        from unittest.mock import ANY

        import pytest


        def test_any(baseline):
            assert ANY == baseline


        def test_named(baseline):
            baseline("users")


        def test_fails_before(baseline):
            raise ValueError


        def test_skipped_before(baseline):
            pytest.skip()
        """
    )
    result = pytester.runpytest_inprocess("-W", "default")
    result.assert_outcomes(passed=2, failed=1, skipped=1, warnings=2)
    message = "*BaselineWarning: the test asked for `baseline`, and compared nothing with it*"
    result.stdout.fnmatch_lines([message])
    again = pytester.runpytest_inprocess("-W", "error")
    again.assert_outcomes(passed=2, errors=2, failed=1, skipped=1)
