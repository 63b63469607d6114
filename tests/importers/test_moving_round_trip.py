"""Moved in, and tested with the plugin: tests that used another tool and now use `== baseline` pass with what
was imported; nothing is written by the run."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from console import console
from importers.test_moving_measured import MADE, bundle

pytestmark = pytest.mark.slow

SUITE = """\
import pytest
from values import VALUES

@pytest.mark.parametrize("number", range(len(VALUES)))
def test_value(number, {fixture}):
    {line}
"""


def outcome_of(folder: Path, file: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", file]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    return ran.stdout


def project(folder: Path) -> None:
    (folder / "baselinekit.yaml").write_text("version: 1\n")
    (folder / "tests").mkdir()
    shutil.copy(MADE / "values.py", folder / "tests" / "values.py")


def test_from_syrupy(tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal:
        project(terminal.folder)
        tests = terminal.folder / "tests"
        (tests / "__snapshots__").mkdir()
        shutil.copy(MADE / "test_amber.ambr", tests / "__snapshots__")
        (tests / "test_amber.py").write_text(
            SUITE.format(fixture="snapshot", line="assert VALUES[number] == snapshot")
        )
        ran = terminal.run("baselinekit convert tests --from syrupy")
        assert ran.exit_code == 0, ran.stderr
        (tests / "test_amber.py").write_text(
            (tests / "test_amber.py").read_text().replace("snapshot", "baseline")
        )
        before = {file: file.read_bytes() for file in terminal.folder.rglob("*.yaml")}
        assert "305 passed" in outcome_of(terminal.folder, "tests/test_amber.py")
        assert {file: file.read_bytes() for file in terminal.folder.rglob("*.yaml")} == before
        assert len(before) == 306


def test_from_pytest_regressions(tmp_path: Path) -> None:
    """All but the six of which PyYAML reads another text, and those that it could not write."""
    with console(tmp_path / "project") as terminal:
        project(terminal.folder)
        tests = terminal.folder / "tests"
        (tests / "test_regression").mkdir()
        files = bundle("regression_yml.json", "tests/test_regression")
        for name, text in files.items():
            (terminal.folder / name).write_bytes(text.encode())
        suite = SUITE.format(fixture="data_regression", line="data_regression.check(VALUES[number])")
        (tests / "test_regression.py").write_text(suite)
        assert terminal.run("baselinekit convert tests --from pytest-regressions").exit_code == 0
        suite = SUITE.format(fixture="baseline", line="assert VALUES[number] == baseline")
        (tests / "test_regression.py").write_text(suite)
        assert "6 failed, 299 passed" in outcome_of(terminal.folder, "tests/test_regression.py")


def test_from_inline_snapshot(tmp_path: Path) -> None:
    with console(tmp_path / "project") as terminal:
        project(terminal.folder)
        source = (MADE / "inline_source.txt").read_text()
        file = terminal.folder / "tests" / "test_inline.py"
        file.write_text(source)
        assert terminal.run("baselinekit convert tests --from inline-snapshot").exit_code == 0
        tests = (
            f"def test_value_{number}(baseline):\n    assert VALUES[{number}] == baseline\n"
            for number in range(305)
        )
        file.write_text("\n".join(("from values import *\n", *tests)))
        assert "305 passed" in outcome_of(terminal.folder, "tests/test_inline.py")
