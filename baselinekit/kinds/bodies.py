"""Read the body of a response: its form by its media type or by `parse:`, its text, its value.

A new form (XML, CSV …) is a row of FORMS and its name in `Parse` (model/recipes.py): which media types it
has, and how its text is read. Forms with rows (JSON Lines, event streams) can also be read from a stream that
never ends."""

import codecs
import re
from collections.abc import Callable, Iterator

from baselinekit.errors import CannotReplay, cannot_replay
from baselinekit.files.jsontext import NotJson, decode
from baselinekit.kinds.metrics_text import read_metrics
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Parse
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.structs import Struct

_HASH = "sha256"
_BYTES_PER_CONTAINER = 10
_DEFAULT_LIMIT = 10_000_000
_WRONG_FORM_HINT = (
    "correct the service: it sends something else, or the wrong Content-Type; or state `parse:`"
)

_BEYOND_LIMITS_HINT = (
    "that is more than is read here, and no fault of the service: state `parse: text` to compare it as text"
)


class Body(Struct):
    """`note`: something that may be right or a mistake, reported when the value is stored."""

    value: Json
    note: str = ""


class BodyForm(Struct):
    """`media`: its media types, in lower case; `title`: its name in a sentence. `read`: text -> value, or
    NotJson. For forms that consist of rows, `rows` splits a text into rows, `row` reads the value of a row,
    and `ends` are the separators between rows, longest first."""

    name: Parse
    title: str
    media: re.Pattern[str] | None = None
    read: Callable[[str], Body] = Body
    rows: Callable[[str], Iterator[str]] | None = None
    row: Callable[[str], Json] = decode
    ends: tuple[bytes, ...] = ()


# JSON, and several JSON texts in one body.


def _read_json(text: str) -> Body:
    """Read one JSON text; if the text is not JSON but each of its lines is, a row per line."""
    try:
        return Body(decode(text))
    except NotJson as error:
        rows = list(_split_json_texts(text)) if error.kind == "syntax" else []
        if len(rows) < 2:
            raise
        try:
            values = [decode(row) for row in rows]
        except NotJson:
            raise error from None
    note = f"the body is {len(values)} JSON texts, one a line: they are stored as rows (`parse: ndjson`)"
    return Body(values, note)


def _split_json_texts(text: str) -> Iterator[str]:
    """Split JSON Lines, or a JSON text sequence (RFC 7464), which has a separator before each text."""
    for line in text.split("\x1e" if text.startswith("\x1e") else "\n"):
        if line.strip(" \t\r\n"):
            yield line


# Event streams, as https://html.spec.whatwg.org/multipage/server-sent-events.html describes them.

_LINE_END = lazy_pattern(r"\r\n|\n|\r")
_EVENT_FIELDS = ("event", "id", "retry", "data")


def _split_events(text: str) -> Iterator[str]:
    """Return the lines of each event, without comments, which only keep a connection alive."""
    event: list[str] = []
    for line in [*_LINE_END.split(text), ""]:
        if line.partition(":")[0] in _EVENT_FIELDS:
            event.append(line)
        elif not line and event:
            yield "\n".join(event)
            event = []


def _event_value(text: str) -> Json:
    """Return `{event, id, retry, data}` with only the fields that were sent."""
    fields: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data" and "data" in fields:
            fields["data"] += f"\n{value}"
        else:
            fields[name] = value
    row: dict[str, Json] = {name: fields[name] for name in _EVENT_FIELDS[:3] if name in fields}
    return row | ({"data": _data_value(fields["data"])} if "data" in fields else {})


def _data_value(text: str) -> Json:
    """Read an object or an array; other data stays text, so that its type does not change by chance."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return decode(text)
        except NotJson:
            pass
    return text


_JSON_MEDIA = lazy_pattern(
    r"[a-z]+/(.*\+|x-)?json|application/(x-amz-json-[0-9.]+|csp-report|json-?rpc|jsonrequest|x-json-.*)"
)
_NDJSON_MEDIA = lazy_pattern(
    r"[a-z]+/(.*\+)?(x-)?(nd-?json|ld-?json|json-?l|json-?lines|json-seq|json-stream)|application/stream\+json"
)
_TEXT_MEDIA = lazy_pattern(
    r"text/.*|application/(.*\+)?(xml|yaml)|application/(x-)?(javascript|ecmascript|yaml|toml|sh)"
    r"|application/(x-www-form-urlencoded|graphql|sql|jwt|jose|x-pem-file|pem-certificate-chain)"
    r"|application/openmetrics-text|image/svg\+xml|message/.*|multipart/.*"
)

FORMS: dict[str, BodyForm] = {
    form.name: form
    for form in (  # the first one whose media types match is used
        BodyForm(
            "ndjson", "JSON, one text a line", _NDJSON_MEDIA, rows=_split_json_texts, ends=(b"\n", b"\x1e")
        ),
        BodyForm(
            "sse",
            "an event stream",
            lazy_pattern(r"text/event-stream"),
            rows=_split_events,
            row=_event_value,
            ends=(b"\r\n\r\n", b"\n\n", b"\r\r"),
        ),
        # No media type means it: texts that were stored before would fail.
        BodyForm("prometheus", "Prometheus metrics", read=lambda text: Body(read_metrics(text))),
        BodyForm("json", "JSON", _JSON_MEDIA, read=_read_json),
        BodyForm("text", "text", _TEXT_MEDIA),
        BodyForm("bytes", "bytes"),
    )
}


def form_of(content_type: str, parse: str | None = None) -> BodyForm:
    """Return the form that `parse` states, else that of the media type; bytes if that is unknown."""
    if parse is not None:
        return FORMS[parse]
    kind = content_type.partition(";")[0].strip().lower()
    fitting = (form for form in FORMS.values() if form.media and form.media.fullmatch(kind))
    return next(fitting, FORMS["bytes" if kind else "text"])


# From bytes to text. Only text codecs are used: other codecs of Python unpack archives, or rotate letters.

_CHARSET = lazy_pattern(r"""(?i);\s*charset\s*=\s*["']?([^"';\s]+)""")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CODECS = {
    **dict.fromkeys(("utf-8", "utf8", "unicode-1-1-utf-8"), "utf-8"),
    **dict.fromkeys(("us-ascii", "ascii", "ansi-x3.4-1968"), "ascii"),
    **dict.fromkeys(("latin-1", "latin1", "iso8859-1", "l1"), "latin-1"),
    **{f"iso-8859-{part}": f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15, 16)},
    **{f"{prefix}125{page}": f"cp125{page}" for prefix in ("windows-", "cp", "x-cp") for page in range(9)},
    **dict.fromkeys(("utf-16", "utf-16le", "unicode"), "utf-16-le"),  # as browsers do without a BOM
    "utf-16be": "utf-16-be",
    "utf-32": "utf-32-le",
    "utf-32le": "utf-32-le",
    "utf-32be": "utf-32-be",
    **dict.fromkeys(("shift-jis", "sjis", "x-sjis", "ms-kanji", "windows-31j", "cp932"), "cp932"),
    "euc-jp": "euc-jp",
    "iso-2022-jp": "iso2022-jp",
    "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    **dict.fromkeys(("gb2312", "gbk", "gb18030", "x-gbk", "cp936"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks-c-5601-1987", "windows-949", "cp949"), "cp949"),
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "cp866": "cp866",
    "ibm866": "cp866",
    "macintosh": "mac-roman",
    "windows-874": "cp874",
    "tis-620": "cp874",
}


def _decode_text(body: bytes, content_type: str) -> tuple[str | None, str]:
    """Return the text, or None and the reason. A byte order mark takes precedence over the header."""
    charset = _CHARSET.search(content_type)
    name = charset[1] if charset else "utf-8"
    codec = next((codec for bom, codec in _BOMS if body.startswith(bom)), None)
    codec = codec or _CODECS.get(name.lower().replace("_", "-"))
    if codec is None:
        return None, f"its charset {name!r} is not known"
    try:
        return body.decode(codec), ""
    except UnicodeDecodeError as error:
        return None, f"it is not {codec.removesuffix('-sig')} text at byte {error.start}"


def json_in(text: str) -> Json:
    """Return the object or array that the whole text is, else ABSENT: a number or a word may be meant as
    text."""
    if text.lstrip(" \t\r\n")[:1] not in ("{", "["):
        return ABSENT
    try:
        return decode(text)
    except NotJson:
        return ABSENT


# From a response to its value.


def read_body(
    body: bytes,
    content_type: str = "",
    status: int = 200,
    parse: str | None = None,
    take: int | None = None,
    max_body: int = _DEFAULT_LIMIT,
) -> Body:
    """Return the value of a body, or raise CannotReplay. `take`: read only so many rows, for forms with rows.
    A response with an error status need not have the form that `parse` states."""
    form, declared_form = form_of(content_type, parse), form_of(content_type)
    if status >= 400 and declared_form.name not in ("text", "bytes"):
        form = declared_form
    try:
        return _read_as(form, body, content_type, (status, parse is not None), take, max_body)
    except CannotReplay:
        if status < 400 or parse is None:
            raise
    return read_body(body, content_type, status, None, None, max_body)


def _read_as(
    form: BodyForm,
    body: bytes,
    content_type: str,
    status_and_stated: tuple[int, bool],
    take: int | None,
    max_body: int,
) -> Body:
    """`status_and_stated`: the status, and whether `parse:` states the form."""
    status, is_stated = status_and_stated
    if form.rows is None and take is not None and status < 400:
        hint = "leave `take` out, or state `parse: sse` or `parse: ndjson`"
        raise cannot_replay(
            "BK307", f"`take` counts rows, and the answer (status {status}) is {form.title}", hint
        )
    if not body:
        return Body("" if form.rows is None or status in (204, 304) else [])
    if form.name == "bytes":
        return Body(as_hash(body))
    text, problem = _decode_text(body, content_type)
    description = f"`parse: {form.name}`" if is_stated else f"declared as {form.title}"
    description = f"the answer (status {status}) is {description}"
    if text is None and form.name == "text" and not is_stated:
        return Body(as_hash(body), f"{description}, but {problem}: only its hash and its size are compared")
    if text is None:
        raise cannot_replay("BK307", f"{description}, but {problem}", _WRONG_FORM_HINT)
    if form.name != "text":
        check_size(text, max_body // _BYTES_PER_CONTAINER)
    try:
        return _read_rows(form, text, take) if form.rows else form.read(text)
    except NotJson as error:
        hint = _BEYOND_LIMITS_HINT if error.is_beyond_limits else _WRONG_FORM_HINT
        raise cannot_replay("BK307", f"{description}, but: {error}", hint) from None


def _read_rows(form: BodyForm, text: str, take: int | None) -> Body:
    assert form.rows is not None
    values: list[Json] = []
    for row in form.rows(text):
        if take is not None and len(values) >= take:
            break
        try:
            values.append(form.row(row))
        except NotJson as error:
            raise NotJson(
                error.kind, f"row {len(values) + 1}: {error.message}", row, error.position
            ) from None
    return Body(values)


_STRING = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def check_size(text: str, most: int) -> None:
    if _count_containers(text) > most and _count_containers(_STRING.sub("", text)) > most:
        message = f"the answer holds more than {most:,} arrays and objects"
        raise cannot_replay("BK305", message, "request less, or raise max_body (each counts as ten bytes)")


def _count_containers(text: str) -> int:
    """Estimate how many arrays and objects a JSON text has: each takes up to thirty times the memory of its
    text. Brackets inside strings count too, unless the strings were removed before."""
    return text.count("[") + text.count("{")


def text_or_hash(body: bytes) -> Json:
    """Return the output of a program: text as it is, other bytes as hash and size."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return as_hash(body)


def as_hash(body: bytes) -> dict[str, Json]:
    from hashlib import sha256  # the fastest one: a body may be large

    return {_HASH: sha256(body).hexdigest(), "size": len(body)}


def is_byte_hash(answer: Json) -> bool:
    """Whether an output stands for bytes, of which only hash and size are stored."""
    return isinstance(answer, dict) and answer.keys() == {_HASH, "size"}


def hash_path(whole: Path, answer: Json) -> Path | None:
    """Return the path of the hash, if the output at `whole` stands for bytes."""
    return (*whole, _HASH) if is_byte_hash(answer) else None


class BodyWatch:
    """Watches a body while it arrives: an endless stream is left after the rows that are taken, and one that
    does not end in time is an error that says how to read it."""

    def __init__(self, parse: str | None, take: int | None, content_type: str):
        self._form, self._take = form_of(content_type, parse), take
        self._last = self._rest = b""
        self._rows = 0

    def has_enough(self, chunk: bytes) -> bool:
        """Whether the body holds as many rows as are taken, with this chunk."""
        self._last = chunk
        if self._form.rows is None or self._take is None:
            return False
        self._rest += chunk
        complete = max(
            self._rest.rfind(end) + len(end) if end in self._rest else 0 for end in self._form.ends
        )
        if complete:
            text = self._rest[:complete].decode("utf-8", "replace")
            self._rows += sum(1 for _ in self._form.rows(text))
            self._rest = self._rest[complete:]
        return self._rows >= self._take

    def too_late(self, seconds: float) -> CannotReplay | None:
        """Return the error of a stream that did not end within its time limit; None for another body."""
        limit = f"did not end within {seconds:.3g} s"
        if self._form.rows is None:
            if self._form.name != "json" or not self._last.endswith(b"\n"):
                return None
            message = f"the answer {limit}, and has whole lines so far"
            hint = "of a stream, `parse: ndjson` with `take: N` (--parse, --take) reads the first N rows"
            return cannot_replay("BK303", message, f"{hint}; or raise `timeout`")
        message = f"{self._form.title} {limit}"
        if self._take is not None:
            message = f"{message}, and had {self._rows} of {self._take} rows"
            return cannot_replay("BK303", message, "take fewer")
        hint = "`take: N` (--take N) reads the first N rows and hangs up; or raise `timeout`"
        return cannot_replay("BK303", message, hint)
