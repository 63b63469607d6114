"""A busy machine may give fewer threads than are asked for: then fewer do the work, and nothing fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nobody import open_to_all

from baselinekit.demo.service import Service

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
WITHOUT_THREADS = """\
import contextlib, io, os, resource, sys, threading
from dataclasses import dataclass
from baselinekit.model.recipes import Answer
from baselinekit.model.recipes import Request
from baselinekit.clients.http import Client
from baselinekit.store.reading import load
from baselinekit.commands.context import ModelThreads
from baselinekit.commands.context import Stop
from baselinekit.commands.executor import in_threads
from baselinekit.commands.compare import Recorder
from nobody import NOBODY, become_nobody
@dataclass
class NoClients:
    models: object = None
    together: object = None
def work(folder):
    (baseline,) = load(["a.yaml"], folder)
    client = Client(proxies={})
    ask = lambda path: client.send(Request("GET", sys.argv[1] + path)).status
    asked = []
    def finished(path, status):
        asked.append(status)
        return ()
    for goes_on in (lambda: True, lambda: len(asked) < 5):
        paths = ["/health", "/nowhere", "/health"]
        print(in_threads(paths, ask, 4, Stop(), client.cancel, finished, goes_on=goes_on))
    client.close()
    with ModelThreads(NoClients(), 4) as at_once:
        print([answer.text for answer in at_once.together([lambda: Answer("a"), lambda: Answer("b")])])
    recorder = Recorder(folder, lambda: "2024-02-01T00:00:00Z", False, [baseline.source])
    recorder.add(baseline.source, False)
    recorder.close()
    print(recorder.failures, recorder.notes)
    print(load(["a.yaml"], folder)[0].metadata.failure_count)
for folder in sys.argv[2:]:
    os.chdir(folder)
    if folder == sys.argv[2]:
        with contextlib.redirect_stdout(io.StringIO()):
            work(folder)  # what is imported only when it is needed is there now: soon it may be out of reach
        continue
    if os.geteuid() == 0:  # who is bound by no such limit
        os.chown(folder, NOBODY, NOBODY)
        os.chown("a.yaml", NOBODY, NOBODY)
    become_nobody()
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        work(folder)
"""
BASELINE = """\
id: a
current: {input: {endpoint: /x}, execution: {type: http}}
metadata: {last_passed: null, failure_count: 0}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="another system counts threads in another way")
def test_where_no_thread_is_to_be_had_it_is_done_without(tmp_path: Path) -> None:
    folders = [tmp_path / "rehearsal", tmp_path / "project"]
    for folder in folders:
        folder.mkdir()
        (folder / "a.yaml").write_text(BASELINE)
        open_to_all(folder)
    with Service(users=3) as service:
        done = subprocess.run(
            [sys.executable, "-P", "-c", WITHOUT_THREADS, service.url, *map(str, folders)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    said = ["[200, 404, 200]", "[200, 404, None]", "['a', 'b']", "[] []", "1", ""]
    assert (done.stdout.split("\n"), done.stderr) == (said, "")
