"""Whatever a file holds: baselines, or an error with its place. Never anything else, and never for long."""

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import fuzzing
import pytest
from hypothesis import given, settings, strategies as st

from baselinekit.errors import InvalidInput, Refused
from baselinekit.store.reading import load

FILES = 10_000 if os.environ.get("BASELINEKIT_THOROUGH") else 2_000
"""Of each kind. Half of them are one test's, so that they can run beside each other."""
MOST_KB = 300_000
BITS = [bit for bits in fuzzing.TOKENS.values() for bit in bits if len(bit) < 100]


@pytest.mark.parametrize("first", [0, FILES // 2])
@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_f25_broken_file_is_an_error_with_its_place(tmp_path: Path, kind: str, first: int) -> None:
    """In a process of its own, whose memory is bounded and whose death would be seen."""
    words = (fuzzing.__file__, kind, str(first), str(FILES // 2), str(tmp_path))
    script = [sys.executable, "-W", "error", *words]
    done = subprocess.run(
        script,
        capture_output=True,
        timeout=300,
        check=False,
        text=True,
        env={**os.environ, "PYTHONPATH": str(fuzzing.HERE.parent.parent)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000)),
    )
    numbers, _, summary = done.stdout.rpartition("\n{")
    assert done.returncode == 0, f"file {numbers.rpartition(chr(13))[2]}: {done.returncode}: {done.stderr}"
    found = json.loads("{" + summary)
    assert found["kilobytes"] < MOST_KB
    assert found["slowest"] < fuzzing.LONGEST
    assert FILES // 2 * 0.5 < found["wrong"] < FILES // 2 * 0.99, "most are broken, and some are not"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(BITS), max_size=12).map("".join))
def test_load_of_any_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    for name in ("f.yaml", "f.json"):
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass"))
        with contextlib.suppress(InvalidInput, Refused):
            load([name], str(folder))
