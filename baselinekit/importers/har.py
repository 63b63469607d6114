"""A HAR file, as a browser saves it: the requests that an API answered. A request that signs in is repeated
before the requests that need it, as a flow; every other credential becomes a variable."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import Message
from typing import Any
from urllib.parse import urlencode, urlsplit

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.drafts import (
    FORM_TYPE,
    HINT_FOR_URL,
    SAFE,
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    LeftOut,
    SourceText,
    add_value,
    addressed,
    body_of,
    flaw_of_url,
)
from baselinekit.importers.lines import draft_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.finding import is_secret_header, is_secret_key, likeness
from baselinekit.secrets.variables import escape_variables, escape_variables_in
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import render

FORM = "a HAR file"

_OPENS = lazy_pattern(r'\s*\{\s*"log"\s*:\s*\{')
_API_TYPES = ("json", "xml")
OF_THE_CLIENT = lazy_pattern(
    r"(?i):.*|sec-.*|host|connection|content-length|accept-encoding|user-agent|priority|dnt|te|cookie|pragma"
    r"|upgrade-insecure-requests|cache-control|referer|origin|if-(none-match|modified-since)|x-requested-with"
)
_SHORTEST_ISSUED = 8
_DEEPEST = 12


class HarEntry(Struct):
    """One request with its answer. `cookies`: those that the answer set; `issued`: texts of the answer that
    look like credentials, each with its path in the output; `status`: that of the answer; `unsent`: why no
    recipe can send the request."""

    number: int
    request: dict[str, Any]
    media: str
    cookies: dict[str, str]
    issued: dict[str, Path]
    status: int | None = None
    unsent: str = ""

    @property
    def host(self) -> str:
        return urlsplit(str(self.request["url"])).netloc


def recognises(source: SourceText) -> bool:
    return source.is_json and bool(_OPENS.match(source.text))


def read(source: SourceText, choices: ImportChoices) -> ImportedFile:
    log = source.value.get("log")
    raw = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(raw, list):
        raise InvalidInput(
            Problem("BK550", "a HAR file without `entries`", "save it again", Place(source.name))
        )
    entries: list[HarEntry] = []
    other_count = 0
    left_out: list[tuple[int, str, str]] = []
    for number, raw_entry in enumerate(raw):
        try:
            entries.append(_entry(number, raw_entry))
        except _NotHttp:
            other_count += 1
        except _NoUrl as error:
            left_out.append((number, str(error), HINT_FOR_URL))
        except (KeyError, TypeError, ValueError, AttributeError):
            left_out.append((number, "an entry that cannot be read", "save the file again"))
    of_type = [
        entry for entry in entries if any(type.lower() in entry.media for type in choices.types or _API_TYPES)
    ]
    hosts = _hosts(of_type, source, choices)
    chosen = _once(
        [entry for entry in of_type if {entry.host, urlsplit(entry.request["url"]).hostname} & hosts]
    )
    allowed = [entry for entry in chosen if choices.unsafe or entry.request["method"] in SAFE]
    credentials = HiddenValues()
    sessions = Sessions(entries)
    unsent = {entry.number: _unsent(entry, sessions) for entry in allowed}
    left_out += [(number, what, "write a curl line for it") for number, what in unsent.items() if what]
    sendable = [entry for entry in allowed if not unsent[entry.number]]
    drafts = [_draft(entry, sessions, credentials, choices) for entry in sendable]
    paths: list[Path] = [("log", "entries", entry.number) for entry in sendable]
    lines = source.lines([*paths, *(("log", "entries", number) for number, *_ in left_out)])
    return ImportedFile(
        tuple(replace(draft, line=line) for draft, line in zip(drafts, lines, strict=False)),
        tuple(
            LeftOut(line, message, hint)
            for (_, message, hint), line in zip(left_out, lines[len(drafts) :], strict=True)
        ),
        unsafe=len(chosen) - len(allowed),
        unselected=len(entries) - len(chosen) + other_count,
        secrets=credentials.found,
    )


class _NotHttp(Exception):
    """A web socket, or an entry that is internal to the browser."""


class _NoUrl(Exception):
    """A request whose address cannot be read, as a message."""


class _Unsent(Exception):
    """A request that no recipe can send."""


def _unsent(entry: HarEntry, sessions: "Sessions") -> str:
    """Why a request cannot be sent, or one that has to be sent before it. A HAR file may be one long line, so
    the reason names the request."""
    steps = (step for step in sessions.entries(entry) if step.unsent)
    return next(
        (
            f"{step.request['method']} {urlsplit(step.request['url']).path or '/'}: {step.unsent}"
            for step in steps
        ),
        "",
    )


def _entry(number: int, raw: dict[str, Any]) -> HarEntry:
    request, response = raw["request"], raw["response"]
    url = str(request["url"]).partition("#")[0]
    if not url.startswith(("http://", "https://")):
        raise _NotHttp
    method = str(request["method"]).upper()
    if flaw := flaw_of_url(url):
        raise _NoUrl(f"{method} {flaw}")
    headers = {
        str(header["name"]): escape_variables(str(header["value"]))
        for header in request.get("headers") or ()
        if not OF_THE_CLIENT.fullmatch(str(header["name"])) and header.get("value") not in (None, "", "*/*")
    }
    sent: dict[str, Any] = {"method": method, "url": escape_variables(url)}
    body, unsent = dict[str, Json](), ""
    try:
        body = escape_variables_in(_body(request))
    except _Unsent as reason:
        unsent = str(reason)
    if body.keys() & {"json", "form"}:
        plain = (
            ("application/json", FORM_TYPE, _MULTIPART)
            if "files" in body
            else ("application/json", FORM_TYPE)
        )
        stated = {name: value for name, value in headers.items() if name.lower() == "content-type"}
        if all(value.partition(";")[0].strip().lower() in plain for value in stated.values()):
            headers = {name: value for name, value in headers.items() if name not in stated}
    sent |= {"headers": headers} if headers else {}
    sent |= body
    cookies = {
        str(item["name"]): escape_variables(str(item["value"])) for item in request.get("cookies") or ()
    }
    cookies = cookies or dict(_pairs(_header(request, "cookie")))
    sent |= {"cookies": cookies} if cookies else {}
    content = response.get("content") or {}
    media = str(content.get("mimeType") or "").partition(";")[0].strip().lower()
    set_cookies = [
        str(item.get("value")).partition(";")[0]
        for item in response.get("headers") or ()
        if str(item.get("name")).lower() == "set-cookie"
    ]
    received = {
        **{str(item["name"]): str(item["value"]) for item in response.get("cookies") or ()},
        **{name: value for line in set_cookies for item in line.splitlines() for name, value in _pairs(item)},
    }
    issued = dict(_issued(_answer(content), ("body",)))
    status = response.get("status")
    status = status if isinstance(status, int) else None
    return HarEntry(number, sent, media, received, issued, status, unsent)


def _header(message: dict[str, Any], name: str) -> str:
    headers = message.get("headers") or ()
    return next((str(header["value"]) for header in headers if str(header["name"]).lower() == name), "")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(";"):
        name, equals, value = pair.strip().partition("=")
        if equals and name:
            yield name, value


def _body(request: dict[str, Any]) -> dict[str, Json]:
    post_data = request.get("postData")
    content_type = _header(request, "content-type")
    if not post_data:
        size = _header(request, "content-length") or str(request.get("bodySize", 0))
        if content_type and ((size.isdecimal() and int(size) > 0) or _media(content_type) == _MULTIPART):
            raise _Unsent("its body is not in the HAR file")
        return {}
    body_type = str(post_data.get("mimeType") or content_type)
    media, text = _media(body_type), post_data.get("text")
    if media == _MULTIPART:
        return _parts(body_type, str(text or ""), post_data.get("params") or ())
    if media.startswith("multipart/"):
        raise _Unsent(f"a body of {media}")
    if text is None or (not text and post_data.get("params")):
        fields = [(param["name"], param.get("value", "")) for param in post_data.get("params") or ()]
        text, media = urlencode(fields), FORM_TYPE
    return body_of(str(text), media) if text else {}


def _media(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


_MULTIPART = "multipart/form-data"
_DISPOSITION = lazy_pattern(r"(?im)^content-disposition:[ \t]*([^\r\n]*)")
_BOUNDARY = lazy_pattern(r"""(?i);\s*boundary=(?:"([^"]+)"|([^;\s]+))""")


def _parts(content_type: str, text: str, params: Sequence[dict[str, Any]]) -> dict[str, Json]:
    """The fields of a multipart form. A browser saves no more of its files than their names."""
    fields: dict[str, Json] = {}
    boundary = _BOUNDARY.search(content_type)
    if boundary and text:
        for piece in re.split(rf"\r?\n?--{re.escape(boundary[1] or boundary[2])}(?:--)?\r?\n?", text):
            head, *value = re.split(r"\r?\n\r?\n", piece, maxsplit=1)
            headers = Message()
            headers["Content-Disposition"] = (
                disposition[1] if (disposition := _DISPOSITION.search(head)) else ""
            )
            name, file = headers.get_param("name", None, "content-disposition"), headers.get_filename()
            _add_part(fields, name, "".join(value), file)
    else:
        for param in params:
            _add_part(fields, param.get("name"), str(param.get("value") or ""), param.get("fileName"))
    if not fields:
        raise _Unsent("its body is not in the HAR file")
    return {"form": fields, "files": {}}


def _add_part(fields: dict[str, Json], name: Any, value: str, file: str | None) -> None:
    if file is not None:
        raise _Unsent(f"it sends the file {file or 'that was chosen'}, which is not in the HAR file")
    if isinstance(name, str):
        add_value(fields, name, value)


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
        name = next((step for step in reversed(path) if isinstance(step, str)), "")
        if is_secret_key(name) or likeness(value, path):
            yield value, path
    elif isinstance(value, dict) and len(path) < _DEEPEST:
        for key, item in value.items():
            yield from _issued(item, (*path, key))
    elif isinstance(value, list) and len(path) < _DEEPEST:
        for number, item in enumerate(value):
            yield from _issued(item, (*path, number))


def _hosts(entries: Sequence[HarEntry], source: SourceText, choices: ImportChoices) -> set[str | None]:
    """The hosts that are meant: the operator's, the project's own, or the only one."""
    if choices.hosts:
        return {*choices.hosts}
    counts = Counter(entry.host for entry in entries)
    ours = urlsplit(choices.base_url or "").netloc
    if ours in counts or len(counts) < 2:
        return {ours} if ours in counts else {*counts}
    host_list = ", ".join(f"{host} ({count})" for host, count in counts.most_common())
    hint = f"choose with --host, such as --host {counts.most_common(1)[0][0]}"
    raise InvalidInput(
        Problem("BK551", f"it has answers of several hosts: {host_list}", hint, Place(source.name))
    )


def _once(entries: Sequence[HarEntry]) -> list[HarEntry]:
    """The first of each group of equal requests."""
    first: dict[str, HarEntry] = {}
    for entry in entries:
        identity = {key: entry.request.get(key) for key in ("method", "url", "json", "form", "body")}
        first.setdefault(json.dumps(identity, default=str), entry)
    return list(first.values())


class Sessions:
    """Which answer gave the credentials that a later request sends."""

    def __init__(self, entries: Sequence[HarEntry]):
        self._entries = entries

    def steps(self, entry: HarEntry) -> list[dict[str, Any]]:
        """The requests that a request needs, and the request itself, each once, in the order in which they
        were sent."""
        needed = self._needed(entry)
        return [needed[number] for number in sorted(needed)]

    def entries(self, entry: HarEntry) -> list[HarEntry]:
        """The entries of these requests."""
        needed = self._needed(entry)
        return [earlier for earlier in self._entries if earlier.number in needed]

    def _needed(self, entry: HarEntry) -> dict[int, dict[str, Any]]:
        needed: dict[int, dict[str, Any]] = {}
        self._add(entry, needed)
        return needed

    def _add(self, entry: HarEntry, needed: dict[int, dict[str, Any]]) -> None:
        request = dict(entry.request)
        needed[entry.number] = request
        before = [
            earlier
            for earlier in self._entries
            if earlier.number < entry.number and earlier.host == entry.host
        ]
        for name, value in dict(request.get("cookies") or {}).items():
            source = next(
                (earlier for earlier in reversed(before) if earlier.cookies.get(name) == value), None
            )
            if source is not None:  # a flow keeps the cookies that it receives
                request["cookies"] = {
                    key: cookie for key, cookie in request["cookies"].items() if key != name
                }
                self._require(source, needed)
        if not request.get("cookies"):
            request.pop("cookies", None)
        for name, text in dict(request.get("headers") or {}).items():
            if not is_secret_header(name) and not likeness(text, ("headers", name)):
                continue
            for source in reversed(before):
                value = next((value for value in source.issued if value in text), None)
                if value is None:
                    continue
                step = self._require(source, needed)
                path = source.issued[value]
                key = str(next(part for part in reversed(path) if isinstance(part, str)))
                variable = re.sub(r"\W", "_", key)
                step["save"] = {**step.get("save", {}), variable: render(path)}
                headers = {**request["headers"], name: text.replace(value, f"{{{{{variable}}}}}")}
                request["headers"] = headers
                break

    def _require(self, source: HarEntry, needed: dict[int, dict[str, Any]]) -> dict[str, Any]:
        if source.number not in needed:
            self._add(source, needed)
        return needed[source.number]


def _draft(
    entry: HarEntry, sessions: Sessions, credentials: HiddenValues, choices: ImportChoices
) -> DraftRecipe:
    steps = [credentials.hidden(step) for step in sessions.steps(entry)]
    draft = replace(draft_of(steps[-1], {}, 0, (), choices), status=entry.status)
    if len(steps) == 1:
        return draft
    flow_steps = []
    for step in steps:
        endpoint, _ = addressed(step["url"], choices.base_url)
        remaining = {key: value for key, value in step.items() if key not in ("method", "url")}
        flow_steps.append({"method": step["method"], "endpoint": endpoint, **remaining})
    return replace(draft, current={"input": {"steps": flow_steps}, "execution": draft.current["execution"]})
