"""What a replay is handed, how much a data file may ask for, and the URL that comes of both."""

import dataclasses
import ipaddress
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode, urlsplit

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.frozen import frozen
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import (
    Answer,
    Ask,
    Config,
    HttpDefaults,
    HttpRequest,
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
from baselinekit.replaying.answer import DEFAULT_MAX_BODY
from baselinekit.trust import Trust
from baselinekit.variables import Redactor, Scope, as_text, field_names, names_in

# What a replay needs besides its recipe, and how much a data file may ask for: less than the
# configuration grants, as it likes; more, never. Nor does a file say that certificates are not checked.


MANY_REDIRECTS = 5
_TIMEOUT = 300
_CASE_TIMEOUT = 3_600
_RETRIES = 10
_REDIRECTS = 20


@frozen
class Ceilings:
    """`case_timeout`: for all that a case of an eval asks. `skills` and `models`: the time that the
    configuration gives each by name, where it says so."""

    timeout: Seconds = _TIMEOUT
    case_timeout: Seconds = _CASE_TIMEOUT
    max_body: int = DEFAULT_MAX_BODY
    retries: int = _RETRIES
    redirects: int = _REDIRECTS
    verify: bool = True
    skills: Mapping[str, Seconds] = field(default_factory=dict)
    models: Mapping[str, Seconds] = field(default_factory=dict)

    def of_a_case(self) -> "Ceilings":
        """Those of a case of an eval, in which an agent may work for long."""
        return replace(self, timeout=self.case_timeout)

    def granted(self, recipe: Recipe) -> Seconds | None:
        """The time that the configuration gives the skill or the model that is asked."""
        family, name = kind_of(recipe).asks(recipe)
        times = {"skills": self.skills, "models": self.models}.get(family, {})
        return times.get(name)

    def granting(self, timeout: Seconds | None) -> "Ceilings":
        """With the time that the operator has typed."""
        return replace(self, timeout=max(self.timeout, timeout or 0))


def ceilings_of(config: Config) -> Ceilings:
    """What `limits:` states; else the larger of our own and what `http:` gives every request."""
    limits, http = config.limits, config.http

    def most(stated: Seconds | None, ours: Seconds, given: Seconds | None) -> Seconds:
        return max(ours, given or 0) if stated is None else stated

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
    """Refused, with each place, where a recipe asks for more than it may."""
    problems: list[Problem] = []
    granted = ceilings.granting(ceilings.granted(recipe))
    for at, stated in kind_of(recipe).limited(recipe):
        for name in ("timeout", "max_body", "retries", "redirects"):
            value, most = getattr(stated, name, None), getattr(granted, name)
            wanted = MANY_REDIRECTS if value is True else value
            if wanted is not None and wanted > most:
                problems.append(above(name, wanted, most, (*at, name)))
    if getattr(recipe.execution, "verify", None) is False and ceilings.verify:
        problems.append(unverified())
    if problems:
        raise Refused(*problems)


def above(name: str, wanted: Seconds, most: Seconds, at: Path, setting: str | None = None) -> Problem:
    """`setting`: its name under `limits:`, where the file calls it otherwise."""
    hint = "set a lower value"
    if wanted < math.inf:
        hint += f", or allow it in baselinekit.yaml: `limits: {{{setting or name}: {wanted}}}`"
    return Problem("BK408", f"{name}: {wanted} is more than a file may set, {most}", hint, at=at)


def unverified() -> Problem:
    hint = (
        "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or allow it there: "
        "`http: {verify: false}`"
    )
    return Problem("BK408", "a baseline file may not set verify: false", hint, at=(*EXECUTION, "verify"))


def foreign_authorities(where: str, file: str) -> Problem:
    what = (
        f"a baseline file may not say which certificates are trusted at {where}, "
        "which the configuration or the command line names"
    )
    hint = f"name the authorities in baselinekit.yaml: `http: {{verify: {file}}}`"
    return Problem("BK408", what, hint, at=(*EXECUTION, "verify"))


Execute = Callable[[ProcessSpec], ProcessResult]


class ModelClient(Protocol):
    """Asks models, by the names that the configuration gives them."""

    def ask(self, ask: Ask) -> Answer: ...
    def check(self, name: str) -> None: ...


Similar = Callable[[Sequence[tuple[str, str]]], list[float]]
"""How alike the texts of each pair are, by a local model."""


Together = Callable[[Sequence[Callable[[], Answer]]], list[Answer]]
"""Several questions, at the same time where that can be done."""


def one_by_one(calls: Sequence[Callable[[], Answer]]) -> list[Answer]:
    return [call() for call in calls]


class NoModels:
    """For a run that has none."""

    def ask(self, ask: Ask) -> Answer:
        raise invalid("BK601", f"no model is called {ask.model!r}")

    def check(self, name: str) -> None:
        raise invalid("BK601", f"no model is called {name!r}")


class OncePerRun:
    """What is made once, for whoever asks for it first, and had by all others that ask: a check that a target
    works, an answer to many questions. An error is kept too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[object, tuple[threading.Lock, list[Callable[[], Any]]]] = {}

    def get(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            lock, made = self._made.setdefault(key, (threading.Lock(), []))
        with lock:
            if not made:
                try:
                    value = make()
                except BaselinekitError as error:
                    made.append(partial(_raise, type(error), error.problems))
                else:
                    made.append(lambda: value)
        return made[0]()


def _raise(kind: type[BaselinekitError], problems: Sequence[Problem]) -> None:
    """Anew each time: several threads raise it."""
    raise kind(*problems)


@frozen
class Clients:
    """The ways out. Each blocks until it is done; a real one can be cancelled from another thread. `once`:
    what a run makes only once. `batches`: of targets that answer many cases at a time, which cases there are:
    by the target, what each is asked with."""

    send: Callable[[Request], Response]
    execute: Execute
    sleep: Callable[[float], None]
    models: ModelClient = field(default_factory=NoModels)
    similar: Similar = lambda pairs: []
    together: Together = one_by_one
    now: Callable[[], float] = time.time
    once: OncePerRun = field(default_factory=OncePerRun)
    batches: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@frozen
class Setting:
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
    """Whether the operator or the configuration states this very target: then it is theirs, and not that of
    the file which asks. How long it may take is for anybody to shorten."""
    target = setting.surroundings.targets.get(getattr(recipe.execution, "target", ""))
    return target is not None and replace(target, timeout=recipe.execution.timeout) == recipe.execution


def invalid(code: str, what: str, hint: str = "", at: Path | None = None) -> InvalidInput:
    return InvalidInput(Problem(code, what, hint, at=at))


def undefined_in(value: Any, scope: Scope, at: Path) -> Iterator[Problem]:
    """The variables that a value uses and nobody has defined, each at its place."""
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
    elif value is not None and dataclasses.is_dataclass(value):
        for name in field_names(value.__class__):
            if stated := getattr(value, name):
                yield from undefined_in(stated, scope, (*at, name))


def check_defined(recipe: Recipe, setting: Setting) -> None:
    """InvalidInput for the variables that nobody has defined."""
    problems = [
        *undefined_in(recipe.input, setting.scope, INPUT),
        *undefined_in(recipe.execution, setting.scope, EXECUTION),
    ]
    if problems:
        raise InvalidInput(*problems)


# The URL of a request: put together, checked, and written in its one spelling.


_UNSAFE = lazy_pattern(r"[^!$&'()*+,/:;=?@\[\]~A-Za-z0-9._%-]|%(?![0-9A-Fa-f]{2})")
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f]")
_HOST = lazy_pattern(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?")


def url_of(step: HttpRequest, execution: HttpExecution, surroundings: Surroundings, at: Path) -> str:
    """The whole URL of a request whose variables are expanded: put together, checked, and written in one way,
    so that the check of an origin and the connection cannot read it differently (F16)."""
    given = [name for name in ("endpoint", "path", "url") if getattr(step, name) is not None]
    if len(given) > 1:
        raise invalid("BK311", f"both `{given[0]}` and `{given[1]}` are given", "keep one", (*at, given[1]))
    at = (*at, *given)
    if step.url is not None:
        whole = as_text(step.url)
    else:
        base = surroundings.override_base_url or execution.base_url or surroundings.base_url
        if not base:
            hint = "pass --base-url URL, or set execution.base_url, or base_url: in baselinekit.yaml"
            raise invalid("BK310", "no base_url", hint, at)
        endpoint = as_text(step.endpoint if step.endpoint is not None else (step.path or ""))
        if endpoint and not endpoint.startswith("/"):
            hint = "an absolute one goes under `url`" if "://" in endpoint else f"write /{endpoint}"
            raise invalid("BK311", f"`{given[0]}` must start with /: {endpoint!r}", hint, at)
        whole = as_text(base).rstrip("/") + endpoint
    if step.params:
        pairs, whole = pairs_of(step.params), whole.partition("#")[0]
        whole += f"{'&' if '?' in whole else '?'}{urlencode(pairs)}" if pairs else ""
    return normal(whole, at)


def pairs_of(values: dict[str, Json]) -> list[tuple[str, str]]:
    """Names with their values as they are sent; a name with a list of them comes once for each."""
    return [
        (name, "" if item is None else as_text(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
    ]


def normal(url: str, at: Path = ()) -> str:
    """A URL in its one spelling, or InvalidInput: http(s), no credentials, a plain host, ASCII."""
    if _CONTROL.search(url):
        raise invalid("BK311", f"a control character in the URL {shown(url)!r}", "remove it", at)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise invalid("BK311", f"{shown(url)} is not a URL: {error}", "", at) from None
    if parts.scheme not in ("http", "https"):
        hint = "write http://… or https://…"
        raise invalid("BK311", f"{shown(url)!r} is not an http or https URL", hint, at)
    if "@" in parts.netloc:
        raise invalid("BK311", f"{shown(url)} contains credentials", "give them under `auth:`", at)
    host = parts.hostname or ""
    try:
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host).compressed}]"
        elif not host.isascii():
            host = host.encode("idna").decode()
    except ValueError:
        host = ""
    if not host.startswith("[") and not _HOST.fullmatch(host):
        raise invalid("BK311", f"{shown(parts.geturl())} has no usable host", "", at)
    where = f":{port}" if port is not None else ""
    query = f"?{_quoted(parts.query)}" if parts.query else ""
    return f"{parts.scheme}://{host}{where}{_quoted(parts.path) or '/'}{query}"


def _quoted(text: str) -> str:
    return _UNSAFE.sub(lambda match: quote(match[0], safe="", errors="replace"), text)


def shown(url: str) -> str:
    """A URL as a message may show it: without credentials, without its query."""
    address, query, _ = url.partition("?")
    address = re.sub(r"//[^/]*@", "//…@", address)
    return f"{address}{'?…' if query else ''}"


class Row(NamedTuple):
    """How recipes of a kind are replayed. `inputs`: what one is given by name, and the names that it asks
    for; `batch`: the same for all recipes that are answered together."""

    check: Callable[[Recipe, Setting], None]
    replay: Callable[[Recipe, Setting], Observation]
    files: Callable[[Recipe, Setting], Iterator[str | bytes]] = lambda recipe, setting: iter(())
    inputs: Callable[[Recipe, Setting], tuple[dict[str, Json], frozenset[str]]] = lambda recipe, setting: (
        {},
        frozenset(),
    )
    batch: Callable[[Recipe], str | None] = lambda recipe: None
