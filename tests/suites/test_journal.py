"""The journal of a run: what is in it after any crash, and who may write it."""

import os
from pathlib import Path

import pytest

from baselinekit.errors import CannotReplay, NotRecorded
from baselinekit.suites.journal import Journal, name_of

ENTRIES = [{"id": "a", "text": "ü\n\ud800 x"}, {"id": "b", "deep": [[[1.5, None]]]}, {"id": "c"}]


def written(root: Path, *entries: object) -> Path:
    journal = Journal(str(root), "k")
    journal.begin(False)
    for entry in entries or ENTRIES:
        journal.add(entry)
    journal.close()
    return root / ".baselinekit" / "journal" / "k.jsonl"


def kept(root: Path) -> list[object]:
    journal = Journal(str(root), "k")
    try:
        return journal.begin(True)
    finally:
        journal.close()


def test_what_was_added_is_there_again(tmp_path: Path) -> None:
    written(tmp_path)
    assert kept(tmp_path) == ENTRIES


def test_a_torn_end_is_no_part_of_it_at_whatever_byte(tmp_path: Path) -> None:
    file = written(tmp_path)
    whole = file.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        count = sum(end <= size for end in ends)
        assert kept(tmp_path) == ENTRIES[:count]
        assert file.stat().st_size == ([0, *ends][count]), "what is torn is cut off"


def test_what_follows_a_torn_line_is_written_behind_whole_ones(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_bytes(file.read_bytes()[:-3])
    journal = Journal(str(tmp_path), "k")
    journal.begin(True)
    journal.add({"id": "d"})
    journal.close()
    assert kept(tmp_path) == [*ENTRIES[:2], {"id": "d"}]


def test_a_changed_byte_ends_it(tmp_path: Path) -> None:
    file = written(tmp_path)
    data = bytearray(file.read_bytes())
    data[data.index(b'"b"') + 1] ^= 1
    file.write_bytes(data)
    assert kept(tmp_path) == ENTRIES[:1]


def test_a_run_that_begins_anew_forgets_it(tmp_path: Path) -> None:
    written(tmp_path)
    written(tmp_path, {"id": "z"})
    assert kept(tmp_path) == [{"id": "z"}]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), "k")
    with pytest.raises(CannotReplay, match="another run of the same cases"):
        Journal(str(tmp_path), "k")
    Journal(str(tmp_path), "other").close()
    first.close()
    Journal(str(tmp_path), "k").close()


def test_a_run_that_is_done_leaves_nothing(tmp_path: Path) -> None:
    file = written(tmp_path)
    journal = Journal(str(tmp_path), "k")
    journal.forget()
    assert not file.exists()
    with_new = Journal(str(tmp_path), "k")  # the name is free, though the old one is still held
    with_new.close()
    journal.close()


def test_it_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / ".baselinekit" / "journal").mkdir(parents=True)
    os.symlink(tmp_path / "elsewhere", tmp_path / ".baselinekit" / "journal" / "k.jsonl")
    with pytest.raises(NotRecorded):
        Journal(str(tmp_path), "k")
    assert not (tmp_path / "elsewhere").exists()


def test_its_name_tells_lists_apart() -> None:
    assert name_of("a", "b") == name_of("a", "b") != name_of("ab", "")


def test_journals_that_nobody_goes_on_with_do_not_pile_up(tmp_path: Path) -> None:
    held = Journal(str(tmp_path), "held")
    for number in range(30):
        Journal(str(tmp_path), f"k{number}").close()
        os.utime(tmp_path / ".baselinekit" / "journal" / f"k{number}.jsonl", (number, number))
    Journal(str(tmp_path), "last").close()
    names = {file.stem for file in (tmp_path / ".baselinekit" / "journal").iterdir()}
    assert len(names) == 20
    assert {"held", "last", "k29"} <= names
    held.close()
