"""What a replay needs besides its recipe: the doors to the world, and what surrounds the recipe's file."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.asking import Answer, Ask
from baselinekit.model.config import HttpDefaults
from baselinekit.model.observation import Finished, Request, Response, Run
from baselinekit.model.recipes import Surroundings
from baselinekit.model.values import Path
from baselinekit.replay.ceilings import Ceilings
from baselinekit.trust import Trust
from baselinekit.variables import Redactor, Scope

Execute = Callable[[Run], Finished]


class Models(Protocol):
    """The door to the models, by the names that the configuration gives them."""

    def ask(self, ask: Ask) -> Answer: ...
    def check(self, name: str) -> None: ...


Similar = Callable[[Sequence[tuple[str, str]]], list[float]]
"""How alike the texts of each pair are, by a local model."""


Together = Callable[[Sequence[Callable[[], Answer]]], list[Answer]]
"""Several questions, at the same time where that can be done."""


def one_by_one(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    return [call() for call in calls]


class NoModels:
    """For a run that has none."""

    def ask(self, ask: Ask) -> Answer:
        raise invalid("BK601", f"no model is called {ask.model!r}")

    def check(self, name: str) -> None:
        raise invalid("BK601", f"no model is called {name!r}")


@dataclass(frozen=True, slots=True)
class Doors:
    """The ways out. Each blocks until it is done; a real one can be cancelled from another thread."""

    send: Callable[[Request], Response]
    execute: Execute
    sleep: Callable[[float], None]
    models: Models = field(default_factory=NoModels)
    similar: Similar = lambda pairs: []
    together: Together = one_by_one
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Setting:
    surroundings: Surroundings
    scope: Scope
    trust: Trust
    redactor: Redactor
    http: HttpDefaults
    doors: Doors
    ceilings: Ceilings = field(default_factory=Ceilings)
    turn: int = 0
    """Tells repetitions of the same question apart."""
    asker: str = ""
    """The id of the baseline or the case that is replayed."""


def invalid(code: str, what: str, mend: str = "", at: Path | None = None) -> InvalidInput:
    return InvalidInput(Problem(code, what, mend, at=at))
