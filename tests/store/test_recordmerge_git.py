"""Git itself, with the drivers that `init --git` installs: merge, rebase, cherry-pick, diff and log."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from console import Console, console
from little_api import LittleApi
from test_recordmerge import BLOCK

pytestmark = pytest.mark.slow

FILE = "baselines/users.yaml"
STEPS = count()  # two commits of one second would otherwise be the same
OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Console]:
    with console(tmp_path / "clone") as terminal:
        shell(terminal, "git init -q -b main . && git config user.name x && git config user.email x@x.org")
        shell(terminal, "baselinekit init --git && git add -A && git commit -qm 'the beginning'")
        yield terminal


def shell(terminal: Console, command: str, code: int = 0) -> str:
    ran = terminal.run(command)
    assert ran.exit_code == code, ran
    return ran.stdout + ran.stderr


def commit(terminal: Console, text: bytes, name: str = FILE) -> None:
    path = terminal.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    shell(terminal, f"git add -A && git commit -q --allow-empty -m 'step {next(STEPS)}'")


def yaml(last: str = "null", failures: int = 0) -> bytes:
    return BLOCK.format(id="a", last=last, count=failures).encode()


def branched(terminal: Console, base: bytes, one: bytes, other: bytes) -> None:
    """`one` and `other`, both from a commit with `base`; the first is checked out."""
    commit(terminal, base)
    shell(terminal, "git checkout -q -b other")
    commit(terminal, other)
    shell(terminal, "git checkout -q -b one main")
    commit(terminal, one)


def test_git_merge_reports_a_conflict_with_the_merged_record(clone: Console) -> None:
    base = yaml()
    branched(clone, base, yaml(OLD, 1).replace(b"Ada", b"Grace"), yaml(NEW, 2).replace(b"Ada", b"Alan"))
    printed = shell(clone, "git merge other", 1)
    assert f"CONFLICT (content): Merge conflict in {FILE}" in printed
    text = (clone.folder / FILE).read_text()
    assert "<<<<<<< " in text
    assert f"last_passed: {NEW}    # the record\n  failure_count: 3\n" in text
    shell(clone, "git merge --abort")
    shell(clone, "git -c merge.conflictStyle=diff3 merge other", 1)
    assert "||||||| " in (clone.folder / FILE).read_text()


@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
def test_git_pull_keeps_both_records(clone: Console, how: str) -> None:
    """By the settings of docs/ci.md; without them git refuses, as with any edited file."""
    commit(clone, yaml())
    shell(clone, "git branch upstream")
    shell(clone, "git checkout -q upstream")
    commit(clone, yaml(OLD, 1))
    shell(clone, "git checkout -q main")
    (clone.folder / FILE).write_bytes(yaml(NEW, 2))
    refused = shell(clone, f"git pull -q {how} . upstream", 1 if how == "--no-rebase" else 128)
    assert "commit" in refused
    shell(clone, "git config merge.autoStash true && git config rebase.autoStash true")
    shell(clone, f"git pull -q {how} . upstream")
    assert (clone.folder / FILE).read_bytes() == yaml(NEW, 3)


def test_git_merge_reports_a_file_that_it_would_break(clone: Console) -> None:
    top, end = b"id: a\ncurrent: 1\n", b"x: 1\ny: 2\nz: 3\n"
    branched(clone, top + end, b"name: b\n" + top + end, top + end + b"name: c\n")
    printed = shell(clone, "git merge other", 1)
    assert "BK102" in printed
    assert "the key 'name' occurs twice" in printed


def test_git_diff_and_log_leave_out_the_record(clone: Console) -> None:
    commit(clone, yaml())
    (clone.folder / FILE).write_bytes(yaml(OLD, 4))
    assert shell(clone, "git diff") == ""
    assert "failure_count: 4" in shell(clone, "git diff --no-textconv")
    assert "M baselines/users.yaml" in shell(clone, "git status --short")
    commit(clone, yaml(OLD, 4).replace(b"Ada", b"Grace"))
    shown = shell(clone, "git log -p -1 --format=")
    assert "name: Grace" in shown
    assert "failure_count" not in shown


def test_git_worktree_and_clone_use_the_driver(clone: Console, tmp_path: Path) -> None:
    branched(clone, yaml(), yaml(OLD, 1), yaml(NEW, 2))
    shell(clone, "git worktree add -q ../tree one --force && cd ../tree && git merge -q --no-edit other")
    assert (tmp_path / "tree" / FILE).read_bytes() == yaml(NEW, 3)
    shell(clone, "git clone -q . ../second")
    printed = shell(clone, "cd ../second && baselinekit doctor")
    assert "note: BK542 .gitattributes names a merge driver that this clone does not have" in printed
    shell(clone, "cd ../second && baselinekit init --git")
    assert "BK542" not in shell(clone, "cd ../second && baselinekit doctor")
    assert "BK542" not in shell(
        clone, "git config --remove-section merge.baselinekit; CI=true baselinekit doctor"
    )


def test_init_git_of_folders_with_odd_names(clone: Console) -> None:
    (clone.folder / "baselinekit.yaml").write_text('baselines: ["a b", "x[1]*", .]\n')
    (clone.folder / ".gitattributes").write_text("*.json merge=union\n*.yaml -diff\n")
    shell(clone, "baselinekit init --git")
    for name in ("a b/c/x.yaml", "x[1]*/x.yml", "y.yml"):
        assert shell(clone, f"git check-attr merge -- '{name}'").endswith("merge: baselinekit\n")
    assert shell(clone, "git check-attr merge -- x.json").endswith("merge: union\n")


def test_refresh_at_a_tag_stores_the_version_without_the_commit(clone: Console) -> None:
    file = clone.folder / "baselines/g/users.yaml"
    with LittleApi({"/users": {"total": 3}}) as api:
        shell(clone, f"baselinekit capture {api.url}/users --id users --group g")
        shell(clone, "git add -A && git commit -qm capture && git tag v1.2")
        for total, version in ((4, "v1.2"), (5, "v1.2-1")):
            api.answers["/users"] = {"total": total}
            shell(clone, "baselinekit compare", 1)
            shell(clone, "baselinekit refresh users --yes")
            assert f"baseline_version: {version}\n" in file.read_text()
            shell(clone, "git commit -qam refresh")


def test_doctor_in_a_sparse_checkout_reports_no_orphans(clone: Console) -> None:
    sends = "id: sends\nbaseline: {output: 1}\ncurrent:\n  execution: {type: http}\n"
    sends += "  input: {method: POST, endpoint: /u, files: {f: ../../far/words.txt}}\n"
    files = {"far/words.txt": "hi\n", "baselines/g/sends.yaml": sends}
    for name, text in files.items():
        commit(clone, text.encode(), name)
    shell(clone, "git sparse-checkout set --no-cone '/*' '!/far/'")
    assert not (clone.folder / "far").exists()
    assert "source gone" not in shell(clone, "baselinekit doctor", 2)
    shell(clone, "git sparse-checkout disable && rm -r far")
    assert "sends" in shell(clone, "baselinekit doctor --fail-on-unused", 2)
