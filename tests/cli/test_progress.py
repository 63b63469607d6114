"""The line of progress: what it shows, and that nothing of it is left."""

import contextlib
import fcntl
import os
import re
import signal
import struct
import subprocess
import sys
import termios
from collections import Counter
from pathlib import Path

import pytest

from baselinekit.cli.drawing import format_progress

ROOT = Path(__file__).parents[2]
THREE = """\
import sys
from baselinekit.cli.drawing import show_progress
with show_progress(3, sys.stderr, "comparing") as advance:
    for outcome in ("passed", "failed", "error"):
        advance(outcome)
"""


def shown(sent: bytes) -> list[str]:
    """What is on a terminal that was sent this: a line may be drawn again from its start."""
    return [re.split(r"\r\x1b\[K", line)[-1].strip("\r") for line in sent.decode().split("\n")]


class Child:
    """A program of these lines, whose standard output and error are a terminal."""

    def __init__(self, code: str, cwd: Path | None = None, **env: str):
        self._ours, self._theirs = os.openpty()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._theirs,
            stderr=self._theirs,
            env={"PATH": os.defpath, "TERM": "xterm", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), **env},
        )
        os.close(self._theirs)
        self.sent = b""

    def wait_for(self, text: bytes) -> None:
        while text not in self.sent:
            part = os.read(self._ours, 4096)
            assert part, self.sent
            self.sent += part

    def end(self) -> bytes:
        """All that it sent until it ended."""
        with contextlib.suppress(OSError):
            while part := os.read(self._ours, 4096):
                self.sent += part
        os.close(self._ours)
        self.process.wait(30)
        return self.sent


@pytest.mark.slow
def test_progress_on_a_terminal_is_a_line_that_is_gone_at_the_end() -> None:
    sent = Child(THREE).end()
    assert b"\r\x1b[Kcomparing 3/3, 1 failed, 1 error, 0:00:00 left\r" in sent
    assert shown(sent) == [""]
    assert Child(THREE, TERM="dumb").end() == b""


def test_format_progress_extrapolates_the_time_that_is_left() -> None:
    assert format_progress("comparing", 10_000, Counter(passed=2_000), 60.0) == (
        "comparing 2,000/10,000, 0:04:00 left"
    )


@pytest.mark.slow
def test_compare_interrupted_leaves_its_report_and_no_bar(tmp_path: Path) -> None:
    for name, argv in (("quick", "echo"), ("slow", "sleep"), ("slower", "sleep")):
        (tmp_path / f"{name}.yaml").write_text(
            f"id: {name}\ncurrent: {{input: {{argv: [{argv}, '60']}}, execution: {{type: command}}}}\n"
            "baseline: {output: {exit_code: 0}}\n"
        )
    code = (
        "import sys\n"
        "sys.argv = ['baselinekit', 'compare', '--allow-exec', '.']\n"
        "from baselinekit.cli.entry import main\n"
        "sys.exit(main())\n"
    )
    child = Child(code, cwd=tmp_path, NO_COLOR="1")
    child.wait_for(b"1/3")
    child.process.send_signal(signal.SIGINT)
    lines = shown(child.end())
    assert child.process.returncode == 130
    assert [line.split(" in ")[0] for line in lines] == [
        "2 skipped, 1 passed",
        "next: baselinekit compare . --lf --allow-exec",
        "",
    ]
