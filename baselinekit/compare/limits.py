"""Limits besides the output: latency, cost, and the age of a baseline."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.baselines import Age, Difference, Known, Number, RuleReport, Rules
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.accepts import seconds

MAX_AGE = "max_age"
_DAY = 86_400.0


def exceeded(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    """Where an output took more than is allowed; CannotReplay when a cost is limited and unknown. Costs are
    counted in decimals: what costs exactly what is allowed passes."""
    latency, cost, took = rules.latency, rules.cost, observation.seconds
    if latency is not None:
        captured = _captured_seconds(known)
        shown = round(took, 3)
        if latency.max_seconds is not None and took > latency.max_seconds:
            note = f"took {shown} s, at most {latency.max_seconds} s is allowed"
            yield _limit("latency", latency.max_seconds, shown, "max_seconds", note)
        ratio = latency.max_ratio
        if ratio is not None and captured is not None and took > captured * ratio:
            note = f"took {shown} s, at most {ratio} times the {captured} s of the capture are allowed"
            yield _limit("latency", round(captured * ratio, 3), shown, "max_ratio", note)
    if cost is None:
        return
    usd, paid = observation.usage.cost_usd, _captured_usd(known)
    if usd is None:
        what = "the cost of the answer is unknown, and `cost:` of the comparison needs it"
        raise CannotReplay(Problem("BK605", what, "state `prices:` of the model, or remove the rule"))
    if cost.max_usd is not None and usd > _exact(cost.max_usd):
        note = f"cost {usd:f} dollars, at most {_exact(cost.max_usd):f} are allowed"
        yield _limit("cost", cost.max_usd, usd, "max_usd", note)
    if cost.max_ratio is not None and paid is not None and usd > paid * _exact(cost.max_ratio):
        note = f"cost {usd:f} dollars, at most {cost.max_ratio} times the {paid:f} of the capture are allowed"
        yield _limit("cost", paid * _exact(cost.max_ratio), usd, "max_ratio", note)


def unchecked_ratios(rules: Rules, known: Known) -> Iterator[RuleReport]:
    """The ratios that cannot be checked: nobody wrote down what the capture took."""
    limits = (
        ("latency", rules.latency, _captured_seconds(known), "seconds"),
        ("cost", rules.cost, _captured_usd(known), "cost_usd"),
    )
    for name, limit, captured, key in limits:
        if limit and limit.max_ratio is not None and captured is None:
            what = f"{name}.max_ratio: not compared, baseline.observed.{key} is missing"
            yield RuleReport("max_ratio", "uncompared", what, ("comparison", name, "max_ratio"))


def is_limit(difference: Difference) -> bool:
    """Whether it is about what the output took, or how old the baseline is, and not about the output."""
    rule = difference.rule or ""
    return rule == MAX_AGE or rule.startswith(("latency.", "cost.", f"{MAX_AGE}."))


def _captured_seconds(known: Known) -> float | None:
    """How long the capture took; what was too quick for its three digits counts as the least of them."""
    seconds = known.observed.seconds if known.observed else None
    return None if seconds is None else max(float(seconds), 0.001)


def _captured_usd(known: Known) -> Decimal | None:
    usd = known.observed.cost_usd if known.observed else None
    return None if usd is None else _exact(usd)


def _exact(number: Number) -> Decimal:
    return Decimal(str(number))


def _limit(
    what: str, expected: Number | Decimal, actual: Number | Decimal, name: str, note: str
) -> Difference:
    return Difference((what,), "tolerance", expected, actual, (), f"{what}.{name}", note)


def too_old(rules: Rules, known: Known, now: float) -> Iterator[Difference]:
    """That a known-good output is older than it may be. Its age counts from its capture or its last refresh:
    that it still passes makes it no younger."""
    stated = rules.max_age
    limit = stated.fail if isinstance(stated, Age) else stated
    age = _age(known, now)
    if limit is not None and age is not None and age > float(seconds(limit) or 0):
        rule = f"{MAX_AGE}.fail" if isinstance(stated, Age) else MAX_AGE
        note = f"captured {_describe_age(age)} ago, but at most {limit} is allowed"
        yield Difference((MAX_AGE,), "tolerance", limit, _describe_age(age), (), rule, note)


def age_reports(rules: Rules, known: Known, now: float) -> Iterator[RuleReport]:
    """That it grows old and still counts, or that nobody knows how old it is."""
    stated, age = rules.max_age, _age(known, now)
    if stated is not None and age is None:
        what = f"{MAX_AGE}: not compared, baseline.captured_at is missing"
        yield RuleReport(MAX_AGE, "uncompared", what, ("comparison", MAX_AGE))
    if not isinstance(stated, Age) or stated.warn is None or age is None or [*too_old(rules, known, now)]:
        return
    if age > float(seconds(stated.warn) or 0):
        what = f"{MAX_AGE}: captured {_describe_age(age)} ago: refresh it before it gets too old"
        yield RuleReport(MAX_AGE, "aged", what, ("comparison", MAX_AGE, "warn"))


def _age(known: Known, now: float) -> float | None:
    if known.captured_at is None:
        return None
    captured = datetime.fromisoformat(known.captured_at)
    if captured.tzinfo is None:
        captured = captured.replace(tzinfo=UTC)
    return now - captured.timestamp()


def _describe_age(age: float) -> str:
    return (
        f"{age / _DAY:,.0f}d" if age >= 2 * _DAY else f"{age / 3600:.0f}h" if age >= 7200 else f"{age:.0f}s"
    )
