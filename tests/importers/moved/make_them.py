"""Writes what stands beside this file, by the tools themselves: `python make_them.py` in an environment with
syrupy, pytest-regressions, inline-snapshot, black and pytest."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from values import VALUES

HERE = Path(__file__).parent
SUITE = """\
import pytest
from syrupy.extensions.json import JSONSnapshotExtension
from values import VALUES

@pytest.mark.parametrize("number", range(len(VALUES)))
def test_value(number, {fixture}):
    {line}
"""
AMBER = SUITE.format(fixture="snapshot", line="assert VALUES[number] == snapshot")
AS_JSON = SUITE.format(
    fixture="snapshot", line="assert VALUES[number] == snapshot(extension_class=JSONSnapshotExtension)"
)
REGRESSION = SUITE.format(fixture="data_regression", line="data_regression.check(VALUES[number])")


def inline() -> str:
    tests = (
        f"def test_value_{number}():\n    assert VALUES[{number}] == snapshot()\n"
        for number in range(len(VALUES))
    )
    return "\n".join(("from inline_snapshot import snapshot\nfrom values import *\n", *tests))


def run(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words]
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)


def bundle(folder: Path, name: str) -> None:
    files = {file.name: file.read_text("utf-8") for file in sorted(folder.iterdir())}
    (HERE / name).write_text(json.dumps(files, indent=0, ensure_ascii=True) + "\n", "utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "values.py").write_text((HERE / "values.py").read_text("utf-8"), "utf-8")
        suites = {"amber": AMBER, "json": AS_JSON, "regression": REGRESSION, "inline": inline()}
        for suite, text in suites.items():
            (folder / f"test_{suite}.py").write_text(text, "utf-8")
        run(folder, "--snapshot-update", "test_amber.py", "test_json.py")
        run(folder, "test_regression.py")
        run(folder, "--inline-snapshot=create", "test_inline.py")
        kept = (folder / "__snapshots__" / "test_amber.ambr").read_bytes()
        (HERE / "test_amber.ambr").write_bytes(kept)
        bundle(folder / "__snapshots__" / "test_json", "syrupy_json.json")
        bundle(folder / "test_regression", "regression_yml.json")
        (HERE / "inline_source.txt").write_bytes((folder / "test_inline.py").read_bytes())


if __name__ == "__main__":
    main()
