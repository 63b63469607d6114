"""The demo's service by itself; that it answers is what docs/prompts.md begins with."""

import socket
from pathlib import Path

import pytest
from console import console


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "--serve --port {taken}",
            "port {taken} of this machine is taken: baselinekit demo --serve --port 8080",
        ),
        ("--serve --dir here", "--serve writes no files: leave out --dir"),
        ("--port 8080", "--port says how to serve: add --serve"),
        ("--upgrade", "--upgrade says how to serve: add --serve"),
        ("--serve --port 65536", "65536 is not in the range"),
    ],
)
def test_what_cannot_be_served_is_told(words: str, says: str, tmp_path: Path) -> None:
    with console(tmp_path / "project") as here, socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        ran = here.run(f"baselinekit demo {words}".replace("{taken}", taken))
        assert (ran.exit_code, list(here.folder.iterdir())) == (2, [])
    assert says.replace("{taken}", taken) in ran.stderr, ran


@pytest.mark.slow
def test_demo_records_five_baselines_and_prints_no_error(tmp_path: Path) -> None:
    with console(tmp_path / "project") as here:
        ran = here.run("baselinekit demo")
    assert (ran.exit_code, ran.stderr) == (0, ""), ran
    assert "5 passed in" in ran.stdout
