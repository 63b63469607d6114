"""Ask -> Answer: each model in the way that its entry states, at its pace, within the budget of the run."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from baselinekit.clients.models import anthropic, command, openai, post
from baselinekit.clients.models.budget import Budget, estimate, price, usage_of, with_cost
from baselinekit.clients.models.recording import parts_of
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NeverSent, Problem, suggest
from baselinekit.model.recipes import Answer, Limits, Message, Model, ModelQuestion, ModelUsage
from baselinekit.model.values import Json
from baselinekit.secrets.variables import Redactor, Secret
from baselinekit.structs import Struct, asdict, replace
from baselinekit.values.texts import shown

# The entry of a model in the configuration: its form, and its problems.

FORMS = {
    "openai": openai.FORM,
    "anthropic": anthropic.FORM,
    "command": command.COMMAND,
    "python": command.PYTHON,
    "llm": command.LLM,
}
GROUP = "baselinekit.models"
DEFAULT_TIMEOUT = 120.0

_KINDS = (*FORMS, "form")
_ALWAYS = frozenset(("system", "prices", "concurrency", "per_minute", "timeout", *_KINDS))
_EXAMPLE = "models: {%s: {openai: MODEL, base_url: 'http://127.0.0.1:11434'}}"


def entry(name: str, models: Mapping[str, Model]) -> Model:
    """The entry of a model, which must exist and state exactly one way to ask it."""
    if name not in models:
        hint = suggest(name, models) or "declare it in baselinekit.yaml"
        raise InvalidInput(Problem("BK601", f"no model is called {name!r}", f"{hint} ({_EXAMPLE % name})"))
    model = models[name]
    stated_kinds = [kind for kind in _KINDS if getattr(model, kind) is not None]
    if len(stated_kinds) != 1:
        message = f"states {' and '.join(stated_kinds)}" if stated_kinds else "does not say how it is called"
        hint = f"state one of {', '.join(_KINDS)}"
        raise InvalidInput(Problem("BK602", f"the model {name!r} {message}", hint, at=("models", name)))
    return model


def kind_of(model: Model) -> str:
    return next(kind for kind in _KINDS if getattr(model, kind) is not None)


def form_of(name: str, model: Model) -> post.Form:
    """The form by the table; one under the key `form` is looked for among the installed packages."""
    kind = kind_of(model)
    if kind in FORMS:
        return FORMS[kind]
    from importlib import metadata  # importing it takes longer than everything else here

    at, form_name, form = ("models", name, "form"), str(model.form), None
    for point in metadata.entry_points(group=GROUP, name=form_name):
        try:
            form = point.load()
        except Exception as error:  # a third-party package
            message = f"the form {form_name!r} cannot be loaded: {type(error).__name__}: {error}"
            raise InvalidInput(Problem("BK602", message, "correct that package", at=at)) from None
    if isinstance(form, post.Form):
        return form
    message = f"no installed package provides the form {form_name!r} of the model {name!r}"
    hint = f"install the one with an entry point of {GROUP} that names such a Form"
    raise InvalidInput(Problem("BK602", message, hint, at=at))


def with_model_settings(ask: ModelQuestion, model: Model) -> ModelQuestion:
    """The question with its missing settings filled in from the model's entry."""
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


def faults_of_entry(model: Model, form: post.Form) -> Iterator[Problem]:
    """Keys without effect."""
    blank = Model()
    for name, value in asdict(model).items():
        if name not in _ALWAYS | form.uses and value != getattr(blank, name):
            message = f"`{name}` has no effect on a model of the form `{kind_of(model)}`"
            yield Problem("BK602", message, "remove it", at=(name,))


class _ReadyModel(Struct):
    """A model whose entry is valid."""

    model: Model
    form: post.Form
    lane: post.Lane


class Models:
    """The models of a configuration, for any number of threads, with one budget for all of them."""

    def __init__(self, models: Mapping[str, Model], limits: Limits, world: post.World, processes: int = 1):
        """`processes`: how many share what a model answers at once (each of them asks one question at least)
        and in a minute."""
        self._models, self._limits, self._world = models, limits, world
        self._processes = processes
        self._budget = Budget(limits)
        self._lock = threading.RLock()
        self._ready: dict[str, _ReadyModel] = {}
        self._redactors: dict[str, Redactor] = {}
        """By the name of a model: what masks its key, and what looks like a secret."""

    @property
    def spent(self) -> ModelUsage:
        return self._budget.spent

    @property
    def grant(self) -> Callable[..., None]:
        return self._budget.grant

    def ask(self, ask: ModelQuestion) -> Answer:
        """Return the answer; CannotReplay when there is none (OutOfBudget when the model was not asked),
        InvalidInput or Refused when the entry is not valid."""
        ready = self._prepared(ask.model)
        try:
            question = with_model_settings(ask, ready.model)
            attempt = partial(self._attempt, question, ready)
            seconds = question.timeout or 0.0
            with ready.lane.places:
                reply, tries = post.ask_with_retries(attempt, ready.model, seconds, ready.lane, self._world)
            if reply.fault is not None:
                raise CannotReplay(reply.fault)
            return replace(reply.answer, attempts=tries)
        except BaselinekitError as error:
            raise shown(error, self.mask) from None

    def check(self, name: str, asked: bool = True) -> None:
        """Raise the problems of a model's entry. Not `asked`: only those that recorded answers have."""
        if asked:
            self._prepared(name)
        else:
            entry(name, self._models)

    def parts(self, ask: ModelQuestion) -> dict[str, Json]:
        """The parts that distinguish one question from another, for recording answers, without secrets."""
        model = entry(ask.model, self._models)
        return parts_of(with_model_settings(ask, model), model, kind_of(model), self._world.mask)

    def mask(self, text: str) -> str:
        """Mask the secrets in a text, including the keys of the models."""
        text = self._world.mask(text)  # first: a text that looks like a secret may be part of a known one
        with self._lock:
            redactors = [*self._redactors.values()]
        for redactor in redactors:
            text = redactor.mask(text)
        return text

    def _prepared(self, name: str) -> _ReadyModel:
        with self._lock:
            if name in self._ready:
                return self._ready[name]
            model, world = entry(name, self._models), self._world
            secrets = {}
            with suppress(InvalidInput):  # the check reports it
                secrets = {model.key: Secret(world.secret(model.key))} if model.key is not None else {}
            self._redactors[name] = Redactor(secrets)
            try:
                form = form_of(name, model)
                if problems := list(self._problems_of(name, model, form)):
                    raise InvalidInput(*problems)
            except BaselinekitError as error:
                raise shown(error, self.mask) from None
            at_once = max(1, (model.concurrency or form.at_once) // self._processes)
            per_minute = None if model.per_minute is None else model.per_minute / self._processes
            lane = post.Lane(at_once, per_minute, world)
            ready = self._ready[name] = _ReadyModel(model, form, lane)
            return ready

    def _problems_of(self, name: str, model: Model, form: post.Form) -> Iterator[Problem]:
        """All problems that can be found before the model is asked."""
        problems = [*faults_of_entry(model, form), *form.check(model, self._world)]
        if self._limits.usd is not None and model.prices is None and not form.tells_cost(model):
            prices = "state `prices: {input: 0.5, output: 1.5}` in dollars per million tokens"
            hint = f"{prices}; 0 if it costs nothing"
            problems.append(Problem("BK605", "`limits: usd` cannot be kept without prices", hint))
        for problem in problems:
            at = ("models", name, *(problem.at or ()))
            yield replace(problem, message=f"the model {name!r}: {problem.message}", at=at)

    def _attempt(self, ask: ModelQuestion, ready: _ReadyModel, left: Callable[[], float]) -> post.Reply:
        model = ready.model
        tokens_in, tokens_out = estimate(ask, model)
        cost = price(model.prices, tokens_in, tokens_out)
        reservation = self._budget.reserve(ask.model, tokens_in + tokens_out, cost)
        try:
            reply = ready.form.ask(post.Question(ask, model, self._world, left()))
        except BaseException as error:
            if isinstance(error, NeverSent) or (isinstance(error, post.RetryableFailure) and error.unheard):
                self._budget.release(reservation)
            elif isinstance(error, CannotReplay) and error.problems[0].code == "BK610":
                self._budget.settle(reservation, 0, price(model.prices, 0, 0))  # it was not processed
            else:
                self._budget.fail(reservation)
            raise
        reported = reply.answer.usage
        answer = replace(reply.answer, usage=with_cost(reported, model.prices))
        tokens, usd = usage_of(ask, model, answer)
        self._budget.settle(reservation, tokens, usd)
        if usd is None and self._limits.usd is not None:
            message = f"the model {ask.model!r} did not report its cost, which `limits: usd` needs"
            raise CannotReplay(Problem("BK605", message, "state its `prices:`"))
        return post.Reply(answer, reply.fault)
