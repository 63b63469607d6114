"""Baselines as items in several processes of pytest-xdist, and where a run is stopped."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from warmpytest import WarmPytest

READS = """\
id: read-{n}
baseline: {{output: {{status: 200, body: {{path: /read/{n}}}}}}}
current: {{input: {{endpoint: /read/{n}}}, execution: {{type: http}}}}
"""
WRITES = """\
id: write
baseline: {output: {status: 200}}
current: {input: {method: POST, endpoint: /write}, execution: {type: http}}
"""
SHARES = """\
id: shares
baseline: {output: {status: 200}}
current: {input: {endpoint: /shared}, execution: {type: http, resource: account}}
"""


class Asked:
    """A service that notes what it is asked, and answers `/slow` only when it is let go."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.let_go = threading.Event()
        self.began = threading.Event()

    def answer(self, path: str) -> bytes:
        self.paths.append(path)
        if path.startswith("/slow"):
            self.began.set()
            self.let_go.wait(60)
        return json.dumps({"path": path}).encode()


@contextmanager
def service() -> Iterator[tuple[str, Asked]]:
    asked = Asked()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = asked.answer(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        asked.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def lay(folder: Path, url: str, **files: str) -> None:
    (folder / "baselines").mkdir()
    (folder / "baselinekit.yaml").write_text(f"version: 1\nbase_url: {url}\n", "utf-8")
    for name, text in files.items():
        (folder / "baselines" / f"{name}.yaml").write_text(text, "utf-8")


ITEMS = ("--baselinekit", "-p", "no:cacheprovider")


def started(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """It begins from nothing."""
    words = [sys.executable, "-m", "pytest", *ITEMS, *options]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    return subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(pytests: WarmPytest) -> Run:
    def at_once(folder: Path, *options: str, **more: str) -> tuple[int, str]:
        return pytests.run(folder, *ITEMS, *options, env={**os.environ, **more})

    return at_once


def outcomes(shown: str) -> dict[str, str]:
    """What -v says of each, once."""
    found = re.findall(r"(PASSED|FAILED|ERROR|SKIPPED) (\S+::\S+) *$", shown, re.MULTILINE)
    assert len({id for _, id in found}) == len(found)
    return {id.rpartition("::")[2]: word for word, id in found if "%" not in id}


MANY = {f"read{n}": READS.format(n=n) for n in range(12)}


def test_each_baseline_is_replayed_by_one_of_the_workers(run: Run, tmp_path: Path) -> None:
    with service() as (url, asked):
        lay(tmp_path, url, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v")
    assert (code, sorted(asked.paths)) == (0, sorted(f"/read/{n}" for n in range(12))), shown


def test_what_must_be_alone_is_refused_beside_others(run: Run, tmp_path: Path) -> None:
    with service() as (url, asked):
        lay(tmp_path, url, write=WRITES, shares=SHARES, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v")
        assert code == 1, shown
        assert not {"/write", "/shared"} & {*asked.paths}
        assert shown.count("next: baselinekit explain BK357") == 2
        assert len(asked.paths) == 12
        code, shown = run(tmp_path, "-n", "1", "-v")
        assert (code, asked.paths[-1]) == (0, "/write"), shown
        assert len(asked.paths) == 26


def test_with_groups_one_worker_has_them_all_where_they_hold(run: Run, tmp_path: Path) -> None:
    """Of some versions of pytest-xdist and pytest they do not: then it is refused as without."""
    with service() as (url, asked):
        lay(tmp_path, url, write=WRITES, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v", "--dist", "loadgroup")
    if "@baselinekit" in shown:
        assert (code, asked.paths[-1], len(asked.paths)) == (0, "/write", 13), shown
    else:
        assert (code, "/write" in asked.paths) == (1, False), shown


def test_what_is_wrong_is_said_once_for_all_workers(run: Run, tmp_path: Path) -> None:
    with service() as (url, _):
        wrong = READS.format(n=1).replace("path: /read/1", "path: <<any_strnig>>")
        lay(tmp_path, url, broken="id: [\n", wrong=wrong)
        code, shown = run(tmp_path, "-n", "2")
    assert code == 1, shown
    lines = [line for line in shown.splitlines() if line.startswith("BK")]
    assert [line.split(": ")[0] for line in lines] == [
        "BK101 baselines/broken.yaml:2:1",
        "BK212 baselines/wrong.yaml:2:47",
    ]
    assert ".py:" not in shown


def test_items_with_one_that_lacks_a_variable_run_the_others(run: Run, tmp_path: Path) -> None:
    with service() as (url, asked):
        unset = READS.format(n=1).replace("endpoint: /read/1", 'endpoint: "/read/{{nobody}}"')
        lay(tmp_path, url, unset=unset, fine=READS.format(n=2))
        code, shown = run(tmp_path)
    assert (code, asked.paths) == (1, ["/read/2"]), shown
    assert "1 passed, 1 error" in shown
    assert "BK501" in shown


def test_the_limits_of_a_run_are_those_of_its_workers_together(run: Run, tmp_path: Path) -> None:
    asks = (
        "id: asks-{n}\nbaseline: {{output: {{text: hi}}}}\n"
        "current: {{input: {{prompt: a.md}}, execution: {{type: prompt, model: small}}}}\n"
    )
    with service() as (url, asked):
        lay(tmp_path, url, **{f"a{n}": asks.format(n=n) for n in range(10)})
        (tmp_path / "baselines" / "a.md").write_text("hello {{n}}", "utf-8")
        model = f"models: {{small: {{openai: x, base_url: '{url}', key: k}}}}"
        text = f"version: 1\n{model}\nvariables: {{k: v, n: 1}}\nlimits: {{calls: 5, retries: 0}}\n"
        (tmp_path / "baselinekit.yaml").write_text(text, "utf-8")
        code, shown = run(tmp_path, "-n", "3")
    assert code == 1
    assert len(asked.paths) == 5, shown
    assert shown.count("BK620") >= 5


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["one process", "a worker"])
def test_a_ctrl_c_ends_it_at_once(tmp_path: Path, workers: list[str]) -> None:
    """In the middle of a request whose answer does not come."""
    with service() as (url, asked):
        lay(
            tmp_path,
            url,
            a=READS.format(n=0),
            b=READS.format(n=1).replace("/read", "/slow"),
            c=READS.format(n=2),
        )
        with started(tmp_path, *workers) as process:
            assert asked.began.wait(60)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            shown, _ = process.communicate(timeout=60)
        took = time.monotonic() - began
    assert took < 20, took
    assert process.returncode == 2, shown
    assert "KeyboardInterrupt" in shown
    assert "Traceback" not in shown
    assert asked.paths[-1] == "/slow/1"


def test_who_ends_the_wait_for_one_gets_the_others_judged(tmp_path: Path) -> None:
    """As pytest-timeout does: what is raised in the middle is the error of that one."""
    conftest = (
        "import signal, pytest\n"
        "def ended(number, frame): pytest.fail('too slow', pytrace=False)\n"
        "signal.signal(signal.SIGALRM, ended)\n"
        "def pytest_runtest_setup(item): signal.setitimer(signal.ITIMER_REAL, 1.0)\n"
        "def pytest_runtest_teardown(item): signal.setitimer(signal.ITIMER_REAL, 0)\n"
    )
    with service() as (url, asked):
        lay(tmp_path, url, a=READS.format(n=1).replace("/read", "/slow"), b=READS.format(n=2))
        (tmp_path / "conftest.py").write_text(conftest, "utf-8")
        with started(tmp_path, "-rA") as process:
            while asked.paths[-1:] != ["/read/2"] and process.poll() is None:
                time.sleep(0.05)
            asked.let_go.set()
            shown, _ = process.communicate(timeout=60)
    assert "1 passed, 1 error" in shown
    assert "too slow" in shown


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_a_conftest_begins_the_service_and_says_where_it_is(
    run: Run, tmp_path: Path, workers: list[str]
) -> None:
    """In each process its own, which fixtures could not: they are for tests."""
    conftest = (
        "import os\n"
        "def pytest_sessionstart(session): os.environ['BASELINEKIT_BASE_URL'] = os.environ['WILL_BE']\n"
    )
    with service() as (url, asked):
        lay(tmp_path, "http://127.0.0.1:9", **MANY)
        (tmp_path / "conftest.py").write_text(conftest, "utf-8")
        code, shown = run(tmp_path, *workers, WILL_BE=url)
    assert (code, len(asked.paths)) == (0, 12), shown
    assert f"base_url {url}" in shown
