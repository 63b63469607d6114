"""The scripts around an attempt, really run: their inputs, their output and their exit codes."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from promptfiles import META, TEMPLATE
from scripted import CASE, GUARD, VERIFY, Scripted, attempt_of

from baselinekit.errors import InvalidInput
from baselinekit.eva.scripts import values_in

pytestmark = pytest.mark.slow


def asked_file(world: Scripted) -> str:
    found = re.search(r"Refactor (.*)\.\n", world.prompt())
    assert found
    return found[1]


def test_e3_case_runs_guard_model_verify_checks_judge_in_order(tmp_path: Path) -> None:
    evals = """\
triggering: {should_match: [refactor this]}
cases:
  - {name: one, inputs: {}, assert: [contains: total], rubric: is it kind?}
  - {name: two, inputs: {}, assert: [contains: missing], rubric: is it kind?}
"""
    world = Scripted(tmp_path, "echo constraints=of the guard", "exit 0", evals)
    report = world.go(jobs=1)
    assert [result.name for result in report.results] == ["refactor this", "one", "two"]
    first = ["guard.sh", "model", "verify.sh"]
    assert world.order == ["judge", *first, "judge", *first], "a case that fails by rules is not judged"
    assert "of the guard" in world.asked[1].messages[-1].content
    assert [result.outcome for result in report.results] == ["passed", "passed", "failed"]


def test_e23_script_runs_in_its_folder_with_named_variables_only(tmp_path: Path) -> None:
    os.environ["NOT_FOR_SCRIPTS"] = "secret of the operator"
    try:
        save = 'env | sort > seen; cat "$EVA_OUTPUT_FILE" > answer; pwd > folder'
        world = Scripted(tmp_path, "env | sort > before", save)
        world.answer = "a total\nwith ümlaut\n"
        attempt = world.attempt()
    finally:
        del os.environ["NOT_FOR_SCRIPTS"]
    assert (attempt.outcome, attempt.sent, attempt.verified, attempt.notes) == ("passed", True, True, ())
    assert (world.folder / "answer").read_text() == "a total\nwith ümlaut\n"
    assert (world.folder / "folder").read_text().strip() == os.path.realpath(world.folder)
    before = dict(line.split("=", 1) for line in (world.folder / "before").read_text().splitlines())
    after = dict(line.split("=", 1) for line in (world.folder / "seen").read_text().splitlines())
    own = {name: value for name, value in before.items() if name.startswith("EVA_")}
    variables = {"constraints": "none", "CONSTRAINTS": "none", "file": "src/foo.py", "FILE": "src/foo.py"}
    stated = {f"EVA_VAR_{name}": value for name, value in variables.items()}
    assert own == {"EVA_PROMPT_ID": "refactor", "EVA_CASE": "one", **stated}
    assert not os.path.exists(after.pop("EVA_OUTPUT_FILE")), "the answer is there as long as the script runs"
    assert {name: value for name, value in after.items() if name.startswith("EVA_")} == own
    assert "NOT_FOR_SCRIPTS" not in before
    assert "PATH" in before


@pytest.mark.parametrize(
    ("verify", "verified", "note"),
    [
        (None, None, ""),
        ("echo a >&2; exit 7", False, f"not verified: {VERIFY} ended with exit code 7; it wrote: a"),
        ("kill -9 $$", False, f"not verified: {VERIFY} was killed by signal 9"),
    ],
)
def test_e23_exit_code_of_verify_is_noted_beside_the_verdict(
    tmp_path: Path, verify: str | None, verified: bool | None, note: str
) -> None:
    report = Scripted(tmp_path, verify=verify).go()
    (result,) = report.results
    attempt = attempt_of(result)
    assert (attempt.verified, attempt.notes) == (verified, (note,) if note else ())
    assert result.outcome == "passed", "the verdict is that of the assertions and the judge"
    assert report.warnings == ((f"refactor/one: {note}",) if note else ())


def test_e23_guard_that_fails_ends_the_attempt_before_anything_is_sent(tmp_path: Path) -> None:
    world = Scripted(tmp_path, "echo first >&2; echo no branch >&2; exit 3", "exit 0")
    report = world.go()
    (result,) = report.results
    attempt = attempt_of(result)
    assert world.order == ["guard.sh"]
    assert (attempt.outcome, attempt.code, attempt.sent, attempt.verified) == ("error", "BK323", False, None)
    assert attempt.reason.startswith(
        f"nothing was sent: {GUARD} ended with exit code 3; it wrote: first; no branch: "
    )
    assert report.exit_code == 3


@pytest.mark.parametrize(
    ("printed", "file"),
    [
        ("file=a.py\\nfile=b.py", "b.py"),
        ("file= a b ", " a b "),
        ("file=a.py\\r\\nx", "a.py"),
        ("file=\\\\{{file}} <<any>> {x}", "\\{{file}} <<any>> {x}"),
        (" file=a.py", "src/foo.py"),
        ("export file=a.py", "src/foo.py"),
    ],
)
def test_e23_lines_that_guard_prints_are_inputs(tmp_path: Path, printed: str, file: str) -> None:
    world = Scripted(tmp_path, f"printf '{printed}'")
    world.attempt()
    assert asked_file(world) == file


def test_e23_inputs_take_precedence_from_declaration_to_guard(tmp_path: Path) -> None:
    evals = """\
cases:
  - name: one
    inputs_from: examples/happy-path
    inputs: {c: case, d: case, e: case}
    assert: [contains: total]
"""
    names = "abcde"
    meta = META.partition("inputs:")[0] + "inputs:\n"
    meta += "".join(f"  - {{name: {name}, default: declared}}\n" for name in names)
    template = " ".join(f"{{{{{name}}}}}" for name in names)
    inputs = "".join(f"{name}: file\n" for name in "bcde")
    world = Scripted(tmp_path, "echo e=guard", None, evals, meta=meta, template=template, inputs=inputs)
    world.operator = {"variables": {"d": "operator", "e": "operator", "other": "variable"}}
    world.attempt()
    assert world.prompt() == "declared file case operator guard"
    variables = world.specs[0].env
    assert [variables[f"EVA_VAR_{name}"] for name in names] == ["declared", "file", "case", *["operator"] * 2]
    assert "EVA_VAR_other" not in variables


def test_e23_inputs_and_variables_of_scripts_and_prompt(tmp_path: Path) -> None:
    world = Scripted(tmp_path, "echo checking the tree; echo done; echo tone=guard")
    world.operator = {"variables": {"tone": "{{constraints}}", "constraints": "{{tone}}"}}
    assert world.attempt().notes == (
        f"{GUARD} printed 2 lines without NAME=VALUE: checking the tree",
        f"{GUARD} printed tone, which is not an input of the prompt",
    )
    assert "<constraints>{{tone}}</constraints>" in world.prompt()
    template = TEMPLATE + "{{tone}}"
    undeclared = Scripted(
        tmp_path / "two", "echo tone=guard", template=template, meta=META.partition("inputs:")[0]
    )
    undeclared.operator = {"variables": {"tone": "typed", "file": "a"}}
    undeclared.attempt()
    assert undeclared.prompt().endswith("guard"), "without a declaration the names of the template count"
    meta = META + "  - {name: branch-name, default: main}\n"
    unused = Scripted(tmp_path / "three", "exit 0", "exit 0", meta=meta)  # an input for the scripts only
    unused.operator = {"variables": {"file": "x" * 200_000, "constraints": "a\0b"}}
    attempt = unused.attempt()
    environments = [{name for name in spec.env if name.startswith("EVA_VAR_")} for spec in unused.specs]
    assert environments == [{"EVA_VAR_branch_name", "EVA_VAR_BRANCH_NAME"}] * 2
    assert attempt.outcome == "passed"
    assert len(unused.prompt()) > 200_000
    for name in ("constraints", "file"):
        reason = "it is too long, or has a NUL character"
        assert f"{GUARD} does not get the input {name} in its environment: {reason}" in attempt.notes


def test_e23_input_that_only_guard_prints_is_no_problem_beforehand(tmp_path: Path) -> None:
    meta = META.replace("    default: src/foo.py\n", "")
    world = Scripted(tmp_path, "echo file=found.py", meta=meta)
    assert world.attempt().outcome == "passed"
    assert asked_file(world) == "found.py"
    world.script("guard.sh", "exit 0")
    attempt = world.attempt()
    assert (attempt.outcome, attempt.code, attempt.sent) == ("error", "BK501", False)
    assert "{{file}}" in attempt.reason
    os.unlink(world.folder / "guard.sh")
    with pytest.raises(InvalidInput, match="file"):
        world.go()


def test_x6_scripts_share_the_time_of_their_case(tmp_path: Path) -> None:
    world = Scripted(tmp_path, "sleep 0.3", "exit 0")
    world.attempt()
    guard, verify = (spec.timeout for spec in world.specs)
    assert 59 < guard <= 60
    assert guard - verify >= 0.3
    (world.folder / "eval.yml").write_text(CASE.replace("name: one", "name: one, timeout_s: 7"))
    world.attempt()
    assert 6 < world.specs[-2].timeout <= 7


def test_note_of_several_cases_is_one_warning(tmp_path: Path) -> None:
    cases = (f"  - {{name: c{n}, inputs: {{}}, assert: [contains: total]}}\n" for n in range(4))
    report = Scripted(tmp_path, "echo hello", "exit 1", f"cases:\n{''.join(cases)}").go(attempts=2)
    assert report.warnings == (
        f"refactor/c0: not verified: {VERIFY} ended with exit code 1",
        f"refactor/c0: {GUARD} printed 1 line without NAME=VALUE: hello",
    )


def test_run_that_resumes_runs_no_script_again(tmp_path: Path) -> None:
    evals = CASE + "  - {name: two, inputs: {}, assert: [contains: total]}\n"
    world = Scripted(tmp_path, "echo file=a", "exit 4", evals)
    world.stops = True
    first = world.go(jobs=1)
    assert first.interrupted
    assert world.order == ["guard.sh", "model", "verify.sh"]
    again = Scripted(tmp_path, "echo file=a", "exit 4", evals)
    second = again.go(jobs=1, resume=True)
    assert again.order == ["guard.sh", "model", "verify.sh"], "of the other case only"
    known = attempt_of(second.results[0])
    assert (known.sent, known.verified) == (True, False)
    assert known.notes == (f"not verified: {VERIFY} ended with exit code 4",)
    prints = [result.case.fingerprint for result in second.results if result.case]
    again.script("verify.sh", "exit 4 # with a comment")  # a changed script makes other attempts
    assert prints != [result.case.fingerprint for result in again.go().results if result.case]


@given(st.lists(st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=["Cs"]))))
def test_values_in_reads_each_line_as_a_whole(values: list[str]) -> None:
    printed = "\n".join(f"n{number}={value}" for number, value in enumerate(values))
    assert values_in(printed) == ({f"n{number}": value for number, value in enumerate(values)}, [])
