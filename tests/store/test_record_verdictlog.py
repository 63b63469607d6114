"""What a killed run knew and had not written stands in its log. The next run writes it, once."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from storehelp import CASE, write

from baselinekit.model.baselines import Baseline
from baselinekit.store.atomic import lock
from baselinekit.store.reading import load
from baselinekit.store.record import Mark, VerdictLog, record, record_abandoned
from baselinekit.store.records import bytes_digest

FILE = "f.yaml"
WHEN, LATER = "2024-02-01T00:00:00Z", "2024-02-02T00:00:00Z"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, FILE, "".join(CASE.format(number=number) for number in range(3)))
    return tmp_path


def baselines(root: Path) -> list[Baseline]:
    return load([FILE], str(root))


def counts(root: Path) -> list[int]:
    return [one.metadata.failure_count for one in baselines(root)]


def failed(root: Path, *numbers: int, when: str = WHEN) -> list[Any]:
    """The lines on failures of these cases, as a run knows them that reads the file now."""
    found = baselines(root)
    return [["verdict", FILE, found[number].source.digest, False, when] for number in numbers]


def state(root: Path, count: int) -> list[Any]:
    return ["file", FILE, bytes_digest((root / FILE).read_bytes()), count]


def lay(root: Path, *lines: Any, name: str = "1.log") -> Path:
    path = root / ".baselinekit/verdicts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = [line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines]
    path.write_bytes(b"".join(parts))
    return path


def note(root: Path, *numbers: int) -> None:
    """Somebody records failures of these cases."""
    found = baselines(root)
    assert record([Mark(found[number].source, False) for number in numbers], str(root), WHEN) == []


def left(root: Path) -> list[str]:
    """What is said while the logs of the dead are used up."""
    done = record_abandoned(str(root))
    return [str(problem) for failure in done.failures for problem in failure.problems] + done.notes


def test_a_run_that_ends_leaves_no_log(root: Path) -> None:
    log, source = VerdictLog(str(root)), baselines(root)[0].source
    assert not (root / ".baselinekit").exists()
    log.note(source, True, WHEN)
    (path,) = (root / ".baselinekit/verdicts").iterdir()
    assert json.loads(path.read_text()) == ["verdict", FILE, source.digest, True, WHEN]
    assert left(root) == []
    assert path.exists(), "somebody is writing it"
    log.close()
    log.note(source, True, WHEN)
    assert not path.exists()


def test_what_was_not_written_is_written_with_its_time(root: Path) -> None:
    passed = ["verdict", FILE, baselines(root)[1].source.digest, True, LATER]
    path = lay(root, *failed(root, 0), passed)
    assert left(root) == []
    assert [(one.metadata.failure_count, one.metadata.last_passed) for one in baselines(root)] == [
        (1, None),
        (0, LATER),
        (0, None),
    ]
    assert not path.exists()
    assert left(root) == []
    assert counts(root) == [1, 0, 0]


def test_what_was_written_is_not_written_again(root: Path) -> None:
    lines = failed(root, 0, 1, 2)
    note(root, 0, 1)
    lay(root, *lines, state(root, 2))
    assert left(root) == []
    assert counts(root) == [1, 1, 1]


def test_nor_what_was_about_to_be_written_is_forgotten(root: Path) -> None:
    """Killed between the line that says what the file will hold, and the file."""
    lines = failed(root, 0, 1, 2)
    note(root, 0)
    lay(root, *lines, state(root, 1), ["file", FILE, "of-what-was-never-written", 3])
    assert left(root) == []
    assert counts(root) == [1, 1, 1]


def test_where_somebody_else_has_written_since_nothing_is_counted_twice(root: Path) -> None:
    lines = failed(root, 0, 1)
    note(root, 0)
    states = [state(root, 1)]
    note(root, 2)
    lay(root, *lines, *states)
    assert left(root) == []
    assert counts(root) == [1, 1, 1]


def test_killed_while_a_log_is_used_up(root: Path) -> None:
    """The states that the second one writes are in the same log."""
    lines = failed(root, 0, 1, when=WHEN) + failed(root, 2, when=LATER)
    states = []
    for number, count in ((0, 1), (1, 2)):
        note(root, number)
        states.append(state(root, count))
    lay(root, *lines, *states)
    assert left(root) == []
    assert counts(root) == [1, 1, 1]


def test_a_case_that_was_edited_is_left_alone(root: Path) -> None:
    path = lay(root, *failed(root, 0, 1))
    file = root / FILE
    file.write_text(file.read_text().replace("/x", "/y", 1))
    assert left(root) == []
    assert counts(root) == [0, 1, 0]
    assert not path.exists()


def test_a_file_that_is_gone_or_broken_is_forgotten(root: Path) -> None:
    path = lay(root, *failed(root, 0))
    (root / FILE).write_text("- {")
    assert left(root) == []
    path = lay(root, ["verdict", "gone.yaml", "a-b", False, WHEN])
    assert left(root) == []
    assert not path.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\n",
        b"[" * 100_000,
        b'["verdict", "f.ya',
        [],
        {"verdict": FILE},
        ["verdict", FILE],
        ["verdict", "/etc/passwd", "a-b", False, WHEN],
        ["verdict", "../f.yaml", "a-b", False, WHEN],
        ["verdict", "\0", "a-b", False, WHEN],
        ["verdict", FILE, "", False, WHEN],
        ["verdict", FILE, "{case}", False, "gestern\nfailure_count: 7"],
        ["verdict", FILE, "{case}", "no", WHEN],
        ["file", FILE, "{whole}", "many"],
        ["file", FILE, "{whole}", -1],
    ],
    ids=repr,
)
def test_what_nobody_of_us_wrote_does_no_harm(root: Path, line: Any) -> None:
    before = (root / FILE).read_bytes()
    good = failed(root, 0)
    if isinstance(line, list):
        known = {"{case}": good[0][2], "{whole}": good[0][2].partition("-")[0]}
        line = [known.get(str(part), part) for part in line]
    path = lay(root, line)
    assert left(root) == []
    assert (root / FILE).read_bytes() == before
    assert not path.exists()
    lay(root, *good, line)
    assert left(root) == []
    assert counts(root) == [1, 0, 0]


def test_only_a_file_of_its_own_is_a_log(root: Path) -> None:
    lines = failed(root, 0)
    elsewhere = lay(root, *lines).rename(root / "elsewhere")
    folder = root / ".baselinekit/verdicts"
    (folder / "link.log").symlink_to(elsewhere)
    (folder / "folder.log").mkdir()
    os.mkfifo(folder / "fifo.log")
    assert left(root) == []
    assert counts(root) == [0, 0, 0]
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()
    folder.symlink_to(root / "others")
    (root / "others").mkdir()
    elsewhere.rename(root / "others/1.log")
    assert left(root) == []
    assert counts(root) == [0, 0, 0]


def test_the_log_of_who_is_alive_is_left_alone(root: Path) -> None:
    path = lay(root, *failed(root, 0))
    with path.open("rb") as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        assert left(root) == []
        assert counts(root) == [0, 0, 0]
    assert left(root) == []
    assert counts(root) == [1, 0, 0]


def test_what_cannot_be_written_now_is_kept_for_the_next(root: Path) -> None:
    path = lay(root, *failed(root, 0))
    with lock(str(root), FILE):
        done = record_abandoned(str(root), hurry=_Hurry())
        assert "BK121" in str(done.failures[0].problems[0])
    assert path.exists()
    assert left(root) == []
    assert counts(root) == [1, 0, 0]


class _Hurry:
    def is_set(self) -> bool:
        return True
