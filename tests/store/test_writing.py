"""New baselines: a file for the reader of a diff, or a `baseline:` in a file that has only the recipe."""

from pathlib import Path
from typing import Any

import pytest
from storehelp import EXAMPLES, same, write

from baselinekit.errors import InvalidInput, NotRecorded, Refused
from baselinekit.files.jsontext import dump_json, load_json
from baselinekit.store.reading import load
from baselinekit.store.writing import add_baseline, check_names, write_file

RECORD: dict[str, Any] = {
    "id": "users-list",
    "baseline_version": "v1.0",
    "baseline": {"output": {"status": 200, "body": ["a\nb\n"]}, "captured_at": "2024-01-20T14:00:00Z"},
    "current": {"input": {"method": "GET", "endpoint": "/users"}, "execution": {"type": "http"}},
    "comparison": {"type": "structural"},
    "metadata": {"last_passed": None, "failure_count": 0},
}
PAGE = """\
# yaml-language-server: $schema=../x.json
id: users-list
baseline_version: v1.0
baseline:
  output:
    status: 200
    body:
      - |
        a
        b
  captured_at: "2024-01-20T14:00:00Z"
current:
  input:
    method: GET
    endpoint: /users
  execution:
    type: http
comparison:
  type: structural
metadata:
  last_passed: null
  failure_count: 0
"""


def new(root: Path, record: dict[str, Any] = RECORD, group: str = "x.org", limit: int = 65_536) -> str:
    check_names(record["id"], group)
    file = f"baselines/{group}/{record['id']}.yaml"
    write_file(record, file, str(root), limit, "../x.json")
    return file


def test_write_file_writes_a_page_and_overwrites_none(tmp_path: Path) -> None:
    assert new(tmp_path) == "baselines/x.org/users-list.yaml"
    path = tmp_path / "baselines/x.org/users-list.yaml"
    assert path.read_text() == PAGE
    (baseline,) = load(["baselines/x.org/users-list.yaml"], str(tmp_path))
    assert baseline.baseline is not None
    assert baseline.baseline.output == RECORD["baseline"]["output"]
    with pytest.raises(InvalidInput, match=r"BK113 .*users-list.yaml: the file already exists"):
        new(tmp_path, {**RECORD, "name": "other"})
    assert path.read_text() == PAGE


@pytest.mark.parametrize(("id", "group"), [("../x", "g"), ("a/b", "g"), ("a", ".."), ("a", "x/y"), ("a", "")])
def test_check_names_refuses_paths(id: str, group: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"BK108"):
        new(tmp_path, {**RECORD, "id": id}, group)
    assert not (tmp_path / "baselines").exists()


def test_write_file_refuses_a_link_out_of_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "baselines").symlink_to("../elsewhere")
    with pytest.raises(Refused, match=r"BK404"):
        new(root)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ({"rows": [{"n": 1}] * 20}, "users-list.output.json"),
        ("line\r\n" * 30, "users-list.output.txt"),
        ("\ud800" * 60, "users-list.output.json"),
    ],
)
def test_write_file_over_the_limit_has_an_output_file(output: Any, name: str, tmp_path: Path) -> None:
    record = {**RECORD, "baseline": {"output": output, "captured_at": "2024-01-20T14:00:00Z"}}
    file = new(tmp_path, record, limit=150)
    text = (tmp_path / file).read_text()
    assert f'baseline:\n  output_file: {name}\n  captured_at: "2024' in text
    (baseline,) = load([file], str(tmp_path))
    assert baseline.baseline is not None
    assert same(baseline.baseline.output, output)
    if name.endswith("json") and isinstance(output, dict):
        assert (tmp_path / "baselines/x.org" / name).read_text() == dump_json(output)


ASK = "current: {input: {endpoint: /x}, execution: {type: http}}"
DRAFTS = [
    (f"id: a\n# how to ask\n{ASK}\n", f"id: a\nbaseline:\n  output:\n    x: 1\n# how to ask\n{ASK}\n"),
    (
        f"- id: b\r\n  baseline:\r\n  {ASK}\r\n- id: c\r\n  {ASK}\r\n",
        f"- id: b\r\n  baseline:\r\n    output:\r\n      x: 1\r\n  {ASK}\r\n- id: c\r\n  {ASK}\r\n",
    ),
    (
        "{id: a, current: {input: {endpoint: /x}, execution: {type: http}}}",
        "{id: a, baseline: {output: {x: 1}}, current: {input: {endpoint: /x}, execution: {type: http}}}",
    ),
]


@pytest.mark.parametrize(("old", "new_text"), DRAFTS)
def test_add_baseline_writes_into_the_draft(old: str, new_text: str, tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", old)
    draft = load(["f.yaml"], str(tmp_path))[0]
    add_baseline(draft, {"output": {"x": 1}}, str(tmp_path), 1_000)
    assert (tmp_path / "f.yaml").read_bytes().decode() == new_text
    filled = load(["f.yaml"], str(tmp_path))[0]
    assert filled.baseline is not None
    with pytest.raises(NotRecorded, match=r"BK122 f\.yaml: . changed since it was read"):
        add_baseline(draft, {"output": 2}, str(tmp_path), 1_000)
    assert (tmp_path / "f.yaml").read_bytes().decode() == new_text


def test_add_baseline_in_the_json_form_adds_a_response(tmp_path: Path) -> None:
    raw = load_json((EXAMPLES / "users-endpoint.json").read_text(), "")
    del raw["baseline"]
    write(tmp_path, "f.json", dump_json(raw))
    (draft,) = load(["f.json"], str(tmp_path))
    assert draft.baseline is None
    add_baseline(draft, {"output": {"status": 200}, "captured_at": "2024-01-20"}, str(tmp_path), 1_000)
    (filled,) = load(["f.json"], str(tmp_path))
    assert filled.baseline is not None
    assert filled.baseline.output == {"status": 200}
    keys = list(load_json((tmp_path / "f.json").read_text(), ""))
    assert keys[:4] == ["schema_version", "eval_type", "metadata", "baseline"]
