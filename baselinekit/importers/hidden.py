"""Credentials in a request that somebody wrote down: each becomes a variable, its value is handed over."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from baselinekit.model.values import Json
from baselinekit.secrets.finding import is_secret_header, is_secret_key, likeness
from baselinekit.variables import names_in

_SCHEME = re.compile(r"(?i)(bearer|basic|token|apikey)\s+(\S.*)")
_SHORTEST = 4


def variable_name(text: str) -> str:
    """`API_KEY` for `Api Key`: a name that is one of an environment variable as well."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text).strip("_").upper()
    return words if re.match(r"[A-Z]", words) else f"SECRET_{words}".rstrip("_")


class HiddenValues:
    """The variables of one file: the same value has the same name throughout."""

    def __init__(self, known: frozenset[str] = frozenset()):
        self._names: dict[str, str] = {}
        self._hosts: dict[str, set[str]] = {}
        self._known = known

    @property
    def found(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Each variable with its value and the hosts that it was sent to."""
        return {name: (value, tuple(sorted(self._hosts[name]))) for value, name in self._names.items()}

    def named(self, value: str, wish: str, host: str) -> str:
        """What stands in the recipe in place of a value."""
        if any(names_in(value)):  # it is a variable already
            return value
        if value not in self._names:
            name, number = variable_name(wish), 2
            taken = {*self._names.values()}
            while name in taken:
                name, number = f"{variable_name(wish)}_{number}", number + 1
            self._names[value] = name
        name = self._names[value]
        self._hosts.setdefault(name, set()).add(host)
        return f"{{{{{name}}}}}"

    def hidden(self, request: dict[str, Json]) -> dict[str, Json]:
        """A recipe's `input` with variables for its credentials."""
        host = urlsplit(str(request.get("url", ""))).netloc
        hidden = dict(request)
        if "url" in hidden:
            hidden["url"] = self._url(str(hidden["url"]), host)
        if "headers" in hidden:
            headers = hidden["headers"].items()
            hidden["headers"] = {name: self._header(name, value, host) for name, value in headers}
        if "cookies" in hidden:
            cookies = hidden["cookies"].items()
            hidden["cookies"] = {name: self.named(value, f"cookie_{name}", host) for name, value in cookies}
        if "auth" in hidden:
            secret = ("password", "token")
            hidden["auth"] = {
                key: self.named(value, key, host) if key in secret and value else value
                for key, value in hidden["auth"].items()
            }
        for key in ("params", "form", "json"):
            if key in hidden:
                hidden[key] = self._value(hidden[key], (), host)
        if isinstance(hidden.get("body"), str) and likeness(hidden["body"]) and " " not in hidden["body"]:
            hidden["body"] = self.named(hidden["body"], "body", host)
        return hidden

    def _header(self, name: str, value: Any, host: str) -> Json:
        if not isinstance(value, str) or not (is_secret_header(name) or likeness(value, ("headers", name))):
            return value
        if match := _SCHEME.fullmatch(value):
            return f"{match[1]} {self.named(match[2], name, host)}"
        return self.named(value, name, host) if value else value

    def _url(self, url: str, host: str) -> str:
        """Its query with variables for what is a secret by its name or its look."""
        before, mark, query = url.partition("?")
        pairs = []
        for pair in query.split("&") if mark else ():
            name, equals, text = pair.partition("=")
            value = parse_qsl(f"v={text}", keep_blank_values=True)[0][1] if text else ""
            if self._is_secret(name, value):
                text = self.named(value, name, host)
            pairs.append(f"{name}{equals}{text}")
        return f"{before}{mark}{'&'.join(pairs)}"

    def _value(self, value: Json, path: tuple[str | int, ...], host: str) -> Json:
        if isinstance(value, dict):
            return {key: self._value(item, (*path, key), host) for key, item in value.items()}
        if isinstance(value, list):
            return [self._value(item, (*path, number), host) for number, item in enumerate(value)]
        name = next((step for step in reversed(path) if isinstance(step, str)), "secret")
        return (
            self.named(value, name, host)
            if isinstance(value, str) and self._is_secret(name, value)
            else value
        )

    @staticmethod
    def _is_secret(name: str, value: str) -> bool:
        if len(value) < _SHORTEST or any(names_in(value)):
            return False
        return is_secret_key(name) or likeness(value, (name,)) is not None
