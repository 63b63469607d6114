"""How the command begins: before anything is imported, and whatever it was given for standard streams."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

INTERRUPTED = """\
import importlib.abc, os, signal, sys

class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Moment())
sys.argv = ["baselinekit", "compare"]
from baselinekit.cli.entry import main
main()
"""


def python(code: str, folder: Path, before: Callable[[], object] | None = None) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=before,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout


def shell(line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -P -m baselinekit {line}'],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", ["click", "baselinekit.cli.compare"])
def test_a_ctrl_c_while_it_is_still_being_imported_is_told_in_one_word(name: str, tmp_path: Path) -> None:
    assert python(INTERRUPTED.format(name=name), tmp_path) == (130, "interrupted\n")


def test_who_was_told_not_to_hear_a_ctrl_c_does_not(tmp_path: Path) -> None:
    code, said = python(
        INTERRUPTED.format(name="click"), tmp_path, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    assert (code, "BK505" in said or "no baseline" in said) == (5, True), said


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_a_closed_stream_takes_nothing_from_the_others(closed: str, tmp_path: Path) -> None:
    ran = shell(f"explain BK120 {closed}", tmp_path)
    assert ran.returncode == 0, ran
    assert ("a file that could not be written" in ran.stdout) == (">" not in closed.replace("2>&-", "")), ran
    assert "Traceback" not in ran.stdout + ran.stderr


EACH = """\
id: {id}
baseline: {{output: {{stdout: "{id}\\n"}}}}
current: {{input: {{argv: [say]}}, execution: {{type: command}}}}
"""


def test_a_closed_stream_changes_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselinekit.yaml").write_text(
        'version: 1\ncommands: {say: [sh, -c, "echo same; echo x >&2"]}\n'
    )
    for id in ("same", "other"):
        (tmp_path / f"baselines/{id}.yaml").write_text(EACH.format(id=id))
    ran = shell("compare -o x.json 2>&-", tmp_path)
    assert ran.returncode == 1, ran
    assert (tmp_path / "x.json").exists()
    assert "passed" in ran.stdout, ran
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*.*") if path.suffix in (".yaml", ".lock")]
    assert not any("passed in" in text for text in written), "what is said has landed in a file"
