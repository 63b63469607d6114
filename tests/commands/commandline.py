"""Commands that tests and drills run, in a project's terminal or as processes beside the test."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from console import ROOT, Console

OF_ONE_RUN = ("seconds", "started", "id", "command")


def run(project: Console, words: str, exit_code: int = 0, variables: str = "") -> str:
    """What `baselinekit WORDS` prints, which ends with this code."""
    ran = project.run(f"{variables} baselinekit {words}".strip())
    assert ran.exit_code == exit_code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def start(folder: Path, *words: str, **variables: str) -> "subprocess.Popen[bytes]":
    """`baselinekit WORDS` in a group of processes of its own."""
    environ = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "baselinekit", *words],
        cwd=folder,
        env=environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(process: "subprocess.Popen[bytes]", exit_code: int) -> tuple[str, str]:
    """Both streams of a process that ends with this code, and with no traceback."""
    out, err = (stream.decode() for stream in process.communicate(timeout=120))
    assert process.returncode == exit_code, out + err
    assert "Traceback" not in out + err
    return out, err


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait for a value that is true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def timeless(report: Path) -> Any:
    """A result file without what two runs never share."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]*Z|date: [^\"]*", "", report.read_text("utf-8"))
    document = json.loads(text)
    document["run"] = {key: value for key, value in document["run"].items() if key not in OF_ONE_RUN}
    for result in document["results"]:
        del result["observed"]["seconds"]
        for attempt in result.get("case", {}).get("attempts", ()):
            del attempt["seconds"]
            attempt.pop("judged_seconds", None)
    return document


def descendants(pid: int) -> list[int]:
    """The processes below a process."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_bytes().rpartition(b")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [pid]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


def workers_of(process: "subprocess.Popen[bytes]") -> list[int]:
    """The processes in which a command with `--processes` works."""
    found = []
    for pid in sorted(descendants(process.pid)):
        with suppress(OSError):
            found += [pid] if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes() else []
    return found
