"""A project whose baselines meet whatever answers a test thinks up: real files, a real service, and the real
command: from a server of runs (warm.py), or from nothing where it matters how an interpreter begins."""

import json
import os
import resource
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from console import warmly

JSON = "application/json"
LONGEST_SECONDS = 60
_READ_AT_THE_BEGINNING = ("PYTHON", "LC_", "LANG")
"""Variables that the interpreter looks at when it starts, and never again."""


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", JSON),)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command said, byte for byte. `cpu`: the processor time that it took."""

    exit_code: int
    out: bytes
    err: bytes
    cpu: float

    @property
    def text(self) -> str:
        return self.out.decode("utf-8")

    @property
    def said(self) -> bytes:
        return self.out + self.err


@dataclass(slots=True)
class World:
    """A folder with a configuration, and a service that gives the answers it was told."""

    folder: Path
    url: str
    answers: dict[str, Answer] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def baseline(
        self, id: str, expected: Any, actual: Any, comparison: dict[str, Any] | None = None, /, **more: Any
    ) -> None:
        """A baseline of a body, and what the service answers now: a value, or the bytes of one."""
        body = actual if isinstance(actual, bytes) else json.dumps(actual).encode()
        self.answers[f"/{id}"] = Answer(body)
        self.write(id, {"body": expected}, comparison or {}, **more)

    def write(self, id: str, output: Any, comparison: dict[str, Any], **more: Any) -> None:
        text = output if isinstance(output, str) else json.dumps(output)
        stated = {"id": id, **more}
        recipe = {"input": {"endpoint": f"/{id}"}, "execution": {"type": "http"}}
        rest = {"current": recipe, "comparison": comparison}
        lines = [f"{key}: {json.dumps(value)}" for key, value in {**stated, **rest}.items()]
        if len(text) > 100_000:
            self.file(f"baselines/{id}.output.json", text)
            lines.insert(1, f"baseline: {{output_file: {id}.output.json}}")
        else:
            lines.insert(1, f"baseline: {{output: {text}}}")
        self.file(f"baselines/{id}.yaml", "\n".join(lines) + "\n")

    def file(self, path: str, text: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return file

    def results(self, *words: str) -> dict[str, dict[str, Any]]:
        """What `compare --json` says, by id."""
        ran = self.run("compare", "--json", *words)
        found = json.loads(ran.text)["results"] if ran.out else []
        return {result["id"]: result for result in found}

    def outcomes(self, *words: str) -> dict[str, str]:
        return {id: result["outcome"] for id, result in self.results(*words).items()}

    def run(self, *words: str, shell: str = "", env: dict[str, str] | None = None) -> Ran:
        """`baselinekit WORDS`, or a line for the shell in which `{tool}` is its name."""
        if not shell and not any(name.startswith(_READ_AT_THE_BEGINNING) for name in env or {}):
            with warmly() as runs:
                if runs:
                    ended = runs.run(self.folder, *words, env=self.environment | (env or {}))
                    return Ran(ended.exit_code, *ended.raw, ended.cpu)
        return self._from_nothing(words, shell, env or {})

    def _from_nothing(self, words: Sequence[str], shell: str, env: Mapping[str, str]) -> Ran:
        tool = [sys.executable, "-P", "-m", "baselinekit"]
        line = shell.replace("{tool}", shlex.join(tool))
        before = _of_children()
        done = subprocess.run(
            ["/bin/bash", "-c", line] if shell else [*tool, *words],
            cwd=self.folder,
            env={**self.environment, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr, _of_children() - before)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def world(folder: Path) -> Iterator[World]:
    """The folder is removed by whoever made it; the service ends here."""
    folder.mkdir(parents=True, exist_ok=True)
    service = _Service(("127.0.0.1", 0), _Handler)
    url = f"http://127.0.0.1:{service.server_address[1]}"
    here = World(folder.resolve(), url)
    service.answers = here.answers
    here.environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "100",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONWARNINGS": "error",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    here.file("baselinekit.yaml", f"version: 1\nbase_url: {url}\n")
    thread = threading.Thread(target=service.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield here
    finally:
        service.shutdown()
        service.server_close()
        thread.join(5)


class _Service(ThreadingHTTPServer):
    daemon_threads = True
    answers: dict[str, Answer]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Service

    def do_GET(self) -> None:
        answer = self.server.answers.get(self.path, Answer(b'"no such page"', 404))
        head = [f"HTTP/1.1 {answer.status} OK", f"Content-Length: {len(answer.body)}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        self.wfile.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""
