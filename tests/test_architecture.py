"""The rules of ARCHITECTURE.md, each checked on the package and on a snippet that breaks it."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import architecture
import pytest
from architecture import circles, clients, clocks, cuts, features, kinds, order, owners, pure

ROOT = Path(__file__).parent.parent
PACKAGE = architecture.package_of(ROOT)

ArchitectureRule = Callable[[architecture.Package], Iterator[str]]
RULES: list[ArchitectureRule] = [order, features, circles, pure, clocks, owners, clients, kinds, cuts]


def test_every_module_has_a_docstring() -> None:
    """The sources are parsed here, once for all rules."""
    trees = {name: architecture.nodes(source)[0] for name, source in PACKAGE.items()}
    assert [name for name, tree in trees.items() if ast.get_docstring(tree) is None] == []  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_architecture_rule(rule: ArchitectureRule) -> None:
    broken = list(rule(PACKAGE))
    assert not broken, "\n" + (rule.__doc__ or "") + "\n" + "\n".join(broken)


def test_setup_cfg_names_existing_files() -> None:
    comments = [line for line in (ROOT / "setup.cfg").read_text("utf-8").splitlines() if "#" in line]
    named = re.findall(r"(?<![\w/.*])[\w./*-]+(?:\.py|/)(?![\w/*])", "\n".join(comments))
    rings = ("tests/", "drills/", "studies/")
    places = [place if place.startswith(rings) else f"baselinekit/{place}" for place in named]
    assert len(places) > 10
    assert [place for place in places if not list(ROOT.glob(place))] == []


def test_names_of_test_files_are_unique() -> None:
    """The tests are not a package, so pytest imports each of them by its name alone."""
    rings = (ROOT / ring for ring in ("tests", "drills", "studies"))
    names = Counter(path.name for ring in rings for path in ring.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


NAMES = "errors escape kinds.dispatch clients.http kinds.settings report.values values.paths clients.trust"
SNIPPETS = {
    **dict.fromkeys(["", *NAMES.split(" "), "store.files"], ""),
    "kinds.http": "class HttpExecution: ...",
}


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (order, "errors", "from baselinekit.store import files"),
        (order, "model.x", "def f():\n    import baselinekit.kinds.http"),
        (order, "attic.x", "import baselinekit.errors"),
        (order, "model.x", "if TYPE_CHECKING:\n    from baselinekit.store.project import File"),
        (features, "evals.x", "def f():\n    from baselinekit.agentv import form"),
        (circles, "errors", "def f():\n    from baselinekit.kinds import http\n"),
        (pure, "matching.x", "import time"),
        (pure, "matching.x", "from random import choice"),
        (pure, "clients.trust", "import os.path\nx = os.path.exists('a')"),
        (pure, "escape", "x = open('a')"),
        (pure, "placeholders.x", "import datetime\nx = datetime.datetime.now()"),
        (clocks, "kinds.http", "import time\nx = time.time()"),
        (clocks, "cli.x", "from time import time"),
        (owners, "store.files", "import httpx"),
        (owners, "kinds.x", "def f():\n    import httpx._client"),
        (clients, "commands.x", "from baselinekit.clients.http import Client"),
        (clients, "commands.x", "print('hello')"),
        (clients, "store.files", "raise SystemExit"),
        (clients, "report.x", "import sys\nsys.stderr.write('x')"),
        (kinds, "graders.x", "x = recipe.kind == 'http'"),
        (kinds, "cli.x", "x = record['execution']['type'] == 'http'"),
        (kinds, "store.x", "x = kind_of(recipe).name == 'http'"),
        (kinds, "evals.x", "x = isinstance(recipe.execution, HttpExecution)"),
        (kinds, "suites.x", "x = type(execution) is HttpExecution"),
        (kinds, "matching.x", "x = {'http': 'body', 'command': 'stdout'}"),
        (kinds, "report.x", "match result.kind:\n    case 'http' | 'x':\n        pass"),
        (kinds, "report.x", "match recipe.execution:\n    case HttpExecution():\n        pass"),
        (cuts, "commands.x", "x = text[:80]"),
        (cuts, "kinds.x", "x = text[-_LONGEST_TAIL:]"),
        (cuts, "graders.x", "def f(text, limit):\n    return text[:limit]"),
        (cuts, "cli.x", "import textwrap\nx = textwrap.shorten(text, 9)"),
        (cuts, "cli.x", "x = f'{text:.80}'"),
    ],
)
def test_architecture_rule_finds_violation(rule: ArchitectureRule, module: str, source: str) -> None:
    reach_back = {"kinds.http": "from baselinekit import errors"} if rule is circles else {}
    assert list(rule({**SNIPPETS, **reach_back, module: source}))


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (
            order,
            "store.x",
            "from baselinekit.store.project import File\nimport baselinekit.errors\nimport os",
        ),
        (pure, "clients.trust", "import os.path\nx = os.path.commonpath([]) + os.sep"),
        (clocks, "kinds.http", "import time\nx = time.monotonic()"),
        (clocks, "cli.entry", "import time\nx = time.time"),
        (cuts, "commands.x", "x = names[:_MOST_NAMED] + names[:3] + md5(b'').hexdigest()[:32]"),
        (cuts, "commands.x", "x = f'{share:.2f}'"),
        (owners, "clients.http", "import httpx, ssl"),
        (clients, "cli.main", "from baselinekit.clients.http import Client\nprint(1)"),
        (kinds, "kinds.x", "x = recipe.kind == 'http'"),
        (kinds, "suites.x", "x = HttpExecution('http')"),
        (kinds, "clients.trust", "x = parts.scheme == 'http'"),
    ],
)
def test_architecture_rule_allows_correct_code(rule: ArchitectureRule, module: str, source: str) -> None:
    assert list(rule({**SNIPPETS, module: source})) == []


LOADED = """
import json, sys
before = set(sys.modules)
from baselinekit.cli.main import main
sys.argv = ["baselinekit", OPTION]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print()
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_only_click(option: str) -> None:
    code = LOADED.replace("OPTION", repr(option))
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = set(json.loads(ran.stdout.splitlines()[-1]))
    libraries = (
        {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {architecture.PACKAGE}
    )
    assert libraries <= {"click", "colorama"}
    ours = {name.split(".")[1] for name in loaded if name.startswith(f"{architecture.PACKAGE}.")}
    assert ours <= {"cli", "errors", "escape", "lazy"}
    heavy = {"asyncio", "xml.etree", "http.client", "urllib.request", "importlib.metadata", "email"}
    assert not loaded & heavy
