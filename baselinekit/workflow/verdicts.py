"""What several replays of one baseline say together: one result, with a verdict beside its outcome."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from baselinekit.frozen import frozen
from baselinekit.metrics import chance_of_at_most
from baselinekit.model.recipes import Usage
from baselinekit.model.results import UNDECIDED, Repeats, Result, Spot
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import describes_many
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.refresh.learning import TICK, is_moment
from baselinekit.tree.equality import canonical
from baselinekit.tree.paths import render
from baselinekit.workflow.judging import Repeating, ReplayResult

# What several replays of one baseline say together: one result, with a verdict beside its outcome. The
# outcome says whether enough replays passed. The verdict says why not: `regression` (they fail, always
# in the same way), `flaky` (they pass and fail), `noise` (they differ from each other where they differ
# from the file) or `insufficient data` (so few failures can be a flake).


_SOUND = 0.8
"""What passes as often as this is a flake at worst, where nobody has said how often it has to."""

_RARE = 0.05
_MOST_HINTS = 5


def combine(results: Sequence[Result], rate: float = 1.0) -> Result:
    """What all of them say together."""
    passed = [result for result in results if result.outcome == "passed"]
    failed = [result for result in results if result.outcome == "failed"]
    errors = [result for result in results if result.outcome == "error"]
    rest = [result for result in results if result.outcome in ("skipped", "unscored")]
    count = Repeats(len(results) - len(rest), len(passed), len(errors))
    if rest and not failed:
        return rest[0]
    if errors and not failed:
        verdict = "flaky" if passed else errors[0].verdict
        return _together(errors[0], results, count, verdict)
    if not failed:
        return _together(passed[0], results, count, None)
    answered = len(passed) + len(failed)
    if passed and not errors and len(passed) >= rate * answered:
        spots = [f"{render(spot.path)} differs {spot.note}" for spot in _spots(failed, answered)]
        more = f" and {len(spots) - 1} more" if len(spots) > 1 else ""
        where = spots[0] + more if spots else failed[0].reason
        note = f"flaky: {len(passed)} of {answered} replays passed; {where}"
        whole = _together(passed[0], results, count, "flaky")
        return replace(whole, notes=(*whole.notes, note))
    verdict = _verdict(failed, len(passed), rate)
    whole = _together(failed[0], results, count, verdict)
    differences = list(_spots(failed, answered))
    if verdict == "noise":  # of what is always new, once is enough
        seen = {(spot.path, spot.kind) for spot in failed[0].differences}
        differences = [spot for spot in differences if (spot.path, spot.kind) in seen]
    notes = [*whole.notes, *(_hints(failed) if verdict == "noise" else ())]
    return replace(
        whole,
        differences=tuple(differences),
        difference_count=max(len(differences), failed[0].difference_count),
        notes=tuple(dict.fromkeys(notes)),
        resolved=ABSENT if verdict in UNDECIDED else whole.resolved,
    )


def _verdict(failed: Sequence[Result], passes: int, rate: float) -> str:
    """An exact test: would a sound baseline pass so seldom? One that both passed and failed is flaky for
    certain, unless its owner has said how often it may."""
    answered = len(failed) + passes
    is_rare = chance_of_at_most(passes, answered, rate if rate < 1 else _SOUND) <= _RARE
    if passes and rate == 1:
        return "flaky"
    alike = set.intersection(*({_context(spot) for spot in result.differences} for result in failed))
    if not passes and not alike:
        varying = all(may_vary(spot) for result in failed for spot in result.differences)
        return "noise" if varying else "flaky"
    return "regression" if is_rare else "insufficient data"


def _context(spot: Spot) -> object:
    """A literal value counts with what came instead. Of all else (a lost key, another type, a tolerance or a
    placeholder that was not met) it is enough that it is there: however it varies, it varies outside."""
    return (spot.path, spot.kind, canonical(_shown(spot.actual)) if may_vary(spot) else None)


def may_vary(spot: Spot) -> bool:
    """Whether the file says one value here: a scalar, or a row at its place."""
    literal = not describes_many(spot.expected)
    return literal and (spot.kind in ("value", "order") or (is_row(spot) and spot.kind != "type"))


def is_of_a_clock(spot: Spot) -> bool:
    """Whether it differs by when it was asked for."""
    return is_moment(spot.expected) and is_moment(spot.actual)


def is_row(spot: Spot) -> bool:
    return bool(spot.path) and isinstance(spot.path[-1], int)


def _shown(value: Json) -> Json:
    return [] if value is ABSENT else [value]


def _spots(failed: Sequence[Result], answered: int) -> Iterator[Spot]:
    """Each place once, with how often it differed."""
    found: dict[object, list[Spot]] = {}
    for result in failed:
        for spot in result.differences:
            found.setdefault((spot.path, spot.kind), []).append(spot)
    for spots in found.values():
        values = len({canonical(_shown(spot.actual)) for spot in spots})
        often = f"in {len(spots)} of {answered} replays" + (f", {values} values" if values > 1 else "")
        note = spots[0].note
        yield replace(spots[0], note=f"{note}; {often}" if note else often)


def _hints(failed: Sequence[Result]) -> Iterator[str]:
    """What could stand at the places that vary."""
    spots = [spot for result in failed for spot in result.differences]
    moved = dict.fromkeys(spot.path[:-1] for spot in spots if is_row(spot) and spot.kind != "value")
    for path in list(moved)[:_MOST_HINTS]:
        rule = f"`arrays: {{{render(path)}: unordered}}`"
        yield f"the rows of {render(path)} vary: if their order does not matter, {rule}"
    found: dict[Path, list[Json]] = {}
    for spot in spots:
        if not any(spot.path[: len(path)] == path for path in moved):
            found.setdefault(spot.path, [spot.expected]).append(spot.actual)
    for path, values in list(found.items())[:_MOST_HINTS]:
        best = narrowest(values)[0]
        yield f"{render(path)} varies: {best.text} would cover what was seen ({best.reason})"


def _together(told: Result, results: Sequence[Result], count: Repeats, verdict: str | None) -> Result:
    """One of them, with what all took."""
    ran = [result for result in results if result.outcome not in ("skipped", "unscored")]
    costs = [result.usage.cost_usd for result in ran if result.usage.cost_usd is not None]
    return replace(
        told,
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
    stated = [count for count in counts if count is not None]
    return sum(stated) if stated else None


# One baseline replayed several times -> one result.


@frozen
class Pause:
    """What may come between two replays: a wait, or the end of the run."""

    stopped: Callable[[], bool] = lambda: False
    sleep: Callable[[float], None] = lambda seconds: None


def replay_repeatedly(attempt: Callable[[int], ReplayResult], how: Repeating, pause: Pause) -> ReplayResult:
    """The replays one after the other, each with its turn: at once they would disturb each other. What
    another replay would not change is asked for once; where a time differs, a clock has to tick before the
    next."""
    tries: list[ReplayResult] = []
    for turn in range(how.times):
        tries.append(attempt(turn))
        last = tries[-1].result
        if last.outcome in ("skipped", "unscored") or last.verdict == "refused" or pause.stopped():
            break
        if turn == 0 and any(map(is_of_a_clock, last.differences)):
            pause.sleep(TICK)
    first = tries[0].result
    if len(tries) < how.times and pause.stopped():
        reason = f"interrupted after {len(tries)} of {how.times} replays"
        return ReplayResult(replace(_plain(first), reason=reason, verdict="limit"))
    result = combine([tried.result for tried in tries], how.rate)
    like = [tried for tried in tries if tried.result.outcome == result.outcome]
    is_settled = like and not (result.outcome == "failed" and result.verdict in UNDECIDED)
    return replace(like[0], result=result) if is_settled else ReplayResult(result)


def _plain(result: Result) -> Result:
    """The same baseline, of which nothing is known."""
    return Result(
        result.id,
        result.file,
        None,
        result.kind,
        "skipped",
        name=result.name,
        criticality=result.criticality,
        recipe_hash=result.recipe_hash,
    )
