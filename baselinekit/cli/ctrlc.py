"""Signals before there is anything to tidy up: Ctrl-C ends the command with a word, and not with a traceback;
and programs that we start can be waited for."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def leave_quietly() -> None:
    """From now on it ends the command at once, unless we were told not to hear it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def wait_for_children() -> None:
    """Who starts us may have said that it waits for no child, and we inherit that: the system would forget a
    program the moment it ends, and nobody would learn how."""
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def hear() -> None:
    """What takes long to import is there: from now on it is an exception, for something may have to be tidied
    up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """An exception would not do: what is raised in the middle of an import may be dropped, with a trace."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)
