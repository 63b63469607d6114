"""Two runs compared, each case beside the same case of the other run, and all of them together: `run
--compare-to`, and two result files, ours or AgentV's, side by side.

A difference that may be due to chance is called insufficient evidence, and never "no regression". Where
nothing is left to chance, one attempt is enough. Beside the exact tests there is AgentV's own rule, so
that thresholds which were chosen for it keep their meaning: the mean of all score differences decides."""

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from math import fsum
from typing import Literal

from baselinekit.commands.history import load_parts
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.graders.base import exact_fraction
from baselinekit.kinds.table import KINDS
from baselinekit.metrics import fisher_exact, holm_adjust, mcnemar_exact, pass_at_k, pass_hat_k_unbiased
from baselinekit.model import results
from baselinekit.model.grades import Attempt, iterate_grades
from baselinekit.model.results import CaseChange, EarlierComparison, MetricChange, Report, Result, Verdict
from baselinekit.model.values import Json
from baselinekit.store.project import MAX_OUTPUT_BYTES, read
from baselinekit.store.results import load_results, result_files
from baselinekit.structs import Struct, replace

LAST = "last"
PARTS = ("case", "files", "grader", "judge", "model")
SURE = 0.05
_DECIDED = ("passed", "failed")

Pair = tuple[Result, Result]
"""A case before, and now."""


def load_earlier(project: Project, name: str, suite: str) -> Report:
    """Load the named run: a result file, or `last`, the latest run of the same suite that is stored here. A
    narrowed or interrupted run is taken only if there is no complete one, as it would hide what it left
    out."""
    if name != LAST:
        return load_run(name, os.getcwd())
    latest = None
    for file, raw in load_results(project.root, result_files(project.root)[::-1]):
        run = _part(raw, "run")
        if _part(run, "suite").get("name") == suite:
            latest = latest or file
            if not run.get("interrupted") and not _part(run, "coverage").get("left_out"):
                latest = file
                break
    if latest is None:
        hint = "run it once without --compare-to first, or name a result file"
        raise InvalidInput(Problem("BK733", f"no earlier run of {suite!r} is kept here", hint))
    return load_parts([latest], project.root)[0][1]


def _part(record: Json, key: str) -> dict[str, Json]:
    """The mapping under a key of a result file that has not been validated yet; empty for anything else."""
    part = record.get(key) if isinstance(record, dict) else None
    return part if isinstance(part, dict) else {}


def compare_runs(
    now: Report, before: Report, across: Collection[str] = (), strict: bool = False, with_scores: bool = False
) -> EarlierComparison:
    """Compare two runs by the cases that both have. `with_scores`: the scores are compared too."""
    before_by_id = {result.id: result for result in cases(before)}
    pairs = [(before_by_id[result.id], result) for result in cases(now) if result.id in before_by_id]
    changes = tuple(_case(pair, across) for pair in pairs)
    comparable = [
        pair
        for pair, change in zip(pairs, changes, strict=True)
        if change.verdict != "not comparable" and all(map(_decided, pair))
    ]
    ids_now = {result.id for result in now.results}
    # after a narrowed run it is unknown which cases are gone
    gone = () if now.coverage.left_out else tuple(id for id in before_by_id if id not in ids_now)
    return EarlierComparison(
        run=before.id,
        started=before.started,
        strict=strict,
        across=tuple(across),
        cases=changes,
        metrics=_metrics(comparable, with_scores),
        added=tuple(result.id for result in cases(now) if result.id not in before_by_id),
        gone=gone,
    )


def _case(pair: Pair, across: Collection[str]) -> CaseChange:
    before, now = pair
    verdict, chance, why = _compare(before, now, across)
    return CaseChange(now.id, verdict, _passed(before), _passed(now), chance, why)


def _compare(before: Result, now: Result, across: Collection[str]) -> tuple[Verdict, float | None, str]:
    """The verdict on a case, how likely chance is to make such a difference, and why the verdict is that."""
    differing = [part for part in differences(before, now) if part not in across]
    if differing:
        return "not comparable", None, f"it differs in {' and '.join(differing)}"
    then, after = _decided(before), _decided(now)
    if not then or not after:
        why = f"{before.outcome} then, {now.outcome} now"
        return "insufficient evidence" if then or after else "not comparable", None, why
    was, is_now = _passed(before).passed, _passed(now).passed
    worse = is_now * len(then) < was * len(after)
    better = is_now * len(then) > was * len(after)
    direction: Verdict = "regressed" if worse else "improved"
    if not (worse or better):
        return "unchanged", None, ""
    if not hangs_on_chance((before, now)):
        return direction, None, "no model takes part: one attempt is enough"
    if worse and now.criticality == "critical" and not is_now:
        return direction, None, "it is critical, and no longer passes at all"
    chance = fisher_exact(was, len(then), is_now, len(after))
    if chance <= SURE:
        return direction, chance, ""
    word = "worse" if worse else "better"
    why = f"{word}, but with too few attempts to distinguish it from chance"
    return "insufficient evidence", chance, why


def differences(before: Result, now: Result) -> list[str]:
    """The parts that a verdict depends on and that differ. A part that only one run knows, because the other
    did not get that far, does not count."""
    before_parts, now_parts = (result.case.fingerprint if result.case else {} for result in (before, now))
    shared = before_parts.keys() & now_parts.keys()
    return [part for part in PARTS if part in shared and now_parts[part] != before_parts[part]]


def hangs_on_chance(pair: Pair) -> bool:
    """Whether the same case may pass once and fail another time: a model answers, or a model judges."""

    def may_vary(result: Result) -> bool:
        fingerprint, kind = result.case.fingerprint if result.case else {}, KINDS.get(result.kind)
        grades = (grade for attempt in _attempts(result) for grade in iterate_grades(attempt.grades))
        return (
            (kind is not None and kind.was_asked_of_model(fingerprint, result.usage))
            or any(grade.kind != "code" for grade in grades)
            or len({attempt.outcome for attempt in _decided(result)}) > 1
        )

    return any(map(may_vary, pair))


def _attempts(result: Result) -> tuple[Attempt, ...]:
    """The attempts without retries: one that was made because another failed does not show how often
    attempts fail."""
    facts = result.case or results.CaseFacts("")
    return facts.attempts[: len(facts.attempts) - facts.retried]


def _decided(result: Result) -> list[Attempt]:
    return [attempt for attempt in _attempts(result) if attempt.outcome in _DECIDED]


def _passed(result: Result) -> results.Share:
    decided = _decided(result)
    return results.Share(sum(attempt.outcome == "passed" for attempt in decided), len(decided))


def _metrics(pairs: Sequence[Pair], with_scores: bool = False) -> tuple[MetricChange, ...]:
    """Compare how often an attempt passes, with several attempts a case whether any and whether all pass, and
    the scores. A case counts as better or worse by as many attempts before as now."""
    if not pairs:
        return ()
    passed = [[[one.outcome == "passed" for one in _decided(result)] for result in pair] for pair in pairs]
    most = min(len(case) for pair in passed for case in pair)
    rules: list[tuple[str, int, Callable[[int, int, int], float | None]]] = [("pass@1", 1, pass_at_k)]
    if most > 1:
        rules += [(f"pass@{most}", most, pass_at_k), (f"pass^{most}", most, pass_hat_k_unbiased)]
    rows = []
    for name, k, rule in rules:
        values = [[rule(len(case), sum(case), k) or 0.0 for case in pair] for pair in passed]
        as_many = [[case[: min(map(len, pair))] for case in pair] for pair in passed]
        equal = [[rule(len(case), sum(case), k) or 0.0 for case in pair] for pair in as_many]
        rows.append((name, values, equal))
    if with_scores and (scores := scores_of(pairs)):
        rows.append(("score", scores, scores))
    counts = [(sum(b > n for b, n in equal), sum(n > b for b, n in equal)) for _, _, equal in rows]
    chances = [mcnemar_exact(lost, won) for lost, won in counts]
    tested = zip(counts, chances, holm_adjust(chances), strict=True)
    changes = []
    for (name, values, _), ((lost, won), chance, adjusted) in zip(rows, tested, strict=True):
        verdict: Verdict = "regressed" if lost > won else "improved"
        if adjusted > SURE:
            verdict = "insufficient evidence" if lost or won else "unchanged"
        count = len(values)
        share_before = fsum(before for before, _ in values) / count
        share_now = fsum(now for _, now in values) / count
        changes.append(
            MetricChange(name, verdict, share_before, share_now, count, lost, won, chance, adjusted)
        )
    return tuple(changes)


def scores_of(pairs: Sequence[Pair]) -> list[list[float]]:
    """The scores of the pairs that have both; none if all scores are 0 or 1, as passed and failed are."""
    scores = [[result.case.score if result.case else None for result in pair] for pair in pairs]
    score_pairs = [[score for score in pair if score is not None] for pair in scores]
    complete = [pair for pair in score_pairs if len(pair) == 2]
    return complete if any(score not in (0, 1) for pair in complete for score in pair) else []


# Two result files side by side, ours or AgentV's.

_SCORE = "score"
"""The score as a row of AgentV states it, also for an error, where the case itself has no score."""

_DIGITS = 1_000
"""AgentV rounds the mean to three digits before it checks whether it is below zero."""


def load_run(path: str, cwd: str) -> Report:
    """Load a result file, by the name that the operator typed."""
    if not is_foreign(path):
        ((_, report),) = load_parts([path], cwd)
    else:
        from baselinekit.agentv.results import read_rows  # most runs are ours

        report = read_rows(read(cwd, os.path.abspath(os.path.join(cwd, path)), MAX_OUTPUT_BYTES), path)
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
        shared = {result.id for result in first.results} & {result.id for result in second.results}
        first, second = _without_datasets(first, shared), _without_datasets(second, shared)
    if not {result.id for result in cases(first)} & {result.id for result in cases(second)}:
        message = f"{before} and {now} have no case in common"
        raise NothingSelected(Problem("BK733", message, "compare two runs of the same cases"))
    return first, second


def cases(report: Report) -> list[Result]:
    return [result for result in report.results if result.case is not None]


def _without_datasets(report: Report, shared: set[str]) -> Report:
    """The report with the names of cases as their ids, where names are unique and neither is `shared`."""
    names = Counter(_own_name(result.id) for result in report.results if result.id not in shared)

    def shortened(result: Result) -> Result:
        name = _own_name(result.id)
        is_unique = not shared & {result.id, name} and names[name] == 1
        return replace(result, id=name) if is_unique else result

    return replace(report, results=tuple(map(shortened, report.results)))


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
        call it a regression even if all of them had got worse."""
        metrics = self.earlier.metrics
        return tuple(
            metric
            for metric in metrics
            if metric.verdict == "insufficient evidence"
            and metric.lost > metric.won
            and mcnemar_exact(metric.lost + metric.won, 0) * len(metrics) > SURE
        )

    @property
    def exit_code(self) -> int:
        if self.earlier.regressed:
            return 1
        return 3 if self.lost or self.unmatched or self.unsure or self.earlier.tells_nothing else 0


def pair_runs(before: Report, now: Report, across: Collection[str] = (), partial: bool = False) -> Pairing:
    earlier = compare_runs(now, before, across, with_scores=True)
    decided = {result.id for result in cases(before) if result.outcome in _DECIDED}
    lost = tuple(one.id for one in cases(now) if one.id in decided and one.outcome not in _DECIDED)
    return Pairing(earlier, lost, partial)


# AgentV's rule: the mean of the score differences.


class ScorePair(Struct):
    id: str
    before: float
    now: float
    delta: Fraction
    outcome: Literal["win", "loss", "tie"]


class MeanDelta(Struct):
    """Two runs compared by AgentV's rule. `unscored`: cases of both runs that lack a score in one of
    them."""

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
    if result.case is None:
        return None
    if result.outcome == "error" and _SCORE in result.scores:
        return result.scores[_SCORE]
    return result.case.score
