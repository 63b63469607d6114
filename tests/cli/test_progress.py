"""The progress bar: what it shows, and that nothing else on the terminal suffers from it."""

import contextlib
import fcntl
import io
import os
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from baselinekit.cli.drawing import show_progress

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def shown(sent: bytes) -> list[str]:
    """What stands on a terminal that was sent this: a line may be drawn again from its start."""
    text = re.sub(r"\x1b\[[0-9;?]*m", "", sent.decode())
    return [re.split(r"\r\x1b\[K", line)[-1].strip("\r") for line in text.split("\n")]


START = (
    "import os, signal, sys, threading, time\nfrom baselinekit.cli.drawing import show_progress as progress\n"
)


class Child:
    """A program of these lines, whose standard error is a terminal, and its standard output as well if that
    is nothing else."""

    def __init__(self, code: str, stdout: int | None = None, cwd: Path | None = None, **env: str):
        self._ours, self._theirs = os.openpty()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START + code],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=self._theirs if stdout is None else stdout,
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
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.sent


THREE = (
    "with progress(3, sys.stderr, color={!r}) as advance:\n"
    "    for outcome in ('passed', 'failed', 'error'): advance(outcome)\n"
)


def test_progress_on_a_terminal_is_a_bar_that_is_gone_at_the_end() -> None:
    for color, environment, coloured in (("auto", {}, True), ("always", {"NO_COLOR": "1"}, True)):
        sent = Child(THREE.format(color), **environment).end()
        assert b"3/3" in sent
        assert b"1 failed, 1 error" in sent
        assert bool(re.search(rb"\x1b\[[0-9;]*m", sent)) == coloured
        assert shown(sent) == [""]
    plain = Child(THREE.format("auto"), NO_COLOR="1", PYTHONIOENCODING="ascii").end()
    assert b"#" * 40 + b" 3/3" in plain
    assert plain.isascii()
    assert not re.search(rb"\x1b\[[0-9;]*m", plain)


def test_progress_where_no_line_can_be_drawn_again_is_nothing() -> None:
    assert Child(THREE.format("auto"), TERM="dumb").end() == b""
    stream = io.StringIO()
    before = sys.stdout, sys.stderr, threading.active_count()
    with show_progress(100, stream) as advance:
        assert (sys.stdout, sys.stderr, threading.active_count()) == before
        advance("passed")
    assert stream.getvalue() == ""


def test_progress_keeps_lines_printed_meanwhile_whole() -> None:
    code = (
        "def work(number):\n"
        "    for at in range(20):\n"
        "        (sys.stdout, sys.stderr)[at % 2].write(f'{number}: line {at}\\n')\n"
        "        advance('passed')\n"
        "        time.sleep(0.01)\n"
        "with progress(60, sys.stderr) as advance:\n"
        "    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]\n"
        "    for thread in threads: thread.start()\n"
        "    for thread in threads: thread.join()\n"
        "print('end')\n"
    )
    sent = Child(code).end()
    *lines, end, last = shown(sent)
    assert (end, last) == ("end", "")
    assert sorted(lines) == sorted(f"{number}: line {at}" for number in range(3) for at in range(20))
    assert b"60/60" in sent


SCENES = """\
streams = sys.stdout, sys.stderr
with progress(9, sys.stderr) as advance:
    advance('passed')
    print('go on? ', end='', flush=True)
    time.sleep(0.3)
    advance('passed')
    time.sleep(0.3)
    print('yes')
try:
    with progress(9, sys.stderr) as advance:
        assert sys.stdout.isatty() and sys.stderr.fileno() == 2 and sys.stdout is not streams[0]
        1 / 0
except ZeroDivisionError:
    print((sys.stdout, sys.stderr) == streams, threading.active_count())
"""


def test_progress_waits_for_a_question_and_restores_the_streams() -> None:
    """The bar stays away until the line of the question has ended; and what fails inside passes."""
    sent = Child(SCENES, NO_COLOR="1").end()
    assert sent.split(b"go on? ")[1].startswith(b"yes")
    assert shown(sent) == ["go on? yes", "True 1", ""]


def test_progress_does_not_repeat_lines_printed_into_a_pipe() -> None:
    code = "with progress(9, sys.stderr) as advance:\n    print('a line', flush=True)\n"
    child = Child(code, stdout=subprocess.PIPE)
    assert child.process.stdout is not None
    printed = child.process.stdout.read()
    assert printed == b"a line\n"
    assert b"a line" not in child.end()


@pytest.mark.slow
def test_compare_interrupted_leaves_its_report_and_no_bar(tmp_path: Path) -> None:
    for name, argv in (("quick", "echo"), ("slow", "sleep"), ("slower", "sleep")):
        (tmp_path / f"{name}.yaml").write_text(
            f"id: {name}\ncurrent: {{input: {{argv: [{argv}, '60']}}, execution: {{type: command}}}}\n"
            "baseline: {output: {exit_code: 0}}\n"
        )
    code = (
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
