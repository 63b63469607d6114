"""The HTTP client: one time limit for a whole request, which can be cut off from another thread.

Most requests use the connections in wire.py; those through a proxy or over HTTP/2 use httpcore's (pooled.py).
httpx provides the certificates and the digest authentication."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from baselinekit.clients.trust import Trust
from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, Problem, cannot_replay
from baselinekit.model.recipes import Request, Response
from baselinekit.replaying.answer import SPEAKS_TLS, Answer, BrokenAnswer, Headers
from baselinekit.replaying.http import IDEMPOTENT
from baselinekit.replaying.settings import url_for_message
from baselinekit.replaying.wire import NoConnection, Resolve, Transport, Wire, addresses, dial, resolve_within


def new_context(
    verify: bool | str, cert: str | None, http2: bool, usual: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    """Return the TLS settings of a connection. `verify`: whether to check certificates, or a file or folder
    of authorities; `cert`: a file with the client's certificate."""
    import ssl  # not needed by most runs

    if http2 and importlib.util.find_spec("h2") is None:
        raise cannot_replay("BK302", "HTTP/2 needs the package h2", "pip install 'baselinekit[http2]'")
    for path in (verify, cert):
        if not isinstance(path, str) or os.path.isfile(path) or os.path.isdir(path):
            continue
        if os.path.exists(path):  # a pipe or a device would never end (F42)
            raise cannot_replay("BK302", f"no certificates can be read from {path}: it is not a regular file")
    try:
        if isinstance(verify, str):
            folder, file = (verify, None) if os.path.isdir(verify) else (None, verify)
            context = ssl.create_default_context(capath=folder, cafile=file)
        elif verify:
            context = usual()
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if cert:
            context.load_cert_chain(cert)
    except OSError as error:
        paths = " and ".join(filter(None, (verify if isinstance(verify, str) else "", cert)))
        reason = error.strerror or str(error)
        raise cannot_replay("BK302", f"no certificates can be read from {paths}: {reason}") from None
    return context


def proxies_of_environment() -> dict[str, str]:
    """Return HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in lower or upper case."""
    names = ("http", "https", "all", "no")
    values = {key: os.environ.get(f"{key}_proxy") or os.environ.get(f"{key.upper()}_PROXY") for key in names}
    return {key: value for key, value in values.items() if value}


def proxy_for(scheme: str, host: str, proxies: Mapping[str, str]) -> str | None:
    """Return the proxy that a request goes through; None for this machine itself."""
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or host in _LOCAL_HOSTS or host.startswith("127."):
        return None
    for entry in proxies.get("no", "").replace(",", " ").split():
        name = entry.lower().rsplit("://", 1)[-1].lstrip("*").lstrip(".")
        name = name.partition(":")[0] if name.count(":") == 1 else name
        if entry == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return None
    address = proxy if "://" in proxy else f"http://{proxy}"
    if not _leads_to_proxy(address):
        message = f"{url_for_message(address)} is not the address of a proxy"
        raise cannot_replay(
            "BK301", message, "correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY in the environment"
        )
    return address


def _leads_to_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in _PROXY_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


if TYPE_CHECKING:
    import ssl

    from baselinekit.replaying.pooled import ConnectionPool

_LOCAL_HOSTS = frozenset(("localhost", "::1"))
_IDLE_CONNECTIONS = 8
_LOOKUP_SECONDS = 1.0  # seconds for a name that a proxy looks up anyway
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_PORTS = {"http": 80, "https": 443}
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")

_Tls = tuple[bool | str, str | None, bool]


@cache
def quiet_loggers() -> None:
    """Stop these from logging URLs and headers, credentials included (F49); called before they are
    imported."""
    import logging

    for name in ("httpx", "httpcore", "hpack"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _ThreadState:
    """The state of one thread: its transport, and its connections by address, proxy and TLS settings."""

    def __init__(self, transport: Transport):
        self.transport = transport
        self.wires: dict[tuple[str, str, int, _Tls], Wire] = {}
        self.pools: dict[tuple[str, str | None, _Tls], ConnectionPool] = {}


class Client:
    """Sends requests from any number of threads, each over connections of its own."""

    def __init__(self, proxies: Mapping[str, str] | None = None, resolve: Resolve = addresses):
        self._proxies = proxies_of_environment() if proxies is None else proxies
        self._resolve = resolve
        self._local = threading.local()
        self._lock = threading.Lock()
        self._transports: list[Transport] = []
        self._pools: list[ConnectionPool] = []
        self._contexts: dict[_Tls, ssl.SSLContext] = {}
        self._cancelled = threading.Event()
        self._resolved: dict[tuple[str, int], Sequence[str]] = {}

    def send(self, request: Request) -> Response:
        """Return the answer to one request, or raise CannotReplay. No redirect is followed."""
        started = time.monotonic()
        state: _ThreadState | None = getattr(self._local, "state", None)
        if state is None:
            state = self._local.state = _ThreadState(Transport(self._cancelled))
            with self._lock:
                self._transports.append(state.transport)
        state.transport.start(request.timeout, request.admit or partial(Trust().check_address, request.url))
        try:
            status, headers, body = self._exchange(request, state)
            authorized = with_digest(request, headers) if status == 401 and request.digest else None
            if authorized:
                status, headers, body = self._exchange(authorized, state)
        except BaselinekitError:
            raise
        except Exception as error:  # a server can provoke any error of a library: all become CannotReplay
            raise _as_cannot_replay(error, request, state.transport) from None
        texts = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
        return Response(status, texts, body, time.monotonic() - started)

    def sleep(self, seconds: float) -> None:
        """Wait, unless cancelled."""
        self._cancelled.wait(seconds)

    def cancel(self) -> None:
        """Cut off every request, from another thread; from now on all requests fail."""
        self._cancelled.set()
        with self._lock:
            for transport in self._transports:
                transport.cut()

    def close(self) -> None:
        """Close every connection; to be called when no thread sends any more."""
        with self._lock:
            pools, self._pools, transports, self._transports = self._pools, [], self._transports, []
        self._local = threading.local()
        for pool in pools:
            pool.close()
        for transport in transports:
            transport.close_sockets()

    def _exchange(self, request: Request, state: _ThreadState) -> Answer:
        transport = state.transport
        try:
            return self._send_once(request, state)
        except BrokenAnswer as error:
            # A server may close an idle connection just when it is used again.
            if transport.connected or transport.received:
                raise
            if request.method not in IDEMPOTENT:
                message = f"{error}; a {request.method} is not sent twice by itself"
                raise BrokenAnswer(message) from None
        return self._send_once(request, state)

    def _send_once(self, request: Request, state: _ThreadState) -> Answer:
        state.transport.begin()
        state.transport.remaining()
        url = urlsplit(request.url)
        target = f"{url.path}?{url.query}" if url.query else url.path
        headers = [(b"Host", url.netloc.encode())]
        headers += [(name.encode(), value.encode()) for name, value in request.headers]
        if request.content or request.method in _WITH_BODY:
            headers.append((b"Content-Length", b"%d" % len(request.content)))
        proxy = proxy_for(url.scheme, url.hostname or "", self._proxies) if self._proxies else None
        if proxy:
            self._admit_by_proxy(url, state.transport)
        if proxy or request.http2:
            return self._pool(url.scheme, proxy, request, state).ask(request, url, target, headers)
        return self._wire(url, request, state).ask(request, target, headers)

    def _admit_by_proxy(self, url: SplitResult, transport: Transport) -> None:
        """Check a request through a proxy. The proxy resolves the name itself, and its result is not visible
        here: the host of the URL is checked, and the addresses that the name has here, if any."""
        transport.admit(None)
        host, port = url.hostname or "", url.port or _PORTS[url.scheme]
        if (host, port) not in self._resolved:
            seconds = min(_LOOKUP_SECONDS, transport.remaining())
            self._resolved[host, port] = resolve_within(
                self._resolve, host, port, seconds, transport.cancelled
            )
        for address in self._resolved[host, port]:
            transport.admit(address)

    def _wire(self, url: SplitResult, request: Request, state: _ThreadState) -> Wire:
        """Return the connection of the last request to the same place if it can be reused, else a new one."""
        tls, host = _tls(url.scheme, request), url.hostname or ""
        key = (url.scheme, host, url.port or _PORTS[url.scheme], tls)
        wire = state.wires.pop(key, None)
        if wire is None or not wire.is_usable(request.method in IDEMPOTENT):
            if wire is not None:
                wire.close()
            if len(state.wires) >= _IDLE_CONNECTIONS:
                state.wires.pop(next(iter(state.wires))).close()
            context = self._context(tls) if url.scheme == "https" else None
            wire = dial(host, key[2], context, state.transport, self._resolve)
        else:
            state.transport.admit(
                wire.address
            )  # opened for another request, which may have been allowed more
        state.wires[key] = wire  # moved to the end: the dictionary is in order of last use
        return wire

    def _pool(self, scheme: str, proxy: str | None, request: Request, state: _ThreadState) -> ConnectionPool:
        quiet_loggers()
        from baselinekit.replaying.pooled import ConnectionPool  # slow to import: it loads httpcore

        tls = _tls(scheme, request)
        key = (scheme, proxy, tls)
        if key not in state.pools:
            context = self._context(tls) if scheme == "https" else None
            state.pools[key] = ConnectionPool(proxy, context, request.http2, state.transport, self._resolve)
            with self._lock:
                self._pools.append(state.pools[key])
        return state.pools[key]

    def _context(self, tls: _Tls) -> ssl.SSLContext:
        """Return the TLS context, shared by all threads: reading the certificates takes longer than a
        request."""
        quiet_loggers()
        from httpx import create_ssl_context

        with self._lock:
            if tls not in self._contexts:
                self._contexts[tls] = new_context(*tls, usual=create_ssl_context)
            return self._contexts[tls]


def addresses_soon(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, as far as it can be resolved within a second."""
    return resolve_within(addresses, host, port, _LOOKUP_SECONDS, threading.Event())


def _tls(scheme: str, request: Request) -> _Tls:
    return (request.verify, request.cert, request.http2) if scheme == "https" else (True, None, False)


def with_digest(request: Request, headers: Headers) -> Request | None:
    """Return the request with the answer to a digest challenge; None when there is no such challenge."""
    quiet_loggers()
    from httpx import DigestAuth, Request as HttpxRequest, Response as HttpxResponse

    assert request.digest is not None
    httpx_request = HttpxRequest(request.method, request.url)
    steps = DigestAuth(request.digest.username or "", request.digest.password or "").auth_flow(httpx_request)
    next(steps)
    try:
        authorized = steps.send(HttpxResponse(401, headers=headers, request=httpx_request))
    except StopIteration:
        return None
    return replace(
        request,
        headers=(*request.headers, ("Authorization", authorized.headers["Authorization"])),
        digest=None,
    )


def _as_cannot_replay(error: Exception, request: Request, transport: Transport) -> CannotReplay:
    where = f"{request.method} {url_for_message(request.url)}"
    if transport.cancelled.is_set():
        interrupted = Problem("BK330", f"{where}: interrupted")
        return CannotReplay(interrupted) if transport.sent else NeverSent(interrupted)
    import ssl  # not needed by most runs

    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        hint = (
            "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or check the address"
        )
        if reason == "WRONG_VERSION_NUMBER":
            reason = "the port answers without TLS, as one for http does"
            hint = "the server does not speak TLS: write http://, or use another port"
        return cannot_replay("BK302", f"{where}: no TLS connection: {reason}", hint)
    if isinstance(error, NoConnection):
        return cannot_replay("BK301", f"{where}: {error}", "start the service, or correct its base_url")
    if isinstance(error, TimeoutError):
        missing = "no complete answer" if transport.received else "no answer"
        limit = f"{missing} within {request.timeout:.3g} s"
        return cannot_replay("BK303", f"{where}: {limit}", "raise `timeout` if it may take longer")
    if str(error) == SPEAKS_TLS:
        return cannot_replay("BK302", f"{where}: {error}", "write https://, or use the port for http")
    detail = str(error) if isinstance(error, BrokenAnswer) else f"the answer is not understood: {error!r}"
    hint = "try again, or correct the service"
    if isinstance(error, BrokenAnswer) and not transport.received and request.url[:5].lower() == "http:":
        hint = "if the port is one for https, write https://; else try again, or correct the service"
    return cannot_replay("BK304", f"{where}: {detail}", hint)
