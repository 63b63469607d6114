"""gate: whether what a run came to is enough for the work to go on.

A gate is judged by the cases that it is about, and by no others: its metrics are counted again, of those."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from baselinekit.errors import InvalidInput, NothingSelected, Problem, nearest
from baselinekit.evals.measuring import RATE, measure, read_thresholds
from baselinekit.metrics import PRESETS, metric_name
from baselinekit.model.evals import Gate, Judged, Suite
from baselinekit.model.grades import Attempt
from baselinekit.model.results import CaseFacts, Metric, Report, Result, SuiteFacts
from baselinekit.model.values import Json
from baselinekit.suites.dialects.gates import SLOT

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[^<>=]+?)\s*(?P<sign>>=|>|<=|<|==?)\s*(?P<least>\S+?)\s*(?P<share>%?)\s*"
)
_RATES = frozenset((RATE, "pass_rate", "pass-rate"))
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+|^\.+")
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
    results = tuple(_as_case(one) for one in report.results if _is_meant(gate, one))
    if not results:
        raise NothingSelected(Problem("BK509", *_none_of(gate, report)))
    metrics = _metrics(gate, results)
    facts = report.suite or SuiteFacts(gate.name)
    left = "" if partly else left_out(gate, report)
    why = (*([left] if left else []), *_undecided(report, results))
    judged = Judged(gate, replace(report, results=results), metrics, why)
    suite = replace(facts, metrics=metrics, gate=f"{gate.name}: {judged.state}")
    return replace(judged, report=replace(judged.report, suite=suite))


def left_out(gate: Gate, report: Report) -> str:
    """What the run was narrowed to, where that left out what the gate may be about: of that nobody knows
    whether it passes. A gate that is about the same selection is judged by all of its cases."""
    chosen = report.coverage.chosen
    narrowed = {*_BY_HAND} & chosen.keys()
    narrowed |= {
        name
        for name, own in (("categories", gate.categories), ("tags", gate.tags))
        if name in chosen and not (own and {*own} <= {*_words(chosen[name])})
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
    words = ", ".join(f"{name}: {_in_words(chosen[name])}" for name in sorted(narrowed))
    return f"these are results of a selection ({words}), which left {report.coverage.left_out:,} out"


def _words(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _in_words(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "yes" if value is True else str(value)


def report_path(gate: Gate, phase: str | None, report: Report, root: str) -> str | None:
    """Where the phase report is written. A phase without a name is told by its run."""
    if gate.report is None:
        return None
    name = _UNSAFE.sub("-", phase or report.id.removeprefix("eval-")).strip("-") or "unnamed"
    return os.path.normpath(os.path.join(root, gate.report.replace(SLOT, name)))


def _metrics(gate: Gate, results: Sequence[Result]) -> tuple[Metric, ...]:
    """Those that are asked for, and those that are only to be told."""
    least = {canonical(name): value for name, value in gate.least.items()}
    shown = dict.fromkeys(map(canonical, gate.shown), 0.0)
    found = [one for one in measure(results, {**shown, **least}) if one.threshold is not None]
    order = [*least, *(name for name in shown if name not in least)]
    found.sort(key=lambda metric: order.index(metric.name))
    return tuple(one if one.name in least else replace(one, threshold=None) for one in found)


def _is_meant(gate: Gate, result: Result) -> bool:
    facts = result.case or CaseFacts("regression")
    if gate.categories and not {*gate.categories} & {facts.eval_type, facts.category}:
        return False
    return not gate.tags or bool({*gate.tags} & {*facts.tags})


def _none_of(gate: Gate, report: Report) -> tuple[str, str]:
    if not report.results:
        return f"there are no results to judge {gate.name}", "an empty run is not a pass: baselinekit run"
    facts = [result.case or CaseFacts("regression") for result in report.results]
    known = {word for one in facts for word in (one.eval_type, one.category, *one.tags) if word}
    wanted = [*gate.categories, *gate.tags]
    hint = nearest(wanted[0], known) or f"there are {', '.join(sorted(known)[:10])}"
    return f"none of the {len(facts):,} cases is one of {', '.join(wanted)}", hint


def _as_case(result: Result) -> Result:
    """A baseline that was compared is a case with one attempt, however often it was replayed for that."""
    if result.case is not None:
        return result
    attempt = Attempt(1, result.outcome, None, reason=result.reason, code=result.code)
    made = () if result.outcome == "skipped" else (attempt,)
    return replace(result, case=CaseFacts("regression", made))


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
