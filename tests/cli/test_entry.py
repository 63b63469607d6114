"""How the command begins: before anything is imported, and whatever it was given for standard streams."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from baselinekit.cli.main import run
from baselinekit.errors import internal_error

ROOT = Path(__file__).parents[2]

INTERRUPTED = """\
import importlib.abc, os, signal, sys

class Moment(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == 'click':
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


@pytest.mark.slow
def test_interrupt_during_the_imports_is_one_word_unless_it_is_ignored(tmp_path: Path) -> None:
    assert python(INTERRUPTED, tmp_path) == (130, "interrupted\n")
    code, output = python(INTERRUPTED, tmp_path, lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert (code, "BK508" in output or "no baseline" in output) == (5, True), output


EACH = """\
id: {id}
baseline: {{output: {{stdout: "{id}\\n"}}}}
current: {{input: {{argv: [say]}}, execution: {{type: command}}}}
"""


@pytest.mark.slow
def test_compare_with_a_closed_stream_writes_its_messages_into_no_file(tmp_path: Path) -> None:
    (tmp_path / "baselines").mkdir()
    config = 'version: 1\ncommands: {say: [sh, -c, "echo same; echo x >&2"]}\n'
    (tmp_path / "baselinekit.yaml").write_text(config)
    for id in ("same", "other"):
        (tmp_path / f"baselines/{id}.yaml").write_text(EACH.format(id=id))
    ran = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -P -m baselinekit compare -o x.json 2>&-'],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "passed" in ran.stdout) == (1, True), ran
    assert (tmp_path / "x.json").exists()
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*.*") if path.suffix in (".yaml", ".lock")]
    assert not any("passed in" in text for text in written)


@pytest.mark.parametrize(("cause", "code"), [(KeyboardInterrupt(), 130), (ValueError("x"), 3)])
def test_run_interrupted_while_a_class_is_made_is_interrupted(
    cause: BaseException, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python wraps what is raised there."""
    error = RuntimeError("Error calling __set_name__")

    def now() -> float:
        raise error from cause

    assert run(["compare", str(tmp_path)], now=now) == code
    assert ("interrupted" in capsys.readouterr().err) is (code == 130)
    error.__cause__ = cause
    if code == 130:
        with pytest.raises(KeyboardInterrupt):
            internal_error(error)
    else:
        assert internal_error(error).problems[0].code == "BK399"
