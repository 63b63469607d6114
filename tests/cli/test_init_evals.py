"""`baselinekit init --eval`: folders, files and a small suite that runs as it is; nothing is overwritten."""

from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

NAMES = [
    *(".gitignore", "baselines/sentence.txt", "capability/strings.yaml", "config/graders.yaml"),
    *("config/thresholds.yaml", "eval-suite.yaml", "regression/sentence.yaml"),
]


@pytest.fixture
def here(tmp_path: Path):
    with console(tmp_path / "project") as terminal:
        yield terminal


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_h64_what_it_makes_runs_and_guards(here: Console) -> None:
    made = here.run("baselinekit init --eval")
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith("wrote baselinekit.yaml and baselines/\nwrote evals/eval-suite.yaml\n")
    assert made.stdout.endswith("next: baselinekit run\n")
    assert list(files(here.folder / "evals")) == NAMES
    for name in ("eval-suite.yaml", "capability/strings.yaml", "regression/sentence.yaml"):
        file = here.folder / "evals" / name
        first, _, path = file.read_text().partition("\n")[0].partition("$schema=")
        assert first == "# yaml-language-server: "
        assert "eval_suite" in (file.parent / path).read_text(), "the schema is where the line says"
    assert here.run("baselinekit doctor").stdout == "3 eval cases are in order\n"
    ran = here.run("baselinekit run")
    assert ran.exit_code == 0, ran.stderr
    assert "3 passed" in ran.stdout
    strings = here.folder / "evals/capability/strings.yaml"
    strings.write_text(strings.read_text().replace("olleh", "hello"))
    ran = here.run("baselinekit run")
    assert ran.exit_code == 1
    assert "evals/capability/strings.yaml" in ran.stdout
    (here.folder / "evals/baselines/sentence.txt").write_text("something else")
    assert here.run("baselinekit compare evals/regression").exit_code == 1


def test_nothing_that_is_there_is_touched(here: Console) -> None:
    here.run("baselinekit init --eval")
    (here.folder / "evals/eval-suite.yaml").write_text("mine")
    (here.folder / "evals/capability/strings.yaml").unlink()
    before = files(here.folder)
    again = here.run("baselinekit init --eval")
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[0] == "wrote evals/capability/strings.yaml"
    assert again.stdout.splitlines()[1].startswith("left unchanged: evals/eval-suite.yaml, ")
    after = files(here.folder)
    assert {name: after[name] for name in before} == before


def test_a_configuration_is_not_edited_but_what_is_missing_in_it_is_said(here: Console) -> None:
    config = here.folder / "baselinekit.yaml"
    config.write_text("evals: checks\n")
    (here.folder / "sub").mkdir()
    made = here.run("cd sub && baselinekit init --eval")
    assert made.exit_code == 0, made.stderr
    assert "wrote ../checks/eval-suite.yaml" in made.stdout
    assert "add to baselinekit.yaml:\n    skills:\n      reverse: {python: " in made.stdout
    assert config.read_text() == "evals: checks\n"
    assert here.run("baselinekit run").exit_code == 2
    said = [line[4:] for line in made.stdout.splitlines() if line.startswith("    ")]
    config.write_text("evals: checks\n" + "\n".join(said) + "\n")
    assert here.run("baselinekit run").exit_code == 0
    assert "skills:" not in here.run("cd sub && baselinekit init --eval").stdout


def test_git_is_told_of_the_records_of_evals_too_once_there_are_any(here: Console) -> None:
    assert here.run("git init -q .").exit_code == 0
    assert here.run("baselinekit init --git").exit_code == 0
    attributes = here.folder / ".gitattributes"
    assert "/evals/" not in attributes.read_text()
    assert "git can merge the pass record" in here.run("baselinekit init --eval").stdout
    assert here.run("baselinekit init --git").exit_code == 0
    assert "/evals/**/*.yaml merge=baselinekit diff=baselinekit\n" in attributes.read_text()
    assert "nothing to change" in here.run("baselinekit init --git").stdout
