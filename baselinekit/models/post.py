"""One question over HTTP: the request of both wire forms, and what an answer other than success means."""

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from urllib.parse import urlsplit, urlunsplit

from baselinekit import __version__
from baselinekit.documents.jsontext import NotJson, decode, to_bytes
from baselinekit.errors import CannotReplay, InvalidInput, Problem, cannot
from baselinekit.model.recipes import Message, Model, Request, Response
from baselinekit.model.values import Json
from baselinekit.models.retries import Again, Question, World
from baselinekit.trust import origins_in

_DURATION = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,9})ms)?")
_LIMITS = ("requests", "tokens", "input-tokens", "output-tokens")


def asked_wait(response: Response) -> float | None:
    """The seconds after which a server wants to be asked again. A date is set against the server's own, as
    clocks differ."""
    for text, unit in (
        (response.header("retry-after-ms"), 1000.0),
        (response.header("retry-after"), 1.0),
    ):
        if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()):
            return float(text) / unit
    until = _date(response.header("retry-after"))
    waits = [_seconds_until(until, response)] if until else [_reset(name, response) for name in _LIMITS]
    return max((wait for wait in waits if wait is not None), default=None)


def _reset(name: str, response: Response) -> float | None:
    """When a used-up limit is renewed, in the headers of either wire form."""
    if response.header(f"anthropic-ratelimit-{name}-remaining") == "0":
        return _seconds_until(_date(response.header(f"anthropic-ratelimit-{name}-reset")), response)
    if response.header(f"x-ratelimit-remaining-{name}") == "0":
        match = _DURATION.fullmatch(response.header(f"x-ratelimit-reset-{name}").strip())
        if match and match[0]:
            hours, minutes, whole, milli = (float(part or 0) for part in match.groups())
            return hours * 3600 + minutes * 60 + whole + milli / 1000
    return None


def _seconds_until(until: datetime | None, response: Response) -> float | None:
    now = _date(response.header("date"))
    return max(0.0, (until - now).total_seconds()) if until and now else None


def _date(text: str) -> datetime | None:
    from email.utils import parsedate_to_datetime  # which is seldom needed

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = read(text.strip())
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
        if found.tzinfo is not None:
            return found
    return None


USES = frozenset(("base_url", "key", "headers", "temperature", "max_tokens", "settings", "retries"))
AT_ONCE = 512
"""A server says by itself when it is too busy: what limits a run is `-j`, and `concurrency` of the entry."""

_UNHEARD = _TOO_MUCH = frozenset((429, 503, 529))
_LESS = "send fewer requests at once (`concurrency`, `per_minute`), or later"
_WORTH_ANOTHER = frozenset((408, 409, 500, 502, 504)) | _UNHEARD
_BROKEN_OFF = {"BK301": True, "BK304": False}
_DEMO = "demo"
_UNKNOWN = re.compile(r"(?i)invalid model|\bmodel\b.{0,80}(?:not found|not exist|not supported)")
_TOO_LONG = re.compile(r"(?i)context[ _]?(?:length|window)|prompt is too long|maximum context")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING = re.compile(r"(?i)host|content-length|transfer-encoding|connection|expect|te|trailer|upgrade")
_BAD_VALUE = re.compile(r"[^\t\x20-\x7e\x80-\xff]")


def post(question: Question, path: str, default: str, own: dict[str, str], body: Json) -> tuple[Json, float]:
    """The body of a successful answer, and the seconds that it took. Again or CannotReplay for any other."""
    model = question.model
    headers = {
        "User-Agent": f"baselinekit/{__version__}",
        "Accept": "application/json",
        "Accept-Encoding": "gzip, deflate",
        "Content-Type": "application/json",
        **own,
    }
    stated = {name.lower() for name in model.headers}
    request = Request(
        "POST",
        url_of(model, path, default),
        (*((n, v) for n, v in headers.items() if n.lower() not in stated), *model.headers.items()),
        to_bytes({name: value for name, value in body.items() if value is not None}),
        timeout=question.seconds,
        verify=question.world.verify,
    )
    trust = question.world.trust.naming(request.url)  # the configuration names it, or the form that it states
    request = replace(request, admit=partial(trust.check_address, request.url))
    try:
        response = question.world.send(request)
    except CannotReplay as error:
        problem = replace(error.problems[0], message=f"{question.name}: {error.problems[0].message}")
        if problem.code not in _BROKEN_OFF:
            raise type(error)(problem) from None
        parts = urlsplit(request.url)
        near = parts.hostname in ("localhost", "::1") or (parts.hostname or "").startswith("127.")
        # A port of this machine that is closed: a moment seldom changes that. Of others nobody knows.
        alone = near and os.strerror(errno.ECONNREFUSED) in problem.message
        if alone:
            demo = f"start it in another terminal: baselinekit demo --serve --port {parts.port or 80}"
            usual = "start the model's server, or correct its `base_url`"
            problem = replace(problem, hint=demo if _DEMO in (model.openai, model.anthropic) else usual)
        hopeless = alone and model.retries is None  # who states how often wants to wait for it
        raise Again(problem, unheard=_BROKEN_OFF[problem.code], hopeless=hopeless) from None
    if not 200 <= response.status < 300:
        try:
            body = decode(response.body.decode())
        except (NotJson, UnicodeDecodeError):
            body = None
        told = body if isinstance(body, dict) else {}
        told = told.get("error") or told.get("detail") or told
        said = message_in(told) if isinstance(body, dict) else _beginning(response)
        raise _failure(question, response.status, said, response)
    try:
        answer = decode(response.body.decode())
    except (NotJson, UnicodeDecodeError) as error:
        what = f"{question.name} did not answer in JSON: {error}; it begins {_beginning(response)!r}"
        raise cannot("BK612", what, "is its `base_url` that of the API?") from None
    failed = answer.get("error") if isinstance(answer, dict) else None
    if failed:  # some servers fail with status 200
        code = failed.get("code") if isinstance(failed, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 200
        raise _failure(question, status, message_in(failed), response)
    return answer, response.seconds


def url_of(model: Model, path: str, default: str) -> str:
    """`base_url` may end before `/v1`, with it, or with the whole path."""
    parts = urlsplit(model.base_url or default)
    base = parts.path.rstrip("/")
    if not base.endswith(path):
        base = f"{base.removesuffix('/v1')}/v1{path}"
    return urlunsplit(parts._replace(path=base))


def key_of(question: Question) -> str | None:
    key = question.model.key
    return question.world.secret(key) if key else None


def check_wire(model: Model, world: World, path: str, default: str) -> Iterator[Problem]:
    """What is wrong with an entry that goes over HTTP. Refused where its host is not allowed."""
    if model.base_url is None and model.key is None and not model.headers:
        hint = "`key:` names the variable that holds it; `base_url:` sets another address"
        yield Problem("BK603", f"{urlsplit(default).hostname} requires a key", hint, at=("key",))
    if not origins_in([model.base_url or default]):
        hint = "such as http://127.0.0.1:11434, without user and password"
        yield Problem("BK602", "`base_url` does not say unambiguously where it leads", hint, at=("base_url",))
    else:
        where = url_of(model, path, default)
        world.trust.naming(where).check_request(where)
    for name, value in model.headers.items():
        if not _NAME.fullmatch(name) or _FRAMING.fullmatch(name) or _BAD_VALUE.search(value):
            hint = "leave it out, or correct it"
            yield Problem("BK602", f"the header {name!r} cannot be sent", hint, at=("headers", name))
    if model.key is not None:
        try:
            key = world.secret(model.key)
        except InvalidInput as error:
            yield from error.problems
        else:
            if not key or _BAD_VALUE.search(key) or key != key.strip():
                what = f"the variable {model.key!r} holds no key: it is empty, or has blanks or line breaks"
                yield Problem("BK603", what, "correct its value", at=("key",))


def _failure(question: Question, status: int, said: str, response: Response) -> Exception:
    model = question.model
    what = f"{question.name}: status {status}{f': {said}' if said else ''}".rstrip(".")
    if status in _WORTH_ANOTHER and "insufficient_quota" not in said:
        hint = _LESS if status in _TOO_MUCH else "try again later, or look for the problem of the server"
        return Again(Problem("BK611", what, hint), asked_wait(response), unheard=status in _UNHEARD)
    if status in (401, 403):
        hint = (
            f"check the variable {model.key!r}" if model.key else "name the variable of its key under `key:`"
        )
    elif status == 404 or 300 <= status < 400:
        hint = "correct `base_url`, or the model's id"
    elif _UNKNOWN.search(said):
        hint = f"correct the model's id, {model.openai or model.anthropic!r}"
    elif _TOO_LONG.search(said):
        hint = "send less text, or use a model with a larger context"
    else:
        hint = "correct the prompt or the model's entry"
    return cannot("BK610", what, hint)


def message_in(error: Json) -> str:
    """What an error says, in the words of its server."""
    if isinstance(error, dict):
        kind = next((error[key] for key in ("code", "type") if isinstance(error.get(key), str)), "")
        message = error.get("message")
        text = message if isinstance(message, str) else ""
        if kind.isdigit():  # the status once more
            kind = ""
        return _on_one_line(f"{text} ({kind})" if text and kind else text or kind)
    return _on_one_line(error) if isinstance(error, str) else ""


def _beginning(response: Response) -> str:
    return _on_one_line(response.body.decode("utf-8", "replace"))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


# A conversation as one text, for what reads only that.


def as_prompt(messages: Sequence[Message]) -> str:
    """The text of a single message of a user as it is; of several, each under the name of its role."""
    if len(messages) == 1 and messages[0].role == "user":
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def split_system(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """What the system says, in one text, and the rest of the conversation."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return system, [message for message in messages if message.role != "system"]
