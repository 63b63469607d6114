"""What programs leave behind is ended with them, wherever it hid."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from baselinekit.clients.programs.process import Processes
from baselinekit.errors import CannotReplay
from baselinekit.model.recipes import ProcessSpec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")

LEAVE = """
import os, sys, time
def leave(depth, note):
    if os.fork():
        return
    os.setsid()
    if depth:
        leave(depth - 1, note)
    with open(note, "a") as file:
        file.write(f"{os.getpid()}\\n")
    os.close(0), os.close(1), os.close(2)
    time.sleep(60)
leave(int(sys.argv[2]), sys.argv[1])
while os.path.getsize(sys.argv[1]) == 0 if os.path.exists(sys.argv[1]) else True:
    time.sleep(0.005)
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end and not os.path.exists(sys.argv[1] + "-enough"):
    time.sleep(0.005)
"""


@pytest.fixture
def processes() -> Iterator[Processes]:
    client = Processes()
    yield client
    client.cancel()


def leaving(note: Path, depth: int = 0, seconds: float = 0.0, **options: float) -> ProcessSpec:
    words = (sys.executable, "-S", "-c", LEAVE, str(note), str(depth), str(seconds))
    return ProcessSpec(words, env={"PATH": os.environ["PATH"]}, **options)  # type: ignore[arg-type]


def pids(note: Path) -> list[int]:
    deadline = time.monotonic() + 10
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [int(line) for line in note.read_text().split()]


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("depth", [0, 2])
def test_f28_a_child_in_a_session_of_its_own_does_not_outlive_its_program(
    processes: Processes, tmp_path: Path, depth: int
) -> None:
    note = tmp_path / "note"
    assert processes.execute(leaving(note, depth)).exit_code == 0
    left = pids(note)
    time.sleep(0.1)  # those deeper down may write their number a little later
    assert not any(map(is_there, {*left, *pids(note)}))


def test_f28_nor_one_whose_program_ran_out_of_time(processes: Processes, tmp_path: Path) -> None:
    note = tmp_path / "note"
    for timeout in (0.5, 5.0, 25.0):  # on a busy machine it takes a while until it has left anyone behind
        with pytest.raises(CannotReplay, match="did not end within"):
            processes.execute(leaving(note, seconds=60, timeout=timeout))
        if note.exists() and note.read_text():
            break
    assert not any(map(is_there, pids(note)))


def test_what_another_program_still_needs_lives_as_long_as_that_one(
    processes: Processes, tmp_path: Path
) -> None:
    """Whose child an orphan is cannot be told, so it lives as long as anyone whose child it may be."""
    note, enough = tmp_path / "note", tmp_path / "note-enough"
    long = threading.Thread(target=processes.execute, args=(leaving(note, seconds=60),))
    long.start()
    (left,) = pids(note)
    processes.execute(ProcessSpec(("/bin/true",), env={}))
    assert is_there(left)
    enough.touch()
    long.join()
    assert not is_there(left)


def test_a_child_of_our_own_is_left_alone(processes: Processes, tmp_path: Path) -> None:
    """Only what programs started is ended, and not what else the process has for children."""
    import subprocess

    processes.execute(ProcessSpec(("/bin/true",), env={}))
    with subprocess.Popen(["/bin/sleep", "60"]) as own:
        processes.execute(ProcessSpec(("/bin/true",), env={}))
        assert own.poll() is None
        own.kill()
