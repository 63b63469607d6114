"""Where the command begins: before anything is imported that takes its time.

A standard stream that is closed leads nowhere from then on: else the next file to be opened would take its
number, and whatever is said would land in there."""

import os
import sys
from collections.abc import Callable

from baselinekit.cli import signals


def main(now: Callable[[], float] | None = None) -> None:
    """The console script. `now`: another clock than the machine's, for whoever starts it from Python."""
    signals.leave_quietly()
    signals.wait_for_children()
    _open_streams()
    from baselinekit.cli.main import main as begin

    try:
        begin(now=now)
    except KeyboardInterrupt:
        sys.exit(signals.INTERRUPTED)


def _open_streams() -> None:
    """In the order of their numbers: a file that is opened takes the lowest one that is free."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(handle, True)  # a program that we run is to find it open as well
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
