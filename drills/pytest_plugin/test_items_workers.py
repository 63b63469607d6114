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


class Asked(LittleApi):
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
        return [path for _, path, _ in self.asked]


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


def test_each_baseline_is_replayed_by_one_of_the_workers(tmp_path: Path) -> None:
    with Asked() as asked:
        lay(tmp_path, asked.url, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v")
    assert (code, sorted(asked.paths)) == (0, sorted(f"/read/{n}" for n in range(12))), shown


def test_what_must_be_alone_is_refused_beside_others(tmp_path: Path) -> None:
    with Asked() as asked:
        lay(tmp_path, asked.url, write=WRITES, shares=SHARES, **MANY)
        code, shown = run(tmp_path, "-n", "2", "-v")
        assert code == 1, shown
        assert not {"/write", "/shared"} & {*asked.paths}
        assert shown.count("next: baselinekit explain BK357") == 2
        assert len(asked.paths) == 12
        code, shown = run(tmp_path, "-n", "1", "-v")
        assert (code, asked.paths[-1]) == (0, "/write"), shown
        assert len(asked.paths) == 26


def test_the_limits_of_a_run_are_those_of_its_workers_together(tmp_path: Path) -> None:
    asks = (
        "id: asks-{n}\nbaseline: {{output: {{text: hi}}}}\n"
        "current: {{input: {{prompt: a.md}}, execution: {{type: prompt, model: small}}}}\n"
    )
    with Asked() as asked:
        lay(tmp_path, asked.url, **{f"a{n}": asks.format(n=n) for n in range(10)})
        (tmp_path / "baselines" / "a.md").write_text("hello {{n}}", "utf-8")
        model = f"models: {{small: {{openai: x, base_url: '{asked.url}', key: k}}}}"
        text = f"version: 1\n{model}\nvariables: {{k: v, n: 1}}\nlimits: {{calls: 5, retries: 0}}\n"
        (tmp_path / "baselinekit.yaml").write_text(text, "utf-8")
        code, shown = run(tmp_path, "-n", "3")
    assert code == 1
    assert len(asked.paths) == 5, shown
    assert shown.count("BK620") >= 5


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["one process", "a worker"])
def test_a_ctrl_c_ends_it_at_once(tmp_path: Path, workers: list[str]) -> None:
    """In the middle of a request whose answer does not come."""
    with Asked() as asked:
        lay(
            tmp_path,
            asked.url,
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
    with Asked() as asked:
        lay(tmp_path, asked.url, a=READS.format(n=1).replace("/read", "/slow"), b=READS.format(n=2))
        (tmp_path / "conftest.py").write_text(conftest, "utf-8")
        with started(tmp_path, "-rA") as process:
            while asked.paths[-1:] != ["/read/2"] and process.poll() is None:
                time.sleep(0.05)
            asked.let_go.set()
            shown, _ = process.communicate(timeout=60)
    assert "1 passed, 1 error" in shown
    assert "too slow" in shown


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_a_conftest_begins_the_service_and_says_where_it_is(tmp_path: Path, workers: list[str]) -> None:
    """In each process its own, which fixtures could not: they are for tests."""
    conftest = (
        "import os\n"
        "def pytest_sessionstart(session): os.environ['BASELINEKIT_BASE_URL'] = os.environ['WILL_BE']\n"
    )
    with Asked() as asked:
        lay(tmp_path, "http://127.0.0.1:9", **MANY)
        (tmp_path / "conftest.py").write_text(conftest, "utf-8")
        code, shown = run(tmp_path, *workers, WILL_BE=asked.url)
    assert (code, len(asked.paths)) == (0, 12), shown
    assert f"base_url {asked.url}" in shown
