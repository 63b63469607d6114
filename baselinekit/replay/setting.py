"""What a replay needs besides its recipe: the doors to the world, and what surrounds the recipe's file."""

from collections.abc import Callable
from dataclasses import dataclass

from baselinekit.errors import CannotReplay, InvalidInput, Problem
from baselinekit.model.config import HttpDefaults
from baselinekit.model.observation import Finished, Request, Response, Run
from baselinekit.model.recipes import Surroundings
from baselinekit.model.values import Path
from baselinekit.trust import Trust
from baselinekit.variables import Redactor, Scope

Execute = Callable[[Run], Finished]


@dataclass(frozen=True, slots=True)
class Doors:
    """The ways out. Each blocks until it is done; a real one can be cancelled from another thread."""

    send: Callable[[Request], Response]
    execute: Execute
    sleep: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Setting:
    surroundings: Surroundings
    scope: Scope
    trust: Trust
    redactor: Redactor
    http: HttpDefaults
    doors: Doors


def cannot(code: str, what: str, mend: str = "") -> CannotReplay:
    return CannotReplay(Problem(code, what, mend))


def invalid(code: str, what: str, mend: str = "", at: Path | None = None) -> InvalidInput:
    return InvalidInput(Problem(code, what, mend, at=at))
