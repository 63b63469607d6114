"""A project whose baselines ask a hostile server, and the real command: from a server of runs (warm.py), or
as a process of its own where its memory or the start of its interpreter matters."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console import warmly
from routes import Route
from server import JSON, HostileServer, kept, whole

LONGEST_SECONDS = 60
READ_AT_THE_START = ("PYTHON", "LC_", "LANG")
"""Variables that the interpreter looks at when it starts, and never again."""
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "PYTHONWARNINGS": "error",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "COLUMNS": "100",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True, slots=True)
class Ran:
    """`raw`: both streams, byte for byte. `cpu`: processor time, which is known of warm runs only;
    `megabytes`: the most memory, which is known of processes only."""

    exit_code: int
    raw: tuple[bytes, bytes]
    seconds: float
    cpu: float = 0.0
    megabytes: float = -1.0

    @property
    def out(self) -> str:
        return self.raw[0].decode("utf-8")

    @property
    def err(self) -> str:
        return self.raw[1].decode("utf-8")

    @property
    def output(self) -> str:
        return self.out + self.err

    @property
    def results(self) -> dict[str, Any]:
        return {result["id"]: result for result in json.loads(self.out)["results"]}

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

    def pair(self, id: str, expected: Any, actual: Any, rules: Any = None, /, **more: Any) -> None:
        """A baseline of a body, and what the server answers now: a value, or the bytes of one."""
        body = actual if isinstance(actual, bytes) else json.dumps(actual).encode()
        self.server.routes[f"/{id}"] = kept(whole(body, JSON))
        self.baseline(id, {"body": expected}, comparison=rules or {}, **more)

    def baseline(self, id: str, output: Any, current: Any = None, **more: Any) -> Path:
        """A file whose stored output stands in its second line. `output`: a value, or JSON text."""
        text = output if isinstance(output, str) else json.dumps(output)
        stored = f"output: {text}"
        if len(text) > 100_000:
            self.file(f"baselines/{id}.output.json", text)
            stored = f"output_file: {id}.output.json"
        current = current or {"input": {"endpoint": f"/{id}"}, "execution": {"type": "http"}}
        lines = [f"id: {id}", f"baseline: {{{stored}}}", f"current: {json.dumps(current)}"]
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
        """`baselinekit WORDS`; with an empty base_url, files may say what to ask."""
        if not any(name.startswith(READ_AT_THE_START) for name in env or {}):
            with warmly() as runs:
                if runs:
                    environment = self._environment(env, base_url)
                    ended = runs.run(self.folder, *words, env=environment, slept=f"{self.folder}-slept")
                    return Ran(ended.exit_code, ended.raw, ended.seconds, ended.cpu)
        return self.measured(*words, env=env, base_url=base_url)

    def measured(
        self, *words: str, shell: str = "", env: Mapping[str, str] | None = None, base_url: str | None = None
    ) -> Ran:
        """In a process of its own; or a line for the shell in which `{tool}` is the command's name."""
        started = time.monotonic()
        tool = [sys.executable, "-P", "-m", "baselinekit"]
        megabytes = 0.0
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                ["/bin/bash", "-c", shell.replace("{tool}", shlex.join(tool))] if shell else [*tool, *words],
                cwd=self.folder,
                env=self._environment(env, base_url),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
            while process.poll() is None:
                megabytes = max(megabytes, _megabytes(process.pid))
                if time.monotonic() - started > LONGEST_SECONDS:
                    process.kill()
                time.sleep(0.01)
            seconds = time.monotonic() - started
            out.seek(0)
            err.seek(0)
            return Ran(process.returncode, (out.read(), err.read()), seconds, megabytes=megabytes)

    def _environment(self, more: Mapping[str, str] | None, base_url: str | None) -> dict[str, str]:
        base_url = self.server.url if base_url is None else base_url
        given = {"BASELINEKIT_BASE_URL": base_url} if base_url else {}
        return {**ENVIRONMENT, "HOME": str(self.folder), **given, **(more or {})}


@contextmanager
def attacked(folder: Path) -> Iterator[Attacked]:
    folder.mkdir(parents=True, exist_ok=True)
    with HostileServer() as server:
        yield Attacked(folder.resolve(), server)


def _megabytes(pid: int) -> float:
    """The most memory that a process has had so far. (What wait4 says counts the process that it was forked
    from as well.)"""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0
