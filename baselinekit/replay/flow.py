"""An http recipe: one request, or a flow of them in which a step may hand values and cookies to the next."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast

from baselinekit.errors import InvalidInput, Problem, Refused
from baselinekit.model.observation import Observation, Request, Response
from baselinekit.model.recipes import HttpExecution, HttpFlow, HttpRequest, Recipe
from baselinekit.model.values import Json, Path
from baselinekit.replay.body import http_output
from baselinekit.replay.cookies import Cookies
from baselinekit.replay.files import read_bytes
from baselinekit.replay.picking import collected, pick, problems_of_collect, problems_of_path
from baselinekit.replay.redirects import is_redirect, redirected, too_many
from baselinekit.replay.request import check_authorities, compose, kept_headers, redirects_of, retries_of
from baselinekit.replay.retries import ask_with_retries
from baselinekit.replay.setting import Setting
from baselinekit.replay.undefined import undefined_in
from baselinekit.variables import Scope, Secret, as_text, names_in

_EXECUTION: Path = ("current", "execution")


def replay_http(recipe: Recipe, setting: Setting) -> Observation:
    flow, is_flow = _flow_of(recipe)
    cookies, saved = Cookies(setting.doors.now), dict[str, Json]()
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
            out, retries, setting.doors.send, setting.doors.sleep, setting.doors.now
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
