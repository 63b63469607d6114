"""Git itself, with the drivers that `init --git` installs: merge, rebase, cherry-pick, diff and log."""

import shlex
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from console import Console, console
from test_recordmerge import BLOCK

pytestmark = pytest.mark.slow

FILE = "baselines/users.yaml"
STEPS = count()  # two commits of one second would otherwise be the same
OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "clone") as terminal:
        asked(terminal, "git init -q -b main . && git config user.name x && git config user.email x@x.org")
        asked(terminal, "baselinekit init --git && git add -A && git commit -qm 'the beginning'")
        yield terminal


def asked(terminal: Console, command: str, code: int = 0) -> str:
    ran = terminal.run(command)
    assert ran.exit_code == code, ran
    return ran.stdout + ran.stderr


def commit(terminal: Console, text: bytes, name: str = FILE) -> None:
    path = terminal.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    asked(terminal, f"git add -A && git commit -q --allow-empty -m 'step {next(STEPS)}'")


def yaml(last: str = "null", failures: int = 0) -> bytes:
    return BLOCK.format(id="a", last=last, count=failures).encode()


def branched(terminal: Console, base: bytes, one: bytes, other: bytes) -> None:
    """`one` and `other`, both from a commit with `base`; the first is checked out."""
    commit(terminal, base)
    asked(terminal, "git checkout -q -b other")
    commit(terminal, other)
    asked(terminal, "git checkout -q -b one main")
    commit(terminal, one)


def test_a_real_conflict_is_told_as_ever(clone: Console) -> None:
    base = yaml()
    branched(clone, base, yaml(OLD, 1).replace(b"Ada", b"Grace"), yaml(NEW, 2).replace(b"Ada", b"Alan"))
    said = asked(clone, "git merge other", 1)
    assert f"CONFLICT (content): Merge conflict in {FILE}" in said
    text = (clone.folder / FILE).read_text()
    assert "<<<<<<< " in text
    assert f"last_passed: {NEW}    # the record\n  failure_count: 3\n" in text
    asked(clone, "git merge --abort")
    asked(clone, "git -c merge.conflictStyle=diff3 merge other", 1)
    assert "||||||| " in (clone.folder / FILE).read_text()


@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
def test_pull_of_a_tree_that_was_only_recorded_keeps_both_records(clone: Console, how: str) -> None:
    """By the settings of docs/ci.md; without them git refuses, as with any edited file."""
    commit(clone, yaml())
    asked(clone, "git branch upstream")
    asked(clone, "git checkout -q upstream")
    commit(clone, yaml(OLD, 1))
    asked(clone, "git checkout -q main")
    (clone.folder / FILE).write_bytes(yaml(NEW, 2))
    refused = asked(clone, f"git pull -q {how} . upstream", 1 if how == "--no-rebase" else 128)
    assert "commit" in refused
    asked(clone, "git config merge.autoStash true && git config rebase.autoStash true")
    asked(clone, f"git pull -q {how} . upstream")
    assert (clone.folder / FILE).read_bytes() == yaml(NEW, 3)


def test_two_changes_that_go_together_and_make_no_file_are_told(clone: Console) -> None:
    top, end = b"id: a\ncurrent: 1\n", b"x: 1\ny: 2\nz: 3\n"
    branched(clone, top + end, b"name: b\n" + top + end, top + end + b"name: c\n")
    said = asked(clone, "git merge other", 1)
    assert "BK102" in said
    assert "the key 'name' occurs twice" in said


def test_diffs_and_logs_leave_the_record_out(clone: Console) -> None:
    commit(clone, yaml())
    (clone.folder / FILE).write_bytes(yaml(OLD, 4))
    assert asked(clone, "git diff") == ""
    assert "failure_count: 4" in asked(clone, "git diff --no-textconv")
    assert "M baselines/users.yaml" in asked(clone, "git status --short")
    commit(clone, yaml(OLD, 4).replace(b"Ada", b"Grace"))
    shown = asked(clone, "git log -p -1 --format=")
    assert "name: Grace" in shown
    assert "failure_count" not in shown


def test_without_the_tool_git_merges_texts_and_diffs_as_ever(clone: Console) -> None:
    branched(clone, yaml(), yaml(OLD, 1).replace(b"Ada", b"Grace"), yaml(NEW, 2))
    for key in ("merge.baselinekit.driver", "diff.baselinekit.textconv"):
        stated = asked(clone, f"git config {key}").strip().replace("/baselinekit", "/gone")
        asked(clone, f"git config {key} {shlex.quote(stated)}")
    said = asked(clone, "git merge other", 1)
    assert "CONFLICT" in said
    assert "<<<<<<< " in (clone.folder / FILE).read_text()
    assert "not found" not in asked(clone, "git diff HEAD~1 HEAD")


def test_a_further_worktree_and_a_further_clone(clone: Console, tmp_path: Path) -> None:
    branched(clone, yaml(), yaml(OLD, 1), yaml(NEW, 2))
    asked(clone, "git worktree add -q ../tree one --force && cd ../tree && git merge -q --no-edit other")
    assert (tmp_path / "tree" / FILE).read_bytes() == yaml(NEW, 3)
    asked(clone, "git clone -q . ../second")
    said = asked(clone, "cd ../second && baselinekit doctor")
    assert "note: BK543 .gitattributes names a merge driver that this clone does not have" in said
    asked(clone, "cd ../second && baselinekit init --git")
    assert "BK543" not in asked(clone, "cd ../second && baselinekit doctor")
    assert "BK543" not in asked(
        clone, "git config --remove-section merge.baselinekit; CI=true baselinekit doctor"
    )


def test_folders_with_odd_names_and_rules_of_ones_own(clone: Console) -> None:
    (clone.folder / "baselinekit.yaml").write_text('baselines: ["a b", "x[1]*", .]\n')
    (clone.folder / ".gitattributes").write_text("*.json merge=union\n*.yaml -diff\n")
    said = asked(clone, "baselinekit init --git")
    assert "note: a line of your own in .gitattributes says diff=unset and takes precedence" in said
    for name in ("a b/c/x.yaml", "x[1]*/x.yml", "y.yml"):
        assert asked(clone, f"git check-attr merge -- '{name}'").endswith("merge: baselinekit\n")
    assert asked(clone, "git check-attr merge -- x.json").endswith("merge: union\n")
