"""The worker of a run: what it holds until its turn, and what it reads again then, judge alike."""

from pathlib import Path

import pytest
from desk import Desk

from baselinekit.commands.judging import Checker, ComparePolicy, ReadFiles
from baselinekit.commands.loading import find_files
from baselinekit.commands.project import CaptureEnvironment
from baselinekit.commands.selection import Selection


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Four files; one of them holds two baselines."""
    desk = Desk(tmp_path)
    for name in "abc":
        desk.put(name, "status: 200\nbody: {n: 1}\n")
    texts = [desk.put(name, "status: 200\nbody: {n: 1}\n").read_text() for name in "de"]
    (desk.folder / "baselines/e.yaml").unlink()
    (desk.folder / "baselines/d.yaml").write_text("---\n".join(texts))
    for number, name in enumerate("abcde"):
        desk.says(name, {"n": 1 + number % 2})
    return desk


def reading(desk: Desk) -> tuple[Checker, ReadFiles]:
    """Return a worker that holds what it has read."""
    worker, project = new_worker(desk), desk.project
    return worker, worker.read([*find_files(project, ()).files], Selection())


def new_worker(desk: Desk) -> Checker:
    context, project = desk.context(), desk.project
    return Checker(CaptureEnvironment(project, context.clients), ComparePolicy(), context)


@pytest.mark.parametrize("is_held", [True, False])
def test_checker_judges_held_files_and_files_read_again_alike(desk: Desk, is_held: bool) -> None:
    worker, read = reading(desk)
    worker = worker if is_held else new_worker(desk)
    assert [entry.id for entry in read.entries] == list("abcde")
    assert read.unready == {}
    for number in (3, 0, 4, 1, 2):
        judged = worker.judge(read.entries[number])
        outcome = "failed" if number in (1, 3) else "passed"
        assert (judged.result.id, judged.result.outcome) == ("abcde"[number], outcome)
        assert (judged.pending is not None) == (outcome == "failed")


def test_checker_reads_an_output_file_with_its_baseline(desk: Desk) -> None:
    file = desk.folder / "baselines/b.yaml"
    before, _, behind = file.read_text().partition("  output:")
    rest = behind[behind.index("current:") :]
    file.write_text(f"{before}  output_file: b.output.json\n{rest}")
    (desk.folder / "baselines/b.output.json").write_text('{"status": 200, "body": {"n": 2}}')
    _, read = reading(desk)
    worker = new_worker(desk)
    assert read.unready == {}
    assert [worker.judge(entry).result.outcome for entry in read.entries][:3] == ["passed"] * 3


@pytest.mark.parametrize("now", [None, "no: baseline\n", "id: other\ncurrent: {input: {endpoint: /x}}\n"])
def test_checker_reports_a_file_that_changed_before_its_turn_as_error(desk: Desk, now: str | None) -> None:
    _, read = reading(desk)
    worker = new_worker(desk)
    file = desk.folder / "baselines/a.yaml"
    file.unlink() if now is None else file.write_text(now)
    results = [worker.judge(entry).result for entry in read.entries]
    assert [result.outcome for result in results] == ["error", "failed", "passed", "failed", "passed"]
    assert results[0].code == "BK111"
    assert "compare again" in (results[0].reason or "")


def test_content_digest_leaves_out_the_record(desk: Desk) -> None:
    def contents() -> dict[str, str]:
        return {entry.id: entry.content for entry in reading(desk)[1].entries}

    before, file = contents(), desk.folder / "baselines/a.yaml"
    file.write_text(file.read_text().replace("failure_count: 3", "failure_count: 4"))
    assert contents() == before
    file.write_text(file.read_text().replace("n: 1", "n: 5"))
    assert {id for id, content in contents().items() if content != before[id]} == {"a"}
