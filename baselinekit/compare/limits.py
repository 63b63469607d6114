"""Limits besides the output: latency, cost, and the age of a baseline."""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.baselines import Age, Known, Number, Rules
from baselinekit.model.comparison import Difference, RuleReport
from baselinekit.model.observation import Observation
from baselinekit.placeholders.accepts import seconds

# What an output took, its time and its money, against the limits that the rules set.


def too_much(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    """Where it took more than is allowed; CannotReplay when a cost is limited and nobody said what it was."""
    yield from _too_slow(rules, known, observation)
    yield from _too_dear(rules, known, observation)


def not_on_file(rules: Rules, known: Known) -> Iterator[RuleReport]:
    """The ratios that cannot be looked at: nobody wrote down what the capture took."""
    limits = (
        ("latency", rules.latency, _seconds(known), "seconds"),
        ("cost", rules.cost, _usd(known), "cost_usd"),
    )
    for name, limit, captured, key in limits:
        if limit and limit.max_ratio is not None and captured is None:
            what = f"{name}.max_ratio: not compared, baseline.observed.{key} is not on file"
            yield RuleReport("max_ratio", "uncompared", what, ("comparison", name, "max_ratio"))


def is_limit(rule: str | None) -> bool:
    """Whether a difference is about what the output took, and not about the output."""
    return rule is not None and rule.startswith(("latency.", "cost."))


def _too_slow(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    latency, seconds = rules.latency, round(observation.seconds, 3)
    if latency is None:
        return
    if latency.max_seconds is not None and observation.seconds > latency.max_seconds:
        note = f"took {seconds} s, at most {latency.max_seconds} s are allowed"
        yield _limit("latency", latency.max_seconds, seconds, "max_seconds", note)
    captured, ratio = _seconds(known), latency.max_ratio
    if ratio is not None and captured is not None and observation.seconds > captured * ratio:
        note = f"took {seconds} s, at most {ratio} times the {captured} s of the capture are allowed"
        yield _limit("latency", round(captured * ratio, 3), seconds, "max_ratio", note)


def _too_dear(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    """In decimals: what costs exactly what is allowed is not too dear."""
    cost, usd = rules.cost, observation.usage.cost_usd
    if cost is None:
        return
    if usd is None:
        what = "nobody said what the answer cost, which `cost:` of the comparison needs"
        raise CannotReplay(Problem("BK605", what, "state `prices:` of the model, or take the rule out"))
    if cost.max_usd is not None and usd > _exact(cost.max_usd):
        note = f"cost {usd:f} dollars, at most {_exact(cost.max_usd):f} are allowed"
        yield _limit("cost", cost.max_usd, usd, "max_usd", note)
    captured, ratio = _usd(known), cost.max_ratio
    if ratio is not None and captured is not None and usd > captured * _exact(ratio):
        note = f"cost {usd:f} dollars, at most {ratio} times the {captured:f} of the capture are allowed"
        yield _limit("cost", captured * _exact(ratio), usd, "max_ratio", note)


def _seconds(known: Known) -> float | None:
    """How long the capture took; what was too quick for its three digits counts as the least of them."""
    seconds = known.observed.seconds if known.observed else None
    return None if seconds is None else max(float(seconds), 0.001)


def _usd(known: Known) -> Decimal | None:
    usd = known.observed.cost_usd if known.observed else None
    return None if usd is None else _exact(usd)


def _exact(number: Number) -> Decimal:
    return Decimal(str(number))


def _limit(
    what: str, expected: Number | Decimal, actual: Number | Decimal, name: str, note: str
) -> Difference:
    return Difference((what,), "tolerance", expected, actual, (), f"{what}.{name}", note)


# How old a known-good output may be before somebody has to look at it again. Its age counts from its
# capture or its last refresh: that it still passes makes it no younger.


RULE = "max_age"
_DAY = 86_400.0


def too_old(rules: Rules, known: Known, now: float) -> Iterator[Difference]:
    """That it is older than it may be."""
    stated = rules.max_age
    limit = stated.fail if isinstance(stated, Age) else stated
    age = _age(known, now)
    if limit is not None and age is not None and age > float(seconds(limit) or 0):
        rule = f"{RULE}.fail" if isinstance(stated, Age) else RULE
        note = f"captured {_in_words(age)} ago, at most {limit} are allowed"
        yield Difference((RULE,), "tolerance", limit, _in_words(age), (), rule, note)


def to_be_said(rules: Rules, known: Known, now: float) -> Iterator[RuleReport]:
    """That it grows old and still counts, or that nobody knows how old it is."""
    stated = rules.max_age
    if stated is None:
        return
    age = _age(known, now)
    if age is None:
        what = f"{RULE}: not compared, baseline.captured_at is not on file"
        yield RuleReport(RULE, "uncompared", what, ("comparison", RULE))
    elif next(too_old(rules, known, now), None) is not None:
        return
    elif isinstance(stated, Age) and stated.warn is not None and age > float(seconds(stated.warn) or 0):
        what = f"{RULE}: captured {_in_words(age)} ago: refresh it before it is too old to count"
        yield RuleReport(RULE, "aged", what, ("comparison", RULE, "warn"))


def is_about_age(rule: str | None) -> bool:
    return rule is not None and (rule == RULE or rule.startswith(f"{RULE}."))


def _age(known: Known, now: float) -> float | None:
    if known.captured_at is None:
        return None
    captured = datetime.fromisoformat(known.captured_at)
    if captured.tzinfo is None:
        captured = captured.replace(tzinfo=UTC)
    return now - captured.timestamp()


def _in_words(age: float) -> str:
    return (
        f"{age / _DAY:,.0f}d" if age >= 2 * _DAY else f"{age / 3600:.0f}h" if age >= 7200 else f"{age:.0f}s"
    )
