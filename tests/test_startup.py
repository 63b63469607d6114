"""How long a command takes to start: one compare, against the libraries that it stands on."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parent.parent
LIBRARIES = "import click, yaml, httpx"
MOST_TIMES = 1.8
RUNS = 9

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


def processor_time(folder: Path, *typed: str) -> float:
    """The processor time of one Python process, which must succeed."""
    unasked = ("GITHUB_", "CI", "BASELINEKIT_")  # more processes load more
    environ = {name: value for name, value in os.environ.items() if not name.startswith(unasked)}
    environ |= {"PYTHONPATH": str(ROOT)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run([sys.executable, *typed], cwd=folder, env=environ, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
def test_compare_of_one_baseline_starts_about_as_fast_as_its_libraries(tmp_path: Path) -> None:
    """Both are run in turn, so that a busy machine slows both down; the least of each counts."""
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines" / "one.yaml").write_text(BASELINE)
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with served() as url:
        compare = ("-m", "baselinekit", "compare", "--base-url", url, "--record")
        pairs = [
            (processor_time(tmp_path, *compare), processor_time(tmp_path, "-c", LIBRARIES))
            for _ in range(RUNS)
        ]
    assert "last_passed: null" not in (tmp_path / "baselines" / "one.yaml").read_text()
    ours, libraries = (min(times) for times in zip(*pairs, strict=True))
    assert ours <= MOST_TIMES * libraries, f"{ours:.3f} s, the libraries {libraries:.3f} s"
