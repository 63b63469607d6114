"""The metrics of a run, and whether they are enough for the work to go on."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import fsum

from baselinekit.errors import InvalidInput, NothingSelected, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import (
    PRESETS,
    clustered_interval,
    metric_name,
    pass_at_k,
    pass_hat_k,
    pass_hat_k_unbiased,
    wilson,
)
from baselinekit.model.evals import Gate, Judged, Suite
from baselinekit.model.grades import BORDERLINE, Attempt
from baselinekit.model.results import CaseFacts, Metric, Report, Result, SuiteFacts
from baselinekit.suites.dialects.gates import SLOT

# Results of eval cases -> the metrics of the run, in both views, each with its interval. Per case: what
# is estimated for each case, on average by weight. Pooled: all attempts in one heap. What an attempt
# says counts if it passed or failed; one that was only made because another had failed does not.


RATE = "pass rate"
_PER_CASE, _POOLED = "per case", "pooled attempts"
_ALWAYS = (1, 3)


@frozen
class _Counted:
    """One case: its attempts that were decided, and how many of them passed."""

    attempts: int
    passed: int
    weight: float


def measure(results: Sequence[Result], thresholds: Mapping[str, float]) -> tuple[Metric, ...]:
    """Every metric that is asked for, and those that everybody asks for. `pass@1` counts first attempts."""
    wanted = read_thresholds(thresholds)
    counted, firsts = [], []
    for facts in (result.case for result in results if result.case is not None):
        attempts = facts.attempts[: len(facts.attempts) - facts.retried]
        decided = [one.outcome == "passed" for one in attempts if one.outcome in ("passed", "failed")]
        if decided:
            counted.append(_Counted(len(decided), sum(decided), facts.weight))
        if facts.attempts and facts.attempts[0].outcome in ("passed", "failed"):
            firsts.append(_Counted(1, int(facts.attempts[0].outcome == "passed"), facts.weight))
    most = max((one.attempts for one in counted), default=0)
    ks = sorted({*_ALWAYS, *(k for _, k in wanted), *([most] if most else [])})
    found = [pass_rate(results, thresholds.get(RATE)), _mean("pass@1", firsts, 1)]
    found += [_pooled("pass@1", counted, 1)] if most > 1 else []
    found += [_mean(f"pass@{k}", counted, k) for k in ks if k > 1]
    for k in ks:
        if k > 1:
            found += [_pooled(f"pass^{k}", counted, k), _mean(f"pass^{k} unbiased", counted, k)]
    stated = {f"pass{sign}{k}": least for (sign, k), least in wanted.items()}
    found += borderline_share(results)
    for place, metric in enumerate(found):  # pass@k as it is estimated case by case, pass^k of all attempts
        if metric.name in stated and (metric.view == _PER_CASE) == ("@" in metric.name):
            found[place] = replace(metric, threshold=stated[metric.name])
    return tuple(found)


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


def pass_rate(results: Sequence[Result], least: float | None) -> Metric:
    """The share of the cases that passed, of those that passed or failed."""
    decided = [one for one in results if one.outcome in ("passed", "failed")]
    if not decided:
        return Metric(RATE, None, threshold=least, why="no case was decided")
    share = sum(one.outcome == "passed" for one in decided) / len(decided)
    return Metric(RATE, share, _PER_CASE, *wilson(share, len(decided)), len(decided), least)


def borderline_share(results: Sequence[Result]) -> list[Metric]:
    """The share of the cases that are borderline, where there are any that a mean decides."""
    decided = [one for one in results if one.case is not None and one.outcome in ("passed", "failed")]
    if not any(
        one.case and (one.case.pass_rule.by == "mean" or one.verdict == BORDERLINE) for one in decided
    ):
        return []
    share = sum(one.verdict == BORDERLINE for one in decided) / len(decided)
    return [Metric(BORDERLINE, share, _PER_CASE, *wilson(share, len(decided)), len(decided))]


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


# gate: whether what a run came to is enough for the work to go on. A gate is judged by the cases that it
# is about, and by no others: its metrics are counted again, of those.


_REQUIREMENT = lazy_pattern(
    r"\s*(?P<name>[^<>=]+?)\s*(?P<sign>>=|>|<=|<|==?)\s*(?P<least>\S+?)\s*(?P<share>%?)\s*"
)
_RATES = frozenset((RATE, "pass_rate", "pass-rate"))
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9._-]+|^\.+")
_BY_HAND = frozenset(("ids", "exclude_tags", "expression", "grader_type", "last_failed"))
_SINCE = "changed_since"
"""A change that touches nothing else breaks nothing else: that is told, and takes nothing away."""
_MOST_TOLD = 3


def requirement(text: str) -> tuple[str, float]:
    """`pass@1>=0.85` -> ("pass@1", 0.85)."""
    match = _REQUIREMENT.fullmatch(text)
    if match is None or match["sign"] != ">=":
        hint = "state the least value of a metric: --require 'pass@1>=0.85'"
        raise InvalidInput(Problem("BK732", f"{text!r} is not a requirement", hint))
    try:
        least = float(match["least"]) / (100 if match["share"] else 1)
    except ValueError:
        what = f"{match['least']!r} in {text!r} is not a number"
        raise InvalidInput(Problem("BK732", what, "such as 0.85, or 85%")) from None
    return canonical(match["name"]), least


def canonical(name: str) -> str:
    """`pass_at_1` -> `pass@1`, `pass_rate` -> `pass rate`."""
    if name.strip().lower() in _RATES:
        return RATE
    known = metric_name(name)
    return name.strip() if known is None else "pass@1" if known == ("^", 1) else f"pass{known[0]}{known[1]}"


def stated(preset: str | None, required: Sequence[str], rate: float | None) -> dict[str, float]:
    """What the options ask for. What is stated by itself counts, and not what a preset says of it."""
    least = {canonical(name): value for name, value in (PRESETS[preset] if preset else {}).items()}
    if rate is not None:
        least[RATE] = rate
    least |= dict(map(requirement, required))
    read_thresholds(least)
    return least


def with_more(gate: Gate, least: Mapping[str, float]) -> Gate:
    """The gate of a file with what the operator asks for as well, who may ask for more and for less."""
    own = {canonical(name): value for name, value in gate.least.items()}
    return replace(gate, least={**own, **least}, shown=tuple(map(canonical, gate.shown)))


def attempts_for(gate: Gate, suite: Suite) -> int | None:
    """How many attempts a run has to make so that each metric can be told; None where the suite's will do."""
    known = [metric_name(name) for name in (*gate.least, *gate.shown)]
    most = max((k for sign, k in filter(None, known) if sign == "@"), default=1)
    return most if most > suite.config.attempts else None


def judge(gate: Gate, report: Report, partly: bool = False) -> Judged:
    """The gate, judged by a run. NothingSelected where none of its cases is in there. `partly`: what the run
    was told to leave out does not matter."""
    results = []
    for result in report.results:
        if result.case is None:  # a baseline that was compared is a case with one attempt
            attempt = Attempt(1, result.outcome, None, reason=result.reason, code=result.code)
            made = () if result.outcome == "skipped" else (attempt,)
            result = replace(result, case=CaseFacts("regression", made))
        case = result.case or CaseFacts("regression")
        if (not gate.categories or {*gate.categories} & {case.eval_type, case.category}) and (
            not gate.tags or {*gate.tags} & {*case.tags}
        ):
            results.append(result)
    if not results:
        facts = [result.case or CaseFacts("regression") for result in report.results]
        known = {word for one in facts for word in (one.eval_type, one.category, *one.tags) if word}
        wanted = [*gate.categories, *gate.tags]
        what = f"there are no results to judge {gate.name}"
        hint = "an empty run is not a pass: baselinekit run"
        if report.results:
            what = f"none of the {len(facts):,} cases is one of {', '.join(wanted)}"
            hint = nearest(wanted[0], known) or f"there are {', '.join(sorted(known)[:10])}"
        raise NothingSelected(Problem("BK509", what, hint))
    least = {canonical(name): value for name, value in gate.least.items()}
    shown = dict.fromkeys(map(canonical, gate.shown), 0.0)
    found = [one for one in measure(results, {**shown, **least}) if one.threshold is not None]
    found.sort(key=lambda metric: [*least, *shown].index(metric.name))
    metrics = tuple(one if one.name in least else replace(one, threshold=None) for one in found)
    left = "" if partly else left_out(gate, report)
    why = (*([left] if left else []), *_undecided(report, results))
    judged = Judged(gate, replace(report, results=tuple(results)), metrics, why)
    suite = replace(
        report.suite or SuiteFacts(gate.name), metrics=metrics, gate=f"{gate.name}: {judged.state}"
    )
    return replace(judged, report=replace(judged.report, suite=suite))


def left_out(gate: Gate, report: Report) -> str:
    """What the run was narrowed to, where that left out what the gate may be about: of that nobody knows
    whether it passes. A gate that is about the same selection is judged by all of its cases."""
    chosen = report.coverage.chosen
    narrowed = {*_BY_HAND} & chosen.keys()
    narrowed |= {
        name
        for name, own in (("categories", gate.categories), ("tags", gate.tags))
        if name in chosen
        and not (own and isinstance(chosen[name], list) and {*own} <= {*map(str, chosen[name])})
    }
    told = _told(report, narrowed)
    return f"{told}: run them too, or pass --partial" if told else ""


def since(report: Report) -> str:
    """That only what a change touches was run."""
    return _told(report, {_SINCE} & report.coverage.chosen.keys())


def _told(report: Report, narrowed: Collection[str]) -> str:
    if not narrowed or not report.coverage.left_out:
        return ""
    chosen = report.coverage.chosen
    words = {name: "yes" if value is True else str(value) for name, value in chosen.items()}
    words |= {name: ", ".join(map(str, value)) for name, value in chosen.items() if isinstance(value, list)}
    listed = ", ".join(f"{name}: {words[name]}" for name in sorted(narrowed))
    return f"these are results of a selection ({listed}), which left {report.coverage.left_out:,} out"


def report_path(gate: Gate, phase: str | None, report: Report, root: str) -> str | None:
    """Where the phase report is written. A phase without a name is told by its run."""
    if gate.report is None:
        return None
    name = _UNSAFE.sub("-", phase or report.id.removeprefix("eval-")).strip("-") or "unnamed"
    return os.path.normpath(os.path.join(root, gate.report.replace(SLOT, name)))


def _undecided(report: Report, results: Sequence[Result]) -> tuple[str, ...]:
    """What nobody knows the outcome of: it is no pass, and no failure either."""
    found = [f"{one.id}: {one.outcome}" for one in results if one.outcome in ("error", "unscored")]
    found += [
        f"{one.id}: never run" for one in results if one.outcome == "skipped" and one.verdict == "limit"
    ]
    why = []
    if found:
        more = f" and {len(found) - _MOST_TOLD:,} more" if len(found) > _MOST_TOLD else ""
        why.append(f"{len(found):,} of {len(results):,} undecided ({', '.join(found[:_MOST_TOLD])}{more})")
    if report.interrupted:
        why.append("the run was interrupted")
    elif not report.complete:
        why.append("the run did not finish")
    if not any(one.outcome in ("passed", "failed") for one in results) and not found:
        why.append("nothing ran")
    return tuple(why)
