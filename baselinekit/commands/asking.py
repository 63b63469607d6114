"""Recipes replayed several times, to learn from the answers."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from baselinekit.commands.context import TICK, RunContext
from baselinekit.commands.executor import in_threads
from baselinekit.commands.judging import observe
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.kind import ALONE
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.structs import Struct, replace

Item = TypeVar("Item")
Done = TypeVar("Done")

_TURNS_OF_A_THREAD = 8
"""How many requests of a group each thread sends: only so many are lost when a run is interrupted."""


class ReplayJob(Struct):
    """A recipe that is to be replayed `times` times."""

    recipe: Recipe
    setting: Setting
    times: int

    @property
    def claim(self) -> str | None:
        """What no other recipe may use meanwhile."""
        kind = kind_of(self.recipe)
        claim = kind.claim(self.recipe, self.setting.http.serial)
        return ALONE if claim is None and not kind.only_reads(self.recipe) else claim


Replays = list[Observation] | BaselinekitError
"""The observations of a recipe, one for each replay, or the error that prevented one."""


def in_turns(
    items: Sequence[Item],
    work: Callable[[Item], Done],
    jobs: int,
    context: RunContext,
    claim: Callable[[Item], str | None],
) -> list[Done]:
    """Return what `work` makes of each item, in threads; what claims the same is done one by one."""
    with context.stop.heard():
        done: list[Any] = in_threads(items, work, jobs, context.stop, context.cancel, claim=claim)
    if context.stop.is_set():
        raise KeyboardInterrupt
    return done


def observe_in_groups(
    replay_jobs: Sequence[ReplayJob], context: RunContext, jobs: int = 1, is_one_group: bool = False
) -> Iterator[list[tuple[int, Replays]]]:
    """Replay the recipes in groups, each yielded as soon as it is complete, so that it can be stored whatever
    happens to the others. Recipes that only read come first: a write could change their answers between two
    replays. Each write is a group by itself, as it cannot simply be sent again.

    A group is replayed once, then all of it again, so that it waits once for a clock to tick (with
    `is_one_group` before each further turn). Each replay has
    its own turn, so that no cached answer of a model is used twice, and its own connection: what a service
    says about its connection (a number, a port) then differs."""
    advance = context.advance(sum(job.times for job in replay_jobs))
    reading = [n for n, job in enumerate(replay_jobs) if job.claim is None]
    size = jobs * _TURNS_OF_A_THREAD
    groups = [reading[start : start + size] for start in range(0, len(reading), size)]
    groups += [[n] for n, job in enumerate(replay_jobs) if job.claim is not None]

    def replay(turn: int, number: int) -> Observation | BaselinekitError:
        job = replay_jobs[number]
        try:
            observation = observe(job.recipe, replace(job.setting, turn=turn))
        except BaselinekitError as error:
            advance("error")
            prefix = f"replay {turn + 1} of {job.times}: " if turn else ""
            return type(error)(*(one._replace(message=prefix + one.message) for one in error.problems))
        advance("passed")
        return observation

    for group in [[*range(len(replay_jobs))]] if is_one_group else groups:
        results: dict[int, Any] = {n: [] for n in group}
        for turn in range(max((replay_jobs[n].times for n in group), default=0)):
            left = [n for n in group if turn < replay_jobs[n].times and isinstance(results[n], list)]
            if left and (turn == 1 or (turn and is_one_group)):
                context.clients.sleep(TICK)
            answers = in_turns(left, partial(replay, turn), jobs, context, lambda n: replay_jobs[n].claim)
            for number, answer in zip(left, answers, strict=True):
                is_error = isinstance(answer, BaselinekitError)
                results[number] = answer if is_error else [*results[number], answer]
        yield list(results.items())
