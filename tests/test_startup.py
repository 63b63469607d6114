"""What a command imports: a compare that passes, its help, and explain load what they use."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parent.parent
CODE = """\
import json, sys
from baselinekit.cli.main import main
sys.argv = ["baselinekit", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print()
print(json.dumps(sorted(sys.modules)))
"""
UNUSED = {
    *(
        "asyncio",
        "concurrent.futures",
        "email",
        "html.entities",
        "http.client",
        "importlib.metadata",
        "logging",
    ),
    *("ssl", "statistics", "subprocess", "tempfile", "xml", "yaml", "pydantic", "httpx", "httpcore", "h11"),
    *("deepdiff", "jsonschema", "regex"),
    *("hashlib", "pickle", "random", "shutil", "string"),
}
"""Of the standard library and of our own libraries: nothing of it is used where all is plain and passes."""

OF_A_COMPARE = {
    *("cli", "codes", "matching", "documents", "errors", "escape", "frozen", "kinds", "lazy", "model"),
    *("placeholders", "replaying", "report", "schema", "secrets", "store", "texts", "tree", "trust"),
    *("variables", "workflow"),
}
MOST_OF_A_COMPARE = 78
"""Files of ours, the heads of packages not counted. What compares arrays, reads a flow or sends a file is
imported with the first one of them."""

BASELINE = """\
id: one
baseline:
  output:
    status: 200
    body:
      n: 1
      at: <<any_iso_datetime>>
current:
  input:
    method: GET
    endpoint: /one
  execution:
    type: http
metadata:
  last_passed: null
  failure_count: 0
"""


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"n": 1, "at": "2026-01-01T10:00:00Z"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def loaded(folder: Path, *typed: str) -> set[str]:
    """What is imported when a command has ended."""
    unasked = ("GITHUB_", "CI", "BASELINEKIT_")  # more processes load more
    environ = {name: value for name, value in os.environ.items() if not name.startswith(unasked)}
    argv = [sys.executable, "-c", CODE, *typed]
    environ |= {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def ours(modules: set[str]) -> set[str]:
    return {name.removeprefix("baselinekit.") for name in modules if name.startswith("baselinekit.")}


def test_a_compare_that_passes_loads_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "one.yaml").write_text(BASELINE)
    with served() as url:
        (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
        found = loaded(tmp_path, "compare", "--base-url", url, "--record")
    assert "last_passed: null" not in (tmp_path / "baselines" / "one.yaml").read_text()
    assert found & UNUSED == set()
    files = {name for name in ours(found) if "." in name or name in ("errors", "escape", "frozen", "lazy")}
    assert {name.split(".")[0] for name in files} <= OF_A_COMPARE
    assert {name for name in files if name.startswith("kinds.")} == {
        f"kinds.{name}" for name in ("bodies", "http", "kind", "table")
    }
    assert len(files) <= MOST_OF_A_COMPARE, sorted(files)


@pytest.mark.parametrize(
    ("typed", "packages"),
    [
        (("compare", "--help"), {"cli", "errors", "frozen"}),
        (("explain", "BK203"), {"cli", "codes", "errors", "escape", "frozen", "lazy", "secrets"}),
    ],
    ids=["help", "explain"],
)
def test_help_and_explain_load_options_and_words(
    tmp_path: Path, typed: tuple[str, ...], packages: set[str]
) -> None:
    found = loaded(tmp_path, *typed)
    assert found & UNUSED <= {"shutil"}  # click itself asks it for the width of a terminal
    assert {name.split(".")[0] for name in ours(found)} <= packages
