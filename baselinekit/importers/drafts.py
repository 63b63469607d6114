"""The result of importing a file: draft recipes, and what could not be carried over."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from urllib.parse import parse_qsl, urlsplit

from baselinekit.errors import BaselinekitError
from baselinekit.files.jsontext import json_events
from baselinekit.files.languages import JSON, YAML
from baselinekit.files.text import MarkedNode, mark, place, reach
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.schema import position
from baselinekit.secrets.variables import escape_variables, escape_variables_in
from baselinekit.structs import Struct, field

Formats = Callable[[Json], Mapping[Path, str]]
"""The placeholders that the file gives for values of an output, by the paths where they fit."""


class DraftRecipe(Struct):
    """A recipe that a file describes, and the line where it does. `needs`: variables that it uses without a
    value in the file; `formats`: the placeholders that the file gives for its answer; `is_vouched`: the
    request was really sent by somebody, so a refusal is an answer like any other; `status`: of the
    recorded answer."""

    id: str
    current: dict[str, Json]
    line: int
    name: str | None = None
    tags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    formats: Formats | None = None
    is_vouched: bool = True
    status: int | None = None


class LeftOut(Struct):
    """Something that could not be carried over: its place, and what to do about it. `file`: if that is
    another one, to which the file refers; `count`: how many requests it is the reason for."""

    line: int
    message: str
    hint: str = ""
    file: str = ""
    count: int = 1


class NotCarried(Exception):
    """Why something does not carry over, and what to do about it."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.message, self.hint = message, hint


class ImportedFile(Struct):
    """The result of a file. `unsafe`: how many requests that may write were skipped; `unselected`: how many
    were not selected; `secrets`: the variables with the values that they replace, and the hosts that these
    were sent to."""

    drafts: tuple[DraftRecipe, ...]
    left_out: tuple[LeftOut, ...] = ()
    unsafe: int = 0
    unselected: int = 0
    secrets: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


class ImportChoices(Struct):
    """The operator's choices for a file. `base_url`: the address of the project, which goes before the one
    that the file names; `known`: the variables that have a value; `read`: reads a file's text; `beside`:
    reads a file that another one refers to, by its path from that one's folder."""

    base_url: str | None = None
    unsafe: bool = False
    hosts: Sequence[str] = ()
    types: Sequence[str] = ()
    params: Mapping[str, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    read: Callable[[str], str] = lambda name: ""
    beside: Callable[[str, str], str] = lambda document, path: ""


SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_LONGEST_ID = 60
_NUMBERED = frozenset(("responses", "score_ranges", "labels"))
"""Below these, the keys of files that others write are numbers."""

_MERGE_KEY = lazy_pattern(r"(^[ \t]*(?:- +)*|[{,][ \t]*(?=<<[ \t]*:[ \t]*[*\[]))<<([ \t]*:)", re.MULTILINE)


class SourceText:
    """A file as an importer reads it: its text, and on demand its value and the lines of values."""

    def __init__(self, name: str, text: str, is_json: bool | None = None):
        self.name, self.text = name, text
        self.is_json = text.lstrip().startswith(("{", "[")) if is_json is None else is_json

    @cached_property
    def value(self) -> Json:
        if self.is_json:
            return JSON.load(self.text, self.name)[0]
        quoted = _MERGE_KEY.sub(r'\1"<<"\2', self.text)  # some files of other tools have merge keys
        documents = YAML.load(quoted, self.name, numbered=_NUMBERED)
        return _with_merges(documents[0]) if documents else None

    def line(self, path: Path) -> int:
        """The line of a path, or of the part of it that exists."""
        nodes, _ = reach(self._marks, 0, path)
        index = position(nodes[-1], at_key=True) if nodes else 0
        return place(self.name, self.text, index).line or 1

    @cached_property
    def _marks(self) -> Sequence[MarkedNode]:
        return mark(json_events(self.text) if self.is_json else YAML.events(self.text))


def _with_merges(value: Json) -> Json:
    """The value as YAML 1.1 reads it, where `<<` takes in the keys of other mappings."""
    if isinstance(value, list):
        return [_with_merges(item) for item in value]
    if not isinstance(value, dict):
        return value
    merged: dict[str, Json] = {}
    others = value.get("<<", [])
    for other in [others] if isinstance(others, dict) else others:
        if isinstance(other, dict):
            merged = {**_with_merges(other), **merged}
    return merged | {key: _with_merges(item) for key, item in value.items() if key != "<<"}


def slug(text: str) -> str:
    """A name for a file: lower case, words joined by `-`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_LONGEST_ID].rstrip("-") or "baseline"


def flaw_of_url(url: str) -> str:
    """Why an address cannot be read, or an empty text. It does not show what may be secret: the query and the
    login."""
    try:
        host = urlsplit(url).netloc
        is_readable = host.isprintable() and "$" not in host  # a variable of a shell
    except ValueError:
        is_readable = False
    return "" if is_readable else f"{re.sub('//[^/]*@', '//…@', url.partition('?')[0])} is not a URL"


HINT_FOR_URL = "correct its host: a URL looks like https://api.example.com/users"


def addressed(url: str, base: str | None) -> tuple[str, str | None]:
    """The part of an address below the base; and the base to state, if it is not the project's."""
    if base is not None and (url == base or url.startswith((base.rstrip("/") + "/", base.rstrip("/") + "?"))):
        return _rooted(url[len(base.rstrip("/")) :]), None
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return _rooted(url[len(origin) :]), origin


def path_of(endpoint: str) -> str:
    """The path of an endpoint. It may begin with `//`, which would begin a host in a URL."""
    return re.split(r"[?#]", endpoint, maxsplit=1)[0]


def _rooted(endpoint: str) -> str:
    return endpoint if endpoint.startswith("/") else f"/{endpoint}"


FORM_TYPE = "application/x-www-form-urlencoded"


_LOGIN = lazy_pattern(r"\A(https?://)[^/?#]*@")
_OF_THE_CLIENT = lazy_pattern(
    r"(?i):.*|sec-.*|host|connection|content-length|accept-encoding|user-agent|priority|dnt|te|cookie|pragma"
    r"|upgrade-insecure-requests|cache-control|referer|origin|if-(none-match|modified-since)|x-requested-with"
)


def recorded_request(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    cookies: Mapping[str, str],
    body: dict[str, Json],
) -> dict[str, Json]:
    """A request as a browser or a recorder wrote it down, without the headers that a client adds by itself,
    and without a login in its address, which was sent as a header. Braces in it are not variables."""
    url = _LOGIN.sub(r"\1", url)
    kept = {name: value for name, value in headers if not _OF_THE_CLIENT.fullmatch(name)}
    kept = {name: escape_variables(value) for name, value in kept.items() if value not in ("", "*/*")}
    implied = ("application/json", FORM_TYPE, *(("multipart/form-data",) if "files" in body else ()))
    if body.keys() & {"json", "form"}:
        types = [name for name in kept if name.lower() == "content-type" and media_of(kept[name]) in implied]
        kept = {name: value for name, value in kept.items() if name not in types}
    parts = {"headers": kept, **escape_variables_in(body), "cookies": escape_variables_in(dict(cookies))}
    sent: dict[str, Json] = {"method": method, "url": escape_variables(url)}
    return sent | {name: part for name, part in parts.items() if part or name not in ("headers", "cookies")}


def media_of(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def cookie_pairs(text: str) -> dict[str, str]:
    """The cookies of a header."""
    pairs = (pair.strip().partition("=") for pair in text.split(";"))
    return {name: value for name, equals, value in pairs if equals and name}


def add_value(values: dict[str, Json], name: str, value: str) -> None:
    """Add a value to a name. A name with several values holds a list."""
    if name not in values:
        values[name] = value
    elif isinstance(values[name], list):
        values[name].append(value)
    else:
        values[name] = [values[name], value]


def body_of(text: str, media: str) -> dict[str, Json]:
    """A body as a recipe states it: as JSON or a form if it is one, else as text."""
    if media == FORM_TYPE:
        form = _form(text)
        return {"body": text} if form is None else {"form": form}
    if media == "application/json" or media.endswith("+json"):
        try:
            (value,) = JSON.load(text, "")
        except (BaselinekitError, ValueError):
            return {"body": text}
        return {"json": value}
    return {"body": text}


def _form(text: str) -> dict[str, Json] | None:
    """The fields of a form; None if sending them would not send the same text."""
    pieces = text.split("&")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:
        return None
    if len(pairs) != len(pieces) or not all("=" in piece for piece in pieces):
        return None
    fields: dict[str, Json] = {}
    for name, value in pairs:
        add_value(fields, name, value)
    return fields
