"""The benchmarks measure what they claim: both sides give the right answer on the same data, and the table in
benchmarks/README.md shows the stored results."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import data, matcher
from benchmarks.__main__ import PAGE, RESULTS, rendered, table
from benchmarks.child import SUBJECTS

ROOT = Path(__file__).parent.parent
LOOSE = pytest.mark.parametrize("loose", [False, True], ids=["literal", "rules"])


@pytest.mark.slow
@LOOSE
@pytest.mark.parametrize("change", [data.equal, data.renamed(3)], ids=["equal", "failing"])
def test_matcher_and_deepdiff_find_same_number_of_places(
    change: Callable[[list[data.Record]], int], loose: bool
) -> None:
    case = data.case(data.records(12), change, loose=loose)
    assert case.plain is not case.actual
    assert matcher.judged(case).count == case.differences
    for engine in (matcher.ours("ours", case), matcher.deep_diff(case)):
        assert engine.once().cpu > 0


def test_page_shows_the_stored_results() -> None:
    results = json.loads(RESULTS.read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    assert rendered(text, results) == text, "run: make bench"
    assert set(results["subjects"]) == set(SUBJECTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_benchmark_subject_runs_quickly(name: str, tmp_path: Path) -> None:
    """A thorough one makes a second round, which finds what the first one left."""
    kept = tmp_path / "results.json"
    rounds = "2" if os.environ.get("BASELINEKIT_THOROUGH") else "1"
    words = ["--quick", "--rounds", rounds, "--only", name, "--results", str(kept)]
    argv = [sys.executable, "-m", "benchmarks", *words]
    ran = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    results = json.loads(kept.read_text("utf-8"))
    assert results["subjects"][name]["rows"]
    assert table(results) in ran.stdout
