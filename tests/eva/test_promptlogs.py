"""The logs in a prompt folder: appended whole, and read with the rows of other tools."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from baselinekit.eva.logs import EVALS, USES, Log, note, read_rows
from baselinekit.model.prompts import EvalRow, UsageRow

ROW = EvalRow("2026-03-01T12:00:00Z", True, 3, 3, [], "all", "0123456789abcdef")
USE = UsageRow("2026-03-01T12:00:00Z", True, None, "small", "m-1", "0123456789abcdef")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "project/prompts/p").mkdir(parents=True)
    return tmp_path / "project/prompts/p"


def evals(folder: Path) -> Log[EvalRow]:
    return read_rows(str(folder.parent.parent), "prompts/p", EvalRow)


def append(folder: Path, row: EvalRow = ROW) -> list[str]:
    return note(str(folder.parent.parent), "prompts/p", row)


def test_e6_e20_row_is_one_line_with_the_documented_keys(folder: Path) -> None:
    assert append(folder) == []
    assert (folder / EVALS).read_bytes() == (
        b'{"ts":"2026-03-01T12:00:00Z","all_passed":true,"total":3,"passed":3,"failed_cases":[],'
        b'"scope":"all","content":"0123456789abcdef","attempts":1}\n'
    )
    assert note(str(folder.parent.parent), "prompts/p", USE) == []
    use = {"ts": "2026-03-01T12:00:00Z", "sent": True, "verified": None, "case": "small", "model": "m-1"}
    assert json.loads((folder / USES).read_bytes()) == {**use, "content": "0123456789abcdef"}
    lines = b'{"sent": true}', b'{"sent": false, "verified": null, "ms": 3}', b'{"verified": true}'
    (folder / USES).write_bytes(b"\n".join(lines) + b"\n")
    found = read_rows(str(folder.parent.parent), "prompts/p", UsageRow)
    assert [row and (row.sent, row.verified) for row in found.rows] == [(True, None), (False, None), None]
    assert len(found.notes) == 1


texts = st.text(st.characters(codec="utf-8"), max_size=20)
rows = st.builds(
    EvalRow,
    ts=texts,
    all_passed=st.booleans(),
    total=st.integers(0, 10**6),
    passed=st.integers(0, 10**6),
    failed_cases=st.lists(texts, max_size=4),
    scope=st.one_of(st.just("all"), st.lists(texts, max_size=4)),
    content=st.none() | texts,
    attempts=st.integers(1, 1000),
    graders=st.none() | st.sampled_from(["code", "model"]),
    inputs=st.lists(texts, max_size=2),
    interrupted=st.booleans(),
)


@given(st.lists(rows, max_size=5))
def test_e6_rows_are_read_back(tmp_path_factory: pytest.TempPathFactory, appended: list[EvalRow]) -> None:
    root = str(tmp_path_factory.mktemp("rows"))
    for row in appended:
        assert note(root, "", row) == []
    found = read_rows(root, "", EvalRow)
    assert (found.rows, found.notes) == (tuple(appended), ())


@pytest.mark.parametrize("torn", [b'{"ts": "2026-', b"{", b'{"ts":"x","all_passed":true}'])
def test_e6_torn_last_line_gets_a_line_end(folder: Path, torn: bytes) -> None:
    append(folder)
    whole = (folder / EVALS).read_bytes()
    (folder / EVALS).write_bytes(whole + torn)
    assert append(folder) == []
    assert (folder / EVALS).read_bytes() == whole + torn + b"\n" + whole
    assert evals(folder).rows[0] == evals(folder).rows[-1] == ROW
    assert len(evals(folder).rows) == 3


def test_e7_rows_of_another_tool_are_read(folder: Path) -> None:
    (folder / EVALS).write_bytes(
        b'{"ts": "2025-01-01T00:00:00", "all_passed": true, "total": 2, "passed": 2, "failed_cases": []}\r\n'
        b"\n"
        b'{"all_passed": false, "cost": {"usd": 1}, "failed_cases": ["a"], "total": 2, "passed": 1}\n'
    )
    assert evals(folder).rows == (
        EvalRow("2025-01-01T00:00:00", True, 2, 2, [], None, None),
        EvalRow("", False, 2, 1, ["a"], None, None),
    )
    assert evals(folder).notes == ()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"all_passed": true, "all_passed": false}', "it is not JSON, or not all of it"),
        (b"[1]", "it is not a mapping"),
        (b"{}", "all_passed: the key 'all_passed' is missing"),
        (b'{"all_passed": true, "total": true}', "total: expected an integer of 0 or more, found true"),
        (b'{"all_passed": true, "scope": {"a": 1}}', "scope: expected a string or a list"),
    ],
)
def test_e7_line_that_cannot_be_read_is_a_note(folder: Path, line: bytes, why: str) -> None:
    append(folder)
    whole = (folder / EVALS).read_bytes()
    (folder / EVALS).write_bytes(whole + line + b"\n" + whole)
    assert evals(folder).rows == (ROW, None, ROW)
    (note,) = evals(folder).notes
    assert str(note).startswith(f"BK130 prompts/p/.eval.jsonl:2: a row that cannot be read: {why}")


@pytest.mark.parametrize("leads", ["../../../elsewhere", "notes.jsonl", "/dev/null", "missing"])
def test_e6_log_or_folder_that_is_a_link_is_refused(folder: Path, leads: str) -> None:
    (folder / "notes.jsonl").write_text("mine\n")
    outside = folder.parent.parent.parent / "elsewhere"
    (folder / EVALS).symlink_to(leads)
    (message,) = append(folder)
    assert message.endswith("prompts/p/.eval.jsonl is a link, or no regular file (remove it)")
    assert (folder / "notes.jsonl").read_text() == "mine\n"
    assert not outside.exists()
    assert not (folder / "missing").exists()
    outside.mkdir()
    (folder.parent / "q").symlink_to(outside)  # a folder that leads out of the project
    (message,) = note(str(folder.parent.parent), "prompts/q", ROW)
    assert "prompts/q leads out of the project" in message
    assert list(outside.iterdir()) == []


def test_e6_several_writers_at_once_append_whole_rows(folder: Path) -> None:
    long = EvalRow("t", False, 1, 0, ["x" * 50_000], "all")
    with ThreadPoolExecutor(8) as pool:
        messages = list(pool.map(lambda number: append(folder, [ROW, long][number % 2]), range(40)))
    assert messages == [[]] * 40
    assert sorted(len(row.failed_cases) for row in evals(folder).rows if row) == [0] * 20 + [1] * 20
    assert evals(folder).notes == ()
