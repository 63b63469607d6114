"""What is sent to a worker on another machine: which files, how they are sealed, and where it finds them."""

import os
import pickle
import stat
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from manycases import project_of_cases

from baselinekit.commands.executor import Chunk, ChunkDone, Grant
from baselinekit.commands.loading import load
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.commands.shipping import (
    Parcel,
    Sealed,
    SenderPath,
    UsedFiles,
    judge_parcel,
    path_below,
    read_files,
)
from baselinekit.errors import CannotReplay
from baselinekit.evals.selection import load as load_suite
from baselinekit.evals.shipping import files_of_case

SECRET = "tok-5f3a9c1e77d04b2a"


def test_nothing_shows_what_is_sealed() -> None:
    sealed = Sealed.of({"token": SECRET, "text": [SECRET] * 3})
    there = pickle.loads(pickle.dumps(sealed))
    assert there.opened() == {"token": SECRET, "text": [SECRET] * 3}
    for shown in (repr(sealed), str(sealed), f"{[sealed]}", repr(there), repr(sealed.__reduce__())):
        assert SECRET not in shown
    assert SECRET.encode() not in pickle.dumps(sealed)


@given(st.text(min_size=8, max_size=200).filter(lambda text: len(text.encode("utf-8", "replace")) >= 8))
def test_no_text_stands_in_what_carries_it(text: str) -> None:
    plain = text.encode("utf-8", "surrogatepass")
    assert plain not in pickle.dumps(Sealed.of({"token": text, "other": f"Bearer {text}"}))


def project_in(folder: Path, files: dict[str, str], config: str = "version: 1\n") -> Project:
    for name, text in {"baselinekit.yaml": config, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return open_project(Operator(str(folder)))


def names_used(project: Project) -> list[str]:
    (baseline,) = load(project, ())
    used = UsedFiles(project)
    used.add_baseline(baseline)
    return sorted(os.path.relpath(path, project.root) for path in used.paths)


BASELINE = "id: one\nbaseline: {output: {status: 200}}\ncurrent: %s\n"
COMMAND = "{input: {argv: [mytool, %s]}, execution: {type: command}}"
CONFIG = "version: 1\ncommands: {mytool: [sh, tools/run.sh]}\n"


@pytest.mark.parametrize(
    ("recipe", "config", "files", "wanted"),
    [
        ("{input: {endpoint: /users}, execution: {type: http}}", "version: 1\n", {"users": "no"}, []),
        (
            "{input: {endpoint: /x, method: POST, body: {file: data/body.bin}}, execution: {type: http}}",
            "version: 1\n",
            {"baselines/data/body.bin": "x", "baselines/data/other.bin": "y"},
            ["baselines/data/body.bin"],
        ),
        (
            COMMAND % "list.txt",
            CONFIG,
            {"tools/run.sh": "", "baselines/list.txt": ""},
            ["baselines/list.txt", "tools/run.sh"],
        ),
        (COMMAND % "--config=list.txt", CONFIG, {"baselines/list.txt": ""}, ["baselines/list.txt"]),
        (COMMAND % "../../outside.txt", CONFIG, {}, []),
        (COMMAND % "../.git/config", CONFIG, {".git/config": "secret"}, []),
        (COMMAND % "link.txt", CONFIG, {}, []),
    ],
)
def test_the_files_that_a_baseline_uses_and_no_others(
    tmp_path: Path, recipe: str, config: str, files: dict[str, str], wanted: list[str]
) -> None:
    folder = tmp_path / "project"
    (tmp_path / "outside.txt").write_text("not of the project")
    project = project_in(folder, {"baselines/one.yaml": BASELINE % recipe, **files}, config)
    (folder / "baselines/link.txt").symlink_to(tmp_path / "outside.txt")
    assert names_used(project) == sorted(["baselines/one.yaml", *wanted])


def test_all_of_the_folder_of_a_skill_is_used_but_what_a_run_keeps(tmp_path: Path) -> None:
    recipe = "{input: {text: hello}, execution: {type: skill, skill_name: helper}}"
    config = "version: 1\nskills: {helper: {folder: skills/helper}}\nmodels: {default: {openai: m}}\n"
    project = project_in(
        tmp_path,
        {
            "baselines/one.yaml": BASELINE % recipe,
            "skills/helper/SKILL.md": "---\nname: helper\n---\n",
            "skills/helper/more/list.txt": "x",
            "skills/helper/__pycache__/x.pyc": "x",
            "skills/helper/.git/config": "x",
            "skills/other/SKILL.md": "x",
        },
        config,
    )
    assert names_used(project) == [
        "baselines/one.yaml",
        "skills/helper/SKILL.md",
        "skills/helper/more/list.txt",
    ]


class Looks:
    """A worker that tells what was laid out, and where."""

    def __init__(self, folder: str):
        self.folder = folder

    def judge(self, chunk: Chunk[str], grant: Grant, /) -> ChunkDone[str]:
        top = Path(self.folder)
        found = [path for path in top.rglob("*") if path.is_file()]
        assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in found)
        assert {path.name for path in found if os.access(path, os.X_OK)} == {"tool"}
        assert (top / "baselines").is_dir()
        assert (top / "../shared/x.yaml").read_bytes() == b"x: 1"
        return ChunkDone((*chunk.items, f"cannot read {top}/more", Path(chunk.items[1]).read_text()))

    def cancel(self) -> None: ...

    def close(self) -> None: ...


def test_a_worker_finds_private_files_where_they_were_and_tells_the_paths_of_the_sender(
    tmp_path: Path,
) -> None:
    home, there = tmp_path / "ada", tmp_path / "dask"
    for folder in (home / "project", home / "shared", there):
        folder.mkdir(parents=True)
    (home / "project/tool").write_text("#!/bin/sh")
    (home / "project/tool").chmod(0o755)
    (home / "shared/x.yaml").write_text("x: 1")
    used = UsedFiles(open_project(Operator(str(home / "project"))), str(home))
    used.add("tool")
    used.add("../shared/x.yaml")
    used.stated[str(home / "project/run.sh")] = b"echo"
    tool, project = str(home / "project/run.sh"), str(home / "project")
    chunk = Chunk((project, tool))
    folders = [SenderPath(home / "project/baselines")]
    parcel = Parcel(partial(Looks, SenderPath(project)), chunk, Grant(0.0), read_files([used], ()), folders)
    done = judge_parcel("run", parcel.sealed(), str(there)).opened()
    assert done.judged == (project, tool, f"cannot read {project}/more", "echo")
    assert list(there.iterdir()) == []


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", "/"]), max_size=8))
def test_no_path_leads_out_of_where_it_is_laid_out(parts: list[str]) -> None:
    path = path_below("/".join(parts), "/tmp/top")
    assert os.path.normpath(path) == "/tmp/top" or os.path.normpath(path).startswith("/tmp/top/")


def test_a_file_that_is_gone_is_left_out_and_a_stated_one_goes_as_stated(tmp_path: Path) -> None:
    used = UsedFiles(project_in(tmp_path, {"there": "now", "stated": "now"}))
    for name in ("there", "stated", "there"):
        used.add(name)
    used.paths[str(tmp_path / "gone")] = None
    used.stated[str(tmp_path / "stated")] = b"then"
    files = {file.path: file.data for file in read_files([used, used], ())}
    assert files == {str(tmp_path / "there"): b"now", str(tmp_path / "stated"): b"then"}


def test_more_than_can_be_sent_is_refused(tmp_path: Path) -> None:
    used = UsedFiles(project_in(tmp_path, {"large": ""}))
    with (tmp_path / "large").open("r+b") as file:
        file.truncate(300_000_000)
    used.add("large")
    with pytest.raises(CannotReplay, match="256,000,000 bytes"):
        read_files([used], ())


def test_the_files_that_cases_name_are_sent_and_no_others(tmp_path: Path) -> None:
    folder = project_of_cases(tmp_path / "project")
    (folder / "evals/other.txt").write_text("no case names it")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("not to be sent")
    project = open_project(Operator(str(folder)))
    cases = load_suite(project, ["evals", "prompts/one"], None).cases
    used = {path for case in cases for path in files_of_case(case, project, b"").paths}
    files = {str(path) for path in folder.rglob("*") if path.is_file()}
    not_sent = {os.path.relpath(path, folder) for path in files - used}
    assert not_sent == {"baselinekit.yaml", "evals/other.txt", ".git/config"}
    (known,) = load_suite(project, ["evals/known.yaml"], None).cases
    assert sorted(os.path.relpath(path, folder) for path in files_of_case(known, project, b"").paths) == [
        "evals/known.output.json",
        "evals/known.yaml",
        "models.py",
    ]
