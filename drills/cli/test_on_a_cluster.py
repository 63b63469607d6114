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


def until(done: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("cluster")
    told = folder / "scheduler.json"
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
            *("--scheduler-file", str(told)),
        )
        until(told.exists)
        stated = until(lambda: json.loads(told.read_text() or "null"))
        options = ("--nthreads", "1", "--no-dashboard", "--memory-limit", "0")
        for number in (1, 2):
            start("worker", stated["address"], *options, "--local-directory", str(folder / f"w{number}"))
        one = Running(folder, stated["address"], f"http://127.0.0.1:{stated['services']['dashboard']}", logs)
        until(lambda: len(one.worker_pids()) == 2)
        yield one
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

    def answer(self, path: str, number: int, headers: Any) -> tuple[int, str, bytes]:
        kind, n = path.strip("/").split("/")
        time.sleep(0.25 * (kind == "slow"))
        told = {"n": int(n), "known": headers.get("Authorization") == f"Bearer {SECRET}"}
        return 200, "application/json", json.dumps(told).encode()


@pytest.fixture
def api() -> Iterator[Api]:
    with Api({}) as one:
        yield one


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
OTHERS = {
    "baselines/many.yaml": "---\n".join(
        f"id: m{n}\nbaseline: {{output: {{status: 200, body: {{n: {n}, known: false}}}}}}\n"
        f"current: {{input: {{endpoint: /users/{n}}}, execution: {{type: http}}}}\n"
        for n in range(100, 120)
    ),
    "baselines/beside.yaml": "id: beside\nbaseline: {output_file: beside.output.json}\n"
    "current: {input: {endpoint: /users/5}, execution: {type: http}}\n",
    "baselines/beside.output.json": '{"status": 200, "body": {"n": 6, "known": false}}\n',
    "baselines/serial.yaml": "---\n".join(
        f"id: s{n}\nbaseline: {{output: {{status: 200, body: {{n: {n}, known: false}}}}}}\n"
        f"current: {{input: {{endpoint: /users/{n}}}, execution: {{type: http, resource: one}}}}\n"
        for n in range(3)
    ),
    "baselines/count.yaml": 'id: count\nbaseline: {output: {exit_code: 0, stdout: "3 here\\n", stderr: ""}}\n'
    "current: {input: {argv: [count, data/list.txt]}, execution: {type: command}}\n",
    "baselines/missing.yaml": "id: missing\nbaseline: {output: {exit_code: 0, stdout: there}}\n"
    "current: {input: {argv: [count, data/gone.txt]}, execution: {type: command}}\n",
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
    environ = {**PLAIN, "API_TOKEN": SECRET, "TZ": "UTC", "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    argv = [sys.executable, "-P", "-m", "baselinekit", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(argv, cwd=folder, env=environ, start_new_session=True, **pipes)  # type: ignore[call-overload, no-any-return]


def ran(folder: Path, *words: str) -> tuple[int, str, str]:
    process = start(folder, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


def told(report: Path) -> str:
    """A result file without what two runs never share."""
    text = re.sub(
        r'"(seconds|id|started|command)": ("(?:compare-)[^"]*"|"[^"]*T[^"]*Z"|"baselinekit [^"]*"|[0-9.e-]+)',
        "",
        report.read_text(),
    )
    return re.sub(r'"last_passed": "[^"]*"|"date: [^"]*"', "", text)


def contents(folder: Path) -> dict[str, str]:
    """All files, and what is kept of what failed; without times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if (
            path.is_file()
            and "__pycache__" not in name
            and (".baselinekit" not in name or "pending" in name)
            and not name.endswith(".json")
        ):
            found[name] = re.sub(r"\d{4}-\d\d-\d\dT[\d:]*Z|seconds: [\d.e-]+", "T", path.read_text())
    return found


def both_ways(tmp_path: Path, url: str, *words: str, on: str, **how: Any) -> tuple[Path, Path]:
    """The same project compared here and on a cluster."""
    here = project_in(tmp_path / "one" / "project", url, **how)
    there = tmp_path / "two" / "project"
    shutil.copytree(here, there)
    plain = ran(here, "compare", "-o", "r.json", *words)
    sent = ran(there, "compare", "-o", "r.json", "--dask", on, *words)
    assert sent[2] == plain[2] == ""
    assert re.sub(r"[\d.]+s\b", "", sent[1]) == re.sub(r"[\d.]+s\b", "", plain[1])
    assert sent[0] == plain[0]
    return here, there


def test_report_and_record_are_those_of_a_plain_run(cluster: Running, api: Api, tmp_path: Path) -> None:
    here, there = both_ways(tmp_path, api.url, "--record", on=cluster.address)
    assert told(there / "r.json") == told(here / "r.json")
    assert contents(there) == contents(here)
    results = json.loads((there / "r.json").read_text())["results"]
    outcomes = {one["id"]: one["outcome"] for one in results}
    assert outcomes["count"] == outcomes["s2"] == "passed"
    assert outcomes["u7"] == outcomes["beside"] == outcomes["missing"] == "failed"
    left = [path for one in ("w1", "w2") for path in (cluster.folder / one).rglob("baselinekit-*")]
    assert left == []


def test_the_workers_of_a_script_do_not_run_it_again(api: Api, tmp_path: Path) -> None:
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


def test_no_page_log_or_state_of_it_shows_a_secret(cluster: Running, api: Api, tmp_path: Path) -> None:
    folder = project_in(tmp_path / "project", api.url, 160, "slow", others=False)
    with start(folder, "compare", "-q", "--no-record", "-j", "4", "--dask", cluster.address) as running:
        until(lambda: len(api.asked) > 4)
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
def test_what_a_worker_had_that_was_killed_is_done_again_and_counts_once(
    cluster: Running, api: Api, tmp_path: Path, after: int
) -> None:
    folder = project_in(tmp_path / "project", api.url, 40, "slow", others=False)
    pids = until(lambda: len(found := cluster.worker_pids()) == 2 and found)
    running = start(folder, "compare", "-q", "--record", "-j", "4", "-o", "r.json", "--dask", cluster.address)
    until(lambda: len(api.asked) >= after)
    os.kill(pids[after % 2], signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (1, b"")
    assert out.startswith(b"4 failed, 36 passed")
    results = json.loads((folder / "r.json").read_text())["results"]
    assert [one["id"] for one in results] == [f"u{n}" for n in range(40)]
    counts = [path.read_text().count("failure_count: 1") for path in (folder / "baselines").glob("*.yaml")]
    assert sum(counts) == 4


def test_a_ctrl_c_ends_it_and_keeps_what_is_done(cluster: Running, api: Api, tmp_path: Path) -> None:
    folder = project_in(tmp_path / "project", api.url, 400, "slow", others=False)
    until(lambda: len(cluster.worker_pids()) == 2)
    words = ("compare", "-q", "--no-record", "-j", "4", "-o", "r.json", "--dask", cluster.address)
    running = start(folder, *words)
    until(lambda: len(api.asked) >= 20)
    running.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert time.monotonic() - began < 10
    assert b"Traceback" not in err
    asked = len(api.asked)
    time.sleep(1)
    assert len(api.asked) == asked < 100
    outcomes = [one["outcome"] for one in json.loads((folder / "r.json").read_text())["results"]]
    assert len(outcomes) == 400
    assert outcomes.count("passed") >= 5


@pytest.mark.parametrize(("kill", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_a_signal_while_workers_are_started_leaves_nothing(
    api: Api, tmp_path: Path, kill: Callable[[int, int], None], number: int
) -> None:
    """On a slow machine they may have started: then the run is interrupted, and ends as quietly."""
    folder = project_in(tmp_path / "project", api.url, 200, "slow", others=False)
    (temporary := tmp_path / "temporary").mkdir()
    environ = {**PLAIN, "API_TOKEN": SECRET, "TMPDIR": str(temporary)}
    argv = [sys.executable, "-P", "-m", "baselinekit", "compare", "-q", "--no-record", "--dask", "local:2"]
    running = subprocess.Popen(argv, cwd=folder, env=environ, stderr=subprocess.PIPE, start_new_session=True)
    until(lambda: [*temporary.glob("baselinekit-dask-*")])
    time.sleep(0.5)
    kill(running.pid, number)
    _, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert err.decode().split() in ([], ["interrupted"])
    assert [*temporary.glob("baselinekit-dask-*")] == []


def told_of_run(report: Path) -> list[dict[str, Any]]:
    """The results without what two runs never share."""
    results: list[dict[str, Any]] = json.loads(report.read_text())["results"]
    for one in results:
        del one["observed"]["seconds"]
        for attempt in one["case"]["attempts"]:
            del attempt["seconds"]
    return results


CASES = ("evals", "prompts/one")


def test_what_a_run_says_and_writes_is_that_of_a_plain_one(cluster: Running, tmp_path: Path) -> None:
    """What people have said is known there as well."""
    here = project_of_cases(tmp_path / "one" / "project")
    ran(here, "run", *CASES, "--no-record")
    for who in ("ada", "bob"):
        code, out, err = ran(here, "grade", "people", "--as", who, "--value", "4")
        assert code in (0, 3), out + err
    there = tmp_path / "two" / "project"
    shutil.copytree(here, there)
    words = ("--record", "--save-answers", "answers.jsonl", "-o", "r.json")
    plain, sent = (
        ran(here, "run", *CASES, *words),
        ran(there, "run", *CASES, *words, "--dask", cluster.address),
    )
    assert (sent[0], sent[2]) == (plain[0], plain[2]) == (1, "")
    assert re.sub(r"[\d.]+s\b", "", sent[1]) == re.sub(r"[\d.]+s\b", "", plain[1])
    found = told_of_run(there / "r.json")
    assert found == told_of_run(here / "r.json")
    assert {one["id"]: one["outcome"] for one in found}["people"] == "passed"
    lines = [sorted((folder / "answers.jsonl").read_text().splitlines()) for folder in (here, there)]
    assert len(lines[1]) == len(lines[0]) == len(found)
    here_kept, there_kept = (
        {name: text for name, text in contents(folder).items() if name != "answers.jsonl"}
        for folder in (here, there)
    )
    assert there_kept.keys() == here_kept.keys()
    assert there_kept["evals/known.yaml"] == here_kept["evals/known.yaml"]
    assert "failure_count: 1" in there_kept["evals/known.yaml"]
