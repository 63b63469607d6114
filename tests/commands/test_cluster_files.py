"""What is sent to a worker on another machine: which files, how they are sealed, and where it finds them."""

import os
import pickle
from functools import partial
from pathlib import Path

import pytest
from checkouts import EXECUTE, Checkout
from hypothesis import given, strategies as st

from baselinekit.clients.programs.git import Git
from baselinekit.commands.cluster import Sealed, judge_parcel, listed_files, pack, path_below
from baselinekit.commands.executor import Chunk, ChunkDone, Grant
from baselinekit.errors import CannotReplay

SECRET = "tok-5f3a9c1e77d04b2a"


def test_sealed_shows_no_secret_in_repr_or_pickle() -> None:
    sealed = Sealed({"token": SECRET, "text": [SECRET] * 3})
    copy = pickle.loads(pickle.dumps(sealed))
    assert copy.opened() == {"token": SECRET, "text": [SECRET] * 3}
    for shown in (repr(sealed), str(sealed), f"{[sealed]}", repr(copy), repr(sealed.__reduce__())):
        assert SECRET not in shown
    assert SECRET.encode() not in pickle.dumps(sealed)


def files_in(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sent_files(folder: Path) -> set[str]:
    git = Git(EXECUTE, str(folder))
    _, paths = pack({str(folder): listed_files(git) or [str(folder)]})
    return {os.path.relpath(path, folder) for path in paths if os.path.isfile(path)}


FILES = {
    "baselinekit.yaml": "version: 1\n",
    "baselines/one.yaml": "id: one\n",
    "build/large.bin": "x",
    ".claude/skills/helper/SKILL.md": "x",
    ".env": "TOKEN=1",
    ".baselinekit/cache/x.json": "x",
    "tools/__pycache__/x.pyc": "x",
    "tools/run.sh": "x",
}
WANTED = {"baselinekit.yaml", "baselines/one.yaml", ".claude/skills/helper/SKILL.md", "tools/run.sh"}


def test_pack_without_git_sends_all_files_except_state_and_environment(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    files_in(folder, {**FILES, "../outside.txt": "not of the project"})
    for name, target in (("out", "../outside.txt"), ("circle", "."), ("skills", ".claude/skills")):
        (folder / name).symlink_to(target)
    assert sent_files(folder) == {*WANTED, "build/large.bin", "skills/helper/SKILL.md"}


def test_pack_in_git_leaves_out_ignored_files(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "project")
    checkout.commit({"baselines/one.yaml": "id: one\n", ".gitignore": "build\n", "gone.txt": ""})
    (checkout.folder / "gone.txt").unlink()
    files_in(checkout.folder, FILES)
    (checkout.folder / "skills").symlink_to(".claude/skills")
    assert sent_files(checkout.folder) == {*WANTED, ".gitignore", "skills/helper/SKILL.md"}


class Looks:
    """A worker that tells what was laid out, and where."""

    def __init__(self, folder: str):
        self.folder = folder

    def judge(self, chunk: Chunk[str], grant: Grant, /) -> ChunkDone[str]:
        top = Path(self.folder)
        found = [path for path in top.rglob("*") if path.is_file()]
        assert {path.name for path in found if os.access(path, os.X_OK)} == {"tool"}
        assert (top / "baselines").is_dir()
        assert (top / "../shared/x.yaml").read_bytes() == b"x: 1"
        return ChunkDone((*chunk.items, f"cannot read {top}/more", Path(chunk.items[1]).read_text()))

    def cancel(self) -> None: ...

    def close(self) -> None: ...


def test_judge_parcel_lays_out_files_and_reports_paths_of_the_sender(tmp_path: Path) -> None:
    home, copy = tmp_path / "ada", tmp_path / "dask"
    for folder in (home / "project", home / "shared", copy):
        folder.mkdir(parents=True)
    (home / "project/tool").write_text("#!/bin/sh")
    (home / "project/tool").chmod(0o755)
    (home / "shared/x.yaml").write_text("x: 1")
    tool, project = str(home / "project/run.sh"), str(home / "project")
    chunk = Chunk((project, tool))
    stated = {tool: b"echo", str(home / "project/baselines"): None}
    files, paths = pack({str(home): [f"{project}/tool"], "/": [str(home / "shared/x.yaml")]}, stated)
    parcel = (partial(Looks, project), chunk, Grant(0.0))
    sealed = Sealed(parcel, lambda text: text if text in {project, *paths} else None)
    done = judge_parcel("run", sealed, Sealed(files), str(copy)).opened()
    assert done.judged == (project, tool, f"cannot read {project}/more", "echo")
    assert list(copy.iterdir()) == []


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", "/"]), max_size=8))
def test_path_below_never_leads_out_of_its_folder(parts: list[str]) -> None:
    path = path_below("/".join(parts), "/tmp/top")
    assert os.path.normpath(path) == "/tmp/top" or os.path.normpath(path).startswith("/tmp/top/")


def test_pack_refuses_more_than_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(CannotReplay, match="256,000,000 bytes"):
        pack({str(tmp_path): [str(tmp_path)]})
