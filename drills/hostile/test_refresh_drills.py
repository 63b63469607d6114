"""A refresh that is killed, that meets another one, a read-only folder, or git's conflict markers:
each file is the old one or the new one, whole."""

import random
import re
import signal

import pytest
from drill import THOROUGH, Drill, record
from nobody import open_to_all
from warm import Warm

KILLS = 60 if THOROUGH else 8
FILES = {f"baselines/{n % 3}/n{n}.yaml": record(f"n{n}", 5) for n in range(40)}
APPROVE = "refresh", "--all-failed", "--yes"


def texts(drill: Drill) -> dict[str, bytes]:
    return {name: (drill.folder / name).read_bytes() for name in FILES}


@pytest.fixture
def failed_drill(drill: Drill, runs: Warm) -> Drill:
    """Forty baselines that have failed."""
    drill.lay(FILES)
    assert runs.run(drill.folder, "compare", "--no-record").exit_code == 1
    return drill


def kept(drill: Drill) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in drill.folder.glob(".baselinekit/pending/*.json")}


def restore(drill: Drill, files: dict[str, bytes], answers: dict[str, bytes]) -> None:
    for name, data in files.items():
        (drill.folder / name).write_bytes(data)
    for name, data in answers.items():
        (drill.folder / ".baselinekit/pending" / name).write_bytes(data)


def test_f01_refresh_killed_leaves_each_file_old_or_new(failed_drill: Drill, runs: Warm) -> None:
    before, answers = texts(failed_drill), kept(failed_drill)
    assert len(answers) == len(FILES)
    whole = runs.run(failed_drill.folder, *APPROVE)
    assert whole.exit_code == 0, whole.said
    after = texts(failed_drill)
    assert all(b"body: {n: 1}" in data for data in after.values())
    source = random.Random(4)
    partly = 0
    for _ in range(KILLS):
        restore(failed_drill, before, answers)
        when = source.uniform(0.3, 1.0) * whole.seconds
        ended = runs.run(failed_drill.folder, *APPROVE, signals=[(when, signal.SIGKILL)])
        assert ended.exit_code in (-9, 0), ended.said
        now = texts(failed_drill)
        for name in FILES:
            assert now[name] in (before[name], after[name]), name
        partly += ended.exit_code == -9
        ended = runs.run(failed_drill.folder, *APPROVE)
        assert ended.exit_code in (0, 3, 5), ended.said  # what was written and not yet forgotten is stale
        assert texts(failed_drill) == after
    assert partly
    assert runs.run(failed_drill.folder, "compare", "--no-record").exit_code == 0
    assert list(failed_drill.folder.rglob("*.tmp")) == []
    assert kept(failed_drill) == {}


def test_f03_refresh_several_at_once_refresh_once(failed_drill: Drill, runs: Warm) -> None:
    before, answers = texts(failed_drill), kept(failed_drill)
    assert runs.run(failed_drill.folder, *APPROVE).exit_code == 0
    after = texts(failed_drill)
    restore(failed_drill, before, answers)
    for ended in runs.together(3, failed_drill.folder, *APPROVE):
        assert ended.exit_code in (0, 3, 5), ended.said
        assert "BK399" not in ended.said
    assert texts(failed_drill) == after
    assert list(failed_drill.folder.rglob("*.tmp")) == []


def test_refresh_unwritable_file_is_named_and_others_are_refreshed(failed_drill: Drill, runs: Warm) -> None:
    """A rename asks the folder, and not the file."""
    open_to_all(failed_drill.folder)
    for path in (failed_drill.folder, *failed_drill.folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (failed_drill.folder / "baselines/1").chmod(0o555)
    before = texts(failed_drill)
    try:
        ended = runs.run(failed_drill.folder, *APPROVE, harmless=True)
    finally:
        (failed_drill.folder / "baselines/1").chmod(0o777)
    assert ended.exit_code == 3, ended.said
    assert re.search(r"BK120 baselines/1/n1.yaml cannot be written: permission denied", ended.said), (
        ended.said
    )
    assert "refreshed 27 baselines in 27 files" in ended.out
    now = texts(failed_drill)
    assert {name for name in FILES if now[name] == before[name]} == {n for n in FILES if "/1/" in n}
    assert len(kept(failed_drill)) == 13, "what was not written is still kept"


CONFLICT = "<<<<<<< HEAD\n{old}=======\n{new}>>>>>>> topic\n"


def test_refresh_conflict_markers_are_an_error_and_stay(failed_drill: Drill, runs: Warm) -> None:
    path = failed_drill.folder / "baselines/0/n0.yaml"
    line = next(line for line in path.read_text().splitlines(keepends=True) if "body" in line)
    torn = path.read_text().replace(line, CONFLICT.format(old=line, new=line.replace("5", "6")))
    path.write_text(torn)
    number = torn[: torn.index("<<<<<<<")].count("\n") + 1
    for command in (APPROVE, ("compare",), ("doctor",), ("refresh", "n0", "--dry-run")):
        ended = runs.run(failed_drill.folder, *command)
        assert ended.exit_code == 2, ended.said
        where = f"baselines/0/n0.yaml:{number}:1: an unresolved git conflict"
        assert where in ended.said, ended.said
        assert path.read_text() == torn
