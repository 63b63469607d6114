"""The server of runs serves for as long as the tests want it."""

import sys
from pathlib import Path

import pytest
from warm import warm

from baselinekit.clients.programs.process import Processes
from baselinekit.model.recipes import ProcessSpec

pytestmark = pytest.mark.slow


def test_what_a_test_runs_by_itself_does_not_end_the_server(tmp_path: Path) -> None:
    """Our own way to run programs ends whatever they leave behind, and looks for that among the children of
    this process."""
    processes = Processes()
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")

    def execute() -> int:
        return processes.execute(ProcessSpec((sys.executable, "-c", ""))).exit_code

    assert execute() == 0
    with warm() as runs:
        for _ in range(2):
            assert runs.run(tmp_path, "doctor").exit_code == 0
            assert execute() == 0
