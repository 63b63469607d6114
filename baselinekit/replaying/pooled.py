"""Requests through a proxy, or over HTTP/2: httpcore knows how, under a network backend of ours that holds a
whole request to one time limit and can be cut off from another thread."""

import ssl
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import httpcore

from baselinekit.model.recipes import Request
from baselinekit.replaying import answer as answer
from baselinekit.replaying.answer import Broken
from baselinekit.replaying.wire import NoConnection, Resolve, Transport, connected

_IDLE_CONNECTIONS = 8
_BROKEN = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class ConnectionPool:
    """The connections of one thread, all to be reached in the same way."""

    def __init__(
        self, proxy: str | None, tls: ssl.SSLContext | None, http2: bool, line: Transport, resolve: Resolve
    ):
        options: dict[str, Any] = {
            "ssl_context": tls,
            "max_connections": None,
            "max_keepalive_connections": _IDLE_CONNECTIONS,
            "http2": http2,
            "network_backend": _Backend(line, None if proxy else resolve),
        }
        kind: Any = httpcore.ConnectionPool
        if proxy:
            url = urlsplit(proxy)
            login = (unquote(url.username or ""), unquote(url.password or "")) if url.username else None
            kind = httpcore.SOCKSProxy if url.scheme.startswith("socks5") else httpcore.HTTPProxy
            options |= {"proxy_url": _address(url, "/"), "proxy_auth": login}
        self._pool: httpcore.ConnectionPool = kind(**options)

    def ask(self, request: Request, url: SplitResult, target: str, headers: answer.Headers) -> answer.Answer:
        asked = httpcore.Request(
            request.method, _address(url, target), headers=headers, content=request.content
        )
        try:
            with closing(self._pool.handle_request(asked)) as answered:
                return answered.status, answered.headers, _body(request, answered)
        except _BROKEN as error:
            what = f"the connection was lost, or the answer is not HTTP: {_said(error)}"
            raise Broken(what) from None
        except (httpcore.ConnectError, httpcore.ProxyError) as error:
            if isinstance(_cause(error), ssl.SSLError):
                raise _cause(error) from None
            raise NoConnection(f"no connection: {_said(error)}") from None
        except httpcore.TimeoutException:
            raise TimeoutError from None

    def close(self) -> None:
        self._pool.close()


class _Backend(httpcore.NetworkBackend):
    """`resolve`: None where the address is that of a proxy, which the operator has named."""

    def __init__(self, line: Transport, resolve: Resolve | None):
        self._line, self._resolve = line, resolve
        self._plain = httpcore.SyncBackend()

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.NetworkStream:
        local, extra = options.get("local_address"), options.get("socket_options")
        admit, resolve = self._line.admit, self._resolve

        def connect(limit: float) -> tuple[httpcore.NetworkStream, str]:
            def to(address: str) -> tuple[httpcore.NetworkStream, str]:
                try:
                    return self._plain.connect_tcp(address, port, limit, local, extra), address
                except httpcore.ConnectError as error:
                    raise OSError(_said(error)) from error

            return to(host) if resolve is None else connected(resolve, admit, host, port, to)

        stream, address = self._line.connect(connect, lambda made: made[0].close())
        return _Stream(stream, self._line, None if resolve is None else address)


class _Stream(httpcore.NetworkStream):
    """A connection whose every step ends with the time of the whole request. It also notices when a server
    sends more than its answer: what is left over would be taken for the next answer. And as a connection may
    have been opened for a request with other rights, each one is asked about before a byte of it goes out.

    `address`: that of the server; None where it is a proxy's, as then the request was asked about already."""

    def __init__(self, inner: httpcore.NetworkStream, line: Transport, address: str | None):
        self._inner, self._line, self._address = inner, line, address
        self._admitted = line.admit
        self._socket = inner.get_extra_info("socket")
        line.opened(self._socket)
        self._start()
        self.spoiled = False

    def _start(self) -> None:
        self._head, self._received, self._answering = b"", 0, False
        self._interim = answer.Interim()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._inner.read(max_bytes, self._line.left())
        self._line.received += len(data)
        self._received += len(data)
        self._answering = True
        if len(self._head) <= answer.LARGEST_HEAD and b"\r\n\r\n" not in self._head:
            self._head += data
            while self._head.startswith(b"HTTP/1.1 1") and b"\r\n\r\n" in self._head:
                self._interim.another()
                interim, self._head = self._head.split(b"\r\n\r\n", 1)
                self._received -= len(interim) + 4
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._address is not None and self._admitted is not self._line.admit:
            self._line.admit(self._address)
            self._admitted = self._line.admit
        if self._answering:
            self._start()
        left = self._line.left()
        self._line.sent = True
        self._inner.write(buffer, left)

    def surplus(self, length: int) -> bool:
        """Whether more came than an answer with a body of that length."""
        end = self._head.find(b"\r\n\r\n")
        return end >= 0 and self._received > end + 4 + length

    def close(self) -> None:
        self._line.closed(self._socket)
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            return _Stream(
                self._inner.start_tls(ssl_context, server_hostname, self._line.connect_timeout()),
                self._line,
                self._address,
            )
        finally:
            self._line.closed(self._socket)

    def get_extra_info(self, info: str) -> Any:
        # The pool takes an idle connection that is readable for a closed one, and opens another.
        return True if info == "is_readable" and self.spoiled else self._inner.get_extra_info(info)


def _body(request: Request, answered: httpcore.Response) -> bytes:
    answer.check_head(answered.extensions.get("reason_phrase", b""), answered.headers)
    body = answer.whole_body(request, answered.status, answered.headers, answered.iter_stream())
    stream = answered.extensions["network_stream"]
    if answered.extensions.get("http_version") == b"HTTP/2" or not isinstance(stream, _Stream):
        return body
    empty = answer.has_no_body(request, answered.status)
    chunked = any(name.lower() == b"transfer-encoding" for name, _ in answered.headers)
    length = 0 if empty else None if chunked else answer.stated_length(answered.headers)
    more = length is not None and stream.surplus(length)
    stream.spoiled = more or length is None  # after a body of unknown length nobody can tell
    if more and not empty:
        raise answer.more_than_announced()
    return body


def _address(url: SplitResult, target: str) -> httpcore.URL:
    host = (url.hostname or "").encode()
    return httpcore.URL(scheme=url.scheme.encode(), host=host, port=url.port, target=target.encode())


def _cause(error: Exception) -> Exception:
    return error.args[0] if error.args and isinstance(error.args[0], Exception) else error


def _said(error: Exception) -> str:
    cause = _cause(error)
    return str(getattr(cause, "strerror", None) or cause) or type(cause).__name__
