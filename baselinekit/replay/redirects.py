"""Following a redirect, when the recipe asks for it. Credentials never travel to another origin (F17)."""

from dataclasses import replace
from urllib.parse import urljoin

from baselinekit.errors import CannotReplay, InvalidInput, cannot
from baselinekit.model.observation import Request, Response
from baselinekit.replay.urls import normal, shown
from baselinekit.trust import origin

_STATUSES = frozenset((301, 302, 303, 307, 308))
_HARMLESS = frozenset(("accept", "accept-encoding", "content-type", "user-agent"))


def is_redirect(response: Response) -> bool:
    return response.status in _STATUSES and bool(response.header("location"))


def redirected(request: Request, response: Response) -> Request:
    """The request that a redirect asks for. What may not go along is left behind."""
    url = _target(request, response)
    method, content = request.method, request.content
    headers = [pair for pair in request.headers if pair[0].lower() != "cookie"]
    becomes_get = response.status == 303 or (response.status in (301, 302) and method == "POST")
    if becomes_get and method != "HEAD":
        method, content = "GET", b""
        headers = [pair for pair in headers if pair[0].lower() != "content-type"]
    if origin(url) == origin(request.url):
        headers += [pair for pair in request.headers if pair[0].lower() == "cookie"]
        return replace(request, method=method, url=url, content=content, headers=tuple(headers))
    if content:
        raise cannot(
            "BK308",
            f"a redirect ({response.status}) would send the body on to {origin(url)}",
            "ask that address itself, if it is the right one",
        )
    headers = [pair for pair in headers if pair[0].lower() in _HARMLESS]
    return replace(request, method=method, url=url, headers=tuple(headers), digest=None, cert=None)


def too_many(limit: int) -> CannotReplay:
    return cannot("BK308", f"more than {limit} redirects", "set `redirects:` to a higher number")


def _target(request: Request, response: Response) -> str:
    location = response.header("location")
    try:
        return normal(urljoin(request.url, location.strip()))
    except (InvalidInput, ValueError):
        what = f"a redirect ({response.status}) to {shown(location)!r}, which cannot be followed"
        raise cannot("BK308", what) from None
