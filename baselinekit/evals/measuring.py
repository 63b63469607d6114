"""Results of eval cases -> the metrics of the run, in both views, each with its interval.

Per case: what is estimated for each case, on average by weight. Pooled: all attempts in one heap. What an
attempt says counts if it passed or failed; one that was only made because another had failed does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from baselinekit.errors import InvalidInput, Problem
from baselinekit.metrics import (
    clustered_interval,
    metric_name,
    pass_at_k,
    pass_hat_k,
    pass_hat_k_unbiased,
    wilson,
)
from baselinekit.model.results import Metric, Result

RATE = "pass rate"
_PER_CASE, _POOLED = "per case", "pooled attempts"
_ALWAYS = (1, 3)


@dataclass(frozen=True, slots=True)
class _Counted:
    """One case: its attempts that were decided, and how many of them passed."""

    attempts: int
    passed: int
    weight: float


def measure(results: Sequence[Result], thresholds: Mapping[str, float]) -> tuple[Metric, ...]:
    """Every metric that is asked for, and those that everybody asks for. `pass@1` counts first attempts."""
    wanted = read_thresholds(thresholds)
    counted = [one for one in map(_counted, results) if one is not None and one.attempts]
    most = max((one.attempts for one in counted), default=0)
    ks = sorted({*_ALWAYS, *(k for _, k in wanted), *([most] if most else [])})
    firsts = [_first(one) for one in results if one.case is not None]
    found = [_rate(results, thresholds.get(RATE)), _mean("pass@1", [one for one in firsts if one], 1)]
    found += [_pooled("pass@1", counted, 1)] if most > 1 else []
    found += [_mean(f"pass@{k}", counted, k) for k in ks if k > 1]
    for k in ks:
        if k > 1:
            found += [_pooled(f"pass^{k}", counted, k), _mean(f"pass^{k} unbiased", counted, k)]
    stated = {f"pass{sign}{k}": least for (sign, k), least in wanted.items()}
    return tuple(_with_threshold(metric, stated) for metric in found)


def read_thresholds(thresholds: Mapping[str, float]) -> dict[tuple[str, int], float]:
    """The thresholds by what they are of; InvalidInput for a name that is no metric's, or no share."""
    found, problems = {}, []
    for name, least in thresholds.items():
        known = metric_name(name)
        if isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1:
            problems.append(Problem("BK723", f"the threshold of {name} is {least!r}", "a share from 0 to 1"))
        elif known is not None:
            found[known if known != ("^", 1) else ("@", 1)] = float(least)
        elif name != RATE:
            problems.append(Problem("BK723", f"no metric is called {name!r}", "pass@1, pass@3 or pass^3"))
    if problems:
        raise InvalidInput(*problems)
    return found


def _counted(result: Result) -> _Counted | None:
    facts = result.case
    if facts is None:
        return None
    meant = facts.attempts[: len(facts.attempts) - facts.retried]
    decided = [one for one in meant if one.outcome in ("passed", "failed")]
    return _Counted(len(decided), sum(one.outcome == "passed" for one in decided), facts.weight)


def _first(result: Result) -> _Counted | None:
    facts = result.case
    if facts is None or not facts.attempts or facts.attempts[0].outcome not in ("passed", "failed"):
        return None
    return _Counted(1, int(facts.attempts[0].outcome == "passed"), facts.weight)


def _rate(results: Sequence[Result], least: float | None) -> Metric:
    """The share of the cases that passed, of those that passed or failed."""
    decided = [one for one in results if one.outcome in ("passed", "failed")]
    if not decided:
        return Metric(RATE, None, threshold=least, why="no case was decided")
    share = sum(one.outcome == "passed" for one in decided) / len(decided)
    return Metric(RATE, share, _PER_CASE, *wilson(share, len(decided)), len(decided), least)


def _mean(name: str, counted: Sequence[_Counted], k: int) -> Metric:
    rule = pass_hat_k_unbiased if name.endswith("unbiased") else pass_at_k
    values = [rule(one.attempts, one.passed, k) for one in counted]
    known = [value for value in values if value is not None]
    weight = fsum(one.weight for one in counted)
    if not counted or not weight:
        return Metric(name, None, _PER_CASE, why="no attempt was decided")
    if len(known) < len(counted):
        short = len(counted) - len(known)
        many = f"{short:,} of {len(counted):,} cases have" if len(counted) > 1 else "the case has"
        return Metric(name, None, _PER_CASE, count=len(counted), why=f"{many} fewer than {k} attempts")
    share = fsum(value * one.weight for value, one in zip(known, counted, strict=True)) / weight
    effective = weight**2 / fsum(one.weight**2 for one in counted)
    return Metric(name, share, _PER_CASE, *wilson(share, effective), len(counted))


def _pooled(name: str, counted: Sequence[_Counted], k: int) -> Metric:
    attempts, passed = sum(one.attempts for one in counted), sum(one.passed for one in counted)
    if not attempts:
        return Metric(name, None, _POOLED, why="no attempt was decided")
    low, high = clustered_interval([(one.attempts, one.passed) for one in counted])
    return Metric(name, pass_hat_k(attempts, passed, k), _POOLED, low**k, high**k, attempts)


def _with_threshold(metric: Metric, stated: Mapping[str, float]) -> Metric:
    """What a threshold is of: pass@k as it is estimated case by case, pass^k of all attempts in one heap."""
    is_meant = (metric.view == _PER_CASE) == ("@" in metric.name)
    return replace(metric, threshold=stated[metric.name]) if metric.name in stated and is_meant else metric
