"""compare and run on a Dask cluster, with real schedulers and workers on this machine: the report is that of
a plain one, a lost worker's part counts once, a Ctrl-C ends it there as well, and nobody sees a secret."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from commandline import finish, start as start_command, timeless, until
from little_api import LittleApi
from manycases import project_of_cases

distributed = pytest.importorskip(
    "distributed", reason="dask is not installed: pip install 'baselinekit[dask]'"
)

SECRET = "tok-5f3a9c1e77d04b2a"
PLAIN = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", "CI": "false"}


@dataclass
class Running:
    """A scheduler and two workers, as somebody starts them by hand."""

    folder: Path
    address: str
    dashboard: str
    logs: list[Path] = field(default_factory=list)

    def worker_pids(self) -> list[int]:
        with distributed.Client(self.address, set_as_default=False) as client:
            return sorted(client.run(os.getpid).values())

    def page(self, path: str) -> str:
        """What stands there; some of the pages fail now and then."""
        try:
            with urllib.request.urlopen(f"{self.dashboard}/{path}", timeout=10) as answer:
                return answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            return error.read().decode("utf-8", "replace")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("cluster")
    scheduler_file = folder / "scheduler.json"
    begun: list[subprocess.Popen[bytes]] = []
    logs: list[Path] = []

    def start(*words: str) -> None:
        logs.append(folder / f"{len(logs)}.log")
        with logs[-1].open("wb") as log:
            argv = [sys.executable, "-m", "dask", *words]
            environ = {**PLAIN, "TMPDIR": str(folder), "TZ": "UTC"}
            begun.append(subprocess.Popen(argv, cwd=folder, env=environ, stdout=log, stderr=log))

    try:
        start(
            *("scheduler", "--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"),
            *("--scheduler-file", str(scheduler_file)),
        )
        until(scheduler_file.exists)
        stated = until(lambda: json.loads(scheduler_file.read_text() or "null"))
        options = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        for number in (1, 2):
            start("worker", stated["address"], *options, "--local-directory", str(folder / f"w{number}"))
        running = Running(
            folder, stated["address"], f"http://127.0.0.1:{stated['services']['dashboard']}", logs
        )
        until(lambda: len(running.worker_pids()) == 2)
        yield running
    finally:
        for process in reversed(begun):
            process.send_signal(signal.SIGINT)
        for process in reversed(begun):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


class Api(LittleApi):
    """Answers /users/N, late for /slow/N, and tells whether it knows who asks."""

    def answer(self, path: str, number: int, headers: Any, data: bytes) -> tuple[int, str, bytes]:
        kind, n = path.strip("/").split("/")
        time.sleep(0.25 * (kind == "slow"))
        scheduler_file = {"n": int(n), "known": headers.get("Authorization") == f"Bearer {SECRET}"}
        return 200, "application/json", json.dumps(scheduler_file).encode()


@pytest.fixture
def api() -> Iterator[Api]:
    with Api({}) as running:
        yield running


USER = """\
id: u{n}
baseline: {{output: {{status: 200, body: {{n: {expected}, known: true}}}}}}
current:
  input: {{endpoint: /{kind}/{n}, headers: {{Authorization: "Bearer {{{{token}}}}"}}}}
  execution: {{type: http}}
metadata: {{failure_count: 0}}
"""
CONFIG = """\
version: 1
base_url: {url}
variables: {{token: {{from_env: API_TOKEN, secret: true}}}}
commands: {{count: [sh, tools/count.sh]}}
models: {{default: {{command: [sh, tools/model.sh]}}}}
"""
USERS = """\
id: {id}
baseline: {{output: {{status: 200, body: {{n: {n}, known: false}}}}}}
current: {{input: {{endpoint: /users/{n}}}, execution: {{type: http{more}}}}}
"""
COUNT = """\
id: {id}
baseline: {{output: {{exit_code: 0, stdout: "3 here\\n", stderr: ""}}}}
current: {{input: {{argv: [count, data/{file}]}}, execution: {{type: command}}}}
"""
OTHERS = {
    "baselines/many.yaml": "---\n".join(USERS.format(id=f"m{n}", n=n, more="") for n in range(100, 120)),
    "baselines/beside.yaml": "id: beside\nbaseline: {output_file: beside.output.json}\n"
    "current: {input: {endpoint: /users/5}, execution: {type: http}}\n",
    "baselines/beside.output.json": '{"status": 200, "body": {"n": 6, "known": false}}\n',
    "baselines/serial.yaml": "---\n".join(
        USERS.format(id=f"s{n}", n=n, more=", resource: one") for n in range(3)
    ),
    "baselines/count.yaml": COUNT.format(id="count", file="list.txt"),
    "baselines/missing.yaml": COUNT.format(id="missing", file="gone.txt"),
    "baselines/data/list.txt": "a\nb\nc\n",
    "tools/count.sh": 'test -f "$1" && echo "$(($(wc -l < "$1"))) here"\n',
    "tools/model.sh": 'cat > /dev/null; echo "a word"\n',
}


def project_in(folder: Path, url: str, count: int = 40, kind: str = "users", others: bool = True) -> Path:
    files = {"baselinekit.yaml": CONFIG.format(url=url), **(OTHERS if others else {})}
    for n in range(count):
        expected = 900 if n % 10 == 7 else n
        files[f"baselines/u{n:03}.yaml"] = USER.format(n=n, expected=expected, kind=kind)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def start(folder: Path, *words: str) -> "subprocess.Popen[bytes]":
    temporary = os.environ.get("TMPDIR", "/tmp")
    return start_command(folder, *words, **PLAIN, API_TOKEN=SECRET, TZ="UTC", TMPDIR=temporary)


def ran(folder: Path, exit_code: int, *words: str) -> str:
    """What a command prints, without durations."""
    out, err = finish(start(folder, *words), exit_code)
    assert err == ""
    return re.sub(r"[\d.]+s\b", "", out)


def contents(folder: Path) -> dict[str, str]:
    """All files, and what is kept of failures, without times; not the reports."""
    return {
        name: re.sub(r"\d{4}-\d\d-\d\dT[\d:]*Z|seconds: [\d.e-]+", "T", path.read_text())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not re.search(r"__pycache__|\.jsonl?$", name := str(path.relative_to(folder)))
        if ".baselinekit" not in name or "pending" in name
    }


def test_compare_on_a_cluster_writes_what_a_plain_one_writes(
    cluster: Running, api: Api, tmp_path: Path
) -> None:
    plain = project_in(tmp_path / "one/project", api.url)
    remote = tmp_path / "two/project"
    shutil.copytree(plain, remote)
    words = ("compare", "-o", "r.json", "--record")
    assert ran(remote, 1, *words, "--dask", cluster.address) == ran(plain, 1, *words)
    report = timeless(remote / "r.json")
    assert report == timeless(plain / "r.json")
    assert contents(remote) == contents(plain)
    outcomes = {result["id"]: result["outcome"] for result in report["results"]}
    assert outcomes["count"] == outcomes["s2"] == "passed"
    assert outcomes["u7"] == outcomes["beside"] == outcomes["missing"] == "failed"
    assert [path for name in ("w1", "w2") for path in (cluster.folder / name).rglob("baselinekit-*")] == []


def test_script_that_calls_main_is_not_run_by_its_workers(api: Api, tmp_path: Path) -> None:
    """And whoever has the port of Dask's dashboard is not told about it."""
    folder = project_in(tmp_path / "project", api.url, 4, others=False)
    called = "from baselinekit.cli.main import main\nmain()\n"
    (tmp_path / "script.py").write_text("print('begun', flush=True)\n" + called)
    argv = [sys.executable, str(tmp_path / "script.py"), "compare", "--no-record", "--dask", "local:1"]
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it
            taken.bind(("127.0.0.1", 8787))
            taken.listen()
        ran = subprocess.run(
            argv, cwd=folder, env={**PLAIN, "API_TOKEN": SECRET}, capture_output=True, text=True, check=False
        )
    assert ran.stdout.count("begun") == 1
    assert ran.stderr == ""


def test_cluster_shows_a_secret_in_no_page_log_or_state(cluster: Running, api: Api, tmp_path: Path) -> None:
    folder = project_in(tmp_path / "project", api.url, 160, "slow", others=False)
    with start(folder, "compare", "-q", "--no-record", "-j", "4", "--dask", cluster.address) as running:
        until(lambda: len(api.requests) > 4)
        with distributed.Client(cluster.address, set_as_default=False) as client:
            keys = [key for some in client.processing().values() for key in some]
            shown = [cluster.page(f"info/task/{key}.html") for key in keys]
            for worker in client.nthreads():
                name = urllib.request.quote(worker, safe="")
                shown += [
                    cluster.page(f"info/{page}/{name}.html") for page in ("worker", "logs", "call-stacks")
                ]
            client.dump_cluster_state(str(tmp_path / "state"), format="yaml")
            shown += [repr(client.scheduler_info()), repr(client.call_stack()), repr(client.story(*keys))]
        pages = [path for path in json.loads(cluster.page("sitemap.json"))["paths"] if "(" not in path]
        pages = [path for path in pages if not path.startswith("/statics") and "eventstream" not in path]
        shown += [cluster.page(path.lstrip("/")) for path in pages]
        out, _ = running.communicate(timeout=120)
    assert out.startswith(b"16 failed, 144 passed")
    shown += [
        (tmp_path / "state.yaml").read_text(),
        *(log.read_text("utf-8", "replace") for log in cluster.logs),
    ]
    assert keys
    assert any(key in page for key in keys for page in shown), "the pages that show tasks were fetched"
    assert [page for page in shown if SECRET in page or "API_TOKEN" in page] == []


THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))


@pytest.mark.parametrize("after", [1, 6, 15, 30] if THOROUGH else [15])
def test_compare_with_a_killed_worker_counts_each_failure_once(
    cluster: Running, api: Api, tmp_path: Path, after: int
) -> None:
    folder = project_in(tmp_path / "project", api.url, 40, "slow", others=False)
    pids = until(lambda: len(found := cluster.worker_pids()) == 2 and found)
    running = start(folder, "compare", "-q", "--record", "-j", "4", "-o", "r.json", "--dask", cluster.address)
    until(lambda: len(api.requests) >= after)
    os.kill(pids[after % 2], signal.SIGKILL)
    out, err = finish(running, 1)
    assert (out[:19], err) == ("4 failed, 36 passed", "")
    results = json.loads((folder / "r.json").read_text())["results"]
    assert [result["id"] for result in results] == [f"u{n}" for n in range(40)]
    counts = [path.read_text().count("failure_count: 1") for path in (folder / "baselines").glob("*.yaml")]
    assert sum(counts) == 4


def test_compare_on_a_cluster_ends_soon_after_ctrl_c(cluster: Running, api: Api, tmp_path: Path) -> None:
    folder = project_in(tmp_path / "project", api.url, 400, "slow", others=False)
    until(lambda: len(cluster.worker_pids()) == 2)
    words = ("compare", "-q", "--no-record", "-j", "4", "-o", "r.json", "--dask", cluster.address)
    running = start(folder, *words)
    until(lambda: len(api.requests) >= 20)
    running.send_signal(signal.SIGINT)
    began = time.monotonic()
    finish(running, 130)
    assert time.monotonic() - began < 10
    requests = len(api.requests)
    time.sleep(1)
    assert len(api.requests) == requests < 100
    outcomes = [result["outcome"] for result in json.loads((folder / "r.json").read_text())["results"]]
    assert len(outcomes) == 400
    assert outcomes.count("passed") >= 5


@pytest.mark.parametrize(("kill", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_compare_interrupted_while_workers_start_leaves_nothing(
    api: Api, tmp_path: Path, kill: Callable[[int, int], None], number: int
) -> None:
    """On a slow machine they may have started: then the run is interrupted, and ends as quietly."""
    folder = project_in(tmp_path / "project", api.url, 200, "slow", others=False)
    (temporary := tmp_path / "temporary").mkdir()
    words = ("compare", "-q", "--no-record", "--dask", "local:2")
    running = start_command(folder, *words, **PLAIN, API_TOKEN=SECRET, TMPDIR=str(temporary))
    until(lambda: [*temporary.glob("baselinekit-dask-*")])
    time.sleep(0.5)
    kill(running.pid, number)
    assert finish(running, 130)[1].split() in ([], ["interrupted"])
    assert [*temporary.glob("baselinekit-dask-*")] == []


def test_run_on_a_cluster_writes_what_a_plain_one_writes(cluster: Running, tmp_path: Path) -> None:
    """Ratings of people are known there as well."""
    plain = project_of_cases(tmp_path / "one/project")
    cases = ("run", "evals", "prompts/one")
    start(plain, *cases, "--no-record").communicate(timeout=120)
    for name in ("ada", "bob"):
        process = start(plain, "grade", "people", "--as", name, "--value", "4")
        out, err = process.communicate(timeout=120)
        assert process.returncode in (0, 3), out + err
    remote = tmp_path / "two/project"
    shutil.copytree(plain, remote)
    words = (*cases, "--record", "--save-answers", "answers.jsonl", "-o", "r.json")
    assert ran(remote, 1, *words, "--dask", cluster.address) == ran(plain, 1, *words)
    report = timeless(remote / "r.json")["results"]
    assert report == timeless(plain / "r.json")["results"]
    assert {result["id"]: result["outcome"] for result in report}["people"] == "passed"
    answers = [len((folder / "answers.jsonl").read_text().splitlines()) for folder in (plain, remote)]
    assert answers == [len(report)] * 2
    kept, kept_there = contents(plain), contents(remote)
    assert kept_there.keys() == kept.keys()
    assert kept_there["evals/known.yaml"] == kept["evals/known.yaml"]
    assert "failure_count: 1" in kept["evals/known.yaml"]
