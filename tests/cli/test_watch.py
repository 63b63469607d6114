"""What a watch takes for a change, and what not."""

from pathlib import Path

import pytest
from storehelp import write

from baselinekit.cli.options import ProjectOptions
from baselinekit.cli.watch import View, view_of
from baselinekit.commands.loading import load
from baselinekit.commands.project import Operator, open_project
from baselinekit.store.record import Mark, record_all

HTTP = (
    "id: {id}\nbaseline: {{output: {{status: 200}}}}\ncurrent: {{input: {{method: GET, endpoint: /x}}, "
    "execution: {{type: http}}}}\n"
)
FILES = {
    "baselinekit.yaml": "models: {m: {command: [cat]}}\nskills: {s: {command: [tools/run.sh]}}\n",
    "baselines/a.yaml": HTTP.format(id="a"),
    "baselines/b.yaml": "id: b\nbaseline: {output: x}\ncurrent: {execution: {type: prompt, model: m}, "
    "input: {prompt: ../p/b.md, inputs_from: in.yaml}}\n",
    "baselines/in.yaml.txt": "",
    "p/b.md": "hello",
    "baselines/c.yaml": "id: c\nbaseline: {output_file: c.output.json}\ncurrent: {input: {}, "
    "execution: {type: skill, skill_name: s}}\n",
    "baselines/c.output.json": '{"a": 1}',
    "tools/run.sh": "#!/bin/sh\n",
    "baselines/d.yaml": "id: d\nbaseline: {output: x}\ncurrent: {input: {}, "
    "execution: {type: skill, skill_name: review}}\n",
    "skills/review/SKILL.md": "---\nname: review\ndescription: x\n---\nDo it.\n",
    "skills/review/notes/more.md": "more",
    "notes.md": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        write(tmp_path, name, text)
    (tmp_path / ".env").write_text("")
    return tmp_path


def view(folder: Path, *files: str) -> View:
    config, env_file, *paths = (str(folder / file) for file in ("baselinekit.yaml", ".env", *files))
    return view_of(ProjectOptions(config=config, env_files=(env_file,)), paths)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "touched"),
    [
        ("baselines/a.yaml", "name: other\n", "a"),
        ("p/b.md", "more", "b"),
        ("baselines/in.yaml", "a: 1", "b"),  # it was not there before
        ("baselines/c.output.json", " ", "c"),
        ("skills/review/SKILL.md", "x", "d"),
        ("baselines/e.yaml", HTTP.format(id="e"), "e"),
        ("baselinekit.yaml", "inline_limit: 5\n", "abcd"),
        (".env", "X=1", "abcd"),
        ("notes.md", "x", ""),
    ],
)
def test_changed_baselines_are_those_that_use_the_file(
    folder: Path, file: str, text: str, touched: str
) -> None:
    before = view(folder)
    assert not before.is_stale()
    with (folder / file).open("a") as opened:
        opened.write(text)
    now = view(folder)
    assert sorted(now.changed_baselines(before)) == sorted(touched)
    assert before.is_stale() or not touched
    assert not now.is_stale()


def test_changed_baselines_after_a_recorded_verdict_are_none(folder: Path) -> None:
    before, project = view(folder), open_project(Operator(cwd=str(folder)))
    for baseline in load(project, ()):
        record_all([Mark(baseline.source, baseline.id != "a")], project.root, "2024-01-20T14:00:00Z")
    assert before.is_stale()
    assert not view(folder).changed_baselines(before)


def test_changed_baselines_after_a_removal_are_those_named(folder: Path) -> None:
    before, narrowed = view(folder), view(folder, "baselines/a.yaml")
    assert set(narrowed.uses) == {"a"}
    (folder / "p/b.md").unlink()
    assert not narrowed.is_stale()
    (folder / "baselines/a.yaml").unlink()
    assert view(folder).changed_baselines(before) == {"b"}


@pytest.mark.parametrize("file", ["baselines/a.yaml", "baselinekit.yaml"])
def test_view_with_a_broken_file_has_its_error(folder: Path, file: str) -> None:
    (folder / file).write_text("id: [")
    broken = view(folder)
    assert broken.error.startswith("BK101 ")
    assert f"{file}:1:6: " in broken.error
    (folder / file).write_text(FILES[file])
    assert broken.is_stale()
    assert not view(folder).error
