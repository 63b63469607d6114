"""Full disks, read-only folders and files, and CI, which writes nothing: the verdict stays, the place is
named, and the baselines are unchanged."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from drill import FAILING, FILES, PASSING, ROOT, Drill, Standing, record
from nobody import open_to_all
from steady import Steady
from warm import Warm


@pytest.fixture
def drill(drill: Drill) -> Drill:
    drill.lay()
    return drill


def compare(
    drill: Drill, *words: str, before: Callable[[], None] | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-B", "-P", "-m", "baselinekit", "compare", *words],  # no half a .pyc either
        cwd=drill.folder,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )
    assert "Traceback" not in done.stdout + done.stderr, done
    assert "BK399" not in done.stderr, done
    return done


def untouched(drill: Drill) -> None:
    assert set(drill.standing().values()) == {Standing(False, 0)}
    assert drill.litter() == []


def counted_once(drill: Drill) -> None:
    standing = drill.standing()
    assert all(standing[id] == (True, 0) for id in PASSING)
    assert all(standing[id] == (False, 1) for id in FAILING)


def small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


def test_f05_compare_file_size_limit_leaves_old_files(drill: Drill) -> None:
    """A limit of the shell (ulimit -f), which is what a quota looks like."""
    done = compare(drill, "-o", "x.json", "-o", "y.md", before=small_files)
    assert done.returncode == 1
    for name in (*FILES, "x.json", "y.md"):
        assert f"BK120 {name} cannot be written: file too large" in done.stdout
    untouched(drill)
    compare(drill)
    counted_once(drill)


def test_f05_compare_full_disk_leaves_old_files(drill: Drill, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    options = ["-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system; the injected errors show the same")
    try:
        full = Drill(small, drill.service)
        full.lay()
        with (small / "fill").open("wb", buffering=0) as fill:
            try:
                while True:
                    fill.write(b"x" * 4096)
            except OSError:
                pass
        done = compare(full)
        assert done.returncode == 1
        assert "no space left on device: the disk is full: make room, then run again" in done.stdout
        (small / "fill").unlink()
        untouched(full)
        passing = compare(full, "--id", "a")
        assert (passing.returncode, full.standing()["a"]) == (0, (True, 0))
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_f05_compare_passes_but_cannot_write_exits_3(drill: Drill) -> None:
    done = compare(drill, "--id", "a", before=small_files)
    assert (done.returncode, "BK120 baselines/a.yaml" in done.stdout) == (3, True), done
    untouched(drill)


@pytest.mark.parametrize("what", ["folder", "state", "file-of-another", "everything"])
def test_f14_compare_read_only_folder_or_file_is_reported(drill: Drill, runs: Warm, what: str) -> None:
    """A file of another user in a folder of ours is replaced, as an editor would; where it cannot be, an
    error is reported."""
    runs.run(drill.folder, "compare", "--no-record")
    shutil.rmtree(drill.folder / ".baselinekit")
    open_to_all(drill.folder)
    folders = [drill.folder / "baselines", drill.folder / "baselines/deeper"]
    (drill.folder / ".baselinekit").mkdir()
    for path in (drill.folder, drill.folder / ".baselinekit", *folders):
        path.chmod(0o777)
    if what in ("folder", "everything"):
        for folder in folders:
            folder.chmod(0o555)
    if what in ("state", "everything"):
        (drill.folder / ".baselinekit").chmod(0o555)
        drill.folder.chmod(0o555)
    try:
        done = runs.run(drill.folder, "compare", harmless=True)
        quiet = runs.run(drill.folder, "compare", "--no-record", harmless=True)
    finally:
        for path in (drill.folder, drill.folder / ".baselinekit", *folders):
            path.chmod(0o777)
    assert done.exit_code == 1
    assert "2 failed, 2 passed" in done.out
    if what == "file-of-another":
        counted_once(drill)
    else:
        instead = "make the folder writable, or leave it: --no-record writes nothing"
        assert f"permission denied: {instead}" in done.out
        untouched(drill)
    assert quiet.exit_code == 1
    assert "BK120" not in quiet.said


def test_f14_compare_read_only_checkout_passes_in_ci(tmp_path: Path, runs: Warm) -> None:
    (tmp_path / "project").mkdir()
    files = {"baselines/a.yaml": record("a", 1)}
    with Steady({"n": 1}) as service:
        drill = Drill(tmp_path / "project", service)
        drill.lay(files)
        runs.run(drill.folder, "compare", "--no-record")
        shutil.rmtree(drill.folder / ".baselinekit")
        open_to_all(drill.folder)
        for path in (drill.folder / "baselines", drill.folder):
            path.chmod(0o555)
        try:
            done = runs.run(drill.folder, "compare", env={"CI": "true"}, harmless=True)
        finally:
            drill.folder.chmod(0o755)
            (drill.folder / "baselines").chmod(0o755)
    assert done.exit_code == 0, done
    assert "BK120" not in done.said
    assert drill.standing(files) == {"a": (False, 0)}
    assert drill.litter() == []
