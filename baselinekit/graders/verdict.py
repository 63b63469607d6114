"""The verdict of several grades: by all required ones, or by their mean and the gates, computed exactly."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from baselinekit.model.grades import BORDERLINE, OUTCOMES, Grade, Outcome, PassRule


@lru_cache(maxsize=1024)
def exact_fraction(number: float) -> Fraction:
    """The simplest fraction that this float stands for: 0.1 is 1/10, and 0.3333333333333333 is 1/3."""
    value = Fraction(number)
    half = Fraction(math.ulp(number)) / 2
    return _simplest(value - half, value + half) if half else value


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction between two others with the smallest denominator."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    floor = math.floor(low)
    return floor + 1 / _simplest(1 / (high - floor), 1 / (low - floor))


def weighted_mean(weighted_scores: Iterable[tuple[Fraction, float]]) -> Fraction | None:
    """The mean of scores, each with its weight; None where nothing has any weight."""
    total = total_weight = Fraction(0)
    for score, weight in weighted_scores:
        total, total_weight = total + score * exact_fraction(weight), total_weight + exact_fraction(weight)
    return total / total_weight if total_weight else None


def verdict_of(
    score: Fraction, rule: PassRule, failed_gates: Sequence[str] = ()
) -> tuple[Outcome, str | None]:
    """The outcome and the verdict of a score. No score makes up for a failed gate."""
    if failed_gates:
        return "failed", None
    if score >= exact_fraction(float(rule.pass_at)):
        return "passed", None
    if score >= exact_fraction(float(rule.borderline_at)):
        return "passed" if rule.borderline_passes else "failed", BORDERLINE
    return "failed", None


def combine_grades(
    grades: Sequence[Grade], rule: PassRule | None = None
) -> tuple[Outcome, float | None, str, str | None]:
    """The outcome, the score, the reason and the verdict of a case."""
    rule = rule or PassRule()
    return by_mean(grades, rule) if rule.by == "mean" else by_all(grades)


def by_all(grades: Sequence[Grade]) -> tuple[Outcome, float | None, str, str | None]:
    """Passed when every required grader passes. A grader that could not judge makes it an error, unless
    another one has failed it already. There is no score while a grader has none."""
    counted = [grade for grade in grades if grade.required] or list(grades)
    outcome, reason, verdict = _worst_of(counted, len(grades) > 1)
    return outcome, _score(grades), reason, verdict


def by_mean(grades: Sequence[Grade], rule: PassRule) -> tuple[Outcome, float | None, str, str | None]:
    """By the mean and the gates. A failed gate fails the case; otherwise the case is undecided while a grader
    that counts has no score."""
    gates, undecided = gates_of(grades), still_open(grades)
    if gates or not undecided:
        score = mean_of(grades)
        if score is None and not gates:
            return "unscored", None, "no grader has any weight", None
        outcome, verdict = verdict_of(score or Fraction(0), rule, gates)
        if outcome == "passed":
            return outcome, _score(grades), "", verdict
        not_passed = [grade for grade in grades if grade.outcome != "passed"]
        reason = _describe_low_score(grades, not_passed, score or Fraction(0), rule)
        return outcome, _score(grades), reason, verdict
    outcome, reason, verdict = _worst_of(undecided, len(grades) > 1)
    return outcome, None, reason, verdict


def _worst_of(grades: Sequence[Grade], with_names: bool) -> tuple[Outcome, str, str | None]:
    """The outcome that decides, with its reasons and its verdict."""
    outcomes = {grade.outcome for grade in grades}
    outcome: Outcome = next((outcome for outcome in OUTCOMES if outcome in outcomes), "unscored")
    decisive = [grade for grade in grades if grade.outcome == outcome]
    reason = "" if outcome == "passed" else _reasons(decisive, with_names)
    return outcome, reason, next((grade.verdict for grade in decisive if grade.verdict), None)


def code_of(grades: Sequence[Grade], outcome: Outcome) -> str | None:
    """The code of the first grade with this outcome, the required grades first."""
    counted = [grade for grade in grades if grade.required] or list(grades)
    decisive = [grade for grade in (*counted, *grades) if grade.outcome == outcome]
    return next((grade.code for grade in decisive), None)


def gates_of(grades: Sequence[Grade]) -> tuple[str, ...]:
    """The gates that failed: required graders that failed, and those that a grade itself names."""
    return tuple(
        gate
        for grade in grades
        for gate in (
            tuple(f"{grade.grader}/{name}" for name in grade.failed_gates)
            or ((grade.grader,) if grade.required and grade.outcome == "failed" else ())
        )
    )


def still_open(grades: Sequence[Grade]) -> list[Grade]:
    """The grades that count and have no score yet."""
    return [grade for grade in grades if (grade.weight or grade.required) and grade.score is None]


def _describe_low_score(
    grades: Sequence[Grade], not_passed: Sequence[Grade], score: Fraction, rule: PassRule
) -> str:
    """The failed gates, else the mean, and the reason of each grade. The reason of a single grade, or of one
    with own gates that failed, is enough."""
    unexplained = [grade for grade in not_passed if not (grade.failed_gates and grade.reason)]
    gates = gates_of(unexplained)
    summary = f"{', '.join(gates)} had to hold" if gates else ""
    if not gates_of(not_passed) and not (len(grades) == 1 and grades[0].reason):
        summary = f"the mean is {format_distinct(score, rule.pass_at)}, and {rule.pass_at:g} passes"
    return "; ".join(filter(None, (summary, _reasons(not_passed, len(grades) > 1))))


def format_distinct(score: Fraction, limit: float) -> str:
    """A score that misses a limit, with as few digits as distinguish the two, three at least: a reader who
    sees the same number twice would look for the fault elsewhere."""
    for digits in range(3, 18):
        text = f"{float(score):.{digits}g}"
        if exact_fraction(float(text)) != exact_fraction(limit):
            return text
    return f"less than {limit:g}"


def _reasons(grades: Sequence[Grade], with_names: bool) -> str:
    return "; ".join(
        f"{grade.grader}: {grade.reason}" if with_names else grade.reason for grade in grades if grade.reason
    )


def mean_of(grades: Sequence[Grade]) -> Fraction | None:
    """The weighted mean of the scores; a grade without a score counts as 0."""
    return weighted_mean((exact_fraction(grade.score or 0.0), grade.weight) for grade in grades)


def _score(grades: Sequence[Grade]) -> float | None:
    if len(grades) == 1 and grades[0].score is not None and grades[0].weight:
        return float(grades[0].score)  # the mean of one, and the most usual case
    mean = None if any(grade.score is None for grade in grades) else mean_of(grades)
    return None if mean is None else float(mean)
