"""Baselines that ask a model the same, and are answered differently: what is recorded replays, end to end."""

import json
import sys
from pathlib import Path

import pytest
from console import Console, console

pytestmark = pytest.mark.slow

COUNTING = """\
import os, sys
asked = sys.stdin.read()
number = 0
while True:
    try:
        os.close(os.open(f"asked-{number}", os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        number += 1
sys.stdout.write("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] * 3 + " is the answer")
"""
IDS = [f"p{n}" for n in range(6)]


def run(here: Console, words: str, exit_code: int) -> str:
    ran = here.run(f"baselinekit {words}")
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("jobs", [1, 6])
def test_what_was_recorded_green_replays_green(tmp_path: Path, jobs: int) -> None:
    with console(tmp_path / "project") as here:
        (here.folder / "model.py").write_text(COUNTING)
        argv = json.dumps([sys.executable, "model.py"])
        (here.folder / "baselinekit.yaml").write_text(f"models: {{default: {{command: {argv}}}}}\n")
        (here.folder / "baselines").mkdir()
        recipe = "current: {input: {text: Well?}, execution: {type: prompt}}\n"
        for id in IDS:
            (here.folder / "baselines" / f"{id}.yaml").write_text(f"id: {id}\n{recipe}")
        run(here, "capture baselines --record-calls cassettes", 0)
        stored = {(here.folder / "baselines" / f"{id}.yaml").read_text().split("\n")[2] for id in IDS}
        assert len(stored) == len(IDS)
        for _ in range(2):
            assert "6 passed" in run(here, f"compare --offline cassettes -j {jobs}", 0)
        renamed = here.folder / "baselines" / "p0.yaml"
        renamed.write_text(renamed.read_text().replace("id: p0", "id: new"))
        assert "to it there differ" in run(here, "compare --offline cassettes", 3)
