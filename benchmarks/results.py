"""What a benchmark finds: rows of our figure beside the peer's, each with the most that it should be."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.measure import Say, Times, median, ratio


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of ours beside a peer's. `of` names the unit of `ours`: "cpu" or "wall" in seconds, "bytes".
    `goal` is the most that `ratio` may be, or the figure itself where there is no peer; `wish` would be
    better still."""

    what: str
    ours: float
    peer: str = ""
    ratio: float | None = None
    of: str = "cpu"
    goal: float | None = None
    wish: float | None = None

    @property
    def met(self) -> bool:
        figure = self.ours if self.ratio is None else self.ratio
        return self.goal is None or figure <= self.goal


@dataclass(frozen=True, slots=True)
class Note:
    """What was left out, and why; or what a reader has to know about the rows."""

    text: str


Found = Iterator[Row | Note]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. `quick` shows that everything works, and its figures mean nothing."""

    rounds: int = 5
    quick: bool = False

    def pick(self, quick: int, otherwise: int) -> int:
        return quick if self.quick else otherwise


Subject = Callable[[Scale, Say], Found]


def beside(
    times: Times,
    what: str,
    ours: str,
    peer: str,
    goal: float,
    *,
    of: str = "cpu",
    called: str = "",
    wish: float | None = None,
) -> Row:
    """Return the row of one engine beside another, from the times of one group."""
    mine, theirs = times[ours], times[peer]
    return Row(what, median(mine, of), called or peer, ratio(mine, theirs, of), of, goal, wish)
