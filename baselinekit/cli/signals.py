"""Ctrl-C, other signals, and a reader of standard output that leaves early."""

import gc
import importlib
import os
import signal
from types import FrameType, ModuleType
from typing import TextIO

# Signals before there is anything to tidy up: Ctrl-C ends the command with a word, and not with a
# traceback; and programs that we start can be waited for.


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


def import_module(name: str) -> ModuleType:
    """A module of this package, and all that it imports. There is nothing to collect yet, and to look for it
    would take a twentieth of the start."""
    gc.disable()
    try:
        return importlib.import_module(f"baselinekit.cli.{name}")
    finally:
        gc.enable()


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


# Whoever reads standard output may leave before it ends (`| head`), or take nothing (a full disk).


_lost: OSError | None = None


class ReaderLeft(Exception):
    """Not an OSError: click would take that for its affair, and end with the exit code of a regression."""


def lose(stream: TextIO, error: OSError, told: bool) -> None:
    """What is said from now on goes nowhere. The run goes on: there are files to be written, and a verdict.
    `told`: somebody should hear of it in the end."""
    global _lost
    let_go(stream)
    if told:
        _lost = _lost or error


def lost() -> OSError | None:
    """Why what was said did not reach anybody. Asked once."""
    global _lost
    error, _lost = _lost, None
    return error


def let_go(stream: TextIO | None) -> None:
    """What could not be written stays in the stream's buffer: the interpreter must not try again at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
