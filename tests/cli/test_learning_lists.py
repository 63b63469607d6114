"""`refresh --learn` of lists as its user sees it: what is said, what a program is told, and what stays."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from console import Console, console


class _Service(ThreadingHTTPServer):
    """A pool of workers; after a restart its term is one higher."""

    daemon_threads = True
    asked = 0
    term = 1


class _Handler(BaseHTTPRequestHandler):
    server: _Service

    def do_GET(self) -> None:
        self.server.asked += self.path == "/pool"
        asked = self.server.asked
        rows = [{"name": f"worker-{asked}-{n}", "state": "idle"} for n in range(asked % 3 + 1)]
        says: dict[str, Any] = {"workers": rows} if self.path == "/pool" else {"term": self.server.term}
        data = json.dumps(says).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def project(folder: Path) -> Iterator[tuple[Console, _Service]]:
    """A pool and a term, captured once each; then the service was restarted."""
    service = _Service(("127.0.0.1", 0), _Handler)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    with console(folder) as here:
        (here.folder / "baselinekit.yaml").write_text("version: 1\n")
        for path in ("pool", "term"):
            url = f"http://127.0.0.1:{service.server_port}/{path}"
            assert here.run(f"baselinekit capture http {url} --id {path} --group x --repeat 1").exit_code == 0
        service.term += 1
        assert here.run("baselinekit compare").exit_code == 1
        yield here, service
    service.shutdown()
    service.server_close()


def test_lists_and_the_word_of_a_person_are_said(tmp_path: Path) -> None:
    with project(tmp_path / "p") as (here, _):
        ran = here.run("baselinekit refresh pool term --learn --yes")
        assert ran.exit_code == 3, ran.stderr
        for line in (
            "  body.workers.*.name  <<any_nonempty_string>>",
            "  body.workers  arrays: each",
            "    1 to 3 rows: one row describes all, and there may be any number of them but none",
            "  stays: body.term: it changed from 1 (on file) to 2 (in all 3 answers)",
            "if the service was only restarted, and nothing on it was changed: add --unchanged",
            "wrote 1 placeholder and 1 rule for lists of 1 baseline in 1 file",
        ):
            assert line in ran.stdout.splitlines(), ran.stdout
        ran = here.run("baselinekit refresh term --learn --unchanged --yes")
        assert (ran.exit_code, "add --unchanged" in ran.stdout) == (0, False), ran.stdout
        assert here.run("baselinekit compare").exit_code == 0


def test_a_program_is_told_of_the_rules(tmp_path: Path) -> None:
    with project(tmp_path / "p") as (here, _):
        told = json.loads(here.run("baselinekit refresh pool --learn --json").stdout)["baselines"][0]
        assert told["lists"] == [{"path": "body.workers", "rule": "each"}]
        assert told["written"] is False


def test_unchanged_is_said_of_what_is_learnt(tmp_path: Path) -> None:
    with project(tmp_path / "p") as (here, _):
        ran = here.run("baselinekit refresh term --unchanged")
        assert ran.exit_code == 2
        assert "BK508 --unchanged is of refresh --learn: add --learn" in ran.stderr
