"""Where the command starts, before any slow imports: signals and standard streams."""

import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

INTERRUPTED = 130

Now = Callable[[], float]
"""Seconds since 1970."""
Sleep = Callable[[float], None]


def main(now: Now | None = None, sleep: Sleep | None = None) -> None:
    """The console script. For callers from Python: `now` is a clock other than the machine's, and `sleep`
    lets its time pass.

    A standard stream that is closed is replaced by the null device: the next file to be opened would get its
    number, the lowest free one, and everything printed would end up in that file."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_on_interrupt)
    # an ignored SIGCHLD is inherited from the parent process: we would never learn how our programs ended
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)  # programs that we run need it open as well
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
    try:
        if sys.argv[1:2] in (["git-merge"], ["git-textconv"]):
            import_named("gitcalls.answer")(sys.argv[1], sys.argv[2:])
        import_named("main.main")(now=now, sleep=sleep)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def exit_on_interrupt(number: int, frame: FrameType | None) -> None:
    """Exit at a Ctrl-C while there is nothing to clean up. An exception would not do: one raised during an
    import may be swallowed, with a traceback."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def raise_on_interrupt() -> None:
    """Let a Ctrl-C raise KeyboardInterrupt from now on: the slow imports are done, and there may be something
    to clean up."""
    if signal.getsignal(signal.SIGINT) is exit_on_interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def import_named(path: str) -> Any:
    """Import `module.name` of this package."""
    module, _, name = path.partition(".")
    return getattr(importlib.import_module(f"baselinekit.cli.{module}"), name)


# Standard output may be closed by its reader (`| head`) or fail (a full disk).
_write_error: OSError | None = None


class ReaderLeft(Exception):
    """The reader of standard output is gone. Not an OSError: click would handle that itself, and exit with
    the code of a regression."""


def record_write_error(stream: TextIO, error: OSError, reported: bool) -> None:
    """Discard all further output. The run goes on, as there are files to write and a verdict. `reported`:
    whether the error is reported at the end."""
    global _write_error
    discard(stream)
    if reported:
        _write_error = _write_error or error


def take_write_error() -> OSError | None:
    """The error that stopped the output, if any. It is returned only once."""
    global _write_error
    error, _write_error = _write_error, None
    return error


def discard(stream: TextIO | None) -> None:
    """Redirect a stream to the null device: unwritten text stays in its buffer, and the interpreter must not
    try to write it again at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# The time of day is read only here: callers may pass another clock (`main(now=…)`).


class HandedClock:
    """A clock passed by the caller; click hands the object to every subcommand."""

    def __init__(self, now: Now, sleep: Sleep | None = None):
        self.now, self.sleep = now, sleep


def clock() -> Now:
    """The clock of the running command. Call it in the main thread, and pass it on from there."""
    handed = _handed_clock()
    return time.time if handed is None else handed.now


def sleep() -> Sleep | None:
    """The sleep function that was passed with the clock of the running command, if any."""
    handed = _handed_clock()
    return None if handed is None else handed.sleep


def _handed_clock() -> HandedClock | None:
    click = sys.modules.get("click")  # loaded by every command, but not by a test that compares
    if click is None:
        return None
    context = click.get_current_context(silent=True)
    return context.find_object(HandedClock) if context is not None else None
