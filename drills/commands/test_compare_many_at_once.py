"""Several compares at once, interrupted runs, and runs that cannot write."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from console import Console, console
from little_api import LittleApi
from started import start

BASELINE = """\
id: b{n}   # number {n}
baseline: {{output: {{status: 200, body: {{n: {n}}}}}}}
current: {{input: {{endpoint: /x}}, execution: {{type: http}}}}
metadata:
  failure_count: 0
"""


def files(folder: Path, count: int) -> list[Path]:
    (folder / "baselines").mkdir()
    made = [folder / "baselines" / f"b{n}.yaml" for n in range(count)]
    for n, path in enumerate(made):
        path.write_text(BASELINE.format(n=n))
    return made


def counts(made: list[Path]) -> list[int]:
    return [int(re.search(r"failure_count: (\d+)", path.read_text())[1]) for path in made]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "project") as terminal:
        yield terminal


def test_eight_compares_at_once_lose_no_count(here: Console) -> None:
    made = files(here.folder, 50)
    with LittleApi({"/x": {"n": "other"}}) as api:
        running = [start(here, "compare", "-q", "--base-url", api.url) for _ in range(8)]
        ends = [process.wait(timeout=60) for process in running]
        for process in running:
            process.communicate()
    assert ends == [1] * 8
    assert counts(made) == [8] * 50
    left = [path.name for path in (here.folder / ".baselinekit" / "tmp").glob("*")]
    assert left == []


class Slow(BaseHTTPRequestHandler):
    """Every third answer never comes."""

    seen = 0
    lock = threading.Lock()

    def do_GET(self) -> None:
        with Slow.lock:
            Slow.seen += 1
            late = Slow.seen > 4
        if late:
            time.sleep(20)
        body = b'{"n": 0}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_is_done_and_ends_soon(here: Console, number: int) -> None:
    made = files(here.folder, 12)
    Slow.seen = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        process = start(here, "compare", "-j", "4", "--base-url", url, "--json")
        deadline = time.monotonic() + 30
        while Slow.seen < 8:  # each of the four threads has done with its first, and waits for its second
            assert time.monotonic() < deadline
            time.sleep(0.02)
        told = time.monotonic()
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
        took = time.monotonic() - told
    finally:
        server.shutdown()
        server.server_close()
    assert process.returncode == 130
    assert took < 10, "the answers take twenty"
    assert b'"interrupted": true' in out
    passed = [path for path in made if "last_passed" in path.read_text()]
    assert sum(counts(made)) + len(passed) == 4, "the four that were answered, and no other"


def test_a_read_only_checkout_is_compared_all_the_same(here: Console) -> None:
    made = files(here.folder, 2)
    with LittleApi({"/x": {"n": 0}}) as api:
        if os.geteuid() == 0:  # root may write anywhere: a file where the state folder should be does as well
            (here.folder / ".baselinekit").write_text("not a folder")
        else:
            for folder in (here.folder / "baselines", here.folder):
                folder.chmod(0o555)
        ran = here.run(f"baselinekit compare --base-url {api.url}")
        quiet = here.run(f"CI=1 baselinekit compare --base-url {api.url}")
    (here.folder).chmod(0o755)
    (here.folder / "baselines").chmod(0o755)
    assert ran.exit_code == 1, "one of the two differs, whatever can be written"
    assert "BK120" in ran.stdout
    assert quiet.exit_code == 1
    assert counts(made) == [0, 0]


def test_output_does_not_depend_on_who_finishes_first(here: Console) -> None:
    files(here.folder, 30)
    with LittleApi({"/x": {"n": 3}}) as api:
        said = {
            jobs: here.run(f"baselinekit compare --no-record -j {jobs} --base-url {api.url}").stdout
            for jobs in (1, 7, 64)
        }
    assert len(set(said.values())) == 1
    assert "29 failed, 1 passed" in said[1]


def test_a_pipe_that_closes_early_is_no_fault(here: Console) -> None:
    files(here.folder, 30)
    with LittleApi({"/x": {"n": "no"}}) as api:
        ran = here.run(f"baselinekit compare --no-record --base-url {api.url} | head -1")
    assert ran.stderr == ""
