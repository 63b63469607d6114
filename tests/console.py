"""A terminal for tests: commands run in a folder of their own, and what they print made the same each time.

Used by the golden cases (tests/golden) and by the documents that run (tests/test_readme.py)."""

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from warm import Warm, warm

from baselinekit import __version__

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 60

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")

_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_FOR_A_SHELL = re.compile(r"[|&;<>$`*?\[\]~(){}#!\n\\]")
_ONE_AT_A_TIME = threading.Lock()
_RUNS: list[Warm] = []
_KEPT = ExitStack()
atexit.register(_KEPT.close)

NORMALISED: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:{port}"),
    (rf"baselinekit {re.escape(__version__)}(?![\w.])", "baselinekit {version}"),
    (r" *(?<![\w.])\d+\.\d+ ?s\b", " {seconds}s"),
    (r"\b\d+m \d\ds\b", "{seconds}s"),
    (r'("(?:duration_)?seconds": )\d+(?:\.\d+)?(?:e-?\d+)?', r"\1{seconds}"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b", "{uuid}"),
    (r"\bcompare-\d{8}T\d{6}Z", "compare-{now}"),
    (r"\beval-\d{8}-\d{6}\b", "eval-{now}"),
    (r"platform: [\w.-]+", "platform: {platform}"),
    (_TIMESTAMP.pattern, lambda match: "{now}" if _is_recent(match[0]) else match[0]),
]
"""The one place that says what may differ from run to run, and what is written instead."""


def _is_recent(timestamp: str) -> bool:
    """A timestamp of this run. One that a file has long had is compared as it stands."""
    return abs(datetime.now(UTC) - datetime.fromisoformat(timestamp)) < timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Console:
    """`folder` is where the commands run. A service, when there is one, has a `url` and can `upgrade()`."""

    folder: Path
    bin: Path
    service: Any = None

    def run(self, command: str, together: bool = False) -> Ran:
        """One command line, as a shell takes it; standard error apart, or where a terminal shows it."""
        line, environment = self.filled(command), self._environment()
        if words := _words(line):
            with _warmly() as runs:
                if runs:
                    program = shutil.which("baselinekit", path=environment["PATH"]) or "baselinekit"
                    ran = runs.run(self.folder, *words, env=environment, program=program, merged=together)
                    return Ran(ran.exit_code, self.normalised(ran.out), self.normalised(ran.err))
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        err = b"" if together else done.stderr
        return Ran(done.returncode, self._text(done.stdout), self._text(err))

    def filled(self, text: str) -> str:
        """`{url}` is the service's."""
        return text.replace("{url}", self.service.url) if self.service else text

    def normalised(self, text: str) -> str:
        text = text.replace(str(self.folder), "{folder}")
        for folder in (str(self.bin), str(Path(sys.executable).parent)):
            text = text.replace(f"{folder}/baselinekit", "{baselinekit}")
        if self.service:
            text = text.replace(self.service.url, "{url}")
        for pattern, instead in NORMALISED:
            text = re.sub(pattern, instead, text)
        return text

    def _text(self, output: bytes) -> str:
        return self.normalised(output.decode("utf-8", "backslashreplace"))

    def _environment(self) -> dict[str, str]:
        path = [str(self.bin), str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        return {
            "PATH": os.pathsep.join(path),
            "HOME": str(self.bin),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "100",
            "PYTHONWARNINGS": "error",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }


def _words(command: str) -> list[str] | None:
    """The words after `baselinekit`, where it needs no shell to tell them."""
    if not command.startswith("baselinekit ") or _FOR_A_SHELL.search(_QUOTED.sub("", command)):
        return None
    return shlex.split(command)[1:]


@contextmanager
def _warmly() -> Iterator[Warm | None]:
    """A server of runs, kept for the next. It does one run at a time: a second one starts from nothing."""
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        yield None
        return
    try:
        if not _RUNS:
            _RUNS.append(_KEPT.enter_context(warm()))
        yield _RUNS[0]
    finally:
        _ONE_AT_A_TIME.release()


@contextmanager
def console(folder: Path, service: str = "") -> Iterator[Console]:
    """A console in a folder, with a service of that name beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    bin = folder.parent / f"{folder.name}-bin"
    bin.mkdir()
    if not Path(sys.executable).with_name("baselinekit").exists():  # not installed: the same by hand
        script = bin / "baselinekit"
        script.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m baselinekit "$@"\n')
        script.chmod(0o755)
    with _service(service) as running:
        yield Console(folder.resolve(), bin, running)


def _service(name: str) -> Any:
    if not name:
        return nullcontext()
    from baselinekit.demo.service import Service

    return {"demo": Service, "three-users": lambda: Service(users=3)}[name]()


def copy_filled(files: Path, console: Console) -> None:
    """The files of a case into the console's folder, `{url}` filled in."""
    for path, content in tree(files).items():
        target = console.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(filled_bytes(content, console))
        shutil.copymode(files / path, target)


def filled_bytes(content: bytes, console: Console) -> bytes:
    try:
        return console.filled(content.decode("utf-8")).encode("utf-8")
    except UnicodeDecodeError:
        return content


def normalised_bytes(content: bytes, console: Console) -> bytes:
    try:
        return console.normalised(content.decode("utf-8")).encode("utf-8")
    except UnicodeDecodeError:
        return content


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path, the tool's own state and git's aside."""
    found = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not {".baselinekit", ".git", "__pycache__"} & set(parts):
            found["/".join(parts)] = path.read_bytes()
    return found
