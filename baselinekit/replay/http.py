"""An http recipe: one request, or a flow of them in which a step may hand values and cookies to the next."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast
from urllib.parse import urljoin

from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused, cannot, nearest
from baselinekit.kinds.http import HttpExecution, HttpFlow, split_step, step_names
from baselinekit.model.observation import Observation, Request, Response
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.replay.body import http_output
from baselinekit.replay.computed import compute, is_computed, proven
from baselinekit.replay.cookies import Cookies, http_date
from baselinekit.replay.files import read_bytes
from baselinekit.replay.request import (
    check_authorities,
    compose,
    kept_headers,
    normal,
    redirects_of,
    retries_of,
    shown,
)
from baselinekit.replay.settings import Setting, invalid, undefined_in
from baselinekit.tree.paths import find, parse, roots, suggest
from baselinekit.trust import origin
from baselinekit.variables import Scope, Secret, as_text, names_in

# Values out of the answers of a flow: what a step saves for the next, and what the flow collects.


def pick(text: str, output: Json, step: str, at: Path) -> Json:
    """The value that a path leads to in a step's output: from `$`, or from whichever of the whole output and
    its body has it. A path with wildcards that leads to several values gives a list of them. Or the
    value that an expression computes of the whole output."""
    if _is_computed(text):
        return compute(text, output, step)
    pattern = parse(text)
    starts = roots(pattern, output)
    if len(starts) > 1:
        hint = f"write $.{text} or body.{text}"
        raise invalid("BK312", f"{text!r} is both in the whole output and in its body", hint, at)
    from_body = starts == [("body",)]
    found = find(pattern, output["body"] if from_body else output) if starts else []
    if not found:
        what = f"{step}: nothing at {text!r} in its output"
        raise CannotReplay(Problem("BK313", what, _near(text, output), at=at))
    return found[0][1] if len(found) == 1 else [value for _, value in found]


def _is_computed(text: str) -> bool:
    """Whether it is no path, and calculates. What can be read as a path is one."""
    try:
        parse(text)
    except InvalidInput:
        return is_computed(text)
    return False


def _near(text: str, output: Json) -> str:
    pattern = parse(text)
    near = suggest(pattern, output) or suggest(pattern, output["body"])
    body = output["body"]
    keys = ", ".join(list(body)[:10]) if isinstance(body, dict) else ""
    return near or (f"its body has {keys}" if keys else f"its status was {output['status']}")


def collected(flow: HttpFlow, outputs: list[Json]) -> Json:
    """What is compared: the last output, or what `collect` names."""
    if flow.collect is None:
        return outputs[-1]
    names = step_names(flow)
    if isinstance(flow.collect, list):
        return {name: outputs[names[name]] for name in flow.collect}
    result = {}
    for key, text in flow.collect.items():
        name, path = split_step(text, names)
        at = ("current", "input", "collect", key)
        output = outputs[names[name]]
        result[key] = pick(path, output, f"step {name}", at) if path else output
    return result


def problems_of_collect(flow: HttpFlow) -> list[Problem]:
    """Steps that `collect` names and that do not exist, and paths that are none."""
    names = step_names(flow)
    at: Path = ("current", "input", "collect")
    if isinstance(flow.collect, dict):
        wanted = [((*at, key), *split_step(text, names)) for key, text in flow.collect.items()]
    else:
        wanted = [((*at, index), name, "") for index, name in enumerate(flow.collect or [])]
    problems = []
    for where, name, path in wanted:
        if name not in names:
            hint = nearest(name, names) or f"there are {', '.join(names)}"
            problems.append(Problem("BK312", f"no step is called {name!r}", hint, at=where))
        elif path:
            problems += problems_of_path(path, where)
    return problems


def problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        proven(text) if _is_computed(text) else parse(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []


# Following a redirect, when the recipe asks for it. Credentials never travel to another origin (F17).


_STATUSES = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


def is_redirect(response: Response) -> bool:
    return response.status in _STATUSES and bool(response.header("location"))


def redirected(request: Request, response: Response) -> Request:
    """The request that a redirect asks for. What may not go along is left behind."""
    url = _redirect_target(request, response)
    method, content = request.method, request.content
    headers = [pair for pair in request.headers if pair[0].lower() != "cookie"]
    becomes_get = response.status == 303 or (response.status in (301, 302) and method == "POST")
    if becomes_get and method != "HEAD":
        method, content = "GET", b""
        headers = [pair for pair in headers if pair[0].lower() != "content-type"]
    if origin(url) == origin(request.url):
        headers += [pair for pair in request.headers if pair[0].lower() == "cookie"]
        return replace(request, method=method, url=url, content=content, headers=tuple(headers))
    if content:
        raise cannot(
            "BK308",
            f"a redirect ({response.status}) would send the body on to {origin(url)}",
            "ask that address itself, if it is the right one",
        )
    headers = [pair for pair in headers if pair[0].lower() in _HARMLESS]
    return replace(request, method=method, url=url, headers=tuple(headers), digest=None, cert=None)


def too_many(limit: int) -> CannotReplay:
    return cannot("BK308", f"more than {limit} redirects", "set `redirects:` to a higher number")


def _redirect_target(request: Request, response: Response) -> str:
    location = response.header("location")
    try:
        return normal(urljoin(request.url, location.strip()))
    except (InvalidInput, ValueError):
        what = f"a redirect ({response.status}) to {shown(location)!r}, which cannot be followed"
        raise cannot("BK308", what) from None


# Asking again: when nothing was sent, and when the server says that it was too busy and asking twice
# does no harm. All tries and waits happen within the time limit of the request.


IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
_TOO_BUSY = frozenset((429, 502, 503, 504))
_LONGEST_WAIT = 30.0
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)


def ask_with_retries(
    request: Request,
    retries: int,
    send: Callable[[Request], Response],
    sleep: Callable[[float], None],
    now: Callable[[], float],
) -> tuple[Response, int]:
    """The answer, and how many tries it took."""
    deadline = time.monotonic() + request.timeout
    left = request.timeout
    tries = 0
    while True:
        tries += 1
        try:
            response = send(replace(request, timeout=left) if tries > 1 else request)
        except CannotReplay as error:
            wait, left = _backoff(tries), deadline - time.monotonic()
            if tries > retries or not _nothing_was_sent(error) or wait >= left:
                raise
        else:
            if tries > retries or response.status not in _TOO_BUSY or request.method not in IDEMPOTENT:
                return response, tries
            asked = _retry_after(response, now())
            wait, left = (_backoff(tries) if asked is None else asked), deadline - time.monotonic()
            if wait > _LONGEST_WAIT or wait >= left:
                return response, tries
        sleep(wait)
        left -= wait


def _nothing_was_sent(error: CannotReplay) -> bool:
    return any(problem.code == "BK301" for problem in error.problems)


def _backoff(tries: int) -> float:
    longest = _WAITS[min(tries, len(_WAITS)) - 1]
    return longest * (0.5 + random.random() / 2)  # so that many workers do not come back at once


def _retry_after(response: Response, now: float) -> float | None:
    """Seconds, or a date."""
    stated = response.header("retry-after").strip()
    if stated.isascii() and stated.isdigit() and len(stated) < 10:
        return float(stated)
    at = http_date(stated)
    return None if at is None else max(0.0, at - now)


# An http recipe: one request, or a flow of them in which a step may hand values and cookies to the next.


_EXECUTION: Path = ("current", "execution")


def replay_http(recipe: Recipe, setting: Setting) -> Observation:
    flow, is_flow = _flow_of(recipe)
    cookies, saved = Cookies(setting.clients.now), dict[str, Json]()
    outputs: list[Json] = []
    statuses: list[tuple[str, int]] = []
    seconds, retried = 0.0, 0
    for index, written in enumerate(flow.steps):
        at = _place(index, is_flow)
        scope = setting.scope.with_saved(saved)
        here = replace(setting, scope=scope) if saved else setting
        step, execution = scope.expand(written, at), _execution(recipe, setting, scope)
        request = compose(step, execution, here, at)
        limits = redirects_of(step, execution, setting), retries_of(step, execution, setting)
        response, took, again = _ask(request, *limits, here, cookies)
        outputs.append(http_output(response, kept_headers(execution, setting), request.max_body))
        seconds, retried = seconds + took, retried + again
        name = (written.name or str(index + 1)) if is_flow else ""
        statuses.append((name, response.status))
        for key, path in written.save.items():
            saved[key] = pick(path, outputs[-1], f"step {name or 1}", (*at, "save", key))
    return Observation(collected(flow, outputs), seconds, 1 + retried, statuses=tuple(statuses))


def check_http(recipe: Recipe, setting: Setting) -> None:
    """Everything that can be known before the first request: what a step needs of an earlier one is taken
    as defined, and such a step is not put together yet."""
    flow, is_flow = _flow_of(recipe)
    problems = problems_of_collect(flow)
    if not flow.steps:
        problems.append(Problem("BK311", "a flow without steps", "add one", at=("current", "input", "steps")))
    saved: dict[str, Json] = {}
    execution = _without_unused_base(cast(HttpExecution, recipe.execution), setting)
    for index, step in enumerate(flow.steps):
        at, scope = _place(index, is_flow), setting.scope.with_saved(saved)
        names = {*names_in(step), *names_in(execution)}
        undefined = list(_undefined(step, execution, scope, at)) if names else []
        problems += [problem for problem in undefined if problem not in problems]
        if not undefined and not saved.keys() & names:
            try:
                guard(compose(scope.expand(step, at), scope.expand(execution), setting, at), setting)
            except InvalidInput as error:
                problems += error.problems
            except Refused as error:
                where = _target(step, execution, at)
                raise Refused(
                    *(one if one.at else replace(one, at=where) for one in error.problems)
                ) from None
        for key, path in step.save.items():
            problems += problems_of_path(path, (*at, "save", key))
            saved[key] = ""
    if problems:
        raise InvalidInput(*problems)


def _target(step: HttpRequest, execution: HttpExecution, at: Path) -> Path:
    """Where a recipe says whom it asks."""
    if step.url is None and execution.base_url is not None:
        return (*_EXECUTION, "base_url")
    return (*at, next((name for name in ("url", "endpoint", "path") if getattr(step, name) is not None), ""))


def files_of_http(recipe: Recipe, setting: Setting) -> Iterator[bytes]:
    """What stands in the files that it sends. A path that hangs on an earlier answer is not known yet."""
    for step in _flow_of(recipe)[0].steps:
        for path in (step.files or {}).values():
            with suppress(InvalidInput):
                yield read_bytes(setting.surroundings, as_text(setting.scope.expand(path)))


def _undefined(step: HttpRequest, execution: HttpExecution, scope: Scope, at: Path) -> Iterator[Problem]:
    yield from undefined_in(step, scope, at)
    yield from undefined_in(execution, scope, _EXECUTION)


def guard(request: Request, setting: Setting) -> Request:
    """The request with who decides on its address. Refused, unless it may go out with the secrets in it."""
    known = setting.scope.secrets
    setting.trust.check_request(request.url, _secrets_in(request, setting) if known else ())
    if isinstance(request.verify, str) and request.url[:6].lower() == "https:":
        check_authorities(request.url, request.verify, setting)
    return replace(request, admit=partial(setting.trust.check_address, request.url))


def _secrets_in(request: Request, setting: Setting) -> Iterator[tuple[str, Secret]]:
    texts = [request.url, request.content.decode("utf-8", "replace")]
    texts += [text for pair in request.headers for text in pair]
    if request.digest:
        texts += [request.digest.username or "", request.digest.password or ""]
    for name in sorted(setting.redactor.found_in("\n".join(texts))):
        if name in setting.scope.secrets:
            yield name, setting.scope.secrets[name]


def _ask(
    request: Request, redirects: int, retries: int, setting: Setting, cookies: Cookies
) -> tuple[Response, float, int]:
    """The answer after its redirects, the seconds that its requests took, and how many were asked again."""
    deadline = time.monotonic() + request.timeout
    seconds, retried = 0.0, 0
    for hop in range(max(0, redirects) + 1):
        out = _with_cookies(request, cookies)
        if hop:
            out = replace(out, timeout=max(0.001, deadline - time.monotonic()))
        out = guard(out, setting)
        response, tries = ask_with_retries(
            out, retries, setting.clients.send, setting.clients.sleep, setting.clients.now
        )
        seconds, retried = seconds + response.seconds, retried + tries - 1
        cookies.take(request, response)
        if not redirects or not is_redirect(response):
            return response, seconds, retried
        if hop < redirects:
            request = redirected(request, response)
    raise too_many(redirects)


def _with_cookies(request: Request, cookies: Cookies) -> Request:
    """What the recipe says itself goes before what an answer has set."""
    received = cookies.header_for(request.url)
    if not received:
        return request
    own = next((value for name, value in request.headers if name.lower() == "cookie"), "")
    names = {pair.partition("=")[0].strip() for pair in own.split(";")}
    pairs = [pair for pair in received.split("; ") if pair.partition("=")[0] not in names]
    others = tuple(pair for pair in request.headers if pair[0].lower() != "cookie")
    return replace(request, headers=(*others, ("Cookie", "; ".join([*([own] if own else []), *pairs]))))


def _flow_of(recipe: Recipe) -> tuple[HttpFlow, bool]:
    if isinstance(recipe.input, HttpFlow):
        return recipe.input, True
    return HttpFlow([cast(HttpRequest, recipe.input)]), False


def _place(index: int, is_flow: bool) -> Path:
    return ("current", "input", "steps", index) if is_flow else ("current", "input")


def _execution(recipe: Recipe, setting: Setting, scope: Scope) -> HttpExecution:
    execution = _without_unused_base(cast(HttpExecution, recipe.execution), setting)
    return cast(HttpExecution, scope.expand(execution, _EXECUTION))


def _without_unused_base(execution: HttpExecution, setting: Setting) -> HttpExecution:
    """The operator's base_url goes first: then the variables in the recipe's need not be defined."""
    unused = setting.surroundings.override_base_url and execution.base_url
    return replace(execution, base_url=None) if unused else execution
