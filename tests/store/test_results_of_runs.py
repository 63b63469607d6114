"""What is kept of earlier runs: bounded, in order, and never in the way; and what is checked out."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.errors import NotRecorded
from baselinekit.store.project import head_commit
from baselinekit.store.results import MOST_FILES, keep_results, load_results, result_files

T = "2024-01-20T14:00:{:02}Z"


def test_keep_results_keeps_the_order_within_a_second(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert result_files(root) == []
    for number in (3, 1, 2):
        assert keep_results(root, T.format(0), b'{"n": %d}' % number)
    keep_results(root, "2024-01-19T23:59:59Z", b'{"n": 0}')
    assert [raw["n"] for _, raw in load_results(root)] == [0, 3, 1, 2]
    assert keep_results(root, T.format(0), b'{"n": 1}')
    assert len(result_files(root)) == 4  # the same once


def test_keep_results_drops_the_oldest(tmp_path: Path) -> None:
    root = str(tmp_path)
    for number in range(MOST_FILES + 5):
        keep_results(root, f"2024-01-20T14:{number // 60:02}:{number % 60:02}Z", b"%d" % number)
    assert len(result_files(root)) == MOST_FILES
    assert next(load_results(root))[1] == 5
    assert not keep_results(root, "2020-01-01T00:00:00Z", b"{}")
    assert next(load_results(root))[1] == 5


def test_load_results_passes_over_unreadable_files(tmp_path: Path) -> None:
    root = str(tmp_path)
    keep_results(root, T.format(1), b"{")
    keep_results(root, T.format(2), b"[" * 100_000)
    keep_results(root, T.format(3), b"1")
    (tmp_path / ".baselinekit/results/notes.txt").write_text("mine")
    assert [raw for _, raw in load_results(root)] == [None, None, 1]
    assert (tmp_path / ".baselinekit/.gitignore").read_text() == "*\n"


def test_keep_results_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p").mkdir()
    (tmp_path / "p/.baselinekit").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotRecorded, match="BK120"):
        keep_results(str(tmp_path / "p"), T.format(1), b"{}")


@pytest.mark.parametrize("text", ["", "ref: a/../../secret", "ref: HEAD", "x" * 40, "ref: refs/heads/gone"])
def test_head_commit_of_a_damaged_head_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(text)
    assert head_commit(str(tmp_path)) is None


def test_head_commit_is_that_of_git(tmp_path: Path) -> None:
    repository = Checkout(tmp_path / "repository")
    (repository.folder / "deep/er").mkdir(parents=True)
    assert head_commit(str(repository.folder)) is None
    first, second = repository.commit(), repository.commit()
    assert head_commit(str(repository.folder / "deep/er")) == second
    repository.git("pack-refs", "--all")
    assert head_commit(str(repository.folder)) == second
    repository.git("worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "tree"), "HEAD~1")
    assert head_commit(str(tmp_path / "tree")) == first
