"""Combine several replays of one baseline into one result, with a verdict beside its outcome."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from baselinekit.commands.asking import TICK
from baselinekit.commands.judging import JudgedBaseline, Repeating
from baselinekit.metrics import chance_of_at_most
from baselinekit.model.recipes import Usage
from baselinekit.model.results import UNDECIDED, Repeats, ReportedDifference, Result
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import describes_many
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.structs import replace
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render

# The outcome says whether enough replays passed. The verdict says why not: `regression` (they fail, always
# in the same way), `flaky` (they pass and fail), `noise` (they differ from each other where they differ
# from the file) or `insufficient data` (so few failures can be a flake).


_SOUND_RATE = 0.8
"""A baseline that passes this often is at worst a flake, if no rate is required."""

_SIGNIFICANCE = 0.05
_MOST_HINTS = 5


def combine(results: Sequence[Result], rate: float = 1.0) -> Result:
    """Combine the results of several replays into one."""
    passed = [result for result in results if result.outcome == "passed"]
    failed = [result for result in results if result.outcome == "failed"]
    errors = [result for result in results if result.outcome == "error"]
    not_replayed = [result for result in results if result.outcome in ("skipped", "unscored")]
    count = Repeats(len(results) - len(not_replayed), len(passed), len(errors))
    if not_replayed and not failed:
        return not_replayed[0]
    if errors and not failed:
        verdict = "flaky" if passed else errors[0].verdict
        return _with_totals(errors[0], results, count, verdict)
    if not failed:
        return _with_totals(passed[0], results, count, None)
    answered = len(passed) + len(failed)
    if passed and not errors and len(passed) >= rate * answered:
        spots = [f"{render(spot.path)} differs {spot.note}" for spot in _spots(failed, answered)]
        further = f" and {len(spots) - 1} more" if len(spots) > 1 else ""
        where = spots[0] + further if spots else failed[0].reason
        note = f"flaky: {len(passed)} of {answered} replays passed; {where}"
        total = _with_totals(passed[0], results, count, "flaky")
        return replace(total, notes=(*total.notes, note))
    verdict = _verdict(failed, len(passed), rate)
    total = _with_totals(failed[0], results, count, verdict)
    differences = list(_spots(failed, answered))
    if verdict == "noise":  # values that are new each time are shown once
        seen = {(spot.path, spot.kind) for spot in failed[0].differences}
        differences = [spot for spot in differences if (spot.path, spot.kind) in seen]
    notes = [*total.notes, *(_hints(failed) if verdict == "noise" else ())]
    return replace(
        total,
        differences=tuple(differences),
        difference_count=max(len(differences), failed[0].difference_count),
        notes=tuple(dict.fromkeys(notes)),
        resolved=ABSENT if verdict in UNDECIDED else total.resolved,
    )


def _verdict(failed: Sequence[Result], passes: int, rate: float) -> str:
    """Decide by an exact test whether a sound baseline would pass so seldom. One that both passed and failed
    is flaky for certain, unless a rate says how often it may fail."""
    answered = len(failed) + passes
    is_rare = chance_of_at_most(passes, answered, rate if rate < 1 else _SOUND_RATE) <= _SIGNIFICANCE
    if passes and rate == 1:
        return "flaky"
    common = set.intersection(*({_difference_key(spot) for spot in result.differences} for result in failed))
    if not passes and not common:
        varying = all(may_vary(spot) for result in failed for spot in result.differences)
        return "noise" if varying else "flaky"
    return "regression" if is_rare else "insufficient data"


def _difference_key(spot: ReportedDifference) -> object:
    """Identify a difference: for a literal, by the new value as well. Any other (a missing key, another type,
    a tolerance or a placeholder that was not met) counts as the same, whatever its value."""
    return (spot.path, spot.kind, canonical(_as_values(spot.actual)) if may_vary(spot) else None)


def may_vary(spot: ReportedDifference) -> bool:
    """Whether the file has one literal value here: a scalar, or a row at its place."""
    literal = not describes_many(spot.expected)
    return literal and (spot.kind in ("value", "order") or (is_row(spot) and spot.kind != "type"))


def is_row(spot: ReportedDifference) -> bool:
    return bool(spot.path) and isinstance(spot.path[-1], int)


def _as_values(value: Json) -> Json:
    return [] if value is ABSENT else [value]


def _spots(failed: Sequence[Result], answered: int) -> Iterator[ReportedDifference]:
    """Yield each place once, with how often it differed."""
    spots_by_place: dict[object, list[ReportedDifference]] = {}
    for result in failed:
        for spot in result.differences:
            spots_by_place.setdefault((spot.path, spot.kind), []).append(spot)
    for spots in spots_by_place.values():
        values = len({canonical(_as_values(spot.actual)) for spot in spots})
        frequency = f"in {len(spots)} of {answered} replays" + (f", {values} values" if values > 1 else "")
        note = spots[0].note
        yield replace(spots[0], note=f"{note}; {frequency}" if note else frequency)


def _hints(failed: Sequence[Result]) -> Iterator[str]:
    """Yield the placeholders or rules that would fit the places that vary."""
    spots = [spot for result in failed for spot in result.differences]
    row_paths = dict.fromkeys(spot.path[:-1] for spot in spots if is_row(spot) and spot.kind != "value")
    for path in list(row_paths)[:_MOST_HINTS]:
        rule = f"`arrays: {{{render(path)}: unordered}}`"
        yield f"the rows of {render(path)} vary: if their order does not matter, {rule}"
    values_by_path: dict[Path, list[Json]] = {}
    for spot in spots:
        if not any(spot.path[: len(path)] == path for path in row_paths):
            values_by_path.setdefault(spot.path, [spot.expected]).append(spot.actual)
    for path, values in list(values_by_path.items())[:_MOST_HINTS]:
        proposal = narrowest(values)[0]
        yield f"{render(path)} varies: {proposal.text} would cover what was seen ({proposal.reason})"


def _with_totals(base: Result, results: Sequence[Result], count: Repeats, verdict: str | None) -> Result:
    """Return one of the results, with the totals of all."""
    ran = [result for result in results if result.outcome not in ("skipped", "unscored")]
    costs = [result.usage.cost_usd for result in ran if result.usage.cost_usd is not None]
    return replace(
        base,
        verdict=verdict,
        repeats=count,
        attempts=sum(result.attempts for result in ran),
        seconds=sum(result.seconds for result in ran) / len(ran),
        usage=Usage(
            _sum([result.usage.tokens_in for result in ran]),
            _sum([result.usage.tokens_out for result in ran]),
            sum(costs, Decimal(0)) if costs else None,
        ),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    present_counts = [count for count in counts if count is not None]
    return sum(present_counts) if present_counts else None


# One baseline replayed several times -> one result.


def replay_repeatedly(
    attempt: Callable[[int], JudgedBaseline],
    repeating: Repeating,
    is_stopped: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = lambda seconds: None,
) -> JudgedBaseline:
    """Replay several times, one after the other, each with its turn: parallel replays would disturb each
    other. Stop when another replay would change nothing; if something differs, wait for a tick of the clock
    before the next one."""
    replays: list[JudgedBaseline] = []
    for turn in range(repeating.times):
        replays.append(attempt(turn))
        last = replays[-1].result
        if last.outcome in ("skipped", "unscored") or last.verdict == "refused" or is_stopped():
            break
        if turn == 0 and last.differences:
            sleep(TICK)
    first = replays[0].result
    if len(replays) < repeating.times and is_stopped():
        reason = f"interrupted after {len(replays)} of {repeating.times} replays"
        skipped = Result(first.id, first.file, None, first.kind, "skipped", reason=reason, verdict="limit")
        kept = {key: getattr(first, key) for key in ("name", "criticality", "recipe_hash")}
        return JudgedBaseline(replace(skipped, **kept))
    result = combine([replay.result for replay in replays], repeating.rate)
    same_outcome = [replay for replay in replays if replay.result.outcome == result.outcome]
    is_settled = same_outcome and not (result.outcome == "failed" and result.verdict in UNDECIDED)
    return replace(same_outcome[0], result=result) if is_settled else JudgedBaseline(result)
