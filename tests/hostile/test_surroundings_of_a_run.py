"""What stands around a run and should not matter: modules in the working folder, the clock, and nothing at
all to check."""

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from drill import ROOT, record
from steady import Steady

pytestmark = pytest.mark.slow

MODULES = ["yaml", "json", "click", "httpx", "ssl", "re", "selectors", "sitecustomize", "baselinekit", "h11"]
HIJACK = "open({note!r}, 'a').write(__name__ + '\\n')\nraise SystemExit('hijacked')\n"


def run(folder: Path, argv: list[str], **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        argv,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def script() -> list[str]:
    beside = Path(sys.executable).with_name("baselinekit")
    found = str(beside) if beside.exists() else shutil.which("baselinekit")
    return [found] if found else []


@pytest.mark.parametrize("way", ["script", "module"])
def test_f44_modules_in_the_checkout_are_not_imported(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "project"
    (folder / "baselines").mkdir(parents=True)
    note = tmp_path / "note"
    for name in MODULES:
        for place in (folder, folder / "baselines"):
            (place / f"{name}.py").write_text(HIJACK.format(note=str(note)))
    (folder / "baselines/a.yaml").write_text(record("a", 1))
    argv = script() if way == "script" else [sys.executable, "-m", "baselinekit"]
    if not argv:
        pytest.skip("the console script is not installed here")
    if way == "module":  # what Python itself imports by that name before we are asked is not ours
        (folder / "baselinekit.py").unlink()
        (folder / "sitecustomize.py").unlink()
    done = run(folder, [*argv, "compare", "--base-url", "http://127.0.0.1:9"])
    assert not note.exists(), note.read_text()
    assert done.returncode == 3, done


FUTURE = ["2999-01-01T00:00:00Z", '"2999-01-01"', "2999-01-01T05:30:00+05:30"]
PAST = ["2001-01-01T00:00:00", "2001-01-01T00:00:00+05:30", "null", "2001-01-01"]


def test_f58_last_passed_in_the_future_stays_and_any_other_becomes_utc(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    for number, last in enumerate([*FUTURE, *PAST]):
        text = record(f"a{number}", 1).replace("last_passed: null", f"last_passed: {last}")
        (tmp_path / f"baselines/{number}.yaml").write_text(text)
    with Steady({"n": 1}) as service:
        argv = [sys.executable, "-P", "-m", "baselinekit", "compare", "--base-url", service.url]
        done = run(tmp_path, argv, TZ="Asia/Kolkata")
    assert (done.returncode, done.stdout.count("in the future, and stays as it is")) == (0, len(FUTURE)), done
    texts = [file.read_text() for file in sorted((tmp_path / "baselines").iterdir())]
    after = [re.findall("last_passed: (.*)", text)[0].strip("\"'") for text in texts]
    assert after[: len(FUTURE)] == [last.strip('"') for last in FUTURE]
    for moment in after[len(FUTURE) :]:
        then = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        assert abs(datetime.now(UTC) - then) < timedelta(minutes=2)
