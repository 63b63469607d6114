"""What is known of files that are not read: only of those that are as they were."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from baselinekit.model.baselines import Entry, Source
from baselinekit.store.discovery import Stamp, discover_files
from baselinekit.store.index import FILE, FileIndex, KnownEntry

LONG_AGO = 1_600_000_000_000_000_000
LATER = 2_600_000_000_000_000_000
NOTHING: dict[str, list[KnownEntry]] = {}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.yaml", "b.yaml", "c.output.json"):
        (tmp_path / name).write_text(f"id: {name}\n")
        os.utime(tmp_path / name, ns=(LONG_AGO, LONG_AGO))
    keep(tmp_path)
    return tmp_path


def entry(name: str, outputs: tuple[str, ...] = ()) -> Entry:
    return Entry(name, None, ("t",), Source(f"{name}.yaml"), "http", None, f"content of {name}", 7, outputs)


def keep(root: Path, now: int = LATER) -> None:
    found = discover_files(["."], str(root))
    stamps: dict[str, Stamp | None] = {file: found.stamp_now(file) for file in found.files}
    index = FileIndex(str(root))
    assert index.begin() is not None
    index.keep(now, stamps, [entry("a"), entry("b", ("c.output.json",))], ())


def known(root: Path) -> list[str]:
    return [*FileIndex(str(root)).known(discover_files(["."], str(root)))]


def test_what_stands_in_a_file_is_known(root: Path) -> None:
    found = FileIndex(str(root)).known(discover_files(["."], str(root)))
    assert found == {
        "a.yaml": [KnownEntry("a", None, ["t"], "content of a")],
        "b.yaml": [KnownEntry("b", None, ["t"], "content of b")],
    }
    assert found["a.yaml"][0].entry("a.yaml").content == "content of a"


def written(path: Path) -> None:
    path.write_text("id: else\n")


def written_at_the_same_time(path: Path) -> None:
    """And as long: only the time at which anything about it was changed is another."""
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(LONG_AGO, LONG_AGO))


def replaced(path: Path) -> None:
    copy = path.with_suffix(".new")
    copy.write_bytes(path.read_bytes()[::-1])
    os.utime(copy, ns=(LONG_AGO, LONG_AGO))
    copy.replace(path)


def removed(path: Path) -> None:
    path.unlink()


def made_a_link(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old"))


CHANGES = [written, written_at_the_same_time, replaced, removed, made_a_link]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(("name", "left"), [("a.yaml", ["b.yaml"]), ("c.output.json", ["a.yaml"])])
def test_nothing_is_known_of_a_file_that_is_not_as_it_was(
    root: Path, change: Callable[[Path], None], name: str, left: list[str]
) -> None:
    change(root / name)
    assert known(root) == left


def test_what_was_written_within_a_tick_of_the_clock_is_not_known(root: Path) -> None:
    """Two contents may have the same times."""
    born = os.stat(root / "a.yaml").st_ctime_ns
    keep(root, born + 1_000_000_000)
    assert known(root) == []
    keep(root, born + 10_000_000_000)
    assert known(root) == ["a.yaml", "b.yaml"]


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"[" * 100_000, b'{"version": "0", "files": {}}', b'{"files": []}', b"\xff"],
)
def test_an_index_that_cannot_be_read_is_none(root: Path, data: bytes) -> None:
    (root / FILE).write_bytes(data)
    assert known(root) == []


def test_an_index_of_another_version_is_none(root: Path) -> None:
    kept = json.loads((root / FILE).read_bytes())
    (root / FILE).write_text(json.dumps(kept | {"version": "0.0.0"}))
    assert known(root) == []


def test_where_nothing_can_be_written_there_is_none(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / ".baselinekit").symlink_to(root)
    assert FileIndex(str(other)).begin() is None


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((None, value) for value in (5, None, [], [1, 2, 3, 4], {"a": 1}, "abcd")),
        *((4, value) for value in (5, None, "x", [5], [["a"]], [[5, None, [], "x"]], [["a", 5, [], "x"]])),
        *((4, value) for value in ([["a", None, 5, "x"]], [["a", None, [5], "x"]], [["a", None, [], None]])),
        *((5, value) for value in (5, None, ["x"])),
    ],
)
def test_a_row_that_no_index_has_is_none(root: Path, place: int | None, value: object) -> None:
    """Of a file that is as the row says."""
    kept = json.loads((root / FILE).read_text())
    if place is None:
        kept["files"]["a.yaml"] = value
    else:
        kept["files"]["a.yaml"][place] = value
    (root / FILE).write_text(json.dumps(kept))
    assert known(root) == ["b.yaml"]
