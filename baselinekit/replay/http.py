"""Replays an http recipe: one request, or a flow of them in which a step may hand values and cookies to the
next."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from urllib.parse import urljoin

from baselinekit.errors import CannotReplay, InvalidInput, Problem, Refused, cannot, nearest
from baselinekit.kinds.http import HttpExecution, HttpFlow, split_step, step_names, step_places
from baselinekit.kinds.kind import EXECUTION, INPUT
from baselinekit.model.recipes import HttpRequest, Observation, Recipe, Request, Response
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
from baselinekit.variables import Secret, as_text, names_in

IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"))
_TOO_BUSY = frozenset((429, 502, 503, 504))
_LONGEST_WAIT = 30.0
_WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


def replay_http(recipe: Recipe, setting: Setting) -> Observation:
    is_flow, execution = isinstance(recipe.input, HttpFlow), _without_unused_base(recipe, setting)
    cookies, saved = Cookies(setting.clients.now), dict[str, Json]()
    outputs: list[Json] = []
    statuses: list[tuple[str, int]] = []
    seconds, retried = 0.0, 0
    for number, (written, at) in enumerate(step_places(recipe), 1):
        here = replace(setting, scope=setting.scope.with_saved(saved)) if saved else setting
        step, shared = here.scope.expand(written, at), here.scope.expand(execution, EXECUTION)
        request = compose(step, shared, here, at)
        limits = redirects_of(step, shared, setting), retries_of(step, shared, setting)
        response, took, again = _ask(request, *limits, here, cookies)
        outputs.append(http_output(response, kept_headers(shared, setting), request.max_body))
        seconds, retried = seconds + took, retried + again
        name = (written.name or str(number)) if is_flow else ""
        statuses.append((name, response.status))
        for key, path in written.save.items():
            saved[key] = pick(path, outputs[-1], f"step {name or 1}", (*at, "save", key))
    output = _collected(recipe.input, outputs) if is_flow else outputs[0]
    return Observation(output, seconds, 1 + retried, statuses=tuple(statuses))


def check_http(recipe: Recipe, setting: Setting) -> None:
    """Everything that can be known before the first request: what a step needs of an earlier one is taken
    as defined, and such a step is not put together yet."""
    problems = list(_problems_of_flow(recipe.input)) if isinstance(recipe.input, HttpFlow) else []
    saved: dict[str, Json] = {}
    execution = _without_unused_base(recipe, setting)
    for step, at in step_places(recipe):
        scope = setting.scope.with_saved(saved)
        names = {*names_in(step), *names_in(execution)}
        undefined = (
            [*undefined_in(step, scope, at), *undefined_in(execution, scope, EXECUTION)] if names else []
        )
        problems += [problem for problem in undefined if problem not in problems]
        if not undefined and not saved.keys() & names:
            try:
                _admitted(compose(scope.expand(step, at), scope.expand(execution), setting, at), setting)
            except InvalidInput as error:
                problems += error.problems
            except Refused as error:
                where = _address_at(step, execution, at)
                raise Refused(
                    *(problem if problem.at else replace(problem, at=where) for problem in error.problems)
                ) from None
        for key, path in step.save.items():
            problems += _problems_of_path(path, (*at, "save", key))
            saved[key] = ""
    if problems:
        raise InvalidInput(*problems)


def files_of_http(recipe: Recipe, setting: Setting) -> Iterator[bytes]:
    """What stands in the files that it sends. A path that hangs on an earlier answer is not known yet."""
    for step, _ in step_places(recipe):
        for path in (step.files or {}).values():
            with suppress(InvalidInput):
                yield read_bytes(setting.surroundings, as_text(setting.scope.expand(path)))


def _without_unused_base(recipe: Recipe, setting: Setting) -> HttpExecution:
    """The operator's base_url goes first: then the variables in the recipe's need not be defined."""
    execution: HttpExecution = recipe.execution
    unused = setting.surroundings.override_base_url and execution.base_url
    return replace(execution, base_url=None) if unused else execution


def _address_at(step: HttpRequest, execution: HttpExecution, at: Path) -> Path:
    """Where a recipe says whom it asks."""
    if step.url is None and execution.base_url is not None:
        return (*EXECUTION, "base_url")
    return (*at, next((name for name in ("url", "endpoint", "path") if getattr(step, name) is not None), ""))


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
    body = output["body"]
    values = [value for start in starts for _, value in find(pattern, body if start else output)]
    if not values:
        keys = ", ".join(list(body)[:10]) if isinstance(body, dict) else ""
        near = suggest(pattern, output) or suggest(pattern, body)
        hint = near or (f"its body has {keys}" if keys else f"its status was {output['status']}")
        raise CannotReplay(Problem("BK313", f"{step}: nothing at {text!r} in its output", hint, at=at))
    return values[0] if len(values) == 1 else values


def _is_computed(text: str) -> bool:
    """Whether it is no path, and calculates. What can be read as a path is one."""
    try:
        parse(text)
    except InvalidInput:
        return is_computed(text)
    return False


def _collected(flow: HttpFlow, outputs: list[Json]) -> Json:
    """What is compared: the last output, or what `collect` names."""
    if flow.collect is None:
        return outputs[-1]
    names = step_names(flow)
    if isinstance(flow.collect, list):
        return {name: outputs[names[name]] for name in flow.collect}
    values = {}
    for key, text in flow.collect.items():
        name, path = split_step(text, names)
        output = outputs[names[name]]
        values[key] = pick(path, output, f"step {name}", (*INPUT, "collect", key)) if path else output
    return values


def _problems_of_flow(flow: HttpFlow) -> Iterator[Problem]:
    """Steps that `collect` names and that do not exist, paths that are none, and a flow without steps."""
    names = step_names(flow)
    at: Path = (*INPUT, "collect")
    if isinstance(flow.collect, dict):
        wanted = [((*at, key), *split_step(text, names)) for key, text in flow.collect.items()]
    else:
        wanted = [((*at, index), name, "") for index, name in enumerate(flow.collect or [])]
    for where, name, path in wanted:
        if name not in names:
            hint = nearest(name, names) or f"there are {', '.join(names)}"
            yield Problem("BK312", f"no step is called {name!r}", hint, at=where)
        elif path:
            yield from _problems_of_path(path, where)
    if not flow.steps:
        yield Problem("BK311", "a flow without steps", "add one", at=(*INPUT, "steps"))


def _problems_of_path(text: str, at: Path) -> list[Problem]:
    try:
        proven(text) if _is_computed(text) else parse(text)
    except InvalidInput as error:
        return [replace(problem, at=at) for problem in error.problems]
    return []


# One request: with its cookies, its redirects and its retries, admitted each time it goes out.


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
        response, tries = _ask_with_retries(_admitted(out, setting), retries, setting)
        seconds, retried = seconds + response.seconds, retried + tries - 1
        cookies.take(request, response)
        is_redirect = response.status in _REDIRECTS and response.header("location")
        if not redirects or not is_redirect:
            return response, seconds, retried
        if hop < redirects:
            request = _redirected(request, response)
    raise cannot("BK308", f"more than {redirects} redirects", "set `redirects:` to a higher number")


def _admitted(request: Request, setting: Setting) -> Request:
    """The request with who decides on its address. Refused, unless it may go out with the secrets in it."""
    secrets: list[tuple[str, Secret]] = []
    if known := setting.scope.secrets:
        texts = [request.url, request.content.decode("utf-8", "replace")]
        texts += [text for pair in request.headers for text in pair]
        if request.digest:
            texts += [request.digest.username or "", request.digest.password or ""]
        names = sorted(setting.redactor.found_in("\n".join(texts)))
        secrets = [(name, known[name]) for name in names if name in known]
    setting.trust.check_request(request.url, secrets)
    if isinstance(request.verify, str) and request.url[:6].lower() == "https:":
        check_authorities(request.url, request.verify, setting)
    return replace(request, admit=partial(setting.trust.check_address, request.url))


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


def _redirected(request: Request, response: Response) -> Request:
    """The request that a redirect asks for. Credentials never travel to another origin (F17)."""
    location = response.header("location")
    try:
        url = normal(urljoin(request.url, location.strip()))
    except (InvalidInput, ValueError):
        what = f"a redirect ({response.status}) to {shown(location)!r}, which cannot be followed"
        raise cannot("BK308", what) from None
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
        what = f"a redirect ({response.status}) would send the body to {origin(url)}"
        raise cannot("BK308", what, "request that address directly, if it is the right one")
    headers = [pair for pair in headers if pair[0].lower() in _HARMLESS]
    return replace(request, method=method, url=url, headers=tuple(headers), digest=None, cert=None)


def _ask_with_retries(request: Request, retries: int, setting: Setting) -> tuple[Response, int]:
    """The answer, and how many tries it took: asked again when nothing was sent, and when the server says
    that it was too busy and asking twice does no harm. All happens within the time limit of the request."""
    clients = setting.clients
    deadline = time.monotonic() + request.timeout
    left = request.timeout
    tries = 0
    while True:
        tries += 1
        longest = _WAITS[min(tries, len(_WAITS)) - 1]
        wait = longest * (0.5 + random.random() / 2)  # workers do not all come back at once
        try:
            response = clients.send(replace(request, timeout=left) if tries > 1 else request)
        except CannotReplay as error:
            left = deadline - time.monotonic()
            nothing_sent = any(problem.code == "BK301" for problem in error.problems)
            if tries > retries or not nothing_sent or wait >= left:
                raise
        else:
            if tries > retries or response.status not in _TOO_BUSY or request.method not in IDEMPOTENT:
                return response, tries
            wait, left = _retry_after(response, clients.now, wait), deadline - time.monotonic()
            if wait > _LONGEST_WAIT or wait >= left:
                return response, tries
        clients.sleep(wait)
        left -= wait


def _retry_after(response: Response, now: Callable[[], float], usual: float) -> float:
    """How long the server says to wait: seconds, or a date."""
    stated = response.header("retry-after").strip()
    if stated.isascii() and stated.isdigit() and len(stated) < 10:
        return float(stated)
    at = http_date(stated)
    return usual if at is None else max(0.0, at - now())
