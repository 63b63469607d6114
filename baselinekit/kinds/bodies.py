"""The body of a response: its form, by its media type or by `parse:`; its text; its value.

A new form (XML, CSV …) is a row of FORMS and its name in `Parse` (model/recipes.py): which media types it
has, and how its text is read. Forms with rows (JSON Lines, event streams) can also be read from a stream that
never ends."""

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import isfinite, isnan
from typing import Any

from baselinekit.errors import CannotReplay, cannot_replay
from baselinekit.files.jsontext import NotJson, decode, json_or_absent
from baselinekit.kinds.kind import RecognisedForm
from baselinekit.lazy import lazy_pattern
from baselinekit.model.recipes import Parse
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.structs import Struct

_BYTES_PER_CONTAINER = 10
_WRONG_FORM_HINT = (
    "correct the service: it sends something else, or the wrong Content-Type; or state `parse:`, such as"
    " `parse: ndjson` for one JSON text a line"
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
    read: Callable[[str], Json] = str
    rows: Callable[[str], Iterator[str]] | None = None
    row: Callable[[str], Json] = decode
    ends: tuple[bytes, ...] = ()


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
    if (data := fields.get("data")) is not None:  # a number stays text: its type would change by chance
        parsed = json_or_absent(data) if data.lstrip()[:1] in ("{", "[") else ABSENT
        row["data"] = data if parsed is ABSENT else parsed
    return row


# Prometheus metrics, in the text format 0.0.4: one entry for each metric family, read by prometheus-client. A
# family keeps what a dashboard or an alert relies on: its name, type, help, label names, and the bounds of
# its buckets or quantiles. Its numbers are under `samples`, because they vary by nature and are usually
# ignored as a whole. What a metric states by its labels alone (`go_info{version="go1.19"} 1`) is under
# `info`, to be compared.

_LONGEST_LINE = 20_000
"""The library takes quadratic time for the labels of a line."""

_SPREAD = {"_bucket": ("le", "buckets"), "": ("quantile", "quantiles")}
"""Labels that divide one measurement: their name, and the key under which its numbers are gathered."""


def read_metrics(text: str) -> dict[str, Json]:
    """Return the families by their names, in their order. NotJson with the line that the parser refuses."""
    try:
        from prometheus_client.parser import text_fd_to_metric_families
    except ImportError:
        message = "Prometheus metrics need the package prometheus-client"
        raise cannot_replay("BK307", message, "pip install 'baselinekit[metrics]'") from None
    seen, typed = list[str](), set[str]()

    def lines() -> Iterator[str]:
        for line in text.removesuffix("\n").split("\n"):
            seen.append(line)
            if len(line) > _LONGEST_LINE:
                raise ValueError
            words = line.split(None, 3)
            if words[:2] == ["#", "TYPE"]:
                typed.update(word.strip('"') for word in words[2:3])
            yield f"{line}\n"

    families: dict[str, Json] = {}
    read: Any = text_fd_to_metric_families
    try:
        for metric in read(lines()):
            name, samples = metric.name, [sample[:3] for sample in metric.samples]
            if metric.type == "counter":  # the library renames those without `_total`
                name += "_total" if f"{name}_total" in typed else ""
                samples = [(name, labels, value) for _, labels, value in samples]
            if name in families:  # all samples of a metric belong together
                raise ValueError
            type = "untyped" if metric.type == "unknown" else metric.type
            facts = {"type": type, "help": metric.documentation}
            families[name] = _family(name, {key: fact for key, fact in facts.items() if fact}, samples)
    except Exception:  # the library raises errors of many types for texts of other kinds
        message = f"line {len(seen)} is not a sample of a metric"
        raise NotJson("syntax", message, text, text.find(seen[-1])) from None
    return families


def _family(name: str, value: dict[str, Json], samples: list[tuple[str, dict[str, str], float]]) -> Json:
    """Return one metric, its samples gathered by their labels."""
    rows: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for sample_name, labels, number in samples:
        ending = sample_name.removeprefix(name)
        divider, gathered = _SPREAD.get(ending, ("", ""))
        is_divided = divider in labels and value["type"] in ("histogram", "summary")
        key = tuple(sorted(pair for pair in labels.items() if not (is_divided and pair[0] == divider)))
        row = rows.setdefault(key, {})
        if is_divided:
            row.setdefault(gathered, {})[labels[divider]] = _number(number)
        else:
            row[ending.lstrip("_") or "value"] = _number(number)
    if not rows:
        return value
    names: list[Json] = sorted({label for key in rows for label, _ in key})
    value["labels"] = names
    are_ones = all(row == {"value": 1} for row in rows.values())
    if name.endswith("_info") and names and are_ones:
        return value | {"info": [dict(key) for key in sorted(rows)]}
    for _, gathered in _SPREAD.values():
        if bounds := {bound for row in rows.values() for bound in row.get(gathered, ())}:
            value[gathered] = sorted(bounds, key=lambda bound: (float(bound), bound))
    value["samples"] = [({"labels": dict(key)} if key else {}) | row for key, row in sorted(rows.items())]
    return value


def _number(number: float) -> Json:
    if not isfinite(number):
        return "NaN" if isnan(number) else "+Inf" if number > 0 else "-Inf"
    return int(number) if number == int(number) and abs(number) < 2**53 else number


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
        BodyForm("prometheus", "Prometheus metrics", read=read_metrics),
        BodyForm("json", "JSON", _JSON_MEDIA, read=decode),
        BodyForm("text", "text", _TEXT_MEDIA),
        BodyForm("bytes", "bytes"),
    )
}


def form_of(content_type: str, parse: str | None = None) -> BodyForm:
    """Return the form that `parse` states, else the form of the media type; bytes if that is unknown."""
    if parse is not None:
        return FORMS[parse]
    kind = content_type.partition(";")[0].strip().lower()
    fitting = (form for form in FORMS.values() if form.media and form.media.fullmatch(kind))
    return next(fitting, FORMS["bytes" if kind else "text"])


# From bytes to text.

_CHARSET = lazy_pattern(r"""(?i);\s*charset\s*=\s*["']?([^"';\s]+)""")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NO_CHARSETS = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined")
"""Codecs of Python from bytes to text that no answer is written in."""


def _decode_text(body: bytes, content_type: str) -> tuple[str | None, str]:
    """Return the text, or None and the reason. A byte order mark takes precedence over the header."""
    charset = _CHARSET.search(content_type)
    name = charset[1] if charset else "utf-8"
    codec = next((codec for bom, codec in _BOMS.items() if body.startswith(bom)), "")
    try:
        codec = codec or codecs.lookup(name).name
        if codec.replace("_", "-") not in _NO_CHARSETS:
            return body.decode(codec), ""  # LookupError for codecs that unpack archives, or rotate letters
    except UnicodeDecodeError as error:
        return None, f"it is not {codec.removesuffix('-sig')} text at byte {error.start}"
    except (LookupError, ValueError):
        pass
    return None, f"its charset {name!r} is not known"


# From a response to its value.


def read_body(
    body: bytes,
    content_type: str = "",
    status: int = 200,
    parse: str | None = None,
    take: int | None = None,
    max_body: int = 10_000_000,
) -> Body:
    """Return the value of a body, or raise CannotReplay. `take`: how many rows to read, for forms with rows.
    A response with an error status need not have the form that `parse` states."""
    is_failed = status >= 400
    if is_failed and parse is not None:
        if form_of(content_type).name in ("text", "bytes"):
            with suppress(CannotReplay):
                return read_body(body, content_type, 200, parse, take, max_body)
        parse = None
    form, about = form_of(content_type, parse), f"the answer (status {status}) is"
    if form.rows is None and take is not None and not is_failed:
        message = f"`take` counts rows, and {about} {form.title}"
        raise cannot_replay("BK307", message, "leave `take` out, or state `parse: sse` or `parse: ndjson`")
    if not body:
        return Body("" if form.rows is None or status in (204, 304) else [])
    if form.name == "bytes":
        return Body(as_hash(body))
    text, problem = _decode_text(body, content_type)
    about = f"{about} `parse: {form.name}`" if parse else f"{about} declared as {form.title}"
    if text is None and form.name == "text" and not parse:
        return Body(as_hash(body), f"{about}, but {problem}: only its hash and its size are compared")
    if text is None:
        raise cannot_replay("BK307", f"{about}, but {problem}", _WRONG_FORM_HINT)
    most = max_body // _BYTES_PER_CONTAINER  # each takes up to thirty times the memory of its text
    if form.name != "text" and _brackets(text) > most < _brackets(_STRING.sub("", text)):
        message = f"the answer holds more than {most:,} arrays and objects"
        raise cannot_replay("BK305", message, "request less, or raise max_body (each counts as ten bytes)")
    try:
        return Body(_read_rows(form, text, take) if form.rows else form.read(text))
    except NotJson as error:
        hint = _BEYOND_LIMITS_HINT if error.is_beyond_limits else _WRONG_FORM_HINT
        raise cannot_replay("BK307", f"{about}, but: {error}", hint) from None


def _read_rows(form: BodyForm, text: str, take: int | None) -> list[Json]:
    assert form.rows is not None
    values: list[Json] = []
    for row in form.rows(text):
        if take is not None and len(values) >= take:
            break
        try:
            values.append(form.row(row))
        except NotJson as error:
            message = f"row {len(values) + 1}: {error.message}"
            raise NotJson(error.kind, message, row, error.position) from None
    return values


_STRING = lazy_pattern(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def _brackets(text: str) -> int:
    return text.count("[") + text.count("{")


def text_or_hash(body: bytes) -> Json:
    """Return the output of a program: text as it is, other bytes as hash and size."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return as_hash(body)


def as_hash(body: bytes) -> dict[str, Json]:
    from hashlib import sha256  # the fastest one: a body may be large

    return {"sha256": sha256(body).hexdigest(), "size": len(body)}


def is_byte_hash(answer: Json) -> bool:
    """Whether an output describes bytes by their hash and size."""
    is_hash = isinstance(answer, dict) and answer.keys() == {"sha256", "size"}
    return is_hash and isinstance(answer["sha256"], str) and isinstance(answer["size"], int)


# A form that a response has but does not declare, for a new recipe to state.

_DEFINING_METRICS = ("type", "labels", "buckets", "quantiles")
_IGNORED_OF_METRICS = ("body.*.samples",)
_AS_TEXT = "(--parse text compares the text)"
_METRICS_NOTE = "their numbers are ignored, and further metrics may come: `comparison` states both"


def is_metrics_definition(path: Path) -> bool:
    """Whether a place in metrics states what a metric consists of, such as the name of a label."""
    return len(path) > 1 and path[1] in _DEFINING_METRICS


def undeclared_form(output: Json, parse: str) -> RecognisedForm | None:
    """Recognise JSON sent as plain text, as CouchDB and others do if a request asks for no media type; and
    metrics, which a `version` in the media type declares."""
    body = output.get("body") if isinstance(output, dict) else None
    if parse == "prometheus" and isinstance(body, dict):
        return RecognisedForm(output, {}, (_METRICS_NOTE,), _IGNORED_OF_METRICS)
    if parse or not isinstance(body, str):
        return None
    content_type = str(output["headers"].get("content-type", "")).lower()
    kind = content_type.partition(";")[0].strip()
    if kind != "text/plain":
        return None
    if body.lstrip(" \t\r\n")[:1] in ("{", "["):  # a number or a word may be meant as text
        with suppress(NotJson):
            value = decode(body)
            note = f"the body is JSON, sent as text/plain: it is compared as JSON {_AS_TEXT}"
            return RecognisedForm({**output, "body": value}, {"parse": "json"}, (note,))
    if "version=" not in content_type:
        return None
    try:
        families = read_metrics(body)
    except (NotJson, CannotReplay) as error:
        note = f"declared as Prometheus metrics, but compared as text: {error}"
        return RecognisedForm(output, {}, (note,))
    compared = "names, types, help, label names and bounds are compared"
    notes = f"the body is Prometheus metrics: {compared} {_AS_TEXT}", _METRICS_NOTE
    return RecognisedForm({**output, "body": families}, {"parse": "prometheus"}, notes, _IGNORED_OF_METRICS)


class BodyWatch:
    """Watches a body while it arrives: an endless stream is left after the rows that are taken, and one that
    does not end in time is an error with a hint how to read it."""

    def __init__(self, parse: str | None, take: int | None, content_type: str):
        self._form, self._take = form_of(content_type, parse), take
        self._rest = b""
        self._rows = 0

    def has_enough(self, chunk: bytes) -> bool:
        """Whether the body holds as many rows as are taken, with this chunk."""
        if self._form.rows is None or self._take is None:
            return False
        self._rest += chunk
        ends = (self._rest.rfind(end) + len(end) for end in self._form.ends if end in self._rest)
        if complete := max(ends, default=0):
            self._rows += sum(1 for _ in self._form.rows(self._rest[:complete].decode("utf-8", "replace")))
            self._rest = self._rest[complete:]
        return self._rows >= self._take

    def too_late(self, seconds: float) -> CannotReplay | None:
        """Return the error of a stream that did not end within its time limit; None for another body."""
        if self._form.rows is None:
            return None
        message = f"{self._form.title} did not end within {seconds:.3g} s"
        hint = "`take: N` (--take N) reads the first N rows and hangs up: take fewer, or raise `timeout`"
        return cannot_replay("BK303", message, hint)
