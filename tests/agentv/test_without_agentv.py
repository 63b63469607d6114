"""The package without the folder of AgentV: our own eval files and targets work as before."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
RUN = """\
import importlib.util, pytest, sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
assert importlib.util.find_spec("baselinekit.agentv") is None
sys.exit(pytest.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_package_without_agentv_passes_the_tests_of_our_own_eval_files(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "agentv")
    shutil.copytree(ROOT / "baselinekit", tmp_path / "baselinekit", ignore=ignored)
    paths = f"pythonpath={tmp_path} {ROOT / 'tests'} {ROOT / 'studies'}"
    options = ["-q", "-x", "--import-mode=append", "-p", "no:cacheprovider", "-o", paths]
    files = [
        "tests/suites/test_loading_cases.py",
        "tests/suites/test_loading_suites.py",
        "tests/suites/test_schema.py",
    ]
    command = [sys.executable, "-P", "-c", RUN, *options, *files]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
