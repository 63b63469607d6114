"""Ask -> Answer: each model in the way that its entry states, at its pace, within the budget of the run."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from decimal import Decimal
from functools import partial
from typing import NoReturn

from baselinekit.errors import (
    BaselinekitError,
    CannotReplay,
    InvalidInput,
    NeverSent,
    OutOfBudget,
    Problem,
    nearest,
)
from baselinekit.frozen import frozen
from baselinekit.model.recipes import Answer, Ask, Limits, Message, Model, Retry, Spent
from baselinekit.model.values import Json
from baselinekit.models import anthropic, command, openai
from baselinekit.models.budget import Budget, estimate, price, taken, with_cost
from baselinekit.models.post import (
    DEFAULT_RETRIES,
    Again,
    Form,
    Lane,
    Question,
    Reply,
    World,
    may_change,
    persist,
)
from baselinekit.models.recording import parts_of
from baselinekit.texts import shown
from baselinekit.variables import Redactor, Secret

# What the configuration says of a model: which form it has, and what is wrong with it.

FORMS = {
    "openai": openai.FORM,
    "anthropic": anthropic.FORM,
    "command": command.COMMAND,
    "python": command.CALLABLE,
    "llm": command.LLM,
}
GROUP = "baselinekit.models"
DEFAULT_TIMEOUT = 120.0

_KINDS = (*FORMS, "form")
_ALWAYS = frozenset(("system", "prices", "concurrency", "per_minute", "timeout", *_KINDS))
_MOST_AT_ONCE = 512
_EXAMPLE = "models: {%s: {openai: MODEL, base_url: 'http://127.0.0.1:11434'}}"


def entry(name: str, models: Mapping[str, Model]) -> Model:
    """The entry of a model, which must be there and say in one way how it is asked."""
    if name not in models:
        hint = nearest(name, models) or "declare it in baselinekit.yaml"
        raise InvalidInput(Problem("BK601", f"no model is called {name!r}", f"{hint} ({_EXAMPLE % name})"))
    model = models[name]
    stated = [kind for kind in _KINDS if getattr(model, kind) is not None]
    if len(stated) != 1:
        what = f"states {' and '.join(stated)}" if stated else "does not say how it is called"
        hint = f"state one of {', '.join(_KINDS)}"
        raise InvalidInput(Problem("BK602", f"the model {name!r} {what}", hint, at=("models", name)))
    return model


def kind_of(model: Model) -> str:
    return next(kind for kind in _KINDS if getattr(model, kind) is not None)


def form_of(name: str, model: Model) -> Form:
    """By the table; what stands under `form` is looked for among the installed packages."""
    kind = kind_of(model)
    if kind in FORMS:
        return FORMS[kind]
    from importlib import metadata  # it takes longer than all the rest here

    wanted = str(model.form)
    found = {point.name: point for point in metadata.entry_points(group=GROUP)}
    if wanted not in found:
        hint = nearest(wanted, found) or f"install the package that provides it (entry point of {GROUP})"
        what = f"the model {name!r} has a form that no installed package provides: {wanted!r}"
        raise InvalidInput(Problem("BK604", what, hint, at=("models", name, "form")))
    try:
        form = found[wanted].load()
    except Exception as error:  # a package of somebody else
        what = f"the form {wanted!r} cannot be loaded: {type(error).__name__}: {error}"
        raise InvalidInput(
            Problem("BK604", what, "correct that package", at=("models", name, "form"))
        ) from None
    if not isinstance(form, Form):
        what = f"the entry point {wanted!r} does not name a Form"
        raise InvalidInput(Problem("BK604", what, "correct that package", at=("models", name, "form")))
    return form


def filled(ask: Ask, model: Model) -> Ask:
    """The question with what it leaves to the model's entry."""
    messages = ask.messages
    if model.system and not any(message.role == "system" for message in messages):
        messages = (Message("system", model.system), *messages)
    return replace(
        ask,
        messages=messages,
        temperature=model.temperature if ask.temperature is None else ask.temperature,
        max_tokens=model.max_tokens if ask.max_tokens is None else ask.max_tokens,
        timeout=next(float(s) for s in (ask.timeout, model.timeout, DEFAULT_TIMEOUT) if s is not None),
    )


def problems_of(name: str, model: Model, form: Form, limits: Limits, world: World) -> Iterator[Problem]:
    """Everything that can be known to be wrong before anybody is asked."""
    found = [*faults_of_entry(model, form), *form.check(model, world)]
    if limits.usd is not None and model.prices is None and not form.tells_cost(model):
        hint = (
            "state `prices: {input: 0.5, output: 1.5}` in dollars per million tokens; 0 if it costs nothing"
        )
        found.append(Problem("BK605", "`limits: usd` cannot be kept without prices", hint))
    for problem in found:
        at = ("models", name, *(problem.at or ()))
        yield replace(problem, message=f"the model {name!r}: {problem.message}", at=at)


def faults_of_entry(model: Model, form: Form) -> Iterator[Problem]:
    """Keys without effect, and numbers that cannot be meant."""
    blank = Model()
    for field in fields(Model):
        if field.name not in _ALWAYS | form.uses and getattr(model, field.name) != getattr(blank, field.name):
            what = f"`{field.name}` has no effect on a model of the form `{kind_of(model)}`"
            yield Problem("BK602", what, "remove it", at=(field.name,))
    least = {"concurrency": 1, "per_minute": 1, "max_tokens": 1, "retries": 0, "timeout": 0.001}
    for name, low in least.items():
        value = getattr(model, name)
        if value is not None and value < low:
            yield Problem("BK602", f"`{name}: {value}` is too small", f"{low} or more", at=(name,))
    if (model.concurrency or 0) > _MOST_AT_ONCE:
        what = f"`concurrency: {model.concurrency}` is too much"
        yield Problem("BK602", what, f"at most {_MOST_AT_ONCE}", at=("concurrency",))
    if model.retry is not None:
        yield from (replace(one, at=("retry", *(one.at or ()))) for one in _faults_of_retry(model.retry))
    if model.prices and min(model.prices.input, model.prices.output) < 0:
        yield Problem("BK602", "a price is below 0", "dollars per million tokens", at=("prices",))


def _faults_of_retry(stated: Retry) -> Iterator[Problem]:
    least = {"wait": 0, "longest": 0, "factor": 1}
    for name, low in least.items():
        value = getattr(stated, name)
        if value < low:
            yield Problem("BK602", f"`{name}: {value}` is too small", f"{low} or more", at=(name,))
    for number, status in enumerate(stated.statuses or ()):
        if not may_change(status):
            hint = "such as 408, 429, 500, 502, 503 and 504"
            what = f"the status {status} is not one that another try changes"
            yield Problem("BK602", what, hint, at=("statuses", number))


@frozen
class _Ready:
    """A model whose entry is in order."""

    model: Model
    form: Form
    lane: Lane | None
    own: Redactor


ASKED_ELSEWHERE = "BK621"


def _elsewhere(name: str) -> tuple[str, str]:
    what = f"the model {name!r} answers fewer questions at once, or in a minute, than there are processes"
    return what, "raise its `concurrency` or `per_minute`, or lower --processes"


class Models:
    """The models of a configuration, for any number of threads; what they take counts as one run's."""

    def __init__(
        self, models: Mapping[str, Model], limits: Limits, world: World, number: int = 0, of: int = 1
    ):
        """`number` and `of`: which of several processes this is that ask the same models, each of them its
        part of what a model answers at once and in a minute."""
        self._models, self._limits, self._world = models, limits, world
        self._number, self._of = number, of
        self._budget = Budget(limits)
        self._lock = threading.Lock()
        self._ready: dict[str, _Ready] = {}

    @property
    def spent(self) -> Spent:
        return self._budget.spent

    @property
    def lease(self) -> Callable[[Spent, int | None, int | None, Decimal | None], None]:
        return self._budget.lease

    def ask(self, ask: Ask) -> Answer:
        """The answer; CannotReplay when there is none (OutOfBudget when nobody was asked for it),
        InvalidInput or Refused when the entry is not in order."""
        ready = self._prepared(ask.model)
        try:
            asked = filled(ask, ready.model)
            if ready.lane is None:
                raise OutOfBudget(Problem(ASKED_ELSEWHERE, *_elsewhere(ask.model)))
            retries = DEFAULT_RETRIES if ready.model.retries is None else ready.model.retries
            attempt = partial(self._attempt, asked, ready.model, ready.form)
            with ready.lane.place():
                limit, stated = asked.timeout or 0.0, ready.model.retry
                reply, tries = persist(attempt, retries, limit, ready.lane, self._world, stated)
            if reply.fault is not None:
                raise CannotReplay(reply.fault)
            return replace(reply.answer, attempts=tries)
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
            if name in self._ready:
                return self._ready[name]
            model, world = entry(name, self._models), self._world
            value = ""
            with suppress(InvalidInput):  # the check says so
                value = world.secret(model.key) if model.key is not None else ""
            own = Redactor({} if model.key is None else {model.key: Secret(value)})
            try:
                form = form_of(name, model)
                problems = list(problems_of(name, model, form, self._limits, world))
                if problems:
                    raise InvalidInput(*problems)
            except BaselinekitError as error:
                self._raise(error, own)
            ready = self._ready[name] = _Ready(model, form, self._lane(model, form), own)
            return ready

    def _lane(self, model: Model, form: Form) -> Lane | None:
        """Its part of the model's pace; None where there are more processes than parts."""
        at_once = self._part(model.concurrency or form.at_once)
        per_minute = None if model.per_minute is None else self._part(model.per_minute)
        if at_once and per_minute != 0:
            return Lane(at_once, per_minute, self._world.clock, self._world.sleep)
        return None

    def _part(self, number: int) -> int:
        return number // self._of + (self._number < number % self._of)

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
