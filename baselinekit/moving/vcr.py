"""Cassettes of vcrpy and pytest-recording, YAML or JSON: each request with its recorded answer, so that
nothing has to be sent."""

import base64
import binascii
import posixpath
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from baselinekit.files import libyaml
from baselinekit.files.languages import JSON
from baselinekit.importers import drafts
from baselinekit.importers.credentials import HiddenValues
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, LeftOut, NotCarried, SourceText
from baselinekit.importers.lines import draft_of
from baselinekit.model.recipes import Response, http_date
from baselinekit.structs import Struct, replace

TITLE = "vcr"
_SUFFIXES = (".yaml", ".yml", ".json")
_MOST_BYTES = 10_000_000


class RecordedAnswer(Struct):
    """A recorded answer, and its time if the cassette states it."""

    response: Response
    moment: str | None


class Cassette(Struct):
    """The requests of a file, and their answers in the same order."""

    imported: drafts.ImportedFile
    answers: tuple[RecordedAnswer, ...]


def recognises(file: str, text: str) -> bool:
    """Whether a file may be a cassette, by its suffix and a word in it."""
    return posixpath.splitext(file)[1] in _SUFFIXES and "interactions" in text


def read(source: SourceText, choices: ImportChoices) -> Cassette | None:
    """The cassette in a file; None if the file is not a cassette."""
    value = _value(source)
    if not isinstance(value, dict) or not isinstance(value.get("interactions"), list):
        return None
    recorded: list[DraftRecipe] = []
    answers: list[RecordedAnswer] = []
    left_out: list[LeftOut] = []
    credentials = HiddenValues()
    for number, interaction in enumerate(value["interactions"]):
        line = source.line(("interactions", number))
        try:
            request, answer = _request(interaction["request"]), _answer(interaction["response"])
            draft = draft_of(credentials.hidden(request), {}, line, (), choices)
            recorded.append(replace(draft, status=answer.response.status))
            answers.append(answer)
        except NotCarried as error:
            left_out.append(LeftOut(line, error.message, error.hint))
        except (KeyError, TypeError, ValueError, AttributeError):
            left_out.append(LeftOut(line, "an interaction that cannot be read", "record it again"))
    imported = drafts.ImportedFile(tuple(recorded), tuple(left_out), secrets=credentials.found)
    return Cassette(imported, tuple(answers))


def _value(source: SourceText) -> Any:
    if not source.is_json:
        documents = libyaml.load_foreign(source.text, source.name)
        return documents[0] if documents else None
    return JSON.load(source.text, source.name)[0]


# The request.


def _request(raw: Mapping[str, Any]) -> dict[str, Any]:
    url = str(raw["uri"]).partition("#")[0]
    if not url.startswith(("http://", "https://")):
        raise NotCarried("a request of no http address")
    method = str(raw["method"]).upper()
    if flaw := drafts.flaw_of_url(url):
        raise NotCarried(f"{method} {flaw}", drafts.HINT_FOR_URL)
    headers = [*_headers(raw.get("headers"))]
    by_name = {name.lower(): value for name, value in reversed(headers)}
    media = drafts.media_of(by_name.get("content-type", ""))
    body = _sent(raw.get("body"), media, f"{method} {url.partition('?')[0]}")
    return drafts.recorded_request(method, url, headers, drafts.cookie_pairs(by_name.get("cookie", "")), body)


def _headers(raw: Any) -> Iterator[tuple[str, str]]:
    """The headers by their names; several values are joined."""
    for name, value in raw.items() if isinstance(raw, dict) else ():
        values = value if isinstance(value, list | tuple) else [value]
        yield _text(name), ", ".join(map(_text, values))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _sent(raw: Any, media: str, request_name: str) -> dict[str, Any]:
    if raw in (None, "", b""):
        return {}
    if isinstance(raw, dict | list):  # an older recorder stored a JSON body as its value
        return {"json": raw}
    message = f"a body of {media}" if media.startswith("multipart/") else "a body that is not text"
    with suppress(UnicodeDecodeError):
        text = raw.decode("utf-8") if isinstance(raw, bytes) else raw
        if isinstance(text, str) and not media.startswith("multipart/"):
            return drafts.body_of(text, media)
    raise NotCarried(f"{request_name}: {message}", "capture it: baselinekit capture http -d @FILE or -F")


# The answer.


def _answer(raw: Mapping[str, Any]) -> RecordedAnswer:
    status = raw.get("status", raw.get("status_code"))
    code = status["code"] if isinstance(status, dict) else status
    if isinstance(code, bool) or not isinstance(code, int):
        raise NotCarried("an answer without a status", "record it again")
    headers = [*_headers(raw.get("headers"))]
    body = _received(raw.get("body", raw.get("content")))
    coding = next((value for name, value in headers if name.lower() == "content-encoding"), "")
    plain = _decoded(body, coding.strip().lower())
    kept = [pair for pair in headers if pair[0].lower() not in ("content-encoding", "transfer-encoding")]
    date = next((value for name, value in headers if name.lower() == "date"), "")
    return RecordedAnswer(Response(code, tuple(kept), plain), _moment(date))


def _received(raw: Any) -> bytes:
    if isinstance(raw, dict):
        if isinstance(packed := raw.get("base64_string"), str):
            try:
                return base64.b64decode(packed)
            except binascii.Error:
                raise NotCarried("an answer whose base64 is none", "record it again") from None
        raw = raw.get("string")
    if raw is None:
        return b""
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogateescape")
    if isinstance(raw, bytes):
        return raw
    raise NotCarried("an answer whose body is neither text nor bytes", "record it again")


def _decoded(body: bytes, coding: str) -> bytes:
    """The body without its compression; many recorders have undone it already."""
    if coding in ("", "identity") or not body:
        return body
    decompressor = zlib.decompressobj(32 + zlib.MAX_WBITS)  # of gzip or deflate
    try:
        plain = decompressor.decompress(body, _MOST_BYTES + 1)
    except zlib.error:
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            hint = "record it with decode_compressed_response=True"
            raise NotCarried(f"an answer that is encoded as {coding}", hint) from None
        return body
    if len(plain) > _MOST_BYTES:
        raise NotCarried(f"an answer of more than {_MOST_BYTES:,} bytes", "leave it out")
    if not decompressor.eof:
        raise NotCarried(f"an answer whose {coding} data ends in the middle", "record it again")
    return plain


def _moment(header: str) -> str | None:
    """The time of an answer in UTC, by its Date header; None if it states none."""
    seconds = http_date(header)
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):  # a zone leads beyond the calendar
        return None
