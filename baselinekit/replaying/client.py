"""The HTTP client: a whole request is held to one time limit, and can be cut off from another thread.

Most requests go over connections of our own (wire.py); those through a proxy or over HTTP/2 go through
httpcore's (pooled.py). Of httpx come the certificates and the digest authentication."""

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

from baselinekit.errors import BaselinekitError, CannotReplay, NeverSent, Problem, cannot
from baselinekit.model.recipes import Request, Response
from baselinekit.replaying.answer import Answer, Broken, Headers
from baselinekit.replaying.http import IDEMPOTENT
from baselinekit.replaying.settings import shown
from baselinekit.replaying.wire import NoConnection, Resolve, Transport, Wire, addresses, dial, looked_up
from baselinekit.trust import Trust


def new_context(
    verify: bool | str, cert: str | None, http2: bool, usual: Callable[[], ssl.SSLContext]
) -> ssl.SSLContext:
    """What a TLS connection trusts and shows. `verify`: whether to, or a file or folder of authorities;
    `cert`: a file with our own certificate."""
    import ssl  # which most runs have no use for

    if http2 and importlib.util.find_spec("h2") is None:
        raise cannot("BK302", "HTTP/2 needs the package h2", "pip install 'baselinekit[http2]'")
    for path in (verify, cert):
        if not isinstance(path, str) or os.path.isfile(path) or os.path.isdir(path):
            continue
        if os.path.exists(path):  # a pipe or a device would never end (F42)
            raise cannot("BK302", f"no certificates can be read from {path}: it is not a regular file")
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
        which = " and ".join(filter(None, (verify if isinstance(verify, str) else "", cert)))
        why = error.strerror or str(error)
        raise cannot("BK302", f"no certificates can be read from {which}: {why}") from None
    return context


def proxies_of_environment() -> dict[str, str]:
    """HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in small letters or capitals."""
    names = ("http", "https", "all", "no")
    stated = {key: os.environ.get(f"{key}_proxy") or os.environ.get(f"{key.upper()}_PROXY") for key in names}
    return {key: value for key, value in stated.items() if value}


def proxy_for(scheme: str, host: str, proxies: Mapping[str, str]) -> str | None:
    """Which proxy a request goes through; never one for this machine itself."""
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or host in _OWN or host.startswith("127."):
        return None
    for entry in proxies.get("no", "").replace(",", " ").split():
        name = entry.lower().rsplit("://", 1)[-1].lstrip("*").lstrip(".")
        name = name.partition(":")[0] if name.count(":") == 1 else name
        if entry == "*" or (name and (host == name or host.endswith(f".{name}"))):
            return None
    return proxy if "://" in proxy else f"http://{proxy}"


if TYPE_CHECKING:
    import ssl

    from baselinekit.replaying.pooled import ConnectionPool

_OWN = frozenset(("localhost", "::1"))
_IDLE_CONNECTIONS = 8
_LOOK = 1.0  # seconds for a name that a proxy looks up anyway
_WITH_BODY = frozenset(("POST", "PUT", "PATCH"))
_PORTS = {"http": 80, "https": 443}

_Tls = tuple[bool | str, str | None, bool]


@cache
def quieten() -> None:
    """These log URLs and headers, credentials included (F49). Before the first of them is imported."""
    import logging

    for name in ("httpx", "httpcore", "hpack"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Own:
    """What a thread has to itself: its line, and its connections by where and how they lead."""

    def __init__(self, line: Transport):
        self.line = line
        self.wires: dict[tuple[str, str, int, _Tls], Wire] = {}
        self.pools: dict[tuple[str, str | None, _Tls], ConnectionPool] = {}


class Client:
    """Sends requests from any number of threads, each over connections of its own."""

    def __init__(self, proxies: Mapping[str, str] | None = None, resolve: Resolve = addresses):
        self._proxies = proxies_of_environment() if proxies is None else proxies
        self._resolve = resolve
        self._local = threading.local()
        self._lock = threading.Lock()
        self._lines: list[Transport] = []
        self._pools: list[ConnectionPool] = []
        self._contexts: dict[_Tls, ssl.SSLContext] = {}
        self._cancelled = threading.Event()
        self._looked_up: dict[tuple[str, int], Sequence[str]] = {}

    def send(self, request: Request) -> Response:
        """The answer to one request, or CannotReplay. No redirect is followed."""
        started = time.monotonic()
        own: _Own | None = getattr(self._local, "own", None)
        if own is None:
            own = self._local.own = _Own(Transport(self._cancelled))
            with self._lock:
                self._lines.append(own.line)
        own.line.start(request.timeout, request.admit or partial(Trust().check_address, request.url))
        try:
            status, headers, body = self._exchange(request, own)
            again = with_digest(request, headers) if status == 401 and request.digest else None
            if again:
                status, headers, body = self._exchange(again, own)
        except BaselinekitError:
            raise
        except Exception as error:  # a server can provoke any error of a library: none is passed on
            raise _why(error, request, own.line) from None
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
            pools, self._pools, lines, self._lines = self._pools, [], self._lines, []
        self._local = threading.local()
        for pool in pools:
            pool.close()
        for line in lines:
            line.hang_up()

    def _exchange(self, request: Request, own: _Own) -> Answer:
        line = own.line
        try:
            return self._once(request, own)
        except Broken as error:
            # A server may close an idle connection at the moment in which it is used again.
            if line.connected or line.received:
                raise
            if request.method not in IDEMPOTENT:
                again = f"{error}; a {request.method} is not sent twice by itself"
                raise Broken(again) from None
        return self._once(request, own)

    def _once(self, request: Request, own: _Own) -> Answer:
        own.line.begin()
        own.line.left()
        url = urlsplit(request.url)
        target = f"{url.path}?{url.query}" if url.query else url.path
        headers = [(b"Host", url.netloc.encode())]
        headers += [(name.encode(), value.encode()) for name, value in request.headers]
        if request.content or request.method in _WITH_BODY:
            headers.append((b"Content-Length", b"%d" % len(request.content)))
        proxy = proxy_for(url.scheme, url.hostname or "", self._proxies) if self._proxies else None
        if proxy:
            self._admit_by_proxy(url, own.line)
        if proxy or request.http2:
            return self._pool(url.scheme, proxy, request, own).ask(request, url, target, headers)
        return self._wire(url, request, own).ask(request, target, headers)

    def _admit_by_proxy(self, url: SplitResult, line: Transport) -> None:
        """A proxy looks the name up by itself, and where it leads there nobody can see from here. What the
        URL says is judged, and where the name leads for us, as far as it does."""
        line.admit(None)
        host, port = url.hostname or "", url.port or _PORTS[url.scheme]
        if (host, port) not in self._looked_up:
            seconds = min(_LOOK, line.left())
            self._looked_up[host, port] = looked_up(self._resolve, host, port, seconds, line.cancelled)
        for address in self._looked_up[host, port]:
            line.admit(address)

    def _wire(self, url: SplitResult, request: Request, own: _Own) -> Wire:
        """The connection of the last request to the same place, if it can be used again, else a new one."""
        tls, host = _tls(url.scheme, request), url.hostname or ""
        key = (url.scheme, host, url.port or _PORTS[url.scheme], tls)
        wire = own.wires.pop(key, None)
        if wire is None or not wire.is_usable(request.method in IDEMPOTENT):
            if wire is not None:
                wire.close()
            if len(own.wires) >= _IDLE_CONNECTIONS:
                own.wires.pop(next(iter(own.wires))).close()
            context = self._context(tls) if url.scheme == "https" else None
            wire = dial(host, key[2], context, own.line, self._resolve)
        else:
            own.line.admit(wire.address)  # opened for another request, perhaps with other rights
        own.wires[key] = wire  # the last one used is the last
        return wire

    def _pool(self, scheme: str, proxy: str | None, request: Request, own: _Own) -> ConnectionPool:
        quieten()
        from baselinekit.replaying.pooled import ConnectionPool  # which brings httpcore along

        tls = _tls(scheme, request)
        key = (scheme, proxy, tls)
        if key not in own.pools:
            context = self._context(tls) if scheme == "https" else None
            own.pools[key] = ConnectionPool(proxy, context, request.http2, own.line, self._resolve)
            with self._lock:
                self._pools.append(own.pools[key])
        return own.pools[key]

    def _context(self, tls: _Tls) -> ssl.SSLContext:
        """One for all threads: reading the certificates takes longer than a request."""
        quieten()
        from httpx import create_ssl_context

        with self._lock:
            if tls not in self._contexts:
                self._contexts[tls] = new_context(*tls, usual=create_ssl_context)
            return self._contexts[tls]


def addresses_soon(host: str, port: int) -> Sequence[str]:
    """Where a name leads from here, as far as that is known within a moment."""
    return looked_up(addresses, host, port, _LOOK, threading.Event())


def _tls(scheme: str, request: Request) -> _Tls:
    return (request.verify, request.cert, request.http2) if scheme == "https" else (True, None, False)


def with_digest(request: Request, headers: Headers) -> Request | None:
    """The request once more, with what the challenge asks for; None when it is no challenge for digest."""
    quieten()
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


def _why(error: Exception, request: Request, line: Transport) -> CannotReplay:
    where = f"{request.method} {shown(request.url)}"
    if line.cancelled.is_set():
        interrupted = Problem("BK330", f"{where}: interrupted")
        return CannotReplay(interrupted) if line.sent else NeverSent(interrupted)
    import ssl  # which most runs have no use for

    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        hint = (
            "name the certificate authority in baselinekit.yaml, `http: {verify: FILE}`, or check the address"
        )
        if reason == "WRONG_VERSION_NUMBER":
            hint = "the server does not speak TLS: write http://, or use another port"
        return cannot("BK302", f"{where}: no TLS connection: {reason}", hint)
    if isinstance(error, NoConnection):
        return cannot("BK301", f"{where}: {error}", "start the service, or correct its base_url")
    if isinstance(error, TimeoutError):
        what = "no complete answer" if line.received else "no answer"
        limit = f"{what} within {request.timeout:.3g} s"
        return cannot("BK303", f"{where}: {limit}", "raise `timeout` if it may take longer")
    said = str(error) if isinstance(error, Broken) else f"the answer is not understood: {error!r}"
    return cannot("BK304", f"{where}: {said}", "try again, or correct the service")
