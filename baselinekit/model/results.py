"""Results: the five outcomes, kept apart everywhere, and what every report is rendered from."""

from dataclasses import field
from itertools import pairwise
from math import ceil
from typing import Literal

from baselinekit.frozen import frozen
from baselinekit.model.baselines import Kind
from baselinekit.model.grades import OUTCOMES, Attempt, JudgeFacts, Outcome, PassRule
from baselinekit.model.recipes import Spent, Usage
from baselinekit.model.values import Json, Path

# How a run of eval cases did beside an earlier one of the same.

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


@frozen
class CaseChange:
    """One case. `chance`: how likely so large a difference is if nothing changed; None where no test was
    made. `why`: on what the verdict hangs."""

    id: str
    verdict: Verdict
    before: Share = (0, 0)
    now: Share = (0, 0)
    chance: float | None = None
    why: str = ""


@frozen
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


@frozen
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


# What a change does to the baselines themselves, beside those of a commit.


@frozen
class Revised:
    """What became of one baseline, or of the configuration. `changed`: it expects something else, as after a
    refresh; `loosened`: it lets more pass. `how`: by what. `approved_by` and `reason` stand in the file since
    then."""

    id: str
    file: str
    line: int | None
    change: Literal["added", "removed", "loosened", "changed"]
    how: tuple[str, ...] = ()
    approved_by: str | None = None
    reason: str | None = None


@frozen
class Against:
    """All of them, and the commit. `strict`: what was weakened fails the run."""

    ref: str
    commit: str
    changes: tuple[Revised, ...] = ()
    notes: tuple[str, ...] = ()
    strict: bool = False

    @property
    def weakened(self) -> tuple[Revised, ...]:
        """What asks for less than it did."""
        return tuple(change for change in self.changes if change.change in ("removed", "loosened"))


@frozen
class Spot:
    """A difference as it is reported: with the file and the line of the expected value. `at` leads to it in
    the record, for whoever finds the line."""

    path: Path
    kind: Kind
    expected: Json
    actual: Json
    file: str
    line: int | None
    rule: str | None = None
    note: str | None = None
    at: Path = ()


UNDECIDED = ("flaky", "noise")
"""Verdicts of which no output is kept to be approved: what came once is not what comes."""

VOLATILE = "volatile"
"""The verdict of one replay that differs only in ids, moments and counters, each for another one."""


@frozen
class Repeats:
    """How often a baseline was replayed in one run, and how often it passed, or could not be replayed."""

    replays: int
    passed: int
    errors: int = 0


@frozen
class Result:
    """What became of one baseline. `at` leads to what it is about in the record: all of it, or a rule.
    `position`: in a shard, which of all that were selected it is. With `repeats`, `attempts` and `usage` are
    of all replays together, `seconds` is what one took on average, and a difference says how often it was."""

    id: str
    file: str
    line: int | None
    kind: str
    outcome: Outcome
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    name: str | None = None
    criticality: str | None = None
    target: str = ""
    differences: tuple[Spot, ...] = ()
    difference_count: int = 0
    explanation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    scores: dict[str, int | float] = field(default_factory=dict)
    environment_drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)
    recipe_hash: str = ""
    resolved: Json = None
    at: Path = ()
    position: int | None = None
    repeats: Repeats | None = None
    case: "CaseFacts | None" = None


@frozen
class CaseFacts:
    """What a result says beyond that where it is one of an eval case: each attempt, and where it belongs.
    `fingerprint`: of what the verdict hangs on, by name (case, files, grader, model), so that two runs can be
    told to be comparable. `retried`: how many of the attempts, the last ones, were only made because those
    before had failed: they tell nothing about how often an attempt passes."""

    eval_type: str
    attempts: tuple[Attempt, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    weight: float = 1.0
    score: float | None = None
    fingerprint: dict[str, str] = field(default_factory=dict)
    retried: int = 0
    pass_rule: PassRule = field(default_factory=PassRule)


_SAME = 1e-9
"""What is as large as its threshold but for the last digits of a float is as large."""


@frozen
class Metric:
    """One number about a whole run, with its interval. `value` is None where it is not available, and `why`
    says so. `view`: whether cases or single attempts are what is counted."""

    name: str
    value: float | None
    view: str = "per case"
    low: float | None = None
    high: float | None = None
    count: int = 0
    threshold: float | None = None
    why: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it reaches its threshold; None where there is nothing to tell."""
        if self.threshold is None:
            return None
        return self.value is not None and self.value + _SAME >= self.threshold


@frozen
class SuiteFacts:
    """What a report says beyond that where it is one of a suite."""

    name: str
    version: str | None = None
    metrics: tuple[Metric, ...] = ()
    gate: str | None = None
    judges: tuple[JudgeFacts, ...] = ()


@frozen
class Shard:
    """Which part of a run this is, counted from 1, and how many baselines all parts together have. What has
    to be the same for all parts: `target`, the address and environment that were asked; `configuration`, a
    hash of what the configuration and the command line say; `content`, a hash of all baselines that were
    selected, those of the other parts included, as their files state them."""

    number: int
    of: int
    total: int = 0
    target: str = ""
    configuration: str = ""
    content: str = ""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@frozen
class Coverage:
    """What a run was narrowed to, and how many baselines that left out: those of another shard aside. A run
    that was not narrowed covered everything that was there."""

    chosen: dict[str, Json] = field(default_factory=dict)
    left_out: int = 0


@frozen
class Summary:
    """Each outcome with its own count. `complete` is false when something that was selected never ran."""

    passed: int = 0
    failed: int = 0
    error: int = 0
    unscored: int = 0
    skipped: int = 0
    complete: bool = True

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.error + self.unscored + self.skipped


@frozen
class Moment:
    """How one baseline did in an earlier run."""

    started: str
    outcome: Outcome
    seconds: float


@frozen
class PastRun:
    """How an earlier run went as a whole."""

    started: str
    seconds: float
    summary: Summary


@frozen
class Trends:
    """What came before, the oldest first: the runs, and of each baseline, by its id, how it did."""

    runs: tuple[PastRun, ...] = ()
    moments: dict[str, tuple[Moment, ...]] = field(default_factory=dict)


@frozen
class Report:
    """One run, as the result file states it. `spent`: what it took of models, if it asked any. `folder`:
    where the project lies in its repository, for those who count paths from there; "" is its root. `commit`:
    what was checked out. `results_file`: from which somebody elsewhere goes on after a job of CI. `shard`:
    where this is one part of a run. `more_passed`: how many passed that are not among `results`, since who
    put several files together has taken them over as they stand there."""

    id: str
    started: str
    seconds: float
    tool: str
    command: str
    results: tuple[Result, ...]
    complete: bool = True
    interrupted: bool = False
    environment: dict[str, Json] = field(default_factory=dict)
    config: str | None = None
    warnings: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()
    spent: Spent | None = None
    commit: str | None = None
    shard: Shard | None = None
    coverage: Coverage = field(default_factory=Coverage)
    folder: str = ""
    results_file: str = ""
    trends: Trends = field(default_factory=Trends)
    against: Against | None = None
    suite: SuiteFacts | None = None
    earlier: Earlier | None = None
    more_passed: int = 0
    unkept: bool = False
    """Whether an answer of a failing target could not be kept for a refresh."""

    @property
    def exit_code(self) -> int:
        """The first that applies of 130, 4, 1, 3, 5, 0 (2 is an exception: nothing was replayed then)."""
        summary = self.summary
        if self.interrupted:
            return 130
        if any(result.verdict == "refused" for result in self.results):
            return 4
        if self._regressed or (self.against and self.against.strict and self.against.weakened):
            return 1
        beside = self.earlier if self.earlier and self.earlier.strict else None
        if beside and beside.regressed:
            return 1
        if beside and beside.tells_nothing:  # what could not fail is not a pass
            return 3
        if summary.error or summary.unscored or not self.complete or self.not_recorded:
            return 3
        if self.suite and any(metric.met is False for metric in self.suite.metrics):
            return 3  # of what is there nothing is too low, but of a threshold nobody can tell
        if self.nothing_changed:  # which was the question: a change that touches nothing breaks nothing
            return 0
        return 0 if summary.passed or self.shard else 5  # whether anything passed is for all shards to say

    @property
    def _regressed(self) -> bool:
        """Whether something is worse than it may be. Who states how many cases have to pass has said how many
        may fail, of those that have no baseline."""
        failed = [result for result in self.results if result.outcome == "failed"]
        metrics = self.suite.metrics if self.suite else ()
        stated = [metric for metric in metrics if metric.threshold is not None]
        if any(metric.value is not None and not metric.met for metric in stated):
            return True
        if any(metric.name in ("pass rate", "pass@1") for metric in stated):
            return any(result.case is None or result.case.eval_type == "regression" for result in failed)
        return bool(failed)

    @property
    def nothing_changed(self) -> str:
        """The commit since which no baseline was touched, where --changed-since asked for those that were."""
        since = self.coverage.chosen.get("changed_since")
        return str(since) if since and not (self.results or self.more_passed or self.shard) else ""

    @property
    def summary(self) -> Summary:
        counts = dict.fromkeys(OUTCOMES, 0)
        for result in self.results:
            counts[result.outcome] += 1
        counts["passed"] += self.more_passed
        return Summary(**counts, complete=self.complete)


# How baselines did over many runs.

_TAIL = 0.95


@frozen
class KeptRun:
    """One earlier run. `file`: where its results are kept."""

    id: str
    started: str
    seconds: float
    summary: Summary
    commit: str | None = None
    file: str = ""


@frozen
class Appearance:
    """What became of one baseline in one run."""

    run: KeptRun
    outcome: Outcome
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)


@frozen
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
        from statistics import median

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


@frozen
class History:
    """The runs that are kept, the oldest first, and of each baseline how it did. `unreadable`: files."""

    runs: tuple[KeptRun, ...]
    trends: tuple[Trend, ...]
    unreadable: tuple[str, ...] = ()
