"""run --compare-to: each case beside the same case of an earlier run, and all of them together.

A difference that chance explains is none that anybody has seen: it is called insufficient evidence, and never
"no regression". Where no chance takes part, one attempt tells."""

import os
from collections.abc import Callable, Collection, Sequence
from math import fsum

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.kinds.table import KINDS
from baselinekit.metrics import fisher_exact, holm, mcnemar_exact
from baselinekit.model.grades import Attempt, each_grade
from baselinekit.model.results import (
    CaseChange,
    CaseFacts,
    Earlier,
    MetricChange,
    Report,
    Result,
    Share,
    Verdict,
)
from baselinekit.model.values import Json
from baselinekit.store.results import latest_first
from baselinekit.workflow.history import load_parts
from baselinekit.workflow.project import Project

LAST = "last"
PARTS = ("case", "files", "grader", "judge", "model")
_SURE = 0.05
_DECIDED = ("passed", "failed")

Pair = tuple[Result, Result]
"""A case before, and now."""


def load_earlier(project: Project, named: str, suite: str) -> Report:
    """The run that is named: a result file, or `last`, the last one of the same suite that is kept here. One
    that was narrowed or interrupted is the last only where there is no whole one: it would hide what it left
    out."""
    if named != LAST:
        ((_, report),) = load_parts([named], os.getcwd())
        if not any(result.case for result in report.results):
            what = f"{named} holds no eval cases"
            raise InvalidInput(Problem("BK733", what, "name a file of baselinekit run -o x.json"))
        return report
    partly = None
    for file, raw in latest_first(project.root):
        run = _part(raw, "run")
        if _part(run, "suite").get("name") == suite:
            partly = partly or file
            if not run.get("interrupted") and not _part(run, "coverage").get("left_out"):
                return load_parts([file], project.root)[0][1]
    if partly is not None:
        return load_parts([partly], project.root)[0][1]
    what = f"no earlier run of {suite!r} is kept here"
    raise InvalidInput(
        Problem("BK733", what, "run it once without --compare-to first, or name a result file")
    )


def _part(of: Json, key: str) -> dict[str, Json]:
    """What stands there in a result file that nobody has checked yet."""
    part = of.get(key) if isinstance(of, dict) else None
    return part if isinstance(part, dict) else {}


def compare_runs(
    now: Report,
    before: Report,
    across: Collection[str] = (),
    strict: bool = False,
    with_scores: bool = False,
) -> Earlier:
    """The two runs side by side; only what both have counts. `with_scores`: also by how the scores moved."""
    known = {result.id: result for result in before.results if result.case is not None}
    ours = [result for result in now.results if result.case is not None]
    pairs = [(known[result.id], result) for result in ours if result.id in known]
    cases = tuple(_case(pair, across) for pair in pairs)
    fair = [
        pair
        for pair, case in zip(pairs, cases, strict=True)
        if case.verdict != "not comparable" and all(map(_decided, pair))
    ]
    there = {result.id for result in now.results}
    # of what a run left out nobody knows whether it is gone
    gone = () if now.coverage.left_out else tuple(id for id in known if id not in there)
    return Earlier(
        before.id,
        before.started,
        cases,
        _metrics(fair, with_scores),
        tuple(result.id for result in ours if result.id not in known),
        gone,
        tuple(across),
        strict,
    )


def check_parts(across: Sequence[str]) -> None:
    for part in across:
        if part not in PARTS:
            hint = nearest(part, PARTS) or f"one of {', '.join(PARTS)}"
            raise InvalidInput(Problem("BK508", f"--across {part}: no such part of a case", hint))


def _case(pair: Pair, across: Collection[str]) -> CaseChange:
    before, now = pair
    differing = [part for part in differences(before, now) if part not in across]
    counts = _passed(before), _passed(now)
    if differing:
        words = " and ".join(f"the {part}" for part in differing)
        verb = "differs" if len(differing) == 1 and differing != ["files"] else "differ"
        return CaseChange(now.id, "not comparable", *counts, why=f"{words} {verb}")
    if not _decided(before) and not _decided(now):  # there is nothing to be set beside each other
        both = before.outcome == now.outcome
        why = f"{now.outcome} in both" if both else f"{before.outcome} then, {now.outcome} now"
        return CaseChange(now.id, "not comparable", *counts, why=why)
    for result, when in ((before, "then"), (now, "now")):
        if not _decided(result):
            return CaseChange(now.id, "insufficient evidence", *counts, why=f"{result.outcome} {when}")
    (was, of), (is_now, of_now) = counts
    worse, better = is_now * of < was * of_now, is_now * of > was * of_now
    direction: Verdict = "regressed" if worse else "improved"
    if not (worse or better):
        return CaseChange(now.id, "unchanged", *counts)
    if not hangs_on_chance(pair):
        return CaseChange(now.id, direction, *counts, why="no model takes part: one attempt is enough")
    if worse and now.criticality == "critical" and not is_now:
        return CaseChange(now.id, direction, *counts, why="it is critical, and no longer passes at all")
    chance = fisher_exact(was, of, is_now, of_now)
    if chance <= _SURE:
        return CaseChange(now.id, direction, *counts, chance)
    why = f"{'worse' if worse else 'better'}, but with too few attempts to distinguish it from chance"
    return CaseChange(now.id, "insufficient evidence", *counts, chance, why)


def differences(before: Result, now: Result) -> list[str]:
    """The parts of what a verdict hangs on that are not the same. What only one of the runs knows of, since
    the other did not come so far, is no difference."""
    there, here = (one.case.fingerprint if one.case else {} for one in (before, now))
    return [part for part in PARTS if part in here and part in there and here[part] != there[part]]


def hangs_on_chance(pair: Pair) -> bool:
    """Whether the same case may pass once and fail another time: a model answers, or one judges."""
    return any(
        (
            result.kind in KINDS
            and KINDS[result.kind].was_asked_of_model(
                result.case.fingerprint if result.case else {}, result.usage
            )
        )
        or any(grade.kind != "code" for attempt in _attempts(result) for grade in each_grade(attempt.grades))
        or len({attempt.outcome for attempt in _decided(result)}) > 1
        for result in pair
    )


def _attempts(result: Result) -> tuple[Attempt, ...]:
    """Those that were made whatever came before: one more because one failed tells nothing of how often."""
    facts = result.case or CaseFacts("")
    return facts.attempts[: len(facts.attempts) - facts.retried]


def _decided(result: Result) -> list[Attempt]:
    return [attempt for attempt in _attempts(result) if attempt.outcome in _DECIDED]


def _passed(result: Result) -> Share:
    decided = _decided(result)
    return sum(attempt.outcome == "passed" for attempt in decided), len(decided)


def _metrics(pairs: Sequence[Pair], with_scores: bool = False) -> tuple[MetricChange, ...]:
    """First attempts; with several of each case whether any and whether all of as many passed; scores."""
    if not pairs:
        return ()
    most = min(len(_decided(result)) for pair in pairs for result in pair)
    rules: list[tuple[str, int, Callable[[list[bool]], bool]]] = [("pass@1", 1, all)]
    if most > 1:
        rules += [(f"pass@{most}", most, any), (f"pass^{most}", most, all)]
    passed = [[[one.outcome == "passed" for one in _decided(result)] for result in pair] for pair in pairs]
    rows = [(name, [[float(rule(case[:k])) for case in pair] for pair in passed]) for name, k, rule in rules]
    scores = scores_of(pairs) if with_scores else []
    if scores:
        rows.append(("score", scores))
    split = [(sum(b > n for b, n in both), sum(n > b for b, n in both)) for _, both in rows]
    chances = [mcnemar_exact(lost, won) for lost, won in split]
    changes = []
    for (name, both), (lost, won), chance, adjusted in zip(rows, split, chances, holm(chances), strict=True):
        verdict: Verdict = "regressed" if lost > won else "improved"
        if adjusted > _SURE:
            verdict = "insufficient evidence"
        if not lost and not won:
            verdict = "unchanged"
        count = len(both)
        shares = fsum(before for before, _ in both) / count, fsum(now for _, now in both) / count
        changes.append(MetricChange(name, verdict, *shares, count, lost, won, chance, adjusted))
    return tuple(changes)


def scores_of(pairs: Sequence[Pair]) -> list[list[float]]:
    """The scores of the pairs that have both; none where scores say nothing but passed and failed."""
    stated = [[result.case.score if result.case else None for result in pair] for pair in pairs]
    both = [[score for score in pair if score is not None] for pair in stated]
    found = [pair for pair in both if len(pair) == 2]
    return found if any(score not in (0, 1) for pair in found for score in pair) else []
