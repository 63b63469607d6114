"""A request as a curl line and its answer, without secrets: for people who look at a failure."""

import shlex
from collections.abc import Iterator
from itertools import islice

from baselinekit.files.jsontext import pretty
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Observation, Request
from baselinekit.model.values import Json
from baselinekit.secrets.variables import MASK, Redactor, as_text
from baselinekit.values.texts import Mask, mask_and_clip

_MOST_LINES = 200
_LONGEST_BODY = 2_000
_CREDENTIAL = lazy_pattern(r"(?i).*(authorization|cookie|token|secret|api-?key).*")
_OWN = ("user-agent", "accept-encoding")
"""Headers that curl sends itself."""


def describe_exchanges(observation: Observation, redactor: Redactor) -> list[str]:
    """Return the lines about each request of an observation; none if it has none."""
    lines: list[str] = []
    for request, answer in observation.exchanges:
        lines += [curl_line(request, redactor.mask), *islice(_answer_lines(answer, redactor), _MOST_LINES)]
    return redactor.mask_lines(lines)


def curl_line(request: Request, mask: Mask) -> str:
    """Return the command that sends a request. Credentials are masked, and a long body is cut."""
    words = ["curl", *([] if request.method == "GET" else ["-X", request.method]), request.url]
    for name, value in request.headers:
        if name.lower() not in _OWN:
            words += ["-H", _header(name, value)]
    if request.content:
        text = request.content.decode("utf-8", "replace")
        words += ["--data-raw", mask_and_clip(text, _LONGEST_BODY, mask)]
    return shlex.join(words)


def _header(name: str, value: str) -> str:
    return f"{name}: {MASK if _CREDENTIAL.fullmatch(name) else value}"


def _answer_lines(answer: Json, redactor: Redactor) -> Iterator[str]:
    yield str(answer["status"])
    for name, value in answer["headers"].items():
        yield _header(name, as_text(value))
    body = redactor.mask_value(answer["body"], ("body",))
    yield from (body if isinstance(body, str) else pretty(body, "  ")).splitlines()
