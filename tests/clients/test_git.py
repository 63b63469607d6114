"""Git as the project asks it: no program of the checkout is run, and names may be anything."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.clients.programs.git import Git
from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import ProcessResult


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


@pytest.mark.slow
def test_git_reads_names_of_any_bytes(checkout: Checkout) -> None:
    names = ["a b", "new\nline", "tab\tand\\", '"quoted"', "é", "-x", ":(glob)*", "per%cent", "\udcff", "*"]
    for name in names:
        (checkout.folder / name).write_text(name.encode("utf-8", "replace").decode())
    start = checkout.commit()
    git = checkout.asked()
    tree = git.tree(start)
    assert sorted(tree) == sorted(names)
    assert git.contents(tree)["new\nline"] == b"new\nline"
    assert git.changed_since(start) == set()
    for name in names:
        (checkout.folder / name).write_text("other")
    (checkout.folder / "un\ntracked").write_text("1")
    assert git.changed_since(start) == {*names, "un\ntracked"}


def test_changed_since_lists_staged_edited_deleted_and_new_files(checkout: Checkout) -> None:
    start = checkout.commit(
        dict.fromkeys(("staged", "edited", "gone", "same", "back"), "1") | {".gitignore": "ign*"}
    )
    checkout.write(dict.fromkeys(("staged", "edited", "new", "ignored", "back"), "2"))
    checkout.git("add", "staged", "back")
    checkout.write({"back": "1"})
    (checkout.folder / "gone").unlink()
    (checkout.folder / "same").touch()
    assert checkout.asked().changed_since(start) == {"staged", "edited", "gone", "new"}


def test_changed_since_lists_changed_link(checkout: Checkout) -> None:
    checkout.write({"target": "1", "file": "1"})
    (checkout.folder / "link").symlink_to("target")
    start = checkout.commit()
    assert checkout.asked().tree(start)["link"].is_link
    (checkout.folder / "link").unlink()
    (checkout.folder / "link").symlink_to("file")
    assert checkout.asked().changed_since(start) == {"link"}


def test_f45_git_runs_no_program_of_the_checkout(checkout: Checkout) -> None:
    start = checkout.commit({"a.yaml": "1", ".gitattributes": "* filter=evil diff=evil merge=evil\n"})
    noted = checkout.folder.parent / "noted"
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
    ):
        checkout.git("config", key, f"touch {noted}; cat")
    hooks = checkout.folder / ".git/hooks"
    for name in ("post-index-change", "pre-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {noted}\n")
        (hooks / name).chmod(0o755)
    checkout.write({"a.yaml": "2", "b.yaml": "1"})
    git = checkout.asked()
    assert git.changed_since(git.commit("HEAD", "--base")) == {"a.yaml", "b.yaml"}
    assert git.contents(git.tree(start))["a.yaml"] == b"1"
    assert git.fork(start) == start
    assert not noted.exists()


def test_f45_git_partial_clone_asks_no_remote(checkout: Checkout) -> None:
    """The clone's configuration decides how a remote is asked, and may name any program."""
    start = checkout.commit({"a.yaml": "1"})
    checkout.commit({"a.yaml": "2"})
    checkout.git("config", "uploadpack.allowFilter", "true")
    part, noted = Checkout(checkout.folder.parent / "part"), checkout.folder.parent / "noted"
    part.git("remote", "add", "origin", checkout.folder.as_uri())
    part.git("fetch", "-q", "--filter=blob:none", "origin", "main")
    part.git("checkout", "-q", "-b", "work", "FETCH_HEAD")
    part.git("config", "protocol.ext.allow", "always")
    part.git("config", "remote.origin.url", f"ext::sh -c touch% {noted}")
    part.write({"a.yaml": "3"})
    assert part.asked().changed_since(start) == {"a.yaml"}
    assert not noted.exists()
    with pytest.raises(InvalidInput, match="BK542"):
        part.asked().contents(part.asked().tree(start))
    assert not noted.exists()


def test_changed_since_writes_nothing_into_repository(checkout: Checkout) -> None:
    start = checkout.commit({"a": "1"})
    (checkout.folder / "a").touch()
    before = {path: path.read_bytes() for path in (checkout.folder / ".git").rglob("*") if path.is_file()}
    checkout.asked().changed_since(start)
    assert {
        path: path.read_bytes() for path in (checkout.folder / ".git").rglob("*") if path.is_file()
    } == before


def test_tree_of_unknown_commit_quotes_git(checkout: Checkout) -> None:
    checkout.commit({"a": "1"})
    with pytest.raises(InvalidInput, match="BK542 git ls-tree: Not a valid object name nothing"):
        checkout.asked().tree("nothing")


def test_ask_checkout_of_another_user_names_dubious_ownership(tmp_path: Path) -> None:
    stderr = (
        b"fatal: detected dubious ownership in repository at '/x'\nTo add an exception, call:\n\n\tgit config"
    )
    refused = ProcessResult(128, b"", stderr, 0.0)
    with pytest.raises(InvalidInput, match=r"BK542 git refuses .*: dubious ownership.*safe\.directory"):
        Git(lambda run: refused, str(tmp_path)).ask("rev-parse", "--git-dir")
