"""How old a known-good output may be before somebody has to look at it again. Its age counts from its capture
or its last refresh: that it still passes makes it no younger."""

from collections.abc import Iterator
from datetime import UTC, datetime

from baselinekit.model.baselines import Age, Known, Rules
from baselinekit.model.comparison import Difference, RuleReport
from baselinekit.placeholders.kinds import seconds

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
