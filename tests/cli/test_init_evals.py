"""`baselinekit init --eval`: folders, files and a small suite that runs as it is; nothing is overwritten."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

NAMES = [
    *(".gitignore", "baselines/sentence.txt", "capability/strings.yaml", "config/graders.yaml"),
    *("config/thresholds.yaml", "eval-suite.yaml", "regression/sentence.yaml"),
]


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_h64_init_eval_writes_a_suite_that_runs(terminal: Console) -> None:
    made = terminal.run("baselinekit init --eval")
    assert made.exit_code == 0, made.stderr
    assert made.stdout.startswith("wrote baselinekit.yaml and baselines/\nwrote evals/eval-suite.yaml\n")
    assert made.stdout.endswith("next: baselinekit run\n")
    assert list(files(terminal.folder / "evals")) == NAMES
    for name in ("eval-suite.yaml", "capability/strings.yaml", "regression/sentence.yaml"):
        file = terminal.folder / "evals" / name
        first, _, path = file.read_text().partition("\n")[0].partition("$schema=")
        assert first == "# yaml-language-server: "
        assert "eval_suite" in (file.parent / path).read_text(), "the schema is where the line says"
    assert terminal.run("baselinekit doctor").stdout == "3 eval cases are in order\n"
    ran = terminal.run("baselinekit run")
    assert ran.exit_code == 0, ran.stderr
    assert "3 passed" in ran.stdout
    strings = terminal.folder / "evals/capability/strings.yaml"
    strings.write_text(strings.read_text().replace("olleh", "hello"))
    ran = terminal.run("baselinekit run")
    assert ran.exit_code == 1
    assert "evals/capability/strings.yaml" in ran.stdout
    (terminal.folder / "evals/baselines/sentence.txt").write_text("something else")
    assert terminal.run("baselinekit compare evals/regression").exit_code == 1


def test_init_eval_leaves_existing_files_unchanged(terminal: Console) -> None:
    terminal.run("baselinekit init --eval")
    (terminal.folder / "evals/eval-suite.yaml").write_text("mine")
    (terminal.folder / "evals/capability/strings.yaml").unlink()
    assert terminal.run("git init -q . && baselinekit init --git").exit_code == 0
    attributes = (terminal.folder / ".gitattributes").read_text()
    assert "/evals/**/*.yaml merge=baselinekit diff=baselinekit\n" in attributes
    before = files(terminal.folder)
    again = terminal.run("baselinekit init --eval")
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[0] == "wrote evals/capability/strings.yaml"
    assert again.stdout.splitlines()[1].startswith("left unchanged: evals/eval-suite.yaml, ")
    after = files(terminal.folder)
    assert {name: after[name] for name in before} == before
