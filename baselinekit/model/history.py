"""How baselines did over many runs."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil
from statistics import median

from baselinekit.model.results import OUTCOMES, Outcome, Summary

_TAIL = 0.95


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One earlier run. `file`: where its results are kept."""

    id: str
    started: str
    seconds: float
    summary: Summary
    commit: str | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Appearance:
    """What became of one baseline in one run."""

    run: KeptRun
    outcome: Outcome
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trend:
    """One baseline over its runs, the oldest first. Only a pass and a failure say something about the target:
    errors, skips and what nobody decided are counted apart."""

    id: str
    seen: tuple[Appearance, ...]

    @property
    def decided(self) -> list[Appearance]:
        return [one for one in self.seen if one.outcome in ("passed", "failed")]

    @property
    def counts(self) -> dict[Outcome, int]:
        return {word: sum(one.outcome == word for one in self.seen) for word in OUTCOMES}

    @property
    def pass_rate(self) -> float | None:
        decided = self.decided
        return sum(one.outcome == "passed" for one in decided) / len(decided) if decided else None

    @property
    def flips(self) -> int:
        """How often a pass was followed by a failure, or a failure by a pass."""
        return sum(before.outcome != after.outcome for before, after in pairwise(self.decided))

    @property
    def last_regression(self) -> Appearance | None:
        """Where it last failed after it had passed."""
        for before, after in reversed(list(pairwise(self.decided))):
            if (before.outcome, after.outcome) == ("passed", "failed"):
                return after
        return None

    @property
    def seconds(self) -> list[float]:
        """How long it took, each time that it answered."""
        return [one.seconds for one in self.decided]

    @property
    def median(self) -> float:
        return float(median(self.seconds or [0.0]))

    @property
    def tail(self) -> float:
        """The time that 95 of 100 stayed within: one that was measured, the nearest above."""
        ordered = sorted(self.seconds) or [0.0]
        return ordered[ceil(_TAIL * len(ordered)) - 1]

    @property
    def scores(self) -> dict[str, list[float]]:
        """Each criterion that was ever graded, with its grades."""
        found: dict[str, list[float]] = {}
        for one in self.seen:
            for name, value in one.scores.items():
                found.setdefault(name, []).append(value)
        return found


@dataclass(frozen=True, slots=True)
class History:
    """The runs that are kept, the oldest first, and of each baseline how it did. `unreadable`: files."""

    runs: tuple[KeptRun, ...]
    trends: tuple[Trend, ...]
    unreadable: tuple[str, ...] = ()
