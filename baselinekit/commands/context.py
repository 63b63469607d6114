"""What a run needs besides its project: clients, time, threads that ask models, and a way to stop."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Self

from baselinekit.kinds.settings import Clients, ModelCalls
from baselinekit.model.grades import Outcome
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.store.atomic import SHORT_WAIT, WAIT
from baselinekit.structs import Struct, field, replace

SIGNAL_CHECK = 1.0
"""Seconds after which the main thread looks up from a wait. A signal that arrives just before a wait begins
does not end it: Python handles a signal only when the main thread runs again."""


TICK = 1.1
"""Seconds after which a clock of whole seconds is certain to show another time: replays within one second
agree on it by chance."""


class Stop:
    """Whether the run is to end. While it `is_heard`, a signal only sets a flag and raises no exception,
    which could strike between any two steps and leave a lock locked. A signal handler may call `ask`."""

    def __init__(self) -> None:
        self.is_heard = False
        self.wake: Callable[[], None] = lambda: None
        self._asked = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        self.is_heard = True
        try:
            yield
        finally:
            self.is_heard = False

    def ask(self) -> None:
        self._asked = True
        self.wake()

    def is_set(self) -> bool:
        return self._asked

    def wait(self) -> float:
        """How many seconds to wait for a lock."""
        return SHORT_WAIT if self._asked else WAIT


# Several questions to models at the same time. A run sends no more than `-j` questions at once, for replays
# and comparisons together; each model gets as many of them as its entry allows.


class ModelThreads:
    """Asks models in threads, for the time of a run. These threads only wait for a client, so that the
    threads which wait for them can always go on."""

    def __init__(self, clients: Clients, jobs: int):
        self._ask = clients.models.ask
        self._free = threading.Semaphore(jobs)
        self._threads = ThreadPoolExecutor(jobs, thread_name_prefix="asking")
        models = ModelCalls(self.ask, clients.models.check)
        self.clients = replace(clients, models=models, together=self.together)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)

    def ask(self, ask: ModelQuestion) -> Answer:
        with self._free:
            return self._ask(ask)

    def together(self, calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
        """Return the result of each call. If one fails, those that have not begun are cancelled."""
        return [*self._threads.map(lambda call: call(), calls)]


# The run context: what a run needs besides its project.


class RunContext(Struct):
    """What a run needs besides its project: clients, a way to cancel it, the time of day as it is written
    down, the seconds of a clock that is never set, and a progress display."""

    clients: Clients
    cancel: Callable[[], None]
    timestamp: Callable[[], str]
    seconds: Callable[[], float]
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)
