"""Disks that are full, folders and files that nobody may write, and CI, which writes nothing: the verdict
stands, the place is named, and the baselines are what they were."""

import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from drill import FAILING, FILES, PASSING, Drill, Standing, in_a_process, limit_files, record
from nobody import open_to_all
from steady import Steady
from warm import Warm


@pytest.fixture
def project(project: Drill) -> Drill:
    project.lay()
    return project


def untouched(project: Drill) -> None:
    assert set(project.standing().values()) == {Standing(False, 0)}
    assert project.litter() == []


def counted_once(project: Drill) -> None:
    standing = project.standing()
    assert all(standing[id] == (True, 0) for id in PASSING)
    assert all(standing[id] == (False, 1) for id in FAILING)


def test_f05_compare_with_a_file_size_limit_leaves_the_old_file(project: Drill) -> None:
    done = in_a_process(
        project.folder, "compare", "-o", "x.json", "-o", "y.md", before=partial(limit_files, 200)
    )
    assert done.returncode == 1
    for name in (*FILES, "x.json", "y.md"):
        assert f"BK120 {name} cannot be written: file too large" in done.stdout
    done = in_a_process(project.folder, "compare", "--id", "a", before=partial(limit_files, 200))
    assert (done.returncode, "BK120 baselines/a.yaml" in done.stdout) == (3, True), done
    untouched(project)
    in_a_process(project.folder, "compare")
    counted_once(project)


def test_f05_compare_on_a_full_disk_leaves_every_file(project: Drill, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    options = ["-t", "tmpfs", "-o", "size=160k", "tmpfs", str(small)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system; the injected errors show the same")
    try:
        full = Drill(small, project.service)
        full.lay()
        with (small / "fill").open("wb", buffering=0) as fill:
            try:
                while True:
                    fill.write(b"x" * 4096)
            except OSError:
                pass
        done = in_a_process(full.folder, "compare")
        assert done.returncode == 1
        assert "no space left on device: make room" in done.stdout
        (small / "fill").unlink()
        untouched(full)
        passing = in_a_process(full.folder, "compare", "--id", "a")
        assert (passing.returncode, full.standing()["a"]) == (0, (True, 0))
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("what", ["folder", "file-of-another", "everything"])
def test_f14_compare_without_permission_to_write_reports_it(project: Drill, runs: Warm, what: str) -> None:
    """A file of another's in a folder of one's own is replaced, as an editor would; its bytes are the new
    ones, and it is reported when it cannot."""
    runs.run(project.folder, "compare", "--no-record")
    shutil.rmtree(project.folder / ".baselinekit")
    open_to_all(project.folder)
    folders = [project.folder / "baselines", project.folder / "baselines/deeper"]
    (project.folder / ".baselinekit").mkdir()
    for path in (project.folder, project.folder / ".baselinekit", *folders):
        path.chmod(0o777)
    if what in ("folder", "everything"):
        for folder in folders:
            folder.chmod(0o555)
    if what == "everything":
        (project.folder / ".baselinekit").chmod(0o555)
        project.folder.chmod(0o555)
    try:
        done = runs.run(project.folder, "compare", harmless=True)
        quiet = runs.run(project.folder, "compare", "--no-record", harmless=True)
    finally:
        for path in (project.folder, project.folder / ".baselinekit", *folders):
            path.chmod(0o777)
    assert done.exit_code == 1
    assert "2 failed, 2 passed" in done.out
    if what == "file-of-another":
        counted_once(project)
    else:
        assert "permission denied: make room or make it writable" in done.out
        assert "--no-record writes nothing" in done.out
        untouched(project)
    assert quiet.exit_code == 1
    assert "BK120" not in quiet.said


def test_f14_compare_of_a_read_only_checkout_passes_in_ci(tmp_path: Path, runs: Warm) -> None:
    (tmp_path / "project").mkdir()
    files = {"baselines/a.yaml": record("a", 1)}
    with Steady({"n": 1}) as service:
        project = Drill(tmp_path / "project", service)
        project.lay(files)
        runs.run(project.folder, "compare", "--no-record")
        shutil.rmtree(project.folder / ".baselinekit")
        open_to_all(project.folder)
        for path in (project.folder / "baselines", project.folder):
            path.chmod(0o555)
        try:
            done = runs.run(project.folder, "compare", env={"CI": "true"}, harmless=True)
        finally:
            project.folder.chmod(0o755)
            (project.folder / "baselines").chmod(0o755)
    assert done.exit_code == 0, done
    assert "BK120" not in done.said
    assert project.standing(files) == {"a": (False, 0)}
    assert project.litter() == []
