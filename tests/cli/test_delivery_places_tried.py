"""Where something is to be written is tried before anybody is asked for what is to stand there."""

import json
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from baselinekit.cli.main import run

ASKED = 'open("asked.txt", "a").write("x"); print("yes", end="")'
CAPTURE = ["capture", "command", "--id", "say"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    program = f"[{json.dumps(sys.executable)}, -c, '{ASKED}']"
    words = f"commands: {{say: {program}}}\nmodels: {{default: {{command: {program}}}}}\n"
    (folder / "baselinekit.yaml").write_text(words)
    (folder / "prompt.md").write_text("Say yes.\n")
    (folder / "taken").write_text("a file")
    (folder / "out").symlink_to(tmp_path)
    (folder / "baselines").mkdir()
    (folder / "baselines/taken").write_text("a file")
    (folder / "baselines/out").symlink_to(tmp_path)
    with chdir(folder):
        yield folder


@pytest.mark.parametrize(
    ("group", "exit_code", "code"),
    [
        ("taken", 2, "BK120 baselines/taken cannot be a folder"),
        ("out", 4, "BK404"),
        ("../..", 4, "BK404"),
        ("a b", 2, "BK108"),
    ],
)
def test_a_group_that_nothing_can_be_written_into_asks_nobody(
    project: Path, group: str, exit_code: int, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*CAPTURE, "--group", group, "--", "say"]) == exit_code
    assert capsys.readouterr().err.startswith(code)
    assert not (project / "asked.txt").exists()
    assert run([*CAPTURE, "--group", "free", "--", "say"]) == 0
    assert (project / "asked.txt").exists()


@pytest.mark.parametrize("folder", ["taken", "taken/below"])
def test_answers_that_cannot_be_kept_are_not_asked_for(
    project: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["capture", "prompt", "prompt.md", "--record-calls"]
    assert run([*words, folder]) == 2
    assert capsys.readouterr().err.startswith(f"BK120 {folder}/calls cannot be written")
    assert not (project / "asked.txt").exists()
    assert run([*words, "calls"]) == 0
    assert (project / "asked.txt").read_text() == "x"
