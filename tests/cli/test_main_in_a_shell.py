"""What a shell and a terminal get: completion, colours, and a full disk."""

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


def test_completion_offers_commands(terminal: Console) -> None:
    variables = "COMP_WORDS='baselinekit comp' COMP_CWORD=1 _BASELINEKIT_COMPLETE=bash_complete"
    assert terminal.run(f"{variables} baselinekit").stdout == "plain,compare\n"


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
