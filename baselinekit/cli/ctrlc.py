"""Ctrl-C before there is anything to tidy up: it ends the command with a word, and not with a traceback."""

import os
import signal
from types import FrameType

INTERRUPTED = 130


def leave_quietly() -> None:
    """From now on it ends the command at once, unless we were told not to hear it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


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
