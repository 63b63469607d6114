"""Baselines that ask a model the same question and get different answers: what is recorded replays."""

import json
import sys

import pytest
from commandline import run
from console import Console

pytestmark = pytest.mark.slow

MODEL = """\
import os, sys
sys.stdin.read()
for number in range(26):
    try:
        os.close(os.open(f"question-{number}", os.O_CREAT | os.O_EXCL))
        break
    except FileExistsError:
        pass
sys.stdout.write("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number] * 3 + " is the answer")
"""
RECIPE = "id: p{}\ncurrent: {{input: {{text: Well?}}, execution: {{type: prompt}}}}\n"


def test_compare_offline_replays_different_answers_to_equal_prompts(project: Console) -> None:
    (project.folder / "model.py").write_text(MODEL)
    argv = json.dumps([sys.executable, "model.py"])
    (project.folder / "baselinekit.yaml").write_text(f"models: {{default: {{command: {argv}}}}}\n")
    files = [project.folder / f"baselines/p{n}.yaml" for n in range(6)]
    for n, file in enumerate(files):
        file.write_text(RECIPE.format(n))
    run(project, "capture baselines --record-calls cassettes")
    assert len({file.read_text().split("\n")[2] for file in files}) == 6
    for jobs in (1, 6):
        assert "6 passed" in run(project, f"compare --offline cassettes -j {jobs}")
    files[0].write_text(files[0].read_text().replace("id: p0", "id: new"))
    assert "BK630" in run(project, "compare --offline cassettes", 3)
