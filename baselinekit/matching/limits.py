"""Checks besides the stored output: limits of latency, cost and age, and required keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.model.baselines import Age, Difference, Known, Number, RuleReport, Rules
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import seconds
from baselinekit.values.equality import decimal
from baselinekit.values.paths import Pattern, find
from baselinekit.values.places import Key, OneOf, Segment, Wild, children, fits

DAY = 86_400.0


def exceeded(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    """The limits of latency and cost that an output exceeds; CannotReplay when a cost is limited and unknown.
    They are counted in decimals, times in milliseconds: what is exactly the limit passes."""
    latency, cost = rules.latency, rules.cost
    if latency is not None:
        ratio = _times(latency.max_ratio, captured_seconds(known))
        limits = {"max_seconds": latency.max_seconds, "max_ratio": ratio}
        yield from _exceeded("latency", "took {} s", decimal(round(observation.seconds, 3)), limits)
    if cost is not None:
        usd = observation.usage.cost_usd
        if usd is None:
            message = "the cost of the answer is unknown, and `cost:` of the comparison needs it"
            raise CannotReplay(Problem("BK605", message, "state `prices:` of the model, or remove the rule"))
        ratio = _times(cost.max_ratio, captured_usd(known))
        yield from _exceeded("cost", "cost {} dollars", usd, {"max_usd": cost.max_usd, "max_ratio": ratio})


def _times(ratio: Number | None, captured: Number | None) -> Decimal | None:
    return None if ratio is None or captured is None else decimal(captured) * decimal(ratio)


def _exceeded(
    subject: str, words: str, actual: Decimal, limits: Mapping[str, Number | Decimal | None]
) -> Iterator[Difference]:
    for name, limit in limits.items():
        if limit is not None and actual > decimal(limit):
            note = f"{words.format(f'{actual:f}')}, at most {decimal(limit):f} are allowed"
            yield Difference((subject,), "tolerance", limit, actual, (), f"{subject}.{name}", note)


def unchecked_ratios(rules: Rules, known: Known) -> Iterator[RuleReport]:
    """Reports of ratios that cannot be checked, as the file does not say what the capture took."""
    latency = "latency", rules.latency, captured_seconds(known), "seconds", "max_seconds"
    cost = "cost", rules.cost, captured_usd(known), "cost_usd", "max_usd"
    for name, limit, captured, key, other in (latency, cost):
        if limit and limit.max_ratio is not None and captured is None:
            reason = f"baseline.observed.{key} is missing: write what the capture took, or state {other}"
            message = f"{name}.max_ratio: not checked, {reason}"
            yield RuleReport("max_ratio", "unchecked", message, ("comparison", name, "max_ratio"))


def captured_seconds(known: Known) -> float | None:
    """How long the capture took; a time that was rounded to zero counts as a millisecond."""
    seconds = known.observed.seconds if known.observed else None
    return None if seconds is None else max(float(seconds), 0.001)


def captured_usd(known: Known) -> Number | None:
    return known.observed.cost_usd if known.observed else None


def too_old(rules: Rules, known: Known, now: float) -> Iterator[Difference]:
    """The difference of a known-good output that is older than allowed. Its age counts from its capture or
    its last refresh; a passing comparison does not renew it."""
    max_age = rules.max_age
    limit = max_age.fail if isinstance(max_age, Age) else max_age
    age = _age_of(known, now)
    if limit is not None and age is not None and age > float(seconds(limit) or 0):
        rule = "max_age.fail" if isinstance(max_age, Age) else "max_age"
        note = f"captured {describe_age(age)} ago, but at most {limit} is allowed"
        yield Difference(("max_age",), "tolerance", limit, describe_age(age), (), rule, note)


def age_reports(rules: Rules, known: Known, now: float) -> Iterator[RuleReport]:
    """Reports of a known-good output that is getting old but still counts, or whose age is unknown."""
    max_age, age = rules.max_age, _age_of(known, now)
    if max_age is not None and age is None:
        message = "max_age: not checked, baseline.captured_at is missing: write when the output was taken"
        yield RuleReport("max_age", "unchecked", message, ("comparison", "max_age"))
    if not isinstance(max_age, Age) or max_age.warn is None or age is None or [*too_old(rules, known, now)]:
        return
    if age > float(seconds(max_age.warn) or 0):
        message = f"max_age: captured {describe_age(age)} ago: refresh it before it gets too old"
        yield RuleReport("max_age", "aged", message, ("comparison", "max_age", "warn"))


def _age_of(known: Known, now: float) -> float | None:
    captured = parse_time(known.captured_at)
    return None if captured is None else now - captured.timestamp()


def describe_age(age: float) -> str:
    return f"{age / DAY:,.0f}d" if age >= 2 * DAY else f"{age / 3600:.0f}h" if age >= 7200 else f"{age:.0f}s"


_NOTHING = ", and nothing here is what its path selects"


def missing_keys(
    required: Sequence[tuple[Pattern, Path]], output: Json, header_places: Collection[Path] = ()
) -> Iterator[Difference]:
    """The keys that `require_keys` requires and that are missing. A required key may be null or empty, and
    need not be in the baseline. Below `header_places` names ignore case."""
    for pattern, at in required:
        for path, reason in _find_missing(pattern.segments, output, (), header_places):
            rule = f"require_keys: {pattern.text}"
            yield Difference(path, "missing", ABSENT, ABSENT, at, rule, f"is required{reason}")


def _find_missing(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """The paths at which required segments lead nowhere, each with the end of its message. Each value that a
    segment selects must have the remaining segments; a list of keys requires what each of its keys requires.
    A segment that selects nothing is a miss, except `*` on an empty array or object."""
    if not segments or segments == (Wild.DEEP,):
        return
    first, rest = segments[0], segments[1:]
    if first is Wild.DEEP:
        yield from _find_missing_anywhere(rest, value, path, header_places)
        return
    if isinstance(first, OneOf):
        for key in first.keys:
            yield from _find_missing((key, *rest), value, path, header_places)
        return
    any_case = path in header_places and isinstance(first, str)
    chosen = [
        (key, child)
        for key, child in children(value)
        if fits(first, key, child, len(value)) or (any_case and str(key).casefold() == str(first).casefold())
    ]
    if not chosen and isinstance(first, str | int | Key):
        yield (*path, first.name if isinstance(first, Key) else first), ""
    elif not chosen and not (first is Wild.ANY and isinstance(value, dict | list)):
        yield path, _NOTHING
    for key, child in chosen:
        yield from _find_missing(rest, child, (*path, key), header_places)


def _find_missing_anywhere(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """Below `**` the next segment has to lead somewhere from at least one place, and wherever it leads the
    remaining segments must exist. Wildcards in between only say how deep. With a further `**` one place is
    enough: checking every place would take time that doubles with every `**`."""
    named = [n for n, segment in enumerate(segments) if not isinstance(segment, Wild)]
    end = len(segments) if Wild.DEEP in segments or not named else named[0] + 1
    last = segments[end - 1]
    for step in last.keys if isinstance(last, OneOf) and Wild.DEEP not in segments else (last,):
        places = find(Pattern("", (Wild.DEEP, *segments[: end - 1], step), True), value)
        if not places:
            yield path, _NOTHING
        for below, child in places:
            yield from _find_missing(segments[end:], child, (*path, *below), header_places)
