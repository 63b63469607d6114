"""Baselines as items in several processes of pytest-xdist, and where a run is stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from little_api import LittleApi
from startedpytest import run_pytest

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


class Service(LittleApi):
    """A service that notes what it is asked, and answers `/slow` only when it is let go."""

    def __init__(self) -> None:
        super().__init__({f"/read/{n}": {"path": f"/read/{n}"} for n in range(12)})
        self.let_go, self.began = threading.Event(), threading.Event()
        self.answers |= {"/slow/1": self._slow, "/write": {}, "/shared": {}, "/chat/completions": {}}

    def _slow(self, number: int) -> dict[str, str]:
        self.began.set()
        self.let_go.wait(60)
        return {"path": "/slow/1"}

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _ in self.requests]


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


def run(folder: Path, *options: str, **more: str) -> tuple[int, str]:
    return run_pytest(folder, *ITEMS, *options, env={**os.environ, **more})


MANY = {f"read{n}": READS.format(n=n) for n in range(12)}


def test_items_replay_once_and_refuse_writes_beside_other_workers(tmp_path: Path) -> None:
    with Service() as service:
        lay(tmp_path, service.url, write=WRITES, shares=SHARES, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v")
        assert code == 1, shown
        assert not {"/write", "/shared"} & {*service.paths}
        assert shown.count("next: baselinekit explain BK356") == 2
        assert len(service.paths) == 12
        code, shown = run(tmp_path, "-n", "1", "-v")
        assert (code, service.paths[-1]) == (0, "/write"), shown
        assert len(service.paths) == 26


def test_items_share_limits_over_all_workers(tmp_path: Path) -> None:
    asks = (
        "id: asks-{n}\nbaseline: {{output: {{text: hi}}}}\n"
        "current: {{input: {{prompt: a.md}}, execution: {{type: prompt, model: small}}}}\n"
    )
    with Service() as service:
        lay(tmp_path, service.url, **{f"a{n}": asks.format(n=n) for n in range(10)})
        (tmp_path / "baselines" / "a.md").write_text("hello {{n}}", "utf-8")
        model = f"models: {{small: {{openai: x, base_url: '{service.url}', key: k}}}}"
        text = f"version: 1\n{model}\nvariables: {{k: v, n: 1}}\nlimits: {{calls: 5, retries: 0}}\n"
        (tmp_path / "baselinekit.yaml").write_text(text, "utf-8")
        code, shown = run(tmp_path, "-n", "3")
    assert code == 1
    assert len(service.paths) == 5, shown
    assert shown.count("BK620") >= 5


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_items_end_at_once_after_ctrl_c(tmp_path: Path, workers: list[str]) -> None:
    """In the middle of a request whose answer does not come."""
    with Service() as service:
        reads = [READS.format(n=n) for n in range(3)]
        lay(tmp_path, service.url, a=reads[0], b=reads[1].replace("/read", "/slow"), c=reads[2])
        with started(tmp_path, *workers) as process:
            assert service.began.wait(60)
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            shown, _ = process.communicate(timeout=60)
        took = time.monotonic() - began
    assert took < 20, took
    assert process.returncode == 2, shown
    assert "KeyboardInterrupt" in shown
    assert "Traceback" not in shown
    assert service.paths[-1] == "/slow/1"


def test_conftest_of_each_worker_sets_the_base_url(tmp_path: Path) -> None:
    """In each process its own, which fixtures could not: they are for tests."""
    conftest = (
        "import os\n"
        "def pytest_sessionstart(session): os.environ['BASELINEKIT_BASE_URL'] = os.environ['WILL_BE']\n"
    )
    with Service() as service:
        lay(tmp_path, "http://127.0.0.1:9", **MANY)
        (tmp_path / "conftest.py").write_text(conftest, "utf-8")
        code, shown = run(tmp_path, "-n", "2", WILL_BE=service.url)
    assert (code, len(service.paths)) == (0, 12), shown
    assert f"base_url {service.url}" in shown
