"""One key at a time from a terminal, and a region at its end that is drawn again in place.

The terminal is in this state for all of a review: a key that comes early waits for its turn, and is not lost.
Ctrl-C stays what it is."""

import codecs
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from baselinekit.cli import screen

REDRAW, AGAIN = "redraw", "again"
"""No keys: the terminal has another size; it is ours again, and somebody else has written on it."""

_AT_ONCE = 0.05
_MOST = 1024
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Keyboard:
    """Where keys come from. `wake` becomes readable when the terminal has something else to say."""

    def __init__(self, fd: int, wake: int):
        self._fd = fd
        self._wake = wake
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting: list[str] = []

    def key(self) -> str:
        """The next one; "" is one that means nothing here. EOFError: there will be none."""
        while not self._waiting:
            ready, _, _ = select.select([self._fd, self._wake], [], [])
            if self._wake in ready:
                return AGAIN if signal.SIGCONT in os.read(self._wake, _MOST) else REDRAW
            data = os.read(self._fd, _MOST)
            if not data:
                raise EOFError
            self._waiting += self._keys(data)
        key = self._waiting.pop(0)
        if key == "\x04":
            raise EOFError
        return key

    def forget(self) -> None:
        """What was typed before a question was in sight is no answer to it."""
        self._waiting.clear()
        termios.tcflush(self._fd, termios.TCIFLUSH)

    def _keys(self, data: bytes) -> list[str]:
        """The keys of a read. An arrow comes as several characters at once, the escape key alone."""
        if data == b"\x1b" and select.select([self._fd], [], [], _AT_ONCE)[0]:
            data += os.read(self._fd, _MOST)
        if data.startswith(b"\x1b") and len(data) > 1:
            return [""]
        return list(self._decoder.decode(data))


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """The keyboard of standard input, key by key; the terminal is left as it was found, whatever ends it."""
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    read, write = os.pipe()
    os.set_blocking(write, False)

    def again(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGCONT:
            tty.setcbreak(fd, termios.TCSADRAIN)

    def end(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    handlers = {signal.SIGWINCH: again, signal.SIGCONT: again, **dict.fromkeys(_ENDING, end)}
    heard = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) != signal.SIG_IGN
    }
    woken = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)
        yield Keyboard(fd, read)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
        signal.set_wakeup_fd(woken)
        for number, handler in heard.items():
            signal.signal(number, handler)
        os.close(read)
        os.close(write)


class Region:
    """The last lines of the screen. What was drawn there is replaced; what was said before it stays, and can
    be scrolled back to. A terminal that cannot move its cursor is shown one after the other."""

    def __init__(self) -> None:
        self._moves = os.environ.get("TERM", "dumb") != "dumb"
        self._lines: Sequence[str] = ()

    def draw(self, lines: Sequence[str]) -> None:
        """Without a line break at the end: so the last line stays in sight, with the cursor behind it."""
        screen.show(self._erased() + "\n".join(lines) + " ")
        self._lines = lines
        sys.stdout.flush()

    def leave(self) -> None:
        """What was drawn stays where it is."""
        self._lines = ()

    def say(self, text: str = "") -> None:
        """Lines that stay, in the place of the region."""
        screen.show(self._erased() + text)
        self._lines = ()

    def _erased(self) -> str:
        if not self._lines:
            return ""
        if not self._moves:
            return "\n"
        up = (
            len(self._lines) - 1
        )  # of a terminal made narrower some rows may stay: none that is not ours goes
        return "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J"
