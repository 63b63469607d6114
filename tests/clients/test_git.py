"""Git as the project asks it: no program of the checkout is run, and names may be anything."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.clients.programs.git import Git
from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import ProcessResult


@pytest.fixture
def here(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "checkout")


@pytest.mark.slow
def test_names_of_any_bytes(here: Checkout) -> None:
    names = ["a b", "new\nline", "tab\tand\\", '"quoted"', "é", "-x", ":(glob)*", "per%cent", "\udcff", "*"]
    for name in names:
        (here.folder / name).write_text(name.encode("utf-8", "replace").decode())
    start = here.commit()
    git = here.asked()
    tree = git.tree(start)
    assert sorted(tree) == sorted(names)
    assert git.contents(tree)["new\nline"] == b"new\nline"
    assert git.changed_since(start) == set()
    for name in names:
        (here.folder / name).write_text("other")
    (here.folder / "un\ntracked").write_text("1")
    assert git.changed_since(start) == {*names, "un\ntracked"}


def test_what_is_staged_edited_gone_new_and_ignored(here: Checkout) -> None:
    start = here.commit(
        dict.fromkeys(("staged", "edited", "gone", "same", "back"), "1") | {".gitignore": "ign*"}
    )
    here.write(dict.fromkeys(("staged", "edited", "new", "ignored", "back"), "2"))
    here.git("add", "staged", "back")
    here.write({"back": "1"})
    (here.folder / "gone").unlink()
    (here.folder / "same").touch()
    assert here.asked().changed_since(start) == {"staged", "edited", "gone", "new"}


def test_links_and_modes(here: Checkout) -> None:
    here.write({"target": "1", "file": "1"})
    (here.folder / "link").symlink_to("target")
    start = here.commit()
    assert here.asked().tree(start)["link"].is_link
    (here.folder / "link").unlink()
    (here.folder / "link").symlink_to("file")
    assert here.asked().changed_since(start) == {"link"}


def test_f45_nothing_that_the_checkout_or_its_configuration_names_is_run(here: Checkout) -> None:
    start = here.commit({"a.yaml": "1", ".gitattributes": "* filter=evil diff=evil merge=evil\n"})
    noted = here.folder.parent / "noted"
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
    ):
        here.git("config", key, f"touch {noted}; cat")
    hooks = here.folder / ".git/hooks"
    for name in ("post-index-change", "pre-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {noted}\n")
        (hooks / name).chmod(0o755)
    here.write({"a.yaml": "2", "b.yaml": "1"})
    git = here.asked()
    assert git.changed_since(git.commit("HEAD", "--base")) == {"a.yaml", "b.yaml"}
    assert git.contents(git.tree(start))["a.yaml"] == b"1"
    assert git.fork(start) == start
    assert not noted.exists()


def test_f45_no_remote_is_asked_for_what_a_partial_clone_lacks(here: Checkout) -> None:
    """The clone's configuration decides how a remote is asked, and may name any program."""
    start = here.commit({"a.yaml": "1"})
    here.commit({"a.yaml": "2"})
    here.git("config", "uploadpack.allowFilter", "true")
    part, noted = Checkout(here.folder.parent / "part"), here.folder.parent / "noted"
    part.git("remote", "add", "origin", here.folder.as_uri())
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


def test_nothing_is_written_into_the_repository(here: Checkout) -> None:
    start = here.commit({"a": "1"})
    (here.folder / "a").touch()
    before = {path: path.read_bytes() for path in (here.folder / ".git").rglob("*") if path.is_file()}
    here.asked().changed_since(start)
    assert {path: path.read_bytes() for path in (here.folder / ".git").rglob("*") if path.is_file()} == before


def test_git_s_own_words_where_it_cannot(here: Checkout) -> None:
    here.commit({"a": "1"})
    with pytest.raises(InvalidInput, match="BK542 git ls-tree: Not a valid object name nothing"):
        here.asked().tree("nothing")


def test_ask_in_a_checkout_of_another_user_names_the_dubious_ownership(tmp_path: Path) -> None:
    stderr = (
        b"fatal: detected dubious ownership in repository at '/x'\nTo add an exception, call:\n\n\tgit config"
    )
    refused = ProcessResult(128, b"", stderr, 0.0)
    with pytest.raises(InvalidInput, match=r"BK542 git refuses .*: dubious ownership.*safe\.directory"):
        Git(lambda run: refused, str(tmp_path)).ask("rev-parse", "--git-dir")
