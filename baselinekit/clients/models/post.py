"""A question posted to a model over HTTPS, and retried where that may help."""

import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from baselinekit import __version__
from baselinekit.clients.headers import header_fault, merged
from baselinekit.clients.trust import Trust, origins_in
from baselinekit.errors import CannotReplay, InvalidInput, OutOfBudget, Problem, cannot_replay
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.lazy import lazy_pattern
from baselinekit.model import recipes
from baselinekit.model.values import Json
from baselinekit.structs import Struct, field, replace

# What every form of model takes and returns, how many questions a model gets at once, and how a question is
# retried when the server was too busy.


class World(Struct):
    """The clients and their environment. A client that is cancelled by another thread raises, and `sleep`
    then returns at once. `secret` returns the value of a declared variable, or raises InvalidInput; `mask`
    takes the secrets out of a text."""

    send: Callable[[recipes.Request], recipes.Response]
    execute: Callable[[recipes.ProcessSpec], recipes.ProcessResult]
    sleep: Callable[[float], None]
    root: str
    secret: Callable[[str], str]
    mask: Callable[[str], str] = lambda text: text
    trust: Trust = field(default_factory=Trust)
    verify: bool | str = True
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random


class Question(Struct):
    """One try at a question: all settings in `ask` are filled in, and the answer is due in `seconds`."""

    ask: recipes.ModelQuestion
    model: recipes.Model
    world: World
    seconds: float

    @property
    def name(self) -> str:
        return f"the model {self.ask.model!r}"


class Reply(Struct):
    """The reply of a model. `fault`: why its answer cannot be used, although it had its cost."""

    answer: recipes.Answer
    fault: Problem | None = None


class RetryableFailure(Exception):
    """A try failed, and another may succeed. `wait`: seconds, if the server asked to wait. `unheard`: the
    server did not begin to process it, so nothing was used."""

    def __init__(self, problem: Problem, wait: float | None = None, unheard: bool = False):
        super().__init__(problem)
        self.problem, self.wait, self.unheard = problem, wait, unheard


class Form(Struct):
    """A way to ask a model. `uses`: the keys of an entry that this form uses, beside those that all forms do;
    `at_once`: how many questions at the same time, unless the entry has it; `check` finds the problems of an
    entry without asking the model; `tells_cost`: whether an answer can report its cost.

    An installed package can provide a form: an entry point of the group `baselinekit.models` that names a
    Form. The name of the entry point is written under `form` in the entry of the model."""

    ask: Callable[[Question], Reply]
    uses: frozenset[str] = frozenset()
    at_once: int = 4
    check: Callable[[recipes.Model, World], Iterator[Problem]] = lambda model, world: iter(())
    tells_cost: Callable[[recipes.Model], bool] = lambda model: False


# How many questions a model gets at once, and how many a minute.

_MINUTE = 60.0


class Lane:
    """Shared by all threads that ask the same model. `places`: a question holds one, its waits between tries
    included, so that a model that turns questions away gets fewer of them."""

    def __init__(self, at_once: int, per_minute: float | None, world: World):
        self._world = world
        self._lock = threading.Lock()
        self.places = threading.Semaphore(at_once)
        self._apart = _MINUTE / per_minute if per_minute else 0.0
        self._due = float("-inf")
        self.deserted = False
        """Whether no try of a question could reach the server: then others do not wait as long."""

    def keep_pace(self) -> None:
        """Wait until the next request may be sent. Each thread knows its own time: none wakes up in vain."""
        with self._lock:
            now = self._world.clock()
            send_at = max(now, self._due)
            self._due = send_at + self._apart
        if send_at > now:
            self._world.sleep(send_at - now)

    def rest(self, seconds: float) -> None:
        """Send no requests for these seconds, from any thread: the server asked for it."""
        with self._lock:
            self._due = max(self._due, self._world.clock() + seconds)


# Retrying a question when the server was too busy or could not be reached. The server sets how long to wait;
# else the wait grows each time. A part of each wait is random, so that many do not come back at once.

DEFAULT_RETRIES = 4
_SPREAD = 0.25
_STATED_SPREAD = 0.5
_GROWS = 64
"""After this number of tries the wait grows no further."""

_UNREACHABLE, _LOST = "BK301", "BK304"
_REFUSED = os.strerror(errno.ECONNREFUSED)


def ask_with_retries(
    attempt: Callable[[Callable[[], float]], Reply],
    model: recipes.Model,
    seconds: float,
    lane: Lane,
    world: World,
) -> tuple[Reply, int]:
    """Try until an attempt succeeds. Return its result, and the number of tries. Each attempt gets a function
    that returns the seconds left: time runs from its first call, so waiting for a place costs none of it."""
    started: list[float] = []

    def seconds_left() -> float:
        started[:] = started or [world.clock()]
        return started[0] + seconds - world.clock()

    retry = model.retry or recipes.Retry()
    retries = DEFAULT_RETRIES if model.retries is None else model.retries
    longest = retry.longest * (1 + _SPREAD)
    failure: RetryableFailure | None = None
    tries = 0
    while True:
        tries += 1
        lane.keep_pace()
        if failure is not None and seconds_left() <= 0:
            raise final_error(failure, tries - 1)
        try:
            result = attempt(seconds_left)
            lane.deserted = False
            return result, tries
        except OutOfBudget:
            if failure is None:
                raise
            raise final_error(failure, tries - 1) from None
        except RetryableFailure as again:
            failure = again
        wait = _wait(failure, tries, retry, world.jitter())
        is_unreachable = failure.problem.code == _UNREACHABLE
        # A closed port seldom opens in a moment, unless the user wants to wait for it.
        is_closed = model.retries is None and _REFUSED in failure.problem.message
        is_hopeless = is_unreachable and (is_closed or lane.deserted)
        if is_hopeless or tries > retries or wait > longest or wait >= seconds_left():
            lane.deserted = is_unreachable
            raise final_error(failure, tries) from None
        if failure.wait:
            lane.rest(failure.wait)
        world.sleep(wait)  # ends at once when the run is interrupted: the next attempt then raises


def _wait(failure: RetryableFailure, tries: int, retry: recipes.Retry, chance: float) -> float:
    if failure.wait is not None:
        return failure.wait + chance * _STATED_SPREAD
    wait = retry.wait * float(retry.factor) ** min(tries - 1, _GROWS)
    return min(retry.longest, wait) * (1 + (2 * chance - 1) * _SPREAD)


def final_error(failure: RetryableFailure, tries: int) -> CannotReplay:
    problem = failure.problem
    message = f"{problem.message} ({tries} tries)" if tries > 1 else problem.message
    return CannotReplay(replace(problem, message=message))


# One question over HTTP: the request of both wire forms, and the meaning of responses other than success.


_USES = frozenset(("base_url", "key", "headers", "temperature", "max_tokens", "settings", "retries", "retry"))
_AT_ONCE = 512
"""A server reports when it is too busy, so the limits are `-j`, and `concurrency` of the entry."""

_UNHEARD = frozenset((429, 503, 529))
_SLOWER = "send fewer requests at once (`concurrency`, `per_minute`), or later"
_RETRIED = frozenset((408, 409, 500, 502, 504)) | _UNHEARD
_NO_CREDIT = lazy_pattern(
    r"(?i)insufficient_quota|credit balance is too low|insufficient[ _](?:balance|credits)"
)


def post(question: Question, path: str, default: str, own: dict[str, str], body: Json) -> tuple[Json, float]:
    """Return the body of a successful response, and the seconds that it took; else Again or CannotReplay."""
    model = question.model
    headers = {
        "User-Agent": f"baselinekit/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
    }
    request = recipes.Request(
        "POST",
        url_of(model, path, default),
        tuple(merged(headers, own, model.headers).values()),
        to_bytes({name: value for name, value in body.items() if value is not None}),
        timeout=question.seconds,
        verify=question.world.verify,
    )
    trust = question.world.trust.naming(request.url)  # named by the configuration, or the default of its form
    request = replace(request, admit=partial(trust.check_address, request.url))
    try:
        response = question.world.send(request)
    except CannotReplay as error:
        problem = replace(error.problems[0], message=f"{question.name}: {error.problems[0].message}")
        is_unheard = problem.code == _UNREACHABLE
        if not is_unheard and problem.code != _LOST:
            raise type(error)(problem) from None
        if is_unheard:
            hint = "start the model's server (the demo's: baselinekit demo --serve), or correct `base_url`"
            problem = replace(problem, hint=hint)
        raise RetryableFailure(problem, unheard=is_unheard) from None
    begin = on_one_line(response.body.decode("utf-8", "replace"))
    try:
        answer, unread = decode(response.body.decode()), None
    except (NotJson, UnicodeDecodeError) as error:
        answer, unread = None, error
    status, stated = response.status, answer if isinstance(answer, dict) else {}
    reported = stated.get("error")
    if not 200 <= status < 300:
        text = message_in(reported or stated.get("detail") or stated)
        raise _failure(question, status, text if isinstance(answer, dict) else begin, response, request.url)
    if unread is not None:
        message = f"{question.name} did not answer in JSON: {unread}; it begins {begin!r}"
        raise cannot_replay("BK612", message, "check its `base_url`; streams are not read")
    if reported:  # some servers fail with status 200
        code = reported.get("code") if isinstance(reported, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else status
        raise _failure(question, status, message_in(reported), response, request.url)
    return answer, response.seconds


def wire_form(
    path: str,
    default: str,
    headers: Callable[[str | None], dict[str, str]],
    body: Callable[[Question], Json],
    read: Callable[[Question, Any], Reply],
    what: tuple[str, str],
) -> Form:
    """A form that is asked over HTTP at `path`, of `default` where the entry states no `base_url`. `headers`:
    those of a key. `what`: an answer, and who gives it."""

    def ask(question: Question) -> Reply:
        key = question.model.key
        own_headers = headers(question.world.secret(key) if key else None)
        answer, seconds = post(question, path, default, own_headers, body(question))
        try:
            reply, served = read(question, answer), answer.get("model")
        except (LookupError, TypeError, AttributeError):
            message = f"{question.name} answered with something that is not {what[0]}"
            hint = f"does its `base_url` lead to an {what[1]}-compatible API?"
            raise cannot_replay("BK612", message, hint) from None
        served = served if isinstance(served, str) else None
        return Reply(replace(reply.answer, served=served, seconds=seconds), reply.fault)

    return Form(ask, _USES, _AT_ONCE, partial(check_wire, path=path, default=default))


def url_of(model: recipes.Model, path: str, default: str) -> str:
    """The URL of an API call. `base_url` may end before `/v1`, with a version or a path in place of one
    (`/openai`, `/inference`, a deployment of Azure), or with the whole path."""
    parts = urlsplit(model.base_url or default)
    base = parts.path.rstrip("/")
    if not base.endswith(path):
        base = f"{base}{path}" if _VERSIONED.search(base) else f"{base}/v1{path}"
    return urlunsplit(parts._replace(path=base))


_VERSIONED = lazy_pattern(r"/(?:v\d+[a-z0-9]*|openai|inference|openai/deployments/[^/]+)\Z")


def check_wire(model: recipes.Model, world: World, path: str, default: str) -> Iterator[Problem]:
    """The problems of an entry that is asked over HTTP. Refused where its host is not allowed."""
    if model.base_url is None and model.key is None and not model.headers:
        hint = "`key:` names the variable that holds it; `base_url:` sets another address"
        yield Problem("BK602", f"{urlsplit(default).hostname} requires a key", hint, at=("key",))
    if not origins_in([model.base_url or default]):
        hint = "such as http://127.0.0.1:11434, without user and password"
        yield Problem("BK602", "`base_url` does not say unambiguously where it leads", hint, at=("base_url",))
    else:
        url = url_of(model, path, default)
        world.trust.naming(url).check_request(url)
    for name, value in model.headers.items():
        if fault := header_fault(name, value):
            yield Problem("BK602", *fault, at=("headers", name))
    if model.key is not None:
        try:
            key = world.secret(model.key)
        except InvalidInput as error:
            yield from error.problems
        else:
            if not (key.isascii() and key.isprintable()) or not key or key != key.strip():
                message = f"the variable {model.key!r} holds no key of printable ASCII characters"
                yield Problem("BK602", message, "correct its value", at=("key",))


def tools_of(question: Question, schema_key: str) -> list[Json]:
    """Its tools, each with the schema of its parameters under this key."""
    tools: list[Json] = []
    for tool in question.ask.tools:
        described = {"description": tool.description} if tool.description else {}
        schema = tool.parameters or {"type": "object", "properties": {}}
        tools.append({"name": tool.name, **described, schema_key: schema})
    return tools


def cut_off(question: Question, ended: str) -> Problem:
    message = f"{question.name}: the answer was cut off ({ended})"
    return Problem("BK613", message, "raise `max_tokens`, ask for less, or use a model with a larger context")


def unread_part(question: Question, kind: str) -> Problem:
    message = f"{question.name}: the answer holds a part of the type {kind!r}, which would be lost"
    return Problem("BK612", message, "ask for text and tool calls only")


def _failure(question: Question, status: int, message: str, reply: recipes.Response, url: str) -> Exception:
    model = question.model
    text = f"{question.name}: status {status}{f': {message}' if message else ''}".rstrip(".")
    statuses = model.retry.statuses if model.retry is not None else None
    if status in (_RETRIED if statuses is None else statuses) and not _NO_CREDIT.search(message):
        hint = _SLOWER if status in _UNHEARD else "try again later, or look for the problem of the server"
        problem, is_unheard = Problem("BK611", text, hint), status in _UNHEARD
        return RetryableFailure(problem, reply.asked_wait(), is_unheard)
    hint = "correct the prompt, the model's entry, or the account at the provider"
    if status in (401, 403):
        hint = f"check the variable {model.key!r}" if model.key else "name the variable that holds its key"
    elif status == 404 or 300 <= status < 400:
        text, hint = f"{text} (asked: {url})", "correct `base_url`, or the model's id"
    return cannot_replay("BK610", text, hint)


def message_in(error: Json) -> str:
    """The message of an error, in the words of the server."""
    if not isinstance(error, dict):
        return on_one_line(error) if isinstance(error, str) else ""
    kind = next((error[key] for key in ("code", "type") if isinstance(error.get(key), str)), "")
    text = error["message"] if isinstance(error.get("message"), str) else ""
    return on_one_line(f"{text} ({kind})" if text and kind else text or kind)


def on_one_line(text: str) -> str:
    return " ".join(text.split())


# A conversation as one text, for programs that read only a text.


def as_prompt(messages: Sequence[recipes.Message]) -> str:
    """The messages as one text: a single message of a user as it is, others each under its role."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def split_system(messages: Sequence[recipes.Message]) -> tuple[str, list[recipes.Message]]:
    """Split messages into the system messages, joined to one text, and the others."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return system, [message for message in messages if message.role != "system"]
