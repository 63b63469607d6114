"""A curl command line as a request. Options without a counterpart here are reported.

The request is what curl would send: `-d` without a content type is a form, even if it looks like JSON."""

import re
from collections.abc import Callable
from contextlib import suppress
from getopt import GetoptError, gnu_getopt
from math import inf
from typing import Any
from urllib.parse import quote_plus, unquote, urlsplit

from baselinekit.clients.headers import FRAMING
from baselinekit.errors import InvalidInput, Problem
from baselinekit.importers import drafts
from baselinekit.model.values import Json
from baselinekit.structs import Struct

# The options of curl: their letters, which of them take a value, and how each is handled here. What is not
# in these tables is refused.

_LETTERS = (
    "X=request H=header d=data u=user b=cookie F=form k=insecure L=location G=get I=head A=user-agent "
    "e=referer m=max-time r=range x=proxy o=output w=write-out c=cookie-jar E=cert K=config D=dump-header "
    "n=netrc s=silent S=show-error v=verbose i=include f=fail O=remote-name g=globoff N=no-buffer "
    "#=progress-bar 4=ipv4 6=ipv6 q=disable U=proxy-user"
)
SHORT = dict(pair.split("=") for pair in _LETTERS.split())
FLAGS = {"insecure", "location", "get", "head", "digest", "http2", "http2-prior-knowledge"}
_TAKES_VALUE = {
    *("request", "header", "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "user"),
    *("cookie", "form", "form-string", "user-agent", "referer", "max-time", "range", "url"),
    *("oauth2-bearer", "max-redirs", "retry", "cacert", "cert"),
}
_WITHOUT_EFFECT = {
    *("silent", "show-error", "verbose", "include", "show-headers", "fail", "fail-with-body", "globoff"),
    *("buffer", "progress-bar", "progress-meter", "remote-name", "http1.0", "http1.1", "tlsv1.2", "tlsv1.3"),
    *("ipv4", "ipv6", "disable", "compressed", "create-dirs", "keepalive", "basic", "path-as-is"),
    *("retry-connrefused", "retry-all-errors"),
}
_WITHOUT_EFFECT_VALUED = {
    *("output", "output-dir", "write-out", "dump-header", "stderr", "trace", "trace-ascii", "limit-rate"),
    *("connect-timeout", "keepalive-time", "retry-delay", "retry-max-time", "max-filesize"),
}
"""Options that change neither the request nor the answer, only how long it takes or what is printed."""
_NO_COUNTERPART = {"location-trusted", "netrc", "ntlm", "negotiate", "anyauth", "http3"}
_NO_COUNTERPART_VALUED = {
    *("proxy", "proxy-user", "noproxy", "socks5", "socks5-hostname", "key", "pass", "ciphers", "resolve"),
    *("connect-to", "interface", "unix-socket", "cookie-jar", "config", "aws-sigv4", "netrc-file"),
}
"""Options that are left out, which is reported."""

_VALUED = {*_TAKES_VALUE, *_WITHOUT_EFFECT_VALUED, *_NO_COUNTERPART_VALUED}
_SWITCHES = {*FLAGS, *_WITHOUT_EFFECT}
NAMES = {*_VALUED, *_SWITCHES, *(f"no-{name}" for name in _SWITCHES), *_NO_COUNTERPART}
GETOPT_NAMES = [f"{name}=" if name in _VALUED else name for name in NAMES]
GETOPT_LETTERS = "".join(f"{letter}:" if name in _VALUED else letter for letter, name in SHORT.items())


Read = Callable[[str], str]
"""Reads a file that the line names; `-` is standard input."""

_REDIRECTS = 10


class CurlRequest(Struct):
    """The request of one line. `request`: keys of a recipe's `input`, with the whole address under `url`;
    `execution`: keys of its `execution`, without the type; both contain secrets as they were typed.
    `dropped`: the options without a counterpart, a sentence each."""

    request: dict[str, Json]
    execution: dict[str, Json]
    dropped: tuple[str, ...] = ()


def is_curl(word: str) -> bool:
    """Whether a word is the program curl, with or without its path and `.exe`."""
    return re.fullmatch(r"(.*[/\\])?curl(\.exe)?", word) is not None


def parse_words(words: list[str], read: Read) -> CurlRequest:
    """The request of a line that a shell has split into words. The first may be `curl`."""
    line = _Line(read)
    arguments = words[1:] if words and is_curl(words[0]) else words
    try:
        options, urls = gnu_getopt(arguments, GETOPT_LETTERS, GETOPT_NAMES)
    except GetoptError as error:
        raise _refusal(f"curl: {error.msg}", "check the line, or leave the option out") from None
    for flag, value in options:
        line.take(flag[2:] if flag.startswith("--") else SHORT[flag[1:]], value)
    line.urls += urls
    return line.request()


def _refusal(message: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK508", message, hint))


class _Line:
    """The options of one line: each is taken as it is typed, and all together are a request."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.urls: list[str] = []
        self.headers: dict[str, tuple[str, str]] = {}
        self.data: list[str] = []
        self.fields: dict[str, Json] = {}
        self.files: dict[str, Json] = {}
        self.is_multipart = False
        self.cookies: dict[str, str] = {}
        self.flags: set[str] = set()
        self.values: dict[str, str] = {}
        self.dropped: list[str] = []

    def take(self, name: str, value: str) -> None:
        match name:
            case "url":
                self.urls.append(value)
            case "header":
                header, colon, text = (part.strip() for part in value.partition(":"))
                if not colon and not header.endswith(";"):
                    raise _refusal(f"-H {value!r} is not 'NAME: VALUE'", "as in -H 'Accept: text/html'")
                if colon and not text:
                    self.dropped.append(f"-H '{header}:' takes a header away; there is no counterpart")
                else:
                    self.add_header(header.removesuffix(";") if not colon else header, text)
            case "user-agent" | "referer" | "range":
                text = f"bytes={value}" if name == "range" else value.removesuffix(";auto")
                if text:
                    self.add_header(name.title(), text)
            case "cookie" if "=" in value:
                self.cookies |= drafts.cookie_pairs(value)
            case "cookie":
                reason = "cookies from a file have no counterpart; write them out: -b 'name=value'"
                self.dropped.append(f"-b FILE: {reason}")
            case "data" | "data-raw" | "data-ascii" | "data-binary" | "json":
                self.add_data(name, value)
            case "data-urlencode":
                self.data.append(self.urlencoded(value))
            case "form" | "form-string":
                self.add_part(name, value)
            case _ if name in _NO_COUNTERPART | _NO_COUNTERPART_VALUED:
                self.dropped.append(f"--{name} has no counterpart")
            case _ if name in FLAGS:
                self.flags.add(name)
            case _ if name.startswith("no-"):
                self.flags.discard(name.removeprefix("no-"))
            case _:
                self.values[name] = value

    def add_header(self, header: str, text: str) -> None:
        if header.lower() == "cookie":
            self.cookies |= drafts.cookie_pairs(text)
            return
        first, earlier = self.headers.get(header.lower(), (header, ""))
        self.headers[header.lower()] = (first, f"{earlier}, {text}" if earlier else text)

    def add_data(self, name: str, value: str) -> None:
        if name == "json":
            self.headers.setdefault("content-type", ("Content-Type", "application/json"))
            self.headers.setdefault("accept", ("Accept", "application/json"))
        if value.startswith("@") and name != "data-raw":
            value = self.read(value[1:])
            if name in ("data", "data-ascii"):
                value = re.sub(r"[\r\n]", "", value)
        if name == "json" and self.data:
            self.data[-1] += value
        else:
            self.data.append(value)

    def urlencoded(self, value: str) -> str:
        """`content`, `=content`, `name=content`, `@file` and `name@file`."""
        match = re.match(r"([^=@]*)([=@])", value)
        if match is None:
            return quote_plus(value)
        text = value[match.end() :]
        encoded = quote_plus(self.read(text) if match[2] == "@" else text)
        return f"{match[1]}={encoded}" if match[1] else encoded

    def add_part(self, name: str, value: str) -> None:
        key, is_pair, text = value.partition("=")
        if not is_pair:
            raise _refusal(f"-F {value!r} is not NAME=VALUE", "as in -F 'file=@picture.png'")
        self.is_multipart = True
        attributes = re.search(r";(type|filename|headers|encoder)=.*$", text, re.DOTALL)
        if name == "form" and attributes:
            self.dropped.append(f"-F {key}: `{attributes[0]}` has no counterpart")
            text = text[: attributes.start()]
        if name == "form" and text.startswith("@"):
            if key in self.files:
                self.dropped.append(f"-F {key}: only one file is sent under a name: {text[1:]} is not")
            self.files.setdefault(key, text[1:].strip('"'))
        else:
            is_read = name == "form" and text.startswith("<")
            drafts.add_value(self.fields, key, self.read(text[1:]) if is_read else text)

    # The options together.

    def request(self) -> CurlRequest:
        if not self.urls:
            raise _refusal("the curl line names no URL", "as in curl https://api.example.com/users")
        url = self.url()
        for further_url in self.urls[1:]:
            self.dropped.append(f"a further URL, {further_url}: write a curl line of its own for it")
        request: dict[str, Json] = {"method": self.method(), "url": url}
        body = self.body()
        headers: dict[str, Json] = {}
        for lower, (name, value) in self.headers.items():
            if lower == "host" and value != urlsplit(url).netloc:
                self.dropped.append(f"the header Host: {value} cannot be set; ask that host itself")
            elif lower != "accept-encoding" and not FRAMING.fullmatch(lower):
                headers["Content-Type" if lower == "content-type" else name] = value
        content_type = str(headers.get("Content-Type", "")).lower()
        is_implied = body.keys() & {"json", "form"} and content_type in ("application/json", drafts.FORM_TYPE)
        if is_implied or "files" in body:
            headers.pop("Content-Type", None)
        parts = {"headers": headers, **body, "auth": self.auth(), "cookies": dict(self.cookies)}
        request |= {name: part for name, part in parts.items() if part or name in body}
        return CurlRequest(request, self.execution(), tuple(self.dropped))

    def method(self) -> str:
        if "request" in self.values:
            return self.values["request"].upper()
        if "head" in self.flags:
            return "HEAD"
        return "POST" if self.is_multipart or (self.data and "get" not in self.flags) else "GET"

    def url(self) -> str:
        """The whole address: with a scheme, without credentials and fragment, with the data that `-G` adds to
        it."""
        url = self.urls[0] if "://" in self.urls[0] else f"http://{self.urls[0]}"
        scheme, _, remaining = url.partition("://")
        authority, *path = re.split(r"(?=[/?#])", remaining, maxsplit=1)
        if "@" in authority:
            credentials, _, authority = authority.rpartition("@")
            self.values.setdefault("user", unquote(credentials))
        address = f"{scheme.lower()}://{authority}{''.join(path)}".partition("#")[0]
        if flaw := drafts.flaw_of_url(address):
            raise _refusal(flaw, drafts.HINT_FOR_URL)
        query = "&".join(self.data) if self.flags & {"get", "head"} else ""
        return f"{address}{'&' if '?' in address else '?'}{query}" if query else address

    def body(self) -> dict[str, Any]:
        if self.is_multipart:
            if self.data:
                self.dropped.append("-d and -F both set the body; the form of -F is sent")
            return {**({"form": self.fields} if self.fields else {}), "files": self.files}
        if not self.data or self.flags & {"get", "head"}:
            return {}
        _, content_type = self.headers.setdefault("content-type", ("Content-Type", drafts.FORM_TYPE))
        return drafts.body_of("&".join(self.data), drafts.media_of(content_type))

    def auth(self) -> dict[str, Json]:
        if "oauth2-bearer" in self.values:
            return {"type": "bearer", "token": self.values["oauth2-bearer"]}
        if "user" not in self.values:
            return {}
        name, has_password, password = self.values["user"].partition(":")
        if not has_password:
            self.dropped.append(f"-u {name} has no password, for which curl would ask; it is sent empty")
        kind = "digest" if "digest" in self.flags else "basic"
        return {"type": kind, "username": name, "password": password}

    def execution(self) -> dict[str, Json]:
        redirects = self.number("max-redirs")
        verify: Json = False if "insecure" in self.flags else self.values.get("cacert")
        execution: dict[str, Json] = {
            "timeout": self.number("max-time"),
            "redirects": (_REDIRECTS if redirects is None else redirects)
            if "location" in self.flags
            else None,
            "retries": self.number("retry"),
            "verify": verify,
            "cert": self.values.get("cert"),
            "http2": True if self.flags & {"http2", "http2-prior-knowledge"} else None,
        }
        return {name: value for name, value in execution.items() if value is not None}

    def number(self, name: str) -> int | float | None:
        text = self.values.get(name)
        with suppress(ValueError):
            number = None if text is None else int(text) if text.isdecimal() else float(text)
            if number is None or 0 <= number < inf:
                return number
        raise _refusal(f"--{name} {text} is not a number of 0 or more", "check the line")
