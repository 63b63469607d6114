"""The verdict of several grades: by all that are required, or by their mean and the gates, exactly."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from baselinekit.model.grades import BORDERLINE, OUTCOMES, Grade, Outcome, PassRule


@lru_cache(maxsize=1024)
def exact(number: float) -> Fraction:
    """The simplest fraction that this float stands for: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    value = Fraction(number)
    half = Fraction(math.ulp(number)) / 2
    return _simplest(value - half, value + half) if half else value


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction between two others whose denominator is the smallest."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    below = math.floor(low)
    return below + 1 / _simplest(1 / (high - below), 1 / (low - below))


def weighted_mean(scored: Iterable[tuple[Fraction, float]]) -> Fraction | None:
    """The mean of scores, each with its weight; None where nothing has any weight."""
    total = weight = Fraction(0)
    for score, counts in scored:
        total, weight = total + score * exact(counts), weight + exact(counts)
    return total / weight if weight else None


def verdict_of(
    score: Fraction, rule: PassRule, failed_gates: Sequence[str] = ()
) -> tuple[Outcome, str | None]:
    """What a score amounts to: a failed gate is never made good by it."""
    if failed_gates:
        return "failed", None
    if score >= exact(float(rule.pass_at)):
        return "passed", None
    if score >= exact(float(rule.borderline_at)):
        return "passed" if rule.borderline_passes else "failed", BORDERLINE
    return "failed", None


def combined(
    grades: Sequence[Grade], rule: PassRule | None = None
) -> tuple[Outcome, float | None, str, str | None]:
    """The outcome, the score, the reason and the verdict of a case."""
    rule = rule or PassRule()
    return by_mean(grades, rule) if rule.by == "mean" else by_all(grades)


def by_all(grades: Sequence[Grade]) -> tuple[Outcome, float | None, str, str | None]:
    """Passed when every required grader passes. A grader that could not judge makes it an error, unless
    another one has found it wrong already. There is no score while a grader that counts has not decided."""
    counting = [grade for grade in grades if grade.required] or list(grades)
    outcomes = {grade.outcome for grade in counting}
    outcome: Outcome = next((outcome for outcome in OUTCOMES if outcome in outcomes), "unscored")
    telling = [grade for grade in counting if grade.outcome == outcome]
    reason = "" if outcome == "passed" else _reasons(telling, len(grades) > 1)
    verdict = next((grade.verdict for grade in telling if grade.verdict), None)
    return outcome, _score(grades), reason, verdict


def by_mean(grades: Sequence[Grade], rule: PassRule) -> tuple[Outcome, float | None, str, str | None]:
    """By the mean and the gates. A failed gate settles it; else a grader with a weight that has not decided
    leaves the mean, and so the case, undecided."""
    gates, open_ones = gates_of(grades), still_open(grades)
    if gates or not open_ones:
        score = mean_of(grades)
        if score is None and not gates:
            return "unscored", None, "no grader has any weight", None
        outcome, verdict = verdict_of(score or Fraction(0), rule, gates)
        if outcome == "passed":
            return outcome, _score(grades), "", verdict
        low = [grade for grade in grades if grade.outcome != "passed"]
        return outcome, _score(grades), _why_low(grades, low, score or Fraction(0), rule), verdict
    outcomes = {grade.outcome for grade in open_ones}
    outcome = next((outcome for outcome in OUTCOMES if outcome in outcomes), "unscored")
    telling = [grade for grade in open_ones if grade.outcome == outcome]
    verdict = next((grade.verdict for grade in telling if grade.verdict), None)
    return outcome, None, _reasons(telling, len(grades) > 1), verdict


def code_of(grades: Sequence[Grade], outcome: Outcome) -> str | None:
    """The code of the grade that says why the whole came out so."""
    counting = [grade for grade in grades if grade.required] or list(grades)
    telling = [grade for grade in (*counting, *grades) if grade.outcome == outcome]
    return next((grade.code for grade in telling), None)


def gates_of(grades: Sequence[Grade]) -> tuple[str, ...]:
    """What had to hold and does not: the required graders that failed, and what a grade names as such."""
    return tuple(
        gate
        for grade in grades
        for gate in (
            tuple(f"{grade.grader}/{one}" for one in grade.failed_gates)
            or ((grade.grader,) if grade.required and grade.outcome == "failed" else ())
        )
    )


def still_open(grades: Sequence[Grade]) -> list[Grade]:
    """Those that count and have not decided."""
    return [grade for grade in grades if (grade.weight or grade.required) and grade.score is None]


def _why_low(grades: Sequence[Grade], low: Sequence[Grade], score: Fraction, rule: PassRule) -> str:
    """The gates, else the mean, and what each grade says: of one alone its reason says all, and so does that
    of a grade whose own gates failed."""
    gates = [one for grade in low if not (grade.failed_gates and grade.reason) for one in gates_of([grade])]
    missed = f"{', '.join(gates)} had to hold" if gates else ""
    if not gates_of(low) and not (len(grades) == 1 and grades[0].reason):
        missed = f"the mean is {apart(score, rule.pass_at)}, and {rule.pass_at:g} passes"
    return "; ".join(filter(None, (missed, _reasons(low, len(grades) > 1))))


def apart(score: Fraction, limit: float) -> str:
    """A score that misses a limit, in as few digits as tell the two apart, three at least: a reader who is
    shown both the same would look for the fault elsewhere."""
    for digits in range(3, 18):
        shown = f"{float(score):.{digits}g}"
        if exact(float(shown)) != exact(limit):
            return shown
    return f"less than {limit:g}"


def _reasons(telling: Sequence[Grade], named: bool) -> str:
    return "; ".join(
        f"{grade.grader}: {grade.reason}" if named else grade.reason for grade in telling if grade.reason
    )


def mean_of(grades: Sequence[Grade]) -> Fraction | None:
    """The mean of their scores, those without one as 0."""
    return weighted_mean((exact(grade.score or 0.0), grade.weight) for grade in grades)


def _score(grades: Sequence[Grade]) -> float | None:
    if len(grades) == 1 and grades[0].score is not None and grades[0].weight:
        return float(grades[0].score)  # which is its mean, and the most usual one
    mean = None if any(grade.score is None for grade in grades) else mean_of(grades)
    return None if mean is None else float(mean)
