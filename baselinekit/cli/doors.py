"""The real doors: sockets, processes, the clock. Built here and handed down."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType

from baselinekit.replay.dispatch import Doors
from baselinekit.replay.http import Client
from baselinekit.replay.process import Processes
from baselinekit.replay.proxies import proxies_of_environment
from baselinekit.workflow.compare import Clock, Way


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


CLOCK = Clock(timestamp, time.monotonic)


@contextmanager
def real_way(advance: Callable[..., Callable[..., None]] | None = None) -> Iterator[Way]:
    """The doors, open until the run is over."""
    client = Client(proxies_of_environment())
    before = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    processes = Processes()

    def cancel() -> None:
        client.cancel()
        processes.cancel()  # last: a child that ignores the signal is waited for

    way = Way(Doors(client.send, processes.execute, client.sleep), cancel, CLOCK)
    if advance is not None:
        way = Way(way.doors, way.cancel, way.clock, advance)
    try:
        yield way
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        client.close()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A closed terminal, or whoever ends a job, gets what a Ctrl-C gets: what is done is kept."""
    raise KeyboardInterrupt
