"""What a replay needs besides its recipe, the limits for data files, and the URL of a request."""

import ipaddress
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode, urlsplit

from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.addresses import PORT_HINT, has_no_such_port, url_for_message
from baselinekit.model.recipes import (
    Answer,
    Config,
    HttpDefaults,
    HttpRequest,
    ModelQuestion,
    Observation,
    ProcessResult,
    ProcessSpec,
    Recipe,
    Request,
    Response,
    Seconds,
    Surroundings,
)
from baselinekit.model.values import Json, Path
from baselinekit.secrets.variables import Redactor, Scope, as_text, names_in
from baselinekit.structs import Struct, field, replace

# What a replay needs besides its recipe, and the limits for data files: a file may ask for less than the
# configuration grants, never for more. Nor may a file turn off the check of certificates.


MANY_REDIRECTS = 5
DEFAULT_MAX_BODY = 10_000_000
_TIMEOUT = 300
_CASE_TIMEOUT = 3_600
_RETRIES = 10
_REDIRECTS = 20


class Ceilings(Struct):
    """The most that a data file may set. `case_timeout`: the timeout for cases of an eval. `skills` and
    `models`: the timeouts that the configuration sets for them, by name."""

    timeout: Seconds = _TIMEOUT
    case_timeout: Seconds = _CASE_TIMEOUT
    max_body: int = DEFAULT_MAX_BODY
    retries: int = _RETRIES
    redirects: int = _REDIRECTS
    verify: bool = True
    skills: Mapping[str, Seconds] = field(default_factory=dict)
    models: Mapping[str, Seconds] = field(default_factory=dict)

    def of_a_case(self) -> "Ceilings":
        """Return the limits for a case of an eval, in which an agent may work for long."""
        return replace(self, timeout=self.case_timeout)

    def granted(self, recipe: Recipe) -> Seconds | None:
        """Return the timeout that the configuration sets for the skill or the model that is asked."""
        family, name = kind_of(recipe).asks(recipe)
        times = {"skills": self.skills, "models": self.models}.get(family, {})
        return times.get(name)

    def granting(self, timeout: Seconds | None) -> "Ceilings":
        """Return the limits raised to the timeout that the operator has given."""
        return replace(self, timeout=max(self.timeout, timeout or 0))


def ceilings_of(config: Config) -> Ceilings:
    """Return the limits that `limits:` states; else the larger of the default and the value under `http:`."""
    limits, http = config.limits, config.http

    def most(configured: Seconds | None, default: Seconds, given: Seconds | None) -> Seconds:
        return max(default, given or 0) if configured is None else configured

    return Ceilings(
        timeout=most(limits.timeout, _TIMEOUT, http.timeout),
        case_timeout=most(limits.timeout, _CASE_TIMEOUT, http.timeout),
        max_body=int(most(limits.max_body, DEFAULT_MAX_BODY, http.max_body)),
        retries=int(most(limits.retries, _RETRIES, http.retries)),
        redirects=int(most(limits.redirects, _REDIRECTS, http.redirects)),
        verify=http.verify is not False,
        skills={name: skill.timeout for name, skill in config.skills.items() if skill.timeout is not None},
        models={name: model.timeout for name, model in config.models.items() if model.timeout is not None},
    )


def refuse_above(recipe: Recipe, ceilings: Ceilings) -> None:
    """Raise Refused, with each place, where a recipe exceeds the limits."""
    problems: list[Problem] = []
    granted = ceilings.granting(ceilings.granted(recipe))
    for at, part in kind_of(recipe).limited(recipe):
        for name in ("timeout", "max_body", "retries", "redirects"):
            value, maximum = getattr(part, name, None), getattr(granted, name)
            requested = MANY_REDIRECTS if value is True else value
            if requested is not None and requested > maximum:
                problems.append(above(name, requested, maximum, (*at, name)))
    if getattr(recipe.execution, "verify", None) is False and ceilings.verify:
        problems.append(unverified())
    if problems:
        raise Refused(*problems)


def above(name: str, requested: Seconds, maximum: Seconds, at: Path, setting: str | None = None) -> Problem:
    """`setting`: its name under `limits:`, where that is not the name in the file."""
    hint = "set a lower value"
    if requested < math.inf:
        hint += f", or allow it in baselinekit.yaml: `limits: {{{setting or name}: {requested}}}`"
    return Problem("BK408", f"{name}: {requested} is more than a file may set, {maximum}", hint, at=at)


def unverified() -> Problem:
    hint = (
        "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or allow it there: "
        "`http: {verify: false}`"
    )
    return Problem("BK408", "a baseline file may not set verify: false", hint, at=(*EXECUTION, "verify"))


def foreign_authorities(where: str, file: str) -> Problem:
    message = (
        f"a baseline file may not say which certificates are trusted at {where}, "
        "which the configuration or the command line names"
    )
    hint = f"name the authorities in baselinekit.yaml: `http: {{verify: {file}}}`"
    return Problem("BK408", message, hint, at=(*EXECUTION, "verify"))


Execute = Callable[[ProcessSpec], ProcessResult]


class ModelClient(Protocol):
    """Asks models, by the names that the configuration gives them."""

    def ask(self, ask: ModelQuestion) -> Answer: ...
    def check(self, name: str) -> None: ...


Similar = Callable[[Sequence[tuple[str, str]]], list[float]]
"""Return the similarity of the texts of each pair, by a local model."""


Together = Callable[[Sequence[Callable[[], Answer]]], list[Answer]]
"""Ask several questions, at the same time where possible."""


def one_by_one(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    return [call() for call in calls]


class NoModels:
    """The client of a run without models."""

    def ask(self, ask: ModelQuestion) -> Answer:
        raise invalid("BK601", f"no model is called {ask.model!r}")

    def check(self, name: str) -> None:
        raise invalid("BK601", f"no model is called {name!r}")


class OncePerRun:
    """Values that are made once in a run and shared: the result of a healthcheck, the answers to a batch. An
    error is kept too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outcomes: dict[object, tuple[threading.Lock, list[Callable[[], Any]]]] = {}

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            lock, outcome = self._outcomes.setdefault(key, (threading.Lock(), []))
        with lock:
            if not outcome:
                try:
                    value = make()
                except BaselinekitError as error:
                    outcome.append(partial(_raise, type(error), error.problems))
                else:
                    outcome.append(lambda: value)
        return outcome[0]()


def _raise(kind: type[BaselinekitError], problems: Sequence[Problem]) -> None:
    """Raise a new error each time: several threads raise it."""
    raise kind(*problems)


class Clients(Struct):
    """The clients for requests, programs and models. Each call blocks until it is done; a real one can be
    cancelled from another thread. `once`: what a run makes only once. `batches`: the inputs of the cases, by
    target, for targets that answer many cases at once."""

    send: Callable[[Request], Response]
    execute: Execute
    sleep: Callable[[float], None]
    models: ModelClient = field(default_factory=NoModels)
    similar: Similar = lambda pairs: []
    together: Together = one_by_one
    now: Callable[[], float] = time.time
    once: OncePerRun = field(default_factory=OncePerRun)
    batches: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Setting(Struct):
    surroundings: Surroundings
    scope: Scope
    trust: Trust
    redactor: Redactor
    http: HttpDefaults
    clients: Clients
    ceilings: Ceilings = field(default_factory=Ceilings)
    turn: int = 0
    """Tells repetitions of the same question apart."""
    asker: str = ""
    """The id of the baseline or the case that is replayed."""


def is_named(recipe: Recipe, setting: Setting) -> bool:
    """Whether the operator or the configuration defines this very target, and not the file of the baseline.
    The timeout may differ: any file may set it."""
    target = setting.surroundings.targets.get(getattr(recipe.execution, "target", ""))
    return target is not None and replace(target, timeout=recipe.execution.timeout) == recipe.execution


def invalid(code: str, message: str, hint: str = "", at: Path | None = None) -> InvalidInput:
    return InvalidInput(Problem(code, message, hint, at=at))


def undefined_in(value: Any, scope: Scope, at: Path) -> Iterator[Problem]:
    """Yield a problem for each undefined variable in a value, with its place."""
    if isinstance(value, str):
        for name in names_in(value):
            try:
                scope.lookup(name, at)
            except InvalidInput as error:
                yield from error.problems
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from undefined_in(key, scope, at)
            yield from undefined_in(item, scope, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from undefined_in(item, scope, (*at, index))
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            if field_value := getattr(value, name):
                yield from undefined_in(field_value, scope, (*at, name))


def check_defined(recipe: Recipe, setting: Setting) -> None:
    """Raise InvalidInput for undefined variables."""
    problems = [
        *undefined_in(recipe.input, setting.scope, INPUT),
        *undefined_in(recipe.execution, setting.scope, EXECUTION),
    ]
    if problems:
        raise InvalidInput(*problems)


# The URL of a request: built, checked and normalized.


_UNSAFE = lazy_pattern(r"[^!$&'()*+,/:;=?@\[\]~A-Za-z0-9._%-]|%(?![0-9A-Fa-f]{2})")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f]")
_HOST = lazy_pattern(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def url_of(step: HttpRequest, execution: HttpExecution, surroundings: Surroundings, at: Path) -> str:
    """Return the URL of a request whose variables are expanded. It is built, checked and normalized, so that
    the check of an origin and the connection cannot read it differently (F16)."""
    given_names = [name for name in ("endpoint", "path", "url") if getattr(step, name) is not None]
    if len(given_names) > 1:
        raise invalid(
            "BK311",
            f"both `{given_names[0]}` and `{given_names[1]}` are given",
            "keep one",
            (*at, given_names[1]),
        )
    at = (*at, *given_names)
    if step.url is not None:
        url = as_text(step.url)
    else:
        base = surroundings.override_base_url or execution.base_url or surroundings.base_url
        if not base:
            hint = "pass --base-url URL, or set execution.base_url, or base_url: in baselinekit.yaml"
            raise invalid("BK310", "no base_url", hint, at)
        endpoint = as_text(step.endpoint if step.endpoint is not None else (step.path or ""))
        if endpoint and not endpoint.startswith("/"):
            hint = "an absolute one goes under `url`" if "://" in endpoint else f"write /{endpoint}"
            raise invalid("BK311", f"`{given_names[0]}` must start with /: {endpoint!r}", hint, at)
        url = as_text(base).rstrip("/") + endpoint
    if step.params:
        pairs, url = pairs_of(step.params), url.partition("#")[0]
        url += f"{'&' if '?' in url else '?'}{urlencode(pairs)}" if pairs else ""
    return normalize_url(url, at)


def pairs_of(values: dict[str, Json]) -> list[tuple[str, str]]:
    """Return names with their values as they are sent; a name with a list is repeated for each item."""
    return [
        (name, "" if item is None else as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def endless_redirects(redirects: int, is_loop: bool) -> tuple[str, str]:
    """Return what is wrong with redirects without an end, and what decides how many are followed."""
    options = "capture: -L for 10, --redirects N; recipe: `redirects: N`"
    if is_loop:
        return (
            f"more than {redirects} redirects, in a loop",
            f"correct the service, or follow none ({options})",
        )
    return f"more than {redirects} redirects", f"follow more, if they end ({options})"


def normalize_url(url: str, at: Path = ()) -> str:
    """Return a URL in normal form, or raise InvalidInput: http(s), no credentials, a plain host, ASCII."""
    if _CONTROL.search(url):
        raise invalid("BK311", f"a control character in the URL {url_for_message(url)!r}", "remove it", at)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        hint = PORT_HINT if has_no_such_port(url) else ""
        raise invalid("BK311", f"{url_for_message(url)} is not a URL: {error}", hint, at) from None
    if parts.scheme not in ("http", "https"):
        hint = "write http://… or https://…"
        raise invalid("BK311", f"{url_for_message(url)!r} is not an http or https URL", hint, at)
    if "@" in parts.netloc:
        raise invalid("BK311", f"{url_for_message(url)} contains credentials", "give them under `auth:`", at)
    host = parts.hostname or ""
    try:
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host).compressed}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        host = ""
    if not host.startswith("[") and not _HOST.fullmatch(host):
        raise invalid("BK311", f"{url_for_message(parts.geturl())} has no usable host", "", at)
    port_text = f":{port}" if port is not None else ""
    query = f"?{_percent_encode(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{port_text}{_percent_encode(parts.path) or '/'}{query}"


def _percent_encode(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), text)


class Row(NamedTuple):
    """The functions that replay recipes of one kind. `inputs`: the inputs of a recipe by name, and the names
    that it uses; `batch`: a key shared by all recipes that are answered together."""

    check: Callable[[Recipe, Setting], None]
    replay: Callable[[Recipe, Setting], Observation]
    files: Callable[[Recipe, Setting], Iterator[str | bytes]] = lambda recipe, setting: iter(())
    inputs: Callable[[Recipe, Setting], tuple[dict[str, Json], frozenset[str]]] = lambda recipe, setting: (
        {},
        frozenset(),
    )
    batch: Callable[[Recipe], str | None] = lambda recipe: None
