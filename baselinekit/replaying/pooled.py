"""Requests through a proxy or over HTTP/2: httpcore sends them, over a network backend that enforces one time
limit for a whole request and can be cut off from another thread."""

import ssl
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import httpcore

from baselinekit.model.recipes import Request
from baselinekit.replaying import answer as answer
from baselinekit.replaying.answer import BrokenAnswer
from baselinekit.replaying.wire import NoConnection, Resolve, Transport, connected

_IDLE_CONNECTIONS = 8
_BROKEN = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class ConnectionPool:
    """The connections of one thread that share a proxy and TLS settings."""

    def __init__(
        self,
        proxy: str | None,
        tls: ssl.SSLContext | None,
        http2: bool,
        transport: Transport,
        resolve: Resolve,
    ):
        options: dict[str, Any] = {
            "ssl_context": tls,
            "max_connections": None,
            "max_keepalive_connections": _IDLE_CONNECTIONS,
            "http2": http2,
            "network_backend": _Backend(transport, None if proxy else resolve),
        }
        kind: Any = httpcore.ConnectionPool
        if proxy:
            url = urlsplit(proxy)
            login = (unquote(url.username or ""), unquote(url.password or "")) if url.username else None
            kind = httpcore.SOCKSProxy if url.scheme.startswith("socks5") else httpcore.HTTPProxy
            options |= {"proxy_url": _httpcore_url(url, "/"), "proxy_auth": login}
        self._pool: httpcore.ConnectionPool = kind(**options)

    def ask(self, request: Request, url: SplitResult, target: str, headers: answer.Headers) -> answer.Answer:
        pool_request = httpcore.Request(
            request.method, _httpcore_url(url, target), headers=headers, content=request.content
        )
        try:
            with closing(self._pool.handle_request(pool_request)) as response:
                return response.status, response.headers, _read_body(request, response)
        except _BROKEN as error:
            message = f"the connection was lost, or the answer is not HTTP: {_describe(error)}"
            raise BrokenAnswer(message) from None
        except (httpcore.ConnectError, httpcore.ProxyError) as error:
            if isinstance(_cause(error), ssl.SSLError):
                raise _cause(error) from None
            raise NoConnection(f"no connection: {_describe(error)}") from None
        except httpcore.TimeoutException:
            raise TimeoutError from None

    def close(self) -> None:
        self._pool.close()


class _Backend(httpcore.NetworkBackend):
    """`resolve`: None where connections go to a proxy, which the operator has named."""

    def __init__(self, transport: Transport, resolve: Resolve | None):
        self._transport, self._resolve = transport, resolve
        self._plain = httpcore.SyncBackend()

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.NetworkStream:
        local, extra = options.get("local_address"), options.get("socket_options")
        admit, resolve = self._transport.admit, self._resolve

        def connect(limit: float) -> tuple[httpcore.NetworkStream, str]:
            def connect_to(address: str) -> tuple[httpcore.NetworkStream, str]:
                try:
                    return self._plain.connect_tcp(address, port, limit, local, extra), address
                except httpcore.ConnectError as error:
                    raise OSError(_describe(error)) from error

            return connect_to(host) if resolve is None else connected(resolve, admit, host, port, connect_to)

        stream, address = self._transport.connect(connect, lambda connection: connection[0].close())
        return _Stream(stream, self._transport, None if resolve is None else address)


class _Stream(httpcore.NetworkStream):
    """A connection on which every step is limited by the time of the whole request. It also notices when a
    server sends more than its answer: the surplus would be taken for the next answer. And since a connection
    may have been opened for another request, its address is checked again before each request is sent.

    `address`: that of the server; None for a proxy, as the request was checked already then."""

    def __init__(self, inner: httpcore.NetworkStream, transport: Transport, address: str | None):
        self._inner, self._transport, self._address = inner, transport, address
        self._admitted = transport.admit
        self._socket = inner.get_extra_info("socket")
        transport.opened(self._socket)
        self._start()
        self.is_spoiled = False

    def _start(self) -> None:
        self._head, self._received, self._answering = b"", 0, False
        self._interim = answer.InterimCounter()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._transport.remaining())
        self._transport.received += len(data)
        self._received += len(data)
        self._answering = True
        if len(self._head) <= answer.LARGEST_HEAD and b"\r\n\r\n" not in self._head:
            self._head += data
            while self._head.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in self._head:
                self._interim.add()
                interim, self._head = self._head.split(b"\r\n\r\n", 1)
                self._received -= len(interim) + 4
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._address is not None and self._admitted is not self._transport.admit:
            self._transport.admit(self._address)
            self._admitted = self._transport.admit
        if self._answering:
            self._start()
        left = self._transport.remaining()
        self._transport.sent = True
        self._inner.write(buffer, left)

    def has_surplus(self, length: int) -> bool:
        """Whether more was received than an answer with a body of that length."""
        end = self._head.find(b"\r\n\r\n")
        return end >= 0 and self._received > end + 4 + length

    def close(self) -> None:
        self._transport.closed(self._socket)
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            return _Stream(
                self._inner.start_tls(ssl_context, server_hostname, self._transport.connect_timeout()),
                self._transport,
                self._address,
            )
        finally:
            self._transport.closed(self._socket)

    def get_extra_info(self, info: str) -> Any:
        # The pool takes a readable idle connection for a closed one, and opens another.
        return True if info == "is_readable" and self.is_spoiled else self._inner.get_extra_info(info)


def _read_body(request: Request, response: httpcore.Response) -> bytes:
    answer.check_head(response.extensions.get("reason_phrase", b""), response.headers)
    body = answer.whole_body(request, response.status, response.headers, response.iter_stream())
    stream = response.extensions["network_stream"]
    if response.extensions.get("http_version") == b"HTTP/2" or not isinstance(stream, _Stream):
        return body
    is_empty = answer.has_no_body(request, response.status)
    is_chunked = any(name.lower() == b"transfer-encoding" for name, _ in response.headers)
    length = 0 if is_empty else None if is_chunked else answer.content_length(response.headers)
    is_surplus = length is not None and stream.has_surplus(length)
    stream.is_spoiled = is_surplus or length is None  # unknown after a body of unknown length
    if is_surplus and not is_empty:
        raise answer.surplus_error()
    return body


def _httpcore_url(url: SplitResult, target: str) -> httpcore.URL:
    host = (url.hostname or "").encode()
    return httpcore.URL(scheme=url.scheme.encode(), host=host, port=url.port, target=target.encode())


def _cause(error: Exception) -> Exception:
    return error.args[0] if error.args and isinstance(error.args[0], Exception) else error


def _describe(error: Exception) -> str:
    cause = _cause(error)
    return str(getattr(cause, "strerror", None) or cause) or type(cause).__name__
