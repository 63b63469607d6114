"""A refresh that is killed, that meets another one, or a folder that no one may write: each file is the old
one or the new one, whole."""

import random
import re
import signal

import pytest
from drill import THOROUGH, Drill, record
from nobody import open_to_all
from warm import Warm

KILLS = 60 if THOROUGH else 5
FILES = {f"baselines/{n % 3}/n{n}.yaml": record(f"n{n}", 5) for n in range(40)}
APPROVE = "refresh", "--all-failed", "--yes"


def texts(project: Drill) -> dict[str, bytes]:
    return {name: (project.folder / name).read_bytes() for name in FILES}


@pytest.fixture
def laid(project: Drill, runs: Warm) -> Drill:
    """Forty baselines that have failed."""
    project.lay(FILES)
    assert runs.run(project.folder, "compare", "--no-record").exit_code == 1
    return project


def kept(project: Drill) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in project.folder.glob(".baselinekit/pending/*.json")}


def restore(project: Drill, files: dict[str, bytes], answers: dict[str, bytes]) -> None:
    for name, data in files.items():
        (project.folder / name).write_bytes(data)
    for name, data in answers.items():
        (project.folder / ".baselinekit/pending" / name).write_bytes(data)


def test_f01_refresh_that_is_killed_leaves_each_file_old_or_new(laid: Drill, runs: Warm) -> None:
    before, answers = texts(laid), kept(laid)
    assert len(answers) == len(FILES)
    whole = runs.run(laid.folder, *APPROVE)
    assert whole.exit_code == 0, whole.said
    after = texts(laid)
    assert all(b"body: {n: 1}" in data for data in after.values())
    source = random.Random(4)
    partly = 0
    for _ in range(KILLS):
        restore(laid, before, answers)
        when = source.uniform(0.3, 1.0) * whole.seconds
        ended = runs.run(laid.folder, *APPROVE, signals=[(when, signal.SIGKILL)])
        assert ended.exit_code in (-9, 0), ended.said
        now = texts(laid)
        for name in FILES:
            assert now[name] in (before[name], after[name]), name
        partly += ended.exit_code == -9
        ended = runs.run(laid.folder, *APPROVE)
        assert ended.exit_code in (0, 3, 5), ended.said  # what was written and not yet forgotten is stale
        assert texts(laid) == after
    assert partly
    assert runs.run(laid.folder, "compare", "--no-record").exit_code == 0
    assert list(laid.folder.rglob("*.tmp")) == []
    assert kept(laid) == {}


def test_f03_refreshes_at_once_write_the_same(laid: Drill, runs: Warm) -> None:
    before, answers = texts(laid), kept(laid)
    assert runs.run(laid.folder, *APPROVE).exit_code == 0
    after = texts(laid)
    restore(laid, before, answers)
    for ended in runs.together(3, laid.folder, *APPROVE):
        assert ended.exit_code in (0, 3, 5), ended.said
        assert "BK399" not in ended.said
    assert texts(laid) == after
    assert list(laid.folder.rglob("*.tmp")) == []


def test_refresh_names_a_file_that_cannot_be_written(laid: Drill, runs: Warm) -> None:
    """A rename asks the folder, and not the file."""
    open_to_all(laid.folder)
    for path in (laid.folder, *laid.folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (laid.folder / "baselines/1").chmod(0o555)
    before = texts(laid)
    try:
        ended = runs.run(laid.folder, *APPROVE, harmless=True)
    finally:
        (laid.folder / "baselines/1").chmod(0o777)
    assert ended.exit_code == 3, ended.said
    assert re.search(r"BK120 baselines/1/n1.yaml cannot be written: permission denied", ended.said), (
        ended.said
    )
    assert "refreshed 27 baselines in 27 files" in ended.out
    now = texts(laid)
    assert {name for name in FILES if now[name] == before[name]} == {n for n in FILES if "/1/" in n}
    assert len(kept(laid)) == 13, "what was not written is still kept"
