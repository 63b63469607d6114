"""The journal of a run: what is in it after any crash, and who may write it."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from baselinekit.errors import CannotReplay, NotRecorded
from baselinekit.store.journal import AnswerJournal, Journal

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


def test_journal_leaves_out_a_torn_end_at_any_byte(tmp_path: Path) -> None:
    file = written(tmp_path)
    whole = file.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole) + 1):
        file.write_bytes(whole[:size])
        count = sum(end <= size for end in ends)
        assert kept(tmp_path) == ENTRIES[:count]
        assert file.stat().st_size == ([0, *ends][count]), "what is torn is cut off"


@contextmanager
def small_files() -> Iterator[None]:
    """What a full disk looks like: a write takes a part of the line."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_journal_after_a_full_disk_keeps_later_lines(tmp_path: Path) -> None:
    """A disk that is full in the middle of a line, and has room again for the next one."""
    journal = Journal(str(tmp_path), "k")
    journal.begin(False)
    journal.add({"id": "a"})
    with small_files(), pytest.raises(NotRecorded, match="BK120"):
        journal.add({"id": "b", "text": "x" * 1_000})
    journal.add({"id": "c"})
    journal.close()
    assert kept(tmp_path) == [{"id": "a"}, {"id": "c"}]


def test_journal_is_held_by_one_run(tmp_path: Path) -> None:
    first = Journal(str(tmp_path), "k")
    with pytest.raises(CannotReplay, match="another run of the same cases"):
        Journal(str(tmp_path), "k")
    Journal(str(tmp_path), "other").close()
    first.close()
    Journal(str(tmp_path), "k").close()


def test_journal_forget_removes_its_file(tmp_path: Path) -> None:
    file = written(tmp_path)
    journal = Journal(str(tmp_path), "k")
    journal.forget()
    assert not file.exists()
    Journal(str(tmp_path), "k").close()  # the name is free, though the old one is still held
    journal.close()


def test_journal_refuses_a_link(tmp_path: Path) -> None:
    (tmp_path / ".baselinekit" / "journal").mkdir(parents=True)
    os.symlink(tmp_path / "elsewhere", tmp_path / ".baselinekit" / "journal" / "k.jsonl")
    with pytest.raises(NotRecorded):
        Journal(str(tmp_path), "k")
    assert not (tmp_path / "elsewhere").exists()


def test_journal_keeps_the_newest_twenty_files(tmp_path: Path) -> None:
    for number in range(30):
        Journal(str(tmp_path), f"k{number}").close()
        os.utime(tmp_path / ".baselinekit" / "journal" / f"k{number}.jsonl", (number, number))
    Journal(str(tmp_path), "last").close()
    names = {file.stem for file in (tmp_path / ".baselinekit" / "journal").iterdir()}
    assert len(names) == 20
    assert {"last", "k29"} <= names


# The answers of models, of which several runs of the same things may keep theirs at once.


def answers(root: Path, go_on: bool, *names: str) -> AnswerJournal:
    journal = AnswerJournal(str(root), "k", go_on)
    for name in names:
        journal.keep("m", name, {"said": name})
    return journal


def test_answer_journal_finds_answers_of_earlier_runs(tmp_path: Path) -> None:
    answers(tmp_path, False, "a", "b").close()
    second = answers(tmp_path, True, "c")
    assert second.find("m", "a") == {"said": "a"}
    assert second.find("m", "d") is second.find("n", "a") is None
    second.close()
    third = answers(tmp_path, True)
    assert [third.find("m", name) for name in "abc"] == [{"said": name} for name in "abc"]
    third.forget()
    third.close()
    assert not any((tmp_path / ".baselinekit" / "journal").iterdir())


def test_answer_journal_goes_on_after_an_answer_without_room(tmp_path: Path) -> None:
    first = answers(tmp_path, False)
    with small_files(), pytest.raises(NotRecorded):
        first.keep("m", "a", {"said": "x" * 1_000})
    first.keep("m", "b", {"said": "b"})
    first.close()
    again = answers(tmp_path, True)
    assert (again.find("m", "a"), again.find("m", "b")) == (None, {"said": "b"})
    again.close()
