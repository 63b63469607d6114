"""A real `baselinekit serve` for tests, and a project with something in each of its parts."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from console import ROOT, Console, console

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
BASELINE = """\
id: {id}
baseline:
  output: {{exit_code: 0, stdout: "{stored}", stderr: ""}}
  captured_at: "2024-01-15T10:30:00Z"
current:
  input: {{argv: [{program}]}}
  execution: {{type: command}}
metadata: {{last_passed: null, failure_count: 0}}
"""
SUITE = """\
capability_eval:
- id: tone
  name: 'Tone MARKUP'
  input: {type: command, content: {argv: [markup]}}
  execution: {type: command}
  metadata: {tags: [kind], difficulty: easy}
  grader:
    type: human
    config:
      rubric: '**Kind?** MARKUP'
      rating_scale: {type: likert, range: [1, 5], criteria: [warm, short]}
"""
CONFIG = """\
version: 1
commands:
  markup: [printf, '%s', 'MARKUP']
  new: [printf, 'new answer']
"""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    """A running page. `links`: the token of each person by name."""

    url: str
    raters: dict[str, str]
    process: "subprocess.Popen[str]"
    tokens: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        links = {"": self.url, **self.raters}
        self.tokens = {name: urlsplit(url).fragment.removeprefix("token=") for name, url in links.items()}

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def key(self, name: str = "") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: bytes | str | None = None
    ) -> Answer:
        """A request with just these headers, but for a Host where none is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(
                answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
            )
        finally:
            connection.close()

    def get(self, path: str, name: str = "") -> Answer:
        return self.ask("GET", path, self.key(name))

    def post(self, path: str, body: Any, name: str = "") -> Answer:
        headers = {**self.key(name), "Content-Type": "application/json", "Origin": self.origin}
        return self.ask("POST", path, headers, json.dumps(body))

    def raw(self, data: bytes) -> bytes:
        """What comes back for bytes that no client would send."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65_536):
                received += chunk
            return received


@contextmanager
def serving(project: Console, *words: str) -> Iterator[Served]:
    arguments = [sys.executable, "-P", str(ROOT / "tests/at.py"), str(project.clock.ahead), ""]
    arguments += ["baselinekit", "serve", "--port", "0", "--json", *words]
    process = subprocess.Popen(
        arguments, cwd=project.folder, env=project.environment(), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    text = ""
    try:
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, "it ended"
            text += line
        document = json.loads(text)
        yield Served(document["url"], {one["name"]: one["url"] for one in document["raters"]}, process)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@contextmanager
def full_project(folder: Path) -> Iterator[Console]:
    """A project in which a change, a rating and a run wait, with markup wherever a text may be."""
    with console(folder) as project:
        (project.folder / "baselines").mkdir()
        (project.folder / "evals").mkdir()
        for id, program in (("plain", "new"), ("markup", "markup")):
            text = BASELINE.format(id=id, stored="stored <b>answer</b>", program=program)
            (project.folder / f"baselines/{id}.yaml").write_text(text)
        (project.folder / "evals/tone.yaml").write_text(SUITE.replace("MARKUP", MARKUP))
        (project.folder / "baselinekit.yaml").write_text(CONFIG.replace("MARKUP", MARKUP))
        assert project.run("baselinekit compare -q").exit_code == 1
        assert project.run("baselinekit run evals -q -o run.json").exit_code == 3
        yield project
