"""What a shell and a terminal see: completion, help, colours, a closed pipe."""

import shlex
from pathlib import Path

import pytest
from console import console

pytestmark = pytest.mark.slow

BASELINES = """\
- id: users-list
  name: All of them
  baseline: {output: {status: 200}}
  current: {input: {endpoint: /u}, execution: {type: http}}
  metadata: {tags: [slow]}
- id: orders-list
  baseline: {output: {status: 200}}
  current: {input: {endpoint: /o}, execution: {type: http}}
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("baselinekit compare --id u", ["plain,users-list"]),
        ("baselinekit compare --tag s", ["plain,slow"]),
        ("baselinekit explain or", ["plain,orders-list"]),
        ("baselinekit comp", ["plain,compare"]),
    ],
)
def test_the_shell_is_offered_ids_and_tags(words: str, offered: list[str], tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/a.yaml").write_text(BASELINES)
        count = len(words.split()) - 1
        typed = f"COMP_WORDS='{words}' COMP_CWORD={count} _BASELINEKIT_COMPLETE=bash_complete"
        ran = here.run(f"{typed} baselinekit")
    assert ran.stdout.splitlines() == offered


def test_completion_says_nothing_where_files_are_broken(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/a.yaml").write_text("id: [")
        words = "COMP_WORDS='baselinekit compare --id ' COMP_CWORD=3 _BASELINEKIT_COMPLETE=bash_complete"
        ran = here.run(f"{words} baselinekit")
    assert (ran.stdout.strip(), ran.stderr) == ("", "")


CASES = """\
metadata: {id: f}
test_cases:
- {id: a, name: first case, input: {type: echo, content: x}, expected: {type: exact, value: x}}
- {id: b, input: {type: echo, content: x}, expected: {type: exact, value: x}}
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["run", "--case", ""], ["first case", "b"]),
        (["run", "evals/cases.yaml", "--case", "f"], ["first case"]),
        (["run", "evals/none.yaml", "--case", ""], []),
        (["run", "--case", "z"], []),
    ],
)
def test_e13_completion_offers_the_names_of_cases(
    tmp_path: Path, typed: list[str], offered: list[str]
) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "evals").mkdir()
        (here.folder / "evals/cases.yaml").write_text(CASES)
        words = shlex.quote(" ".join(["baselinekit", *typed]))
        ran = here.run(
            f"COMP_WORDS={words} COMP_CWORD={len(typed)} _BASELINEKIT_COMPLETE=bash_complete baselinekit"
        )
    found = [line.partition(",")[2] for line in ran.stdout.splitlines() if line]
    assert (found, ran.stderr) == (offered, "")


@pytest.mark.parametrize(
    ("words", "coloured"),
    [
        ("baselinekit compare", False),
        ("FORCE_COLOR=1 baselinekit compare", True),
        ("FORCE_COLOR=1 NO_COLOR=1 baselinekit compare", False),
        ("NO_COLOR=1 baselinekit compare --color always", True),
        ("FORCE_COLOR=1 baselinekit compare --color never", False),
    ],
)
def test_colours_when_they_are_wanted(words: str, coloured: bool, tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/a.yaml").write_text(BASELINES)
        ran = here.run(f"{words} --base-url http://127.0.0.1:9")
    assert ("\x1b[" in ran.stdout) == coloured
    assert "2 errors" in ran.stdout


@pytest.mark.parametrize("command", ["", "capture http", "report"])
def test_every_command_has_help(command: str, tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        ran = here.run(f"baselinekit {command} --help")
    assert ran.exit_code == 0
    assert ran.stdout.startswith(f"Usage: baselinekit {command}".rstrip())
    assert max(map(len, ran.stdout.splitlines())) <= 100


@pytest.mark.parametrize("command", ["compare -q --base-url http://127.0.0.1:9", "schema", "explain BK101"])
def test_an_output_that_takes_nothing_is_an_error_without_a_traceback(command: str, tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "baselines").mkdir()
        (here.folder / "baselines/a.yaml").write_text(BASELINES)
        ran = here.run(f"baselinekit {command} > /dev/full")
    assert ran.exit_code == 3
    assert "Traceback" not in ran.stderr
    assert "no space left" in ran.stderr


def test_init_writes_what_doctor_accepts(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        ran = here.run("baselinekit init --base-url http://127.0.0.1:8000")
        assert ran.exit_code == 0
        assert "next: baselinekit capture http GET /users" in ran.stdout
        assert here.run("baselinekit doctor").exit_code == 0
        again = here.run("baselinekit init")
    assert again.exit_code == 2
    assert "already exists" in again.stderr
