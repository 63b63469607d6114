"""A progress bar: one line on a terminal, redrawn in place and erased at the end."""

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
    if isinstance(stream, _StreamAboveBar):  # one bar at a time: the newer one
        stream.bar.erase()
        stream = stream.stream
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
        self.stream, self.bar = stream, bar

    def write(self, text: str) -> int:
        self.bar.print_above(self.stream, text)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
