"""A HAR file, as a browser saves it: the requests that an API answered. What signed in is repeated before
what it let in, as a flow; every other credential becomes a variable."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email.message import Message
from typing import Any
from urllib.parse import urlencode, urlsplit

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.drafts import (
    FORM_TYPE,
    SAFE,
    DraftRecipe,
    ImportChoices,
    ImportedFile,
    LeftOut,
    SourceText,
    add_value,
    addressed,
    body_of,
)
from baselinekit.importers.lines import draft_of
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.finding import likeness
from baselinekit.secrets.names import is_secret_header, is_secret_key
from baselinekit.tree.paths import render
from baselinekit.variables import unexpanded

FORM = "a HAR file"

_OPENS = lazy_pattern(r'\s*\{\s*"log"\s*:\s*\{')
_API_TYPES = ("json", "xml")
OF_THE_CLIENT = lazy_pattern(
    r"(?i):.*|sec-.*|host|connection|content-length|accept-encoding|user-agent|priority|dnt|te|cookie|pragma"
    r"|upgrade-insecure-requests|cache-control|referer|origin|if-(none-match|modified-since)|x-requested-with"
)
_SHORTEST_ISSUED = 8
_DEEPEST = 12


@frozen
class HarEntry:
    """One request with what came back. `cookies`: those that the answer set; `issued`: texts of the answer
    that look like credentials, each with its path in the output; `status`: that of the answer;
    `unsent`: why no recipe can send it."""

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
    others = 0
    left: list[tuple[int, str, str]] = []
    for number, one in enumerate(raw):
        try:
            entries.append(_entry(number, one))
        except _NotHttp:
            others += 1
        except (KeyError, TypeError, ValueError, AttributeError):
            left.append((number, "an entry that cannot be read", "save the file again"))
    of_type = [
        entry for entry in entries if any(type.lower() in entry.media for type in choices.types or _API_TYPES)
    ]
    hosts = _hosts(of_type, source, choices)
    chosen = _once(
        [entry for entry in of_type if {entry.host, urlsplit(entry.request["url"]).hostname} & hosts]
    )
    asked = [entry for entry in chosen if choices.unsafe or entry.request["method"] in SAFE]
    credentials = HiddenValues()
    sessions = Sessions(entries)
    unsent = {entry.number: _unsent(entry, sessions) for entry in asked}
    left += [(number, what, "write a curl line for it") for number, what in unsent.items() if what]
    sendable = [entry for entry in asked if not unsent[entry.number]]
    drafts = [_draft(entry, sessions, credentials, choices) for entry in sendable]
    paths: list[Path] = [("log", "entries", entry.number) for entry in sendable]
    lines = source.lines([*paths, *(("log", "entries", number) for number, *_ in left)])
    return ImportedFile(
        tuple(replace(draft, line=line) for draft, line in zip(drafts, lines, strict=False)),
        tuple(LeftOut(line, *told) for (_, *told), line in zip(left, lines[len(drafts) :], strict=True)),
        unsafe=len(chosen) - len(asked),
        unselected=len(entries) - len(chosen) + others,
        secrets=credentials.found,
    )


class _NotHttp(Exception):
    """A web socket, or what the browser keeps for itself."""


class _Unsent(Exception):
    """A request that no recipe can send."""


def _unsent(entry: HarEntry, sessions: "Sessions") -> str:
    """Why it cannot be asked, or one of those that have to be asked before it. Whole files stand on one line:
    the request says which one it is."""
    steps = (one for one in sessions.entries(entry) if one.unsent)
    return next(
        (
            f"{one.request['method']} {urlsplit(one.request['url']).path or '/'}: {one.unsent}"
            for one in steps
        ),
        "",
    )


def _entry(number: int, raw: dict[str, Any]) -> HarEntry:
    request, response = raw["request"], raw["response"]
    url = str(request["url"]).partition("#")[0]
    if not url.startswith(("http://", "https://")):
        raise _NotHttp
    headers = {
        str(header["name"]): unexpanded(str(header["value"]))
        for header in request.get("headers") or ()
        if not OF_THE_CLIENT.fullmatch(str(header["name"])) and header.get("value") not in (None, "", "*/*")
    }
    asked: dict[str, Any] = {"method": str(request["method"]).upper(), "url": unexpanded(url)}
    body, unsent = dict[str, Json](), ""
    try:
        body = _escaped(_body(request))
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
    asked |= {"headers": headers} if headers else {}
    asked |= body
    cookies = {str(one["name"]): unexpanded(str(one["value"])) for one in request.get("cookies") or ()}
    cookies = cookies or dict(_pairs(_header(request, "cookie")))
    asked |= {"cookies": cookies} if cookies else {}
    content = response.get("content") or {}
    media = str(content.get("mimeType") or "").partition(";")[0].strip().lower()
    set_cookies = [
        str(one.get("value")).partition(";")[0]
        for one in response.get("headers") or ()
        if str(one.get("name")).lower() == "set-cookie"
    ]
    received = {
        **{str(one["name"]): str(one["value"]) for one in response.get("cookies") or ()},
        **{name: value for line in set_cookies for one in line.splitlines() for name, value in _pairs(one)},
    }
    issued = dict(_issued(_answer(content), ("body",)))
    status = response.get("status")
    status = status if isinstance(status, int) else None
    return HarEntry(number, asked, media, received, issued, status, unsent)


def _header(message: dict[str, Any], name: str) -> str:
    headers = message.get("headers") or ()
    return next((str(one["value"]) for one in headers if str(one["name"]).lower() == name), "")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(";"):
        name, equals, value = pair.strip().partition("=")
        if equals and name:
            yield name, value


def _body(request: dict[str, Any]) -> dict[str, Json]:
    posted = request.get("postData")
    stated = _header(request, "content-type")
    if not posted:
        size = _header(request, "content-length") or str(request.get("bodySize", 0))
        if stated and ((size.isdecimal() and int(size) > 0) or _media(stated) == _MULTIPART):
            raise _Unsent("its body is not in the HAR file")
        return {}
    written = str(posted.get("mimeType") or stated)
    media, text = _media(written), posted.get("text")
    if media == _MULTIPART:
        return _parts(written, str(text or ""), posted.get("params") or ())
    if media.startswith("multipart/"):
        raise _Unsent(f"a body of {media}")
    if text is None or (not text and posted.get("params")):
        fields = [(one["name"], one.get("value", "")) for one in posted.get("params") or ()]
        text, media = urlencode(fields), FORM_TYPE
    return body_of(str(text), media) if text else {}


def _media(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


_MULTIPART = "multipart/form-data"
_DISPOSITION = lazy_pattern(r"(?im)^content-disposition:[ \t]*([^\r\n]*)")
_BOUNDARY = lazy_pattern(r"""(?i);\s*boundary=(?:"([^"]+)"|([^;\s]+))""")


def _parts(content_type: str, text: str, params: Sequence[dict[str, Any]]) -> dict[str, Json]:
    """The fields of a multipart form. Of its files a browser keeps the names at most."""
    fields: dict[str, Json] = {}
    boundary = _BOUNDARY.search(content_type)
    if boundary and text:
        for piece in re.split(rf"\r?\n?--{re.escape(boundary[1] or boundary[2])}(?:--)?\r?\n?", text):
            head, *value = re.split(r"\r?\n\r?\n", piece, maxsplit=1)
            about = Message()
            about["Content-Disposition"] = found[1] if (found := _DISPOSITION.search(head)) else ""
            name, file = about.get_param("name", None, "content-disposition"), about.get_filename()
            _add_part(fields, name, "".join(value), file)
    else:
        for one in params:
            _add_part(fields, one.get("name"), str(one.get("value") or ""), one.get("fileName"))
    if not fields:
        raise _Unsent("its body is not in the HAR file")
    return {"form": fields, "files": {}}


def _add_part(fields: dict[str, Json], name: Any, value: str, file: str | None) -> None:
    if file is not None:
        raise _Unsent(f"it sends the file {file or 'that was chosen'}, which is not in the HAR file")
    if isinstance(name, str):
        add_value(fields, name, value)


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return unexpanded(value)
    if isinstance(value, list):
        return [_escaped(item) for item in value]
    return {key: _escaped(item) for key, item in value.items()} if isinstance(value, dict) else value


def _answer(content: dict[str, Any]) -> Json:
    """The body of an answer, where it is JSON."""
    text = str(content.get("text") or "")
    try:
        if content.get("encoding") == "base64":
            text = base64.b64decode(text).decode()
        return json.loads(text) if text.lstrip().startswith(("{", "[")) else None
    except ValueError:
        return None


def _issued(value: Json, path: Path) -> Iterator[tuple[str, Path]]:
    """What an answer may let somebody in with, and where it stands."""
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
    """Those that are meant: the operator's, the project's own, or the only one."""
    if choices.hosts:
        return {*choices.hosts}
    counted = Counter(entry.host for entry in entries)
    ours = urlsplit(choices.base_url or "").netloc
    if ours in counted or len(counted) < 2:
        return {ours} if ours in counted else {*counted}
    told = ", ".join(f"{host} ({count})" for host, count in counted.most_common())
    hint = f"choose with --host, such as --host {counted.most_common(1)[0][0]}"
    raise InvalidInput(Problem("BK551", f"it has answers of several hosts: {told}", hint, Place(source.name)))


def _once(entries: Sequence[HarEntry]) -> list[HarEntry]:
    """Of requests that ask the same, the first."""
    first: dict[str, HarEntry] = {}
    for entry in entries:
        about = {key: entry.request.get(key) for key in ("method", "url", "json", "form", "body")}
        first.setdefault(json.dumps(about, default=str), entry)
    return list(first.values())


class Sessions:
    """Which answer gave what a later request shows to be let in."""

    def __init__(self, entries: Sequence[HarEntry]):
        self._entries = entries

    def steps(self, entry: HarEntry) -> list[dict[str, Any]]:
        """The request behind those that it needs, each once, in the order in which they were sent."""
        needed = self._needed(entry)
        return [needed[number] for number in sorted(needed)]

    def entries(self, entry: HarEntry) -> list[HarEntry]:
        """The entries that those are of."""
        needed = self._needed(entry)
        return [one for one in self._entries if one.number in needed]

    def _needed(self, entry: HarEntry) -> dict[int, dict[str, Any]]:
        needed: dict[int, dict[str, Any]] = {}
        self._add(entry, needed)
        return needed

    def _add(self, entry: HarEntry, needed: dict[int, dict[str, Any]]) -> None:
        request = dict(entry.request)
        needed[entry.number] = request
        before = [one for one in self._entries if one.number < entry.number and one.host == entry.host]
        for name, value in dict(request.get("cookies") or {}).items():
            giver = next((one for one in reversed(before) if one.cookies.get(name) == value), None)
            if giver is not None:  # a flow keeps the cookies that it receives
                request["cookies"] = {key: kept for key, kept in request["cookies"].items() if key != name}
                self._require(giver, needed)
        if not request.get("cookies"):
            request.pop("cookies", None)
        for name, text in dict(request.get("headers") or {}).items():
            if not is_secret_header(name) and not likeness(text, ("headers", name)):
                continue
            for giver in reversed(before):
                value = next((value for value in giver.issued if value in text), None)
                if value is None:
                    continue
                step = self._require(giver, needed)
                path = giver.issued[value]
                key = str(next(part for part in reversed(path) if isinstance(part, str)))
                saved = re.sub(r"\W", "_", key)
                step["save"] = {**step.get("save", {}), saved: render(path)}
                headers = {**request["headers"], name: text.replace(value, f"{{{{{saved}}}}}")}
                request["headers"] = headers
                break

    def _require(self, giver: HarEntry, needed: dict[int, dict[str, Any]]) -> dict[str, Any]:
        if giver.number not in needed:
            self._add(giver, needed)
        return needed[giver.number]


def _draft(
    entry: HarEntry, sessions: Sessions, credentials: HiddenValues, choices: ImportChoices
) -> DraftRecipe:
    steps = [credentials.hidden(step) for step in sessions.steps(entry)]
    draft = replace(draft_of(steps[-1], {}, 0, (), choices), status=entry.status)
    if len(steps) == 1:
        return draft
    written = []
    for step in steps:
        endpoint, _ = addressed(step["url"], choices.base_url)
        rest = {key: value for key, value in step.items() if key not in ("method", "url")}
        written.append({"method": step["method"], "endpoint": endpoint, **rest})
    return replace(draft, current={"input": {"steps": written}, "execution": draft.current["execution"]})
