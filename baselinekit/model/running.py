"""A generated program, run where it can do no harm: what it gave, and what it was kept from."""

from dataclasses import dataclass

from baselinekit.model.values import ABSENT, Json


@dataclass(frozen=True, slots=True)
class Returned:
    """One call of its function: the value, or why there is none (`timeout`, an exception, an early exit).
    `inexact`: the value was no JSON (a set, a NaN, a bytes), and this is how it looks. `printed`: the end of
    what it printed meanwhile."""

    value: Json = ABSENT
    error: str = ""
    inexact: str = ""
    printed: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    """All calls in their order. `contained`: from what it was kept, `not_contained`: from what it could not
    be kept on this machine. `flaw`: why nothing of it can be judged."""

    calls: tuple[Returned, ...]
    contained: tuple[str, ...] = ()
    not_contained: tuple[str, ...] = ()
    flaw: str = ""
