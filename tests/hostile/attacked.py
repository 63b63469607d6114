"""A project whose baselines ask a hostile server, and the real command: from a server of runs (warm.py), or
as a process of its own where its memory is to be known afterwards."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console import warmly
from routes import Route
from server import HostileServer

LONGEST_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Ran:
    exit_code: int
    out: str
    err: str
    seconds: float
    megabytes: float = -1.0

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def report(self) -> Any:
        return json.loads(self.out)

    @property
    def results(self) -> dict[str, Any]:
        return {result["id"]: result for result in self.report["results"]}

    @property
    def outcomes(self) -> dict[str, tuple[str, str]]:
        """Of each baseline its outcome, and the code of its error."""
        return {id: (result["outcome"], result["code"] or "") for id, result in self.results.items()}


@dataclass(frozen=True, slots=True)
class Attacked:
    folder: Path
    server: HostileServer

    def routes(self, routes: Iterable[Route]) -> None:
        """Each route becomes a path of the server, and a baseline of the same name."""
        for route in routes:
            self.server.routes[f"/{route.name}"] = route.act
            current = {
                "input": {"method": route.method, "endpoint": f"/{route.name}"},
                "execution": {"type": "http", **route.execution},
            }
            self.baseline(route.name, route.output, current)

    def baseline(self, id: str, output: Any, current: Any, **more: Any) -> Path:
        stored = f"{{{output}}}" if isinstance(output, str) else json.dumps(output)
        lines = [f"id: {id}", f"baseline: {{output: {stored}}}", f"current: {json.dumps(current)}"]
        lines += [f"{key}: {json.dumps(value)}" for key, value in more.items()]
        return self.file(f"baselines/{id}.yaml", "\n".join(lines) + "\n")

    def file(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def configure(self, **settings: Any) -> None:
        self.file("baselinekit.yaml", json.dumps({"version": 1, **settings}))

    def run(self, *words: str, env: Mapping[str, str] | None = None, base_url: str | None = None) -> Ran:
        """`baselinekit WORDS`; where the operator's word is left empty, files may say whom to ask."""
        with warmly() as runs:
            if runs is None:
                return self.measured(*words, env=env, base_url=base_url)
            environment = self._environment(env, base_url)
            ended = runs.run(self.folder, *words, env=environment, slept=f"{self.folder}-slept")
        return Ran(ended.exit_code, ended.out, ended.err, ended.seconds)

    def measured(self, *words: str, env: Mapping[str, str] | None = None, base_url: str | None = None) -> Ran:
        """The same from nothing, in a process of its own: with the most memory that it had."""
        started = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "baselinekit", *words],
            cwd=self.folder,
            env=self._environment(env, base_url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        said: list[bytes] = [b"", b""]
        pipes = (process.stdout, process.stderr)
        readers = [threading.Thread(target=_read, args=(pipe, said, n)) for n, pipe in enumerate(pipes)]
        for thread in readers:
            thread.start()
        megabytes = 0.0
        while process.poll() is None:
            megabytes = max(megabytes, _megabytes(process.pid))
            if time.monotonic() - started > LONGEST_SECONDS:
                process.kill()
            time.sleep(0.01)
        for thread in readers:
            thread.join()
        out, err = (text.decode("utf-8") for text in said)
        return Ran(process.returncode, out, err, time.monotonic() - started, megabytes)

    def _environment(self, more: Mapping[str, str] | None, base_url: str | None) -> dict[str, str]:
        base_url = self.server.url if base_url is None else base_url
        asked = {"BASELINEKIT_BASE_URL": base_url} if base_url else {}
        return {**_ENVIRONMENT, "HOME": str(self.folder), **asked, **(more or {})}


def _megabytes(pid: int) -> float:
    """The most memory that a process has had so far. (What wait4 says counts the process that it was forked
    from as well.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def _read(pipe: Any, said: list[bytes], n: int) -> None:
    with pipe:
        said[n] = pipe.read()


_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "PYTHONWARNINGS": "error",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "COLUMNS": "100",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}
