"""The project under attack and the server of runs, as in tests/hostile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from drill import Drill, drill

from tests.hostile.conftest import runs

__all__ = ["project", "runs"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Drill]:
    with drill(tmp_path / "project") as made:
        yield made
