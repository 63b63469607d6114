"""The HTTP client: httpx sends every request, over one transport of ours.

The transport is a pool of httpcore's connections on a network of ours, which adds what httpx does not have:
one time limit for a whole request (httpx limits each read, and a server that sends a byte at a time never
reaches such a limit, F18), a cut from another thread, and connections only to the very address that was
admitted. It reads and decodes the body as well: httpx passes on one that is truncated or in an unknown
coding, and knows no limit of size."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import closing, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

import httpcore
import httpx

from baselinekit.clients.trust import Trust, url_for_message
from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import IDEMPOTENT, Request, Response

for _logger in ("httpx", "httpcore", "hpack"):  # they log URLs and headers, credentials included (F49)
    logging.getLogger(_logger).setLevel(logging.WARNING)

T = TypeVar("T")
Headers = list[tuple[bytes, bytes]]
Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as texts."""

_CONNECT_SECONDS = 5.0
_POLL_SECONDS = 0.1
_LOOKUP_SECONDS = 1.0
"""For a name that a proxy looks up anyway."""

_TRUSTED_SECONDS = 1.0
"""A server may close an idle connection at any moment: no request that must not be sent twice uses one that
was idle for longer."""

_KEPT_SECONDS = 30.0
_MOST_KEPT = 512
"""As many connections as `-j` allows threads."""

_WRITTEN_AT_ONCE = 16_384
_LARGEST_HEAD = 65_536
_LARGEST_STATUS_LINE = 8_192
_MOST_INTERIM = 10
_MOST_MEMBERS = 100

_TLS_ALERT = b"\x15\x03"
_HEAD_HINT = "correct the service"
_INTERIM = re.compile(rb"(?:HTTP/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n){%d}" % (_MOST_INTERIM + 1))
_BROKEN = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class _CutOff(Exception):
    """The request was cancelled."""


class _NoConnection(Exception):
    """Nothing was sent: the server is not there, or does not answer."""


# The network: what httpcore reads and writes, within the time of a request and to admitted addresses only.


class _Call:
    """A request under way. `sent`: whether any part of it was sent, in any of its tries; the rest is about
    the try that began last."""

    def __init__(self, request: Request, cancelled: threading.Event):
        self.request, self.cancelled = request, cancelled
        self.is_repeatable = request.method in IDEMPOTENT
        self.admit = request.admit or partial(Trust().check_address, request.url)
        self.deadline = time.monotonic() + request.timeout
        self.sent = False
        self.begin()

    def begin(self) -> None:
        self.connected = self.has_head = self.ended = False
        self.received = 0
        self.head = b""

    def remaining(self) -> float:
        """Return the seconds that the next step may take."""
        if self.cancelled.is_set():
            raise _CutOff
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return remaining


class _Network:
    """What all connections share. `local.call`: the request that this thread sends."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.local = threading.local()
        self.sockets: set[socket.socket] = set()

    def cut(self) -> None:
        """Wake up every thread that waits on a socket."""
        self.cancelled.set()
        for sock in list(self.sockets):
            with suppress(OSError):  # the plain shutdown: an SSLSocket's would first end the TLS
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


class _Backend(httpcore.NetworkBackend):
    """`resolve`: None where connections go to a proxy, which the operator has named."""

    def __init__(self, network: _Network, resolve: Resolve | None):
        self._network, self._resolve = network, resolve
        self._plain = httpcore.SyncBackend()

    def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.NetworkStream:
        """Connect to the first address of a host that accepts a connection. The name is resolved once, so
        that the addresses that are admitted are those that are connected to; one refused address refuses
        them all, since which of them comes first is the name server's choice."""
        call, resolve = self._network.local.call, self._resolve
        limit = min(_CONNECT_SECONDS, call.remaining())

        def connect() -> tuple[httpcore.NetworkStream, str | None]:
            if resolve is None:
                return self._plain.connect_tcp(host, port, limit), None
            found = resolve(host, port)
            for address in found:
                call.admit(address)
            last: Exception = OSError("the name has no address")
            for address in found:
                try:
                    return self._plain.connect_tcp(address, port, limit), address
                except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                    last = error
            raise last

        try:
            made = _within(limit, connect, lambda late: late[0].close(), self._network.cancelled)
        except (TimeoutError, httpcore.ConnectTimeout):
            raise _NoConnection(f"no connection within {limit:.2g} s") from None
        except (OSError, httpcore.ConnectError) as error:
            raise _NoConnection(f"no connection: {_describe(error)}") from None
        call.connected = True
        return _Stream(*made, self._network)


class _Stream(httpcore.NetworkStream):
    """A connection. `address`: the server's; None for a proxy, where each request was judged already.

    The last byte of what arrives is held back until it is asked for. What is still held when an answer is
    complete is a surplus: it would be taken for the answer to the next request."""

    def __init__(self, inner: httpcore.NetworkStream, address: str | None, network: _Network):
        self._inner, self._address, self._network = inner, address, network
        self._admitted: _Call = network.local.call
        self._socket: socket.socket = inner.get_extra_info("socket")
        self._last_used = time.monotonic()
        self.held = b""
        network.sockets.add(self._socket)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.held:
            data, self.held = self.held, b""
            return data
        call: _Call = self._network.local.call
        if not call.has_head and len(call.head) >= _LARGEST_HEAD:
            raise _head_too_large()
        data = self._inner.read(max_bytes, call.remaining())
        self._last_used = time.monotonic()
        call.received += len(data)
        call.ended = not data
        if not call.has_head:
            call.head += data
            if _INTERIM.match(call.head):
                message = f"more than {_MOST_INTERIM} interim (1xx) answers came before the answer"
                raise cannot_replay("BK305", message, _HEAD_HINT)
        self.held = data[1:][-1:]
        return data[:-1] or data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call: _Call = self._network.local.call
        if call is not self._admitted and self._address is not None:
            call.admit(self._address)  # it was opened for another request, which may have been allowed more
        self._admitted = call
        for start in range(0, len(buffer), _WRITTEN_AT_ONCE):
            remaining = call.remaining()
            call.sent = True
            self._inner.write(buffer[start : start + _WRITTEN_AT_ONCE], remaining)

    def close(self) -> None:
        self._network.sockets.discard(self._socket)
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        limit = min(_CONNECT_SECONDS, self._network.local.call.remaining())
        handle = self._socket.dup()  # the handshake takes the socket away, and is to be cut off as well
        self._network.sockets.discard(self._socket)
        self._network.sockets.add(handle)
        try:
            inner = self._inner.start_tls(ssl_context, server_hostname, limit)
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            if isinstance(_cause(error), ssl.SSLError):
                raise _cause(error) from None
            raise _NoConnection(f"no TLS connection: {_describe(error)}") from None
        finally:
            self._network.sockets.discard(handle)
            handle.close()
        return _Stream(inner, self._address, self._network)

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # the pool takes an idle connection that is readable for a closed one
            idle = time.monotonic() - self._last_used
            if self.held or (idle > _TRUSTED_SECONDS and not self._network.local.call.is_repeatable):
                return True
        return self._inner.get_extra_info(info)


def _within(
    seconds: float,
    make: Callable[[], T],
    discard: Callable[[T], object] = lambda late: None,
    cancelled: threading.Event | None = None,
) -> T:
    """Return what `make` gives, which cannot be interrupted (resolving a name, connecting): it is called in a
    thread of its own, and abandoned with a TimeoutError when it takes too long."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            made = make()
        except BaseException as error:
            with suppress(InvalidStateError):  # abandoned meanwhile
                future.set_exception(error)
            return
        try:
            future.set_result(made)
        except InvalidStateError:
            discard(made)

    threading.Thread(target=work, name="connect", daemon=True).start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not (cancelled and cancelled.is_set()):
        with suppress(TimeoutError):
            future.exception(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic())))
            break
    if future.cancel():
        raise TimeoutError
    return future.result()


def addresses(host: str, port: int) -> Sequence[str]:
    """Resolve a host as the system does."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in infos))


def addresses_soon(host: str, port: int, resolve: Resolve = addresses) -> Sequence[str]:
    """Return the addresses of a name, or none if it cannot be resolved in a moment: a network behind a proxy
    may know no names, and be slow to say so."""
    with suppress(OSError):
        return _within(_LOOKUP_SECONDS, partial(resolve, host, port))
    return ()


def _cause(error: BaseException) -> BaseException:
    return error.args[0] if error.args and isinstance(error.args[0], BaseException) else error


def _describe(error: BaseException) -> str:
    cause = _cause(error)
    return str(getattr(cause, "strerror", None) or cause) or type(cause).__name__


# The transport: a pool for each proxy and TLS settings.

_Tls = tuple[bool | str, str | None, bool]
"""`verify`: whether to check certificates, or a file or folder of authorities; a file with the client's
certificate; whether HTTP/2 is spoken where the server does."""


class _Transport(httpx.BaseTransport):
    """Sends the request of this thread's call, with the headers that httpx gives it."""

    def __init__(self, network: _Network, proxies: Mapping[str, str], resolve: Resolve):
        self._network, self._proxies, self._resolve = network, proxies, resolve
        self._backends = {False: _Backend(network, resolve), True: _Backend(network, None)}
        self._pools: dict[object, httpcore.ConnectionPool] = {}
        self._contexts: dict[_Tls, ssl.SSLContext] = {}
        self._resolved: dict[tuple[str, int], Sequence[str]] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return an answer whose body was read and decoded. httpx sees the headers of a digest challenge
        only: of a redirect it would compose the next request at once, and fail where that leads nowhere."""
        call: _Call = self._network.local.call
        ask = call.request
        url = urlsplit(ask.url)
        proxy = proxy_for(url.scheme, url.hostname or "", self._proxies) if self._proxies else None
        if proxy:
            # The proxy resolves the name itself, and its result is not visible here: the host of the URL is
            # checked, and the addresses that the name has here, if any.
            call.admit(None)
            place = url.hostname or "", url.port or {"http": 80, "https": 443}[url.scheme]
            if place not in self._resolved:
                self._resolved[place] = addresses_soon(*place, self._resolve)
            for found in self._resolved[place]:
                call.admit(found)
        pool = self._pool(proxy, (ask.verify, ask.cert, ask.http2) if url.scheme == "https" else None)
        address = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=f"{url.path}?{url.query}" if url.query else url.path,  # httpx would change `/../`
        )
        headers, content = request.headers.raw, request.stream
        outgoing = httpcore.Request(request.method, address, headers=headers, content=content)
        while True:
            call.begin()
            try:
                with closing(pool.handle_request(outgoing)) as response:
                    call.has_head = True
                    body = _read_body(ask, response)
            except _BROKEN:
                # A server may close an idle connection just when it is used again.
                if call.connected or call.received or not call.is_repeatable:
                    raise
                continue
            seen = [pair for pair in response.headers if pair[0].lower() == b"www-authenticate"]
            handed = {"headers": response.headers}
            return httpx.Response(response.status, headers=seen, content=body, extensions=handed)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, proxy: str | None, tls: _Tls | None) -> httpcore.ConnectionPool:
        # Over HTTP/2 requests share a connection, and would wait for each other's reading: a pool a thread.
        key = (proxy, tls, threading.get_ident() if tls and tls[2] else None)
        with self._lock:
            if key not in self._pools:
                parts = urlsplit(proxy or "")
                login = (unquote(parts.username or ""), unquote(parts.password or ""))
                if tls and tls not in self._contexts:  # reading the certificates takes longer than a request
                    self._contexts[tls] = _tls_context(*tls)
                self._pools[key] = httpcore.ConnectionPool(
                    ssl_context=self._contexts[tls] if tls else None,
                    proxy=httpcore.Proxy(proxy, login if parts.username else None) if proxy else None,
                    max_connections=None,
                    max_keepalive_connections=_MOST_KEPT,
                    keepalive_expiry=_KEPT_SECONDS,
                    http2=bool(tls and tls[2]),
                    network_backend=self._backends[bool(proxy)],
                )
            return self._pools[key]


def _tls_context(verify: bool | str, cert: str | None, http2: bool) -> ssl.SSLContext:
    if http2 and importlib.util.find_spec("h2") is None:
        raise cannot_replay("BK302", "HTTP/2 needs the package h2", "pip install 'baselinekit[http2]'")
    for path in (verify, cert):
        if isinstance(path, str) and os.path.exists(path) and not os.path.isfile(path) | os.path.isdir(path):
            # a pipe or a device would never end (F42)
            raise cannot_replay("BK302", f"no certificates can be read from {path}: it is not a regular file")
    try:
        if isinstance(verify, str):
            folder, file = (verify, None) if os.path.isdir(verify) else (None, verify)
            context = ssl.create_default_context(capath=folder, cafile=file)
        else:
            context = httpx.create_ssl_context(verify)
        if cert:
            context.load_cert_chain(cert)
    except OSError as error:
        paths = " and ".join(path for path in (verify, cert) if isinstance(path, str))
        reason = error.strerror or str(error)
        raise cannot_replay("BK302", f"no certificates can be read from {paths}: {reason}") from None
    return context


def proxy_for(scheme: str, host: str, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy that a request goes through; None for this machine itself. `proxies`: as urllib reads
    them from the environment, since with a transport of one's own httpx reads none."""
    proxy = proxies.get(scheme) or proxies.get("all")
    is_local = host in ("localhost", "::1") or host.startswith("127.")
    for name in proxies.get("no", "").lower().replace(",", " ").split():
        is_local |= name == "*" or f".{host}".endswith(f".{name.lstrip('*.')}")
    if not proxy or is_local:
        return None
    address = proxy if "://" in proxy else f"http://{proxy}"
    with suppress(ValueError):
        parts = urlsplit(address)
        if parts.scheme in ("http", "https", "socks5", "socks5h") and parts.hostname and parts.port != 0:
            return address
    message = f"{url_for_message(address)} is not the address of a proxy"
    raise cannot_replay("BK301", message, "correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY in the environment")


# The client.


class Client:
    """Sends requests from any number of threads, over connections that they share."""

    def __init__(self, proxies: Mapping[str, str] | None = None, resolve: Resolve = addresses):
        self._network = _Network()
        proxies = getproxies_environment() if proxies is None else proxies
        self._httpx = httpx.Client(transport=_Transport(self._network, proxies, resolve), trust_env=False)

    def send(self, request: Request) -> Response:
        """Return the answer to one request, or raise CannotReplay. No redirect is followed."""
        started = time.monotonic()
        call = self._network.local.call = _Call(request, self._network.cancelled)
        headers = [(b"Host", urlsplit(request.url).netloc.encode())]
        headers += [(name.encode(), value.encode()) for name, value in request.headers]
        login, auth = request.digest, None
        try:
            call.remaining()
            outgoing = httpx.Request(request.method, request.url, headers=headers, content=request.content)
            if login is not None:
                auth = httpx.DigestAuth(login.username or "", login.password or "")
            answer = self._httpx.send(outgoing, auth=auth)
        except BaselinekitError:
            raise
        except Exception as error:  # a server can provoke any error of a library: all become CannotReplay
            raise _as_cannot_replay(error, call) from None
        received: Headers = answer.extensions["headers"]
        texts = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in received)
        return Response(answer.status_code, texts, answer.content, time.monotonic() - started)

    def sleep(self, seconds: float) -> None:
        """Wait, unless cancelled."""
        self._network.cancelled.wait(seconds)

    def cancel(self) -> None:
        """Cut off every request, from another thread; from now on all requests fail."""
        self._network.cut()

    def close(self) -> None:
        """Close every connection; to be called when no thread sends any more."""
        self._httpx.close()


def _as_cannot_replay(error: Exception, call: _Call) -> CannotReplay:
    request = call.request
    where = f"{request.method} {url_for_message(request.url)}"
    again = "try again, or correct the service"
    if call.cancelled.is_set():
        interrupted = Problem("BK330", f"{where}: interrupted")
        return CannotReplay(interrupted) if call.sent else NeverSent(interrupted)
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        hint = "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or check the "
        hint += "address: a port without TLS is one for http://"
        code, detail = "BK302", f"no TLS connection: {reason}"
    elif isinstance(error, (_NoConnection, httpcore.ProxyError)):
        detail = str(error) if isinstance(error, _NoConnection) else f"no connection: {_describe(error)}"
        code, hint = "BK301", "start the service, or correct its base_url"
    elif isinstance(error, (TimeoutError, httpcore.TimeoutException)):
        missing = "no complete answer" if call.received else "no answer"
        code, detail = "BK303", f"{missing} within {request.timeout:.3g} s"
        hint = "raise `timeout` if it may take longer"
    elif call.head.startswith(_TLS_ALERT):
        code, detail = "BK302", "the port speaks TLS, which the address does not say"
        hint = "write https://, or use the port for http"
    elif not isinstance(error, _BROKEN):
        code, detail, hint = "BK304", f"the request or its answer is not understood: {error!r}", again
    else:
        code, detail, hint = "BK304", _describe_broken(error, call), again
        if not call.connected and not call.received:
            detail = f"{detail}; a {request.method} is not sent twice by itself"
    return cannot_replay(code, f"{where}: {detail}", hint)


def _describe_broken(error: Exception, call: _Call) -> str:
    if isinstance(error, httpcore.RemoteProtocolError) and not call.ended:
        return f"the answer is not HTTP: {str(error).partition(': bytearray')[0]}"  # without the bytes
    return f"the connection was lost: {_describe(error)}"


# The body of an answer, within its limits and as it was before it was compressed.


def _read_body(request: Request, response: httpcore.Response) -> bytes:
    """Return the decoded body, whose length must be the one that the answer states."""

    headers = httpx.Headers(response.headers)
    stream = response.extensions["network_stream"]
    if response.status == 101:
        raise cannot_replay("BK304", "the server requires another protocol", _HEAD_HINT)
    if sum(len(name) + len(value) + 4 for name, value in response.headers) > _LARGEST_HEAD:
        raise _head_too_large()
    if len(response.extensions.get("reason_phrase", b"")) > _LARGEST_STATUS_LINE:
        message = f"the status line of the answer is larger than {_LARGEST_STATUS_LINE:,} bytes"
        raise cannot_replay("BK305", message, _HEAD_HINT)
    if request.method == "HEAD" or response.status in (204, 304):  # whatever its headers say
        return b"".join(response.iter_stream())
    announced = int(headers.get_list("content-length")[0]) if "content-length" in headers else None
    if (announced or 0) > request.max_body:
        raise _too_large(request.max_body)
    coding = headers.get("content-encoding", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        hint = "gzip and deflate can be decoded: leave Accept-Encoding to baselinekit"
        raise cannot_replay("BK307", f"the answer is encoded as {coding!r}", hint)
    watch = request.watch((headers.get_list("content-type") or [""])[0]) if request.watch else None
    body, is_whole = bytearray(), False
    try:
        for chunk in response.iter_stream():
            body += chunk
            if len(body) > request.max_body:
                raise _too_large(request.max_body)
            if watch and watch.has_enough(chunk):
                break
        else:
            is_whole = True
    except (TimeoutError, httpcore.ReadTimeout):
        if watch and (late := watch.too_late(request.timeout)):
            raise late from None
        raise
    # An answer that gives its length in two ways is read by its chunks; a reader that goes by the other
    # length could see two answers.
    if is_whole and announced is not None and len(body) != announced:
        message = f"{len(body):,} bytes came, and the answer's Content-Length is {announced:,}"
        raise cannot_replay("BK304", message, _HEAD_HINT)
    decoded = bytes(body) if coding in ("", "identity") else _decoded(bytes(body), coding, request.max_body)
    is_http2 = response.extensions["http_version"] == b"HTTP/2"
    if is_whole and not is_http2 and isinstance(stream, _Stream) and stream.held:
        raise cannot_replay("BK304", "more was sent than the announced answer", _HEAD_HINT)
    return decoded


def _head_too_large() -> CannotReplay:
    message = f"the headers of the answer are larger than {_LARGEST_HEAD:,} bytes"
    return cannot_replay("BK305", message, _HEAD_HINT)


def _too_large(limit: int) -> CannotReplay:
    hint = "request less, or raise max_body in execution or under `http:` in baselinekit.yaml"
    return cannot_replay("BK305", f"the answer is larger than {limit:,} bytes", hint)


def _decoded(raw: bytes, coding: str, limit: int) -> bytes:
    """Decode a body in bounded steps: a bomb of a few hundred bytes never becomes gigabytes (F19), and
    truncated data is an error, never a shorter answer (F21)."""
    body = bytearray()
    try:
        for _ in range(_MOST_MEMBERS):
            if not raw:
                return bytes(body)
            window_bits = 16 + zlib.MAX_WBITS
            if coding == "deflate":  # with its wrapper, or without, as some servers send it
                is_wrapped = raw[0] & 0x0F == 8 and int.from_bytes(raw[:2], "big") % 31 == 0
                window_bits = zlib.MAX_WBITS if is_wrapped else -zlib.MAX_WBITS
            decompressor = zlib.decompressobj(window_bits)
            body += decompressor.decompress(raw, limit + 1 - len(body))
            if len(body) > limit:
                raise _too_large(limit)
            if not decompressor.eof:
                raise cannot_replay("BK304", f"the answer's {coding} data ends in the middle", "ask again")
            raw = decompressor.unused_data
    except zlib.error as error:
        raise cannot_replay("BK307", f"the answer claims to be {coding}, and is not: {error}") from None
    raise cannot_replay("BK307", f"the answer's {coding} data has more than {_MOST_MEMBERS} members")
