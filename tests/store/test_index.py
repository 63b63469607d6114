"""What is known of files that are not read: only of those that are as they were."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from baselinekit.model.baselines import Entry, Source
from baselinekit.store.atomic import replace_files
from baselinekit.store.discovery import Stamp, discover_files, stamp_of
from baselinekit.store.index import FILE, FileIndex, KnownEntry
from baselinekit.store.record import RecordedFile
from baselinekit.store.records import bytes_digest

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
    stamps: dict[str, Stamp | None] = {file: found.stamp(file) for file in found.files}
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


def rewriting(root: Path, data: bytes) -> RecordedFile:
    before, stamp = (root / "a.yaml").read_bytes(), stamp_of(str(root / "a.yaml"))
    assert replace_files(str(root), {"a.yaml": data}) == {}
    return RecordedFile("a.yaml", stamp, bytes_digest(before), bytes_digest(data))


def renewing(root: Path, change: Callable[[Path], None] | None, tick: int = -LATER) -> list[str]:
    """What is known once a run has recorded in a file twice, and the file was changed between."""
    once = rewriting(root, b"id: a.yaml  # once\n")
    if change is not None:
        change(root / "a.yaml")
    FileIndex(str(root), tick).renew([once.and_then(rewriting(root, b"id: a.yaml  # twice\n"))])
    return known(root)


def test_a_file_that_a_run_has_recorded_in_is_known_still(root: Path) -> None:
    assert renewing(root, None) == ["a.yaml", "b.yaml"]
    assert FileIndex(str(root)).known(discover_files(["."], str(root)))["a.yaml"][0].content == "content of a"


def test_a_file_that_somebody_changed_between_is_not(root: Path) -> None:
    assert renewing(root, written) == ["b.yaml"]


def test_a_file_that_was_recorded_in_within_a_tick_is_not(root: Path) -> None:
    assert renewing(root, None, 3_600_000_000_000) == ["b.yaml"]


def test_a_file_that_the_index_did_not_know_as_it_was_is_not(root: Path) -> None:
    written(root / "a.yaml")
    assert renewing(root, None) == ["b.yaml"]


def test_a_file_that_was_changed_after_it_is_not(root: Path) -> None:
    path = root / "a.yaml"
    stamp, held = stamp_of(str(path)), path.read_bytes()
    path.write_bytes(b"id: else\n")
    done = RecordedFile("a.yaml", stamp, bytes_digest(held), bytes_digest(b"what the run wrote"))
    FileIndex(str(root), -LATER).renew([done])
    assert known(root) == ["b.yaml"]


def test_entries_stay_with_their_files(root: Path) -> None:
    """Some have several, and one that is read again has others than before."""
    found = discover_files(["."], str(root))
    stamps: dict[str, Stamp | None] = {file: found.stamp(file) for file in found.files}
    two = [replace(entry("a"), id="a1"), entry("b"), replace(entry("a"), id="a2", tags=())]
    FileIndex(str(root)).keep(LATER, stamps, two, ())
    FileIndex(str(root)).keep(LATER, {"b.yaml": stamps["b.yaml"]}, [entry("b")], {"a.yaml"})
    files = FileIndex(str(root)).known(found)
    assert {file: [one.id for one in of] for file, of in files.items()} == {
        "b.yaml": ["b"],
        "a.yaml": ["a1", "a2"],
    }
    assert [(file, one.id, [*one.tags]) for file, one in files.each()] == [
        ("b.yaml", "b", ["t"]),
        ("a.yaml", "a1", ["t"]),
        ("a.yaml", "a2", []),
    ]
    assert files.ids(without={"b.yaml"}) == ["a1", "a2"]


@pytest.mark.parametrize("key", ["ids", "names", "contents", "of", "tagged", "stamps", "files", "tags"])
def test_an_index_whose_columns_do_not_fit_is_none(root: Path, key: str) -> None:
    kept = json.loads((root / FILE).read_bytes())
    (root / FILE).write_text(json.dumps(kept | {key: kept[key][:0]}))
    assert known(root) == []
    (root / FILE).write_text(json.dumps(kept | {key: None}))
    assert known(root) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("ids", value) for value in (5, "ab", [5, "b"], [["a"], "b"], {"a": 1, "b": 2})),
        *(("names", value) for value in (5, [5, None], [None, ["b"]])),
        *(("tags", value) for value in (5, [5], ["t"], [[5]], [[["t"]]])),
        *(("contents", value) for value in (5, [None, "b"])),
        *(("of", value) for value in (5, ["0", "1"], [1, 0], [-1, 0], [0, 2], [0, 10**30])),
        *(("tagged", value) for value in (5, ["0", "0"], [0, 7])),
        *(("stamps", value) for value in (5, "x", "äö", "AAAA")),
        *(
            ("outputs", value)
            for value in (5, [], {"b.yaml": 5}, {"b.yaml": {"x": 5}}, {"b.yaml": {"x": [1]}})
        ),
        *(("files", value) for value in (5, [5, 6], [["a.yaml"], "b.yaml"])),
    ],
)
def test_what_no_index_says_is_none(root: Path, key: str, value: object) -> None:
    kept = json.loads((root / FILE).read_text())
    (root / FILE).write_text(json.dumps(kept | {key: value}))
    assert known(root) == []
