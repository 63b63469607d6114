"""compare-runs: two result files side by side, ours or AgentV's, case by case.

Beside the exact tests stands the rule that AgentV itself goes by, so that thresholds which were chosen for it
keep their meaning: the mean of all score differences decides."""

import math
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Place, Problem, nearest
from baselinekit.evals.earlier import compare_runs
from baselinekit.frozen import frozen
from baselinekit.grade.verdict import exact
from baselinekit.model.grades import Outcome
from baselinekit.model.results import Earlier, Report, Result
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.suites.agentvresults import SCORE, is_foreign, read_rows
from baselinekit.workflow.history import load_parts

_DECIDED: tuple[Outcome, ...] = ("passed", "failed")
_DIGITS = 1_000
"""AgentV rounds the mean to three digits, and asks only then whether it is below zero."""


def load_run(path: str, cwd: str) -> Report:
    """A result file, by the name that the operator typed."""
    if not is_foreign(path):
        ((_, report),) = load_parts([path], cwd)
    else:
        try:
            report = read_rows(read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES), path)
        except BaselinekitError as error:
            told = (
                replace(one, place=Place(path, one.place.line, one.place.column)) if one.place else one
                for one in error.problems
            )
            raise InvalidInput(*told) from None
    if not any(result.case for result in report.results):
        hint = "name a file of baselinekit run -o x.json, or the results of AgentV as .jsonl or .yaml"
        raise InvalidInput(Problem("BK733", f"{path} holds no eval cases", hint))
    return report


def load_both(before: str, now: str, cwd: str) -> tuple[Report, Report]:
    """Both runs. Where one is AgentV's, whose rows need not name their dataset, a case may go by the name
    alone, as long as it is the only one of that name."""
    first, second = load_run(before, cwd), load_run(now, cwd)
    if is_foreign(before) or is_foreign(now):
        first = renamed(first, second)
    if not {one.id for one in cases(first)} & {one.id for one in cases(second)}:
        near = nearest(cases(first)[0].id, [one.id for one in cases(second)])
        what = f"{before} and {now} have no case in common"
        raise NothingSelected(Problem("BK692", what, near or "compare two runs of the same cases"))
    return first, second


def cases(report: Report) -> list[Result]:
    return [result for result in report.results if result.case is not None]


def renamed(report: Report, other: Report) -> Report:
    """The report with the ids of the other one, where only the dataset differs."""
    ours, theirs = {one.id for one in cases(report)}, {one.id for one in cases(other)}
    left = Counter(own_name(id) for id in ours - theirs)
    meant = {own_name(id): id for id in theirs - ours}
    twice = {name for name, number in Counter(own_name(id) for id in theirs - ours).items() if number > 1}
    known = {name: id for name, id in meant.items() if left[name] == 1 and name not in twice}
    return replace(
        report,
        results=tuple(
            replace(one, id=known.get(own_name(one.id), one.id)) if one.id not in theirs else one
            for one in report.results
        ),
    )


def own_name(id: str) -> str:
    return id.rpartition("/")[2]


# Per case, and all together, by exact tests.


@frozen
class Pairing:
    """Two runs beside each other. `lost`: cases of which the earlier run knew how they did, and the later one
    does not: those cannot tell that nothing regressed."""

    earlier: Earlier
    lost: tuple[str, ...]
    partial: bool = False

    @property
    def unmatched(self) -> bool:
        """Whether cases are missing that should be there: what they hid, nobody knows."""
        return bool(self.earlier.gone) and not self.partial

    @property
    def exit_code(self) -> int:
        if self.earlier.regressed:
            return 1
        return 3 if self.lost or self.unmatched or self.earlier.tells_nothing else 0


def pair_runs(before: Report, now: Report, across: Collection[str] = (), partial: bool = False) -> Pairing:
    earlier = compare_runs(now, before, across, with_scores=True)
    decided = {one.id for one in cases(before) if one.outcome in _DECIDED}
    lost = tuple(one.id for one in cases(now) if one.id in decided and one.outcome not in _DECIDED)
    return Pairing(earlier, lost, partial)


# By the mean of the differences.


@frozen
class ScorePair:
    id: str
    before: float
    now: float
    delta: Fraction
    outcome: Literal["win", "loss", "tie"]


@frozen
class MeanDelta:
    """What AgentV's own rule makes of two runs. `unscored`: in both, and one of them has no score."""

    pairs: tuple[ScorePair, ...]
    only_before: tuple[str, ...]
    only_now: tuple[str, ...]
    unscored: tuple[str, ...]
    errors: tuple[str, ...]
    threshold: float

    @property
    def mean(self) -> Fraction:
        """In three digits, halves up."""
        mean = sum((pair.delta for pair in self.pairs), Fraction(0)) / max(len(self.pairs), 1)
        return Fraction(math.floor(mean * _DIGITS + Fraction(1, 2)), _DIGITS)

    @property
    def exit_code(self) -> int:
        """As AgentV decides; where there is no pair at all, nothing was compared."""
        return 3 if not self.pairs else 1 if self.mean < 0 else 0

    def count(self, outcome: str) -> int:
        return sum(pair.outcome == outcome for pair in self.pairs)


def mean_delta(before: Report, now: Report, threshold: float) -> MeanDelta:
    """Every case counts by how far its score moved; exactly, so that .9 is .1 more than .8."""
    old, new = ({one.id: one for one in cases(report)} for report in (before, now))
    both = [(old[id], new[id]) for id in old if id in new]
    pairs, limit = [], exact(threshold)
    for was, is_now in both:
        scores = score_of(was), score_of(is_now)
        if scores[0] is not None and scores[1] is not None:
            delta = exact(scores[1]) - exact(scores[0])
            outcome: Literal["win", "loss", "tie"] = "tie"
            if abs(delta) >= limit:
                outcome = "win" if delta >= limit else "loss"
            pairs.append(ScorePair(was.id, scores[0], scores[1], delta, outcome))
    scored = {pair.id for pair in pairs}
    return MeanDelta(
        tuple(pairs),
        tuple(id for id in old if id not in new),
        tuple(id for id in new if id not in old),
        tuple(was.id for was, _ in both if was.id not in scored),
        tuple(pair.id for pair in pairs if "error" in outcomes(old[pair.id], new[pair.id])),
        threshold,
    )


def score_of(result: Result) -> float | None:
    """Of an error AgentV states a score too, and counts it."""
    stated = result.scores.get(SCORE) if result.case is not None and result.outcome == "error" else None
    return stated if stated is not None else result.case.score if result.case else None


def outcomes(*results: Result) -> Sequence[Outcome]:
    return [result.outcome for result in results]
