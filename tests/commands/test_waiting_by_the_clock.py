"""A command that waits by the clock of a test finds that it moved on; so does the service that it asks."""

import time
from pathlib import Path

import pytest
from console import console
from little_api import LittleApi

ASKED = "capture http GET {url}/time --id at"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["baselinekit", "true; baselinekit"])  # by itself, and through a shell
def test_a_command_that_waits_for_a_tick_finds_that_a_clock_ticked(tmp_path: Path, command: str) -> None:
    """Its service goes by the same clock: what tells the time is learnt, as by one who really waits."""
    with (
        console(tmp_path / "project") as here,
        LittleApi({"/time": lambda number: {"at": round(here.clock.now())}}) as api,
    ):
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")
        began, machine = here.clock.now(), time.monotonic()
        ran = here.run(f"{command} {ASKED.format(url=api.url)}")
        went_by = here.clock.now() - began - (time.monotonic() - machine)
        assert ran.exit_code == 0, ran.stderr
        assert "1 path varies" in ran.stdout
        assert went_by == pytest.approx(1.1, abs=0.05)
