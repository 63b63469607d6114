"""Intercepts HTTP calls: while a test runs, the function of each client library that sends a request is
replaced. No library is imported for this; one that a test imports later is patched as well."""

import importlib.machinery
import io
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from baselinekit.models.exchanges import HttpAnswer, is_ended, media_type
from baselinekit.pytest_plugin.tape import CallUnderWay, Tape

_HTTPX = ("httpx", "httpx2")
_REQUESTS = "requests.adapters"
_NOT_RECORDED = ("http.client", "aiohttp.client")
"""Libraries whose calls are refused: urllib and urllib3 send theirs through http.client."""

_WATCHED = (*_HTTPX, _REQUESTS, *_NOT_RECORDED)

_Patch = tuple[type, str, Callable[..., Any], Callable[..., Any]]


class Interception:
    """Sends every call through these libraries to a tape, between `start` and `stop`."""

    def __init__(self, tape: Tape):
        self._tape = tape
        self._running = False
        self._patches: list[_Patch] = []
        self._watch = _ImportWatcher(_WATCHED, self._catch)
        self.within_requests = threading.local()
        self.paused = False
        """Whether calls pass through, during the setup of fixtures that other tests share."""

    def start(self) -> None:
        self._running = True
        sys.meta_path.insert(0, self._watch)
        for name in _WATCHED:
            module = sys.modules.get(name)
            if module is not None:
                self._catch(module)

    def stop(self) -> None:
        """Undo the patches. Where the test has replaced ours by another patch, that stays: it may still call
        ours, which passes every call through from now on."""
        self._running = False
        with suppress(ValueError):
            sys.meta_path.remove(self._watch)
        for owner, name, original, replacement in reversed(self._patches):
            if owner.__dict__.get(name) is replacement:
                setattr(owner, name, original)
        self._patches.clear()

    def _catch(self, module: ModuleType) -> None:
        if hasattr(module, "HTTPAdapter"):
            self._replace(module.HTTPAdapter, "send", _requests_send)
        elif module.__name__ == "http.client":
            self._replace(module.HTTPConnection, "putrequest", _refuse_connection)
        elif module.__name__ == "aiohttp.client":
            self._replace(module.ClientSession, "_request", _refuse_session)
        elif hasattr(module, "AsyncHTTPTransport"):
            self._replace(module.HTTPTransport, "handle_request", _httpx_send, module)
            self._replace(module.AsyncHTTPTransport, "handle_async_request", _httpx_send_async, module)

    def _replace(self, owner: type, name: str, make: Callable[..., Callable[..., Any]], *args: Any) -> None:
        if any(patch[:2] == (owner, name) for patch in self._patches):  # the same library under two names
            return
        original = owner.__dict__[name]
        replacement = make(self, original, *args)
        self._patches.append((owner, name, original, replacement))
        setattr(owner, name, replacement)

    def tape_for(self, url: str) -> Tape | None:
        return self._tape if self._running and not self.paused and self._tape.wants(url) else None


def _refuse_connection(interception: Interception, original: Callable[..., Any]) -> Callable[..., Any]:
    def putrequest(connection: Any, method: str, *args: Any, **options: Any) -> Any:
        host, port = connection.host, connection.port
        if getattr(connection, "_tunnel_host", None):  # through a proxy
            host, port = connection._tunnel_host, connection._tunnel_port
        url = f"{'https' if hasattr(connection, '_context') else 'http'}://{host}:{port}"
        tape = interception.tape_for(url)
        if tape is not None and not getattr(interception.within_requests, "yes", False):
            raise tape.refuse_library(method, url, "http.client (urllib, urllib3)")
        return original(connection, method, *args, **options)

    return putrequest


def _refuse_session(interception: Interception, original: Callable[..., Any]) -> Callable[..., Any]:
    async def request(session: Any, method: str, url: Any, *args: Any, **options: Any) -> Any:
        base = getattr(session, "_base_url", None)
        parts = urlsplit(str(url if base is None else base.join(type(base)(str(url)))))
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        if (tape := interception.tape_for(place)) is not None:
            raise tape.refuse_library(method, place, "aiohttp")
        return await original(session, method, url, *args, **options)

    return request


class _ImportWatcher:
    """A finder that leaves importing to the other finders, and calls back after one of these modules is
    imported."""

    def __init__(self, names: Sequence[str], callback: Callable[[ModuleType], None]):
        self._names, self._callback = names, callback

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name not in self._names:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None and spec.loader is not None:
                return self.watched(spec)
        return None

    def watched(self, spec: importlib.machinery.ModuleSpec) -> importlib.machinery.ModuleSpec:
        loader: Any = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            with suppress(AttributeError):
                del loader.exec_module
            execute(module)
            self._callback(module)

        with suppress(AttributeError):  # a loader whose attributes cannot be set is left alone
            loader.exec_module = exec_module
        return spec


# httpx and httpx2: a response has a stream, which is read once, as a whole or piece by piece.


def _httpx_send(interception: Interception, original: Callable[..., Any], module: Any) -> Callable[..., Any]:
    recording_stream, recorded_stream = _streams(module)

    def handle_request(transport: Any, request: Any) -> Any:
        tape = interception.tape_for(str(request.url))
        if tape is None or _is_mocked(transport, "handle_request"):
            return original(transport, request)
        body = request.read()
        reply = tape.ask(request.method, str(request.url), request.headers.multi_items(), body)
        if isinstance(reply, HttpAnswer):
            return _httpx_response(module, request, reply, recorded_stream(tape.pieces(reply)))
        response = original(transport, request)
        response.stream = recording_stream(response, reply, module)
        return response

    return handle_request


def _httpx_send_async(
    interception: Interception, original: Callable[..., Any], module: Any
) -> Callable[..., Any]:
    recording_stream, recorded_stream = _streams(module)

    async def handle_async_request(transport: Any, request: Any) -> Any:
        tape = interception.tape_for(str(request.url))
        if tape is None or _is_mocked(transport, "handle_async_request"):
            return await original(transport, request)
        body = await request.aread()
        reply = tape.ask(request.method, str(request.url), request.headers.multi_items(), body)
        if isinstance(reply, HttpAnswer):
            return _httpx_response(module, request, reply, recorded_stream(tape.pieces(reply)))
        response = await original(transport, request)
        response.stream = recording_stream(response, reply, module)
        return response

    return handle_async_request


def _is_mocked(transport: Any, name: str) -> bool:
    """Whether the transport's pool is a mock, such as that of respx."""
    pool = getattr(transport, "_pool", None)
    module = getattr(getattr(type(pool), name, None), "__module__", None)
    return pool is not None and not str(module).startswith("httpcore")


def _httpx_response(module: Any, request: Any, answer: HttpAnswer, stream: Any) -> Any:
    extensions = {"http_version": b"HTTP/1.1"}
    headers = _headers_of(answer, request.method)
    return module.Response(
        answer.status, headers=headers, stream=stream, request=request, extensions=extensions
    )


def _headers_of(answer: HttpAnswer, method: str) -> list[tuple[str, str]]:
    """Return the headers, with the length of the body where it is known in advance."""
    headers = list(answer.headers)
    if answer.complete and method != "HEAD" and answer.kind != "text/event-stream" and answer.body:
        headers.append(("content-length", str(len(answer.body))))
    return headers


class _RecordingStream:
    """The stream of a response, which also records what is read from it."""

    def __init__(self, response: Any, call: CallUnderWay, module: Any):
        self._inner, self._call, self._module = response.stream, call, module
        self._status = response.status_code
        self._headers = tuple((name.lower(), value) for name, value in response.headers.multi_items())
        self._parts: list[bytes] = []
        self._is_at_end = False
        self._is_broken = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            for part in self._inner:
                self._parts.append(part)
                yield part
        except BaseException as error:
            self._is_broken = not isinstance(error, GeneratorExit)
            raise
        self.finish()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._inner:
                self._parts.append(part)
                yield part
        except BaseException as error:
            self._is_broken = not isinstance(error, GeneratorExit)
            raise
        self.finish()

    def close(self) -> None:
        self._inner.close()
        self.finish_early()

    async def aclose(self) -> None:
        await self._inner.aclose()
        self.finish_early()

    def finish(self) -> None:
        self._is_at_end = True
        self._call.answered(_build_answer(self._status, self._headers, self._parts, True, self.plain))

    def finish_early(self) -> None:
        """Record what was read as incomplete: the reader closed the stream before its end."""
        if not self._is_at_end and not self._is_broken:
            self._is_at_end = True
            self._call.answered(_build_answer(self._status, self._headers, self._parts, False, self.plain))

    def plain(self, raw: bytes, encoding: str) -> bytes:
        """Decompress a body with the library's own decoders."""
        headers = {"content-encoding": encoding}
        return bytes(self._module.Response(200, headers=headers, content=raw).content)


def _build_answer(
    status: int,
    headers: tuple[tuple[str, str], ...],
    parts: list[bytes],
    is_at_end: bool,
    decompress: Callable[[bytes, str], bytes] | None,
) -> HttpAnswer:
    """Return the answer that was read, decompressed. It is complete when it was read to its end, when its
    length is the announced one, or when a stream has sent its end marker."""
    header_values = dict(headers)
    raw = body = b"".join(parts)
    encoding = header_values.get("content-encoding", "")
    if decompress is not None and header_values.get("content-length", "") == str(len(raw)):
        is_at_end = True
    if decompress is not None and encoding:
        body = decompress(raw, encoding) if is_at_end else _decompress_partial(raw)
    return HttpAnswer(
        status, headers, body, is_at_end or is_ended(media_type(header_values.get("content-type", "")), body)
    )


def _decompress_partial(raw: bytes) -> bytes:
    """Decompress as much as possible of an incomplete body."""
    import zlib

    with suppress(zlib.error):
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(raw)
    return b""


class _BodyStream:
    """A recorded body as a stream, for sync and async readers."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    def close(self) -> None:
        """Nothing to close."""

    async def aclose(self) -> None:
        """Nothing to close."""


def _streams(module: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return both kinds of stream as subclasses of this library's stream classes, which it checks for."""
    bases = (module.SyncByteStream, module.AsyncByteStream)
    return type("KeptStream", (_RecordingStream, *bases), {}), type("GivenStream", (_BodyStream, *bases), {})


# requests: a body that is not streamed is read at once, any other through urllib3's response.


def _requests_send(interception: Interception, original: Callable[..., Any]) -> Callable[..., Any]:
    def send_on(adapter: Any, *args: Any, **options: Any) -> Any:
        interception.within_requests.yes = True
        try:
            return original(adapter, *args, **options)
        finally:
            interception.within_requests.yes = False

    def send(adapter: Any, request: Any, stream: bool = False, *args: Any, **options: Any) -> Any:
        tape = interception.tape_for(request.url or "")
        if tape is None:
            return send_on(adapter, request, stream, *args, **options)
        headers = [(_text(name), _text(value)) for name, value in request.headers.items()]
        reply = tape.ask(request.method, request.url, headers, _requests_body(request))
        if isinstance(reply, HttpAnswer):
            return _requests_response(adapter, request, reply, tape.pieces(reply))
        response = send_on(adapter, request, stream, *args, **options)
        copy = _RecordingRaw(response, reply)
        if stream:
            response.raw = copy
        elif response.content is not None and not getattr(response.raw, "length_remaining", 0):
            copy.finish(whole_body=response.content)  # older versions take a truncated answer for a whole one
        return response

    return send


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _requests_body(request: Any) -> bytes:
    """Return the body of a request. A body that can be read only once is replaced by a copy in memory."""
    body = request.body
    if body is None or isinstance(body, bytes | bytearray):
        return bytes(body or b"")
    if isinstance(body, str):
        return body.encode("utf-8")
    if hasattr(body, "read"):
        place = body.tell() if hasattr(body, "seek") else None
        data = body.read()
        data = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        if place is None:
            request.body = io.BytesIO(data)
        else:
            body.seek(place)
        return data
    pieces = [piece.encode("utf-8") if isinstance(piece, str) else bytes(piece) for piece in body]
    request.body = pieces
    return b"".join(pieces)


class _RecordingRaw:
    """Wraps urllib3's response for requests, and records what is read from it."""

    def __init__(self, response: Any, call: CallUnderWay):
        self._raw, self._call, self._status = response.raw, call, response.status_code
        self._headers = tuple((name.lower(), _text(value)) for name, value in response.raw.headers.items())
        self._parts: list[bytes] = []
        self._is_plain = False
        self._is_at_end = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def __iter__(self) -> Iterator[bytes]:
        return self.copying(iter(self._raw), False)

    def stream(self, amt: int = 65_536, decode_content: bool | None = None) -> Iterator[bytes]:
        return self.copying(self._raw.stream(amt, decode_content=decode_content), bool(decode_content))

    def copying(self, parts: Iterator[bytes], is_plain: bool) -> Iterator[bytes]:
        self._is_plain = is_plain
        try:
            for part in parts:
                self._parts.append(part)
                yield part
        except BaseException as error:
            self._is_at_end = not isinstance(
                error, GeneratorExit
            )  # interrupted by an error: nothing is recorded
            raise
        self.finish()

    def read(self, amt: int | None = None, decode_content: bool | None = None, *args: Any) -> bytes:
        data: bytes = self._raw.read(amt, decode_content, *args)
        self._is_plain = bool(decode_content)
        self._parts.append(data)
        if amt is None or (amt and not data):
            self.finish()
        return data

    def close(self) -> None:
        self._raw.close()
        self.finish(False)

    def release_conn(self) -> None:
        """Called when the reader is done, at the end of the body or before."""
        self._raw.release_conn()
        self.finish(False)

    def finish(self, is_at_end: bool = True, whole_body: bytes | None = None) -> None:
        """Record the answer, once. `whole_body`: the body, where it was read elsewhere."""
        if not self._is_at_end:
            self._is_at_end = True
            parts = self._parts if whole_body is None else [whole_body]
            plain = None if self._is_plain or whole_body is not None else _by_urllib3
            self._call.answered(_build_answer(self._status, self._headers, parts, is_at_end, plain))


def _by_urllib3(raw: bytes, encoding: str) -> bytes:
    response = sys.modules["urllib3"].HTTPResponse(io.BytesIO(raw), {"content-encoding": encoding})
    return bytes(response.data)


def _requests_response(adapter: Any, request: Any, answer: HttpAnswer, pieces: Iterator[bytes]) -> Any:
    from http import HTTPStatus
    from http.client import HTTPMessage

    message = HTTPMessage()
    headers = _headers_of(answer, request.method)
    for name, value in headers:
        message[name] = value
    reasons: Mapping[int, str] = {status.value: status.phrase for status in HTTPStatus}
    raw = sys.modules["urllib3"].HTTPResponse(
        body=_BodyFile(pieces),
        headers=headers,
        status=answer.status,
        version=11,
        reason=reasons.get(answer.status, ""),
        preload_content=False,
        decode_content=False,
        original_response=_OriginalResponse(message),
        request_method=request.method,
    )
    raw.stream = lambda amt=65_536, decode_content=None: _slice_pieces(pieces, amt)
    return adapter.build_response(request, raw)


def _slice_pieces(pieces: Iterator[bytes], size: int | None) -> Iterator[bytes]:
    """Cut pieces to at most `size` bytes, without joining them: no piece waits for the next."""
    for piece in pieces:
        for start in range(0, len(piece), size or len(piece)):
            yield piece[start : start + (size or len(piece))]


class _OriginalResponse:
    """The part of http.client's response that requests reads: the headers, for their cookies."""

    def __init__(self, message: Any):
        self.msg = message

    def isclosed(self) -> bool:
        return True

    def close(self) -> None:
        """Nothing to close: there is no connection."""


class _BodyFile(io.RawIOBase):
    """A recorded body as a file, read piece by piece."""

    def __init__(self, pieces: Iterator[bytes]):
        self._pieces, self.remaining = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.remaining:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self.remaining = piece
        size = min(len(buffer), len(self.remaining))
        buffer[:size], self.remaining = self.remaining[:size], self.remaining[size:]
        return size
