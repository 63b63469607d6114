"""The folder moving/ is a feature: a command and a plugin name it, and the rest works without it."""

import shutil
import subprocess
import sys
from pathlib import Path

from architecture import folder_of, own_imports, package_of

ROOT = Path(__file__).parents[2]
NAMED_BY = {"cli.convert", "pytest_plugin.taking"}


def test_moving_is_imported_by_the_command_and_the_plugin_only() -> None:
    imports = own_imports(package_of(ROOT))
    users = {module for module, imported, _ in imports if folder_of(imported) == "moving"}
    assert {module for module in users if folder_of(module) != "moving"} == NAMED_BY


def test_the_rest_passes_its_tests_without_moving(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("moving", "__pycache__")
    shutil.copytree(ROOT / "baselinekit", tmp_path / "baselinekit", ignore=ignored)
    tests = ["tests/importers/test_har.py", "tests/suites/test_loading_cases.py"]
    for name in ("tests", "conftest.py", "setup.cfg"):
        (tmp_path / name).symlink_to(ROOT / name)
    modules = [*package_of(tmp_path).keys() - {*NAMED_BY, "__main__", ""}]
    load = f"from importlib import import_module\nfor name in {modules}: import_module('baselinekit.' + name)"
    for words in (["-c", load], ["-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]):
        command = [sys.executable, *words]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
