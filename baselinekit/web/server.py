"""The server of the page: who may ask, what a request may be, and which function answers it.

A browser is not to be trusted: any page that is open in it can send requests to this machine. So a request
needs the token of a link, in a header that no other page can send, the exact name of this host, and must come
from the page itself. The token is in no cookie, as those go to all ports of a machine."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hmac import compare_digest
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, internal_error
from baselinekit.files.jsontext import NotJson, decode, to_bytes
from baselinekit.model.values import Json
from baselinekit.structs import Struct
from baselinekit.values.texts import Mask
from baselinekit.web.limits import (
    BODY_SECONDS,
    CONNECTIONS,
    HEADER_SECONDS,
    LONGEST_HEADERS,
    MOST_BYTES,
    MOST_BYTES_OF_A_FILE,
)

STATIC = Path(__file__).parent / "static"
_ONCE = ("host", "origin", "sec-fetch-site", "sec-fetch-dest", "authorization")
_MEDIA = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


# Who may ask.


class Person(Struct):
    """Somebody with a link. An operator sees all parts of the page, a rater only the ratings."""

    name: str
    is_operator: bool = False


class Links:
    """The link of each person, with a token that cannot be guessed."""

    def __init__(self, people: Sequence[Person]):
        self._people = {secrets.token_urlsafe(32): person for person in people}

    def holder(self, token: str) -> Person | None:
        """The person with this token; each is compared, in constant time."""
        given = token.encode("utf-8", "replace")
        found = [person for one, person in self._people.items() if compare_digest(one.encode(), given)]
        return found[0] if found else None

    def addresses(self, origin: str) -> list[tuple[Person, str]]:
        return [(person, f"{origin}/#token={token}") for token, person in self._people.items()]


# What answers.


class Download(Struct):
    """An answer that is saved as a file."""

    name: str
    text: str
    media: str


class Endpoint(Struct):
    """A function that answers a request: it takes who asks, and the query or the body."""

    work: Callable[[Person, dict[str, Json]], Json | Download]
    for_raters: bool = False
    takes_file: bool = False


Table = Mapping[tuple[str, str], Endpoint]
"""The endpoints by method and name."""


class Site:
    """The page with its endpoints. `origins`: the addresses that a browser may have in its address bar;
    `mask`: hides secrets in an answer, once more."""

    def __init__(self, links: Links, origins: Sequence[str], table: Table, mask: Mask):
        self._links, self._origins, self._table, self._mask = links, origins, table, mask
        self.last_asked = time.monotonic()
        routes = [
            Route("/", self._page),
            Route("/static/{name}", self._asset),
            Route("/api/{name:path}", self._api, methods=["GET", "POST"]),
        ]
        self._app = Starlette(routes=routes, exception_handlers={HTTPException: self._refuse})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Check what every request must have, and add what every answer has."""
        if "method" not in scope:  # no request
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                more = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        request = Request(scope, receive)
        try:
            self._check_source(request)
            await self._app(scope, receive, send_with_headers)
        except HTTPException as refused:
            await (await self._refuse(request, refused))(scope, receive, send_with_headers)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _problems(error.status_code, [Problem("BK508", error.detail)], self._mask)

    def _check_source(self, request: Request) -> None:
        """Refuse a name that another page has made point here, and what comes from another page."""
        if any(len(request.headers.getlist(name)) > 1 for name in _ONCE):
            raise HTTPException(400, "a header occurs twice")
        origin = f"{request.url.scheme}://{request.headers.get('host')}"
        if origin not in self._origins:
            raise HTTPException(421, "this address is not the one of the link")
        is_page = request.method == "GET" and request.url.path == "/"
        site = request.headers.get("sec-fetch-site", "same-origin" if not is_page else "none")
        if site not in ("same-origin", "none") and not is_page:
            raise HTTPException(403, "another page has sent this request")
        if is_page and request.headers.get("sec-fetch-dest", "document") != "document":
            raise HTTPException(403, "the page is not shown inside another one")
        if request.headers.get("origin", origin) != origin:
            raise HTTPException(403, "another page has sent this request")
        if request.method == "POST" and "origin" not in request.headers:
            raise HTTPException(403, "a request without an origin changes nothing")

    async def _page(self, request: Request) -> Response:
        return Response((STATIC / "index.html").read_bytes(), media_type="text/html; charset=utf-8")

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in {file.name for file in STATIC.iterdir()}:
            raise HTTPException(404, "there is nothing here")
        file = STATIC / name
        return Response(file.read_bytes(), media_type=f"{_MEDIA[file.suffix]}; charset=utf-8")

    async def _api(self, request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        person = self._links.holder(token) if scheme == "Bearer" else None
        if person is None:
            raise HTTPException(401, "open the link that `baselinekit serve` has printed")
        self.last_asked = time.monotonic()
        name = request.path_params["name"]
        endpoint = self._table.get((request.method, name))
        if endpoint is None:
            raise HTTPException(404, "there is nothing here")
        if not (person.is_operator or endpoint.for_raters):
            raise HTTPException(403, "this part is not for raters")
        given: dict[str, Json] = dict(request.query_params)
        if request.method == "POST":
            most = MOST_BYTES_OF_A_FILE if endpoint.takes_file else MOST_BYTES
            given = await _body_of(request, most)
        try:
            value = await run_in_threadpool(endpoint.work, person, given)
        except BaselinekitError as error:
            return _problems(422, error.problems, self._mask)
        except Exception as unexpected:
            return _problems(500, internal_error(unexpected).problems, self._mask)
        if isinstance(value, Download):
            text = self._mask(value.text).encode("utf-8", "backslashreplace")
            headers = {"Content-Disposition": f'attachment; filename="{value.name}"'}
            return Response(text, headers=headers, media_type=f"{value.media}; charset=utf-8")
        return Response(to_bytes(value), media_type="application/json")


async def _body_of(request: Request, most: int) -> dict[str, Json]:
    """The JSON object that was sent, within the limits of size and time."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the body is not declared as JSON")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise HTTPException(413, f"a request has at most {most:,} bytes")
        given = decode(body.decode("utf-8"))
    except TimeoutError:
        raise HTTPException(408, "the body did not come in time") from None
    except (UnicodeDecodeError, NotJson, ClientDisconnect):
        raise HTTPException(400, "the body is not JSON") from None
    if not isinstance(given, dict):
        raise HTTPException(400, "the body is not an object")
    return given


def _problems(status: int, problems: Sequence[Problem], mask: Mask) -> Response:
    shown = [
        {name: mask(text) for name, text in problem.facts.items()}
        | {"where": str(problem.place) if problem.place else ""}
        for problem in problems
    ]
    return Response(to_bytes({"problems": shown}), status, media_type="application/json")


# Serving it.


class _Patient(H11Protocol):
    """Leaves a client that does not finish the head of its request in time."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._limit = self.loop.call_later(HEADER_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self.transport.close)
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_limit()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_limit()
        super().connection_lost(exc)

    def _forget_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; InvalidInput if it cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=CONNECTIONS)
    except (OSError, UnicodeError, OverflowError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and number > 0 else str(error)
        message = f"{host}:{port} cannot be used: {reason.lower()}"
        raise InvalidInput(
            Problem("BK508", message, "choose another port: --port 0 takes a free one")
        ) from None


class _Announcing(uvicorn.Server):
    """Calls a function when it answers: from then on a signal ends it in an orderly way."""

    announce: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.announce()


def serve(
    site: Site,
    listening: socket.socket,
    certificate: tuple[str, str] | None,
    idle_minutes: int,
    announce: Callable[[], None],
) -> None:
    """Answer until a signal ends it, or until nothing was asked for that long (0: for ever)."""

    async def end_if_idle() -> None:
        if idle_minutes and time.monotonic() - site.last_asked > idle_minutes * 60:
            server.should_exit = True

    notify: Callable[[], Awaitable[None]] = end_if_idle
    server = _Announcing(
        uvicorn.Config(
            site,
            http=_Patient,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=CONNECTIONS,
            h11_max_incomplete_event_size=LONGEST_HEADERS,
            callback_notify=notify,
            timeout_notify=5,
            timeout_graceful_shutdown=2,
            ssl_certfile=certificate[0] if certificate else None,
            ssl_keyfile=certificate[1] if certificate else None,
        )
    )
    server.announce = announce
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # a flood of connections is not one of messages
    server.run(sockets=[listening])
