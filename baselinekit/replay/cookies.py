"""The cookies of one recipe: what an answer sets, later steps send back to the same host and port. Nothing
outlives the recipe (F50)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from baselinekit.model.observation import Request, Response
from baselinekit.trust import origin

if TYPE_CHECKING:
    from http.cookiejar import CookieJar


class Cookies:
    def __init__(self) -> None:
        # By port: the standard jar would send a cookie to every port of its host.
        self._jars: dict[str, CookieJar] = {}

    def take(self, request: Request, response: Response) -> None:
        """Remember what an answer sets."""
        set_cookies = [value for name, value in response.headers if name.lower() == "set-cookie"]
        if not set_cookies:
            return
        from email.message import Message
        from http.cookiejar import CookieJar
        from urllib.request import Request as Asked

        class Answer:
            def info(self) -> Message:
                message = Message()
                for value in set_cookies:
                    message["Set-Cookie"] = value
                return message

        jar = self._jars.setdefault(_port(request.url), CookieJar())
        jar.extract_cookies(Answer(), Asked(request.url))  # type: ignore[arg-type]  # it reads only info()

    def header_for(self, url: str) -> str:
        """The cookies that go to a URL, as the header's value."""
        jar = self._jars.get(_port(url))
        if not jar:
            return ""
        from urllib.request import Request as Asked

        asked = Asked(url)
        jar.add_cookie_header(asked)
        return asked.get_header("Cookie") or ""


def _port(url: str) -> str:
    return origin(url).rpartition(":")[2]
