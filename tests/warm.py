"""baselinekit with its code read once: each command is a process of its own, forked from one that waits.

Reading the code is most of a short command, and the golden cases and the documents run hundreds of them. What
is about starting, signals or other interpreters starts from nothing, in tests of its own."""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import re
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_FOR_A_SHELL = re.compile(r"[|&;<>$`*?\[\]~(){}#!\n\\]")


def words_of(command: str) -> list[str] | None:
    """The words after `baselinekit`, where no shell is needed to tell them."""
    if not command.startswith("baselinekit ") or _FOR_A_SHELL.search(_QUOTED.sub("", command)):
        return None
    return shlex.split(command)[1:]


class Warm:
    """One that waits. It ends with the process that started it."""

    def __init__(self) -> None:
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "PYTHONWARNINGS": "error",
        }
        if not Path(sys.executable).with_name("baselinekit").exists():
            environment["PYTHONPATH"] = str(Path(__file__).parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(its.fileno())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
        )
        its.close()
        atexit.register(self._end)

    def run(
        self, argv: list[str], cwd: Path, env: Mapping[str, str], together: bool, seconds: float
    ) -> tuple[int, bytes, bytes]:
        """What subprocess.run would say: the exit code, standard output and standard error."""
        said, answer = os.pipe()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            asked = json.dumps({"argv": argv, "cwd": str(cwd), "env": dict(env)}).encode()
            streams = [out.fileno(), (out if together else err).fileno(), answer]
            try:
                socket.send_fds(self._socket, [asked], streams)
                os.close(answer)
                with open(said, "rb", buffering=0) as telling:
                    pid = int(telling.read(16))
                    if not select.select([telling], [], [], seconds)[0]:
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                        raise subprocess.TimeoutExpired(argv, seconds)
                    code = int(telling.read(16))
            finally:
                out.seek(0), err.seek(0)
            return code, out.read(), err.read()

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


def _wait(asked: socket.socket) -> None:
    """Until nobody asks any more: a keeper for each command, and the command, which comes out of this."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
    while True:
        message, streams, _, _ = socket.recv_fds(asked, 1 << 20, 3)
        if not message:
            asked.close()
            sys.exit()
        if os.fork() == 0:
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _keep(json.loads(message), streams)
            return
        for stream in streams:
            os.close(stream)


def _keep(request: dict[str, Any], streams: list[int]) -> None:
    """The keeper says who runs and how it ended; the command returns from here, with all in its place."""
    out, err, answer = streams
    if pid := os.fork():
        os.write(answer, f"{pid:<16}".encode())
        _, status = os.waitpid(pid, 0)
        os.write(answer, f"{os.waitstatus_to_exitcode(status):<16}".encode())
        os._exit(0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for stream in streams:
        os.close(stream)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv[:] = request["argv"]


def _read_all_code() -> None:
    import baselinekit

    for module in pkgutil.walk_packages(baselinekit.__path__, "baselinekit."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # what needs an extra
                importlib.import_module(module.name)


if __name__ == "__main__":
    _read_all_code()
    gc.freeze()  # or each command would copy what it only looks through when it ends
    _wait(socket.socket(fileno=int(sys.argv[1])))
    from baselinekit.cli.main import main

    main()
