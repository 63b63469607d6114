"""Results: the five outcomes, kept apart everywhere, and the data that every report is rendered from."""

from itertools import pairwise
from math import ceil
from typing import Annotated, Literal, get_args

from baselinekit.model.baselines import Kind, Number
from baselinekit.model.grades import OUTCOMES, Attempt, JudgeFacts, Outcome, PassRule
from baselinekit.model.recipes import ModelUsage, Usage
from baselinekit.model.values import Json, Path
from baselinekit.structs import AtLeastOne, Count, Meta, NotNegative, Struct, field

# The comparison of a run of eval cases with an earlier one.

Verdict = Literal["regressed", "improved", "insufficient evidence", "not comparable", "unchanged"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Share(Struct):
    """How many attempts passed, and how many were decided."""

    passed: Count
    attempts: Count

    def __str__(self) -> str:
        return f"{self.passed:,}/{self.attempts:,}"


class CaseChange(Struct):
    """The change of one case. `chance`: how likely so large a difference is if nothing changed; None if no
    test was made. `why`: what the verdict depends on."""

    id: str
    verdict: Verdict
    before: Share
    now: Share
    chance: Number | None = field(name="p")
    why: str = ""


class MetricChange(Struct):
    """The change of one metric over the comparable pairs of cases. `lost` and `won`: in how many it no longer
    holds, or holds only now. `chance`: p-value of the exact McNemar test; `adjusted`: the same after Holm."""

    name: str
    verdict: Verdict
    before: NotNegative
    now: NotNegative
    pairs: Count
    lost: Count
    won: Count
    chance: NotNegative = field(name="p")
    adjusted: NotNegative = field(name="p_holm")


class EarlierComparison(Struct):
    """All changes since an earlier run, and that run. `added` and `gone`: cases that only one of the two runs
    has. `across`: parts that may differ. `strict`: a regression fails the run."""

    run: str
    started: str
    strict: bool
    across: tuple[str, ...]
    cases: tuple[CaseChange, ...]
    metrics: tuple[MetricChange, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]

    def those(self, verdict: Verdict) -> list[CaseChange]:
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def regressed(self) -> bool:
        """Whether anything got worse by more than chance explains."""
        return bool(self.those("regressed")) or any(metric.verdict == "regressed" for metric in self.metrics)

    @property
    def tells_nothing(self) -> bool:
        """Whether no case could be compared: then it means nothing that nothing regressed."""
        return len(self.those("not comparable")) == len(self.cases)


Started = Annotated[
    str,
    Meta(pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\Z", description="a time such as 2024-01-20T14:00:00Z"),
]
Id = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,511}\Z", description="letters, digits, `.`, `_`, `-` and `/`"
    ),
]

# The changes of the baselines themselves since a commit.


ChangeOfBaseline = Literal["removed", "loosened", "changed", "added"]


class BaselineChange(Struct):
    """The change of one baseline, or of the configuration. `changed`: it expects something else, as after a
    refresh; `loosened`: it lets more pass. `how`: the individual changes. `approved_by` and `reason`: those
    written in the file since then."""

    id: str
    change: ChangeOfBaseline
    file: str
    line: AtLeastOne | None
    how: tuple[str, ...] = ()
    approved_by: str | None = None
    reason: str | None = None


class BaselineChanges(Struct, kw_only=True):
    """All these changes, and the commit. `strict`: a weakened baseline fails the run."""

    ref: str
    commit: str
    strict: bool
    notes: tuple[str, ...] = ()
    changes: tuple[BaselineChange, ...]

    @property
    def weakened(self) -> tuple[BaselineChange, ...]:
        """The changes that ask for less than before."""
        return tuple(change for change in self.changes if change.change in ("removed", "loosened"))


class ReportedDifference(Struct):
    """A difference as reported, with the file and the line of the expected value. `at` leads to that value in
    the record; the line is found by it."""

    path: Path
    kind: Kind
    expected: Json
    actual: Json
    file: str
    line: AtLeastOne | None
    rule: str | None = None
    note: str | None = None
    at: Path = ()


UNDECIDED = ("flaky", "noise")
"""Verdicts for which no output is kept for approval: an output that came once may not come again."""

VOLATILE = "volatile"
"""The verdict of a replay that differs only in ids, moments and counters, each replaced by another one."""

PARTLY_VOLATILE = "partly volatile"
"""The verdict of a replay that differs in a value that was another one in the answer before."""


class Repeats(Struct):
    """How often a baseline was replayed in one run, how often it passed, and how often the replay failed."""

    replays: AtLeastOne
    passed: Count
    errors: Count


class Result(Struct):
    """The result of one baseline. `at` leads to its subject in the record: all of it, or a rule. `position`:
    in a shard, its position among all selected baselines. With `repeats`, `attempts` and `usage` are those of
    all replays together, `seconds` is the average, and a difference has how often it occurred.
    `expected_hash`: of the stored output with which a failed result was compared."""

    id: Id
    file: str
    line: AtLeastOne | None
    kind: str
    outcome: Outcome
    reason: str = ""
    code: str | None = None
    verdict: str | None = None
    name: str | None = None
    criticality: str | None = None
    target: str = ""
    differences: tuple[ReportedDifference, ...] = ()
    difference_count: Count = 0
    explanation: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: Count = 1
    seconds: NotNegative = 0.0
    usage: Usage = field(default_factory=Usage)
    scores: dict[str, Number] = field(default_factory=dict)
    environment_drift: dict[str, tuple[Json, Json]] = field(default_factory=dict)
    recipe_hash: str = ""
    expected_hash: str = ""
    resolved: Json = None
    at: Path = ()
    position: Count | None = None
    repeats: Repeats | None = None
    case: "CaseFacts | None" = None


class CaseFacts(Struct):
    """The further facts of the result of an eval case: its attempts, and its category and tags.
    `fingerprint`: of everything the verdict depends on, by name (case, files, grader, model), to decide
    whether two runs are comparable. `retried`: how many of the last attempts were only made because those
    before had failed: they tell nothing about how often an attempt passes."""

    eval_type: str
    attempts: tuple[Attempt, ...] = ()
    category: str | None = None
    tags: tuple[str, ...] = ()
    weight: Number = 1.0
    score: Number | None = None
    fingerprint: dict[str, str] = field(default_factory=dict)
    retried: Count = 0
    pass_rule: PassRule = field(default_factory=PassRule)
    difficulty: str | None = None


_ROUNDING_ERROR = 1e-9
"""A value that is below its threshold only in the last digits of a float reaches it."""


class Metric(Struct):
    """One number about a whole run, with its interval. `value` is None if it is not available, and `why` is
    the reason. `view`: whether cases or single attempts are counted. `estimator`: which attempts of a case
    count, where it made several: all of them or, where the others are retries, the first one."""

    name: str
    value: Number | None
    view: str
    low: Number | None
    high: Number | None
    count: Count
    threshold: Number | None
    why: str = ""
    estimator: str = ""

    @property
    def basis(self) -> str:
        """What the value is computed from: `per case, all attempts`."""
        return ", ".join(filter(None, (self.view, self.estimator)))

    @property
    def met(self) -> bool | None:
        """Whether the value reaches its threshold; None if there is no threshold."""
        if self.threshold is None:
            return None
        return self.value is not None and self.value + _ROUNDING_ERROR >= self.threshold


class SuiteFacts(Struct):
    """The further facts of the report of a suite."""

    name: str
    version: str | None = None
    metrics: tuple[Metric, ...] = ()
    gate: str | None = None
    judges: tuple[JudgeFacts, ...] = ()


class Shard(Struct):
    """Which part of a run this is, counted from 1, and how many baselines all parts together have. These must
    be the same for all parts: `target`, the address and environment that were used; `configuration`, a hash
    of the configuration and the command line; `content`, a hash of all selected baselines, including those of
    the other parts, as their files state them."""

    number: AtLeastOne
    of: AtLeastOne
    total: Count
    target: str = ""
    configuration: str = ""
    content: str = ""

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


class Coverage(Struct):
    """What a run was narrowed to, and how many baselines that left out, not counting those of other shards. A
    run that was not narrowed covered everything."""

    chosen: dict[str, Json]
    left_out: Count


NOT_NARROWED = Coverage({}, 0)


class Summary(Struct):
    """The count of each outcome. `complete` is false when a selected baseline or case never ran."""

    passed: Count
    failed: Count
    error: Count
    unscored: Count
    skipped: Count
    complete: bool

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.error + self.unscored + self.skipped


_TAIL_SHARE = 0.95


class KeptRun(Struct):
    """One earlier run. `file`: the file of its results."""

    id: str
    started: str
    seconds: float
    summary: Summary
    commit: str | None = None
    file: str = ""


class Appearance(Struct):
    """The result of one baseline in one run."""

    run: KeptRun
    outcome: Outcome
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)


class Trend(Struct):
    """One baseline over its runs, the oldest first. Only passes and failures say something about the target:
    errors, skips and undecided results are counted separately."""

    id: str
    seen: tuple[Appearance, ...]

    @property
    def decided(self) -> list[Appearance]:
        return [appearance for appearance in self.seen if appearance.outcome in ("passed", "failed")]

    @property
    def counts(self) -> dict[Outcome, int]:
        return {word: sum(appearance.outcome == word for appearance in self.seen) for word in OUTCOMES}

    @property
    def pass_rate(self) -> float | None:
        decided = len(self.decided)
        return self.counts["passed"] / decided if decided else None

    @property
    def flips(self) -> int:
        """How often a pass was followed by a failure, or a failure by a pass."""
        return sum(before.outcome != after.outcome for before, after in pairwise(self.decided))

    @property
    def last_regression(self) -> Appearance | None:
        """The last failure that followed a pass."""
        for before, after in reversed(list(pairwise(self.decided))):
            if (before.outcome, after.outcome) == ("passed", "failed"):
                return after
        return None

    @property
    def seconds(self) -> list[float]:
        """How long each decided run took."""
        return [appearance.seconds for appearance in self.decided]

    @property
    def median(self) -> float:
        from statistics import median

        return float(median(self.seconds or [0.0]))

    @property
    def tail(self) -> float:
        """The 95th percentile of the times: a measured time, the nearest above."""
        ordered = sorted(self.seconds) or [0.0]
        return ordered[ceil(_TAIL_SHARE * len(ordered)) - 1]

    @property
    def scores(self) -> dict[str, list[float]]:
        """The scores of each criterion that was ever graded."""
        scores: dict[str, list[float]] = {}
        for appearance in self.seen:
            for name, value in appearance.scores.items():
                scores.setdefault(name, []).append(value)
        return scores


class History(Struct):
    """The kept runs, the oldest first, and the trend of each baseline. `unreadable`: files that cannot be
    read."""

    runs: tuple[KeptRun, ...] = ()
    trends: tuple[Trend, ...] = ()
    unreadable: tuple[str, ...] = ()


class Typed(Struct):
    """What was typed for a run, as far as a following command has to repeat it. `operator`: the options about
    the project, which every command needs; `asking`: those that say who is asked, and whether. `selection`
    and `paths`: the baselines; `narrowed`: they were chosen by options that a refresh does not have.
    `results`: the result files with the new outputs, for readers elsewhere. `unkept`: the new outputs are
    not kept where it is read."""

    operator: tuple[str, ...] = ()
    asking: tuple[str, ...] = ()
    selection: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    narrowed: bool = False
    results: tuple[str, ...] = ()
    unkept: bool = False


class Report(Struct):
    """One run, as the result file states it. `spent`: its use of models, if any. `folder`: the project's
    folder in its repository, for tools that count paths from there; "" is the root. `commit`: the commit that
    was checked out. `typed`: what the commands after it repeat. `shard`: set if this is one part of a run."""

    id: str
    started: Started
    seconds: NotNegative
    tool: str
    command: str
    results: tuple[Result, ...]
    complete: bool = True
    interrupted: bool = False
    environment: dict[str, Json] = field(default_factory=dict)
    config: str | None = None
    warnings: tuple[str, ...] = ()
    not_recorded: tuple[str, ...] = ()
    spent: ModelUsage | None = None
    commit: str | None = None
    shard: Shard | None = None
    coverage: Coverage = NOT_NARROWED
    folder: str = ""
    against: BaselineChanges | None = None
    suite: SuiteFacts | None = None
    earlier: EarlierComparison | None = None
    typed: Typed = field(default_factory=Typed)

    @property
    def exit_code(self) -> int:
        """The first that applies of 130, 4, 1, 3, 5, 0 (2 is an exception: nothing was replayed then)."""
        summary = self.summary
        if self.interrupted:
            return 130
        if any(result.verdict == "refused" for result in self.results):
            return 4
        if self.uncovered or any(metric.value is not None and not metric.met for metric in self.thresholds):
            return 1
        if self.against and self.against.strict and self.against.weakened:
            return 1
        earlier = self.earlier if self.earlier and self.earlier.strict else None
        if earlier and earlier.regressed:
            return 1
        if earlier and earlier.tells_nothing:  # a comparison that could not fail is not a pass
            return 3
        if summary.error or summary.unscored or not self.complete or self.not_recorded:
            return 3
        if self.suite and any(metric.met is False for metric in self.suite.metrics):
            return 3  # no available value is too low, but a metric with a threshold is not available
        if self.nothing_changed:  # a change that touches no baseline breaks none
            return 0
        return 0 if summary.passed or self.shard else 5  # only all shards together tell if anything passed

    @property
    def thresholds(self) -> tuple[Metric, ...]:
        """The metrics that have a threshold."""
        metrics = self.suite.metrics if self.suite else ()
        return tuple(metric for metric in metrics if metric.threshold is not None)

    @property
    def uncovered(self) -> tuple[Result, ...]:
        """The failures that no threshold covers. A threshold for how many cases have to pass also limits how
        many may fail, but never a regression."""
        failed = tuple(result for result in self.results if result.outcome == "failed")
        if not any(metric.name in ("pass rate", "pass@1") for metric in self.thresholds):
            return failed
        return tuple(one for one in failed if one.case is None or one.case.eval_type == "regression")

    @property
    def nothing_changed(self) -> str:
        """The commit since which no baseline was touched, if --changed-since selected nothing; else empty."""
        since = self.coverage.chosen.get("changed_since")
        return str(since) if since and not (self.results or self.shard) else ""

    @property
    def summary(self) -> Summary:
        counts = dict.fromkeys(OUTCOMES, 0)
        for result in self.results:
            counts[result.outcome] += 1
        return Summary(**counts, complete=self.complete)
