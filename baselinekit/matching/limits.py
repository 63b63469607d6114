"""What is asked besides the stored output: limits of latency, cost and age, and keys that must be there."""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from baselinekit.errors import CannotReplay, Problem
from baselinekit.lazy import lazy_pattern
from baselinekit.model.baselines import Age, Difference, Known, Number, RuleReport, Rules
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import seconds
from baselinekit.tree.paths import Pattern, find, leads_somewhere
from baselinekit.tree.places import Key, OneOf, Segment, Wild, children, fits

_DAY = 86_400.0


def exceeded(rules: Rules, known: Known, observation: Observation) -> Iterator[Difference]:
    """Where an output took more than is allowed; CannotReplay when a cost is limited and unknown. Costs are
    counted in decimals: what costs exactly what is allowed passes."""
    latency, cost, took = rules.latency, rules.cost, observation.seconds
    if latency is not None:
        captured = captured_seconds(known)
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
    usd, paid = observation.usage.cost_usd, captured_usd(known)
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
        ("latency", rules.latency, captured_seconds(known), "seconds"),
        ("cost", rules.cost, captured_usd(known), "cost_usd"),
    )
    for name, limit, captured, key in limits:
        if limit and limit.max_ratio is not None and captured is None:
            instead = "max_seconds" if name == "latency" else "max_usd"
            lost = f"baseline.observed.{key} is missing: write what the capture took, or state {instead}"
            what = f"{name}.max_ratio: not checked, {lost}"
            yield RuleReport("max_ratio", "unchecked", what, ("comparison", name, "max_ratio"))


def captured_seconds(known: Known) -> float | None:
    """How long the capture took; what was too quick for its three digits counts as the least of them."""
    seconds = known.observed.seconds if known.observed else None
    return None if seconds is None else max(float(seconds), 0.001)


def captured_usd(known: Known) -> Decimal | None:
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
        rule = "max_age.fail" if isinstance(stated, Age) else "max_age"
        note = f"captured {describe_age(age)} ago, but at most {limit} is allowed"
        yield Difference(("max_age",), "tolerance", limit, describe_age(age), (), rule, note)


def age_reports(rules: Rules, known: Known, now: float) -> Iterator[RuleReport]:
    """That it grows old and still counts, or that nobody knows how old it is."""
    stated, age = rules.max_age, _age(known, now)
    if stated is not None and age is None:
        what = "max_age: not checked, baseline.captured_at is missing: write when the output was taken"
        yield RuleReport("max_age", "unchecked", what, ("comparison", "max_age"))
    if not isinstance(stated, Age) or stated.warn is None or age is None or [*too_old(rules, known, now)]:
        return
    if age > float(seconds(stated.warn) or 0):
        what = f"max_age: captured {describe_age(age)} ago: refresh it before it gets too old"
        yield RuleReport("max_age", "aged", what, ("comparison", "max_age", "warn"))


def _age(known: Known, now: float) -> float | None:
    if known.captured_at is None:
        return None
    captured = datetime.fromisoformat(known.captured_at)
    if captured.tzinfo is None:
        captured = captured.replace(tzinfo=UTC)
    return now - captured.timestamp()


def describe_age(age: float) -> str:
    return (
        f"{age / _DAY:,.0f}d" if age >= 2 * _DAY else f"{age / 3600:.0f}h" if age >= 7200 else f"{age:.0f}s"
    )


_DIGITS = lazy_pattern(r"0|[1-9][0-9]{0,9}")


_NOTHING = ", and nothing here is what its path selects"


def missing_keys(
    required: Sequence[tuple[Pattern, Path]], output: Json, header_places: Collection[Path] = ()
) -> Iterator[Difference]:
    """What `require_keys` asks for and is not there: a key may be null or empty, whether the baseline has it
    or not. Below `header_places` names ignore case."""
    for pattern, at in required:
        for path, why in _without(pattern.segments, output, (), header_places):
            rule = f"require_keys: {pattern.text}"
            yield Difference(path, "missing", ABSENT, ABSENT, at, rule, f"is required{why}")


def _without(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """Where the way ends too early, and a word about it. Each value that a step selects has to have the rest;
    a list of steps asks what each of them asks alone. A step that selects nothing has missed what it was
    written for; only `*` is content with an array, or an object, that has nothing in it."""
    if not segments:
        return
    first, rest = segments[0], segments[1:]
    if first is Wild.DEEP:
        yield from without_anywhere(rest, value, path, header_places)
    elif isinstance(first, OneOf):
        for key in first.keys:
            yield from _without((key, *rest), value, path, header_places)
    elif isinstance(first, str | int | Key):
        found = _key(value, first, path in header_places)
        if found is None:
            yield (*path, first.name if isinstance(first, Key) else first), ""
        else:
            yield from _without(rest, value[found], (*path, found), header_places)
    else:
        chosen = [(key, child) for key, child in children(value) if fits(first, key, child, len(value))]
        if not chosen and not (first is Wild.ANY and isinstance(value, dict | list)):
            yield path, _NOTHING
        for key, child in chosen:
            yield from _without(rest, child, (*path, key), header_places)


def without_anywhere(
    segments: tuple[Segment, ...], value: Json, path: Path, header_places: Collection[Path]
) -> Iterator[tuple[Path, str]]:
    """Below `**` the next step has to lead somewhere, from one place at least, and wherever it leads the rest
    has to be there. Wildcards in between only say how deep. With a further `**` one place is enough: to ask
    each would take time that doubles with every one of them."""
    if Wild.DEEP in segments:
        if not leads_somewhere(Pattern("", (Wild.DEEP, *segments), True), value):
            yield path, _NOTHING
        return
    wild = next((n for n, segment in enumerate(segments) if not isinstance(segment, Wild)), len(segments))
    between, then, rest = segments[:wild], segments[wild : wild + 1], segments[wild + 1 :]
    if then and isinstance(then[0], OneOf):
        for key in then[0].keys:
            yield from without_anywhere((*between, key, *rest), value, path, header_places)
        return
    found = find(Pattern("", (Wild.DEEP, *between, *then), True), value)
    if not found:
        words = [
            "**",
            *(segment.value if isinstance(segment, Wild) else str(segment) for segment in segments),
        ]
        yield (*path, *(words if all(isinstance(part, str | Wild) for part in segments) else ())), _NOTHING
    for below, child in found if rest else ():
        yield from _without(rest, child, (*path, *below), header_places)


def _key(value: Json, step: str | int | Key, any_case: bool) -> str | int | None:
    """The key of a value that a step of a path means."""
    if isinstance(step, Key):
        return step.name if isinstance(value, dict) and step.name in value else None
    if isinstance(value, list):
        index = int(step) if isinstance(step, int) or _DIGITS.fullmatch(step) else len(value)
        index += len(value) if index < 0 else 0
        return index if 0 <= index < len(value) else None
    if not isinstance(value, dict) or not isinstance(step, str):
        return None
    if any_case:
        return next((key for key in value if key.casefold() == step.casefold()), None)
    return step if step in value else None
