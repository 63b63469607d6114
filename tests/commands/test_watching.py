"""What a watch takes for a change, and what not."""

import os
from pathlib import Path

import pytest

from baselinekit.commands.loading import load
from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.commands.watching import changed_baselines, changed_files, take_snapshot
from baselinekit.store.record import Mark, record_all

HTTP = (
    "id: {id}\nbaseline: {{output: {{status: 200}}}}\ncurrent: {{input: {{method: GET, endpoint: /x}}, "
    "execution: {{type: http}}}}\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    files = {
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
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return open_project(Operator(cwd=str(tmp_path)))


def append(project: Project, name: str, text: str = "\n# more\n") -> None:
    path = Path(project.root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "touched"),
    [
        ("baselines/a.yaml", "name: other\n", "a"),
        ("baselines/a.yaml", "# a comment\n", ""),
        ("p/b.md", "more", "b"),
        ("baselines/in.yaml", "a: 1", "b"),  # it was not there before
        ("baselines/c.output.json", " ", "c"),
        ("tools/run.sh", "x", "c"),
        ("skills/review/SKILL.md", "x", "d"),
        ("skills/review/notes/more.md", "x", "d"),
        ("skills/review/new.md", "x", "d"),
        ("baselines/e.yaml", HTTP.format(id="e"), "e"),
        ("baselinekit.yaml", "inline_limit: 5\n", "abcd"),
        (".env", "X=1", "abcd"),
        ("notes.md", "x", ""),
        ("baselines/readme.txt", "x", ""),
    ],
)
def test_a_change_touches_what_leads_to_it(project: Project, file: str, text: str, touched: str) -> None:
    settings = [os.path.join(project.root, ".env")]
    before = take_snapshot(project, (), settings)
    assert not before.is_stale()
    append(project, file, text)
    now = take_snapshot(project, (), settings)
    assert sorted(changed_baselines(before, now)) == sorted(touched)
    assert before.is_stale() or not touched
    assert not now.is_stale()


def test_a_verdict_that_was_recorded_is_no_change(project: Project) -> None:
    before = take_snapshot(project, ())
    for baseline in load(project, ()):
        record_all([Mark(baseline.source, baseline.id != "a")], project.root, "2024-01-20T14:00:00Z")
    now = take_snapshot(project, ())
    assert before.is_stale()
    assert changed_files(before, now)
    assert changed_baselines(before, now) == frozenset()


def test_what_is_removed_is_run_no_more(project: Project) -> None:
    before = take_snapshot(project, ())
    os.unlink(os.path.join(project.root, "baselines/a.yaml"))
    os.unlink(os.path.join(project.root, "p/b.md"))
    assert changed_baselines(before, take_snapshot(project, ())) == {"b"}


def test_only_what_was_named_is_watched(project: Project) -> None:
    before = take_snapshot(project, ("baselines/a.yaml",))
    assert set(before.baselines) == {"a"}
    append(project, "p/b.md")
    assert not before.is_stale()


def test_a_file_that_cannot_be_read_is_told_and_mended(project: Project) -> None:
    before = take_snapshot(project, ())
    path = Path(project.root, "baselines/a.yaml")
    text = path.read_text()
    path.write_text("id: [")
    broken = take_snapshot(project, ())
    assert [problem.code for problem in broken.problems] == ["BK101"]
    path.write_text(text)
    mended = take_snapshot(project, ())
    assert not mended.problems
    assert changed_baselines(broken, mended) == {"a"}
    assert changed_baselines(before, mended) == frozenset()
