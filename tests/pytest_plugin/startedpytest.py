"""Runs of pytest as a user starts them."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 120


def run_pytest(
    folder: Path, *words: str, env: Mapping[str, str], python: Sequence[str] = ()
) -> tuple[int, str]:
    """`python -m pytest WORDS` in a folder, to its end: its exit code, and what it said on both streams."""
    done = subprocess.run(
        [sys.executable, *python, "-m", "pytest", *words],
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout
