"""What a benchmark finds: rows of our figure beside the peer's, with the goal, as they are kept on file."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.measure import Say, Times, median, ratio


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of ours beside a peer's. `of` says what both are: "cpu" or "wall" in seconds, "bytes".
    `goal` is the most that `ratio` may be, or the figure itself where there is no peer; `wish` would be
    better still. `short`: the words for it among those that matter most. `stopped`: the peer did not end."""

    what: str
    ours: float
    peer: str = ""
    theirs: float | None = None
    ratio: float | None = None
    of: str = "cpu"
    rounds: int = 1
    goal: float | None = None
    wish: float | None = None
    short: str = ""
    stopped: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        figure = self.ours if self.ratio is None else self.ratio
        return None if self.goal is None else figure <= self.goal


@dataclass(frozen=True, slots=True)
class Note:
    """What was left out, and why; or what has to be known to read the rows."""

    text: str


Found = Iterator[Row | Note]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is done. `quick` shows that everything works and measures nothing of worth; `long` takes
    what a coffee break has no time for."""

    rounds: int = 5
    quick: bool = False
    long: bool = False

    def pick(self, quick: int, otherwise: int) -> int:
        return quick if self.quick else otherwise

    @property
    def regex_budget(self) -> float:
        """Seconds that a slow peer is given for its rounds, in one group."""
        return 0.2 if self.quick else 60.0 if self.long else 10.0


Subject = Callable[[Scale, Say], Found]


@dataclass(frozen=True, slots=True)
class Versus:
    """Rows from the times of one group of engines."""

    times: Times
    of: str = "cpu"

    def row(
        self,
        what: str,
        ours: str,
        peer: str,
        *,
        of: str = "",
        called: str = "",
        goal: float | None = None,
        wish: float | None = None,
        short: str = "",
    ) -> Row:
        of = of or self.of
        mine, theirs = self.times[ours], self.times[peer]
        return Row(
            what,
            median(mine, of),
            called or peer,
            median(theirs, of),
            ratio(mine, theirs, of),
            of,
            min(len(mine), len(theirs)),
            goal,
            wish,
            short,
            any(one.stopped for one in theirs),
        )
