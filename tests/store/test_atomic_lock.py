"""One writer at a time for a file: threads and processes wait for each other, and not for ever."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from baselinekit.errors import NotRecorded
from baselinekit.store.atomic import STRIPES, lock

PROJECT = Path(__file__).parent.parent.parent
HOLD = """
import sys, time
from baselinekit.store.atomic import lock
with lock(sys.argv[1], "f.yaml"):
    print("held", flush=True)
    time.sleep(30)
"""


def test_f03_lock_held_by_another_process_is_an_error(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], cwd=PROJECT, stdout=subprocess.PIPE)
    try:
        assert owner.stdout is not None
        owner.stdout.readline()
        with (
            pytest.raises(
                NotRecorded, match=r"BK121 f.yaml: .* held by another process, and waiting was not enough"
            ),
            lock(str(tmp_path), "f.yaml", wait=lambda: 0.2),
        ):
            pass
        owner.kill()
        owner.wait()
        with lock(str(tmp_path), "f.yaml", wait=lambda: 2):
            pass
    finally:
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        owner.stdout.close()


def test_lock_excludes_threads_and_is_freed_by_an_error(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with lock(str(tmp_path), "f.yaml"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.005)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 6
    with pytest.raises(ZeroDivisionError), lock(str(tmp_path), "f.yaml"):
        raise ZeroDivisionError
    work()


def test_lock_files_are_bounded(tmp_path: Path) -> None:
    for number in range(300):
        with lock(str(tmp_path), f"{number}.yaml"):
            pass
    assert 40 <= len(list((tmp_path / ".baselinekit/locks").iterdir())) <= STRIPES


def test_lock_refuses_a_link(tmp_path: Path) -> None:
    with lock(str(tmp_path), "f.yaml"):
        (name,) = (tmp_path / ".baselinekit/locks").iterdir()
    name.unlink()
    name.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotRecorded, match=r"BK120"), lock(str(tmp_path), "f.yaml"):
        pass
    assert not (tmp_path / "elsewhere").exists()
