"""Recipes replayed several times, to learn from the answers: which of them run together, when each is
replayed again, and how the results are passed on as soon as they are complete."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from baselinekit.commands.context import RunContext
from baselinekit.commands.executor import in_threads
from baselinekit.commands.judging import observe
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.settings import Setting
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.structs import MutableStruct, Struct, replace

TICK = 1.1
"""Seconds after which a clock of whole seconds is certain to show another time: replays within one second
agree on it by chance."""

_TURNS_OF_A_THREAD = 8
"""How many requests of a group each thread sends: only so many are lost when a run is interrupted."""


class ReplayJob(Struct):
    """A recipe that is to be replayed `times` times. `pauses`: whether a clock must tick before each replay,
    and not only before the second one."""

    recipe: Recipe
    setting: Setting
    times: int
    pauses: bool = False


Replays = list[Observation] | BaselinekitError
"""The observations of a recipe, one for each replay, or the error that prevented one."""


def observe_each(replay_jobs: Sequence[ReplayJob], context: RunContext, jobs: int = 1) -> list[Replays]:
    """Replay each recipe so many times: all of them once, then all of them again, so that they share the wait
    for one tick of a clock. Replays of one recipe never overlap, and what writes runs alone. Each replay has
    its own turn, so that no cached answer of a model is used twice."""
    rounds = _Rounds(replay_jobs, context, jobs)
    for _ in rounds.finish_groups([range(len(replay_jobs))]):
        pass
    return rounds.results


def observe_as_they_come(
    replay_jobs: Sequence[ReplayJob], context: RunContext, jobs: int = 1
) -> Iterator[list[tuple[int, Replays]]]:
    """Do the same in groups, each yielded as soon as its replays are done, so that it can be stored whatever
    happens to the others. Recipes that only read come first: a write could change their answers between two
    replays. Each write is a group by itself, as it cannot simply be sent again."""
    rounds = _Rounds(replay_jobs, context, jobs)
    parallel = [n for n, job in enumerate(replay_jobs) if _is_parallel(job)]
    alone = [[n] for n, job in enumerate(replay_jobs) if not _is_parallel(job)]
    size = jobs * _TURNS_OF_A_THREAD
    together = [parallel[start : start + size] for start in range(0, len(parallel), size)]
    for groups in (together, alone):
        for numbers in rounds.finish_groups(groups):
            yield [(number, rounds.results[number]) for number in numbers]


class _Group(MutableStruct):
    """Recipes that are replayed together, and how often they were."""

    numbers: Sequence[int]
    turn: int = 0
    ready: float = 0.0


class _Rounds:
    """Groups that are replayed again and again. While one waits for a clock to tick, the next one is
    replayed."""

    def __init__(self, replay_jobs: Sequence[ReplayJob], context: RunContext, jobs: int):
        self._replay_jobs, self._context, self._jobs = replay_jobs, context, jobs
        self._advance = context.advance(sum(job.times for job in replay_jobs))
        self.results: list[Replays] = [[] for _ in replay_jobs]

    def finish_groups(self, groups: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
        """Yield each group when it has had all its replays, without those that are replayed once more."""
        fresh, waiting = deque(map(_Group, groups)), list[_Group]()
        seconds = self._context.clock.seconds
        while fresh or waiting:
            first = min(waiting, key=lambda group: group.ready, default=None)
            if first is not None and (not fresh or first.ready <= seconds()):
                waiting.remove(group := first)
                if (seconds_left := group.ready - seconds()) > 0:
                    self._context.clients.sleep(seconds_left)
            else:
                group = fresh.popleft()
            self.ask(group)
            group.turn += 1
            if remaining := self.remaining_numbers(group):
                ticks = group.turn == 1 or any(self._replay_jobs[n].pauses for n in remaining)
                group.ready = seconds() + TICK if ticks else 0.0
                waiting.append(group)
                continue
            yield group.numbers

    def remaining_numbers(self, group: _Group) -> list[int]:
        return [
            n
            for n in group.numbers
            if group.turn < self._replay_jobs[n].times and isinstance(self.results[n], list)
        ]

    def ask(self, group: _Group) -> None:
        numbers = self.remaining_numbers(group)

        def replay(number: int) -> Observation | BaselinekitError:
            job = self._replay_jobs[number]
            try:
                observation = observe(job.recipe, replace(job.setting, turn=group.turn))
            except BaselinekitError as error:
                self._advance("error")
                return _with_turn(error, group.turn, job.times)
            self._advance("passed")
            return observation

        together = [n for n in numbers if _is_parallel(self._replay_jobs[n])]
        answers = dict(
            zip(together, _replay_in_threads(replay, together, self._jobs, self._context), strict=True)
        )
        for number in numbers:
            answer = answers[number] if number in answers else replay(number)
            observations = self.results[number]
            if isinstance(answer, BaselinekitError):
                self.results[number] = answer
            elif isinstance(observations, list):
                observations.append(answer)


def _is_parallel(job: ReplayJob) -> bool:
    kind = kind_of(job.recipe)
    return kind.only_reads(job.recipe) and kind.claim(job.recipe, job.setting.http.serial) is None


def _replay_in_threads(
    replay: Callable[[int], Observation | BaselinekitError],
    numbers: Sequence[int],
    jobs: int,
    context: RunContext,
) -> list[Observation | BaselinekitError]:
    """Replay in new threads, which open new connections: what a service says about its connection (a number,
    a port) then differs between two rounds."""
    if not numbers:
        return []
    with context.stop.heard():
        done = in_threads(numbers, replay, jobs, context.stop, context.cancel)
    if context.stop.is_set():
        raise KeyboardInterrupt
    return [answer for answer in done if answer is not None]


def _with_turn(error: BaselinekitError, turn: int, times: int) -> BaselinekitError:
    """Say in an error which replay met it, if it was not the first."""
    if turn == 0:
        return error
    prefix = f"replay {turn + 1} of {times}: "
    return type(error)(*(replace(problem, message=prefix + problem.message) for problem in error.problems))
