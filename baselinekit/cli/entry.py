"""Where the command begins, before anything is imported that takes its time: signals and standard streams."""

import gc
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
    """The console script. For whoever starts it from Python: `now`, another clock than the machine's, and
    `sleep`, which lets its time go by.

    A standard stream that is closed leads nowhere from then on: the next file that is opened would take its
    number, for it takes the lowest one that is free, and whatever is printed would land in it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    # who starts us may ignore the end of its children, and we inherit that: nobody would learn how a program
    # of ours ended
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)  # a program that we run is to find it open as well
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
    try:
        if sys.argv[1:2] in (["git-merge"], ["git-textconv"]):
            import_named("gitcalls.answer")(sys.argv[1], sys.argv[2:])
        import_named("main.main")(now=now, sleep=sleep)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def leave(number: int, frame: FrameType | None) -> None:
    """End at a Ctrl-C while there is nothing to tidy up. An exception would not do: what is raised in the
    middle of an import may be dropped, with a trace."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def raise_on_interrupt() -> None:
    """What takes long to import is there: from now on a Ctrl-C is an exception, for something may have to be
    tidied up."""
    if signal.getsignal(signal.SIGINT) is leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def import_named(path: str) -> Any:
    """`module.name` of this package. While it is imported there is nothing to collect yet, and to look for it
    would take a twentieth of the start; nor is there later, for what was imported stays."""
    module, _, name = path.partition(".")
    before = len(sys.modules)
    gc.disable()
    try:
        return getattr(importlib.import_module(f"baselinekit.cli.{module}"), name)
    finally:
        if len(sys.modules) > before:
            gc.freeze()
        gc.enable()


# Whoever reads standard output may leave before it ends (`| head`), or take nothing (a full disk).
_lost: OSError | None = None


class ReaderLeft(Exception):
    """Not an OSError: click would take that for its affair, and end with the exit code of a regression."""


def lose(stream: TextIO, error: OSError, reported: bool) -> None:
    """What is printed from now on goes nowhere. The run goes on: there are files to be written, and a
    verdict. `reported`: whether it is reported in the end."""
    global _lost
    discard(stream)
    if reported:
        _lost = _lost or error


def take_lost() -> OSError | None:
    """Why what was printed did not reach anybody. Asked once."""
    global _lost
    error, _lost = _lost, None
    return error


def discard(stream: TextIO | None) -> None:
    """What could not be written stays in the stream's buffer: the interpreter must not try again at exit."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# The time of day is read here alone: whoever starts a command may hand it another clock (`main(now=…)`).


class HandedClock:
    """The object that click gives to every command below this one."""

    def __init__(self, now: Now, sleep: Sleep | None = None):
        self.now, self.sleep = now, sleep


def clock() -> Now:
    """The clock of the command that runs. Asked for in its main thread, and then handed on."""
    handed = _handed()
    return time.time if handed is None else handed.now


def sleep() -> Sleep | None:
    """How the command that runs waits between two requests, where its clock came with a way of its own."""
    handed = _handed()
    return None if handed is None else handed.sleep


def _handed() -> HandedClock | None:
    click = sys.modules.get("click")  # which every command has loaded, and a test that compares has not
    if click is None:
        return None
    context = click.get_current_context(silent=True)
    return context.find_object(HandedClock) if context is not None else None
