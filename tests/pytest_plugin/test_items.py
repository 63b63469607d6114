"""`pytest --baselinekit`: baselines as items of pytest. Each outcome is that of `baselinekit compare`, and
what is shown is what its terminal shows."""

import json
from collections.abc import Sequence
from xml.etree import ElementTree

import pytest
from console import console

pytestmark = pytest.mark.slow

NOBODY = "http://127.0.0.1:9"
PASSES = """\
id: passes
name: The sum of all
baseline: {output: {sum: 3}}
current: {input: {sum: 3}, execution: {type: echo}}
metadata: {tags: [sums, smoke-test], criticality: critical}
"""
FAILS = """\
# a comment
id: fails
baseline:
  output:
    sum: 4
    name: one
current: {input: {sum: 3, name: one}, execution: {type: echo}}
metadata: {tags: [sums]}
"""
UNREACHABLE = f"""\
id: unreachable
baseline: {{output: {{status: 200}}}}
current: {{input: {{endpoint: /x}}, execution: {{type: http, base_url: "{NOBODY}", retries: 0}}}}
---
id: out-for-lunch
baseline: {{output: {{status: 200}}}}
current: {{input: {{endpoint: /x}}, execution: {{type: http, base_url: "{NOBODY}"}}}}
metadata: {{skip: until the new year}}
"""
DRAFT = "id: draft\ncurrent: {input: 1, execution: {type: echo}}\n"
ALL = {"a/passes.yaml": PASSES, "a/fails.yaml": FAILS, "b/far.yaml": UNREACHABLE, "b/draft.yaml": DRAFT}
CONFIG = "version: 1\n"


def lay(pytester: pytest.Pytester, baselines: dict[str, str], **others: str) -> None:
    """A project with these files of baselines, and others by their names."""
    files = {f"baselines/{name}": text for name, text in baselines.items()}
    files |= {"baselinekit.yaml": CONFIG, "pytest.ini": "[pytest]\n"} | {
        name.replace("__", "/"): text for name, text in others.items()
    }
    for name, text in files.items():
        path = pytester.path / (name if "." in name else f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("--baselinekit", "-W", "default", "-p", "no:cacheprovider", *args)


def ids(result: pytest.RunResult) -> list[str]:
    """Of `--collect-only -q`."""
    return [line for line in result.outlines if "::" in line]


def test_items_keep_the_five_outcomes_apart(pytester: pytest.Pytester) -> None:
    lay(pytester, ALL)
    result = run(pytester, "-rsfE")
    result.assert_outcomes(passed=1, failed=1, errors=2, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "FAILED baselines/a/fails.yaml::fails - differs at sum",
            "ERROR baselines/b/draft.yaml::draft - BK223 it has no stored output yet: *",
            "ERROR baselines/b/far.yaml::unreachable - BK301 *",
        ],
        consecutive=False,
    )
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] baselines/b/far.yaml:5: until the new year"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.slow
def test_items_show_a_difference_as_the_terminal_does(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a/fails.yaml": FAILS})
    with console(pytester.path / "elsewhere") as terminal:
        terminal.folder.rmdir()
        (pytester.path / "elsewhere").symlink_to(pytester.path)
        shown_before = terminal.run("baselinekit compare --no-record").stdout
    shown = run(pytester).stdout.str()
    failure = shown_before.partition("\n\n1 failed")[0]
    assert "baselines/a/fails.yaml:5" in failure
    assert failure in shown
    for command in (line for line in shown_before.splitlines() if line.startswith("next: ")):
        assert command in shown
    assert "Traceback" not in shown
    assert "items.py" not in shown


def test_items_have_the_same_outcomes_without_a_terminal(pytester: pytest.Pytester) -> None:
    lay(pytester, ALL)
    result = pytester.inline_run("--baselinekit", "-p", "no:terminal")
    passed, skipped, failed = result.listoutcomes()
    assert [len(passed), len(skipped), len(failed)] == [1, 1, 3]


def test_items_and_tests_are_in_one_junit_file(pytester: pytest.Pytester) -> None:
    lay(pytester, ALL, tests__test_one="def test_one(): pass\n")
    run(pytester, "--junitxml=all.xml").assert_outcomes(passed=2, failed=1, errors=2, skipped=1)
    (suite,) = ElementTree.parse(pytester.path / "all.xml").getroot()
    cases = {case.get("name"): [(child.tag, child.get("message")) for child in case] for case in suite}
    assert cases["test_one"] == cases["passes"] == []
    assert cases["fails"] == [("failure", "differs at sum")]
    assert cases["out-for-lunch"] == [("skipped", "until the new year")]
    ((tag, message),) = cases["unreachable"]
    assert tag == "error"
    assert str(message).startswith('failed on setup with "BK301 ')
    (failure,) = (case for case in suite if case.get("name") == "fails")
    assert "baselines/a/fails.yaml:5" in "".join(failure.itertext())


@pytest.mark.parametrize(
    ("args", "chosen"),
    [
        ([], "passes fails unreachable out-for-lunch draft"),
        (["-k", "sums and not fails"], "passes"),
        (["-m", "sums and not smoke-test"], "fails"),
        (["baselines/b/far.yaml::out-for-lunch"], "out-for-lunch"),
        (["--deselect", "baselines/a/passes.yaml::passes", "-m", "sums"], "fails"),
    ],
)
def test_items_are_selected_as_tests_are(pytester: pytest.Pytester, args: Sequence[str], chosen: str) -> None:
    lay(pytester, ALL)
    found = ids(run(pytester, "--collect-only", "-q", *args))
    assert sorted(id.partition("::")[2] for id in found) == sorted(chosen.split())
    assert all(id.startswith("baselines/") for id in found)


@pytest.mark.parametrize("tag", ["parametrize", "a b"])
def test_items_with_a_tag_named_as_a_mark_of_pytest(pytester: pytest.Pytester, tag: str) -> None:
    lay(pytester, {"a.yaml": FAILS.replace("[sums]", f'["{tag}"]')})
    run(pytester, "--strict-markers").assert_outcomes(failed=1)


def test_items_are_collected_outside_testpaths(pytester: pytest.Pytester) -> None:
    ini = "[pytest]\ntestpaths = tests\n"
    lay(
        pytester,
        {"a/a.yaml": PASSES, "b.yaml": FAILS},
        tests__test_one="def test_one(): pass\n",
        **{"pytest.ini": ini},
    )
    run(pytester).assert_outcomes(passed=2, failed=1)
    run(pytester, "tests").assert_outcomes(passed=1)
    run(pytester, ".").assert_outcomes(passed=2, failed=1)
    run(pytester, "baselines/a").assert_outcomes(passed=1)
    run(pytester, "--ignore=baselines/a").assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("files", "messages"),
    [
        (
            {"a.yaml": PASSES.replace("echo", "ecco")},
            ["BK105 baselines/a.yaml:4:46: *'ecco'*: did you mean 'echo'?*"],
        ),
        (
            {"a.yaml": PASSES, "b.yaml": PASSES},
            ["BK109 baselines/b.yaml:1:5: the id 'passes' occurs twice: 'passes' is at *"],
        ),
    ],
)
def test_items_of_a_wrong_file_are_errors_of_the_collection(
    pytester: pytest.Pytester, files: dict[str, str], messages: Sequence[str]
) -> None:
    """With its place and what to do, and nothing is replayed."""
    lay(pytester, files | {"z.yaml": FAILS})
    result = run(pytester)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [*messages, "next: baselinekit explain BK*", "*Interrupted: 1 error during collection*"]
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert ".py" not in result.stdout.str().partition("= ERRORS =")[2]
    going_on = run(pytester, "--continue-on-collection-errors")
    assert going_on.parseoutcomes()["failed"] == 1


def test_items_with_a_wrong_configuration_are_a_usage_error(pytester: pytest.Pytester) -> None:
    lay(pytester, ALL, **{"baselinekit.yaml": "version: 1\nbase_ur: x\n"})
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: BK103 baselinekit.yaml:2:1: *did you mean 'base_url'?*"])


@pytest.mark.slow
def test_items_write_no_baseline_and_keep_answers_for_refresh(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a.yaml": FAILS, "b.yaml": PASSES})
    before = (pytester.path / "baselines" / "a.yaml").read_bytes()
    run(pytester).assert_outcomes(passed=1, failed=1)
    assert (pytester.path / "baselines" / "a.yaml").read_bytes() == before
    assert (pytester.path / "baselines" / "b.yaml").read_text("utf-8") == PASSES
    with console(pytester.path / "x") as terminal:
        ran = terminal.run(f"cd {pytester.path} && baselinekit refresh fails --yes")
    assert ran.exit_code == 0, ran.stderr
    run(pytester).assert_outcomes(passed=2)


def test_items_warn_of_a_rule_that_matches_nothing(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a.yaml": PASSES + "comparison: {ignore_fields: [nothing.*.at]}\n"})
    result = run(pytester)
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*BaselineWarning: passes: *nothing.[*].at*"])
    strict = run(pytester, "-W", "error")
    strict.assert_outcomes(errors=1)
    assert "items.py" not in strict.stdout.str()


def test_items_that_write_run_last(pytester: pytest.Pytester) -> None:
    """It would show in what others read."""
    writes = (
        "id: a-write\nbaseline: {output: {status: 200}}\n"
        "current: {input: {method: POST, endpoint: /x}, "
        f"execution: {{type: http, base_url: '{NOBODY}', retries: 0}}}}\n"
    )
    lay(pytester, {"0.yaml": writes, "a.yaml": PASSES}, tests__test_one="def test_one(): pass\n")
    result = run(pytester, "-v")
    lines = [line for line in result.outlines if "::" in line and "%]" in line]
    assert lines[-1].startswith("baselines/0.yaml::a-write ERROR")


@pytest.mark.slow
def test_items_leave_out_baselines_of_tests(pytester: pytest.Pytester) -> None:
    """By a compare as well: a project in which tests have baselines is no run with errors."""
    of_test = (
        "id: of-a-test\nbaseline: {output: 1}\n"
        "current: {input: {test: 'tests/test_a.py::test_one'}, execution: {type: pytest}}\n"
    )
    lay(pytester, {"a.yaml": PASSES, "tests/test_a/test_one.yaml": of_test})
    run(pytester).assert_outcomes(passed=1)
    with console(pytester.path / "x") as terminal:
        ran = terminal.run(f"cd {pytester.path} && baselinekit compare --no-record -o results.json")
    assert ran.exit_code == 0
    report = json.loads((pytester.path / "results.json").read_text("utf-8"))
    shown_before = {result["id"]: result for result in report["results"]}
    assert shown_before["passes"]["outcome"] == "passed"
    assert shown_before["of-a-test"]["outcome"] == "skipped"
    assert shown_before["of-a-test"]["reason"] == "its test compares it: pytest tests/test_a.py::test_one"


# What is said of the replays, as on the command line.

SUM = PASSES.replace("input: {sum: 3}", 'input: {sum: "{{sum}}"}').replace("{sum: 3}", '{sum: "3"}')
PROGRAM = """\
id: program
baseline: {output: {exit_code: 0, stdout: "3\\n"}}
current: {input: {argv: [echo, "3"]}, execution: {type: command}}
"""


def test_items_take_variables_from_options_files_and_environments(pytester: pytest.Pytester) -> None:
    config = "version: 1\nvariables: {sum: four}\nenvironments: {good: {variables: {sum: '3'}}}\n"
    lay(pytester, {"a.yaml": SUM}, **{"baselinekit.yaml": config})
    (pytester.path / "sums").write_text("sum=3\n", "utf-8")
    run(pytester).assert_outcomes(failed=1)
    for option in (
        "--baselinekit-var=sum=3",
        "--baselinekit-env-file=sums",
        "--baselinekit-environment=good",
    ):
        run(pytester, option).assert_outcomes(passed=1)
    (pytester.path / "pytest.ini").write_text(f"[pytest]\naddopts = {option}\n", "utf-8")
    run(pytester).assert_outcomes(passed=1)
    pytester.runpytest_inprocess().assert_outcomes()  # no baseline is collected, and the ini file may name it


def test_items_with_options_name_them_in_the_next_command(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a.yaml": SUM, "b.yaml": PROGRAM})
    run(pytester).stdout.fnmatch_lines(["*BK4*--allow-exec*"])
    result = run(pytester, "--baselinekit-var", "sum=4", "--baselinekit-allow-exec")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*next: baselinekit compare --id passes -v --var sum=4 --allow-exec"])


def test_items_record_and_replay_answers_of_models(pytester: pytest.Pytester) -> None:
    """What they answered is recorded, and taken from there."""
    config = "version: 1\nmodels: {default: {command: [cat, answer.txt]}}\n"
    asks = """\
id: asks
baseline: {output: It is three.}
current: {input: {text: What is it?}, execution: {type: prompt}}
"""
    lay(pytester, {"a.yaml": asks}, **{"baselinekit.yaml": config, "answer.txt": "It is three."})
    run(pytester, "--baselinekit-record-calls=cassettes").assert_outcomes(passed=1)
    (pytester.path / "answer.txt").unlink()
    run(pytester, "--baselinekit-offline=cassettes").assert_outcomes(passed=1)
    run(pytester, "--baselinekit-offline=elsewhere").assert_outcomes(errors=1)
    both = run(pytester, "--baselinekit-offline=a", "--baselinekit-record-calls=b")
    assert both.ret == pytest.ExitCode.USAGE_ERROR
    both.stderr.fnmatch_lines(["*BK508 --offline asks no model*"])


def test_items_show_no_secret(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a.yaml": SUM.replace('sum: "3"', "sum: other")})
    result = run(pytester, "--baselinekit-secret", "sum=hunter2-hunter2")
    result.assert_outcomes(failed=1)
    assert "hunter2" not in result.stdout.str()


def test_option_without_baselinekit_is_a_usage_error(pytester: pytest.Pytester) -> None:
    lay(pytester, {"a.yaml": PASSES})
    result = pytester.runpytest_inprocess("--baselinekit-var", "sum=3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--baselinekit-var is about collected baselines: add --baselinekit"])
