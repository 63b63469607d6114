"""Programs are executed: their output, limits and end, with real processes."""

import os
import shlex
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from baselinekit.clients.programs.process import Processes
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import ProcessSpec
from baselinekit.values.texts import no_mask


@pytest.fixture
def processes() -> Iterator[Processes]:
    processes = Processes()
    yield processes
    processes.cancel()


def shell(script: str, **options: object) -> ProcessSpec:
    options = {"mask": no_mask, **options}
    return ProcessSpec(("/bin/sh", "-c", script), env={"PATH": os.environ["PATH"]}, **options)  # type: ignore[arg-type]


def code_of(processes: Processes, run: ProcessSpec) -> str:
    with pytest.raises(CannotReplay) as raised:
        processes.execute(run)
    return raised.value.problems[0].code


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so in a moment: a signal takes its time."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def pid_in(file: Path) -> int:
    deadline = time.monotonic() + 20
    while not (file.exists() and file.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return int(file.read_text())


def test_execute_gives_exit_code_and_output(processes: Processes, tmp_path: Path) -> None:
    finished = processes.execute(
        shell("cat; echo err >&2; pwd; echo $A; exit 3", stdin=b"in ", cwd=str(tmp_path))
    )
    assert (finished.exit_code, finished.stderr) == (3, b"err\n")
    assert finished.stdout == f"in {tmp_path}\n\n".encode()
    assert 0 < finished.seconds < 10
    much = bytes(range(256)) * 3_000
    assert processes.execute(shell("cat", stdin=much)).stdout == much
    assert processes.execute(shell("kill -9 $$")).exit_code == -9
    assert processes.execute(ProcessSpec(("/usr/bin/env",), env={"A": "1"})).stdout == b"A=1\n"


def test_execute_program_that_ignores_stdin(processes: Processes) -> None:
    assert processes.execute(shell("exec <&-; exit 4", stdin=bytes(1_000_000))).exit_code == 4


def test_execute_program_that_closes_output_is_waited_for(processes: Processes) -> None:
    started = time.monotonic()
    assert processes.execute(shell("exec >&- 2>&-; sleep 0.3; exit 5")).exit_code == 5
    assert 0.25 < time.monotonic() - started < 10


def test_execute_keeps_end_of_stderr(processes: Processes) -> None:
    finished = processes.execute(shell("seq 1 200000 >&2", max_stderr=1_000))
    assert 700 < len(finished.stderr) <= 1_000
    assert finished.stderr.startswith(b"1998"), "no line is torn: half of one could be half a secret"
    assert finished.stderr.endswith(b"\n199999\n200000\n")


@pytest.mark.parametrize(("between", "first"), [("\n", b"w"), (" ", b"w"), ("", b"x")])
def test_execute_cuts_stderr_between_words(processes: Processes, between: str, first: bytes) -> None:
    words = between.join(["w" + "x" * 98] * 300)
    finished = processes.execute(shell(f"printf '%s' '{words}' >&2", max_stderr=20_000))
    assert finished.stderr[:1] == first
    assert 17_800 < len(finished.stderr) <= 20_000 - 2_048


@pytest.mark.slow
def test_execute_quotes_last_output_only_with_mask(processes: Processes) -> None:
    for mask, quoted in (
        (None, ""),
        (lambda text: text.replace("pass-1", "***"), "; its last output was: I am ***"),
    ):
        with pytest.raises(CannotReplay) as raised:
            processes.execute(shell("echo I am pass-1 >&2; sleep 60", mask=mask, timeout=3))
        assert raised.value.problems[0].message == f"/bin/sh did not end within 3 s{quoted}"


def test_f28_execute_does_not_wait_for_grandchild_with_pipe(processes: Processes, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    started = time.monotonic()
    finished = processes.execute(shell(f"sleep 99 & echo $! > {shlex.quote(str(note))}; echo done"))
    assert (finished.exit_code, finished.stdout) == (0, b"done\n")
    assert 0.9 < time.monotonic() - started < 20
    assert is_gone(pid_in(note))


def test_cancel_ends_running_programs(processes: Processes, tmp_path: Path) -> None:
    codes: list[str] = []
    runs = [
        shell(f"sleep 99 & echo $! > {shlex.quote(str(tmp_path / str(index)))}; wait") for index in range(4)
    ]
    threads = [threading.Thread(target=lambda run=run: codes.append(code_of(processes, run))) for run in runs]
    for thread in threads:
        thread.start()
    pids = [pid_in(tmp_path / str(index)) for index in range(4)]
    started = time.monotonic()
    processes.cancel()
    assert time.monotonic() - started < 2, "before the two seconds that a program has to end by itself"
    assert all(map(is_gone, pids))
    for thread in threads:
        thread.join()
    assert codes == ["BK330"] * 4
    assert code_of(processes, shell("true")) == "BK330"


@pytest.mark.parametrize(
    ("argv", "cwd", "message"),
    [
        (("/nowhere/tool",), ".", "No such file or directory: install it, or correct its name"),
        (("/etc/passwd",), ".", "Permission denied: make it executable"),
        (("/bin/true",), "/nowhere", "the working folder '/nowhere' cannot be used"),
        (("/bin/echo", "a\0b"), ".", "embedded null byte"),
    ],
)
def test_execute_fails_to_start(processes: Processes, argv: tuple[str, ...], cwd: str, message: str) -> None:
    with pytest.raises(CannotReplay, match=message) as raised:
        processes.execute(ProcessSpec(argv, cwd=cwd))
    assert raised.value.problems[0].code == "BK320"


def test_execute_leaves_no_descriptor_open(processes: Processes) -> None:
    processes.execute(shell("true"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        processes.execute(shell("true"))
        code_of(processes, shell("yes", max_stdout=10))
    assert len(os.listdir("/proc/self/fd")) == before
