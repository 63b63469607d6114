"""The laws of the house (ARCHITECTURE.md), each asked of the package, and of a snippet that breaks it."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import laws
import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = laws.package_of(ROOT)

Law = Callable[[laws.Package], Iterator[str]]
LAWS: list[Law] = [
    laws.layers,
    laws.circles,
    laws.edges,
    laws.rules,
    laws.clocks,
    laws.owners,
    laws.clients,
    laws.dispatches,
    laws.kinds,
    laws.sizes,
    laws.cuts,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_house_keeps_the_law(law: Law) -> None:
    broken = list(law(PACKAGE))
    assert not broken, "\n" + (law.__doc__ or "") + "\n" + "\n".join(broken)


def test_every_room_has_a_storey_and_a_first_sentence() -> None:
    assert {laws.room(module) for module in PACKAGE} <= set(laws.LAYERS)
    for room, house in laws.WITHIN.items():
        within = {laws.inner_room(module) for module in PACKAGE if laws.room(module) == room} - {""}
        assert within == set(house)
    assert [
        module for module, source in PACKAGE.items() if not ast.get_docstring(laws.nodes(source)[0])
    ] == []


ROOMS = {
    "": "",
    "errors": "",
    "escape": "",
    "replay.http": "",
    "replay.dispatch": "",
    "replay.client": "",
    "replay.settings": "",
    "kinds.http": "class HttpExecution: ...",
    "report.style": "",
    "report.values": "",
    "tree.paths": "",
    "variables": "",
    "trust": "",
    "report.html.page": "",
    "report.wording": "",
    "report.forms.table": "",
    "store.files": "",
}


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (laws.layers, "errors", "from baselinekit.store import files"),
        (laws.layers, "model.x", "def f():\n    import baselinekit.replay.http"),
        (laws.layers, "tree.x", "from baselinekit import variables, trust\n"),
        (laws.layers, "compare.x", "from ..workflow import verbs"),
        (laws.layers, "attic.x", "import baselinekit.errors"),
        (laws.layers, "model.x", "if TYPE_CHECKING:\n    from baselinekit.store.files import File"),
        (laws.layers, "report.values", "from baselinekit.report.html import page"),
        (laws.layers, "report.evals.x", "def f():\n    from ..html import page"),
        (laws.layers, "report.wording", "from baselinekit.report.forms import table"),
        (laws.layers, "report.attic.x", "from baselinekit.report.values import page"),
        (laws.circles, "errors", "def f():\n    from baselinekit.replay import http\n"),
        (laws.edges, "store.x", "from baselinekit.replay.http import Flow"),
        (laws.edges, "report.x", "from baselinekit.compare import walk"),
        (laws.rules, "compare.x", "import time"),
        (laws.rules, "compare.x", "from random import choice"),
        (laws.rules, "escape", "import os"),
        (laws.rules, "trust", "import os.path\nx = os.path.exists('a')"),
        (laws.rules, "trust", "import os.path\nx = os.getcwd()"),
        (laws.rules, "escape", "x = open('a')"),
        (laws.rules, "placeholders.x", "import datetime\nx = datetime.datetime.now()"),
        (laws.rules, "grade.x", "from urllib.request import urlopen"),
        (laws.clocks, "replay.http", "import time\nx = time.time()"),
        (laws.clocks, "cli.x", "from time import time"),
        (laws.clocks, "evals.x", "import datetime\nx = datetime.datetime.now(datetime.UTC)"),
        (laws.owners, "store.files", "import httpx"),
        (laws.owners, "replay.x", "def f():\n    import httpx._client"),
        (laws.owners, "store.files", "import numpy"),
        (laws.owners, "workflow.x", "import click"),
        (laws.clients, "workflow.x", "from baselinekit.replay.client import Client"),
        (laws.clients, "workflow.x", "from baselinekit.report.style import Style"),
        (laws.clients, "workflow.x", "print('hello')"),
        (laws.clients, "store.files", "import sys\nsys.exit(1)"),
        (laws.clients, "store.files", "raise SystemExit"),
        (laws.clients, "report.x", "import sys\nsys.stderr.write('x')"),
        (laws.dispatches, "workflow.x", "from baselinekit.replay import http"),
        (laws.dispatches, "cli.x", "from baselinekit.replay.http import Flow"),
        (laws.dispatches, "evals.x", "from baselinekit.replay.body import Headers"),
        (laws.kinds, "grade.x", "x = recipe.kind == 'http'"),
        (laws.kinds, "workflow.x", "x = 'prompt' != kind"),
        (laws.kinds, "workflow.x", "x = result.kind in ('skill', 'prompt')"),
        (laws.kinds, "cli.x", "x = record['execution']['type'] == 'http'"),
        (laws.kinds, "cli.x", "x = raw.get('type') == 'command'"),
        (laws.kinds, "store.x", "x = kind_of(recipe).name == 'http'"),
        (laws.kinds, "evals.x", "x = isinstance(recipe.execution, HttpExecution)"),
        (
            laws.kinds,
            "evals.x",
            "x = issubclass(one, http.HttpExecution)",
        ),
        (laws.kinds, "suites.x", "x = isinstance(recipe.input, dict | HttpRequest)"),
        (laws.kinds, "suites.x", "x = type(execution) is HttpExecution"),
        (laws.kinds, "compare.x", "x = {'http': 'body', 'command': 'stdout'}"),
        (laws.kinds, "report.x", "match result.kind:\n    case 'http' | 'x':\n        pass"),
        (laws.kinds, "report.x", "match recipe.execution:\n    case HttpExecution():\n        pass"),
        (laws.cuts, "workflow.x", "x = text[:80]"),
        (laws.cuts, "models.x", "x = f'{said[:300]}'"),
        (laws.cuts, "replay.x", "x = text[-_LONGEST_TAIL:]"),
        (laws.cuts, "report.x", "x = text[: _LONGEST - 1] + '…'"),
        (laws.cuts, "grade.x", "def f(text, limit):\n    return text[:limit]"),
        (laws.cuts, "cli.x", "import textwrap\nx = textwrap.shorten(text, 9)"),
        (laws.cuts, "cli.x", "x = f'{text:.80}'"),
        (laws.cuts, "replay.x", "x = clipped(text, 80, already_masked)"),
        (laws.cuts, "report.x", "x = clipped(text, 80, already_masked)"),
        (laws.cuts, "workflow.x", "x = text[:12]"),
        (laws.cuts, "cli.x", "x = text[:width]"),
        (laws.cuts, "replay.x", "x = said.splitlines()[-1]"),
        (laws.cuts, "models.x", "x = said.partition(':')[0]"),
        (laws.cuts, "evals.x", "x = said.split()[0]"),
        (laws.cuts, "cli.x", "from textwrap import wrap\nx = wrap(said, 9)"),
        (laws.sizes, "store.utils", ""),
        (laws.sizes, "store.x", "x = 1\n" * 501),
        (laws.sizes, "store.x", "def f():\n" + "    x = 1\n" * 60),
        (laws.sizes, "store.x", "class X:\n" + "    x = 1\n" * 300),
    ],
)
def test_each_law_can_be_broken(law: Law, module: str, source: str) -> None:
    reach_back = {"replay.http": "from baselinekit import errors"} if law is laws.circles else {}
    assert list(law({**ROOMS, **reach_back, module: source}))


@pytest.mark.parametrize(
    ("law", "module", "source"),
    [
        (
            laws.layers,
            "store.x",
            "from baselinekit.store.files import File\nimport baselinekit.errors\nimport os",
        ),
        (laws.layers, "report.html.x", "from baselinekit.report import wording"),
        (laws.layers, "report.html.x", "from baselinekit.report.html.page import render"),
        (laws.circles, "store.x", "from baselinekit.store import files"),
        (laws.rules, "trust", "import os.path\nx = os.path.commonpath([]) + os.sep"),
        (laws.rules, "store.files", "import time"),
        (laws.clocks, "replay.http", "import time\nx = time.monotonic()"),
        (laws.clocks, "cli.clock", "import time\nx = time.time"),
        (laws.cuts, "workflow.x", "x = clipped(text, 80, redactor.mask)"),
        (laws.cuts, "workflow.x", "x = names[:_MOST_NAMED] + names[:3] + sha256(b'').hexdigest()[:32]"),
        (laws.cuts, "texts", "def clipped(text, limit):\n    return text[:limit]"),
        (laws.cuts, "workflow.x", "x = f'{share:.2f}'"),
        (laws.owners, "cli.main", "import click"),
        (laws.owners, "replay.client", "import httpx, ssl"),
        (laws.clients, "cli.main", "from baselinekit.replay.client import Client\nprint(1)"),
        (laws.dispatches, "workflow.x", "from baselinekit.replay.dispatch import replay"),
        (laws.dispatches, "workflow.x", "from baselinekit.replay import dispatch"),
        (laws.dispatches, "cli.x", "from baselinekit.replay.client import Client"),
        (laws.dispatches, "cli.x", "from baselinekit.report.style import Style"),
        (laws.dispatches, "workflow.x", "from baselinekit.store import files"),
        (laws.dispatches, "workflow.x", "from baselinekit.replay.settings import Clients"),
        (laws.kinds, "kinds.http", "class HttpExecution: ...\nx = isinstance(y, HttpExecution)"),
        (laws.kinds, "replay.http", "x = recipe.kind == 'http'"),
        (laws.kinds, "suites.x", "x = HttpExecution('http')"),
        (laws.kinds, "cli.x", "x = {'type': 'http'}"),
        (laws.kinds, "trust", "x = parts.scheme == 'http'"),
        (laws.kinds, "refresh.x", "x = change.kind == 'removed'"),
    ],
)
def test_what_is_allowed_is_allowed(law: Law, module: str, source: str) -> None:
    assert list(law({**ROOMS, module: source})) == []


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_load_click_and_nothing_heavier(option: str) -> None:
    """Law 7."""
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
    libraries = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {laws.PACKAGE}
    assert libraries <= {"click", "colorama"}
    ours = {name.split(".")[1] for name in loaded if name.startswith(f"{laws.PACKAGE}.")}
    assert ours <= {"cli", "errors"}
    assert not loaded & {
        "asyncio",
        "xml.etree",
        "http.client",
        "urllib.request",
        "importlib.metadata",
        "email",
    }
