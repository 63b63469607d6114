"""A project in a folder of its own, and a terminal in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from console import Console, console


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        (terminal.folder / "baselines").mkdir()
        (terminal.folder / "baselinekit.yaml").write_text("version: 1\n")
        yield terminal
