"""Ask -> Answer: each model in the way that its entry states, at its pace, within the budget of the run."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NeverSent, Problem
from baselinekit.model.recipes import Answer, Ask, Limits, Model, Spent
from baselinekit.model.values import Json
from baselinekit.models.budget import Budget, estimate, price, taken, with_cost
from baselinekit.models.embedding import Embedding, find_folder
from baselinekit.models.entry import entry, filled, form_of, kind_of, problems_of
from baselinekit.models.recording import AnswerSource, Mode, Recording, Shelf, parts_of
from baselinekit.models.retries import DEFAULT_RETRIES, Lane, persist
from baselinekit.models.setting import Again, Form, Question, Reply, World
from baselinekit.texts import shown
from baselinekit.variables import Redactor, Secret

__all__ = [
    "Again",
    "AnswerSource",
    "Embedding",
    "Form",
    "Mode",
    "Models",
    "Question",
    "Recording",
    "Reply",
    "Shelf",
    "World",
    "find_folder",
]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A model whose entry is in order."""

    model: Model
    form: Form
    lane: Lane
    own: Redactor


class Models:
    """The models of a configuration, for any number of threads; what they take counts as one run's."""

    def __init__(self, models: Mapping[str, Model], limits: Limits, world: World):
        self._models, self._limits, self._world = models, limits, world
        self._budget = Budget(limits)
        self._lock = threading.Lock()
        self._ready: dict[str, _Ready] = {}

    @property
    def spent(self) -> Spent:
        return self._budget.spent

    def ask(self, ask: Ask) -> Answer:
        """The answer; CannotReplay when there is none (OutOfBudget when nobody was asked for it),
        InvalidInput or Refused when the entry is not in order."""
        ready = self._prepared(ask.model)
        try:
            return self._answer(filled(ask, ready.model), ready)
        except BaselinekitError as error:
            self._raise(error, ready.own)

    def check(self, name: str, asked: bool = True) -> None:
        """Raise what is wrong with a model's entry. Not `asked`: no more than a recorded answer needs."""
        if asked:
            self._prepared(name)
        else:
            entry(name, self._models)

    def parts(self, ask: Ask) -> dict[str, Json]:
        """What tells one question from another, for whoever keeps answers. No secret is in it."""
        model = entry(ask.model, self._models)
        return parts_of(filled(ask, model), model, kind_of(model), self._world.mask)

    def mask(self, text: str) -> str:
        """The text without secrets, the keys of the models among them."""
        with self._lock:
            own = [ready.own for ready in self._ready.values()]
        text = self._world.mask(text)  # first: what looks like a secret may be a piece of a known one
        for redactor in own:
            text = redactor.mask(text)
        return text

    def _prepared(self, name: str) -> _Ready:
        with self._lock:
            ready = self._ready.get(name)
            if ready is None:
                ready = self._ready[name] = self._prepare(name)
            return ready

    def _prepare(self, name: str) -> _Ready:
        model, world = entry(name, self._models), self._world
        own = Redactor({} if model.key is None else {model.key: Secret(_value(world.secret, model.key))})
        try:
            form = form_of(name, model)
            problems = list(problems_of(name, model, form, self._limits, world))
            if problems:
                raise InvalidInput(*problems)
        except BaselinekitError as error:
            self._raise(error, own)
        at_once = model.concurrency or form.at_once
        return _Ready(model, form, Lane(at_once, model.per_minute, world.clock, world.sleep), own)

    def _answer(self, ask: Ask, ready: _Ready) -> Answer:
        model, form = ready.model, ready.form
        retries = DEFAULT_RETRIES if model.retries is None else model.retries

        def attempt(left: Callable[[], float]) -> Reply:
            return self._attempt(ask, model, form, left)

        with ready.lane.place():
            reply, tries = persist(attempt, retries, ask.timeout or 0.0, ready.lane, self._world)
        if reply.fault is not None:
            raise CannotReplay(reply.fault)
        return replace(reply.answer, attempts=tries)

    def _attempt(self, ask: Ask, model: Model, form: Form, left: Callable[[], float]) -> Reply:
        tokens_in, tokens_out = estimate(ask, model)
        cost = price(model.prices, tokens_in, tokens_out)
        held = self._budget.reserve(ask.model, tokens_in + tokens_out, cost)
        try:
            reply = form.ask(Question(ask, model, self._world, left()))
        except BaseException as error:
            if isinstance(error, NeverSent) or (isinstance(error, Again) and error.unheard):
                self._budget.release(held)
            elif isinstance(error, CannotReplay) and error.problems[0].code == "BK610":
                self._budget.settle(held, 0, price(model.prices, 0, 0))  # turned down unread
            else:
                self._budget.fail(held)
            raise
        answer = replace(reply.answer, usage=with_cost(reply.answer.usage, model.prices))
        tokens, usd = taken(ask, model, answer)
        self._budget.settle(held, tokens, usd)
        if usd is None and self._limits.usd is not None:
            what = f"the model {ask.model!r} did not report its cost, which `limits: usd` needs"
            raise CannotReplay(Problem("BK605", what, "state its `prices:`"))
        return Reply(answer, reply.fault)

    def _raise(self, error: BaselinekitError, own: Redactor) -> NoReturn:
        """Without the secrets that a message may have picked up on its way."""

        def mask(text: str) -> str:
            return own.mask(self._world.mask(text))

        raise shown(error, mask) from None


def _value(secret: Callable[[str], str], name: str) -> str:
    try:
        return secret(name)
    except InvalidInput:  # the check says so
        return ""
