"""A file is replaced whole or not at all, whatever fails, and nothing is left lying about."""

import fcntl
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nobody import become_nobody
from storehelp import write, write_baseline

from baselinekit.errors import InvalidInput, NotRecorded, Refused
from baselinekit.store import atomic
from baselinekit.store.atomic import replace_file, sweep
from baselinekit.store.reading import load
from baselinekit.store.record import Mark, record_all

PROJECT = Path(__file__).parent.parent.parent
NOW = "2024-02-01T00:00:00Z"


def litter(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*.tmp")]


def test_a_file_gets_new_bytes_and_keeps_its_mode(tmp_path: Path) -> None:
    write(tmp_path, "f", "old")
    (tmp_path / "f").chmod(0o640)
    replace_file(str(tmp_path), "f", b"new")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
    replace_file(str(tmp_path), "g", b"x" * 3_000_000, new=True)
    assert (tmp_path / "g").stat().st_size == 3_000_000
    assert (tmp_path / "g").stat().st_nlink == 1
    with pytest.raises(InvalidInput, match=r"BK113 g: the file already exists"):
        replace_file(str(tmp_path), "g", b"", new=True)
    assert litter(tmp_path) == []


def test_links_are_followed_inside_the_project_only(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, "real/f", "old")
    write(tmp_path, "outside", "old")
    (root / "in").symlink_to("real/f")
    (root / "out").symlink_to("../outside")
    replace_file(str(root), "in", b"new")
    assert (root / "in").is_symlink()
    assert (root / "real/f").read_bytes() == b"new"
    for name in ("out", "../outside", ".git/hooks/pre-commit"):
        with pytest.raises(Refused, match=r"BK404"):
            replace_file(str(root), name, b"new")
    assert (tmp_path / "outside").read_bytes() == b"old"


def test_only_a_regular_file_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(NotRecorded, match=r"BK120 .* is not a regular file"):
            replace_file(str(tmp_path), name, b"x")


def test_the_state_folder_is_no_way_out(tmp_path: Path) -> None:
    root = tmp_path / "project"
    write(root, "f", "old")
    (tmp_path / "elsewhere").mkdir()
    (root / ".baselinekit").symlink_to("../elsewhere")
    with pytest.raises(NotRecorded, match=r"BK120 .baselinekit is a link or a file"):
        atomic.state_folder(str(root), "locks")
    replace_file(str(root), "f", b"new")  # the temporary is beside the file then
    assert (root / "f").read_bytes() == b"new"
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert litter(root) == []


IMPORTS = (
    "from baselinekit.store.reading import load\nfrom baselinekit.store.record import Mark, record_all\n"
)


def run(code: str, root: Path, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    head = f"{IMPORTS}from baselinekit.store.atomic import *\n"
    command = [sys.executable, "-B", "-c", f"import sys; root = sys.argv[1]\n{head}{code}", str(root)]
    return subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=60, preexec_fn=before, check=False
    )


RECORD = f"""
for baseline in load(["b.yaml"], root):
    for error in record_all([Mark(baseline.source, False)], root, "{NOW}").failures:
        print(error)
"""


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_a_limit_on_the_size_of_files_leaves_the_old_one(tmp_path: Path) -> None:
    write_baseline(tmp_path)
    atomic.state_folder(str(tmp_path), "locks")
    before = (tmp_path / "b.yaml").read_bytes()
    done = run(RECORD, tmp_path, small_files)
    assert "BK120 b.yaml cannot be written: file too large" in done.stdout, done
    assert (tmp_path / "b.yaml").read_bytes() == before
    assert litter(tmp_path) == []


def fail_as_nobody(root: str, marks: list[Mark], queue: "multiprocessing.SimpleQueue[str]") -> None:
    become_nobody()
    queue.put(str(*record_all(marks, root, NOW).failures))


def test_a_read_only_folder_leaves_the_old_file() -> None:
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_baseline(root)
        (root / "b.yaml").chmod(0o444)
        marks = [Mark(load(["b.yaml"], folder)[0].source, False)]
        for state_too in (False, True):
            if state_too:
                Path(atomic.state_folder(folder, "locks")).chmod(0o777)
                (root / ".baselinekit").chmod(0o777)
            root.chmod(0o555)
            queue = context.SimpleQueue()
            child = context.Process(target=fail_as_nobody, args=(folder, marks, queue))
            child.start()
            said = queue.get()
            child.join()
            root.chmod(0o755)
            assert "BK120" in said
            assert "permission denied: make the folder writable" in said
            assert "--no-record" not in said  # which only a compare has
            assert load(["b.yaml"], folder)[0].metadata.failure_count == 0
            assert litter(root) == []


def test_only_temporaries_of_the_dead_are_swept(tmp_path: Path) -> None:
    for name in (".baselinekit-dead.tmp", ".baselinekit-alive.tmp", "mine.tmp"):
        (tmp_path / name).touch()
    with (tmp_path / ".baselinekit-alive.tmp").open("wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        sweep([str(tmp_path), str(tmp_path / "nowhere")])
    assert {path.name for path in tmp_path.iterdir()} == {".baselinekit-alive.tmp", "mine.tmp"}
