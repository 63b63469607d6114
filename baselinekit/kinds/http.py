"""An HTTP request, or a flow: requests in order, each of which may pass values to the next.

A flow is not a kind of its own: it is a list of requests that share the execution of one request, and a
request is a flow of one step whose whole output is compared."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from baselinekit.errors import InvalidInput, Problem
from baselinekit.files.jsontext import NotJson
from baselinekit.kinds.bodies import json_in
from baselinekit.kinds.kind import (
    EXECUTION,
    INPUT,
    OutcomePlace,
    RecipeKind,
    RecognisedForm,
    Trouble,
    check_limits,
    with_limit,
)
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Auth, HttpRequest, Observation, Parse, Recipe, Scalar, Seconds
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.schema import read_as
from baselinekit.structs import Struct, field, replace
from baselinekit.values.paths import Pattern, parse, roots
from baselinekit.values.texts import Mask

_TOKEN = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_WANTS_TLS = lazy_pattern(
    r"(?i)HTTP request (?:was sent )?to (?:an )?HTTPS (?:port|server)|plain HTTP to an SSL"
)
"""How nginx, Go and Apache answer a request without TLS at a port for https."""

_TARGET_FIELDS = ("endpoint", "path", "url")
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""The methods that RFC 9110 calls safe."""

_BODY_FIELDS = ("json", "body", "form", "files")
_OPERATION_HEADERS = ("x-amz-target", "soapaction")
_OPERATION_KEYS = ("operationName", "method")
"""Headers and keys that name the operation, if the address does not."""


class HttpFlow(Struct):
    """Requests in order. The last output is compared, or the outputs that `collect` names: steps by their
    name, or `{key: "step.path"}`."""

    steps: list[HttpRequest]
    collect: list[str] | dict[str, str] | None = None


class HttpExecution(Struct):
    """The settings that all requests of a recipe share; a setting of a request overrides them."""

    type: Literal["http"]
    base_url: str | None = None
    headers: dict[str, Scalar] = field(default_factory=dict)
    auth: Auth | None = None
    cookies: dict[str, str] = field(default_factory=dict)
    timeout: Seconds | None = None
    redirects: int | bool | None = None
    retries: int | None = None
    keep_headers: list[str] | None = None
    verify: bool | str | None = None
    cert: str | None = None
    http2: bool | None = None
    max_body: int | None = None
    parse: Parse | None = None
    take: int | None = None
    serial: bool | None = None
    resource: str | None = None


class HttpCurrent(Struct):
    """`current:` with one HTTP request."""

    input: HttpRequest
    execution: HttpExecution


class FlowCurrent(Struct):
    """`current:` with HTTP requests in order."""

    input: HttpFlow
    execution: HttpExecution


def step_places(recipe: Recipe) -> list[tuple[HttpRequest, Path]]:
    """Return each request with its path in the recipe."""
    http_input = recipe.input
    if isinstance(http_input, HttpFlow):
        return [(step, (*INPUT, "steps", index)) for index, step in enumerate(http_input.steps)]
    return [(http_input, INPUT)]


def step_names(flow: HttpFlow) -> dict[str, int]:
    """Return the index of each step by its number (from 1), and by its name if it has one."""
    names = {str(index + 1): index for index in range(len(flow.steps))}
    return names | {step.name: index for index, step in enumerate(flow.steps) if step.name}


def split_step(text: str, names: Mapping[str, int]) -> tuple[str, str]:
    """Split `step.path` of a `collect` into both; the name of a step may contain dots."""
    matching = [name for name in names if text == name or text.startswith(f"{name}.")]
    if not matching:
        return text.partition(".")[0], ""
    name = max(matching, key=len)
    return name, text[len(name) + 1 :]


class HttpStatus(OutcomePlace):
    def severity(self, number: int) -> int:
        return (number >= 400) + (number >= 500)

    def describe(self, number: int) -> str:
        if number >= 500:
            subject = f"step {self.step} answered {number}" if self.step else f"the answer is {number}"
            return f"{subject}, a server error"
        subject = f"step {self.step} answered {number}, which" if self.step else str(number)
        return f"{subject} says that the request was refused"


_EVAL_CONTENT = {"$ref": "#/$defs/HttpRequest"}


class HttpKind(RecipeKind):
    name = "http"
    execution = HttpExecution
    currents = (HttpCurrent, FlowCurrent)
    parts = ("status", "headers", "body")
    answer = "body"
    headers = "headers"
    paths_start_in_answer = True
    asks_address = True
    eval_input = "api_call"
    eval_content = _EVAL_CONTENT

    def input_of_case(self, content: Json, context: Json) -> tuple[Any, list[Problem]]:
        request, problems = read_as(HttpRequest, content)
        return (None if problems else self.normalize(request)), problems

    def current_of(self, raw_input: Json) -> type[Any]:
        return FlowCurrent if isinstance(raw_input, dict) and "steps" in raw_input else HttpCurrent

    def normalize(self, stated_input: Any) -> Any:
        """Return the input with its methods in upper case."""
        if not isinstance(stated_input, HttpFlow):
            return with_upper_case_method(stated_input)
        if all(step.method.isupper() for step in stated_input.steps):
            return stated_input
        return replace(stated_input, steps=[with_upper_case_method(step) for step in stated_input.steps])

    def describe_input(self, recipe: Recipe) -> str:
        http_input = recipe.input
        target = not isinstance(http_input, HttpFlow) and (
            http_input.endpoint or http_input.path or http_input.url
        )
        return f"{http_input.method} {target}" if target else ""

    def check(self, recipe: Recipe) -> Iterator[Problem]:
        if isinstance(recipe.input, HttpFlow) and not recipe.input.steps:
            yield Problem("BK108", "a flow without steps", "add a request", at=(*INPUT, "steps"))
        for step, at in step_places(recipe):
            yield from check_request(step, at)
        if isinstance(recipe.input, HttpFlow):
            first_steps: dict[str, int] = {}
            for index, step in enumerate(recipe.input.steps):  # so that `collect` is unambiguous
                if step.name is not None and first_steps.setdefault(step.name, index) != index:
                    message = (
                        f"two steps are called {step.name!r}: {first_steps[step.name] + 1} and {index + 1}"
                    )
                    hint = "give each a name of its own"
                    yield Problem("BK108", message, hint, at=(*INPUT, "steps", index, "name"))
        execution: HttpExecution = recipe.execution
        yield from check_base(execution.base_url, (*EXECUTION, "base_url"))
        yield from check_headers(execution.headers, (*EXECUTION, "headers"))
        yield from super().check(recipe)

    def responses(self, recipe: Recipe) -> dict[Path, str]:
        return {place: step for place, (step, path) in _collected_places(recipe.input).items() if not path}

    def outcomes(self, recipe: Recipe) -> dict[Path, OutcomePlace]:
        return {
            place if path else (*place, "status"): HttpStatus(step)
            for place, (step, path) in _collected_places(recipe.input).items()
            if not path or is_one_key(path, "status")
        }

    def starts(self, pattern: Pattern, output: Json) -> list[Path]:
        return roots(pattern, output)

    def visible_troubles(self, recipe: Recipe, output: Json) -> Iterator[Trouble]:
        """Return further: that a server does not know a method which looks like a slip of the finger, or
        expects https."""
        yield from super().visible_troubles(recipe, output)
        status, body = (
            (output.get("status"), output.get("body")) if isinstance(output, dict) else (None, None)
        )
        if status == 400 and isinstance(body, str) and _WANTS_TLS.search(body):
            message = "the server says that this port is for https: write https:// in the URL"
            yield Trouble(message, "--allow-error-status")
        if status in (405, 501) and not isinstance(recipe.input, HttpFlow):
            from baselinekit.kinds.methods import meant_method

            method = recipe.input.method
            if meant := meant_method(method):
                message = f"the server does not know the method {method}, which is nearly {meant}"
                yield Trouble(message, "--allow-error-status")

    def hidden_outcomes(self, recipe: Recipe, observation: Observation) -> list[tuple[OutcomePlace, int]]:
        visible = {outcome.step for outcome in self.outcomes(recipe).values()}
        return [(HttpStatus(step), status) for step, status in observation.statuses if step not in visible]

    def target(self, recipe: Recipe, mask: Mask, base_url: str | None = None) -> str:
        is_flow, targets = isinstance(recipe.input, HttpFlow), []
        for step, _ in step_places(recipe):
            base = "" if is_flow or step.url is not None else (base_url or "").rstrip("/")
            targets.append(f"{step.method} {base}{step.endpoint or step.path or step.url or '/'}")
        return " → ".join(targets)

    def group(self, recipe: Recipe, base_url: Json) -> str:
        """Return the host."""
        url = str(base_url or getattr(recipe.input, "url", "") or "")
        return url.split("://")[-1].split("/")[0].rsplit("@")[-1].split(":")[0] or self.name

    def distinctions(self, recipe: Recipe, base_url: Json) -> list[str]:
        """Return the path, the query, the operation that a body or a header names, and the host."""
        step, _ = step_places(recipe)[0]
        target = (
            step.endpoint or step.path or urlsplit(step.url or "")._replace(scheme="", netloc="").geturl()
        )
        path, _, query = target.partition("#")[0].partition("?")  # urlsplit refuses a path like `//[x`
        params = [f"{name} {value}" for name, value in step.params.items()]
        operations = [value for name, value in step.headers.items() if name.lower() in _OPERATION_HEADERS]
        if isinstance(step.json, dict):
            operations += [step.json[key] for key in _OPERATION_KEYS if isinstance(step.json.get(key), str)]
        host = str(step.url or base_url or "").partition("://")[2].partition("/")[0]
        return [f"{step.method} {path}", " ".join([query, *params]), " ".join(map(str, operations)), host]

    def addresses(self, recipe: Recipe) -> Iterator[str]:
        yield from super().addresses(recipe)
        yield from (step.url for step, _ in step_places(recipe) if step.url)

    def endpoint(self, recipe: Recipe) -> str | None:
        request = recipe.input
        return None if isinstance(request, HttpFlow) else request.endpoint or request.path

    def is_definition(self, recipe: Recipe, path: Path) -> bool:
        steps = [step for step, _ in step_places(recipe)]
        names = step_names(recipe.input) if isinstance(recipe.input, HttpFlow) else {"": 0}
        for place, name in self.responses(recipe).items():
            parse = steps[names.get(name, 0)].parse or recipe.execution.parse
            family = path[len(place) + 1 :]
            if parse == "prometheus" and path[: len(place) + 1] == (*place, "body") and len(family) > 1:
                return family[1] in _DEFINING_METRICS
        return False

    def form_found(self, recipe: Recipe, output: Json) -> RecognisedForm | None:
        """Recognise metrics, and JSON sent as plain text, as CouchDB and others do if a request asks for no
        media type."""
        http_input, body = recipe.input, output.get("body") if isinstance(output, dict) else None
        if isinstance(http_input, HttpFlow):
            return None
        parse = http_input.parse or recipe.execution.parse
        if parse == "prometheus" and isinstance(body, dict):
            return RecognisedForm(output, {}, (_RULES_NOTE,), _IGNORED_OF_METRICS)
        if parse or not isinstance(body, str):
            return None
        content_type = str(output["headers"].get("content-type", "")).lower()
        kind = content_type.partition(";")[0].strip()
        if kind not in ("text/plain", _OPEN_METRICS):
            return None
        value = json_in(body)
        if value is ABSENT:
            return _metrics_found(output, body, kind == _OPEN_METRICS or "version=0.0.4" in content_type)
        note = "the body is JSON, sent as text/plain: it is compared as JSON (--parse text compares the text)"
        return RecognisedForm({**output, "body": value}, {"parse": "json"}, (note,))

    def only_reads(self, recipe: Recipe) -> bool:
        return all(step.method in SAFE for step, _ in step_places(recipe))

    def writes(self, recipe: Recipe) -> bool:
        """A method given by a variable counts as one that writes, because it may be any."""
        return not self.only_reads(recipe)

    def limited(self, recipe: Recipe) -> Iterator[tuple[Path, object]]:
        yield from ((at, step) for step, at in step_places(recipe))
        yield from super().limited(recipe)

    def within(self, recipe: Recipe, limit: Seconds) -> Recipe:
        if getattr(recipe.input, "timeout", None) is not None:
            return replace(recipe, input=with_limit(recipe.input, limit))
        return super().within(recipe, limit)


KIND = HttpKind()


_OPEN_METRICS = "application/openmetrics-text"
_IGNORED_OF_METRICS = ("body.*.samples",)
_DEFINING_METRICS = ("type", "unit", "labels", "buckets", "quantiles")
_RULES_NOTE = "their numbers are ignored, and further metrics may come: `comparison` states both"


def _metrics_found(output: dict[str, Json], body: str, is_declared: bool) -> RecognisedForm | None:
    """Recognise metrics by their text, or as declared; declared metrics that cannot be read stay a text."""
    if "\n" not in body:
        return None
    from baselinekit.kinds.metrics_text import metrics_in, read_metrics

    try:
        families = read_metrics(body) if is_declared else metrics_in(body)
    except NotJson as error:
        note = f"declared as Prometheus metrics, but {error}: the body is compared as text"
        return RecognisedForm(output, {}, (note,))
    if families is None:
        return None
    notes = (
        "the body is Prometheus metrics: names, types, help, label names and bounds are compared (--parse"
        " text compares the text)",
        _RULES_NOTE,
    )
    return RecognisedForm({**output, "body": families}, {"parse": "prometheus"}, notes, _IGNORED_OF_METRICS)


def _collected_places(http_input: HttpRequest | HttpFlow) -> dict[Path, tuple[str, str]]:
    """Map each place of the output to its step and path; an empty path means the whole response."""
    if not isinstance(http_input, HttpFlow):
        return {(): ("", "")}
    if http_input.collect is None:
        number = len(http_input.steps)
        return {(): (http_input.steps[-1].name or str(number), "")} if http_input.steps else {}
    if isinstance(http_input.collect, list):
        return {(name,): (name, "") for name in http_input.collect}
    names = step_names(http_input)
    return {(key,): split_step(text, names) for key, text in http_input.collect.items()}


def is_one_key(path: str, key: str) -> bool:
    """Whether a path consists of this key only, however it is written."""
    try:
        return parse(path).segments == (key,)
    except InvalidInput:
        return False


def with_upper_case_method(request: HttpRequest) -> HttpRequest:
    if request.method.isupper() or "{{" in request.method:
        return request
    return replace(request, method=request.method.upper())


def check_request(request: HttpRequest, at: Path) -> Iterator[Problem]:
    if not _TOKEN.fullmatch(request.method) and "{{" not in request.method:
        message = f"{request.method!r} is not an HTTP method"
        yield Problem("BK108", message, "such as GET or POST", at=(*at, "method"))
    targets = [name for name in _TARGET_FIELDS if getattr(request, name) is not None]
    if len(targets) != 1:
        message = (
            f"`{'` and `'.join(targets)}` cannot be combined" if targets else "the request names no target"
        )
        hint = "keep one of them" if targets else "add `endpoint: /…`, or `url: https://…`"
        code = "BK108" if targets else "BK104"
        yield Problem(code, message, hint, at=(*at, targets[1] if targets else "endpoint"))
    for name in targets:
        text = getattr(request, name)
        if name == "url":
            yield from check_url(text, (*at, name))
        elif not text.startswith(("/", "{{")):
            hint = f"put the whole address under `url`: {text}" if "://" in text else f"such as /{text}"
            yield Problem("BK108", f"`{name}` must start with `/`", hint, at=(*at, name))
    yield from check_headers(request.headers, (*at, "headers"))
    bodies = [name for name in _BODY_FIELDS if getattr(request, name) not in (ABSENT, None)]
    if len(bodies) > 1 and bodies != ["form", "files"]:
        message = f"`{'` and `'.join(bodies)}` cannot be combined"
        yield Problem("BK108", message, "keep one of them (files may go with form)", at=(*at, bodies[1]))
    yield from check_limits(request, at)


def check_base(url: str | None, at: Path) -> Iterator[Problem]:
    """Check an address to which an `endpoint` is appended."""
    yield from check_url(url, at)
    if url is not None and "{{" not in url and ("?" in url or "#" in url):
        message = "a base_url has no `?` and no `#`"
        yield Problem("BK108", message, "write them in the endpoint, which follows it", at=at)


def check_url(url: str | None, at: Path) -> Iterator[Problem]:
    if url is None or url.startswith("{{"):
        return
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme.lower() in ("http", "https") and bool(parts.netloc)
        is_valid = is_valid and ("{{" in url or (parts.port != 0 and not re.search(r"\s", parts.netloc)))
    except ValueError:
        is_valid = False
    if not is_valid:
        from baselinekit.model.addresses import PORT_HINT, has_no_such_port

        shown_url = re.sub("//[^/]*@", "//…@", url.partition("?")[0])
        message, hint = (
            f"not an absolute http or https address, {shown_url!r}",
            "such as https://api.example.com",
        )
        if has_no_such_port(url):
            message, hint = f"there is no such port, {shown_url!r}", PORT_HINT
        yield Problem("BK108", message, hint, at=at)
    elif "@" in parts.netloc:
        message = "the address contains credentials"
        yield Problem("BK108", message, "remove them, and use `auth` with variables", at=at)


def check_headers(headers: Mapping[str, Scalar], at: Path) -> Iterator[Problem]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) and "{{" not in name:
            yield Problem(
                "BK108", f"{name!r} is not a header name", "letters, digits and `-`", at=(*at, name)
            )
        if isinstance(value, str) and ("\n" in value or "\r" in value or "\0" in value):
            yield Problem(
                "BK108", "a header value must be a single line", "remove the line break", at=(*at, name)
            )
