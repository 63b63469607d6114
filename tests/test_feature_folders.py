"""The package without the folder of another tool: our own eval files work as before."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RUN = """\
import importlib.util, pytest, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
assert importlib.util.find_spec("baselinekit." + sys.argv[1]) is None
sys.exit(pytest.main(sys.argv[2:]))
"""
QUICK_PART = ["loading_cases", "loading_suites", "gates"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["agentv", "eva", "moving"])
def test_package_without_a_feature_folder_passes_the_tests_of_our_own_eval_files(
    tmp_path: Path, folder: str
) -> None:
    ignored = shutil.ignore_patterns("__pycache__", folder)
    shutil.copytree(ROOT / "baselinekit", tmp_path / "baselinekit", ignore=ignored)
    paths = f"pythonpath={tmp_path} {ROOT / 'tests'} {ROOT / 'studies'}"
    options = ["-q", "-x", "--import-mode=append", "-p", "no:cacheprovider", "-o", paths]
    files = [f"tests/suites/test_{name}.py" for name in QUICK_PART]
    command = [sys.executable, "-P", "-c", RUN, folder, *options, *files]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
