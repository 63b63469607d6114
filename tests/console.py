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
from clocks import Clock, Slept, clock, with_words_for_times
from warm import Warm, warm

from baselinekit import __version__

ROOT = Path(__file__).parent.parent
LONGEST_SECONDS = 60

_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_FOR_A_SHELL = re.compile(r"[|&;<>$`*?\[\]~(){}#!\n\\]")
_ASSIGNED = re.compile(r"(?:[A-Z_]+=[\w.:/-]* )+")
_FIRST_WORD = re.compile(r"^(?:[A-Z_]+=[\w.:/-]* )+(?=baselinekit )")
_PREPARING = {"baselinekit", "cat", "cp", "echo", "git", "grep", "head", "mkdir", "mv", "printf", "rm", "sed"}
_PREPARING |= {"touch", "true"}
_READS_ALL = re.compile(r"(?:grep -[a-pr-zA-Z]+|sed|sort|wc|cat) ")
_MOVED = re.compile(r"cd ([\w./-]+) && (.+)")
_READ = re.compile(r" < ([\w./-]+)$")
_ONE_AT_A_TIME = threading.Lock()
_RUNS: list[Warm] = []
_HANDED_ON = {"BASELINEKIT_PROCESSES"}  # so that all tests can be run so
_KEPT = ExitStack()
atexit.register(_KEPT.close)

NORMALISED: list[tuple[str, str]] = [
    (r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:{port}"),
    (rf"baselinekit {re.escape(__version__)}(?![\w.])", "baselinekit {version}"),
    (r" *(?<![\w.])\d+\.\d+ ?s\b", " {seconds}s"),
    (r"\b\d+m \d\ds\b", "{seconds}s"),
    (r'("(?:duration_)?seconds": )\d+(?:\.\d+)?(?:e-?\d+)?', r"\1{seconds}"),
    (r"(?m)^    (date|etag|content-length): .*", r"    \1: {varies}"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b", "{uuid}"),
    (r"platform: [\w.-]+", "platform: {platform}"),
    (r'("seen": )"[0-9a-f]{24}"', r'\1"{digest}"'),
    (r"(Try '[^']*) -h' for help", r"\1 --help' for help"),  # click 8.2
]
"""The one list of what may differ from run to run, and what is written instead: these, and the times
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
        moved = _MOVED.fullmatch(line)
        folder, rest = (self.folder / moved[1], moved[2]) if moved else (self.folder, line)
        steps = _steps(rest)
        if not any(_ours(step) for _, step in steps):
            return self._in_a_shell(line, together)
        ran = Ran(0, "", "")
        for joined, step in steps:
            if ran.exit_code and joined == "&&":
                continue
            finished = self._step(step, together, folder)
            ran = Ran(finished.exit_code, ran.stdout + finished.stdout, ran.stderr + finished.stderr)
        return ran

    def _step(self, step: str, together: bool, folder: Path) -> Ran:
        """From the server of runs, with a shell for what is before and behind a pipe."""
        ours = _ours(step)
        if not ours or (together and ours.filters and not ours.merged):
            return self._in_a_shell(step, together, folder)
        with warmly() as runs:
            if not runs:
                return self._in_a_shell(step, together, folder)
            stdin = ours.stdin
            if ours.feeder:
                stdin = str(self.bin / "stdin")
                Path(stdin).write_bytes(self._shell(ours.feeder, folder=folder).stdout)
            warm_run = runs.run(
                folder,
                *ours.words,
                env=self.environment() | ours.variables,
                program=str(self.bin / "baselinekit"),
                merged=together or ours.merged,
                ahead=self.clock.ahead,
                slept=self.slept,
                stdin=stdin,
            )
        if not ours.filters:
            return Ran(warm_run.exit_code, self.normalised(warm_run.out), self.normalised(warm_run.err))
        done = self._shell(ours.filters, warm_run.raw[0], folder=folder)
        return Ran(done.returncode, self._text(done.stdout), self._text(warm_run.raw[1] + done.stderr))

    def _in_a_shell(self, line: str, together: bool, folder: Path | None = None) -> Ran:
        done = self._shell(line, together=together, folder=folder)
        return Ran(done.returncode, self._text(done.stdout), self._text(done.stderr or b""))

    def _shell(
        self, line: str, given: bytes = b"", together: bool = False, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            ["/bin/sh", "-c", line],
            cwd=folder or self.folder,
            env=self.environment(),
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else subprocess.PIPE,
            timeout=LONGEST_SECONDS,
            check=False,
        )

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
        return with_words_for_times(text, self.clock.word_for)

    def later(self, days: float) -> None:
        """Commands from now on run that many days later."""
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

    def environment(self) -> dict[str, str]:
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
            **{name: os.environ[name] for name in _HANDED_ON & os.environ.keys()},
        }


def at(ahead: float, slept: str = "") -> list[str]:
    """What starts `baselinekit` by a clock that is that many seconds ahead; its name and words come after."""
    return [sys.executable, "-P", str(ROOT / "tests/at.py"), str(ahead), slept]


def _words(command: str) -> tuple[dict[str, str], list[str]]:
    """The variables before `baselinekit` and the words after it, where it needs no shell to find them."""
    assigned = _ASSIGNED.match(command)
    variables, rest = (assigned[0], command[assigned.end() :]) if assigned else ("", command)
    if not rest.startswith("baselinekit ") or _FOR_A_SHELL.search(_QUOTED.sub("", command)):
        return {}, []
    return dict(word.split("=", 1) for word in variables.split()), shlex.split(rest)[1:]


@dataclass(frozen=True, slots=True)
class _Ours:
    """One run of `baselinekit`: what a pipe gives it, or which file, and what reads its output."""

    variables: dict[str, str]
    words: list[str]
    feeder: str = ""
    stdin: str = os.devnull
    merged: bool = False
    filters: str = ""


def _ours(step: str) -> _Ours | None:
    """A step whose words for `baselinekit` are known without a shell."""
    pipe = _cut(step, r" \| ")
    at = next((number for number, part in enumerate(pipe) if _words(_plain(part)[0])[1]), None)
    if at is None or at not in (0, len(pipe) - 1) or any("baselinekit " in part for part in pipe[:at]):
        return None
    line, stdin, merged = _plain(pipe[at])
    feeder, filters = " | ".join(pipe[:at]), " | ".join(pipe[at + 1 :])
    if (merged and not filters) or (feeder and stdin != os.devnull):
        return None
    if not all(_READS_ALL.match(part) for part in pipe[at + 1 :]):
        return None  # a program that closes its pipe ends the one that writes into it
    return _Ours(*_words(line), feeder, stdin, merged, filters)


def _plain(part: str) -> tuple[str, str, bool]:
    """`baselinekit WORDS < FILE` and `baselinekit WORDS 2>&1` without what follows the words."""
    without = part.removesuffix(" 2>&1")
    if read := _READ.search(without):
        return without[: read.start()], read[1], without != part
    return without, os.devnull, without != part


def _steps(line: str) -> list[tuple[str, str]]:
    """`A && B; C` as [("", A), ("&&", B), (";", C)], where each is a plain command that leaves nothing but
    files to the next; the whole line otherwise."""
    steps = _cut(line, r" && |; ")
    if not all(_FIRST_WORD.sub("", step).split(" ")[0] in _PREPARING for step in steps):
        return [("", line)]
    found: list[tuple[str, str]] = []
    end = 0
    for step in steps:
        joined = line[end : line.index(step, end)].strip()
        end = line.index(step, end) + len(step)
        if found and joined == "&&" and not _ours(step) and not _ours(found[-1][1]):
            found[-1] = (found[-1][0], f"{found[-1][1]} && {step}")
        else:
            found.append((joined, step))
    return found


def _cut(line: str, pattern: str) -> list[str]:
    """A line taken apart, but for what is in quotes."""
    hidden = _QUOTED.sub(lambda quoted: "_" * len(quoted[0]), line)
    ends = [0, *(place for found in re.finditer(pattern, hidden) for place in found.span()), len(line)]
    return [line[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]


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
    `waits`: sleeping really waits."""
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
