"""Rules that stand in the code of a test alone: what the file is given of them, and what whoever approves a
value later does with them, without running the test."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

IDS = ("1b4e28ba-2fa1-41d2-883f-0016d3cca427", "2b4e28ba-2fa1-41d2-883f-0016d3cca428")
FILE = "baselines/test_users/test_users.yaml"
RULES = """placeholders={"users.*.id": any_uuid}, ignore=["**.at"], arrays={"users.*.tags": "unordered"},
                         tolerance={"users.*.score": {"abs": 0.1}}"""
USERS = """
from baselinekit import any_uuid

def test_users(baseline):
    users = [{{"id": one, "name": "{name}", "at": {at}, "score": 1.0{at}, "tags": {tags}}} for one in {ids}]
    assert {{"users": users}} == baseline({rules})
"""


def users(
    rules: str = RULES,
    name: str = "Ada",
    ids: tuple[str, ...] = IDS[:1],
    at: int = 1,
    tags: tuple[str, ...] = ("a", "b"),
) -> str:
    """The test, and what it compares."""
    return USERS.format(rules=rules, name=name, ids=ids, at=at, tags=list(tags))


def run(pytester: pytest.Pytester, source: str, *words: str, **outcomes: int) -> pytest.RunResult:
    pytester.makepyfile(test_users=source)
    result = pytester.runpytest_inprocess(*words)
    result.assert_outcomes(**outcomes)
    return result


def stored(pytester: pytest.Pytester) -> str:
    return Path(pytester.path, FILE).read_text(encoding="utf-8")


# An array of one row, into which the code puts a placeholder, describes no other rows.


@pytest.mark.parametrize("written_before", [True, False])
def test_rules_with_a_placeholder_keep_one_row_one_row(
    pytester: pytest.Pytester, written_before: bool
) -> None:
    first = users(rules="") if written_before else users()
    run(pytester, first, passed=1)
    run(pytester, users(ids=IDS[1:]), "-Werror", passed=1)
    result = run(pytester, users(ids=IDS), failed=1)
    result.stdout.fnmatch_lines([f"*value == {FILE} (1 difference)", "E *users[[]1]*"])
    run(pytester, users(ids=()), failed=1)
    run(pytester, users(), "--baseline-update", passed=1)
    assert "comparison:\n  arrays:\n    users: ordered\n" in stored(pytester)
    run(pytester, users(ids=IDS), failed=1)


def test_rules_with_each_make_one_row_describe_all(pytester: pytest.Pytester) -> None:
    rules = 'placeholders={"users.*.id": any_uuid}, arrays={"**.users": "each"}, ignore=["**.at", "**.score"]'
    run(pytester, users(rules), passed=1)
    assert "comparison" not in stored(pytester)
    run(pytester, users(rules, ids=IDS), "-Werror", passed=1)


# An update of what passes gives the file the placeholders of the code.


def test_update_writes_placeholders_of_a_passing_test(pytester: pytest.Pytester) -> None:
    run(pytester, users(rules=""), passed=1)
    before = stored(pytester)
    run(pytester, users(), "--baseline-update=new", passed=1)
    assert stored(pytester) == before
    result = run(pytester, users(at=2, tags=("b", "a")), "--baseline-update=changed", passed=1)
    result.stdout.fnmatch_lines([f"1 baseline updated: {FILE}"])
    after = [line for line in stored(pytester).splitlines() if "captured_at" not in line]
    expected = before.replace(f"id: {IDS[0]}", "id: <<any_uuid>>").replace(
        "metadata:", "comparison:\n  arrays:\n    users: ordered\nmetadata:"
    )
    assert after == [line for line in expected.splitlines() if "captured_at" not in line]
    result = run(pytester, users(at=3), "--baseline-update", passed=1)
    assert "updated" not in result.stdout.str()


def test_update_keeps_placeholders_of_the_file(pytester: pytest.Pytester) -> None:
    run(pytester, users(rules="", ids=IDS), passed=1)
    text = stored(pytester).replace(IDS[0], "<<any_string>>  # by hand")
    Path(pytester.path, FILE).write_text(text, encoding="utf-8")
    result = run(pytester, users(ids=IDS), "-Wdefault", "--baseline-update", passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*<<any_string>> in the file, which counts, and <<any_uuid>> in the test*"])
    assert "id: <<any_string>>  # by hand" in stored(pytester)
    assert stored(pytester).count("id: <<any_uuid>>") == 1


# What a failed test has kept is approved without a run of it.


@pytest.mark.parametrize("written_before", [True, False])
def test_refresh_keeps_rules_of_the_test(pytester: pytest.Pytester, written_before: bool) -> None:
    run(pytester, users(rules="") if written_before else users(), passed=1)
    run(pytester, users(name="Bob", ids=IDS, at=2, tags=("b", "a")), failed=1)
    done = pytester.run(sys.executable, "-m", "baselinekit", "refresh", "test_users.test_users", "--yes")
    assert done.ret == 0, done.stderr.str()
    done.stdout.fnmatch_lines(["next: pytest test_users.py::test_users"])
    assert stored(pytester).count("id: <<any_uuid>>") == 2
    again = users(name="Bob", ids=IDS[::-1], at=3, tags=("b", "a"))
    run(pytester, again, "-Werror", passed=1)
    run(pytester, users(name="Bob", ids=(*IDS, IDS[0])), failed=1)


def test_review_shows_rules_of_the_test(pytester: pytest.Pytester) -> None:
    run(pytester, users(rules=""), passed=1)
    run(pytester, users(name="Bob", at=2, tags=("b", "a")), failed=1)
    done = pytester.run(sys.executable, "-m", "baselinekit", "review")
    done.stdout.fnmatch_lines(["*users[[]0].id*", "*<<any_uuid>>*", "*users[[]0].name*", '*"Bob"*'])
    assert "score" not in done.stdout.str()
    assert "tags" not in done.stdout.str()


def test_rules_of_a_file_without_a_value_are_kept(pytester: pytest.Pytester) -> None:
    run(pytester, users(), passed=1)
    head, _, rest = stored(pytester).partition("baseline:\n")
    current = rest[rest.index("current:") : rest.index("comparison:")]
    rules = "comparison:  # mine\n  ignore_fields: [users.*.name]\n"
    Path(pytester.path, FILE).write_text(head + current + rules, encoding="utf-8")
    run(pytester, users(name="Bob"), passed=1)
    assert f"{rules}  arrays:\n    users: ordered\n" in stored(pytester)
    run(pytester, users(name="Eva"), passed=1)
    run(pytester, users(ids=IDS), failed=1)
