"""The run context: what a run needs of the world besides its clients."""

from collections.abc import Callable
from dataclasses import dataclass, field

from baselinekit.model.grades import Outcome
from baselinekit.replay.settings import Clients
from baselinekit.workflow.pool import Stop


@dataclass(frozen=True, slots=True)
class Clock:
    """The present, in the forms that a run writes it."""

    timestamp: Callable[[], str]
    seconds: Callable[[], float]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run needs of the world besides the clients: how it is cancelled, the time, and whom to tell."""

    clients: Clients
    cancel: Callable[[], None]
    clock: Clock
    advance: Callable[[int], Callable[[Outcome], None]] = lambda total: lambda outcome: None
    stop: Stop = field(default_factory=Stop)
