"""How a run of eval cases did beside an earlier one of the same."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["regressed", "improved", "unchanged", "insufficient evidence", "not comparable"]

VERDICTS: tuple[Verdict, ...] = (
    "regressed",
    "improved",
    "insufficient evidence",
    "not comparable",
    "unchanged",
)

Share = tuple[int, int]
"""How many attempts passed, and of how many that were decided."""


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case. `chance`: how likely so large a difference is if nothing changed; None where no test was
    made. `why`: on what the verdict hangs."""

    id: str
    verdict: Verdict
    before: Share = (0, 0)
    now: Share = (0, 0)
    chance: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One metric over the pairs of cases that can be compared. `lost` and `won`: in how many it holds no
    more, or now. `chance` is that of the exact McNemar test, `adjusted` the same after Holm."""

    name: str
    verdict: Verdict
    before: float
    now: float
    pairs: int
    lost: int
    won: int
    chance: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class Earlier:
    """All of them, and the run that was compared with. `added` and `gone`: cases that only one of the two
    has. `across`: parts that may differ. `strict`: what regressed fails the run."""

    run: str
    started: str
    cases: tuple[CaseChange, ...] = ()
    metrics: tuple[MetricChange, ...] = ()
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    across: tuple[str, ...] = ()
    strict: bool = False

    def those(self, verdict: Verdict) -> list[CaseChange]:
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def regressed(self) -> bool:
        """Whether anything is worse by more than chance explains."""
        return bool(self.those("regressed")) or any(one.verdict == "regressed" for one in self.metrics)

    @property
    def tells_nothing(self) -> bool:
        """Not one case could be compared: that nothing regressed means nothing then."""
        return len(self.those("not comparable")) == len(self.cases)
