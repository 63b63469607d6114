"""`run` on a prompt folder as it is typed: its cases by name, its inputs in the order typed, its scripts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from promptfiles import META, prompt_folder

pytestmark = pytest.mark.slow

CONFIG = "models: {default: {command: [cat]}}\n"
GUARDED = CONFIG + "commands: {refactor-guard: [prompts/refactor/guard.sh]}\n"
EVALS = """\
cases:
  - {name: small file, inputs: {constraints: none}, assert: [contains: Refactor]}
  - {name: large file, inputs: {constraints: none}, assert: [contains: nothing of it]}
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselinekit.yaml").write_text(CONFIG)
        prompt_folder(terminal.folder, EVALS)
        yield terminal


def script(here: Console, text: str, name: str = "guard.sh") -> None:
    path = here.folder / "prompts/refactor" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def asked(here: Console, words: str) -> str:
    """What the model was asked about the large file: it answers with that."""
    ran = here.run(f"baselinekit run prompts/refactor --case 'large file' -o r.json {words}".strip())
    assert ran.exit_code == 1, ran.stderr + ran.stdout
    (result,) = json.loads((here.folder / "r.json").read_text())["results"]
    output: str = result["case"]["attempts"][0]["output"]
    return output.partition("Refactor ")[2].partition(".\n")[0]


def test_e13_cases_by_name(here: Console) -> None:
    ran = here.run("baselinekit run prompts/refactor --case 'small file'")
    assert (ran.exit_code, "1 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    both = here.run("baselinekit run prompts/refactor --case 'small file' --case 'large file'")
    assert (both.exit_code, "1 failed, 1 passed" in both.stdout) == (1, True)
    listed = here.run("baselinekit run refactor --case 'large file' --list")
    assert listed.exit_code == 0
    assert "1 of 2 cases" in listed.stdout
    assert "small" not in listed.stdout
    unknown = here.run("baselinekit run refactor --case 'small fil'")
    assert (unknown.exit_code, unknown.stdout) == (5, "")
    assert unknown.stderr == "BK509 there is no case 'small fil': did you mean 'small file'?\n"
    assert here.run("baselinekit run refactor --list --case x").exit_code == 5


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("", "src/foo.py"),
        ("--var file=typed", "typed"),
        ("--var-file file=text.md", "of a {{file}}\nof two lines"),
        ("--var-file values.yml", "of the mapping"),
        ("--var-file values.json", "of the other"),
        ("--var-file values.json --var file=mid --var-file values.yml", "of the mapping"),
        ("--var file=first --var-file values.yml", "of the mapping"),
        ("--var-file values.yml --var file=last", "last"),
        ("--var-file=values.yml --var-file values.json --var constraints=x", "of the other"),
        ("--var file=typed --var other=x", "typed"),
        ("--var file=", ""),
        ("--var file={{constraints}}", "{{constraints}}"),
    ],
)
def test_e23_the_later_typed_of_two_inputs_counts(here: Console, words: str, file: str) -> None:
    (here.folder / "text.md").write_text("of a {{file}}\nof two lines")
    (here.folder / "values.yml").write_text("file: of the mapping\n")
    (here.folder / "values.json").write_text('{"file": "of the other"}')
    assert asked(here, words) == file


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--var-file none.yml", "--var-file none.yml cannot be read"),
        ("--var-file file=none.md", "--var-file none.md cannot be read"),
        ("--var-file notes.md", "--var-file 'notes.md' is neither NAME=FILE nor a file of values"),
        ("--var-file list.yml", "--var-file list.yml is not a mapping"),
        ("--var-file names.yml", "--var-file names.yml: 'a b' is not the name of a variable"),
        ("--var-file broken.yml", "broken.yml:1:"),
        ("--var-file ''", "--var-file '' is neither"),
        ("--var file", "--var 'file' is not NAME=VALUE"),
    ],
)
def test_what_is_wrong_with_a_typed_input(here: Console, words: str, message: str) -> None:
    (here.folder / "list.yml").write_text("[a, b]")
    (here.folder / "names.yml").write_text("a b: c")
    (here.folder / "broken.yml").write_text("a: [")
    ran = here.run(f"baselinekit run prompts/refactor {words}")
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert message in ran.stderr


def test_a_typed_file_of_values_gives_variables_to_other_commands_too(here: Console) -> None:
    (here.folder / "values.yml").write_text("name: ada\n")
    (here.folder / "a.yaml").write_text(
        "id: a\nbaseline: {output: it is ada}\ncurrent: {input: 'it is {{name}}', execution: {type: echo}}\n"
    )
    assert "is not defined" in here.run("baselinekit compare a.yaml").stdout
    ran = here.run("baselinekit compare a.yaml --var-file values.yml")
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_e23_a_script_that_nobody_allows_is_refused_before_anything_is_asked(here: Console) -> None:
    script(here, "touch ran; echo file=guarded")
    for words in ("", "--case 'small file'"):
        ran = here.run(f"baselinekit run prompts/refactor {words}".strip())
        assert (ran.exit_code, ran.stdout) == (4, ""), ran.stdout
        assert ran.stderr.startswith("BK403 prompts/refactor/guard.sh: the script is not named")
        assert len(ran.stderr.splitlines()) == 1
    listed = here.run("baselinekit run prompts/refactor --list")
    assert (listed.exit_code, listed.stderr) == (0, ""), "a list runs nothing"
    assert "2 cases" in listed.stdout
    assert not (here.folder / "prompts/refactor/ran").exists()
    assert asked(here, "--allow-exec") == "guarded"
    (here.folder / "baselinekit.yaml").write_text(GUARDED)
    assert asked(here, "") == "guarded"
    assert asked(here, "--var file=typed") == "guarded", "what the script prints goes before"


def test_e23_doctor_tells_who_allows_a_script(here: Console) -> None:
    script(here, "exit 0")
    script(here, "exit 0", "verify.sh")
    (here.folder / "baselinekit.yaml").write_text(GUARDED)
    said = here.run("baselinekit doctor --ci").stdout
    assert (
        "script prompts/refactor/guard.sh: allowed by `commands: refactor-guard` in baselinekit.yaml\n"
        in said
    )
    assert "script prompts/refactor/verify.sh: allowed by no one: a run is refused (exit 4)\n" in said
    told = json.loads(here.run("baselinekit doctor --ci --json").stdout)
    assert (
        "script prompts/refactor/verify.sh: allowed by no one: a run is refused (exit 4)" in told["allowed"]
    )
    named = here.run("baselinekit doctor prompts/refactor --ci")
    assert "note: BK403 prompts/refactor/verify.sh" in named.stdout
    allowed = here.run("baselinekit doctor --ci --allow-exec").stdout
    assert "script prompts/refactor/verify.sh: allowed by --allow-exec\n" in allowed


def test_e23_a_pull_request_that_adds_a_script_adds_no_capability(here: Console) -> None:
    git = "git -c user.name=x -c user.email=x@example.com"
    here.run(f"git init -q -b main && {git} add -A && {git} commit -q -m one")
    script(here, "touch ran; echo file=guarded")
    (here.folder / "baselinekit.yaml").write_text(GUARDED)  # as the pull request would have it
    here.run(f"{git} add -A && {git} commit -q -m two")
    ran = here.run("CI=1 baselinekit run prompts/refactor --config-from main~1")
    assert (ran.exit_code, ran.stdout) == (4, "")
    assert "BK403 prompts/refactor/guard.sh" in ran.stderr
    assert not (here.folder / "prompts/refactor/ran").exists()
    said = here.run("CI=1 baselinekit doctor --ci --config-from main~1").stdout
    assert "script prompts/refactor/guard.sh: allowed by no one" in said
    assert here.run("CI=1 baselinekit run prompts/refactor --config-from main").exit_code == 1
    said = here.run("CI=1 baselinekit doctor --ci --config-from main").stdout
    assert "allowed by `commands: refactor-guard` in baselinekit.yaml as of main" in said


@pytest.mark.parametrize("form", ["x.json", "x.html", "x.md", "x.xml", "x.eval.json"])
def test_e23_a_failed_verify_is_told_in_every_report(here: Console, form: str) -> None:
    script(here, "echo the build broke; exit 1", "verify.sh")
    ran = here.run(f"baselinekit run prompts/refactor --case 'small file' --allow-exec -o {form}")
    told = "prompts/refactor/verify.sh ended with exit code 1; it said: the build broke"
    assert ran.exit_code == 0
    assert f"warning refactor/small-file: not verified: {told}" in ran.stdout
    assert told in (here.folder / form).read_text().replace("\\", ""), form


def test_what_a_prompt_needs_and_nobody_gives_is_told_beforehand(here: Console) -> None:
    meta = META.replace("    default: src/foo.py\n", "")
    (here.folder / "prompts/refactor/meta.yml").write_text(meta)
    ran = here.run("baselinekit run prompts/refactor")
    assert ran.exit_code == 2
    assert "gives no value for {{file}}" in ran.stderr
    assert "--var file=…" in ran.stderr
    assert here.run("baselinekit run prompts/refactor --var file=x --list").exit_code == 0
