"""`baselinekit review` in a real terminal: keys go in, the screen is read as an eye reads it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from console import ROOT, console

pytestmark = pytest.mark.slow

LONGEST = 20.0
BASELINE = """\
id: {id}
baseline:
  output: {{exit_code: 0, stdout: "{stored}"}}
current:
  input: {{argv: [echo, {answer}]}}
  execution: {{type: command}}
metadata: {{last_passed: null, failure_count: 0}}
"""
OWNS_ITS_TERMINAL = """\
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
tests, slept = sys.argv[1:3]
del sys.argv[1:3]
sys.path.append(tests)
from at import by_clock
from baselinekit.cli.main import main
main(**by_clock(0.0, slept))
"""
_MOVE = re.compile(r"\x1b\[(\d*)([AJm])")


@dataclass
class Tty:
    """A child in a terminal of its own. `output` is all that it has written."""

    child: subprocess.Popen[bytes]
    fd: int
    output: str = ""

    def until(self, text: str, start: int | None = None) -> None:
        """Read until a text is on the screen, after `start` in the output."""
        began, start = time.monotonic(), len(self.output) if start is None else start
        while text not in self.output[start:]:
            assert time.monotonic() - began < LONGEST, f"no {text!r} in {self.output[start:]!r}"
            if not self._read():
                assert text in self.output[start:], self.output[start:]

    def type(self, keys: str, then: str) -> None:
        """Keys, and what is on the screen because of them."""
        start = len(self.output)
        os.write(self.fd, keys.encode())
        self.until(then, start)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def leave(self, key: str) -> None:
        """A key that ends it, until it does: one that comes before the line is read otherwise is lost."""
        for _ in range(int(LONGEST)):
            os.write(self.fd, key.encode())
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(1)
                return

    def end(self) -> int:
        while self._read():
            pass
        return self.child.wait(LONGEST)

    def _read(self) -> bool:
        if not select.select([self.fd], [], [], LONGEST)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # Linux says so when the other end is closed
            return False
        self.output += data.decode("utf-8", "replace")
        return bool(data)


@contextmanager
def in_terminal(
    folder: Path,
    *words: str,
    rows: int = 24,
    columns: int = 80,
    term: str = "xterm",
    command: str = "review",
    env: Mapping[str, str] | None = None,
) -> Iterator[Tty]:
    environ = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TERM": term,
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
        **(env or {}),
    }
    fd, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    child = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-c",
            OWNS_ITS_TERMINAL,
            str(ROOT / "tests"),
            f"{folder}-slept",
            command,
            *words,
        ],
        cwd=folder,
        env=environ,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    try:
        yield Tty(child, fd)
    finally:
        os.close(fd)
        child.kill()
        child.wait()


def _screen(seen: str) -> list[str]:
    """The lines as they stand at last: drawn over where the cursor was moved up."""
    lines = [""]
    position = 0
    for match in [*_MOVE.finditer(seen), None]:
        for part in re.split(r"(\r\n|\n|\r)", seen[position : match.start() if match else len(seen)]):
            if part in ("\r\n", "\n"):
                lines.append("")
            elif part == "\r":
                lines[-1] = ""
            else:
                lines[-1] += part
        if match:
            position = match.end()
            if match[2] == "A":
                del lines[len(lines) - int(match[1] or 1) :]
                lines[-1] = ""
    return [line.rstrip() for line in lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project in which three commands say something else."""
    with console(tmp_path / "project") as terminal:
        baselines = terminal.folder / "baselines"
        baselines.mkdir()
        for id, answer in (("one", "uno"), ("two", "dos"), ("three", "tres")):
            (baselines / f"{id}.yaml").write_text(BASELINE.format(id=id, stored=f"{id}\\n", answer=answer))
        assert terminal.run("baselinekit compare --allow-exec --no-record -q").exit_code == 1
        return terminal.folder


def _files(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text() for path in sorted((folder / "baselines").glob("*.yaml"))}


def test_review_keys_decide_and_the_end_writes(folder: Path) -> None:
    with in_terminal(folder) as tty:
        tty.until("q quit")
        assert _screen(tty.output)[1].startswith("1 of 1  one  baselines/one.yaml:3")
        tty.type("m", "1 of 3")
        tty.type("a", "2 of 3")
        tty.type("p", "type one")
        tty.type("t\x15<<any_string>>\r", "3 of 3")
        tty.type("?", "Ctrl-C")
        tty.type("r", "Enter write")
        tty.type("\r", "next: ")
        assert tty.end() == 0
    screen = [line for line in _screen(tty.output) if line]
    assert screen[:3] == [
        "accepted    one  stdout  - one + uno",
        "placeholder three  stdout  <<any_string>>",
        "rejected    two  stdout  - two + dos",
    ]
    assert screen[3] == "1 accepted, 1 rejected, 1 placeholder"
    files = _files(folder)
    assert "uno" in files["one"].split("current")[0]
    assert "<<any_string>>" in files["three"]
    assert files["two"] == BASELINE.format(id="two", stored="two\\n", answer="dos")
    assert not list((folder / ".baselinekit/pending").glob("*.json"))


@pytest.mark.parametrize("end", ["\x03", "SIGTERM"])
def test_review_that_is_interrupted_writes_nothing_and_restores_the_terminal(folder: Path, end: str) -> None:
    before = _files(folder)
    with in_terminal(folder) as tty:
        attributes = termios.tcgetattr(tty.fd)
        tty.until("q quit")
        tty.type("ma", "2 of 3")
        assert termios.tcgetattr(tty.fd)[3] != attributes[3]
        if end == "SIGTERM":
            tty.child.send_signal(signal.SIGTERM)
            tty.until("nothing was written", 0)
        else:
            tty.type(end, "nothing was written")
        assert termios.tcgetattr(tty.fd)[3] == attributes[3]
        assert tty.end() == 130
    assert _files(folder) == before
    assert len(list((folder / ".baselinekit/pending").glob("*.json"))) == 3


def test_review_takes_no_yes_typed_before_its_question(folder: Path) -> None:
    """Keys that come early wait for their turn, but not to say yes to what nobody has seen."""
    with in_terminal(folder) as tty:
        tty.until("q quit")
        tty.type("mAyyy", "accept 3 of the 3 that remain")
        time.sleep(0.3)
        tty.type("n", "1 of 3")
        tty.type("q", "nothing was decided, 3 left")
        assert tty.end() == 3


def test_review_draws_for_the_size_of_the_terminal(folder: Path) -> None:
    with in_terminal(folder) as tty:
        tty.until("q quit")
        tty.type("d", "q quit")
        assert "+++ b/baselines/one.yaml" in _screen(tty.output)
        tty.resize(12, 40)
        tty.type("i", "u undo  ? help  q quit")
        tty.type("q", "left")
        assert tty.end() == 3
