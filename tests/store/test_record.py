"""`last_passed` and `failure_count`, written in place: exact, in every form of file, whoever else writes."""

import difflib
import json
import multiprocessing
import shutil
from pathlib import Path

import pytest
from storehelp import EXAMPLES, record, write, write_baseline

from baselinekit.store.reading import load
from baselinekit.store.record import Mark

NOW = "2024-02-01T00:00:00Z"
CURRENT = "current: {input: {endpoint: /x}, execution: {type: http}}"


def marks(root: Path, *passed: bool, file: str = "f.yaml") -> list[Mark]:
    baselines = load([file], str(root))
    return [Mark(b.source, each) for b, each in zip(baselines, passed, strict=True)]


def changed(old: str, new: str) -> list[str]:
    return [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]


@pytest.mark.parametrize("name", ["regression-api-users.yaml", "regression-quality.yaml"])
def test_the_reference_examples_change_in_one_line(name: str, tmp_path: Path) -> None:
    old = (EXAMPLES / name).read_text()
    shutil.copy(EXAMPLES / name, tmp_path / "f.yaml")
    assert record(marks(tmp_path, False), str(tmp_path), NOW) == []
    failed = (tmp_path / "f.yaml").read_text()
    count = 0 if "api-users" in name else 1
    assert changed(old, failed) == [f"-     failure_count: {count}", f"+     failure_count: {count + 1}"]
    record(marks(tmp_path, True), str(tmp_path), NOW)
    assert [line[:18] for line in changed(failed, (tmp_path / "f.yaml").read_text())] == [
        "-     last_passed:",
        "+     last_passed:",
    ]
    assert load(["f.yaml"], str(tmp_path))[0].metadata.last_passed == NOW


def test_the_json_form_gets_its_record(tmp_path: Path) -> None:
    old = (EXAMPLES / "users-endpoint.json").read_text()
    write(tmp_path, "f.json", old)
    record(marks(tmp_path, True, file="f.json"), str(tmp_path), NOW)
    new = (tmp_path / "f.json").read_text()
    assert changed(old, new) == [
        '-     "criticality": "critical"',
        '+     "criticality": "critical",',
        f'+     "last_passed": "{NOW}"',
    ]
    record(marks(tmp_path, False, file="f.json"), str(tmp_path), NOW)
    assert changed(new, (tmp_path / "f.json").read_text()) == [
        f'-     "last_passed": "{NOW}"',
        f'+     "last_passed": "{NOW}",',
        '+     "failure_count": 1',
    ]


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
    (f"id: a\n{CURRENT}\nmetadata:\n", RECORD, RECORD),
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
def test_what_is_missing_is_inserted_in_the_style_of_the_file(
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


def test_all_cases_of_a_file_in_one_go(tmp_path: Path) -> None:
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


def test_the_time_never_moves_back_and_daily_writes_once_a_day(tmp_path: Path) -> None:
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


def test_a_case_that_somebody_edited_meanwhile_is_left_alone(tmp_path: Path) -> None:
    text = f"- id: a\n  {CURRENT}\n- id: b\n  {CURRENT}\n"
    write(tmp_path, "f.yaml", text)
    both = marks(tmp_path, False, False)
    write(
        tmp_path,
        "f.yaml",
        "# new\n" + text.replace("id: a", "id: new\n  name: n\n  " + CURRENT + "\n- id: a"),
    )
    assert record(both, str(tmp_path), NOW) == []  # moved, and the same
    assert [b.metadata.failure_count for b in load(["f.yaml"], str(tmp_path))] == [0, 1, 1]
    edited = (
        (tmp_path / "f.yaml")
        .read_text()
        .replace("id: a\n  current: {input: {endpoint: /x}", "id: a\n  current: {input: {endpoint: /y}")
    )
    write(tmp_path, "f.yaml", edited)
    assert record(both, str(tmp_path), NOW) == [
        "f.yaml: changed while it was compared, so nothing was recorded"
    ]
    assert [b.metadata.failure_count for b in load(["f.yaml"], str(tmp_path))] == [0, 1, 2]


def fail_all(root: str, files: list[str], rounds: int) -> None:
    for _ in range(rounds):
        for baseline in load(files, root):
            record([Mark(baseline.source, False)], root, NOW)


@pytest.mark.slow
def test_eight_processes_at_once_lose_no_count(tmp_path: Path) -> None:
    files = [write_baseline(tmp_path, f"{number}.yaml", f"id-{number}") for number in range(4)]
    files.append(write(tmp_path, "bare.yaml", f"- {{id: x, {CURRENT}}}\n- {{id: y, {CURRENT}}}\n"))
    files.append(write(tmp_path, "users.json", (EXAMPLES / "users-endpoint.json").read_bytes()))
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=fail_all, args=(str(tmp_path), files, 3)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert [b.metadata.failure_count for b in load(files, str(tmp_path))] == [24] * 7
    assert json.loads((tmp_path / "users.json").read_text())["metadata"]["failure_count"] == 24
    assert list(tmp_path.rglob("*.tmp")) == []


def test_verdicts_that_were_read_before_anybody_wrote_all_count(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", f"id: a\n{CURRENT}\n")
    mark = marks(tmp_path, False)
    for _ in range(3):
        assert record(mark, str(tmp_path), NOW) == []
    assert load(["f.yaml"], str(tmp_path))[0].metadata.failure_count == 3
