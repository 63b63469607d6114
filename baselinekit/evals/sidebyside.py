"""Two result files side by side, ours or AgentV's, case by case.

Beside the exact tests there is AgentV's own rule, so that thresholds which were chosen for it keep their
meaning: the mean of all score differences decides."""

import math
import os
from collections import Counter
from collections.abc import Collection
from fractions import Fraction
from typing import Literal

from baselinekit.commands.history import load_parts
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem, suggest
from baselinekit.evals.earlier import SURE, compare_runs
from baselinekit.graders.verdict import exact_fraction
from baselinekit.metrics import mcnemar_exact
from baselinekit.model.grades import Outcome
from baselinekit.model.results import EarlierComparison, MetricChange, Report, Result
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.structs import Struct, replace

_SCORE = "score"
"""The score as a row of AgentV states it, also for an error, where the case itself has no score."""

_DECIDED: tuple[Outcome, ...] = ("passed", "failed")
_DIGITS = 1_000
"""AgentV rounds the mean to three digits before it checks whether it is below zero."""


def load_run(path: str, cwd: str) -> Report:
    """Load a result file, by the name that the operator typed."""
    if not is_foreign(path):
        ((_, report),) = load_parts([path], cwd)
    else:
        from baselinekit.agentv.results import read_rows  # most runs are ours

        try:
            report = read_rows(read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES), path)
        except BaselinekitError as error:
            places = [problem.place and problem.place._replace(file=path) for problem in error.problems]
            problems = zip(error.problems, places, strict=True)
            raise InvalidInput(*(replace(problem, place=place) for problem, place in problems)) from None
    if not any(result.case for result in report.results):
        hint = "name a file of baselinekit run -o x.json, or the results of AgentV as .jsonl or .yaml"
        raise InvalidInput(Problem("BK733", f"{path} holds no eval cases", hint))
    return report


def is_foreign(path: str) -> bool:
    """Whether the file has another extension than our own result files, which are one JSON text each."""
    return path.lower().endswith((".jsonl", ".yaml", ".yml"))


def load_both(before: str, now: str, cwd: str) -> tuple[Report, Report]:
    """Load both runs. AgentV's rows need not name their dataset: if one of the runs is AgentV's, cases are
    matched by name alone where the name is unique."""
    first, second = load_run(before, cwd), load_run(now, cwd)
    if is_foreign(before) or is_foreign(now):
        first = _with_matching_ids(first, second)
    if not {result.id for result in cases(first)} & {result.id for result in cases(second)}:
        hint = suggest(cases(first)[0].id, [result.id for result in cases(second)])
        message = f"{before} and {now} have no case in common"
        raise NothingSelected(Problem("BK692", message, hint or "compare two runs of the same cases"))
    return first, second


def cases(report: Report) -> list[Result]:
    return [result for result in report.results if result.case is not None]


def _with_matching_ids(report: Report, other: Report) -> Report:
    """The report with the ids of the other report for cases whose ids differ in the dataset only."""
    ours, theirs = {result.id for result in cases(report)}, {result.id for result in cases(other)}
    names = Counter(map(_own_name, ours - theirs))
    other_names = Counter(map(_own_name, theirs - ours))
    new_ids = {_own_name(id): id for id in theirs - ours if other_names[_own_name(id)] == 1}

    def matched(result: Result) -> Result:
        name = _own_name(result.id)
        is_unique = result.id not in theirs and names[name] == 1
        return replace(result, id=new_ids.get(name, result.id)) if is_unique else result

    return replace(report, results=tuple(map(matched, report.results)))


def _own_name(id: str) -> str:
    return id.rpartition("/")[2]


# Exact tests, for each case and for all together.


class Pairing(Struct):
    """Two runs beside each other. `lost`: cases that the earlier run decided and the later one did not, so
    that they cannot show that nothing regressed."""

    earlier: EarlierComparison
    lost: tuple[str, ...]
    partial: bool = False

    @property
    def unmatched(self) -> bool:
        """Whether cases are missing that should be there: they may hide a regression."""
        return bool(self.earlier.gone) and not self.partial

    @property
    def unsure(self) -> tuple[MetricChange, ...]:
        """The metrics in which more pairs got worse than better, and so few changed that the test could not
        call it a regression even if all of them had got worse. Those in which all did are first."""
        metrics = self.earlier.metrics
        unsure = [
            metric
            for metric in metrics
            if metric.verdict == "insufficient evidence"
            and metric.lost > metric.won
            and mcnemar_exact(metric.lost + metric.won, 0) * len(metrics) > SURE
        ]
        return tuple(sorted(unsure, key=lambda metric: metric.won > 0))

    @property
    def exit_code(self) -> int:
        if self.earlier.regressed:
            return 1
        return 3 if self.lost or self.unmatched or self.unsure or self.earlier.tells_nothing else 0


def pair_runs(before: Report, now: Report, across: Collection[str] = (), partial: bool = False) -> Pairing:
    earlier = compare_runs(now, before, across, with_scores=True)
    decided = {result.id for result in cases(before) if result.outcome in _DECIDED}
    lost = tuple(
        result.id for result in cases(now) if result.id in decided and result.outcome not in _DECIDED
    )
    return Pairing(earlier, lost, partial)


# AgentV's rule: the mean of the score differences.


class ScorePair(Struct):
    id: str
    before: float
    now: float
    delta: Fraction
    outcome: Literal["win", "loss", "tie"]


class MeanDelta(Struct):
    """Two runs compared by AgentV's rule. `unscored`: cases of both runs of which one has no score."""

    pairs: tuple[ScorePair, ...]
    only_before: tuple[str, ...]
    only_now: tuple[str, ...]
    unscored: tuple[str, ...]
    errors: tuple[str, ...]
    threshold: float

    @property
    def mean(self) -> Fraction:
        """The mean difference, rounded half up to three digits."""
        mean = sum((pair.delta for pair in self.pairs), Fraction(0)) / max(len(self.pairs), 1)
        return Fraction(math.floor(mean * _DIGITS + Fraction(1, 2)), _DIGITS)

    @property
    def exit_code(self) -> int:
        """The exit code by AgentV's rule; 3 where there is no pair, as nothing was compared."""
        return 3 if not self.pairs else 1 if self.mean < 0 else 0

    def count(self, outcome: str) -> int:
        return sum(pair.outcome == outcome for pair in self.pairs)


def mean_delta(before: Report, now: Report, threshold: float) -> MeanDelta:
    """Compare by how far the score of each case moved, in exact arithmetic, so that .9 is .1 more than .8."""
    old, new = ({result.id: result for result in cases(report)} for report in (before, now))
    both = [(old[id], new[id]) for id in old if id in new]
    pairs, limit = [], exact_fraction(threshold)
    for earlier, later in both:
        then, after = _score_of(earlier), _score_of(later)
        if then is not None and after is not None:
            delta = exact_fraction(after) - exact_fraction(then)
            outcome: Literal["win", "loss", "tie"] = "win" if delta >= limit else "loss"
            pairs.append(ScorePair(earlier.id, then, after, delta, outcome if abs(delta) >= limit else "tie"))
    scored = {pair.id for pair in pairs}
    return MeanDelta(
        tuple(pairs),
        tuple(id for id in old if id not in new),
        tuple(id for id in new if id not in old),
        tuple(earlier.id for earlier, _ in both if earlier.id not in scored),
        tuple(pair.id for pair in pairs if "error" in (old[pair.id].outcome, new[pair.id].outcome)),
        threshold,
    )


def _score_of(result: Result) -> float | None:
    """The score of a result. AgentV gives a score to an error too, and counts it."""
    facts = result.case
    stated = result.scores.get(_SCORE) if facts is not None and result.outcome == "error" else None
    return stated if stated is not None else facts.score if facts else None
