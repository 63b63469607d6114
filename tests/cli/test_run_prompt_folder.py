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
def project(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselinekit.yaml").write_text(CONFIG)
        prompt_folder(terminal.folder, EVALS)
        yield terminal


def script(project: Console, text: str, name: str = "guard.sh") -> None:
    path = project.folder / "prompts/refactor" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def run_large_file(project: Console, words: str) -> str:
    """What the model was asked about the large file: it answers with that."""
    ran = project.run(f"baselinekit run prompts/refactor --case 'large file' -o r.json {words}".strip())
    assert ran.exit_code == 1, ran.stderr + ran.stdout
    (result,) = json.loads((project.folder / "r.json").read_text())["results"]
    output: str = result["case"]["attempts"][0]["output"]
    return output.partition("Refactor ")[2].partition(".\n")[0]


INPUTS = [
    ("", "src/foo.py"),
    ("--var file=typed --var other=x", "typed"),
    ("--var-file file=text.md", "of a {{file}}\nof two lines"),
    ("--var-file values.json --var file=mid --var-file values.yml", "of the mapping"),
    ("--var-file values.yml --var file=last", "last"),
    ("--var-file=values.yml --var-file values.json --var constraints=x", "of the other"),
    ("--var file=", ""),
    ("--var file={{constraints}}", "{{constraints}}"),
]
WRONG = [
    ("--var-file none.yml", "--var-file none.yml cannot be read"),
    ("--var-file file=none.md", "--var-file none.md cannot be read"),
    ("--var-file notes.md", "--var-file notes.md cannot be read"),
    ("--var-file list.yml", "--var-file list.yml is not a mapping"),
    ("--var-file names.yml", "--var-file: 'a b' is not the name of a variable"),
    ("--var-file broken.yml", "broken.yml:1:"),
    ("--var file", "--var 'file' is not NAME=VALUE"),
]


def test_e23_run_takes_the_later_of_two_inputs_and_refuses_wrong_ones(project: Console) -> None:
    files = {"text.md": "of a {{file}}\nof two lines", "values.yml": "file: of the mapping\n"}
    files |= {"values.json": '{"file": "of the other"}', "list.yml": "[a, b]", "names.yml": "a b: c"}
    for name, text in {**files, "broken.yml": "a: ["}.items():
        (project.folder / name).write_text(text)
    for words, file in INPUTS:
        assert run_large_file(project, words) == file, words
    for words, message in WRONG:
        ran = project.run(f"baselinekit run prompts/refactor {words}")
        assert (ran.exit_code, ran.stdout, message in ran.stderr) == (2, "", True), ran.stderr
    meta = META.replace("    default: src/foo.py\n", "")
    (project.folder / "prompts/refactor/meta.yml").write_text(meta)
    ran = project.run("baselinekit run prompts/refactor")
    assert (ran.exit_code, "the template uses {{file}}, which is not an input" in ran.stderr) == (2, True)
    assert "by --input or --var file=…" in ran.stderr
    assert project.run("baselinekit run prompts/refactor --var file=x --list").exit_code == 0


def test_compare_takes_variables_from_a_file_of_values(project: Console) -> None:
    (project.folder / "values.yml").write_text("name: ada\n")
    (project.folder / "a.yaml").write_text(
        "id: a\nbaseline: {output: it is ada}\ncurrent: {input: 'it is {{name}}', execution: {type: echo}}\n"
    )
    assert "is not defined" in project.run("baselinekit compare a.yaml").stdout
    ran = project.run("baselinekit compare a.yaml --var-file values.yml")
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_e23_run_refuses_a_script_that_is_not_allowed(project: Console) -> None:
    script(project, "touch ran; echo file=guarded")
    for words in ("", "--case 'small file'"):
        ran = project.run(f"baselinekit run prompts/refactor {words}".strip())
        assert (ran.exit_code, ran.stdout) == (4, ""), ran.stdout
        assert ran.stderr.startswith("BK403 prompts/refactor/guard.sh: the script is not named")
        assert len(ran.stderr.splitlines()) == 1
    listed = project.run("baselinekit run prompts/refactor --list")
    assert (listed.exit_code, listed.stderr) == (0, ""), "a list runs nothing"
    assert "2 cases" in listed.stdout
    assert not (project.folder / "prompts/refactor/ran").exists()
    assert run_large_file(project, "--allow-exec") == "guarded"
    (project.folder / "baselinekit.yaml").write_text(GUARDED)
    assert run_large_file(project, "") == "guarded"
    assert run_large_file(project, "--var file=typed") == "guarded", "what the script prints goes before"


def test_e23_run_with_config_from_ignores_what_a_change_allows(project: Console) -> None:
    git = "git -c user.name=x -c user.email=x@example.com"
    project.run(f"git init -q -b main && {git} add -A && {git} commit -q -m one")
    script(project, "touch ran; echo file=guarded")
    (project.folder / "baselinekit.yaml").write_text(GUARDED)  # as the pull request would have it
    project.run(f"{git} add -A && {git} commit -q -m two")
    ran = project.run("CI=1 baselinekit run prompts/refactor --config-from main~1")
    assert (ran.exit_code, ran.stdout) == (4, "")
    assert "BK403 prompts/refactor/guard.sh" in ran.stderr
    assert not (project.folder / "prompts/refactor/ran").exists()
    output = project.run("CI=1 baselinekit doctor --ci --config-from main~1").stdout
    assert "script prompts/refactor/guard.sh: allowed by no one" in output
    assert project.run("CI=1 baselinekit run prompts/refactor --config-from main").exit_code == 1
    output = project.run("CI=1 baselinekit doctor --ci --config-from main").stdout
    assert "allowed by `commands: refactor-guard` in baselinekit.yaml as of main" in output


def test_e23_run_reports_a_failed_verify_in_every_form(project: Console) -> None:
    script(project, "echo the build broke; exit 1", "verify.sh")
    names = ["x.json", "x.html", "x.md", "x.xml", "x.eval.json"]
    outputs = " ".join(f"-o {name}" for name in names)
    ran = project.run(f"baselinekit run prompts/refactor --case 'small file' --allow-exec {outputs}")
    message = "prompts/refactor/verify.sh ended with exit code 1; it wrote: the build broke"
    assert ran.exit_code == 0
    assert f"warning refactor/small-file: not verified: {message}" in ran.stdout
    pages = {name: (project.folder / name).read_text().replace("\\", "") for name in names}
    assert [name for name, page in pages.items() if message not in page] == []
