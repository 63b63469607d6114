"""Runs of pytest that begin at once, and so do their workers of pytest-xdist.

A server process has pytest, its plugins and the package imported. It forks a child for each run, in a folder,
an environment and with standard streams of its own: a real process, which runs what `python -m pytest` runs,
to the end. To that child, `sys.executable` is a program that asks the same server: so the workers that
pytest-xdist starts are forked as well. What is about starting, about other interpreters or about being killed
starts from nothing, and test_parallel.py holds that both say the same."""

import ast
import atexit
import gc
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

LONGEST = 120.0
_ENDED = 4
"""So many bytes say how a process ended, as waitpid does."""
_FROM_THE_START = ("PYTHONWARNINGS", "PYTHONPATH", "PYTHONHOME", "PYTHONOPTIMIZE", "PYTHONMALLOC")
"""What an interpreter reads when it begins, which a child does not."""

WARM_TEST = """\
import baselinekit.pytest_plugin.items, baselinekit.pytest_plugin.unused, httpx
import xdist.dsession, xdist.looponfail, xdist.remote, xdist.scheduler, xdist.workermanage
import execnet.gateway, execnet.gateway_base, execnet.multi

def test_warm(baseline):
    assert {"a": [1, "x"]} == baseline
"""
ASKING = """\
import _socket, os, sys
asking = _socket.socket(_socket.AF_UNIX)
asking.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
words = ascii([sys.argv[2:], os.getcwd(), {**os.environ}]).encode()
asking.sendmsg([len(words).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
while words:
    words = words[asking.send(words):]
ended = asking.recv(4)
os.close(0)
os.close(1)
status = int.from_bytes(ended, "big") if ended else 9
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.WEXITSTATUS(status))
"""


class WarmPytest:
    """The tests' side."""

    def __init__(self, place: str):
        self._place = place

    def run(self, folder: Path, *words: str, env: Mapping[str, str]) -> tuple[int, str]:
        """`python -m pytest WORDS` in a folder, to its end: its exit code, negative for a signal, and what it
        said on both streams."""
        assert not {*_FROM_THE_START} & env.keys(), "an interpreter has to begin with these"
        reading, writing = os.pipe()
        with (
            socket.socket(socket.AF_UNIX) as asking,
            open(os.devnull, "rb") as nothing,
            open(reading, "rb") as said,
        ):
            asking.settimeout(LONGEST)
            asking.connect(self._place)
            order = ascii([["-m", "pytest", *words], str(folder), dict(env)]).encode()
            try:
                socket.send_fds(asking, [len(order).to_bytes(4, "big")], [nothing.fileno(), writing, writing])
            finally:
                os.close(writing)
            asking.sendall(order)
            ended = threading.Timer(LONGEST, asking.shutdown, [socket.SHUT_RDWR])
            ended.start()
            try:
                text = said.read().decode("utf-8", "backslashreplace")
                status = asking.recv(_ENDED)
            finally:
                ended.cancel()
        assert len(status) == _ENDED, f"it took too long, or its server has ended: {text}"
        return os.waitstatus_to_exitcode(int.from_bytes(status, "big")), text


@contextmanager
def warm_pytest() -> Iterator[WarmPytest]:
    """A server of runs of pytest, for as long as the tests want it."""
    with tempfile.TemporaryDirectory(prefix="bk-") as scratch:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, scratch],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment,
            process_group=0,
        )
        assert server.stdout is not None
        try:
            told = server.stdout.readline()
            assert told == b"ready\n", told
            yield WarmPytest(f"{scratch}/asked")
        finally:
            server.terminate()
            server.communicate()


class _Server:
    """The server's side: who asks, and what was begun for them."""

    def __init__(self, scratch: Path):
        self._ours = str(scratch / "python")
        asking = (scratch / "asking.py", scratch / "asked")
        asking[0].write_text(ASKING, "utf-8")
        Path(self._ours).write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -I -S '{asking[0]}' '{asking[1]}' \"$@\"\n"
        )
        os.chmod(self._ours, 0o700)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(asking[1]))
        self._listening.listen(64)
        self._ready = selectors.DefaultSelector()
        self._ready.register(self._listening, selectors.EVENT_READ)
        self._begun: dict[int, tuple[int, socket.socket]] = {}

    def serve(self) -> dict[str, Any]:
        """Returns in a child: its order."""
        try:
            while True:
                for key, _ in self._ready.select():
                    if key.fileobj is self._listening:
                        order = self._begin()
                        if order:
                            return order
                    else:
                        self._ended(key.data)
        except KeyboardInterrupt:
            for child in self._begun:
                os.kill(child, signal.SIGKILL)
            sys.exit()

    def _begin(self) -> dict[str, Any] | None:
        asking, _ = self._listening.accept()
        length, streams, _, _ = socket.recv_fds(asking, 4, 3)
        if not length:  # whoever asked was killed meanwhile
            asking.close()
            return None
        with asking.makefile("rb") as words:
            told = words.read(int.from_bytes(length, "big"))
        child = os.fork()
        if not child:
            self._ready.close()
            self._listening.close()
            for handle, other in self._begun.values():
                os.close(handle)
                other.close()
            asking.close()
            return {"told": told, "streams": streams, "python": self._ours}
        for number in streams:
            os.close(number)
        handle = os.pidfd_open(child)
        self._begun[child] = handle, asking
        self._ready.register(handle, selectors.EVENT_READ, child)
        self._ready.register(asking, selectors.EVENT_READ, child)
        return None

    def _ended(self, child: int) -> None:
        """It came to its end, or who asked for it did, and then it does."""
        if child not in self._begun:
            return
        found, status = os.waitpid(child, os.WNOHANG)
        if not found:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        handle, asking = self._begun.pop(child)
        self._ready.unregister(handle)
        self._ready.unregister(asking)
        with suppress(OSError):
            asking.sendall(status.to_bytes(_ENDED, "big"))
        os.close(handle)
        asking.close()


def _warm_up(scratch: Path) -> None:
    """What the first run of every process pays for, paid once; without what it would leave to the next."""
    before, path, folder = os.getcwd(), [*sys.path], scratch / "warm"
    folder.mkdir()
    os.chdir(folder)
    (folder / "test_warm.py").write_text(WARM_TEST, "utf-8")
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        assert pytest.main(["-p", "no:cacheprovider"]) == 0
        assert pytest.main(["-p", "no:cacheprovider", "--baseline-update"]) == 0
    del sys.modules["test_warm"]
    sys.path[:] = path
    os.chdir(before)


def _begin_as(order: dict[str, Any]) -> None:
    """What a shell and an interpreter do before the first line of a program; then the program."""
    words, folder, environment = ast.literal_eval(order["told"].decode("ascii"))
    for number, stream in enumerate(order["streams"]):
        os.dup2(stream, number)
        os.close(stream)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.executable = order["python"]
    sys.dont_write_bytecode = "-B" in words or bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    if words[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = ["-m", *words[2:]]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        assert words[-2] == "-c", words
        sys.path.insert(0, "")
        sys.argv = ["-c"]
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(words[-1], sys.modules["__main__"].__dict__)


def _to_the_end(order: dict[str, Any]) -> NoReturn:
    """As the interpreter ends, but for the modules, which are not taken apart one by one: that would copy
    every page of the server, and none of our code runs then."""
    code: object = 0
    try:
        _begin_as(order)
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    server = _Server(Path(sys.argv[1]))
    _warm_up(Path(sys.argv[1]))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.collect()
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    _to_the_end(server.serve())
