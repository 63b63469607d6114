"""The calls of tests on file: each test owns its own, whoever writes at the same time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from baselinekit.errors import InvalidInput, Refused
from baselinekit.store.httpcalls import keep_calls, read_calls

NAME = "cassettes/chat.yaml"


def call(number: int, **more: object) -> dict[str, object]:
    return {
        "request": {"method": "GET", "url": f"https://h/{number}"},
        "response": {"status": 200, "body": number},
    } | more


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    root = str(tmp_path)
    assert read_calls(root, NAME) == {}
    keep_calls(root, NAME, "t.py::b", [call(1), call(2)])
    keep_calls(root, NAME, "t.py::a[x: y]", [call(3)])
    assert read_calls(root, NAME) == {"t.py::a[x: y]": [call(3)], "t.py::b": [call(1), call(2)]}
    assert list(read_calls(root, NAME)) == ["t.py::a[x: y]", "t.py::b"]  # sorted, so that a diff is small


def test_comments_stay_and_so_do_the_calls_of_others(tmp_path: Path) -> None:
    root, file = str(tmp_path), tmp_path / NAME
    keep_calls(root, NAME, "t.py::a", [call(1)])
    keep_calls(root, NAME, "t.py::b", [call(2)])
    file.write_text(file.read_text().replace("  t.py::b:", "  # asked twice a day\n  t.py::b:"))
    keep_calls(root, NAME, "t.py::a", [call(9)])
    assert "  # asked twice a day\n  t.py::b:" in file.read_text()
    assert read_calls(root, NAME) == {"t.py::a": [call(9)], "t.py::b": [call(2)]}


def test_nothing_is_written_where_nothing_changed_and_nothing_stays_where_nothing_is_left(
    tmp_path: Path,
) -> None:
    root, file = str(tmp_path), tmp_path / NAME
    keep_calls(root, NAME, "t.py::a", [call(1)])
    before = file.stat()
    keep_calls(root, NAME, "t.py::a", [call(1)])
    assert file.stat().st_ino == before.st_ino
    keep_calls(root, NAME, "t.py::a", [])
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: 1\n", "BK631 cassettes/chat.yaml: this is no cassette"),
        ("interactions: []\nversion: 1\n", "BK631 cassettes/chat.yaml: this is no cassette"),
        ("format: baselinekit.http-calls/1\ntests: [1]\n", "BK631 cassettes/chat.yaml: this is no cassette"),
        (
            "format: baselinekit.http-calls/1\ntests:\n  t::a:\n    - request: {}\n",
            "BK631 .*: call 1 of t::a has no",
        ),
        ("format: [\n", "BK10"),
        ("<<<<<<< ours\n", "BK1"),
    ],
)
def test_what_is_no_cassette_is_an_error_with_its_place(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "cassettes").mkdir()
    (tmp_path / NAME).write_text(text)
    with pytest.raises(InvalidInput, match=what):
        read_calls(str(tmp_path), NAME)
    with pytest.raises(InvalidInput, match=what):
        keep_calls(str(tmp_path), NAME, "t::a", [call(1)])
    assert (tmp_path / NAME).read_text() == text


def test_no_file_is_written_outside_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    with pytest.raises(Refused):
        keep_calls(str(tmp_path / "project"), "../chat.yaml", "t::a", [call(1)])
    assert os.listdir(tmp_path) == ["project"]


WRITER = """
import sys
from baselinekit.store.httpcalls import keep_calls
root, name, who = sys.argv[1:]
for number in range(15):
    request = {"method": "GET", "url": f"https://h/{who}/{number}"}
    keep_calls(root, name, f"t.py::{who}_{number}", [{"request": request, "response": {"status": 200}}])
"""


@pytest.mark.slow
def test_processes_that_write_to_one_file_lose_nothing(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), NAME, who]) for who in ("a", "b", "c")
    ]
    assert [one.wait() for one in started] == [0, 0, 0]
    assert len(read_calls(str(tmp_path), NAME)) == 45


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_a_file_that_can_be_read(tmp_path: Path) -> None:
    for wait in (0.35, 0.45, 0.6):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), NAME, f"k{wait}"])
        try:
            process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        read_calls(str(tmp_path), NAME)
    keep_calls(str(tmp_path), NAME, "t.py::after", [call(1)])
    assert "t.py::after" in read_calls(str(tmp_path), NAME)
