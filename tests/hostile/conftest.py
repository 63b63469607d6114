"""What the drills have in common: a project to be attacked, and a server of runs that start at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from drill import Drill, drill
from warm import Warm, warm


@pytest.fixture(scope="session")
def runs() -> Iterator[Warm]:
    with warm() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Drill]:
    with drill(tmp_path / "project") as project:
        yield project
