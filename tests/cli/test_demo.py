"""The demo's service by itself; what it answers is what docs/prompts.md begins with."""

import socket
from pathlib import Path

import pytest
from console import console

WRONG = [
    ("--serve --port {taken}", "port {taken} cannot be used: address already in use"),
    ("--serve --dir here", "--serve and --dir cannot be combined"),
    ("--port 8080", "--port has no effect without --serve: add --serve"),
    ("--serve --port 65536", "65536 is not in the range"),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_demo_with_options_that_do_not_fit_is_refused(words: str, message: str, tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal, socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        ran = terminal.run(f"baselinekit demo {words}".replace("{taken}", taken))
        assert (ran.exit_code, list(terminal.folder.iterdir())) == (2, [])
    assert message.replace("{taken}", taken) in ran.stderr, ran


@pytest.mark.slow
def test_demo_records_five_baselines_and_prints_no_error(tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal:
        ran = terminal.run("baselinekit demo")
    assert (ran.exit_code, ran.stderr) == (0, ""), ran
    assert "5 passed in" in ran.stdout
