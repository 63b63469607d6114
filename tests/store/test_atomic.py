"""A file is replaced whole or not at all, whatever fails, and nothing is left lying about."""

import fcntl
import os
from pathlib import Path

import pytest
from storehelp import write

from baselinekit.errors import InvalidInput, NotRecorded, Refused
from baselinekit.store import atomic
from baselinekit.store.atomic import replace_file, sweep


def litter(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*.tmp")]


def test_replace_file_writes_new_bytes_and_keeps_the_mode(tmp_path: Path) -> None:
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


def test_replace_file_follows_links_inside_the_project_only(tmp_path: Path) -> None:
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


def test_replace_file_refuses_folders_and_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(NotRecorded, match=r"BK120 .* is not a regular file"):
            replace_file(str(tmp_path), name, b"x")


def test_state_folder_refuses_a_link(tmp_path: Path) -> None:
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


def test_sweep_removes_only_temporaries_without_a_writer(tmp_path: Path) -> None:
    for name in (".baselinekit-dead.tmp", ".baselinekit-alive.tmp", "mine.tmp"):
        (tmp_path / name).touch()
    with (tmp_path / ".baselinekit-alive.tmp").open("wb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        sweep([str(tmp_path), str(tmp_path / "nowhere")])
    assert {path.name for path in tmp_path.iterdir()} == {".baselinekit-alive.tmp", "mine.tmp"}
