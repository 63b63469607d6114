"""A curl command line as a request. Options without a counterpart here are reported.

The request is what curl would send: `-d` without a content type is a form, even if it looks like JSON."""

import re
from collections.abc import Callable
from getopt import GetoptError, getopt
from typing import Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from baselinekit.errors import InvalidInput, Problem, suggest
from baselinekit.importers.curloptions import (
    FLAGS,
    GETOPT_LETTERS,
    GETOPT_NAMES,
    NAMES,
    NO_COUNTERPART,
    SHORT,
)
from baselinekit.importers.drafts import FORM_TYPE, HINT_FOR_URL, add_value, body_of, flaw_of_url
from baselinekit.lazy import lazy_pattern
from baselinekit.model.values import Json
from baselinekit.structs import MutableStruct, Struct, field

Read = Callable[[str], str]
"""Reads a file that the line names; `-` is standard input."""

MOST_REDIRECTS = 10
_MOST_RETRIES = 10


class CurlRequest(Struct):
    """The request of one line. `request`: keys of a recipe's `input`, with the whole address under `url`;
    `execution`: keys of its `execution`, without the type; both contain secrets as they were typed.
    `dropped`: the options without a counterpart, a sentence each."""

    request: dict[str, Json]
    execution: dict[str, Json]
    dropped: tuple[str, ...] = ()


# The options of curl.


_FRAMING = lazy_pattern(
    r"(?i)content-length|transfer-encoding|(proxy-)?connection|keep-alive|te|trailer|upgrade|expect"
)
_GLOB = lazy_pattern(r"\[\w+-\w+(:\d+)?\]|(?<!\{)\{[^{}]*,[^{}]*\}(?!\})")


class CurlLine(MutableStruct):
    """The options of one line, as they were typed."""

    urls: list[str] = field(default_factory=list)
    method: str | None = None
    headers: dict[str, tuple[str, str]] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    upload: str | None = None
    parts: dict[str, Json] = field(default_factory=dict)
    files: dict[str, Json] = field(default_factory=dict)
    is_multipart: bool = False
    cookies: dict[str, Json] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)


def is_curl(word: str) -> bool:
    """Whether a word is the program curl, with or without its path and `.exe`."""
    return re.fullmatch(r"(.*[/\\])?curl(\.exe)?", word) is not None


def parse_words(words: list[str], read: Read) -> CurlRequest:
    """The request of a line that a shell has split into words. The first may be `curl`."""
    line = CurlLine()
    remaining = words[1:] if words and is_curl(words[0]) else list(words)
    for following in ("--next", "-:"):
        if following in remaining:
            remaining = remaining[: remaining.index(following)]
            line.dropped.append(
                "--next: what follows it is another request; write a curl line of its own for it"
            )
    while remaining:
        try:
            options, remaining = getopt(remaining, GETOPT_LETTERS, GETOPT_NAMES)
        except GetoptError as error:
            raise InvalidInput(_no_option(error)) from None
        for flag, value in options:
            _take(line, flag[2:] if flag.startswith("--") else SHORT[flag[1:]], value, read)
        line.urls += remaining[:1]
        remaining = remaining[1:]
    return _request(line)


def _no_option(error: GetoptError) -> Problem:
    if "requires argument" in error.msg:
        message = f"--{SHORT.get(error.opt, error.opt)} needs a value behind it"
        return Problem("BK508", message, "check the line")
    if len(error.opt) == 1:
        return Problem("BK508", f"curl has no option -{error.opt}", "check the line")
    message = f"the option --{error.opt} of curl is not known"
    return Problem("BK508", message, suggest(error.opt, NAMES) or "leave it out")


def _take(line: CurlLine, name: str, value: str, read: Read) -> None:
    match name:
        case "request":
            line.method = value.upper()
        case "url":
            line.urls.append(value)
        case "header":
            _take_header(line, value, read)
        case "user-agent" | "referer" | "range":
            value = f"bytes={value}" if name == "range" else value.removesuffix(";auto")
            if value:
                _add_header(line, name.title(), value)
        case "cookie" if "=" in value:
            _add_cookies(line, value)
        case "cookie":
            reason = "cookies from a file have no counterpart; write them out: -b 'name=value'"
            line.dropped.append(f"-b FILE: {reason}")
        case "data" | "data-raw" | "data-ascii" | "data-binary" | "data-urlencode" | "json":
            _take_data(line, name, value, read)
        case "url-query":
            line.query.append(value[1:] if value.startswith("+") else _urlencoded(value, read))
        case "form" | "form-string":
            _take_part(line, name, value, read)
        case "upload-file":
            line.upload, line.values[name] = read(value), value
        case _ if name in NO_COUNTERPART:
            hint = NO_COUNTERPART[name]
            line.dropped.append(f"--{name} has no counterpart{f': {hint}' if hint else ''}")
        case _ if name in FLAGS:
            line.flags.add(name)
        case _ if name.startswith("no-"):
            line.flags.discard(name.removeprefix("no-"))
        case _:
            line.values[name] = value


def _take_header(line: CurlLine, value: str, read: Read) -> None:
    if value.startswith("@"):
        for text in read(value[1:]).splitlines():
            if text.strip():
                _take_header(line, text, read)
        return
    header, colon, text = value.partition(":")
    header, text = header.strip(), text.strip()
    if colon and not text:
        line.dropped.append(f"-H '{header}:' takes a header away; there is no counterpart")
    elif colon:
        _add_header(line, header, text)
    elif value.rstrip().endswith(";"):
        _add_header(line, value.rstrip()[:-1].strip(), "")
    else:
        raise InvalidInput(
            Problem("BK508", f"-H {value!r} is not 'NAME: VALUE'", "as in -H 'Accept: text/html'")
        )


def _add_header(line: CurlLine, header: str, text: str) -> None:
    lower = header.lower()
    if lower == "cookie":
        _add_cookies(line, text)
    elif lower in line.headers:
        original_name, earlier = line.headers[lower]
        line.headers[lower] = (original_name, f"{earlier}, {text}")
    else:
        line.headers[lower] = (header, text)


def _add_cookies(line: CurlLine, text: str) -> None:
    for pair in text.split(";"):
        name, is_pair, value = pair.strip().partition("=")
        if is_pair and name:
            line.cookies[name] = value


def _take_data(line: CurlLine, name: str, value: str, read: Read) -> None:
    if name == "json":
        line.headers.setdefault("content-type", ("Content-Type", "application/json"))
        line.headers.setdefault("accept", ("Accept", "application/json"))
    if name == "data-urlencode":
        line.data.append(_urlencoded(value, read))
        return
    if value.startswith("@") and name != "data-raw":
        value = read(value[1:])
        if name in ("data", "data-ascii"):
            value = re.sub(r"[\r\n]", "", value)
    if name == "json" and line.data:
        line.data[-1] += value
    else:
        line.data.append(value)


def _urlencoded(value: str, read: Read) -> str:
    """`content`, `=content`, `name=content`, `@file` and `name@file`."""
    match = re.match(r"([^=@]*)([=@])", value)
    if match is None:
        return quote_plus(value)
    text = value[match.end() :]
    encoded = quote_plus(read(text) if match[2] == "@" else text)
    return f"{match[1]}={encoded}" if match[1] else encoded


def _take_part(line: CurlLine, name: str, value: str, read: Read) -> None:
    key, is_pair, text = value.partition("=")
    if not is_pair:
        raise InvalidInput(
            Problem("BK508", f"-F {value!r} is not NAME=VALUE", "as in -F 'file=@picture.png'")
        )
    line.is_multipart = True
    if name == "form" and text.startswith(("@", "<")):
        path, *attributes = text[1:].split(";")
        if attributes:
            line.dropped.append(
                f"-F {key}: `;{';'.join(attributes)}` has no counterpart; the name of the file says it"
            )
        if text.startswith("@") and key not in line.files:
            line.files[key] = path.strip('"')
            return
        if text.startswith("@"):
            line.dropped.append(
                f"-F {key}: only one file is sent under a name, and this is a further one: {path}"
            )
            return
        text = read(path)
    elif name == "form" and (match := re.search(r";type=[^;]*$", text)):
        line.dropped.append(f"-F {key}: `{match[0]}` has no counterpart: a field is sent as text")
        text = text[: match.start()]
    add_value(line.parts, key, text)


# The options together, as a request.


def _request(line: CurlLine) -> CurlRequest:
    if not line.urls:
        raise InvalidInput(
            Problem("BK508", "the curl line names no URL", "as in curl https://api.example.com/users")
        )
    url = _url(line)
    for further_url in line.urls[1:]:
        line.dropped.append(f"a further URL, {further_url}: write a curl line of its own for it")
    request: dict[str, Json] = {"method": _method(line), "url": url}
    body = _body(line)
    headers = _headers(line, url)
    if body.keys() & {"json", "form", "files"}:
        content_type = headers.get("Content-Type", "")
        if "files" in body or content_type.lower() in ("application/json", FORM_TYPE):
            headers.pop("Content-Type", None)
    if headers:
        request["headers"] = headers
    request |= body
    if auth := _auth(line):
        request["auth"] = auth
    if line.cookies:
        request["cookies"] = dict(line.cookies)
    return CurlRequest(request, _execution(line), tuple(line.dropped))


def _method(line: CurlLine) -> str:
    if line.method:
        return line.method
    if "head" in line.flags:
        return "HEAD"
    if line.upload is not None:
        return "PUT"
    return "POST" if line.is_multipart or (line.data and "get" not in line.flags) else "GET"


def _url(line: CurlLine) -> str:
    """The whole address: with a scheme, without credentials and fragment, with the data that `-G` adds to
    it."""
    url = line.urls[0] if "://" in line.urls[0] else f"http://{line.urls[0]}"
    if _GLOB.search(url):
        line.dropped.append(
            "curl would ask several URLs for the `[…]` or `{…}` in this one; here it is asked as it is"
        )
    scheme, _, remaining = url.partition("://")
    authority, *path = re.split(r"(?=[/?#])", remaining, maxsplit=1)
    if "@" in authority:
        credentials, _, authority = authority.rpartition("@")
        line.values.setdefault("user", unquote(credentials))
    if "$" in authority:
        message = f"{authority!r} is no host: nothing is known here of a variable of a shell"
        raise InvalidInput(Problem("BK508", message, "write its value there"))
    address = f"{scheme.lower()}://{authority}{''.join(path)}".partition("#")[0]
    if line.upload is not None and address.endswith("/"):
        address += quote(re.split(r"[/\\]", line.values["upload-file"])[-1])
    if flaw := flaw_of_url(address):
        raise InvalidInput(Problem("BK508", flaw, HINT_FOR_URL))
    query_parts = [*line.query, *(line.data if "get" in line.flags or "head" in line.flags else ())]
    if not query_parts:
        return address
    return f"{address}{'&' if '?' in address else '?'}{'&'.join(query_parts)}"


def _headers(line: CurlLine, url: str) -> dict[str, Json]:
    """The headers that are sent. Framing and content codings are left to the client."""
    headers: dict[str, Json] = {}
    for lower, (name, value) in line.headers.items():
        if lower == "host" and value != urlsplit(url).netloc:
            line.dropped.append(f"the header Host: {value} cannot be set; ask that host itself")
        elif lower not in ("host", "accept-encoding") and not _FRAMING.fullmatch(lower):
            headers["Content-Type" if lower == "content-type" else name] = value
    return headers


def _body(line: CurlLine) -> dict[str, Any]:
    if line.is_multipart:
        if line.data:
            line.dropped.append("-d and -F both set the body; the form of -F is sent")
        return {**({"form": line.parts} if line.parts else {}), "files": line.files}
    if line.upload is not None:
        return {"body": line.upload}
    if not line.data or "get" in line.flags or "head" in line.flags:
        return {}
    text = "&".join(line.data)
    media = (
        line.headers.setdefault("content-type", ("Content-Type", FORM_TYPE))[1]
        .lower()
        .partition(";")[0]
        .strip()
    )
    return body_of(text, media)


def _auth(line: CurlLine) -> dict[str, Json]:
    if "oauth2-bearer" in line.values:
        return {"type": "bearer", "token": line.values["oauth2-bearer"]}
    if "user" not in line.values:
        return {}
    name, has_password, password = line.values["user"].partition(":")
    if not has_password:
        line.dropped.append(f"-u {name} has no password, for which curl would ask; it is sent empty")
    return {"type": "digest" if "digest" in line.flags else "basic", "username": name, "password": password}


def _execution(line: CurlLine) -> dict[str, Json]:
    execution: dict[str, Json] = {}
    if (seconds := _number(line, "max-time")) is not None:
        execution["timeout"] = seconds
    if "location" in line.flags:
        max_redirects = _number(line, "max-redirs")
        execution["redirects"] = (
            MOST_REDIRECTS
            if max_redirects is None or max_redirects < 0
            else min(int(max_redirects), 2 * MOST_REDIRECTS)
        )
    if (retries := _number(line, "retry")) is not None:
        execution["retries"] = min(int(retries), _MOST_RETRIES)
    if "insecure" in line.flags:
        execution["verify"] = False
    elif "cacert" in line.values:
        execution["verify"] = line.values["cacert"]
    if "cert" in line.values:
        execution["cert"] = line.values["cert"]
    if line.flags & {"http2", "http2-prior-knowledge"}:
        execution["http2"] = True
    return execution


def _number(line: CurlLine, name: str) -> int | float | None:
    text = line.values.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        raise InvalidInput(Problem("BK508", f"--{name} {text} is not a number", "check the line")) from None
    return int(number) if number.is_integer() else number
