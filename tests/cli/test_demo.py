"""The demo's service by itself; what it answers is what docs/prompts.md begins with."""

import socket
from pathlib import Path

import pytest
from console import console


def test_demo_on_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal, socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = terminal.run(f"baselinekit demo --serve --port {port}")
        assert (ran.exit_code, list(terminal.folder.iterdir())) == (2, [])
    assert f"port {port} cannot be used: address already in use" in ran.stderr, ran


@pytest.mark.slow
def test_demo_records_five_baselines_and_prints_no_error(tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal:
        ran = terminal.run("baselinekit demo")
    assert (ran.exit_code, ran.stderr) == (0, ""), ran
    assert "5 passed in" in ran.stdout
