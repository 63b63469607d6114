"""The plugin in projects of other layouts, started in other ways: what the first run writes is what every
other run reads, and none writes a second one."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from startedpytest import run_pytest

pytestmark = pytest.mark.slow

SOURCES = {
    # a src layout, and namespace packages: nowhere is an __init__.py, and test files share their names
    "src/shop/api/users.py": "def users(): return {'users': [{'id': 1, 'name': 'Ada'}]}\n",
    "tests/api/v1/test_users.py": (
        "import pytest\n"
        "from shop.api.users import users\n"
        "def test_list(baseline): assert users() == baseline\n"
        "class TestDeep:\n"
        "    @pytest.mark.parametrize('x', ['a', 'B/c', ''])\n"
        "    def test_p(self, baseline, x): assert {'x': x, **users()} == baseline\n"
        "    class TestInner:\n"
        "        def test_in(self, baseline):\n"
        "            assert 1 == baseline('one')\n"
        "            assert 2 == baseline('two')\n"
    ),
    "tests/api/v2/test_users.py": "def test_list(baseline): assert {'version': 2} == baseline\n",
    # conftest.py in a folder below, whose fixtures ask for ours
    "tests/unit/conftest.py": (
        "import pytest\n"
        "@pytest.fixture(params=['x', 'y'])\n"
        "def kind(request): return request.param\n"
        "@pytest.fixture\n"
        "def snap(baseline): return baseline\n"
    ),
    "tests/unit/deep/test_kind.py": (
        "def test_kind(kind, snap): assert kind == snap\n"
        "def test_other(kind, baseline): assert [kind] == baseline\n"
    ),
    "tests/unit/test_async.py": (
        "import pytest\n"
        "@pytest.fixture\n"
        "def anyio_backend(): return 'asyncio'\n"
        "@pytest.mark.anyio\n"
        "async def test_async(baseline): assert 'awaited' == baseline\n"
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\ntestpaths = ['tests']\n",
}
OF_REQUESTS = "id: echo\nbaseline: {output: 1}\ncurrent: {input: 1, execution: {type: echo}}\n"
WITHOUT_ASYNC = ("--import-mode=importlib", "--baselinekit", "--ignore=tests/unit/test_async.py")
"""Without plugins there is none for async tests."""


def environment(**more: str) -> dict[str, str]:
    """Of a desk, without what this run was started with."""
    ours = ("PYTEST_", "PYTHON", "COV_", "CI")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"} | more


def tree(folder: Path) -> dict[str, bytes]:
    """All that a commit would hold."""
    found = (path for path in folder.rglob("*") if path.is_file())
    passed_over = re.compile(r"/(__pycache__|\.pytest_cache|\.git|\.baselinekit)/")
    return {str(path): path.read_bytes() for path in found if not passed_over.search(str(path))}


PLAINLY = ("-p", "no:hypothesispytest", "-p", "no:inline_snapshot")


def run(
    folder: Path, *words: str, python: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    return run_pytest(folder, *PLAINLY, *words, env=environment(**(env or {})), python=python)


Lay = Callable[[str], Path]


@pytest.fixture(scope="module")
def lay(tmp_path_factory: pytest.TempPathFactory) -> Lay:
    """A project whose root is found in one of three ways, after its first run."""
    laid: dict[str, Path] = {}

    def project(marked_by: str) -> Path:
        if marked_by in laid:
            return laid[marked_by]
        folder = tmp_path_factory.mktemp("layouts") / "project"
        files = {**SOURCES, "baselines/own/echo.yaml": OF_REQUESTS}
        if marked_by == "baselinekit.yaml":
            files["baselinekit.yaml"] = "version: 1\n"
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        if marked_by == ".git":
            (folder / ".git").mkdir()
        code, shown = run(folder, "-q", "--import-mode=importlib")
        assert code == 0, shown
        assert "12 baselines written" in shown
        laid[marked_by] = folder
        return folder

    return project


WAYS: list[tuple[str, list[str]]] = [
    (".", ["-p", "no:terminal", "-p", "no:logging", "-p", "no:capture"]),
    (".", ["tests/unit/deep/test_kind.py::test_kind"]),
    ("..", ["--rootdir=project", "project/tests/unit"]),
    ("/", ["PROJECT/tests"]),
]


@pytest.mark.parametrize(
    ("start", "words"), [pytest.param(*way, id=" ".join([way[0], *way[1]])) for way in WAYS]
)
def test_baseline_is_written_once_however_pytest_is_started(lay: Lay, start: str, words: list[str]) -> None:
    folder = lay("nothing")
    before = tree(folder.parent)
    filled = [word.replace("PROJECT", str(folder)) for word in words]
    code, shown = run(folder / start, "--import-mode=importlib", *filled)
    assert code == 0, shown
    assert "no:terminal" in words or "passed" in shown
    assert tree(folder.parent) == before


@pytest.mark.parametrize("marked_by", ["baselinekit.yaml", ".git"])
def test_root_of_a_project_is_the_same_from_everywhere(lay: Lay, marked_by: str) -> None:
    folder = lay(marked_by)
    before = tree(folder.parent)
    for start, words in (
        ("..", ["-c", "/dev/null", "project/tests/api/v2"]),
        ("tests/unit/deep", ["-c", "/dev/null", "--baselinekit", "test_kind.py", "../../../baselines/own"]),
    ):
        code, shown = run(folder / start, "--import-mode=importlib", *words)
        assert code == 0, shown
    assert tree(folder.parent) == before


def test_plugin_is_loaded_by_name_without_autoload(lay: Lay) -> None:
    env = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    code, shown = run(lay("nothing"), *WITHOUT_ASYNC, "-p", "baselinekit", env=env)
    assert code == 0, shown
    assert "11 passed" in shown


def test_plugin_without_use_loads_only_its_hooks(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(
        "import sys\n"
        "def test_one():\n"
        "    ours = {name for name in sys.modules if name.partition('.')[0] == 'baselinekit'}\n"
        "    plugin = 'baselinekit.pytest_plugin'\n"
        "    assert ours == {'baselinekit', plugin, f'{plugin}.hooks', f'{plugin}.session'}\n"
    )
    code, shown = run(tmp_path, "-q", "-n", "0")
    assert code == 0, shown
