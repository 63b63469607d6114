"""A run that is about some of many baselines finds what a run finds that reads every file, and reads few."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from desk import Desk

from baselinekit.model.results import Shard
from baselinekit.store.index import FileIndex
from baselinekit.workflow.chunks import ChunkWorker, JudgePolicy, ReadFiles
from baselinekit.workflow.loading import find_files
from baselinekit.workflow.narrowing import read_selected
from baselinekit.workflow.project import CaptureEnvironment
from baselinekit.workflow.selection import Selection, Test, select

NAMES = "abcdefgh"
ALL_OLD = -(10**18)
"""So that files which a test has just written are known by their times."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for name in NAMES:
        desk.put(name, "status: 200\nbody: {n: 1}\n")
    reading(desk, Selection(ids=["a"]))
    return desk


def reading(desk: Desk, selection: Selection, with_index: bool = True) -> tuple[ReadFiles, list[str]]:
    """What is found, and the files that were read for it."""
    context, project = desk.context(), desk.project
    worker = ChunkWorker(CaptureEnvironment(project, context.clients), JudgePolicy(), context)
    read: list[str] = []

    def reads(files: Sequence[str], wanted: Test | None) -> ReadFiles:
        read.extend(files)
        return worker.read(files, wanted)

    index = FileIndex(project.root, ALL_OLD) if with_index else FileIndex(str(Path(project.root) / "nowhere"))
    found = read_selected(index, find_files(project, ()), True, selection, reads)
    return found, [Path(file).stem for file in read]


SELECTIONS = [
    (Selection(ids=["c"]), ["c"]),
    (Selection(ids=["[ce]", "h"]), ["c", "e", "h"]),
    (Selection(expression="not (a or b or c or d or e or f)"), ["g", "h"]),
    (Selection(among=frozenset("bx")), ["b"]),
    (Selection(ids=["nobody"]), []),
]


@pytest.mark.parametrize(("selection", "needed"), SELECTIONS)
def test_only_what_is_selected_is_read(desk: Desk, selection: Selection, needed: list[str]) -> None:
    found, read = reading(desk, selection)
    assert read == needed
    assert len(found.entries) + found.others == len(NAMES)
    assert [one.id for one in found.entries] == (needed or [*NAMES])


def test_a_shard_knows_of_what_it_is_a_part(desk: Desk) -> None:
    every, _ = reading(desk, Selection(shard=Shard(1, 1)), with_index=False)
    parts = [reading(desk, Selection(shard=Shard(number, 3))) for number in (1, 2, 3)]
    assert sorted(file for _, read in parts for file in read) == [*NAMES]
    for found, _ in parts:
        assert [(one.id, one.content) for one in found.entries] == [
            (one.id, one.content) for one in every.entries
        ]


def text_of(desk: Desk, name: str) -> Path:
    return desk.folder / f"baselines/{name}.yaml"


def renamed(desk: Desk) -> None:
    path = text_of(desk, "f")
    path.write_text(path.read_text().replace("id: f", "id: c2"))


def added(desk: Desk) -> None:
    desk.put("c3", "status: 200\nbody: {n: 1}\n")


def removed(desk: Desk) -> None:
    text_of(desk, "d").unlink()


def broken(desk: Desk) -> None:
    text_of(desk, "d").write_text("id: [\n")


def doubled(desk: Desk) -> None:
    path = text_of(desk, "f")
    path.write_text(path.read_text().replace("id: f", "id: A"))


@pytest.mark.parametrize("change", [renamed, added, removed, broken, doubled])
def test_what_changed_is_found_as_if_all_were_read(desk: Desk, change: Callable[[Desk], None]) -> None:
    change(desk)
    selection = Selection(ids=["c*"])
    for _ in range(2):  # by the index as it was, and as it is then
        found, read = reading(desk, selection)
        every, _ = reading(desk, selection, with_index=False)
        assert [str(one) for one in found.problems] == [str(one) for one in every.problems]
        selected, of_every = select(found.entries, selection), select(every.entries, selection)
        assert [(one.id, one.content) for one in selected] == [(one.id, one.content) for one in of_every]
        assert len(found.entries) + found.others == len(every.entries)
        assert len(read) < len(NAMES) or change is doubled


def test_an_index_that_says_what_is_not_so_is_not_believed(desk: Desk) -> None:
    """The file has the very times and the size that the index knows, and says something else."""
    kept = desk.folder / ".baselinekit/index.json"
    kept.write_text(kept.read_text().replace('"c"', '"cc"'))
    found, read = reading(desk, Selection(ids=["cc"]))
    assert sorted(read) == [*NAMES]
    assert [one.id for one in found.entries] == [*NAMES]
