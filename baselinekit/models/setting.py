"""What every form of model is given, and what it gives back."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from baselinekit.errors import Problem
from baselinekit.model.recipes import Answer, Ask, Model, ProcessResult, ProcessSpec, Request, Response
from baselinekit.trust import Trust


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class World:
    """The clients and what surrounds them. One that is cancelled by another thread raises, and `sleep` then
    returns at once. `secret` gives the value of a declared variable, or raises InvalidInput; `mask` takes the
    secrets out of a text."""

    send: Callable[[Request], Response]
    execute: Callable[[ProcessSpec], ProcessResult]
    sleep: Callable[[float], None]
    root: str
    secret: Callable[[str], str]
    mask: Callable[[str], str] = _as_it_is
    trust: Trust = field(default_factory=Trust)
    verify: bool | str = True
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Question:
    """One try to ask one thing: nothing in `ask` is left to decide, and the answer is due in `seconds`."""

    ask: Ask
    model: Model
    world: World
    seconds: float

    @property
    def name(self) -> str:
        return f"the model {self.ask.model!r}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `fault`: why it is no answer to go on with, although it was paid for."""

    answer: Answer
    fault: Problem | None = None


class Again(Exception):
    """It did not work, and another try may. `wait`: the seconds that were asked for. `unheard`: nobody began
    to work on it, so that nothing was taken. `hopeless`: another try would not help either."""

    def __init__(
        self, problem: Problem, wait: float | None = None, unheard: bool = False, hopeless: bool = False
    ):
        super().__init__(problem)
        self.problem, self.wait, self.unheard, self.hopeless = problem, wait, unheard, hopeless


def _nothing(model: Model, world: World) -> Iterator[Problem]:
    return iter(())


def _never(model: Model) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Form:
    """A way to ask a model. `uses`: the keys of an entry that mean something here, beside those that always
    do; `at_once`: how many questions at the same time, unless the entry says it; `check` finds what is wrong
    with an entry without asking anybody; `tells_cost`: whether an answer can say what it cost.

    An installed package can bring one along: an entry point of the group `baselinekit.models` that names a
    Form, and whose own name stands in the entry under `form`."""

    ask: Callable[[Question], Reply]
    uses: frozenset[str] = frozenset()
    at_once: int = 4
    check: Callable[[Model, World], Iterator[Problem]] = _nothing
    tells_cost: Callable[[Model], bool] = _never
