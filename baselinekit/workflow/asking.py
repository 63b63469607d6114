"""Recipes replayed several times for one capture: which go together, when each is asked again, and what is
handed on as soon as it is whole."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from baselinekit.errors import BaselinekitError
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.model.recipes import Observation, Recipe
from baselinekit.refresh.learning import TICK
from baselinekit.replaying.settings import Setting
from baselinekit.workflow.context import RunContext, ThreadPool
from baselinekit.workflow.judging import observe

_TURNS_OF_A_THREAD = 8
"""How many requests of a group each thread takes: so few are lost when a run is interrupted."""


@frozen
class Asked:
    """A recipe that is to be replayed `times` times. `pauses`: whether a clock ticks before each replay, and
    not only before the second one."""

    recipe: Recipe
    setting: Setting
    times: int
    pauses: bool = False


Replays = list[Observation] | BaselinekitError
"""What a recipe gave each time, or why it did not."""


def observe_each(asked: Sequence[Asked], context: RunContext, jobs: int = 1) -> list[Replays]:
    """Each recipe replayed so many times: all of them once, then all of them again, so that many wait for one
    tick of a clock and not each for its own. Replays of one recipe never overlap, and what writes runs alone.
    Each replay is a turn of its own, so that no kept answer of a model is given twice."""
    rounds = _Rounds(asked, context, jobs)
    for _ in rounds.ended([range(len(asked))]):
        pass
    return rounds.results


def observe_as_they_come(
    asked: Sequence[Asked], context: RunContext, jobs: int = 1
) -> Iterator[list[tuple[int, Replays]]]:
    """The same in groups, each handed on as soon as its replays are there, so that it can be kept whatever
    becomes of the rest. What only reads comes first: what writes would change its answers between two
    replays. What writes is a group by itself, for to send it again is not the same."""
    rounds = _Rounds(asked, context, jobs)
    beside = [n for n, one in enumerate(asked) if _goes_beside_others(one)]
    alone = [[n] for n, one in enumerate(asked) if not _goes_beside_others(one)]
    size = jobs * _TURNS_OF_A_THREAD
    together = [beside[start : start + size] for start in range(0, len(beside), size)]
    for groups in (together, alone):
        for numbers in rounds.ended(groups):
            yield [(number, rounds.results[number]) for number in numbers]


@dataclass(slots=True)
class _Group:
    numbers: Sequence[int]
    turn: int = 0
    ready: float = 0.0


class _Rounds:
    """Groups that are asked again and again. While one waits for a clock to tick, the next one is asked."""

    def __init__(self, asked: Sequence[Asked], context: RunContext, jobs: int):
        self._asked, self._context, self._jobs = asked, context, jobs
        self._told = context.advance(sum(one.times for one in asked))
        self.results: list[Replays] = [[] for _ in asked]

    def ended(self, groups: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
        """Each group when it has had all its replays."""
        fresh, waiting = deque(map(_Group, groups)), deque[_Group]()
        seconds = self._context.clock.seconds
        while fresh or waiting:
            if waiting and (not fresh or waiting[0].ready <= seconds()):
                group = waiting.popleft()
                if (left := group.ready - seconds()) > 0:
                    self._context.clients.sleep(left)
            else:
                group = fresh.popleft()
            self.ask(group)
            group.turn += 1
            if further := self.left(group):
                ticks = group.turn == 1 or any(self._asked[n].pauses for n in further)
                group.ready = seconds() + TICK if ticks else 0.0
                waiting.append(group)
            else:
                yield group.numbers

    def left(self, group: _Group) -> list[int]:
        return [
            n
            for n in group.numbers
            if group.turn < self._asked[n].times and isinstance(self.results[n], list)
        ]

    def ask(self, group: _Group) -> None:
        left = self.left(group)

        def replay(number: int) -> Observation | BaselinekitError:
            one = self._asked[number]
            try:
                observed = observe(one.recipe, replace(one.setting, turn=group.turn))
            except BaselinekitError as error:
                self._told("error")
                return _of_turn(error, group.turn, one.times)
            self._told("passed")
            return observed

        together = [n for n in left if _goes_beside_others(self._asked[n])]
        answers = dict(zip(together, _at_once(replay, together, self._jobs, self._context), strict=True))
        for number in left:
            answer = answers[number] if number in answers else replay(number)
            kept = self.results[number]
            if isinstance(answer, BaselinekitError):
                self.results[number] = answer
            elif isinstance(kept, list):
                kept.append(answer)


def _goes_beside_others(one: Asked) -> bool:
    kind = kind_of(one.recipe)
    return kind.only_reads(one.recipe) and kind.claim(one.recipe, one.setting.http.serial) is None


def _at_once(
    replay: Callable[[int], Observation | BaselinekitError],
    numbers: Sequence[int],
    jobs: int,
    context: RunContext,
) -> list[Observation | BaselinekitError]:
    """In new threads, which have connections of their own: what a service says of its connection (its number,
    a port) is not the same in two rounds."""
    if not numbers:
        return []
    with context.stop.heard():
        done = ThreadPool(jobs, replay, context.cancel, context.stop).run(numbers, lambda answer: True)
    if context.stop.is_set():
        raise KeyboardInterrupt
    return [answer for answer in done if answer is not None]


def _of_turn(error: BaselinekitError, turn: int, times: int) -> BaselinekitError:
    """An error that only a later replay met says so."""
    if turn == 0:
        return error
    again = f"replay {turn + 1} of {times}: "
    return type(error)(*(replace(one, message=again + one.message) for one in error.problems))
