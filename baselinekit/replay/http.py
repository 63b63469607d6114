"""The door for requests: httpcore, under a network backend of our own that holds a whole request to one time
limit and can be cut off from another thread.

httpcore is what httpx stands on; of httpx itself come the certificates and the digest authentication."""

import logging
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import httpcore

from baselinekit.errors import BaselinekitError, CannotReplay
from baselinekit.model.observation import Request, Response
from baselinekit.replay import coding
from baselinekit.replay.line import Cut, InTime, Line
from baselinekit.replay.proxies import proxies_of_environment, proxy_for
from baselinekit.replay.retries import IDEMPOTENT
from baselinekit.replay.setting import cannot
from baselinekit.replay.tls import new_context
from baselinekit.replay.urls import shown

for _name in ("httpx", "httpcore", "hpack"):  # they log URLs and headers, credentials included (F49)
    logging.getLogger(_name).setLevel(logging.WARNING)

_CONNECT_TIMEOUT = 5.0
_IDLE_CONNECTIONS = 8
_LARGEST_HEAD = 65_536
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_WITHOUT_BODY = frozenset((204, 304))
_START = "start the service, or correct its base_url"
_BROKEN = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)

_Tls = tuple[bool | str, str | None, bool]
_Headers = list[tuple[bytes, bytes]]


class Client:
    """Sends requests from any number of threads, each over connections of its own."""

    def __init__(self, proxies: Mapping[str, str] | None = None):
        self._proxies = proxies_of_environment() if proxies is None else proxies
        self._own = threading.local()
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._pools: list[httpcore.ConnectionPool] = []
        self._contexts: dict[_Tls, ssl.SSLContext] = {}
        self._cancelled = threading.Event()

    def send(self, request: Request) -> Response:
        """The answer to one request, or CannotReplay. No redirect is followed."""
        started = time.monotonic()
        line = self._line()
        line.start(request.timeout)
        try:
            status, headers, body = self._exchange(request, line)
            again = _with_digest(request, headers) if status == 401 and request.digest else None
            if again:
                status, headers, body = self._exchange(again, line)
        except BaselinekitError:
            raise
        except Exception as error:  # a server can provoke any of a library's: none leaves this room
            raise _why(error, request, line) from None
        texts = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
        return Response(status, texts, body, time.monotonic() - started)

    def sleep(self, seconds: float) -> None:
        """Wait, unless cancelled."""
        self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Cut every request off, from another thread; from now on each one fails."""
        self._cancelled.set()
        with self._lock:
            for line in self._lines:
                line.cut()

    def close(self) -> None:
        """Close every connection, once no thread sends any more."""
        with self._lock:
            pools, self._pools = self._pools, []
        self._own = threading.local()
        for pool in pools:
            pool.close()

    def _line(self) -> Line:
        line: Line | None = getattr(self._own, "line", None)
        if line is None:
            line = self._own.line = Line(self._cancelled)
            self._own.pools = {}
            with self._lock:
                self._lines.append(line)
        return line

    def _exchange(self, request: Request, line: Line) -> tuple[int, _Headers, bytes]:
        try:
            return self._once(request, line)
        except _BROKEN:
            # A server may close an idle connection at the moment in which it is used again.
            if line.connected or line.received or request.method not in IDEMPOTENT:
                raise
        return self._once(request, line)

    def _once(self, request: Request, line: Line) -> tuple[int, _Headers, bytes]:
        line.begin()
        line.left()
        url = urlsplit(request.url)
        target = f"{url.path}?{url.query}" if url.query else url.path
        headers = [(b"Host", url.netloc.encode())]
        headers += [(name.encode(), value.encode()) for name, value in request.headers]
        if request.content or request.method in _WITH_BODY:
            headers.append((b"Content-Length", b"%d" % len(request.content)))
        asked = httpcore.Request(
            request.method, _address(url, target), headers=headers, content=request.content
        )
        answer = self._pool(url, request, line).handle_request(asked)
        with closing(answer):
            body = _body(request, answer)
        return answer.status, answer.headers, body

    def _pool(self, url: SplitResult, request: Request, line: Line) -> httpcore.ConnectionPool:
        tls = (request.verify, request.cert, request.http2) if url.scheme == "https" else (True, None, False)
        proxy = proxy_for(url.scheme, url.hostname or "", self._proxies) if self._proxies else None
        pools: dict[tuple[str, str | None, _Tls], httpcore.ConnectionPool] = self._own.pools
        key = (url.scheme, proxy, tls)
        if key not in pools:
            options: dict[str, Any] = {
                "ssl_context": self._context(tls) if url.scheme == "https" else None,
                "max_connections": None,
                "max_keepalive_connections": _IDLE_CONNECTIONS,
                "http2": request.http2,
                "network_backend": _Backend(line),
            }
            pools[key] = _proxied(proxy, options) if proxy else httpcore.ConnectionPool(**options)
            with self._lock:
                self._pools.append(pools[key])
        return pools[key]

    def _context(self, tls: _Tls) -> ssl.SSLContext:
        """One for all threads: reading the certificates takes longer than a request."""
        from httpx import create_ssl_context

        with self._lock:
            if tls not in self._contexts:
                self._contexts[tls] = new_context(*tls, usual=create_ssl_context)
            return self._contexts[tls]


class _Backend(httpcore.NetworkBackend):
    def __init__(self, line: Line):
        self._line = line
        self._plain = httpcore.SyncBackend()

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.NetworkStream:
        limit = min(_CONNECT_TIMEOUT, self._line.left())
        local = options.get("local_address")
        attempt = InTime(
            lambda: self._plain.connect_tcp(host, port, limit, local, options.get("socket_options")),
            lambda stream: stream.close(),
        )
        stream = attempt.get(limit, self._line.cancelled)
        if stream is None:
            raise Cut if self._line.cancelled.is_set() else httpcore.ConnectTimeout
        self._line.connected = True
        return _Stream(stream, self._line)


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends with the time of the whole request. It also notices when a server
    sends more than its answer: what is left over would be taken for the next answer."""

    def __init__(self, inner: httpcore.NetworkStream, line: Line):
        self._inner, self._line = inner, line
        self._socket = inner.get_extra_info("socket")
        line.opened(self._socket)
        self._head = b""
        self._received = 0
        self._answering = False
        self.spoiled = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._line.left())
        self._line.received += len(data)
        self._received += len(data)
        self._answering = True
        if b"\r\n\r\n" not in self._head:
            self._head += data
            while self._head.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in self._head:
                interim, self._head = self._head.split(b"\r\n\r\n", 1)
                self._received -= len(interim) + 4
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._answering:
            self._answering, self._received, self._head = False, 0, b""
        self._inner.write(buffer, self._line.left())

    def surplus(self, length: int) -> bool:
        """Whether more came than an answer with a body of that length."""
        end = self._head.find(b"\r\n\r\n")
        self.spoiled = end >= 0 and self._received > end + 4 + length
        return self.spoiled

    def close(self) -> None:
        self._line.closed(self._socket)
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        limit = min(_CONNECT_TIMEOUT, self._line.left())
        try:
            return _Stream(self._inner.start_tls(ssl_context, server_hostname, limit), self._line)
        finally:
            self._line.closed(self._socket)

    def get_extra_info(self, info: str) -> Any:
        # The pool takes an idle connection that is readable for a closed one, and opens another.
        return True if info == "is_readable" and self.spoiled else self._inner.get_extra_info(info)


def _body(request: Request, answer: httpcore.Response) -> bytes:
    if sum(len(name) + len(value) + 4 for name, value in answer.headers) > _LARGEST_HEAD:
        raise cannot("BK305", f"the headers of the answer are larger than {_LARGEST_HEAD:,} bytes")
    headers = {name.lower(): value for name, value in answer.headers}
    stated = int(headers.get(b"content-length", b"0"))
    empty = request.method == "HEAD" or answer.status in _WITHOUT_BODY
    if stated > request.max_body and not empty:
        raise coding.too_large(request.max_body)
    codings = b", ".join(value for name, value in answer.headers if name.lower() == b"content-encoding")
    body = coding.read(answer.iter_stream(), "" if empty else codings.decode("latin-1"), request.max_body)
    stream = answer.extensions["network_stream"]
    measured = isinstance(stream, _Stream) and (empty or b"content-length" in headers)
    if measured and stream.surplus(0 if empty else stated) and not empty:
        raise cannot("BK304", "the answer is longer than its Content-Length says")
    return body


def _with_digest(request: Request, headers: _Headers) -> Request | None:
    """The request once more, with what the challenge asks for; None when it is no challenge for digest."""
    from httpx import DigestAuth, Request as Asked, Response as Answered

    assert request.digest is not None
    asked = Asked(request.method, request.url)
    steps = DigestAuth(request.digest.username or "", request.digest.password or "").auth_flow(asked)
    next(steps)
    try:
        again = steps.send(Answered(401, headers=headers, request=asked))
    except StopIteration:
        return None
    return replace(
        request, headers=(*request.headers, ("Authorization", again.headers["Authorization"])), digest=None
    )


def _address(url: SplitResult, target: str) -> httpcore.URL:
    host = (url.hostname or "").encode()
    return httpcore.URL(scheme=url.scheme.encode(), host=host, port=url.port, target=target.encode())


def _proxied(proxy: str, options: dict[str, Any]) -> httpcore.ConnectionPool:
    url = urlsplit(proxy)
    login = (unquote(url.username or ""), unquote(url.password or "")) if url.username else None
    kind = httpcore.SOCKSProxy if url.scheme.startswith("socks5") else httpcore.HTTPProxy
    return kind(proxy_url=_address(url, "/"), proxy_auth=login, **options)


def _why(error: Exception, request: Request, line: Line) -> CannotReplay:
    where = f"{request.method} {shown(request.url)}"
    cause = error.args[0] if error.args and isinstance(error.args[0], Exception) else error
    said = str(getattr(cause, "strerror", None) or cause) or type(cause).__name__
    if line.cancelled.is_set():
        return cannot("BK330", f"{where}: interrupted")
    if isinstance(cause, ssl.SSLError):
        reason = getattr(cause, "verify_message", "") or getattr(cause, "reason", "") or said
        mend = "name the certificate authority with `verify: FILE`, or check the address"
        return cannot("BK302", f"{where}: no TLS connection: {reason}", mend)
    if isinstance(error, httpcore.ConnectTimeout):
        return cannot("BK301", f"{where}: no connection within {_CONNECT_TIMEOUT:g} s", _START)
    if isinstance(error, httpcore.ConnectError | httpcore.ProxyError):
        return cannot("BK301", f"{where}: no connection: {said}", _START)
    if isinstance(error, httpcore.TimeoutException | TimeoutError):
        what = "no whole answer" if line.received else "no answer"
        limit = f"{what} within {request.timeout:.3g} s"
        return cannot("BK303", f"{where}: {limit}", "raise `timeout`, if it may take longer")
    return cannot("BK304", f"{where}: the connection broke off, or what came is not HTTP: {said}")
