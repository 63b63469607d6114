"""What stands around a run and should not matter: modules in the working folder, the clock, and nothing at
all to check."""

import os
import shutil
import subprocess
import sys
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
@pytest.mark.parametrize("words", [["--version"], ["compare"], ["doctor"]])
def test_f44_a_module_in_the_checkout_is_not_imported(tmp_path: Path, way: str, words: list[str]) -> None:
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
    done = run(
        folder, [*argv, *words, *(["--base-url", "http://127.0.0.1:9"] if words != ["--version"] else [])]
    )
    assert not note.exists(), note.read_text()
    assert done.returncode == {"--version": 0, "compare": 3, "doctor": 0}[words[0]], done


def compared(tmp_path: Path, last_passed: str, answer: int = 1) -> tuple[int, str, str]:
    """The exit code, what is said, and the `last_passed` afterwards."""
    folder = tmp_path / "project"
    (folder / "baselines").mkdir(parents=True)
    path = folder / "baselines/a.yaml"
    path.write_text(record("a", 1).replace("last_passed: null", f"last_passed: {last_passed}"))
    with Steady({"n": answer}) as service:
        argv = [sys.executable, "-P", "-m", "baselinekit", "compare", "--base-url", service.url]
        done = run(folder, argv, TZ="Asia/Kolkata")
    (line,) = [line for line in path.read_text().splitlines() if "last_passed" in line]
    assert "BK399" not in done.stderr, done
    return done.returncode, done.stdout + done.stderr, line.partition(": ")[2].strip("\"'")


@pytest.mark.parametrize("last", ["2999-01-01T00:00:00Z", '"2999-01-01"', "2999-01-01T05:30:00+05:30"])
def test_f58_a_time_in_the_future_stays_and_is_told(tmp_path: Path, last: str) -> None:
    code, said, after = compared(tmp_path, last)
    assert code == 0, said
    assert after == last.strip('"')
    assert "in the future, and stays as it is" in said


@pytest.mark.parametrize("last", ["2001-01-01T00:00:00", "2001-01-01T00:00:00+05:30", "null", "2001-01-01"])
def test_f58_a_time_of_any_kind_becomes_utc_in_seconds(tmp_path: Path, last: str) -> None:
    from datetime import UTC, datetime, timedelta

    code, said, after = compared(tmp_path, last)
    assert code == 0, said
    then = datetime.strptime(after, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - then) < timedelta(minutes=2)
