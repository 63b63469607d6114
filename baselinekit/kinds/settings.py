"""What a replay needs besides its recipe, the limits for data files, and the URL of a request."""

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.model import recipes
from baselinekit.model.values import Path
from baselinekit.secrets.variables import Redactor, Scope, variables_in
from baselinekit.structs import Struct, field, replace

INPUT: Path = ("current", "input")
EXECUTION: Path = ("current", "execution")

# What a replay needs besides its recipe, and the limits for data files: a file may ask for less than the
# configuration grants, never for more. Nor may a file turn off the check of certificates.


MANY_REDIRECTS = 5
DEFAULT_MAX_BODY = 10_000_000


class Ceilings(Struct):
    """The most that a data file may set. `case_timeout`: the timeout for cases of an eval. `timeouts`: those
    that the configuration sets for a skill or a model, by its section and its name."""

    timeout: recipes.Seconds = 300
    case_timeout: recipes.Seconds = 3_600
    max_body: int = DEFAULT_MAX_BODY
    retries: int = 10
    redirects: int = 20
    verify: bool = True
    timeouts: Mapping[tuple[str, str], recipes.Seconds] = field(default_factory=dict)

    def of_a_case(self) -> "Ceilings":
        """Return the limits for a case of an eval, in which an agent may work for long."""
        return replace(self, timeout=self.case_timeout)

    def granting(self, timeout: recipes.Seconds | None) -> "Ceilings":
        """Return the limits raised to the timeout that the operator has given."""
        return replace(self, timeout=max(self.timeout, timeout or 0))


def ceilings_of(config: recipes.Config) -> Ceilings:
    """Return the limits that `limits:` states; else the larger of the default and the value under `http:`."""
    default, skills, models = Ceilings(), config.skills.items(), config.models.items()
    timeouts = {("skills", name): skill.timeout for name, skill in skills if skill.timeout is not None}
    timeouts |= {("models", name): model.timeout for name, model in models if model.timeout is not None}

    def most(name: str, default: recipes.Seconds) -> Any:
        configured: recipes.Seconds | None = getattr(config.limits, name)
        return max(default, getattr(config.http, name) or 0) if configured is None else configured

    return Ceilings(
        timeout=most("timeout", default.timeout),
        case_timeout=most("timeout", default.case_timeout),
        max_body=most("max_body", default.max_body),
        retries=most("retries", default.retries),
        redirects=most("redirects", default.redirects),
        verify=config.http.verify is not False,
        timeouts=timeouts,
    )


def above(name: str, asked: recipes.Seconds, most: recipes.Seconds, at: Path, setting: str = "") -> Problem:
    """`setting`: its name under `limits:`, where that is not the name in the file."""
    hint = "set a lower value"
    if asked < math.inf:
        hint += f", or allow it in baselinekit.yaml: `limits: {{{setting or name}: {asked}}}`"
    return Problem("BK408", f"{name}: {asked} is more than a file may set, {most}", hint, at=at)


def unverified() -> Problem:
    hint = (
        "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or allow it there: "
        "`http: {verify: false}`"
    )
    return Problem("BK408", "a baseline file may not set verify: false", hint, at=(*EXECUTION, "verify"))


Execute = Callable[[recipes.ProcessSpec], recipes.ProcessResult]


class ModelClient(Protocol):
    """Asks models, by the names that the configuration gives them."""

    def ask(self, ask: recipes.ModelQuestion) -> recipes.Answer: ...
    def check(self, name: str) -> None: ...


def _no_model(name: str) -> NoReturn:
    raise invalid("BK601", f"no model is called {name!r}")


class ModelCalls(Struct):
    """A client for models that consists of two functions; by default a run has no models."""

    ask: Callable[[recipes.ModelQuestion], recipes.Answer] = lambda ask: _no_model(ask.model)
    check: Callable[[str], None] = _no_model


Similar = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Return the similarity of the texts of each pair, by a local model."""
Together = Callable[[Sequence[Callable[[], recipes.Answer]]], list[recipes.Answer]]
"""Ask several questions, at the same time where possible."""


class OncePerRun:
    """Values that are made once in a run and shared: the result of a healthcheck, the answers to a batch. An
    error is kept too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: dict[object, tuple[threading.Lock, list[Any]]] = {}

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            lock, outcome = self._outcomes.setdefault(key, (threading.Lock(), []))
        with lock:
            if not outcome:
                try:
                    value = make()
                except BaselinekitError as error:
                    value = error
                outcome.append(value)
        if isinstance(outcome[0], BaselinekitError):  # a new one each time: several threads raise it
            raise type(outcome[0])(*outcome[0].problems)
        return outcome[0]


class Clients(Struct):
    """The clients for requests, programs and models. Each call blocks until it is done; a real one can be
    cancelled from another thread. `once`: what a run makes only once. `batches`: the inputs of the cases, by
    target, for targets that answer many cases at once."""

    send: Callable[[recipes.Request], recipes.Response]
    execute: Execute
    sleep: Callable[[float], None]
    models: ModelClient = field(default_factory=ModelCalls)
    similar: Similar = lambda pairs: []
    together: Together = lambda calls: [call() for call in calls]
    now: Callable[[], float] = time.time
    once: OncePerRun = field(default_factory=OncePerRun)
    batches: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Setting(Struct):
    surroundings: recipes.Surroundings
    scope: Scope
    trust: Trust
    redactor: Redactor
    http: recipes.HttpDefaults
    clients: Clients
    ceilings: Ceilings = field(default_factory=Ceilings)
    turn: int = 0
    """Tells repetitions of the same question apart."""
    asker: str = ""
    """The id of the baseline or the case that is replayed."""
    keep: Callable[[bytes], None] = lambda body: None
    """Keeps a body whose hash alone is in the output."""

    def ask(self, question: recipes.ModelQuestion) -> recipes.Answer:
        """Ask a model about what is replayed, in its turn."""
        return self.clients.models.ask(replace(question, turn=self.turn, asker=self.asker))


def is_named(recipe: recipes.Recipe, setting: Setting) -> bool:
    """Whether the operator or the configuration defines this very target, and not the file of the baseline.
    The timeout may differ: any file may set it."""
    target = setting.surroundings.targets.get(getattr(recipe.execution, "target", ""))
    return target is not None and replace(target, timeout=recipe.execution.timeout) == recipe.execution


def invalid(code: str, message: str, hint: str = "", at: Path | None = None) -> InvalidInput:
    return InvalidInput(Problem(code, message, hint, at=at))


def undefined_in(value: Any, scope: Scope, at: Path) -> Iterator[Problem]:
    """Yield a problem for each undefined variable in a value, with its place."""
    for name, place in variables_in(value, at):
        try:
            scope.lookup(name, place)
        except InvalidInput as error:
            yield from error.problems


def check_defined(recipe: recipes.Recipe, setting: Setting) -> None:
    """Raise InvalidInput for undefined variables."""
    if problems := list(undefined_in(recipe, setting.scope, INPUT[:1])):
        raise InvalidInput(*problems)
