"""A bar while something long runs: one line on a terminal, drawn over itself and gone when all is done."""

import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from baselinekit.model.grades import Outcome
from baselinekit.report.terminal import format_progress
from baselinekit.report.wording import Style

_SECONDS_BETWEEN = 0.1
_CANNOT_DRAW = ("dumb", "unknown")
_ERASED = "\r\x1b[K"


@contextmanager
def show_progress(
    total: int, stream: TextIO, doing: str = "comparing", color: str = "auto"
) -> Iterator[Callable[[Outcome], None]]:
    """A bar on a terminal; in a pipe, and on a terminal that cannot draw over a line, nothing at all. What it
    gives is to be called once a result, from any thread. What is printed meanwhile stands above the bar."""
    if total < 2 or not stream.isatty() or os.environ.get("TERM") in _CANNOT_DRAW:
        yield lambda outcome: None
        return
    if isinstance(stream, _Above):  # one bar at a time: the newer one
        stream.bar.erase()
        stream = stream.stream
    colour = color == "always" or (color == "auto" and not os.environ.get("NO_COLOR"))
    bar = _Bar(total, stream, doing, colour)
    ticker = threading.Thread(target=bar.keep_drawing, daemon=True)
    standard = {"stdout": sys.stdout, "stderr": sys.stderr}
    above = {name: _Above(one, bar) for name, one in standard.items() if one is not None and one.isatty()}
    try:
        for name, instead in above.items():
            setattr(sys, name, instead)
        ticker.start()
        yield bar.came.append
    finally:
        bar.erase(finished=True)
        for name, instead in above.items():
            setattr(sys, name, instead.give_back())
        if ticker.is_alive():
            ticker.join()


class _Bar:
    """Results come from any thread and wait in a queue, so that nobody who works waits for the terminal. The
    cursor is never hidden: however this process ends, it need not be brought back."""

    def __init__(self, total: int, stream: TextIO, doing: str, colour: bool):
        self.came: deque[Outcome] = deque()
        self._total, self._stream, self._doing, self._colour = total, stream, doing, colour
        self._tally: Counter[Outcome] = Counter()
        self._began = time.monotonic()
        self._lock = threading.RLock()  # a signal's handler may print while a line is being drawn
        self._gone = threading.Event()
        self._shown = ""
        self._line_begun = False
        self._cells = "━─" if "utf" in (stream.encoding or "").lower() else "#-"
        self.draw()

    def keep_drawing(self) -> None:
        while not self._gone.wait(_SECONDS_BETWEEN):
            with self._lock:
                self.draw()

    def print_above(self, stream: TextIO, text: str) -> None:
        """A line that is not ended keeps the bar away: a question, say, and what is typed behind it."""
        with self._lock:
            self.put("")
            stream.write(text)
            stream.flush()
            self._line_begun = not text.endswith("\n")
            self.draw()

    def erase(self, finished: bool = False) -> None:
        with self._lock:
            if finished:
                self.draw()
            self.put("")
            self._gone.set()

    def draw(self) -> None:
        while self.came:
            self._tally[self.came.popleft()] += 1
        if self._line_begun or self._gone.is_set():
            return
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            columns = 80
        seconds, style = time.monotonic() - self._began, Style(self._colour, columns)
        self.put(format_progress(self._doing, self._total, self._tally, seconds, style, self._cells))

    def put(self, line: str) -> None:
        if line != self._shown:
            self._shown = line
            with suppress(OSError, ValueError):  # a terminal that was closed needs no bar
                self._stream.write(_ERASED + line)
                self._stream.flush()


class _Above:
    """A standard stream while a bar stands. Each line is written when its thread ends or flushes it, so
    that the lines of two threads do not mix."""

    def __init__(self, stream: TextIO, bar: _Bar):
        self.stream, self.bar = stream, bar
        self._begun: dict[int, str] = {}

    def write(self, text: str) -> int:
        thread = threading.get_ident()
        lines, end, begun = (self._begun.pop(thread, "") + text).rpartition("\n")
        if begun:
            self._begun[thread] = begun
        if end:
            self.bar.print_above(self.stream, lines + end)
        return len(text)

    def flush(self) -> None:
        if begun := self._begun.pop(threading.get_ident(), ""):
            self.bar.print_above(self.stream, begun)

    def give_back(self) -> TextIO:
        while self._begun:
            self.stream.write(self._begun.popitem()[1])
        return self.stream

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
