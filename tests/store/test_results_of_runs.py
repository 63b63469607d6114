"""What is kept of earlier runs: bounded, in order, and never in the way; and what is checked out."""

import os
import subprocess
from pathlib import Path

import pytest

from baselinekit.errors import NotRecorded
from baselinekit.store.project import head_commit
from baselinekit.store.results import MOST_FILES, keep_results, load_results, result_files

T = "2024-01-20T14:00:{:02}Z"


def test_runs_are_kept_in_their_order_also_within_a_second(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert result_files(root) == []
    for number in (3, 1, 2):
        assert keep_results(root, T.format(0), b'{"n": %d}' % number)
    keep_results(root, "2024-01-19T23:59:59Z", b'{"n": 0}')
    assert [raw["n"] for _, raw in load_results(root)] == [0, 3, 1, 2]
    assert keep_results(root, T.format(0), b'{"n": 1}')
    assert len(result_files(root)) == 4  # the same once


def test_the_oldest_go_and_what_is_older_than_all_is_not_kept(tmp_path: Path) -> None:
    root = str(tmp_path)
    for number in range(MOST_FILES + 5):
        keep_results(root, f"2024-01-20T14:{number // 60:02}:{number % 60:02}Z", b"%d" % number)
    assert len(result_files(root)) == MOST_FILES
    assert next(load_results(root))[1] == 5
    assert not keep_results(root, "2020-01-01T00:00:00Z", b"{}")
    assert next(load_results(root))[1] == 5


def test_what_cannot_be_read_is_passed_over_and_named(tmp_path: Path) -> None:
    root = str(tmp_path)
    keep_results(root, T.format(1), b"{")
    keep_results(root, T.format(2), b"[" * 100_000)
    keep_results(root, T.format(3), b"1")
    (tmp_path / ".baselinekit/results/notes.txt").write_text("mine")
    assert [raw for _, raw in load_results(root)] == [None, None, 1]
    assert (tmp_path / ".baselinekit/.gitignore").read_text() == "*\n"


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p").mkdir()
    (tmp_path / "p/.baselinekit").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotRecorded, match="BK120"):
        keep_results(str(tmp_path / "p"), T.format(1), b"{}")


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    ran = subprocess.run(
        ["git", *who, *words],
        cwd=folder,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_the_commit_is_what_git_says(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (repo / "deep/er").mkdir(parents=True)
    git(repo, "init", "-q", "-b", "main")
    assert head_commit(str(repo)) is None
    git(repo, "commit", "-q", "--allow-empty", "-m", "one")
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    assert head_commit(str(repo / "deep/er")) == git(repo, "rev-parse", "HEAD")
    git(repo, "pack-refs", "--all")
    assert head_commit(str(repo)) == git(repo, "rev-parse", "HEAD")
    git(repo, "worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "tree"), "HEAD~1")
    assert head_commit(str(tmp_path / "tree")) == git(repo, "rev-parse", "HEAD~1")
    git(repo, "checkout", "-q", "--detach", "HEAD~1")
    assert head_commit(str(repo)) == git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize("text", ["", "ref: a/../../secret", "ref: HEAD", "x" * 40, "ref: refs/heads/gone"])
def test_a_head_that_is_none_is_no_commit(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text(text)
    assert head_commit(str(tmp_path)) is None
