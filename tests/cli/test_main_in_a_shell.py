"""What a shell and a terminal get: completion, colours, and a full disk."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console
from storehelp import write

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


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        write(terminal.folder, "baselines/a.yaml", BASELINES)
        yield terminal


def complete(terminal: Console, *words: str) -> list[str]:
    typed = shlex.quote(" ".join(["baselinekit", *words]))
    variables = f"COMP_WORDS={typed} COMP_CWORD={len(words)} _BASELINEKIT_COMPLETE=bash_complete"
    ran = terminal.run(f"{variables} baselinekit")
    assert ran.stderr == ""
    return [line.partition(",")[2] for line in ran.stdout.splitlines() if line]


def test_completion_offers_commands_ids_and_tags(terminal: Console) -> None:
    assert complete(terminal, "comp") == ["compare"]
    assert complete(terminal, "compare", "--id", "u") == ["users-list"]
    assert complete(terminal, "compare", "--tag", "s") == ["slow"]
    assert complete(terminal, "explain", "or") == ["orders-list"]
    write(terminal.folder, "baselines/a.yaml", "id: [")
    assert complete(terminal, "compare", "--id", "") == []


def test_compare_uses_colours_where_they_are_wanted(terminal: Console) -> None:
    for words, coloured in (
        ("baselinekit compare", False),
        ("FORCE_COLOR=1 baselinekit compare", True),
        ("FORCE_COLOR=1 NO_COLOR=1 baselinekit compare", False),
        ("NO_COLOR=1 baselinekit compare --color always", True),
        ("FORCE_COLOR=1 baselinekit compare --color never", False),
    ):
        ran = terminal.run(f"{words} --base-url http://127.0.0.1:9")
        assert ("\x1b[" in ran.stdout, "2 errors" in ran.stdout) == (coloured, True), words


@pytest.mark.parametrize("command", ["compare -q --base-url http://127.0.0.1:9", "explain BK101"])
def test_command_whose_output_finds_no_room_is_an_error(command: str, terminal: Console) -> None:
    ran = terminal.run(f"baselinekit {command} > /dev/full")
    assert ran.exit_code == 3
    assert "Traceback" not in ran.stderr
    assert "no space left" in ran.stderr
