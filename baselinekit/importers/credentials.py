"""The credentials in a request that somebody typed or pasted: where each stands, and a name for the variable
that takes its place."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from baselinekit.model.values import Json, Path
from baselinekit.secrets.finding import says_secret, secret_parts
from baselinekit.secrets.names import is_secret_header, is_secret_key
from baselinekit.tree.paths import render
from baselinekit.variables import names_in

_AFTER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]*\s+(?=\S)")
_SHORTEST = 6
_PREFERENCE = re.compile(
    r"(?i)(.*[-_])?(theme|lang|language|locale|tz|timezone|currency|country|region|mode|consent|cookies?_?ok)"
)
"""A cookie that is called so holds what somebody likes, and lets nobody in."""


@dataclass(frozen=True, slots=True)
class Credential:
    """`message`: what is wrong with it as it stands; `value`: the secret part of the text there; `name`: of a
    variable; `is_declared`: whether it stands where credentials do, and not only looks like one."""

    message: str
    value: str
    name: str
    is_declared: bool = True


def credentials_in(current: Mapping[str, Json]) -> list[Credential]:
    """Each secret once, in the order of the request. What refers to a variable holds none."""
    found: dict[str, Credential] = {}
    names: set[str] = set()
    for one in (*_where_they_stand(current["input"]), *_alike(current["input"], ())):
        if one.value in found or any(one.value in known for known in found):
            continue
        name, number = one.name, 2
        while name in names:
            name, number = f"{one.name}_{number}", number + 1
        names.add(name)
        found[one.value] = Credential(one.message, one.value, name, one.is_declared)
    return list(found.values())


def with_one_cookie(request: dict[str, Json]) -> dict[str, Json]:
    """Cookies of which several are secret are one header: one variable holds all of them."""
    cookies = request.get("cookies")
    if not isinstance(cookies, dict) or sum(_is_secret_cookie(*pair) for pair in cookies.items()) < 2:
        return request
    rest = {key: value for key, value in request.items() if key != "cookies"}
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = rest.get("headers")
    return {**rest, "headers": {**(headers if isinstance(headers, dict) else {}), "Cookie": text}}


def _where_they_stand(request: Mapping[str, Json]) -> Iterator[Credential]:
    for header, text in _texts(request.get("headers")):
        if is_secret_header(header):
            scheme = _AFTER_SCHEME.match(text) if header.lower().endswith("authorization") else None
            name = "API_TOKEN" if scheme else variable_name(header)
            yield Credential(
                f"the header {header} carries credentials", text[scheme.end() :] if scheme else text, name
            )
    auth = request.get("auth")
    for key, text in _texts(auth):
        is_alone = key == "username" and isinstance(auth, dict) and not auth.get("password")
        if key in ("password", "token") or is_alone:
            name = "API_TOKEN" if key == "token" else "API_KEY" if is_alone else "API_PASSWORD"
            what = "bearer token" if key == "token" else key
            yield Credential(f"the {what} is a credential", text, name)
    for cookie, text in _texts(request.get("cookies")):
        if _is_secret_cookie(cookie, text):
            yield Credential(f"the cookie {cookie} carries credentials", text, variable_name(cookie))
    query = urlsplit(str(request.get("endpoint") or request.get("url") or "")).query
    pairs = [pair.partition("=")[::2] for pair in query.split("&")]
    for parameter, text in pairs:
        if is_secret_key(parameter) and text and not any(names_in(text)):
            yield Credential(
                f"the query parameter {parameter} is a credential", text, variable_name(parameter)
            )


def _texts(values: Json) -> Iterator[tuple[str, str]]:
    """Those that hold something, and no variable."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, str) and value and not any(names_in(value)):
            yield name, value


def _is_secret_cookie(name: str, value: Json) -> bool:
    text = str(value)
    if any(names_in(text)) or not text:
        return False
    return is_secret_key(name) or (len(text) >= _SHORTEST and not _PREFERENCE.fullmatch(name))


def _alike(value: Json, path: Path) -> Iterator[Credential]:
    """What looks like a secret in the address and the body."""
    if isinstance(value, str):
        name = next((key for key in reversed(path) if isinstance(key, str)), "")
        name = "SECRET" if name in ("endpoint", "url", "body") else variable_name(name)
        message = f"{render(('input', *path))} holds what looks like a secret"
        for start, end in secret_parts(value, path):
            yield Credential(message, value[start:end], name, is_declared=False)
            return
        if says_secret(path) and len(value) >= 8 and not any(names_in(value)):
            yield Credential(message, value, name, is_declared=False)
    for key, child in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        if path or key not in ("headers", "auth", "cookies"):
            yield from _alike(child, (*path, key))


def variable_name(text: str) -> str:
    """`X_API_KEY` for X-Api-Key and for xApiKey."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text).strip("_").upper()
    return name if re.match(r"[A-Z_]", name) else f"SECRET_{name}".rstrip("_")


def assign(
    credentials: Sequence[Credential], names: Sequence[str], environ: Mapping[str, str]
) -> tuple[dict[str, str], list[Credential]]:
    """The values of the variables that the operator has named, and the credentials that are left: a name of
    the environment has the value that it has there, and any other takes the credential that is called so, or
    the next one."""
    values = {name: environ[name] for name in names if environ.get(name)}
    left = [one for one in credentials if not any(value in one.value for value in values.values())]
    free = [name for name in names if name not in values]
    for name in list(free):
        called = next((one for one in left if one.name.casefold() == name.casefold()), None)
        if called is not None:
            values[name] = called.value
            left.remove(called)
            free.remove(name)
    for name in free[: len(left)]:
        values[name] = left.pop(0).value
    return values, left


_SHORTEST_PART = 4
"""A shorter value is replaced only where it stands alone: in other texts it occurs by chance."""


class HiddenValues:
    """The credentials of one file as variables: the same value has the same name throughout."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._hosts: dict[str, set[str]] = {}

    @property
    def found(self) -> Mapping[str, tuple[str, tuple[str, ...]]]:
        """Each variable with its value and the hosts that it was sent to."""
        return {name: (value, tuple(sorted(self._hosts[name]))) for value, name in self._names.items()}

    def hidden(self, request: dict[str, Json]) -> dict[str, Json]:
        """A recipe's `input` with variables for its credentials."""
        host = urlsplit(str(request.get("url", ""))).netloc
        values = {}
        asked = {key: value for key, value in request.items() if key != "save"}
        for one in credentials_in({"input": asked}):
            if one.value:
                name = self._name(one.value, one.name)
                values[one.value] = f"{{{{{name}}}}}"
                self._hosts.setdefault(name, set()).add(host)
        hidden: dict[str, Json] = _replaced(asked, values)
        return hidden | {key: request[key] for key in ("save",) if key in request}

    def _name(self, value: str, wish: str) -> str:
        if value not in self._names:
            name, number = wish, 2
            while name in self._names.values():
                name, number = f"{wish}_{number}", number + 1
            self._names[value] = name
        return self._names[value]


def _replaced(value: Json, values: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        for secret in sorted(values, key=len, reverse=True):
            if value == secret or len(secret) >= _SHORTEST_PART:
                value = value.replace(secret, values[secret])
        return value
    if isinstance(value, dict):
        return {key: _replaced(item, values) for key, item in value.items()}
    return [_replaced(item, values) for item in value] if isinstance(value, list) else value
