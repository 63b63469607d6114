"""The tools whose users check the same things: where each is found, what its file looks like, how it is run.

They are looked for in `benchmarks/peers`, where `make bench-peers` puts them, and on PATH."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PEERS = Path(__file__).with_name("peers")
PLACES = (PEERS / "node_modules" / ".bin",)
JOBS = "32"
"""At once, for the tools that can: they are quickest so."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What is to be checked: `GET url/<n>.json` answers 200 and this very body."""

    url: str
    bodies: Sequence[Any]

    def address(self, number: int) -> str:
        return f"{self.url}/{number}.json"


@dataclass(frozen=True, slots=True)
class Tool:
    """`write` makes its file in a folder and `arguments` run it; `passed` finds the number of passes in what
    it prints."""

    name: str
    program: str
    write: Callable[[Path, Checks], None]
    arguments: tuple[str, ...]
    passed: str
    env: dict[str, str] = field(default_factory=dict)

    @property
    def found(self) -> str | None:
        """Its program. A tool that is not installed is None."""
        if self.program == "python":
            return sys.executable
        path = os.pathsep.join([*map(str, PLACES), os.environ.get("PATH", "")])
        return shutil.which(self.program, path=path)

    @property
    def version(self) -> str:
        """As its package says, beside or above its program."""
        program = Path(self.found or "").resolve()
        for folder in program.parents:
            for package in (
                folder / "package.json",
                *folder.glob(f"lib/python*/site-packages/{self.name}-*/METADATA"),
            ):
                if package.exists() and (found := _VERSION.search(package.read_text("utf-8"))):
                    return found[1]
        return "of unknown version"

    def argv(self, folder: Path) -> list[str]:
        return [self.found or self.program, *(part.replace("FOLDER", str(folder)) for part in self.arguments)]

    def passes(self, output: str) -> int:
        found = re.search(self.passed, output)
        return int(found[1].replace(",", "")) if found else -1

    def settings(self, folder: Path) -> dict[str, str]:
        """Its environment: as quiet, and as much by itself, as it can be."""
        return {name: value.replace("FOLDER", str(folder)) for name, value in self.env.items()}


_VERSION = re.compile(r"""(?m)^\s*"?[Vv]ersion"?: "?([0-9][^",\s]*)""")
_PYTEST = """\
import json
import pathlib

import httpx
import pytest

CHECKS = json.loads(pathlib.Path(__file__).with_name("checks.json").read_text())


@pytest.fixture(scope="session")
def client():
    with httpx.Client() as client:
        yield client


@pytest.mark.parametrize(("url", "body"), CHECKS, ids=range(len(CHECKS)))
def test_it(client, url, body):
    response = client.get(url)
    assert response.status_code == 200
    assert response.json() == body
"""


def _pytest(folder: Path, checks: Checks) -> None:
    pairs = [(checks.address(number), body) for number, body in enumerate(checks.bodies)]
    (folder / "checks.json").write_text(json.dumps(pairs), "utf-8")
    (folder / "test_checks.py").write_text(_PYTEST, "utf-8")


def _newman(folder: Path, checks: Checks) -> None:
    items = [
        {
            "name": str(number),
            "request": {"method": "GET", "url": checks.address(number)},
            "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": [_script(body)]}}],
        }
        for number, body in enumerate(checks.bodies)
    ]
    schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    collection = {"info": {"name": "checks", "schema": schema}, "item": items}
    (folder / "collection.json").write_text(json.dumps(collection), "utf-8")


def _script(body: Any) -> str:
    return (
        "pm.test('it', () => { pm.response.to.have.status(200); "
        f"pm.expect(pm.response.json()).to.eql({json.dumps(body)}); }});"
    )


def _stepci(folder: Path, checks: Checks) -> None:
    tests = {}
    for number, body in enumerate(checks.bodies):
        check = {"status": 200, "json": body}
        http = {"url": checks.address(number), "method": "GET", "check": check}
        tests[f"t{number}"] = {"steps": [{"name": str(number), "http": http}]}
    workflow = {"version": "1.1", "name": "checks", "tests": tests}
    (folder / "workflow.yml").write_text(json.dumps(workflow), "utf-8")


def _promptfoo(folder: Path, checks: Checks) -> None:
    url = f"{checks.url}/{{{{n}}}}.json"
    config = {
        "prompts": ["{{n}}"],
        "providers": [{"id": "http", "config": {"url": url, "method": "GET", "transformResponse": "text"}}],
        "tests": [
            {"vars": {"n": number}, "assert": [{"type": "equals", "value": json.dumps(body)}]}
            for number, body in enumerate(checks.bodies)
        ],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")


_QUIET = {
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
}
_UNCACHED = ("-q", "-p", "no:cacheprovider", "--rootdir=FOLDER", "-c", "/dev/null")

TOOLS = (
    Tool(
        "pytest + httpx",
        "python",
        _pytest,
        ("-m", "pytest", *_UNCACHED, "FOLDER/test_checks.py"),
        r"([\d,]+) passed",
    ),
    Tool(
        "newman",
        "newman",
        _newman,
        (
            *("run", "FOLDER/collection.json", "--color", "off", "-r", "cli"),
            *("--reporter-cli-no-success-assertions", "--reporter-cli-no-banner"),
        ),
        r"assertions\W+(\d+)",
    ),
    Tool(
        "Step CI",
        "stepci",
        _stepci,
        ("run", "FOLDER/workflow.yml", "--concurrency", JOBS),
        r"Tests: .*?([\d,]+) passed",
        {"STEPCI_DISABLE_ANALYTICS": "1", "NO_COLOR": "1"},
    ),
    Tool(
        "promptfoo",
        "promptfoo",
        _promptfoo,
        (
            *("eval", "-c", "FOLDER/promptfooconfig.json", "-j", JOBS, "--no-cache", "--no-table"),
            *("--no-progress-bar", "--no-write"),
        ),
        r"([\d,]+) passed",
        {**_QUIET, "NO_COLOR": "1", "PROMPTFOO_CONFIG_DIR": "FOLDER"},
    ),
)
