"""A busy machine may give fewer threads than are asked for: then fewer do the work, and nothing fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from baselinekit.demo.service import Service

ROOT = Path(__file__).parents[2]
WITHOUT_THREADS = """\
import os, resource, sys, tempfile, threading
from dataclasses import dataclass
from baselinekit.model.asking import Answer
from baselinekit.model.observation import Request
from baselinekit.replay.http import Client
from baselinekit.store.baselines import load
from baselinekit.workflow.asking import AtOnce
from baselinekit.workflow.pool import Pool, Stop
from baselinekit.workflow.recording import Recorder
@dataclass
class NoDoors:
    models: object = None
    together: object = None
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("a.yaml", "w") as file:
        file.write(sys.argv[2])
    (baseline,) = load(["a.yaml"], folder)
    if os.geteuid() == 0:  # who is bound by no such limit
        os.chown(folder, 65534, 65534)
        os.chown("a.yaml", 65534, 65534)
        os.setgid(65534)
        os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        client = Client(proxies={})
        ask = lambda path: client.send(Request("GET", sys.argv[1] + path)).status
        for go_on in (lambda status: True, lambda status: status < 300):
            print(Pool(4, ask, client.cancel, Stop()).run(["/health", "/nowhere", "/health"], go_on))
        client.close()
        with AtOnce(NoDoors(), 4) as at_once:
            print([answer.text for answer in at_once.together([lambda: Answer("a"), lambda: Answer("b")])])
        recorder = Recorder(folder, lambda: "2024-02-01T00:00:00Z", False, [baseline.source])
        recorder.add(baseline.source, False)
        recorder.close()
        print(recorder.failures, recorder.notes, os.listdir(folder + "/.baselinekit/verdicts"))
        print(load(["a.yaml"], folder)[0].metadata.failure_count)
"""
BASELINE = """\
id: a
current: {input: {endpoint: /x}, execution: {type: http}}
metadata: {last_passed: null, failure_count: 0}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="another system counts threads in another way")
def test_where_no_thread_is_to_be_had_it_is_done_without() -> None:
    with Service(users=3) as service:
        done = subprocess.run(
            [sys.executable, "-P", "-c", WITHOUT_THREADS, service.url, BASELINE],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    said = ["[200, 404, 200]", "[200, 404, None]", "['a', 'b']", "[] [] []", "1", ""]
    assert (done.stdout.split("\n"), done.stderr) == (said, "")
