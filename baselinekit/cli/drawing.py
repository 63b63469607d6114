"""What is drawn in place on a terminal: a line of progress, and a region that reads one key at a time.

The terminal stays in the mode for keys for a whole review, so that keys typed early are not lost. Ctrl-C
still works."""

import codecs
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from types import FrameType
from typing import TextIO

from baselinekit.cli import screen
from baselinekit.model.grades import Outcome
from baselinekit.report.wording import cut_to_width


@contextmanager
def show_progress(total: int, terminal: TextIO, action: str) -> Iterator[Callable[[Outcome], None]]:
    """Rewrite one line at each result; nothing on a terminal that cannot do that. The yielded function is
    called with each result, from any thread. The cursor waits at the beginning of the line, so that output
    printed meanwhile takes its place."""
    if total < 2 or os.environ.get("TERM") in ("dumb", "unknown"):
        yield lambda outcome: None
        return
    tally, began, lock = Counter[Outcome](), time.monotonic(), threading.Lock()

    def draw(line: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that was closed needs no progress
            columns = os.get_terminal_size(terminal.fileno()).columns or 80
            terminal.write(f"\r\x1b[K{cut_to_width(line, columns - 1)}\r")
            terminal.flush()

    def advance(outcome: Outcome) -> None:
        with lock:
            tally[outcome] += 1
            draw(format_progress(action, total, tally, time.monotonic() - began))

    try:
        yield advance
    finally:
        draw("")


def format_progress(action: str, total: int, tally: Counter[Outcome], seconds: float) -> str:
    """Format how many are done, how many went wrong, and the time that the others need at this pace."""
    done = tally.total()
    wrong = [f"{tally[outcome]:,} {outcome}" for outcome in ("failed", "error") if tally[outcome]]
    left = timedelta(seconds=round(seconds / done * max(total - done, 0)))
    return ", ".join([f"{action} {done:,}/{total:,}", *wrong, f"{left} left"])


_ESCAPE_SECONDS = 0.05
_READ_SIZE = 1024
_END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Keyboard:
    def __init__(self, fd: int):
        self._fd = fd
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: list[str] = []

    def key(self) -> str:
        """The next key; "" for a key without a meaning here. EOFError at the end of input."""
        while not self._waiting:
            data = os.read(self._fd, _READ_SIZE)
            if not data:
                raise EOFError
            self._waiting += self._keys(data)
        key = self._waiting.pop(0)
        if key == "\x04":
            raise EOFError
        return key

    def forget(self) -> None:
        """Discard keys that were typed before a question was visible: they do not answer it."""
        self._waiting.clear()
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def _keys(self, data: bytes) -> list[str]:
        """The keys in the bytes read. An arrow key sends several characters at once, the escape key only
        one."""
        if data == b"\x1b" and select.select([self._fd], [], [], _ESCAPE_SECONDS)[0]:
            data += os.read(self._fd, _READ_SIZE)
        if data.startswith(b"\x1b") and len(data) > 1:
            return [""]
        return list(self._decoder.decode(data))


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Read standard input key by key; the terminal's settings are always restored."""
    fd = sys.stdin.fileno()
    attributes = termios.tcgetattr(fd)

    def resume(number: int, frame: FrameType | None) -> None:
        tty.setcbreak(fd, termios.TCSADRAIN)  # the shell has set its own mode meanwhile

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    handlers = {signal.SIGCONT: resume, **dict.fromkeys(_END_SIGNALS, end)}
    previous = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)
        yield Keyboard(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, attributes)
        for number, handler in previous.items():
            signal.signal(number, handler)


class Region:
    """The last lines of the screen, which are redrawn in place. Lines printed before stay and can be scrolled
    back to. A terminal that cannot move its cursor gets one version after the other."""

    def __init__(self) -> None:
        self._moves = os.environ.get("TERM", "dumb") != "dumb"
        self._lines: Sequence[str] = ()

    def draw(self, lines: Sequence[str]) -> None:
        """Draw the lines without a final line break: the last line stays visible, with the cursor after
        it."""
        screen.show(self._erase_codes() + "\n".join(lines) + " ")
        self._lines = lines
        sys.stdout.flush()

    def say(self, text: str = "") -> None:
        """Print lines that stay, in place of the region."""
        screen.show(self._erase_codes() + text)
        self._lines = ()

    def _erase_codes(self) -> str:
        if not self._lines:
            return ""
        if not self._moves:
            return "\n"
        # after the terminal was made narrower some old rows may stay, but no others are erased
        up = len(self._lines) - 1
        return "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J"


def run_session(region: Region, step: Callable[[Keyboard], bool]) -> bool:
    """Call `step`, which draws and handles one key, until it returns False. Return False for a session that
    was interrupted by Ctrl-C or the end of the input."""
    try:
        with keyboard() as keys:
            while step(keys):
                pass
        region.say()
        return True
    except (KeyboardInterrupt, EOFError):
        region.say("\n")
        return False
