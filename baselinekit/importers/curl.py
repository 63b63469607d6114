"""A curl command line as a request. Options without a counterpart here are reported.

The request is what curl would send: `-d` without a content type is a form, even if it looks like JSON."""

import re
from collections.abc import Callable, Mapping
from getopt import GetoptError, getopt
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from baselinekit.clients.headers import FRAMING
from baselinekit.errors import InvalidInput, Problem, suggest
from baselinekit.importers import drafts
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import Struct

# The options of curl: their letters, which of them take a value, and how each is handled here.


_LETTERS = (
    "X=request H=header d=data u=user b=cookie F=form k=insecure L=location G=get I=head A=user-agent "
    "e=referer m=max-time T=upload-file r=range x=proxy o=output w=write-out c=cookie-jar E=cert "
    "K=config D=dump-header n=netrc z=time-cond C=continue-at s=silent S=show-error v=verbose i=include "
    "f=fail O=remote-name g=globoff N=no-buffer #=progress-bar J=remote-header-name R=remote-time "
    "0=http1.0 1=tlsv1 4=ipv4 6=ipv6 q=disable j=junk-session-cookies a=append Z=parallel U=proxy-user "
    "y=speed-time Y=speed-limit p=proxytunnel"
)
SHORT = dict(pair.split("=") for pair in _LETTERS.split())
FLAGS = {"insecure", "location", "get", "head", "digest", "http2", "http2-prior-knowledge"}
_TAKES_VALUE = {
    *("request", "header", "data", "data-raw", "data-ascii", "data-binary", "data-urlencode", "json", "user"),
    *("cookie", "form", "form-string", "user-agent", "referer", "max-time", "upload-file", "range", "url"),
    *("url-query", "oauth2-bearer", "max-redirs", "retry", "cacert", "cert"),
}
_WITHOUT_EFFECT = {
    *("silent", "show-error", "verbose", "include", "show-headers", "fail", "fail-with-body", "fail-early"),
    *("globoff", "buffer", "progress-bar", "progress-meter", "remote-name", "remote-name-all"),
    *("remote-header-name", "remote-time", "http1.0", "http1.1", "tlsv1", "tlsv1.2", "tlsv1.3", "ipv4"),
    *("ipv6", "disable", "compressed", "create-dirs", "keepalive", "tcp-nodelay", "parallel", "basic"),
    *("path-as-is", "styled-output", "retry-connrefused", "retry-all-errors", "alpn"),
    *("sessionid", "tcp-fastopen", "ssl-reqd", "anyauth", "junk-session-cookies"),
}
_WITHOUT_EFFECT_VALUED = {
    *("output", "write-out", "dump-header", "connect-timeout", "keepalive-time", "limit-rate", "speed-time"),
    *("speed-limit", "retry-delay", "retry-max-time", "stderr", "trace", "trace-ascii", "output-dir", "rate"),
    *("max-filesize", "parallel-max", "expect100-timeout", "tls-max", "happy-eyeballs-timeout-ms"),
}
"""Options that change neither the request nor the answer, only how long it takes or what is printed."""
_NO_COUNTERPART: Mapping[str, str] = {
    **dict.fromkeys(("location-trusted", "netrc", "netrc-optional", "ntlm", "negotiate", "delegation"), ""),
    **dict.fromkeys(("proxytunnel", "append", "http3", "http3-only", "ssl", "crlf"), ""),
    **dict.fromkeys(("post301", "post302", "post303"), ""),
}
_NO_COUNTERPART_VALUED: Mapping[str, str] = {
    **dict.fromkeys(("proxy", "socks5", "socks5-hostname", "preproxy", "proxy-user"), "set HTTPS_PROXY"),
    **dict.fromkeys(
        ("key", "key-type", "pass", "cert-type", "ciphers", "pinnedpubkey"), "put it into --cert"
    ),
    **dict.fromkeys(
        ("resolve", "connect-to", "interface", "dns-servers", "doh-url"), "ask the address itself"
    ),
    **dict.fromkeys(("unix-socket", "abstract-unix-socket"), "serve it on a port"),
    "cookie-jar": "a flow keeps the cookies that its steps receive",
    "config": "write its options into the line",
    **dict.fromkeys(("aws-sigv4", "time-cond", "continue-at", "request-target", "capath", "crlfile"), ""),
    **dict.fromkeys(("netrc-file", "noproxy", "proxy-header", "variable", "expand-url", "expand-data"), ""),
    **dict.fromkeys(("login-options", "sasl-authzid", "service-name", "etag-compare", "etag-save"), ""),
}
NO_COUNTERPART = {**_NO_COUNTERPART, **_NO_COUNTERPART_VALUED}
"""What to do about an option that is left out."""

_VALUED = {*_TAKES_VALUE, *_WITHOUT_EFFECT_VALUED, *_NO_COUNTERPART_VALUED}
_SWITCHES = {*FLAGS, *_WITHOUT_EFFECT}
NAMES = {*_VALUED, *_SWITCHES, *(f"no-{name}" for name in _SWITCHES), *_NO_COUNTERPART}
GETOPT_NAMES = [f"{name}=" if name in _VALUED else name for name in NAMES]
GETOPT_LETTERS = "".join(f"{letter}:" if name in _VALUED else letter for letter, name in SHORT.items())


Read = Callable[[str], str]
"""Reads a file that the line names; `-` is standard input."""

MOST_REDIRECTS = 10
_MOST_RETRIES = 10
_GLOB = lazy_pattern(r"\[\w+-\w+(:\d+)?\]|(?<!\{)\{[^{}]*,[^{}]*\}(?!\})")


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
    remaining = words[1:] if words and is_curl(words[0]) else list(words)
    for following in ("--next", "-:"):
        if following in remaining:
            remaining = remaining[: remaining.index(following)]
            line.dropped.append("what follows --next is another request: write a curl line of its own for it")
    while remaining:
        try:
            options, remaining = getopt(remaining, GETOPT_LETTERS, GETOPT_NAMES)
        except GetoptError as error:
            name = error.opt if len(error.opt) > 1 else SHORT.get(error.opt, error.opt)
            if "requires argument" in error.msg:
                raise _refusal(f"--{name} needs a value behind it", "check the line") from None
            if len(error.opt) == 1:
                raise _refusal(f"curl has no option -{error.opt}", "check the line") from None
            hint = suggest(error.opt, NAMES) or "leave it out"
            raise _refusal(f"the option --{error.opt} of curl is not known", hint) from None
        for flag, value in options:
            line.take(flag[2:] if flag.startswith("--") else SHORT[flag[1:]], value)
        line.urls += remaining[:1]
        remaining = remaining[1:]
    return line.request()


def _refusal(message: str, hint: str) -> InvalidInput:
    return InvalidInput(Problem("BK508", message, hint))


class _Line:
    """The options of one line: each is taken as it is typed, and all together are a request."""

    def __init__(self, read: Read) -> None:
        self.read = read
        self.urls: list[str] = []
        self.headers: dict[str, tuple[str, str]] = {}
        self.query: list[str] = []
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
            case "header" if value.startswith("@"):
                for text in filter(str.strip, self.read(value[1:]).splitlines()):
                    self.take("header", text)
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
            case "url-query":
                self.query.append(value[1:] if value.startswith("+") else self.urlencoded(value))
            case "form" | "form-string":
                self.add_part(name, value)
            case _ if name in NO_COUNTERPART:
                hint = NO_COUNTERPART[name]
                self.dropped.append(f"--{name} has no counterpart{f': {hint}' if hint else ''}")
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
        if "upload-file" in self.values:
            return "PUT"
        return "POST" if self.is_multipart or (self.data and "get" not in self.flags) else "GET"

    def url(self) -> str:
        """The whole address: with a scheme, without credentials and fragment, with the data that `-G` adds to
        it."""
        url = self.urls[0] if "://" in self.urls[0] else f"http://{self.urls[0]}"
        if _GLOB.search(url):
            self.dropped.append("the URL is asked as it is: curl would ask several for its `[…]` or `{…}`")
        scheme, _, remaining = url.partition("://")
        authority, *path = re.split(r"(?=[/?#])", remaining, maxsplit=1)
        if "@" in authority:
            credentials, _, authority = authority.rpartition("@")
            self.values.setdefault("user", unquote(credentials))
        if "$" in authority:
            message = f"{authority!r} is no host: nothing is known here of a variable of a shell"
            raise _refusal(message, "write its value there")
        address = f"{scheme.lower()}://{authority}{''.join(path)}".partition("#")[0]
        if "upload-file" in self.values and address.endswith("/"):
            address += quote(re.split(r"[/\\]", self.values["upload-file"])[-1])
        if flaw := drafts.flaw_of_url(address):
            raise _refusal(flaw, drafts.HINT_FOR_URL)
        query = [*self.query, *(self.data if self.flags & {"get", "head"} else ())]
        return f"{address}{'&' if '?' in address else '?'}{'&'.join(query)}" if query else address

    def body(self) -> dict[str, Any]:
        if self.is_multipart:
            if self.data:
                self.dropped.append("-d and -F both set the body; the form of -F is sent")
            return {**({"form": self.fields} if self.fields else {}), "files": self.files}
        if "upload-file" in self.values:
            return {"body": self.read(self.values["upload-file"])}
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
        redirects, retries = self.number("max-redirs"), self.number("retry")
        redirects = MOST_REDIRECTS if redirects is None or redirects < 0 else redirects
        verify: Json = False if "insecure" in self.flags else self.values.get("cacert")
        execution: dict[str, Json] = {
            "timeout": self.number("max-time"),
            "redirects": min(int(redirects), 2 * MOST_REDIRECTS) if "location" in self.flags else None,
            "retries": None if retries is None else min(int(retries), _MOST_RETRIES),
            "verify": verify,
            "cert": self.values.get("cert"),
            "http2": True if self.flags & {"http2", "http2-prior-knowledge"} else None,
        }
        return {name: value for name, value in execution.items() if value is not None}

    def number(self, name: str) -> int | float | None:
        text = self.values.get(name)
        if text is None:
            return None
        try:
            number = float(text)
            return int(number) if int(number) == number else number
        except (ValueError, OverflowError):
            raise _refusal(f"--{name} {text} is not a number", "check the line") from None
