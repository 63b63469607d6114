"""Where a baseline was captured, and the short name of a recipe."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from baselinekit import __version__
from baselinekit.clients.programs.process import Processes
from baselinekit.commands.project import capture_environment
from baselinekit.errors import CannotReplay
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.structs import replace

EXECUTE = Processes().execute


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("there is no git here")
    root = tmp_path / "checkout"
    (root / "baselines").mkdir(parents=True)
    for name in ("a.py", "baselines/b.yaml"):
        (root / name).write_text("1\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "one"]):
        author = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run(["git", *author, *words], cwd=root, check=True)
    return root


def test_capture_environment_names_tool_platform_and_commit(checkout: Path) -> None:
    found = capture_environment(str(checkout), {"database": "postgresql"}, EXECUTE, ["baselines"])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=checkout, capture_output=True, check=True)
    assert found["tool"] == f"baselinekit {__version__}"
    assert found["platform"].startswith(sys.platform)
    assert found["git"] == {"commit": commit.stdout.decode().strip(), "branch": "main", "dirty": False}
    assert found["database"] == "postgresql"


def test_capture_environment_dirty_by_tracked_files_outside_baselines(checkout: Path) -> None:
    def dirty() -> bool:
        return bool(capture_environment(str(checkout), {}, EXECUTE, ["baselines"])["git"]["dirty"])

    (checkout / "untracked.py").write_text("2\n")
    (checkout / "baselines/b.yaml").write_text("2\n")
    assert not dirty()
    (checkout / "a.py").write_text("2\n")
    assert dirty()


def test_capture_environment_declared_command_gives_first_line(tmp_path: Path) -> None:
    declared = {
        "node": {"command": ["printf", "v1\\nmore"]},
        "words": {"command": "echo a  b"},
        "n": {"a": 1},
    }
    found = capture_environment(str(tmp_path), declared, EXECUTE)
    assert (found["node"], found["words"], found["n"]) == ("v1", "a b", {"a": 1})
    for command in (["no-such-tool"], ["false"]):
        with pytest.raises(CannotReplay, match=r"environment\.node: .*: correct it in baselinekit\.yaml"):
            capture_environment(str(tmp_path), {"node": {"command": command}}, EXECUTE)


GET = Recipe(HttpRequest(endpoint="/users"), HttpExecution("http", base_url="{{base}}"))


def test_recipe_hash_depends_on_content_only() -> None:
    same = Recipe(HttpRequest(endpoint="/users", headers={}), HttpExecution("http", base_url="{{base}}"))
    assert recipe_hash(GET) == recipe_hash(same) == recipe_hash(replace(GET))
    assert len(recipe_hash(GET)) == 16
    others = [
        replace(GET, input=HttpRequest(endpoint="/user")),
        replace(GET, input=HttpRequest(path="/users")),
        replace(GET, input=HttpRequest(endpoint="/users", json=None)),
        Recipe({"a": 1, "b": 2}, SkillExecution("skill", "x")),
    ]
    assert len({recipe_hash(recipe) for recipe in [GET, *others]}) == 5
    assert recipe_hash(others[3]) == recipe_hash(replace(others[3], input={"b": 2, "a": 1}))
