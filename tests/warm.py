"""The real command many times over, without paying for its imports each time.

A server process imports the package once; for each run it forks a child, which runs the console script's own
`main` to the end, in a folder and an environment of its own. The server waits for it, follows
it (faults.py), or kills it after a while. One run at a time; the tests talk to it over a pipe.
What is about starting or about other interpreters starts from nothing, in tests of its own."""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, os.path.dirname(__file__))

import faults
from at import by_clock
from nobody import become_nobody

from baselinekit.cli.entry import main
from baselinekit.cli.main import run

ROOT = Path(__file__).parent.parent
LONGEST = 60.0
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
A_BASELINE = """\
id: warm
baseline: {output: {status: 200, body: {n: 1}}}
current: {input: {url: "http://127.0.0.1:9/"}, execution: {type: http}}
metadata: {failure_count: 0}
"""
_MODULES = "compare", "capture", "doctor"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: `exit_code` is negative for a signal. `kilobytes`: the most memory that any run has
    had so far. `seen`: the calls that were followed. `raw`: both streams, byte for byte."""

    exit_code: int
    raw: tuple[bytes, bytes]
    seconds: float
    cpu: float
    kilobytes: int
    seen: list[faults.Seen]

    @property
    def out(self) -> str:
        return self.raw[0].decode("utf-8", "backslashreplace")

    @property
    def err(self) -> str:
        return self.raw[1].decode("utf-8", "backslashreplace")

    @property
    def said(self) -> str:
        return self.out + self.err


def _ended(answer: dict[str, Any]) -> Ended:
    raw = tuple(text.encode("latin-1") for text in answer["raw"])
    return Ended(**{**answer, "raw": raw, "seen": [faults.Seen(*call) for call in answer["seen"]]})


class Warm:
    """The tests' side."""

    def __init__(self, server: "subprocess.Popen[bytes]"):
        self._server = server

    def run(self, folder: Path, *words: str, **how: Any) -> Ended:
        """`baselinekit WORDS` in a folder, to its end."""
        return self.together(1, folder, *words, **how)[0]

    def together(
        self,
        times: int,
        folder: Path,
        *words: str,
        fault: faults.Fault | None = None,
        follow: bool = False,
        signals: Sequence[tuple[float, int]] = (),
        env: Mapping[str, str] | None = None,
        harmless: bool = False,
        program: str = "baselinekit",
        merged: bool = False,
        ahead: float = 0.0,
        slept: str = "",
        stdin: str = os.devnull,
    ) -> list[Ended]:
        """The same command that many times at once. `signals`: (seconds after the start, number).
        `harmless`: as a user who may not write everywhere, which root may. `merged`: standard error goes
        to `out`, in its place. `ahead`: by a clock that many seconds ahead of ours. `slept`: the file in
        which sleeping moves that clock on (at.py). `stdin`: the file that it reads."""
        order = {
            "times": times,
            "folder": str(folder),
            "argv": words,
            "fault": asdict(fault) if fault else None,
            "follow": follow or fault is not None,
            "signals": signals,
            "env": {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "LANG": "C.UTF-8", **(env or {})},
            "harmless": harmless and os.geteuid() == 0,
            "program": program,
            "merged": merged,
            "ahead": ahead,
            "slept": slept,
            "stdin": stdin,
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        try:
            self._server.stdin.write(json.dumps(order).encode() + b"\n")
            self._server.stdin.flush()
            answer = self._server.stdout.readline()
        except BrokenPipeError:
            answer = b""
        assert answer, f"the server of runs has ended: {self._server.wait(LONGEST)}"
        return [_ended(answer) for answer in json.loads(answer)]


@contextmanager
def warm() -> Iterator[Warm]:
    """A server of runs, for as long as the tests want it."""
    with tempfile.TemporaryDirectory(prefix="baselinekit-warm-") as scratch:
        server = subprocess.Popen(
            [sys.executable, "-P", "-W", "error", __file__, scratch],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            process_group=0,  # in our session: a search for processes that left it does not find this one
        )
        try:
            yield Warm(server)
        finally:
            server.kill()
            server.communicate()


def serve(scratch: Path) -> dict[str, Any]:
    """The server's side: an order a line, an answer a line. Returns in a child, to run the command: its
    order."""
    learnt: set[str] = set()
    _warm_up(scratch)
    gc.freeze()
    for line in iter(sys.stdin.buffer.readline, b""):
        order = json.loads(line)
        began = time.monotonic()
        children = []
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until the command begins
        for number in range(order["times"]):
            child = os.fork()
            if not child:
                _become(order, scratch, number)
                return dict(order)
            children.append(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        answers = [_watched(child, order, began) | _streams(scratch, n) for n, child in enumerate(children)]
        answer = json.dumps(answers).encode() + b"\n"
        while answer:
            answer = answer[os.write(1, answer) :]
        if (scratch / "modules").exists():
            learnt |= _import_too((scratch / "modules").read_text().split(), learnt)
    sys.exit()


def _warm_up(scratch: Path) -> None:
    """What the first file of every process pays for, paid once: imports, and building the validators."""
    for name in _MODULES:
        importlib.import_module(f"baselinekit.cli.{name}")
    before = os.getcwd()
    (scratch / "warm").mkdir()
    os.chdir(scratch / "warm")
    Path("baselinekit.yaml").write_text("version: 1\n")
    Path("baselines").mkdir()
    Path("baselines/a.yaml").write_text(A_BASELINE)
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["doctor"]) == 0
    os.chdir(before)


def _streams(scratch: Path, number: int) -> dict[str, list[str]]:
    """As JSON takes bytes."""
    streams = [scratch / f"{name}{number}" for name in ("out", "err")]
    return {"raw": [path.read_bytes().decode("latin-1") for path in streams]}


def _become(order: dict[str, Any], scratch: Path, count: int) -> None:
    """What a shell would have done: folder, environment, standard streams."""
    os.setsid()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.argv = [order["program"], *order["argv"]]
    os.dup2(os.open(order["stdin"], os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(scratch / f"{name}{count}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    if order["merged"]:
        os.dup2(1, 2)
    if order["signals"] or order["fault"]:  # what was opened a moment before is closed by chance, as ever
        warnings.simplefilter("ignore", ResourceWarning)
    if order["harmless"]:
        become_nobody()
    if order["follow"]:
        faults.follow_me()
    elif not (order["signals"] or order["harmless"] or count):
        atexit.register(lambda: (scratch / "modules").write_text(" ".join(sys.modules)))


def _watched(child: int, order: dict[str, Any], began: float) -> dict[str, Any]:
    """Wait for a child, follow it, or send it signals in time; whatever it started ends with it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    seen: list[faults.Seen] = []
    if order["follow"]:
        fault = faults.Fault(**order["fault"]) if order["fault"] else None
        followed = faults.follow(child, order["folder"], fault)
        status, seen = followed.status, followed.seen
    else:
        _signalled(child, order["signals"], began)
        _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - began,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "kilobytes": after.ru_maxrss,
        "seen": seen,
    }


def _signalled(child: int, signals: Sequence[tuple[float, int]], began: float) -> None:
    handle = os.pidfd_open(child)
    try:
        for when, number in signals:
            left = began + when - time.monotonic()
            if left > 0 and select.select([handle], [], [], left)[0]:
                return
            os.kill(child, number)
    finally:
        os.close(handle)


def _import_too(names: Sequence[str], learnt: set[str]) -> set[str]:
    """What a command imports while it runs is imported here once, as the rest is."""
    for name in names:
        if name not in learnt and name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    return set(names)


def _to_the_end(order: Mapping[str, Any]) -> NoReturn:
    """The console script, and what the interpreter does when it ends: but for the modules, which are not
    taken apart one by one. That would copy every page of the server, and none of our code runs then."""
    clock = by_clock(order["ahead"], order["slept"])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main(**clock)
    except KeyboardInterrupt as early:
        inside = early.__traceback__ and early.__traceback__.tb_next
        if inside is None or inside.tb_next is None:
            os._exit(130)  # it came before the first line of the command
        raise
    except SystemExit as stop:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(stop.code if isinstance(stop.code, int) else 1)
    raise AssertionError("the console script always ends by SystemExit")


if __name__ == "__main__":
    _to_the_end(serve(Path(sys.argv[1])))
