"""A further kind of recipe takes one file in kinds/ and a row in the table of kinds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ADDED = Path(__file__).parent / "added"
ROOT = Path(__file__).parents[2]


def row(file: Path, after: str, added: str) -> None:
    """One more row in a table."""
    text = file.read_text()
    assert text.count(after) == 1
    file.write_text(text.replace(after, after + added))


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with the new kind."""
    copy = tmp_path / "copy" / "baselinekit"
    shutil.copytree(ROOT / "baselinekit", copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ADDED / "grpc.py", copy / "kinds" / "grpc.py")
    row(copy / "kinds" / "table.py", '"prompt", ', '"grpc", ')
    return copy


@pytest.mark.slow
def test_a_kind_that_is_added_is_captured_compared_and_refreshed(package: Path, tmp_path: Path) -> None:
    paths = [package.parent, ROOT / "tests"]
    project = tmp_path / "project"
    project.mkdir()
    done = subprocess.run(
        [sys.executable, ADDED / "drive.py"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "refused": [
            "BK521 the call ended with code 14: it is not stored as known-good: "
            "fix it, or pass --allow-error-status"
        ],
        "files": ["baselines/shop.Prices/one.yaml", "baselines/shop.Prices/two.yaml"],
        "unchanged": ["passed", "passed"],
        "same": ["passed", "passed"],
        "changed": [
            ["grpc", "failed", "grpc http://desk/shop.Prices/One"],
            ["grpc", "failed", "grpc http://desk/shop.Prices/Two"],
        ],
        "risks": [["medium"], ["high", "medium"]],  # of the second the call failed as well
        "groups": [["message.currency", 2], ["code", 1]],
        "invalid": [
            "BK105 expected a mapping, found an empty list: ",
            "BK103 unknown key 'timout': did you mean 'timeout'?",
        ],
    }
