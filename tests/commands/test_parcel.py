"""What is sent to a worker on another machine: which files, how they are sealed and laid out there."""

import os
import pickle
import stat
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.loading import load
from baselinekit.commands.parcel import (
    SealedValue,
    SentFile,
    lay_out,
    names_used,
    path_below,
    read_files,
    with_caller_paths,
)
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import CannotReplay
from baselinekit.model.baselines import Difference
from baselinekit.model.results import ReportedDifference, Result

SECRET = "tok-5f3a9c1e77d04b2a"


def test_nothing_shows_what_is_sealed() -> None:
    sealed = SealedValue.of({"token": SECRET, "text": [SECRET] * 3})
    there = pickle.loads(pickle.dumps(sealed))
    assert there.unsealed() == {"token": SECRET, "text": [SECRET] * 3}
    for shown in (repr(sealed), str(sealed), f"{[sealed]}", repr(there), repr(sealed.__reduce__())):
        assert SECRET not in shown
    assert SECRET.encode() not in pickle.dumps(sealed)


@given(st.text(min_size=8, max_size=200).filter(lambda text: len(text.encode("utf-8", "replace")) >= 8))
def test_no_text_stands_in_what_carries_it(text: str) -> None:
    plain = text.encode("utf-8", "surrogatepass")
    assert plain not in pickle.dumps(SealedValue.of({"token": text, "other": f"Bearer {text}"}))


def project_in(folder: Path, files: dict[str, str], config: str = "version: 1\n") -> Project:
    for name, text in {"baselinekit.yaml": config, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return open_project(Operator(str(folder)))


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
    (baseline,) = load(project, ())
    assert sorted(names_used(baseline, project)) == wanted


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
    (baseline,) = load(project, ())
    names = names_used(baseline, project)
    assert sorted(names) == ["skills/helper/SKILL.md", "skills/helper/more/list.txt"]


def test_what_is_laid_out_is_private_and_leads_where_it_led(tmp_path: Path) -> None:
    files = read_files([], {"/home/ada/project/run.sh": b"echo", "/home/ada/shared/x.yaml": b"x: 1"})
    files += (SentFile("/home/ada/project/tool", b"#!/bin/sh\n", runs=True),)
    with lay_out(files, ["/home/ada/project/baselines"], str(tmp_path)) as top:
        project = path_below("/home/ada/project", top)
        assert Path(project, "run.sh").read_bytes() == b"echo"
        assert Path(project, "../shared/x.yaml").read_bytes() == b"x: 1"
        assert os.path.isdir(os.path.join(project, "baselines"))
        assert os.access(os.path.join(project, "tool"), os.X_OK)
        for path in (Path(top), *filter(Path.is_file, Path(top).rglob("*"))):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "", "/"]), max_size=8))
def test_no_path_leads_out_of_where_it_is_laid_out(parts: list[str]) -> None:
    path = path_below("/".join(parts), "/tmp/top")
    assert os.path.normpath(path) == "/tmp/top" or os.path.normpath(path).startswith("/tmp/top/")


def test_a_file_that_is_gone_is_left_out_and_a_stated_one_goes_as_stated(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("now")
    stated = tmp_path / "stated"
    stated.write_text("now")
    paths = [str(there), str(tmp_path / "gone"), str(stated), str(there)]
    files = read_files(paths, {str(stated): b"then"})
    assert {file.path: file.data for file in files} == {str(there): b"now", str(stated): b"then"}
    assert len(files) == 2


def test_more_than_can_be_sent_is_said_before_it_is(tmp_path: Path) -> None:
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(300_000_000)
    with pytest.raises(CannotReplay, match="256,000,000 bytes"):
        read_files([str(large)], {})


def test_what_was_said_names_the_paths_of_the_caller() -> None:
    top = "/tmp/dask/baselinekit-x1"
    spot = ReportedDifference(
        ("body", 0), "value", f"{top}/home/x", {f"{top}/k": [f"a {top}/home/y"]}, f"{top}/f", 3
    )
    result = Result("one", "b.yaml", 1, "cli", "failed", differences=(spot,), reason=f"no {top}/home/z")
    told = with_caller_paths((result, Difference(("x",), "value", f"{top}/e", None, ("x",))), top)
    assert top not in repr(told)
    assert told[0].reason == "no /home/z"
    assert told[0].differences[0].actual == {"/k": ["a /home/y"]}
    assert isinstance(told[1], Difference)
    assert with_caller_paths(result, "/tmp/dask/baselinekit-x2") is result
