"""`last_passed` and `failure_count`, written in place: exact, in every form of file, whoever else writes."""

import difflib
import shutil
from pathlib import Path

import pytest
from storehelp import EXAMPLES, record, write

from baselinekit.store.reading import load
from baselinekit.store.record import Mark

NOW = "2024-02-01T00:00:00Z"
CURRENT = "current: {input: {endpoint: /x}, execution: {type: http}}"


def marks(root: Path, *passed: bool, file: str = "f.yaml") -> list[Mark]:
    baselines = load([file], str(root))
    return [Mark(b.source, each) for b, each in zip(baselines, passed, strict=True)]


def changed(old: str, new: str) -> list[str]:
    return [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]


def test_record_of_the_reference_example_changes_one_line(tmp_path: Path) -> None:
    name = "regression-quality.yaml"
    old = (EXAMPLES / name).read_text()
    shutil.copy(EXAMPLES / name, tmp_path / "f.yaml")
    assert record(marks(tmp_path, False), str(tmp_path), NOW) == []
    failed = (tmp_path / "f.yaml").read_text()
    assert changed(old, failed) == ["-     failure_count: 1", "+     failure_count: 2"]
    record(marks(tmp_path, True), str(tmp_path), NOW)
    assert [line[:18] for line in changed(failed, (tmp_path / "f.yaml").read_text())] == [
        "-     last_passed:",
        "+     last_passed:",
    ]
    assert load(["f.yaml"], str(tmp_path))[0].metadata.last_passed == NOW


RECORD = f"""\
id: a
{CURRENT}
metadata:
  last_passed: @
  failure_count: @
"""
FILES = [
    (f"id: a\n{CURRENT}\n", RECORD, RECORD),
    (f"id: a\r\n{CURRENT}", *[RECORD.replace("\n", "\r\n").removesuffix("\r\n")] * 2),
    (f"id: a\n{CURRENT}\nmetadata: # c\n", *[RECORD.replace("metadata:", "metadata: # c")] * 2),
    (
        f"{{id: a, {CURRENT}, metadata: {{}}}}\n",
        f"{{id: a, {CURRENT}, metadata: {{last_passed: @}}}}\n",
        f"{{id: a, {CURRENT}, metadata: {{failure_count: 1}}}}\n",
    ),
    (
        f"id: a\n{CURRENT}\nmetadata:\n    # how often\n    failure_count: 0\n    tags: []\n",
        f"id: a\n{CURRENT}\nmetadata:\n    last_passed: @\n"
        "    # how often\n    failure_count: 0\n    tags: []\n",
        f"id: a\n{CURRENT}\nmetadata:\n    # how often\n    failure_count: 1\n    tags: []\n",
    ),
]


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize(("old", "when_passed", "when_failed"), FILES)
def test_record_inserts_missing_keys_in_the_style_of_the_file(
    old: str, when_passed: str, when_failed: str, passed: bool, tmp_path: Path
) -> None:
    write(tmp_path, "f.yaml", "\ufeff" + old)
    record(marks(tmp_path, passed), str(tmp_path), NOW)
    wanted = when_passed if passed else when_failed
    for value in (f'"{NOW}"', "0") if passed else ("null", "1"):
        wanted = wanted.replace("@", value, 1)
    assert (tmp_path / "f.yaml").read_bytes().decode() == "\ufeff" + wanted
    baseline = load(["f.yaml"], str(tmp_path))[0]
    assert (baseline.metadata.last_passed, baseline.metadata.failure_count) == (
        (NOW, 0) if passed else (None, 1)
    )


def test_record_of_several_baselines_of_a_file(tmp_path: Path) -> None:
    text = f"""\
# the first document
- {{id: a, {CURRENT}, metadata: {{failure_count: 3}}}}   # flow
- id: b
  {CURRENT}
  metadata:
    failure_count: 1 # so far
    last_passed: 2024-01-01T00:00:00Z
---
id: c
{CURRENT}
"""
    write(tmp_path, "f.yaml", text)
    record(marks(tmp_path, True, False, False), str(tmp_path), NOW)
    assert (tmp_path / "f.yaml").read_text() == (
        text.replace("{failure_count: 3}", f'{{last_passed: "{NOW}", failure_count: 3}}').replace(
            "1 # so", "2 # so"
        )
        + "metadata:\n  last_passed: null\n  failure_count: 1\n"
    )
    before = (tmp_path / "f.yaml").read_bytes()
    stat = (tmp_path / "f.yaml").stat()
    record(marks(tmp_path, True, True, True)[:1], str(tmp_path), NOW)
    assert (tmp_path / "f.yaml").read_bytes() == before
    assert (tmp_path / "f.yaml").stat().st_ino == stat.st_ino


def test_record_never_moves_back_and_daily_writes_once_a_day(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", f"id: a\n{CURRENT}\nmetadata: {{last_passed: 2999-01-01T00:00:00+01:00}}\n")
    before = (tmp_path / "f.yaml").read_bytes()
    notes = record(marks(tmp_path, True), str(tmp_path), NOW)
    assert notes == ["f.yaml: last_passed is 2999-01-01T00:00:00+01:00, in the future, and stays as it is"]
    assert (tmp_path / "f.yaml").read_bytes() == before
    write(tmp_path, "f.yaml", f"id: a\n{CURRENT}\nmetadata: {{last_passed: 2024-02-01T00:00:00}}\n")
    before = (tmp_path / "f.yaml").read_bytes()
    record(marks(tmp_path, True), str(tmp_path), "2024-02-01T23:00:00Z", daily=True)
    assert (tmp_path / "f.yaml").read_bytes() == before
    record(marks(tmp_path, True), str(tmp_path), "2024-02-02T00:00:00Z", daily=True)
    assert "2024-02-02" in (tmp_path / "f.yaml").read_text()
    record(marks(tmp_path, False), str(tmp_path), "2024-02-02T00:00:00Z", daily=True)
    assert "failure_count: 1" in (tmp_path / "f.yaml").read_text()


def test_record_leaves_a_baseline_edited_meanwhile(tmp_path: Path) -> None:
    text = f"- id: a\n  {CURRENT}\n- id: b\n  {CURRENT}\n"
    write(tmp_path, "f.yaml", text)
    both = marks(tmp_path, False, False)
    inserted = text.replace("id: a", "id: new\n  name: n\n  " + CURRENT + "\n- id: a")
    write(tmp_path, "f.yaml", f"# new\n{inserted}")
    assert record(both, str(tmp_path), NOW) == []  # moved, and the same
    assert [b.metadata.failure_count for b in load(["f.yaml"], str(tmp_path))] == [0, 1, 1]
    recorded = (tmp_path / "f.yaml").read_text()
    write(
        tmp_path,
        "f.yaml",
        recorded.replace(
            "id: a\n  current: {input: {endpoint: /x", "id: a\n  current: {input: {endpoint: /y"
        ),
    )
    note = "f.yaml: changed while it was compared, so nothing was recorded"
    assert record(both, str(tmp_path), NOW) == [note]
    assert [b.metadata.failure_count for b in load(["f.yaml"], str(tmp_path))] == [0, 1, 2]


def test_record_counts_each_verdict_of_an_old_mark(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", f"id: a\n{CURRENT}\n")
    mark = marks(tmp_path, False)
    for _ in range(3):
        assert record(mark, str(tmp_path), NOW) == []
    assert load(["f.yaml"], str(tmp_path))[0].metadata.failure_count == 3
