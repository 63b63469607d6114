"""One baseline replayed several times -> one result, by what the replays say together (verdicts.py)."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from baselinekit.model.results import UNDECIDED, Result
from baselinekit.workflow.judging import Tried


@dataclass(frozen=True, slots=True)
class Repeating:
    """How often each baseline is replayed, and the share of its replays that has to pass."""

    times: int = 1
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class Pause:
    """What may come between two replays: a wait, or the end of the run."""

    stopped: Callable[[], bool] = lambda: False
    sleep: Callable[[float], None] = lambda seconds: None


def repeated(attempt: Callable[[int], Tried], how: Repeating, pause: Pause) -> Tried:
    """The replays one after the other, each with its turn: at once they would disturb each other. What
    another replay would not change is asked for once; where a time differs, a clock has to tick before the
    next."""
    if how.times == 1:
        return attempt(0)
    from baselinekit.refresh.moments import TICK  # which brings the rules of all placeholders along
    from baselinekit.workflow.verdicts import combined, is_of_a_clock

    tries: list[Tried] = []
    for turn in range(how.times):
        tries.append(attempt(turn))
        last = tries[-1].result
        if last.outcome in ("skipped", "unscored") or last.verdict == "refused" or pause.stopped():
            break
        if turn == 0 and any(map(is_of_a_clock, last.differences)):
            pause.sleep(TICK)
    first = tries[0].result
    if len(tries) < how.times and pause.stopped():
        why = f"interrupted after {len(tries)} of {how.times} replays"
        return Tried(replace(_plain(first), reason=why, verdict="limit"))
    result = combined([tried.result for tried in tries], how.rate)
    like = [tried for tried in tries if tried.result.outcome == result.outcome]
    is_settled = like and not (result.outcome == "failed" and result.verdict in UNDECIDED)
    return Tried(result, like[0].keep) if is_settled else Tried(result)


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
