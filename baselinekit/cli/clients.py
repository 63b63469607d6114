"""The real clients: sockets, processes, the clock. Built here and handed down."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import FrameType

from baselinekit.cli.clock import Now, clock
from baselinekit.cli.progress import show_progress
from baselinekit.model.grades import Outcome
from baselinekit.programs.process import Processes
from baselinekit.replay.client import Client, proxies_of_environment
from baselinekit.replay.settings import Clients
from baselinekit.workflow.context import Clock, RunContext, Stop


def timestamps(now: Now) -> Callable[[], str]:
    """The present as it stands in files: UTC, in whole seconds."""
    return lambda: datetime.fromtimestamp(now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AT_ONCE = 3.0


@contextmanager
def real_context() -> Iterator[RunContext]:
    """The real clients, open until the run is over."""
    client = Client(proxies_of_environment())
    interrupt = _Interrupt()
    heard = [number for number in _ENDING if signal.getsignal(number) != signal.SIG_IGN]  # else: nohup
    before = {number: signal.signal(number, interrupt) for number in heard}
    sys.unraisablehook = interrupt.lost
    processes = Processes()

    def cancel() -> None:
        client.cancel()
        processes.cancel()  # last: a child that ignores the signal is waited for

    now = clock()
    clients = Clients(client.send, processes.execute, client.sleep, now=now)
    context = RunContext(clients, cancel, Clock(timestamps(now), time.monotonic), stop=interrupt.stop)
    try:
        yield context
    finally:
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in before.items() if not interrupt.came else ():
            signal.signal(number, handler)
        client.close()


@contextmanager
def with_progress(context: RunContext, doing: str, color: str = "auto") -> Iterator[RunContext]:
    """The same with a bar on standard error, until this ends; without one where nothing is said of it."""
    with ExitStack() as bars:

        def begin(total: int) -> Callable[[Outcome], None]:
            return bars.enter_context(show_progress(total, sys.stderr, doing, color))

        yield replace(context, advance=begin) if doing else context


class _Interrupt:
    """A closed terminal, or whoever ends a job, gets what a Ctrl-C gets: what is done is kept. That takes a
    moment, with the report, in which a second one (the same key again, or a signal to the whole group) must
    not undo it."""

    def __init__(self) -> None:
        self.stop = Stop()
        self._until = 0.0

    @property
    def came(self) -> bool:
        return self._until > 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if now < self._until:
            return
        first, self._until = not self.came, now + _AT_ONCE
        if first and self.stop.is_heard:
            self.stop.ask()
        else:
            raise KeyboardInterrupt

    def lost(self, what: "sys.UnraisableHookArgs") -> None:
        """Python was tidying up by the way when the signal came, and drops what is raised there: it comes
        again in a moment."""
        if what.exc_type is KeyboardInterrupt:
            self._until = 0.0
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(what)
