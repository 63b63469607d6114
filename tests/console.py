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
from pathlib import Path
from typing import Any

import known
from clocks import Clock, Slept, clock, told
from warm import Warm, warm

from baselinekit import __version__

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 60

_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_FOR_A_SHELL = re.compile(r"[|&;<>$`*?\[\]~(){}#!\n\\]")
_ASSIGNED = re.compile(r"(?:[A-Z_]+=[\w.:/-]* )+")
_PREPARING = {"cp", "echo", "git", "mkdir", "mv", "printf", "rm", "sed", "touch"}
_ONE_AT_A_TIME = threading.Lock()
_RUNS: list[Warm] = []
_KEPT = ExitStack()
atexit.register(_KEPT.close)

NORMALISED: list[tuple[str, str]] = [
    (r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:{port}"),
    (rf"baselinekit {re.escape(__version__)}(?![\w.])", "baselinekit {version}"),
    (r" *(?<![\w.])\d+\.\d+ ?s\b", " {seconds}s"),
    (r"\b\d+m \d\ds\b", "{seconds}s"),
    (r'("(?:duration_)?seconds": )\d+(?:\.\d+)?(?:e-?\d+)?', r"\1{seconds}"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b", "{uuid}"),
    (r"platform: [\w.-]+", "platform: {platform}"),
]
"""The one place that says what may differ from run to run, and what is written instead: these, and the times
of the run itself (clocks.py)."""


@dataclass(frozen=True, slots=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Console:
    """`folder` is where the commands run, by `clock`, which what they sleep moves on: in the file `slept`, if
    it has a name. A service, when there is one, has a `url` and can
    `upgrade()`."""

    folder: Path
    bin: Path
    clock: Clock
    service: Any = None
    zone: str = ""
    slept: str = ""

    def run(self, command: str, together: bool = False) -> Ran:
        """One command line, as a shell takes it; standard error apart, or where a terminal shows it."""
        line = self.filled(command)
        before, ours = _parts(line)
        if before and _words(ours)[1]:
            prepared = self.run(before, together)
            if prepared.exit_code:
                return prepared
            ran = self.run(ours, together)
            return Ran(ran.exit_code, prepared.stdout + ran.stdout, prepared.stderr + ran.stderr)
        variables, words = _words(line)
        if words:
            with warmly() as runs:
                if runs:
                    warm_run = runs.run(
                        self.folder,
                        *words,
                        env=self._environment() | variables,
                        program=str(self.bin / "baselinekit"),
                        merged=together,
                        ahead=self.clock.ahead,
                        slept=self.slept,
                    )
                    out, err = self.normalised(warm_run.out), self.normalised(warm_run.err)
                    return Ran(warm_run.exit_code, out, err)
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=self.folder,
            env=self._environment(),
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
        for folder in (str(self.bin), str(Path(sys.executable).parent)):
            for program in (shlex.quote(f"{folder}/baselinekit"), f"{folder}/baselinekit"):
                text = text.replace(program, "{baselinekit}")
        text = text.replace(str(self.folder), "{folder}")
        if self.service:
            text = text.replace(self.service.url, "{url}")
        for pattern, instead in NORMALISED:
            text = re.sub(pattern, instead, text)
        return told(text, self.clock.word_for)

    def later(self, days: float) -> None:
        """Commands from now on run so many days later."""
        self.clock.later(days)
        self.put_the_program()

    def put_the_program(self) -> None:
        """What `baselinekit` means to a shell: the one of this checkout, by our clock."""
        script = self.bin / "baselinekit"
        script.write_text(
            f'#!/bin/sh\nexec {shlex.join(at(self.clock.ahead, self.slept))} "$0" "$@"\n', "utf-8"
        )
        script.chmod(0o755)

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
            "TZ": self.zone,
            "PYTHONWARNINGS": "error",
            **known.GIT,
        }


def at(ahead: float, slept: str = "") -> list[str]:
    """What starts `baselinekit` by a clock that is so many seconds ahead; its name and words come after."""
    return [sys.executable, "-P", str(ROOT / "tests/at.py"), str(ahead), slept]


def _words(command: str) -> tuple[dict[str, str], list[str]]:
    """The variables before `baselinekit` and the words after it, where it needs no shell to tell them."""
    assigned = _ASSIGNED.match(command)
    variables, rest = (assigned[0], command[assigned.end() :]) if assigned else ("", command)
    if not rest.startswith("baselinekit ") or _FOR_A_SHELL.search(_QUOTED.sub("", command)):
        return {}, []
    return dict(word.split("=", 1) for word in variables.split()), shlex.split(rest)[1:]


def _parts(command: str) -> tuple[str, str]:
    """`PREPARE && baselinekit WORDS` -> both parts, where what prepares leaves nothing but files."""
    hidden = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), command)
    place = hidden.rfind(" && ")
    names = {part.split()[0] for part in hidden[:place].split(" && ") if part.split()} if place > 0 else {""}
    return (command[:place], command[place + 4 :]) if names <= _PREPARING else ("", command)


@contextmanager
def warmly() -> Iterator[Warm | None]:
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
def console(
    folder: Path, service: str = "", at: str = "", zone: str = "", waits: bool = False
) -> Iterator[Console]:
    """A console in a folder, with a service of that name beside it. `at`, `zone`: when it begins, and where.
    `waits`: who sleeps really waits."""
    folder.mkdir(parents=True, exist_ok=True)
    bin = folder.parent / f"{folder.name}-bin"
    bin.mkdir()
    slept = Slept(bin.resolve() / "slept")
    by = clock(at, slept.seconds)
    with _service(service, by.now) as running:
        terminal = Console(
            folder.resolve(),
            bin.resolve(),
            by,
            running,
            zone or os.environ["TZ"],
            "" if waits else str(slept.file),
        )
        terminal.put_the_program()
        yield terminal


def _service(name: str, now: Callable[[], float]) -> Any:
    if not name:
        return nullcontext()
    from baselinekit.demo.service import Service

    return Service(users={"demo": 42, "three-users": 3}[name], now=now)


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
