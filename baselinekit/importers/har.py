"""A HAR file, as a browser saves it: the requests that an API answered. A request that signs in is repeated
before the requests that need it, as a flow; every other credential becomes a variable."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.importers import drafts as imports
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.lines import draft_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.finding import is_secret_header, is_secret_key, likeness
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import render
from baselinekit.values.places import name_of

FORM = "a HAR file"

_OPENS = lazy_pattern(r'\s*\{\s*"log"\s*:\s*\{')
_API_TYPES = ("json", "xml")
_SHORTEST_ISSUED = 8
_DEEPEST = 12


class HarEntry(Struct):
    """One request with its answer. `line`: in the file; `cookies`: those that the answer set; `issued`: texts
    of the answer that look like credentials, each with its path in the output; `status`: of the answer;
    `unsent`: why no recipe can send the request."""

    number: int
    line: int
    request: dict[str, Any]
    media: str
    cookies: dict[str, str]
    issued: dict[str, Path]
    status: int | None = None
    unsent: str = ""

    @property
    def host(self) -> str:
        return urlsplit(str(self.request["url"])).netloc


def recognises(source: imports.SourceText) -> bool:
    return source.is_json and bool(_OPENS.match(source.text))


def read(source: imports.SourceText, choices: imports.ImportChoices) -> imports.ImportedFile:
    log = source.value.get("log")
    raw = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(raw, list):
        problem = Problem("BK550", "a HAR file without `entries`", "save it again", Place(source.name))
        raise InvalidInput(problem)
    entries: list[HarEntry] = []
    left_out: list[imports.LeftOut] = []
    other_count = 0
    for number, raw_entry in enumerate(raw):
        line = source.line(("log", "entries", number))
        try:
            entry = _entry(number, line, raw_entry)
            entries += [entry] if entry is not None else []
            other_count += entry is None
        except imports.NotCarried as error:
            left_out.append(imports.LeftOut(line, error.message, error.hint))
        except (KeyError, TypeError, ValueError, AttributeError):
            left_out.append(imports.LeftOut(line, "an entry that cannot be read", "save the file again"))
    types = [type.lower() for type in choices.types or _API_TYPES]
    of_type = [entry for entry in entries if any(type in entry.media for type in types)]
    hosts = _hosts(of_type, source.name, choices)
    first: dict[str, HarEntry] = {}  # of equal requests
    for entry in of_type:
        if {entry.host, urlsplit(entry.request["url"]).hostname} & hosts:
            identity = {key: entry.request.get(key) for key in ("method", "url", "json", "form", "body")}
            first.setdefault(json.dumps(identity, default=str), entry)
    allowed = [entry for entry in first.values() if choices.unsafe or entry.request["method"] in imports.SAFE]
    credentials = HiddenValues()
    drafts: list[imports.DraftRecipe] = []
    for entry in allowed:
        steps = _steps(entry, entries)
        if unsent := next((step for step, _ in steps if step.unsent), None):
            # a HAR file may be one long line, so the reason names the request
            path = urlsplit(unsent.request["url"]).path or "/"
            message = f"{unsent.request['method']} {path}: {unsent.unsent}"
            left_out.append(imports.LeftOut(entry.line, message, "write a curl line for it"))
        else:
            hidden = [credentials.hidden(request) for _, request in steps]
            drafts.append(replace(_draft(hidden, entry.line, choices), status=entry.status))
    return imports.ImportedFile(
        tuple(drafts),
        tuple(left_out),
        unsafe=len(first) - len(allowed),
        unselected=len(entries) - len(first) + other_count,
        secrets=credentials.found,
    )


def _entry(number: int, line: int, raw: dict[str, Any]) -> HarEntry | None:
    """An entry; None for a web socket, or what is internal to the browser."""
    request, response = raw["request"], raw["response"]
    url = str(request["url"]).partition("#")[0]
    if not url.startswith(("http://", "https://")):
        return None
    method = str(request["method"]).upper()
    if flaw := imports.flaw_of_url(url):
        raise imports.NotCarried(f"{method} {flaw}", imports.HINT_FOR_URL)
    stated = [header for header in request.get("headers") or () if header.get("value") is not None]
    headers = [(str(header["name"]), str(header["value"])) for header in stated]
    body, unsent = dict[str, Json](), ""
    try:
        body = _body(request)
    except imports.NotCarried as reason:
        unsent = reason.message
    cookies = _cookies(request) or imports.cookie_pairs(_header(request, "cookie"))
    sent = imports.recorded_request(method, url, headers, cookies, body)
    content = response.get("content") or {}
    received = _cookies(response)
    for item in response.get("headers") or ():
        if str(item.get("name")).lower() == "set-cookie":
            for text in str(item.get("value")).partition(";")[0].splitlines():
                received |= imports.cookie_pairs(text)
    issued = dict(_issued(_answer(content), ("body",)))
    status = code if isinstance(code := response.get("status"), int) else None
    media = imports.media_of(str(content.get("mimeType") or ""))
    return HarEntry(number, line, sent, media, received, issued, status, unsent)


def _cookies(message: dict[str, Any]) -> dict[str, str]:
    return {str(item["name"]): str(item["value"]) for item in message.get("cookies") or ()}


def _header(message: dict[str, Any], name: str) -> str:
    headers = message.get("headers") or ()
    return next((str(header["value"]) for header in headers if str(header["name"]).lower() == name), "")


def _body(request: dict[str, Any]) -> dict[str, Json]:
    post_data = request.get("postData") or {}
    content_type = _header(request, "content-type")
    media = imports.media_of(str(post_data.get("mimeType") or content_type))
    if media.startswith("multipart/"):
        raise imports.NotCarried(f"a body of {media}")
    text, params = post_data.get("text"), post_data.get("params") or ()
    if not post_data:
        size = _header(request, "content-length") or str(request.get("bodySize", 0))
        if content_type and size.isdecimal() and int(size) > 0:
            raise imports.NotCarried("its body is not in the HAR file")
    elif text is None or (not text and params):
        pairs = [(param["name"], param.get("value", "")) for param in params]
        text, media = urlencode(pairs), imports.FORM_TYPE
    return imports.body_of(str(text), media) if text else {}


def _answer(content: dict[str, Any]) -> Json:
    """The body of an answer, if it is JSON."""
    text = str(content.get("text") or "")
    try:
        if content.get("encoding") == "base64":
            text = base64.b64decode(text).decode()
        return json.loads(text) if text.lstrip().startswith(("{", "[")) else None
    except ValueError:
        return None


def _issued(value: Json, path: Path) -> Iterator[tuple[str, Path]]:
    """The texts of an answer that may be credentials, and their paths."""
    if isinstance(value, str) and len(value) >= _SHORTEST_ISSUED:
        if is_secret_key(name_of(path)) or likeness(value, path):
            yield value, path
    elif isinstance(value, dict | list) and len(path) < _DEEPEST:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _issued(item, (*path, key))


def _hosts(entries: Sequence[HarEntry], name: str, choices: imports.ImportChoices) -> set[str | None]:
    """The hosts that are meant: the operator's, the project's own, or the only one."""
    if choices.hosts:
        return {*choices.hosts}
    counts = Counter(entry.host for entry in entries)
    ours = urlsplit(choices.base_url or "").netloc
    if ours in counts or len(counts) < 2:
        return {ours} if ours in counts else {*counts}
    host_list = ", ".join(f"{host} ({count})" for host, count in counts.most_common())
    hint = f"choose with --host, such as --host {counts.most_common(1)[0][0]}"
    message = f"it has answers of several hosts: {host_list}"
    raise InvalidInput(Problem("BK551", message, hint, Place(name)))


def _steps(entry: HarEntry, entries: Sequence[HarEntry]) -> list[tuple[HarEntry, dict[str, Any]]]:
    """The requests whose answers gave the credentials that a request sends, and the request itself, in the
    order in which they were sent."""
    needed: dict[int, tuple[HarEntry, dict[str, Any]]] = {}

    def require(step: HarEntry) -> dict[str, Any]:
        if step.number in needed:
            return needed[step.number][1]
        request = dict(step.request)
        needed[step.number] = step, request
        before = [one for one in entries if one.number < step.number and one.host == step.host][::-1]
        cookies, headers = dict(request.pop("cookies", {})), dict(request.pop("headers", {}))
        for name, value in list(cookies.items()):
            if giver := next((one for one in before if one.cookies.get(name) == value), None):
                require(giver)
                del cookies[name]  # a flow keeps the cookies that it receives
        for name, text in headers.items():
            if not is_secret_header(name) and not likeness(text, ("headers", name)):
                continue
            given = ((one, value) for one in before for value in one.issued if value in text)
            if (found := next(given, None)) is not None:
                giver, value = found
                path, login = giver.issued[value], require(giver)
                variable = re.sub(r"\W", "_", name_of(path))
                login["save"] = {**login.get("save", {}), variable: render(path)}
                headers[name] = text.replace(value, f"{{{{{variable}}}}}")
        request |= {"headers": headers} if headers else {}
        request |= {"cookies": cookies} if cookies else {}
        return request

    require(entry)
    return [needed[number] for number in sorted(needed)]


def _draft(steps: list[dict[str, Any]], line: int, choices: imports.ImportChoices) -> imports.DraftRecipe:
    draft = draft_of(steps[-1], {}, line, (), choices)
    if len(steps) == 1:
        return draft
    flow = []
    for step in steps:
        endpoint, _ = imports.addressed(step["url"], choices.base_url)
        remaining = {key: value for key, value in step.items() if key not in ("method", "url")}
        flow.append({"method": step["method"], "endpoint": endpoint, **remaining})
    return replace(draft, current={"input": {"steps": flow}, "execution": draft.current["execution"]})
