"""Thousands of answers that were good once, each an answer to somebody, an error of ours, or compared."""

import json
import os
import subprocess
import sys
from pathlib import Path

FUZZED = Path(__file__).with_name("fuzzed.py")
COUNT = 10_000 if os.environ.get("BASELINEKIT_THOROUGH") else 2_000
MOST_MEGABYTES = 300


def test_f21_thousands_of_fuzzed_answers_are_compared_or_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", FUZZED, str(COUNT), "17"],
        env={**os.environ, "PYTHONPATH": str(FUZZED.parents[2])},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b""), "no traceback in any thread"
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert sum(found["became"].values()) == COUNT
    assert {"passed", "failed", "BK304", "BK306", "BK307", "BK308"} <= found["became"].keys()
    assert found["slowest"] < 3, "the limit of each is two seconds"
    assert found["megabytes"] < MOST_MEGABYTES
