"""What is drawn in place on a terminal: a progress bar, and a region at the end that reads one key at a time.

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
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TextIO

from baselinekit.cli import screen
from baselinekit.model.grades import Outcome
from baselinekit.report.terminal import format_progress
from baselinekit.report.wording import Style

_SECONDS_BETWEEN = 0.1
_ERASE_LINE = "\r\x1b[K"


@contextmanager
def show_progress(
    total: int, stream: TextIO, action: str = "comparing", color: str = "auto"
) -> Iterator[Callable[[Outcome], None]]:
    """Show a bar on a terminal; nothing in a pipe or on a terminal that cannot redraw a line. The yielded
    function is called once per result, from any thread. Output printed meanwhile appears above the bar."""
    if total < 2 or not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield lambda outcome: None
        return
    has_colour = color == "always" or (color == "auto" and not os.environ.get("NO_COLOR"))
    bar = _Bar(total, stream, action, has_colour)
    ticker = threading.Thread(target=bar.keep_drawing, daemon=True)
    replaced = {"stdout": sys.stdout, "stderr": sys.stderr}
    try:
        for name, standard in replaced.items():
            if standard is not None and standard.isatty():
                setattr(sys, name, _StreamAboveBar(standard, bar))
        ticker.start()
        yield bar.outcomes.append
    finally:
        bar.erase(finished=True)
        for name, standard in replaced.items():
            setattr(sys, name, standard)
        if ticker.is_alive():
            ticker.join()


class _Bar:
    """Results from any thread are queued, so that no worker waits for the terminal. The cursor is never
    hidden, so it need not be restored however this process ends."""

    def __init__(self, total: int, stream: TextIO, action: str, colour: bool):
        self.outcomes: deque[Outcome] = deque()
        self._total, self._stream, self._action, self._colour = total, stream, action, colour
        self._tally: Counter[Outcome] = Counter()
        self._began = time.monotonic()
        self._lock = threading.RLock()  # a signal's handler may print while a line is being drawn
        self._is_erased = threading.Event()
        self._drawn_line = ""
        self._is_line_open = False
        self._cells = "━─" if "utf" in (stream.encoding or "").lower() else "#-"
        self.draw()

    def keep_drawing(self) -> None:
        while not self._is_erased.wait(_SECONDS_BETWEEN):
            with self._lock:
                self.draw()

    def print_above(self, stream: TextIO, text: str) -> None:
        """Print a text above the bar. While a line is unfinished, such as a question and its answer, the bar
        is not drawn."""
        with self._lock:
            self.put("")
            stream.write(text)
            stream.flush()
            self._is_line_open = not text.endswith("\n")
            self.draw()

    def erase(self, finished: bool = False) -> None:
        with self._lock:
            if finished:
                self.draw()
            self.put("")
            self._is_erased.set()

    def draw(self) -> None:
        while self.outcomes:
            self._tally[self.outcomes.popleft()] += 1
        if self._is_line_open or self._is_erased.is_set():
            return
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            columns = 80
        seconds, style = time.monotonic() - self._began, Style(self._colour, columns)
        self.put(format_progress(self._action, self._total, self._tally, seconds, style, self._cells))

    def put(self, line: str) -> None:
        if line != self._drawn_line:
            self._drawn_line = line
            with suppress(OSError, ValueError):  # a terminal that was closed needs no bar
                self._stream.write(_ERASE_LINE + line)
                self._stream.flush()


class _StreamAboveBar:
    """Replaces a standard stream while a bar is shown."""

    def __init__(self, stream: TextIO, bar: _Bar):
        self._stream, self._bar = stream, bar

    def write(self, text: str) -> int:
        self._bar.print_above(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


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
