"""The rules of ARCHITECTURE.md, each asked of the package, and of a snippet that breaks it."""

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

ROOT = Path(__file__).parent.parent
PACKAGE = architecture.package_of(ROOT)

ArchitectureRule = Callable[[architecture.Package], Iterator[str]]
RULES_ASKED: list[ArchitectureRule] = [
    architecture.order,
    architecture.circles,
    architecture.pure,
    architecture.clocks,
    architecture.owners,
    architecture.clients,
    architecture.kinds,
    architecture.class_names,
    architecture.cuts,
]


def test_every_file_says_at_its_head_what_it_is() -> None:
    """And is read here, for all rules: whoever asks first would pay for the others."""
    silent = [name for name, source in PACKAGE.items() if ast.get_docstring(tree_of(source)) is None]
    assert silent == []


def tree_of(source: str) -> ast.Module:
    tree = architecture.nodes(source)[0]
    assert isinstance(tree, ast.Module)
    return tree


@pytest.mark.parametrize("rule", RULES_ASKED, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: ArchitectureRule) -> None:
    broken = list(rule(PACKAGE))
    assert not broken, "\n" + (rule.__doc__ or "") + "\n" + "\n".join(broken)


def test_setup_cfg_names_only_files_and_folders_that_exist() -> None:
    comments = [line for line in (ROOT / "setup.cfg").read_text("utf-8").splitlines() if "#" in line]
    named = re.findall(r"(?<![\w/.*])[\w./*-]+(?:\.py|/)(?![\w/*])", "\n".join(comments))
    places = [
        place if place.startswith(("tests/", "drills/", "studies/")) else f"baselinekit/{place}"
        for place in named
    ]
    assert len(places) > 10
    assert [place for place in places if not list(ROOT.glob(place))] == []


def test_every_package_has_a_place_in_the_order_and_a_first_sentence() -> None:
    assert {architecture.folder_of(module) for module in PACKAGE} <= {"", *architecture.ORDER}
    assert [
        module for module, source in PACKAGE.items() if not ast.get_docstring(architecture.nodes(source)[0])
    ] == []


def test_every_test_file_has_a_name_of_its_own() -> None:
    """The tests are no package, so pytest imports each of them by its name alone."""
    rings = (ROOT / ring for ring in ("tests", "drills", "studies"))
    names = Counter(path.name for ring in rings for path in ring.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


SNIPPETS = {
    "": "",
    "errors": "",
    "escape": "",
    "kinds.dispatch": "",
    "clients.http": "",
    "kinds.settings": "",
    "kinds.http": "class HttpExecution: ...",
    "report.values": "",
    "values.paths": "",
    "secrets.variables": "",
    "clients.trust": "",
    "report.html.page": "",
    "report.wording": "",
    "report.forms.table": "",
    "store.files": "",
}


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (architecture.order, "errors", "from baselinekit.store import files"),
        (architecture.order, "model.x", "def f():\n    import baselinekit.kinds.http"),
        (architecture.order, "values.x", "from baselinekit.clients import trust\n"),
        (architecture.order, "matching.x", "from ..commands import verbs"),
        (architecture.order, "attic.x", "import baselinekit.errors"),
        (architecture.order, "model.x", "if TYPE_CHECKING:\n    from baselinekit.store.project import File"),
        (architecture.circles, "errors", "def f():\n    from baselinekit.kinds import http\n"),
        (architecture.pure, "matching.x", "import time"),
        (architecture.pure, "matching.x", "from random import choice"),
        (architecture.pure, "escape", "import os"),
        (architecture.pure, "clients.trust", "import os.path\nx = os.path.exists('a')"),
        (architecture.pure, "clients.trust", "import os.path\nx = os.getcwd()"),
        (architecture.pure, "escape", "x = open('a')"),
        (architecture.pure, "placeholders.x", "import datetime\nx = datetime.datetime.now()"),
        (architecture.pure, "graders.x", "from urllib.request import urlopen"),
        (architecture.clocks, "kinds.http", "import time\nx = time.time()"),
        (architecture.clocks, "cli.x", "from time import time"),
        (architecture.clocks, "evals.x", "import datetime\nx = datetime.datetime.now(datetime.UTC)"),
        (architecture.owners, "store.files", "import httpx"),
        (architecture.owners, "kinds.x", "def f():\n    import httpx._client"),
        (architecture.owners, "store.files", "import numpy"),
        (architecture.owners, "commands.x", "import click"),
        (architecture.clients, "commands.x", "from baselinekit.clients.http import Client"),
        (architecture.clients, "commands.x", "from baselinekit.report.wording import Style"),
        (architecture.clients, "commands.x", "print('hello')"),
        (architecture.clients, "store.files", "import sys\nsys.exit(1)"),
        (architecture.clients, "store.files", "raise SystemExit"),
        (architecture.clients, "report.x", "import sys\nsys.stderr.write('x')"),
        (architecture.kinds, "graders.x", "x = recipe.kind == 'http'"),
        (architecture.kinds, "commands.x", "x = 'prompt' != kind"),
        (architecture.kinds, "commands.x", "x = result.kind in ('skill', 'prompt')"),
        (architecture.kinds, "cli.x", "x = record['execution']['type'] == 'http'"),
        (architecture.kinds, "cli.x", "x = raw.get('type') == 'command'"),
        (architecture.kinds, "store.x", "x = kind_of(recipe).name == 'http'"),
        (architecture.kinds, "evals.x", "x = isinstance(recipe.execution, HttpExecution)"),
        (architecture.kinds, "evals.x", "x = issubclass(one, http.HttpExecution)"),
        (architecture.kinds, "suites.x", "x = isinstance(recipe.input, dict | HttpRequest)"),
        (architecture.kinds, "suites.x", "x = type(execution) is HttpExecution"),
        (architecture.kinds, "matching.x", "x = {'http': 'body', 'command': 'stdout'}"),
        (architecture.kinds, "report.x", "match result.kind:\n    case 'http' | 'x':\n        pass"),
        (architecture.kinds, "report.x", "match recipe.execution:\n    case HttpExecution():\n        pass"),
        (architecture.cuts, "commands.x", "x = text[:80]"),
        (architecture.cuts, "clients.models.x", "x = f'{said[:300]}'"),
        (architecture.cuts, "kinds.x", "x = text[-_LONGEST_TAIL:]"),
        (architecture.cuts, "report.x", "x = text[: _LONGEST - 1] + '…'"),
        (architecture.cuts, "graders.x", "def f(text, limit):\n    return text[:limit]"),
        (architecture.cuts, "cli.x", "import textwrap\nx = textwrap.shorten(text, 9)"),
        (architecture.cuts, "cli.x", "x = f'{text:.80}'"),
        (architecture.cuts, "commands.x", "x = text[:12]"),
        (architecture.cuts, "cli.x", "x = text[:width]"),
        (architecture.cuts, "cli.x", "from textwrap import wrap\nx = wrap(said, 9)"),
        (architecture.class_names, "store.x", "class A:\n    class A:\n        pass\n"),
    ],
)
def test_each_rule_can_be_broken(rule: ArchitectureRule, module: str, source: str) -> None:
    reach_back = {"kinds.http": "from baselinekit import errors"} if rule is architecture.circles else {}
    assert list(rule({**SNIPPETS, **reach_back, module: source}))


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (
            architecture.order,
            "store.x",
            "from baselinekit.store.project import File\nimport baselinekit.errors\nimport os",
        ),
        (architecture.circles, "store.x", "from baselinekit.store import files"),
        (architecture.pure, "clients.trust", "import os.path\nx = os.path.commonpath([]) + os.sep"),
        (architecture.pure, "store.files", "import time"),
        (architecture.clocks, "kinds.http", "import time\nx = time.monotonic()"),
        (architecture.clocks, "cli.entry", "import time\nx = time.time"),
        (architecture.cuts, "commands.x", "x = clipped(text, 80, redactor.mask)"),
        (architecture.cuts, "commands.x", "x = names[:_MOST_NAMED] + names[:3] + md5(b'').hexdigest()[:32]"),
        (architecture.cuts, "values.texts", "def clipped(text, limit):\n    return text[:limit]"),
        (architecture.cuts, "commands.x", "x = f'{share:.2f}'"),
        (architecture.owners, "cli.main", "import click"),
        (architecture.owners, "clients.http", "import httpx, ssl"),
        (architecture.clients, "cli.main", "from baselinekit.clients.http import Client\nprint(1)"),
        (architecture.kinds, "kinds.http", "class HttpExecution: ...\nx = isinstance(y, HttpExecution)"),
        (architecture.kinds, "kinds.x", "x = recipe.kind == 'http'"),
        (architecture.kinds, "suites.x", "x = HttpExecution('http')"),
        (architecture.kinds, "cli.x", "x = {'type': 'http'}"),
        (architecture.kinds, "clients.trust", "x = parts.scheme == 'http'"),
        (architecture.kinds, "changes.x", "x = change.kind == 'removed'"),
    ],
)
def test_what_is_allowed_is_allowed(rule: ArchitectureRule, module: str, source: str) -> None:
    assert list(rule({**SNIPPETS, module: source})) == []


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_click_and_nothing_heavier(option: str) -> None:
    """Rule 7."""
    code = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        "from baselinekit.cli.main import main\n"
        f"sys.argv = ['baselinekit', {option!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        "print()\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    loaded = set(json.loads(ran.stdout.splitlines()[-1]))
    libraries = (
        {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {architecture.PACKAGE}
    )
    assert libraries <= {"click", "colorama"}
    ours = {name.split(".")[1] for name in loaded if name.startswith(f"{architecture.PACKAGE}.")}
    assert ours <= {"cli", "errors", "escape", "lazy"}
    assert not loaded & {
        "asyncio",
        "xml.etree",
        "http.client",
        "urllib.request",
        "importlib.metadata",
        "email",
    }
