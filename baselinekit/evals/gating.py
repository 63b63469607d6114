"""The metrics of a run, and whether they are enough for the work to go on."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from math import fsum

from baselinekit import metrics
from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import RATE, canonical_metric, metric_name
from baselinekit.model.evals import ALLOWABLE, Gate, GateResult, Suite
from baselinekit.model.grades import Attempt
from baselinekit.model.results import CaseFacts, Metric, Report, Result, SuiteFacts
from baselinekit.structs import replace
from baselinekit.suites.suite import SLOT
from baselinekit.values.texts import list_first

# Results of eval cases -> the metrics of the run, in two views, each with its interval. Per case: the mean of
# the estimates of all cases, by weight. Pooled: all attempts of all cases together. An attempt counts if it
# passed or failed; one that was only made because an earlier one had failed does not.


_PER_CASE, _POOLED = "per case", "pooled attempts"
_UNBIASED = " unbiased"
_DECIDED = ("passed", "failed")
Counts = list[tuple[int, int, float]]
"""How many attempts of each case passed or failed, how many of them passed, and its weight."""


def measure(results: Sequence[Result], thresholds: Mapping[str, float]) -> tuple[Metric, ...]:
    """Return every metric with a threshold, and the usual ones, of the attempts that are independent."""
    counts: Counts = []
    retried = False
    for facts in (result.case for result in results if result.case is not None):
        attempts = facts.attempts[: len(facts.attempts) - facts.retried]
        outcomes = [attempt.outcome for attempt in attempts if attempt.outcome in _DECIDED]
        if outcomes:
            counts.append((len(outcomes), outcomes.count("passed"), facts.weight))
            retried = retried or facts.retried > 0
    most = max((attempts for attempts, _, _ in counts), default=0)
    named = filter(None, map(metric_name, thresholds))
    ks = sorted(k for k in {3, most, *(k for _, k in named)} if k > 1)
    measured = [pass_rate(results), _mean("pass@1", counts, 1)]
    if most > 1:
        measured.append(_pooled("pass@1", counts, 1))
    measured += [_mean(f"pass@{k}", counts, k) for k in ks]
    for k in ks:
        measured.append(_pooled(f"pass^{k}", counts, k))
        measured.append(_mean(f"pass^{k}{_UNBIASED}", counts, k, metrics.pass_hat_k_unbiased))
    estimator = "first attempts" if retried else ""
    if most > 1:
        estimator = "all attempts but retries" if retried else "all attempts"

    def finished(metric: Metric) -> Metric:
        is_estimated = metric.value is not None and metric.name != RATE
        if is_estimated and (retried or metric.view == _PER_CASE):
            metric = replace(metric, estimator=estimator)
        # a threshold is for pass@k per case, for pass^k pooled
        is_judged = (metric.view == _POOLED) == ("^" in metric.name)
        return replace(metric, threshold=thresholds.get(metric.name)) if is_judged else metric

    return tuple(map(finished, measured))


def pass_rate(results: Sequence[Result]) -> Metric:
    """The share of the cases that passed, of those that passed or failed."""
    decided = [result for result in results if result.outcome in _DECIDED]
    if not decided:
        return Metric(RATE, None, _PER_CASE, None, None, 0, None, "no case was decided")
    share = sum(result.outcome == "passed" for result in decided) / len(decided)
    return Metric(RATE, share, _PER_CASE, *metrics.wilson(share, len(decided)), len(decided), None)


def _mean(
    name: str, counts: Counts, k: int, rule: Callable[[int, int, int], float | None] = metrics.pass_at_k
) -> Metric:
    values = [rule(attempts, passed, k) for attempts, passed, _ in counts]
    weights = [weight for _, _, weight in counts]
    if not fsum(weights):
        return Metric(name, None, _PER_CASE, None, None, 0, None, "no attempt was decided")
    if missing := values.count(None):
        why = f"fewer than {k} attempts in {missing:,} of {len(counts):,} cases"
        return Metric(name, None, _PER_CASE, None, None, len(counts), None, why)
    share = fsum((value or 0) * weight for value, weight in zip(values, weights, strict=True)) / fsum(weights)
    effective = fsum(weights) ** 2 / fsum(weight**2 for weight in weights)
    return Metric(name, share, _PER_CASE, *metrics.wilson(share, effective), len(counts), None)


def _pooled(name: str, counts: Counts, k: int) -> Metric:
    attempts = sum(attempts for attempts, _, _ in counts)
    passed = sum(passed for _, passed, _ in counts)
    if not attempts:
        return Metric(name, None, _POOLED, None, None, 0, None, "no attempt was decided")
    low, high = metrics.clustered_interval([(attempts, passed) for attempts, passed, _ in counts])
    return Metric(name, metrics.pass_hat_k(attempts, passed, k), _POOLED, low**k, high**k, attempts, None)


# gate: whether the results of a run are good enough for the work to go on. A gate is judged only by the cases
# that it is about: its metrics are computed again, of those.


_REQUIREMENT = lazy_pattern(r"\s*(?P<name>[^<>=]+?)\s*>=\s*(?P<least>[0-9]*\.?[0-9]+)\s*(?P<share>%?)\s*")
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9._-]+|^\.+")
_SELECTIONS = frozenset(("ids", "exclude_tags", "expression", "grader_type", "last_failed"))
_SINCE = "changed_since"
"""Leaving out the cases that a change does not touch is reported, and does not make the gate incomplete."""
_MOST_LISTED = 3


def requirement(text: str) -> tuple[str, float]:
    """`pass_at_1>=85%` -> ("pass@1", 0.85)."""
    if match := _REQUIREMENT.fullmatch(text):
        metric = canonical_metric(match["name"])
        least = float(match["least"]) / (100 if match["share"] else 1)
        if metric is not None and least <= 1:
            return metric, least
    hint = "the least value of a metric: 'pass@1>=0.85', 'pass^3>=70%' or 'pass rate>=0.9'"
    raise InvalidInput(Problem("BK723", f"{text!r} is not a requirement", hint))


def thresholds_of_options(preset: str | None, stated: Sequence[str], rate: float | None) -> dict[str, float]:
    """The thresholds that the options state. A single one replaces the one of the preset."""
    least = dict(metrics.PRESETS[preset]) if preset else {}
    if rate is not None:
        least[RATE] = rate
    return least | dict(map(requirement, stated))


def with_thresholds(gate: Gate, least: Mapping[str, float]) -> Gate:
    """The gate of a file with the thresholds of the operator, which may be higher or lower."""
    return replace(gate, least={**gate.least, **least})


def attempts_for(gate: Gate, suite: Suite) -> int | None:
    """How many attempts a run needs for each metric to be computed; None where the suite makes enough."""
    named = [metric_name(name) for name in (*gate.least, *gate.shown)]
    most = max((k for sign, k in filter(None, named) if sign == "@"), default=1)
    return most if most > suite.config.attempts else None


def judge(gate: Gate, report: Report, partly: bool = False) -> GateResult:
    """Judge the gate by a run. NothingSelected where the run has none of its cases. `partly`: cases that the
    run left out on request do not matter."""
    results, known_words = [], set[str]()
    for result in report.results:
        case = result.case
        if case is None:  # a baseline that was compared is a case with one attempt
            attempt = Attempt(1, result.outcome, None, reason=result.reason, code=result.code)
            case = CaseFacts("regression", () if result.outcome == "skipped" else (attempt,))
        words = {word for word in (case.eval_type, case.category) if word}
        known_words |= {*words, *case.tags}
        if (not gate.categories or {*gate.categories} & words) and (
            not gate.tags or {*gate.tags} & {*case.tags}
        ):
            results.append(replace(result, case=case))
    if not results:
        selected = ", ".join([*gate.categories, *gate.tags]) or gate.name
        message = f"none of the {len(report.results):,} cases is one of {selected}"
        hint = f"there are {', '.join(sorted(known_words))}" if known_words else "run them: baselinekit run"
        raise NothingSelected(Problem("BK509", message, hint))
    wanted = gate.least | {name: 0.0 for name in gate.shown if name not in gate.least}
    measured = {one.name: one for one in measure(results, wanted) if one.threshold is not None}
    judged_metrics = tuple(
        measured[name] if name in gate.least else replace(measured[name], threshold=None) for name in wanted
    )
    omission = "" if partly else describe_omission(gate, report)
    reasons = (*([omission] if omission else []), *_undecided(report, results))
    regressed = tuple(_regressed(gate, results))
    judged = GateResult(gate, replace(report, results=tuple(results)), judged_metrics, reasons, regressed)
    state = f"{gate.name}: {judged.state}"
    suite = replace(report.suite or SuiteFacts(gate.name), metrics=judged_metrics, gate=state)
    return replace(judged, report=replace(judged.report, suite=suite))


def _regressed(gate: Gate, results: Sequence[Result]) -> Iterator[str]:
    """The reasons why the gate is not met whatever its metrics are: failing regressions, by criticality."""
    failing: dict[str, list[str]] = {level: [] for level in ("critical", "high", *ALLOWABLE)}
    for result in results:
        if result.outcome == "failed" and result.case and result.case.eval_type == "regression":
            failing.setdefault(result.criticality or "medium", []).append(result.id)
    for level, ids in failing.items():
        if ids and level not in gate.allow_regressions:
            how = f"{level}, not in allow_regressions" if level in ALLOWABLE else level
            yield f"no rate covers a failing regression ({how}): {list_first(ids, _MOST_LISTED)}"


def describe_omission(gate: Gate, report: Report) -> str:
    """Describe the selection of the run if it may have left out cases of the gate, whose outcome is then
    unknown. A gate that is about the same selection has lost none of its cases."""
    chosen = report.coverage.chosen
    narrowed = {*_SELECTIONS} & chosen.keys()
    for name, wanted in (("categories", gate.categories), ("tags", gate.tags)):
        values = chosen.get(name, [])
        is_covered = wanted and isinstance(values, list) and {*wanted} <= {*map(str, values)}
        if name in chosen and not is_covered:
            narrowed.add(name)
    message = _describe_selection(report, narrowed)
    return f"{message}: run them too, or pass --partial" if message else ""


def describe_changed_since(report: Report) -> str:
    """Describe the selection if only the cases that a change touches were run."""
    return _describe_selection(report, {_SINCE} & report.coverage.chosen.keys())


def _describe_selection(report: Report, narrowed: Collection[str]) -> str:
    if not narrowed or not report.coverage.left_out:
        return ""
    words = []
    for name in sorted(narrowed):
        value = report.coverage.chosen[name]
        text = ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else value
        words.append(f"{name}: {text}")
    left_out = report.coverage.left_out
    return f"these are results of a selection ({', '.join(words)}), which left {left_out:,} out"


def report_path(gate: Gate, phase: str | None, report: Report, root: str) -> str | None:
    """Where the phase report is written. A phase without a name is named by the id of its run."""
    if gate.report is None:
        return None
    name = _UNSAFE.sub("-", phase or report.id.removeprefix("eval-")).strip("-") or "unnamed"
    return os.path.normpath(os.path.join(root, gate.report.replace(SLOT, name)))


def _undecided(report: Report, results: Sequence[Result]) -> Iterator[str]:
    """The reasons why the gate is undecided: cases without an outcome neither pass nor fail."""
    undecided = [f"{one.id}: {one.outcome}" for one in results if one.outcome in ("error", "unscored")]
    limited = [one for one in results if one.outcome == "skipped" and one.verdict == "limit"]
    undecided += [f"{one.id}: never run" for one in limited]
    if undecided:
        yield f"{len(undecided):,} of {len(results):,} undecided ({list_first(undecided, _MOST_LISTED)})"
    if report.interrupted:
        yield "the run was interrupted"
    elif not report.complete:
        yield "the run did not finish"
    if not undecided and not any(result.outcome in _DECIDED for result in results):
        yield "nothing ran"
