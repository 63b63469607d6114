"""Where a report can be written is found out before anybody pays for what is to stand there."""

import os
from pathlib import Path

import pytest

from baselinekit.errors import InvalidInput, NotRecorded
from baselinekit.store.results import check_place
from baselinekit.store.writing import check_folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("folder", "is a folder"),
        ("file/x.json", "not a directory"),
        (f"{'n' * 300}/x.json", "file name too long"),
        ("/proc/x.json", "no such file or directory"),
        ("gone/x.json", "name a file in a folder that you may write"),
    ],
)
def test_check_place_refuses_a_place_that_cannot_be_written(place: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "gone").symlink_to("/proc/nowhere")
    before = tree(tmp_path)
    with pytest.raises(InvalidInput, match=why) as refused:
        check_place(str(tmp_path / place))
    assert refused.value.problems[0].code == "BK120"
    assert tree(tmp_path) == before


@pytest.mark.parametrize("place", ["new.json", "one/two/three/new.json", "there.json", "link.json"])
def test_check_place_leaves_the_place_as_it_is(place: str, tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("kept")
    (tmp_path / "link.json").symlink_to("there.json")
    before = tree(tmp_path)
    check_place(str(tmp_path / place))
    assert tree(tmp_path) == before
    assert (tmp_path / "there.json").read_text() == "kept"


def test_check_place_accepts_a_device_and_refuses_a_closed_folder(tmp_path: Path) -> None:
    check_place(os.devnull)
    tmp_path.chmod(0o555)
    try:
        if os.geteuid():
            with pytest.raises(InvalidInput, match="permission denied"):
                check_place(str(tmp_path / "x.json"))
    finally:
        tmp_path.chmod(0o755)


def test_check_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    check_folder(str(tmp_path), "folder")
    assert tree(tmp_path) == ["file", "folder"]
    with pytest.raises(NotRecorded, match="BK120 file cannot be written: not a directory"):
        check_folder(str(tmp_path), "file")
