"""The credentials in a request that somebody typed or pasted: the place of each, and a name for the variable
that replaces it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json, Path
from baselinekit.secrets.declared import SHORTEST_WITHIN, KnownValues, with_variables
from baselinekit.secrets.finding import is_secret_header, is_secret_key, secret_parts
from baselinekit.secrets.variables import names_in
from baselinekit.structs import Struct, replace
from baselinekit.values.paths import render
from baselinekit.values.places import children, name_of

_AFTER_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9-]*\s+(?=\S)")
_SHORTEST = 6
_PREFERENCE = lazy_pattern(
    r"(?i)(.*[-_])?(theme|lang|language|locale|tz|timezone|currency|country|region|mode|consent|cookies?_?ok)"
)
"""A cookie with such a name holds a preference, and gives no access."""


_IN_REQUESTS = lazy_pattern(
    r"(.*_)?(PWD|PASS|PASSCODE|OTP|TOTP|JWT|AUTH|SESSION|SESSION_?ID|SESSID|SID|APPID"
    r"|(AUTH|APP|APPLICATION|CLIENT|SUBSCRIPTION|LICENSE)_?KEY)"
)
"""Names of credentials in requests; in answers, these names stand for other things as well."""
_SYSTEM_VARIABLES = {"PWD", "OLDPWD", "PATH", "HOME", "USER", "SHELL", "HOST", "HOSTNAME", "LANG", "TERM"}
_WORD = lazy_pattern(r"(?i)true|false|null|none|yes|no|on|off|basic|bearer|digest|required|optional|[01]|\*+")
_PAIR = lazy_pattern(r"(?:\A|&)([^=&\s]{1,80})=([^&\s]+)")
_QUOTED_PAIR = lazy_pattern(r"\"([^\"\\]{1,80})\"\s*:\s*\"([^\"\\]+)\"")
_ELEMENT = lazy_pattern(r"<([\w.:-]{1,80})(?:\s[^<>]{0,200})?>([^<>\s]+)</")


class Credential(Struct):
    """`message`: what is wrong with it; `value`: the secret part of the text; `name`: of the variable for it;
    `is_declared`: whether it is where credentials belong, and does not only look like one."""

    message: str
    value: str
    name: str
    is_declared: bool = True


def credentials_in(current: Mapping[str, Json]) -> list[Credential]:
    """Each secret once, in the order of the request. A text that refers to a variable holds none."""
    return list(HiddenValues().found_in(current["input"]))


def with_one_cookie(request: dict[str, Json]) -> dict[str, Json]:
    """The request with several secret cookies joined as one header, so that one variable holds all of
    them."""
    cookies = request.get("cookies")
    if not isinstance(cookies, dict) or sum(_is_secret_cookie(*pair) for pair in cookies.items()) < 2:
        return request
    remaining = {key: value for key, value in request.items() if key != "cookies"}
    text = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = remaining.get("headers")
    return {**remaining, "headers": {**(headers if isinstance(headers, dict) else {}), "Cookie": text}}


def _in_known_places(request: Mapping[str, Json]) -> Iterator[Credential]:
    for header, text in _texts(request.get("headers")):
        if is_secret_header(header) or _is_credential(header, text):
            scheme = _AFTER_SCHEME.match(text) if header.lower().endswith("authorization") else None
            name = "API_TOKEN" if scheme else variable_name(header)
            secret = text[scheme.end() :] if scheme else text
            yield Credential(f"the header {header} carries credentials", secret, name)
    auth = request.get("auth")
    for key, text in _texts(auth):
        is_alone = key == "username" and isinstance(auth, dict) and not auth.get("password")
        if key in ("password", "token") or is_alone:
            name = "API_TOKEN" if key == "token" else "API_KEY" if is_alone else "API_PASSWORD"
            kind = "bearer token" if key == "token" else key
            yield Credential(f"the {kind} is a credential", text, name)
    for cookie, text in _texts(request.get("cookies")):
        if _is_secret_cookie(cookie, text):
            yield Credential(f"the cookie {cookie} carries credentials", text, variable_name(cookie))
    target = str(request.get("endpoint") or request.get("url") or "")
    query = target.partition("#")[0].partition("?")[2]  # urlsplit refuses a path that begins with `//[`
    pairs = [pair.partition("=")[::2] for pair in query.split("&")]
    for name, text in pairs:
        if _is_credential(name, text):
            yield Credential(f"the query parameter {name} is a credential", text, variable_name(name))


def _is_credential(name: str, text: str) -> bool:
    """Whether the text that is sent under a name is a credential."""
    if not text or _WORD.fullmatch(text) or any(names_in(text)):
        return False
    return is_secret_key(name) or bool(_IN_REQUESTS.fullmatch(variable_name(name)))


def _texts(values: Json) -> Iterator[tuple[str, str]]:
    """The texts that are not empty and hold no variable."""
    for name, value in values.items() if isinstance(values, dict) else ():
        if isinstance(value, str) and value and not any(names_in(value)):
            yield name, value


def _is_secret_cookie(name: str, value: Json) -> bool:
    text = str(value)
    if any(names_in(text)) or not text:
        return False
    return is_secret_key(name) or (len(text) >= _SHORTEST and not _PREFERENCE.fullmatch(name))


def _lookalikes(value: Json, path: Path) -> Iterator[Credential]:
    """The texts that look like secrets in the address and the body."""
    if isinstance(value, str):
        name = name_of(path)
        name = "SECRET" if name in ("endpoint", "url", "body") else variable_name(name)
        message = f"{render(('input', *path))} holds what looks like a secret"
        parts = [value[start:end] for start, end in secret_parts(value, path)][:1]
        yield from (Credential(message, part, name, is_declared=False) for part in parts)
        if not parts and _is_credential(str(path[-1]), value):
            yield Credential(message, value, name, is_declared=False)
        if path == ("body",):
            for pattern in (_PAIR, _QUOTED_PAIR, _ELEMENT):
                for pair_name, text in pattern.findall(value):
                    local_name = pair_name.rpartition(":")[2]  # without the prefix of an XML namespace
                    if text not in parts and _is_credential(local_name, text):
                        yield Credential(message, text, variable_name(local_name), is_declared=False)
    for key, child in children(value):
        if path or key not in ("headers", "auth", "cookies"):
            yield from _lookalikes(child, (*path, key))


def variable_name(text: str) -> str:
    """`X_API_KEY` for X-Api-Key and for xApiKey. A name that means something else in every environment gets a
    prefix."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|\W+", "_", text).strip("_").upper()
    if name in _SYSTEM_VARIABLES:
        return f"API_{name}"
    return name if re.match(r"[A-Z_]", name) else f"SECRET_{name}".rstrip("_")


def assign_variables(
    credentials: Sequence[Credential], names: Sequence[str], environ: Mapping[str, str]
) -> tuple[dict[str, str], list[Credential]]:
    """The values of the variables that the operator has named, and the credentials without one: a name that
    the environment has keeps its value there; any other gets the credential of that name, or the next one."""
    values = {name: environ[name] for name in names if environ.get(name)}
    known = [*values.values()]
    remaining = [one for one in credentials if not any(value in one.value for value in known)]
    free = [name for name in names if name not in values]
    by_name = {one.name.casefold(): one for one in reversed(remaining)}
    for name in free:
        if (named := by_name.pop(name.casefold(), None)) is not None:
            values[name] = named.value
            remaining.remove(named)
    others = [name for name in free if name not in values]
    values |= {name: one.value for name, one in zip(others, remaining, strict=False)}
    return values, remaining[len(others) :]


class HiddenValues:
    """The credentials of one file as variables: equal values have the same name throughout."""

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
        sent = {key: value for key, value in request.items() if key != "save"}
        secrets = {credential.name: credential.value for credential in self.found_in(sent)}
        for name in secrets:
            self._hosts.setdefault(name, set()).add(host)
        hidden: dict[str, Json] = with_variables(sent, KnownValues({}, secrets))
        return hidden | {key: request[key] for key in ("save",) if key in request}

    def found_in(self, request: Mapping[str, Json]) -> list[Credential]:
        """The credentials of a request, each value once, by their names in this file."""
        by_value: dict[str, Credential] = {}
        for one in (*_in_known_places(request), *_lookalikes(request, ())):
            if not any(one.value == known or _is_part(one.value, known) for known in by_value):
                by_value[one.value] = replace(one, name=self._name(one.value, one.name))
        return list(by_value.values())

    def _name(self, value: str, preferred: str) -> str:
        if value not in self._names:
            name, number = preferred, 2
            while name in self._names.values():
                name, number = f"{preferred}_{number}", number + 1
            self._names[value] = name
        return self._names[value]


def _is_part(value: str, known_value: str) -> bool:
    """Whether the variable for a known value covers this part of it, too. A short part may be in it by
    chance, as `a1` is in `b2a1x7`."""
    return len(value) >= SHORTEST_WITHIN and value in known_value
